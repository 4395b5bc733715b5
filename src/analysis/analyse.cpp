// analyse: from what the user said to a graph in which nothing is left to infer.
//
//   out s[j] : f64 = accumulate(sum) x * b         x : f32[i, j],  b : f32[j]
//
//   n0 = input 0 : f32 {i j}     n1 = cast n0 : f64      n2 = fold sum n1 over {i} : f64 {j}
//   n3 = cast n2 : f32 {j}       n4 = input 1 : f32 {j}  n5 = mul n3 n4 : f32 {j}
//       n6 = cast n5 : f64
//
// The order of work: the iteration space, what each expression reads, then output by output the
// mode written out as folds and repeats. At the end only nodes that an output needs are kept.
#include "analysis/analyse.hpp"

#include "analysis/check_pairings.hpp"
#include "rewrite/live_nodes.hpp"
#include "rewrite/relax.hpp"
#include "rewrite/simplify.hpp"
#include "rewrite/transpose_windows.hpp"
#include "scale/network.hpp"
#include "spec/expand.hpp"
#include "spec/inline_lets.hpp"
#include "spec/materialise.hpp"
#include "spec/wishes.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"
#include "type/typer.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace broadloom::analysis {

using expr::AxisSet;
using expr::NodeId;
using support::fail;

namespace {

class Analysis {
public:
  explicit Analysis(const SpecData &data)
      : data_(data), spec_(begin(data)), space_(data, spec_), reads_(space_, spec_),
        typer_(spec_, space_, reads_) {
    spec_.wishes = spec::resolve_wishes(data, space_);
    std::unordered_set<std::string> named;
    for (const Expr &let : data.lets) named.insert(let.node()->name);
    for (const spec::Wishes::Let &let : spec_.wishes.lets) named.insert(let.clause.names[0]);
    for (const Pairing &pairing : spec_.pairings) named.insert({pairing.a, pairing.b});
    typer_.watch(std::move(named));
  }

  spec::TypedSpec run() {
    for (const Expr &let : data_.lets) reads_.add(let);
    for (const OutputDecl &output : data_.outputs) {
      reads_.add(output.value);
      reads_.add(output.mode.use);
    }
    for (const OutputDecl &output : data_.outputs) add_output(output);
    check_unused_lets();
    mark_lets();
    check_marks();
    if (!data_.step_axis.empty()) spec_.time = space_.axis(AxisRef(data_.step_axis), data_.where);
    rewrite::transpose_windows(spec_);
    if (spec_.relaxed) {
      rewrite::keep_live_nodes(spec_); // who else uses a product matters
      rewrite::relax(spec_);
    }
    rewrite::simplify(spec_);
    rewrite::keep_live_nodes(spec_);
    return std::move(spec_);
  }

private:
  static spec::TypedSpec begin(const SpecData &data) {
    spec::TypedSpec spec;
    spec.name = data.name;
    spec.source = data.source;
    spec.order = data.order;
    spec.accuracy = data.accuracy;
    spec.relaxed = data.relaxed;
    spec.pairings = all_pairings(data);
    return spec;
  }

  OutputDecl listed_as_state(OutputDecl decl) const;
  void add_output(const OutputDecl &given);
  // Whose axes and extents an output takes beside those of its value.
  struct Lent {
    std::vector<std::size_t> shapes;                   // inputs, all of their axes
    std::vector<std::pair<std::size_t, int>> one_each; // of these inputs one axis only
  };
  type::Folded fold_by_mode(const OutputDecl &decl, AxisSet listed, Lent &lent);
  NodeId repeated(NodeId value, const Lent &lent, AxisSet wanted, const Place &where);
  AxisSet listed_axes(const OutputDecl &decl, std::vector<int> &order) const;
  AxisSet least_rank_axes(const OutputDecl &decl) const;
  void check_ranks(const OutputDecl &decl) const;
  void check_listed(const OutputDecl &decl, AxisSet listed, AxisSet has) const;
  std::size_t lender(const OutputDecl &decl, int axis) const;
  void check_like(const OutputDecl &decl, const spec::TypedOutput &output) const;
  void warn_about_scalars(const OutputDecl &decl);
  void check_unused_lets();
  void mark_lets();
  void check_marks() const;

  const SpecData &data_;
  spec::TypedSpec spec_;
  spec::Space space_;
  spec::Reads reads_;
  type::Typer typer_;
};

// An update is an output with the axes and the dtype of its state.
OutputDecl Analysis::listed_as_state(OutputDecl decl) const {
  const spec::TypedInput &state = spec_.inputs[space_.input_called(decl.name, decl.where)];
  decl.has_axes = true;
  for (const int axis : state.axis_of_dim) {
    const spec::Axis &known = spec_.axes[std::size_t(axis)];
    decl.axes.push_back(known.labelled ? AxisRef(known.name) : AxisRef(axis));
  }
  decl.dtype = state.dtype;
  return decl;
}

void Analysis::add_output(const OutputDecl &given) {
  const OutputDecl decl = given.update ? listed_as_state(given) : given;
  check_ranks(decl);
  spec::TypedOutput output;
  AxisSet listed = listed_axes(decl, output.axes);
  Lent lent;
  type::Folded value = fold_by_mode(decl, listed, lent);

  output.name = decl.name;
  output.dtype = decl.dtype.value_or(value.result);
  output.add = decl.add;
  output.update = decl.update;
  output.store = decl.store;
  output.where = space_.shown(decl.where);
  std::vector<std::size_t> &shapes = lent.shapes;
  shapes.insert(shapes.end(), value.like.begin(), value.like.end());
  std::sort(shapes.begin(), shapes.end());
  shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
  const Place &where = decl.value.node()->where;
  // A listed axis may come from an input that has others too: only what is listed is taken from it.
  const bool listing = decl.mode.kind == ModeKind::broadcast && decl.has_axes;
  const AxisSet wanted = listing ? listed : expr::every_axis;
  output.value = repeated(typer_.cast(value.node, output.dtype, where), lent, wanted, where);
  // A whole-output reduction: one over no axes is one, too.
  const bool open = value.open || decl.mode.kind == ModeKind::reduce ||
                    spec_.graph[value.node].kind == expr::NodeKind::Fold;
  const DType meeting = ops::compute_dtype(
      open ? promote(spec_.graph[value.node].dtype, output.dtype) : output.dtype);
  output.addend = repeated(typer_.cast(value.node, meeting, where), lent, wanted, where);

  AxisSet has = spec_.graph[output.value].axes;
  if (decl.mode.kind == ModeKind::broadcast && !decl.mode.use.like.empty()) {
    output.like = space_.whole_inputs_called(decl.mode.use.like, decl.where);
    check_like(decl, output);
  }
  if (decl.has_axes)
    check_listed(decl, listed, has);
  else
    output.axes = has.list();
  if (output.axes.size() > std::size_t(max_rank))
    fail("E0013",
         "output '" + decl.name + "' has " + std::to_string(output.axes.size()) + " dims, and " +
             std::to_string(max_rank) + " is the limit",
         output.where, "fold some of its axes");
  spec_.outputs.push_back(std::move(output));
}

NodeId Analysis::repeated(NodeId value, const Lent &lent, AxisSet wanted, const Place &where) {
  value = typer_.expand(value, lent.shapes, where, wanted);
  for (const auto &[input, axis] : lent.one_each)
    value = typer_.expand_along(value, input, axis, where);
  return value;
}

type::Folded Analysis::fold_by_mode(const OutputDecl &decl, AxisSet listed, Lent &lent) {
  const Mode &mode = decl.mode;
  // The place of a bare input or let is that of its declaration, and the mistake would be here.
  const ExprNode &root = *decl.value.node();
  const bool is_bare = root.kind == ExprKind::Input || root.kind == ExprKind::Let;
  const Place &where = is_bare ? decl.where : root.where;
  const std::vector<std::uint32_t> like = space_.whole_inputs_called(mode.use.like, decl.where);
  if (mode.kind == ModeKind::accumulate || mode.kind == ModeKind::reduce)
    typer_.check_use(
        {mode.use, {type::Value{}}, typer_.init_of(mode.use), {}, like, false, decl.where});
  switch (mode.kind) {
  case ModeKind::plain: {
    type::Folded value = typer_.type_whole(decl.value, {});
    // Where the value lacks an axis whose extent is said, it is repeated along it.
    if (!decl.said) return value;
    const std::size_t said = space_.index_of(*decl.said);
    for (const int axis : spec_.inputs[said].axis_of_dim)
      if (listed.has(axis) && !spec_.graph[value.node].axes.has(axis))
        lent.one_each.push_back({said, axis});
    return value;
  }

  case ModeKind::broadcast: {
    lent.shapes = reads_.inputs(decl.value);
    lent.shapes.insert(lent.shapes.end(), like.begin(), like.end());
    type::Folded value = typer_.type_whole(decl.value, {});
    AxisSet has = spec_.graph[value.node].axes;
    has = has | spec_.axes_of(value.like);
    for (std::size_t i : lent.shapes) has = has | spec_.inputs[i].axes();
    for (const int axis : listed - has) lent.one_each.push_back({lender(decl, axis), axis});
    return value;
  }

  case ModeKind::accumulate: {
    type::Entry entry{&mode.use, decl.has_axes ? listed : least_rank_axes(decl), &decl.where};
    warn_about_scalars(decl);
    return typer_.type_whole(decl.value, entry);
  }

  case ModeKind::reduce: {
    type::Value value = typer_.type(decl.value, {});
    AxisSet has = spec_.graph[value.node].axes;
    auto fold = [&](AxisSet axes) {
      return typer_.fold({mode.use, {value}, typer_.init_of(mode.use), axes, like, false, where});
    };
    if (!like.empty()) return fold(has - spec_.axes_of(like));
    if (decl.has_axes && !has.contains(listed))
      fail("E0103",
           "output '" + decl.name + "' keeps " + space_.axis_list(listed - has) +
               ", which its expression lacks: it has " + space_.axis_list(has),
           space_.shown(decl.where), "list axes that the expression has");
    AxisSet kept = decl.has_axes ? listed : least_rank_axes(decl);
    return fold(has - kept);
  }
  }
  return {};
}

AxisSet Analysis::listed_axes(const OutputDecl &decl, std::vector<int> &order) const {
  AxisSet listed;
  for (const AxisRef &ref : decl.axes) {
    int axis = space_.axis(ref, decl.where);
    if (listed.has(axis))
      fail("E0106", "output '" + decl.name + "' lists axis " + space_.axis_name(axis) + " twice",
           space_.shown(decl.where), "list each axis once");
    listed = listed | AxisSet::of(axis);
    order.push_back(axis);
  }
  return listed;
}

void Analysis::check_listed(const OutputDecl &decl, AxisSet listed, AxisSet has) const {
  if (listed == has) return;
  AxisSet missing = has - listed;
  if (decl.update)
    fail("E0043",
         "the update of '" + decl.name + "' has " + space_.axis_list(has) + ", and the state has " +
             space_.axis_list(listed),
         space_.shown(decl.where),
         missing.empty() ? "repeat the value: sum(.., like=" + decl.name + ")"
                         : "fold " + space_.axis_list(missing) + ", or give the state these axes");
  const ExprNode &node = *decl.value.node();
  const bool folds_all = node.kind == ExprKind::Fold && node.axes.empty();
  std::string help =
      !missing.empty() ? "fold " + space_.axis_list(missing) + ", or list all the axes"
      : folds_all      ? "a fold without axes folds all of them: name those to fold, sum(x, j), or "
                         "write reduce(sum) x, which keeps those that are listed"
                  : "list only axes of the expression, or use broadcast to repeat along others";
  fail("E0106",
       "output '" + decl.name + "' lists " + space_.axis_list(listed) +
           ", and its expression has " + space_.axis_list(has),
       space_.shown(decl.where), help);
}

// broadcast(like=t) repeats a value into the shape of t, which must have room for it. What the text
// does not fix is checked at a call.
void Analysis::check_like(const OutputDecl &decl, const spec::TypedOutput &output) const {
  const AxisSet wanted = spec_.axes_of(output.like);
  AxisSet has;
  for (const std::size_t i : reads_.inputs(decl.value)) has = has | spec_.inputs[i].axes();
  // One that has other axes asks for more.
  if (has.contains(wanted) && !(has == wanted))
    fail("E0106",
         "output '" + decl.name + "' is to be like " + support::quoted_list(decl.mode.use.like) +
             ", which lack" + (output.like.size() == 1 ? "s " : " ") +
             space_.axis_list(has - wanted) + " of its expression",
         output.where, "repeat along an input that has these axes, or leave like= out");
  for (const int axis : wanted) {
    std::optional<spec::DimExtent> one; // a dim of it, where all of them are 1
    bool is_one = true;
    for (const std::uint32_t l : output.like)
      for (std::size_t dim = 0; dim < spec_.inputs[l].axis_of_dim.size(); ++dim)
        if (spec_.inputs[l].axis_of_dim[dim] == axis) {
          one = {l, dim, 1};
          is_one = is_one && spec_.inputs[l].extents[dim] == 1;
        }
    if (!one || !is_one) continue;
    for (const std::size_t i : reads_.inputs(decl.value)) {
      const spec::TypedInput &x = spec_.inputs[i];
      for (std::size_t d = 0; d < x.axis_of_dim.size(); ++d)
        if (x.axis_of_dim[d] == axis && x.extents[d] > 1)
          spec::fail_like(spec_, output, {i, d, x.extents[d]}, *one);
    }
  }
}

// The axes of the inputs of the least rank, which must all be the same.
AxisSet Analysis::least_rank_axes(const OutputDecl &decl) const {
  const spec::TypedInput *least = spec::least_rank_input(spec_, reads_.inputs(decl.value));
  if (!least) return {};
  for (std::size_t i : reads_.inputs(decl.value)) {
    const spec::TypedInput &x = spec_.inputs[i];
    if (x.axis_of_dim.size() == least->axis_of_dim.size() && !(x.axes() == least->axes()))
      fail("E0105",
           "'" + least->name + "' and '" + x.name + "' have the least rank, but lie on " +
               space_.axis_list(least->axes()) + " and on " + space_.axis_list(x.axes()),
           space_.shown(decl.where), "name the axes to keep in brackets after '" + decl.name + "'");
  }
  return least->axes();
}

void Analysis::warn_about_scalars(const OutputDecl &decl) {
  if (decl.has_axes) return;
  std::string scalar, folded;
  for (std::size_t i : reads_.inputs(decl.value)) {
    const spec::TypedInput &x = spec_.inputs[i];
    (x.axis_of_dim.empty() ? scalar : folded) = x.name;
  }
  if (scalar.empty() || folded.empty()) return;
  spec_.notes.push_back(
      support::decide(support::Reason::ScalarOperand, decl.name, "a scalar",
                      "output '" + decl.name + "' is a scalar, because '" + scalar +
                          "' is one: name the axes to keep in brackets to fold less",
                      {{"keep the axes of '" + folded + "'", "only brackets would say which"}}));
}

// order none: nothing is aligned, so unlabelled inputs that meet must have one rank.
void Analysis::check_ranks(const OutputDecl &decl) const {
  if (data_.order != Order::none) return;
  const spec::TypedInput *first = nullptr;
  for (std::size_t i : reads_.inputs(decl.value)) {
    const spec::TypedInput &x = spec_.inputs[i];
    if (!x.by_order || x.axis_of_dim.empty()) continue;
    if (!first) first = &x;
    if (x.axis_of_dim.size() != first->axis_of_dim.size())
      fail("E0130",
           "'" + first->name + "' has " +
               support::count(std::int64_t(first->axis_of_dim.size()), "dim") + ", '" + x.name +
               "' has " + support::count(std::int64_t(x.axis_of_dim.size()), "dim") +
               " (order none)",
           space_.shown(decl.value.node()->where),
           "write `order f` to align trailing dims, `order c` for leading ones, or give labels");
  }
}

// The input that gives `axis` its extent where the expression reads none that has it.
std::size_t Analysis::lender(const OutputDecl &decl, int axis) const {
  std::size_t found = spec_.inputs.size();
  for (std::size_t i = 0; i < spec_.inputs.size() && spec_.axes[std::size_t(axis)].labelled; ++i) {
    const spec::TypedInput &x = spec_.inputs[i];
    for (std::size_t dim = 0; dim < x.axis_of_dim.size(); ++dim)
      if (x.labelled && x.axis_of_dim[dim] == axis &&
          (found == spec_.inputs.size() || !x.may_stretch[dim]))
        found = i;
  }
  if (found == spec_.inputs.size())
    fail("E0106",
         "output '" + decl.name + "' lists axis " + space_.axis_name(axis) +
             ", which no input of its expression has: its extent is unknown",
         space_.shown(decl.where), "use broadcast(like=x) to take the extents of an input x");
  return found;
}

// Mistakes in a let that nothing reads are mistakes all the same; one whose extents and indices
// depend on where it is read cannot be judged.
void Analysis::check_unused_lets() {
  expr::Walker used;
  for (const OutputDecl &output : data_.outputs)
    used.walk(output.value.node(), [](const ExprNode &) {});
  for (const Expr &let : data_.lets)
    if (!used.seen(let.node()) && !reads_[let].scoped) typer_.type(let, {});
}

// What the schedule keeps or computes again is marked, as if it stood in keep() or recompute().
void Analysis::mark_lets() {
  std::map<std::string, const spec::Wishes::Let *> wishes;
  for (const spec::Wishes::Let &wish : spec_.wishes.lets) wishes[wish.clause.names[0]] = &wish;
  for (const spec::NamedValue &let : spec_.lets)
    if (const auto found = wishes.find(let.let); found != wishes.end())
      spec_.marks.push_back({let.value, found->second->keeps(), found->second->clause.where, true,
                             found->second->at});
}

// Equal values are one node, so that keep(exp(x)) and recompute(exp(x)) meet wherever they are
// written.
void Analysis::check_marks() const {
  std::map<std::uint32_t, bool> kept;
  for (const spec::Mark &mark : spec_.marks)
    if (kept.try_emplace(mark.value.index, mark.keep).first->second != mark.keep)
      fail("E0016", "one value is in keep() and in recompute()", space_.shown(mark.where),
           "leave one of the two out");
}

} // namespace

spec::TypedSpec analyse(const SpecData &data) {
  check_pairings(data);
  spec::check_schedule(data);
  const SpecData expanded = spec::expand_calls(data);
  // What is wrong is found as it is written.
  const auto as_written = [](const SpecData &one) { return Analysis(one).run(); };
  const auto analyse_all = [](const SpecData &all, std::optional<spec::Split> split,
                              const auto &analyse_one) {
    if (!split) return analyse_one(all);
    spec::TypedSpec typed = analyse_one(split->rest);
    typed.materialised = std::move(split->lets);
    return typed;
  };
  std::optional<spec::Split> split = spec::split_scheduled(expanded, as_written);
  if (!scale::is_wanted(data)) {
    const auto analysed = [&](const SpecData &all) {
      return analyse_all(all, spec::split_scheduled(all, as_written), as_written);
    };
    spec::TypedSpec typed = analyse_all(expanded, std::move(split), as_written);
    const auto inlined = spec::with_inlined_lets(expanded, typed, analysed);
    return inlined ? analysed(*inlined) : typed;
  }

  spec::TypedSpec typed = analyse_all(expanded, split, as_written);
  std::vector<Decision> notes;
  const SpecData folded = scale::fold_scales(expanded, split, notes);
  const bool has_loops =
      split && std::ranges::any_of(split->lets, [](const auto &let) { return !!let->recurrence; });
  if (has_loops || !notes.empty()) {
    // The step of a loop folds by itself.
    const auto with_steps = [](const SpecData &one) {
      spec::TypedSpec step = Analysis(one).run();
      std::vector<Decision> moved;
      if (one.step_axis.empty()) return step;
      const SpecData made = scale::fold_scales(one, moved);
      if (moved.empty()) return step;
      step = Analysis(made).run();
      step.notes.insert(step.notes.begin(), moved.begin(), moved.end());
      return step;
    };
    typed = analyse_all(folded, spec::split_scheduled(folded, with_steps), as_written);
  }
  typed.notes.insert(typed.notes.begin(), notes.begin(), notes.end());
  return typed;
}

} // namespace broadloom::analysis

namespace broadloom {

void check(const LoopSpec &spec) try {
  const support::FloatWorld world;
  analysis::analyse(spec.data());
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
