// See batch.hpp and <broadloom/jacobian.hpp>.
//
//   inputs      x : f32[i]           ->  x : f32[b, i]            batch_inputs.cpp
//   positions   x[i + u]             ->  x[b, i + u]
//   reductions  sum(x), sum(e, like=w)   say which axes they fold   batch_folds.cpp
//   lets        let h[i] = ..        ->  let h[b, i] = ..
//   outputs     out z, of any mode   ->  out z[b, i]
#include "grad/batch.hpp"
#include "grad/labels.hpp"
#include "grad/request.hpp"

#include "analysis/analyse.hpp"
#include "expr/function.hpp"
#include "expr/join.hpp"
#include "spec/words.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/free_name.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <broadloom/jacobian.hpp>

#include <algorithm>

namespace broadloom {
namespace grad {

Batcher::Batcher(const SpecData &data, std::string axis, const std::set<std::string> &inputs)
    : data_(data), axis_(std::move(axis)), inputs_(inputs), facts_(data, inputs),
      names_(spec::names_of(data)) {}

SpecData Batcher::run() {
  made_ = spec::emptied(data_, "_batch");
  made_.axes.clear(); // which may have one axis more
  make_inputs();
  find_terms();
  for (const auto &axis : data_.axes) made_.axes.push_back(said_now("axis", *axis));
  for (const Expr &let : data_.lets) {
    const Expr made = now(let);
    made_.lets.push_back(made);
  }
  for (std::size_t k = 0; k < data_.outputs.size(); ++k) made_.outputs.push_back(output(k));
  made_.inputs.insert(made_.inputs.end(), windows_.begin(), windows_.end());
  return std::move(made_);
}

Expr Batcher::now(const Expr &expr) {
  kept_.push_back(expr);
  return exchange_.run(expr, [&](const ExprNode &node) { return made(node); });
}

Expr Batcher::made(const ExprNode &node) {
  switch (node.kind) {
  case ExprKind::Input: {
    if (!node.input->window) {
      const auto decl = decls_.find(node.input->name);
      return decl == decls_.end() || decl->second == node.input
                 ? Expr()
                 : make_input(decl->second, node.where);
    }
    const bool has_changed =
        std::ranges::any_of(node.args, [&](const Expr &arg) { return exchange_.has(arg.node()); });
    if (!has_changed && !changes(*node.input)) return {};
    return window_now(*node.input, let_seen(node), node.where);
  }
  case ExprKind::Fold: return fold(node);
  case ExprKind::Scan:
    return with_use(node, *node.use, exchange_.args_of(node), {moved(node.axes[0], node.where)});
  case ExprKind::Extent:
  case ExprKind::Iota: {
    std::vector<std::string> of;
    for (const std::string &name : node.of) of.push_back(named(name));
    return with_of(node, moved(node.axes[0], node.where), std::move(of));
  }
  case ExprKind::Let: return let(node);
  case ExprKind::Join: return join(node);
  case ExprKind::Call: check_function(node); return {};
  case ExprKind::Literal:
  case ExprKind::Op:
  case ExprKind::Cast:
  case ExprKind::Parameter: return {};
  }
  return {};
}

// The definition stays, and is read beside values that have one axis more.
void Batcher::check_function(const ExprNode &call) const {
  expr::Walker walker;
  walker.walk(call.function->body.node(), [&](const ExprNode &node) {
    const bool by_number = !node.axes.empty() && std::holds_alternative<int>(node.axes[0].value());
    const bool folds_all = node.kind == ExprKind::Fold && node.axes.empty();
    if (by_number || folds_all)
      fail("function '" + call.function->name +
               "', which says its derivatives, names no axes by labels",
           call.where, "name the axes that it folds");
  });
}

std::string Batcher::fresh(const std::string &name) { return support::fresh_name(name, names_); }

Expr Batcher::add_let(Expr let) {
  made_.lets.push_back(let);
  return let;
}

AxisRef Batcher::ref(const std::string &axis) const {
  if (axis[0] == '#') {
    const int number = std::stoi(axis.substr(1));
    return number + (number >= place_ ? 1 : 0);
  }
  const auto found = renamed_.find(axis);
  return found == renamed_.end() ? label_now(axis) : found->second;
}

std::vector<AxisRef> Batcher::refs(const AxisNames &axes) const {
  std::vector<AxisRef> made;
  for (const std::string &axis : axes) made.push_back(ref(axis));
  return made;
}

std::vector<AxisRef> Batcher::listed(const AxisNames &axes) const {
  std::vector<AxisRef> made{own_ref()};
  for (const std::string &axis : axes) made.push_back(ref(axis));
  return made;
}

// ---- lets

Expr Batcher::let(const ExprNode &node) {
  const bool moves = facts_.is_array(node.name) && facts_.depends(node.name);
  const bool has_changed =
      std::ranges::any_of(node.args, [&](const Expr &arg) { return exchange_.has(arg.node()); });
  if (!moves && !has_changed && !node.input) return {};
  LetLoop loop = loop_of(node);
  if (loop.said) loop.said = said_now(node.name, *loop.said);
  if (loop.start.node()) loop.start = moves ? start(node, loop.start) : exchange_(loop.start);
  if (moves) ++loop.counted_dim;
  const std::vector<AxisRef> axes = moves ? listed(facts_.dims(node.name)) : node.axes;
  const Expr made = make_let(node.name, exchange_(node.args[0]), node.where, axes, loop);
  lets_now_[node.name] = made;
  return made;
}

// What a loop begins with has all dims of the let but that of the steps: where their names or the
// new axis are missing, it is read at positions that name them.
Expr Batcher::start(const ExprNode &let, const Expr &value) {
  const Expr made = exchange_(value);
  const AxisNames axes = facts_.axes(value);
  const bool moves = facts_.depends(value);
  const spec::Materialised &array = facts_.array(let.name);
  AxisNames others = facts_.dims(let.name);
  others.erase(others.begin() + std::ptrdiff_t(array.recurrence->dim));
  if (axes.empty() && moves && !others.empty())
    fail("let '" + let.name + "' begins with one value, which is another for each element of it",
         value.node()->where, "begin it with an array of its dims");
  if (axes.empty() || (moves && without(axes, others).empty())) return made;
  const std::vector<std::size_t> &dims = array.recurrence->start_dims;
  const spec::Materialised &begun = *facts_.split()->lets[*array.recurrence->start];
  AxisNames own;
  for (const AffineForm &form : spec::own_positions(begun.typed)) own.push_back(form.terms[0].axis);
  if (own.size() != dims.size())
    fail("what let '" + let.name + "' begins with has axes without names", value.node()->where,
         "label them");
  const std::string name = fresh(let.name + "_from");
  LetLoop loop;
  if (!moves) loop.said = make_said(name, {own_extent(let.where)}, [&] { return let.where; });
  const Expr begins =
      add_let(make_let(name, made, value.node()->where, listed(own), std::move(loop)));
  AxisNames read{axis_};
  for (const std::size_t dim : dims) read.push_back(facts_.dims(let.name)[dim]);
  return make_window(begins, spec::along(read), let.where);
}

// All parts of a join have its dims.
Expr Batcher::join(const ExprNode &node) {
  if (std::ranges::none_of(node.args, [&](const Expr &arg) { return facts_.depends(arg); }))
    return {};
  if (node.places)
    fail("a let or an output that is written by parts at positions hangs on it", node.where,
         "join its parts by concat or stack");
  std::vector<Expr> parts;
  for (const Expr &arg : node.args) {
    const Expr part = exchange_(arg);
    if (facts_.depends(arg)) {
      parts.push_back(part);
      continue;
    }
    const std::string name = fresh(arg.node()->name + "_" + axis_);
    LetLoop loop;
    loop.said = make_said(name, {own_extent(node.where)}, [&] { return node.where; });
    parts.push_back(add_let(
        make_let(name, part, node.where, listed(facts_.dims(arg.node()->name)), std::move(loop))));
  }
  const int *dim = std::get_if<int>(&node.axes[0].value());
  const AxisRef axis = dim != nullptr && *dim >= 0 ? AxisRef(*dim + 1) : node.axes[0];
  return make_join(axis, std::move(parts), node.stacks, node.where);
}

// ---- outputs

OutputDecl Batcher::output(std::size_t k) {
  OutputDecl output = data_.outputs[k];
  FoldUse &use = output.mode.use;
  const bool likes =
      std::ranges::any_of(use.like, [&](const std::string &name) { return facts_.depends(name); });
  bool moves = likes || facts_.depends(output.value);
  for (const Expr &init : use.init) moves = moves || facts_.depends(init);
  if (moves && output.at)
    fail("output '" + output.name + "' is written at positions", output.where,
         "write a sum like an input, sum(.., like=x[..]), and add it outside");
  const AxisNames axes = facts_.axes_of_output(k);
  const bool reduces = output.mode.kind == ModeKind::reduce;
  if (moves && !likes && !use.like.empty() && reduces) { // the fold that the mode stands for
    const Expr whole = make_fold(use, {output.value}, {}, output.value.node()->where);
    output.value = whole;
    output.mode = {};
  } else if (moves && !likes && !use.like.empty()) {
    for (const std::string &axis : axes)
      if (!facts_.is_firm(axis))
        fail("output '" + output.name +
                 "' is like an input that lacks the axis and may have dims of 1",
             output.where, "give that input the axis, too, or label its dims");
    use.like.clear();
  }
  if (moves && output.mode.kind == ModeKind::accumulate) write_out_accumulate(output, axes);
  const bool folds = output.value.node()->kind == ExprKind::Fold;
  output.value = now(output.value);
  if (folds && output.value.node()->kind == ExprKind::Op && (output.dtype || output.add))
    fail("output '" + output.name + "' is a reduction like an input that lacks the axis",
         output.where, "give that input the axis, too");
  for (Expr &init : use.init) init = now(init);
  if (output.said) output.said = said_now(output.name, *output.said);
  // Where the axes come in the order of the iteration space, they need no list.
  const bool is_in_order =
      place_ == 0 && renamed_.empty() && !output.has_axes && output.mode.use.like.empty() &&
      (output.mode.kind == ModeKind::plain || output.mode.kind == ModeKind::broadcast);
  if (const auto array = dims_of_outputs_.find(k); array != dims_of_outputs_.end()) {
    list_dims_of(output, axes, array->second);
  } else if (moves) {
    output.has_axes = !is_in_order;
    output.axes = is_in_order ? std::vector<AxisRef>() : listed(axes);
  } else {
    for (AxisRef &axis : output.axes) axis = moved(axis, output.where);
  }
  return output;
}

namespace {

void check_axis(const SpecData &data, const std::string &axis) {
  const spec::NameCheck check = spec::check_name(axis, "an axis");
  if (!check.code.empty()) support::fail(check.code, check.message, data.where, check.help);
  if (labels_of(data).contains(axis))
    support::fail("E0061", "kernel '" + data.name + "' has an axis '" + axis + "' already",
                  data.where, "give the axis of the batch another name");
}

void check_inputs(const SpecData &data, const std::set<std::string> &inputs) {
  std::vector<std::string> known;
  for (const auto &decl : whole_inputs(data)) known.push_back(decl->name);
  for (const std::string &name : inputs)
    if (std::ranges::count(known, name) == 0) {
      const std::string near = support::closest(name, known);
      support::fail("E0003", "there is no input '" + name + "' to give axis of a batch", data.where,
                    near.empty() ? "name inputs of kernel '" + data.name + "'"
                                 : "did you mean '" + near + "'?");
    }
  for (const auto &decl : whole_inputs(data))
    if (decl->role == InputRole::state)
      support::fail("E0061",
                    "kernel '" + data.name + "' gets no axis of a batch: '" + decl->name +
                        "' is a state",
                    support::with_text(decl->where, data.source.get()),
                    "make it an input, and what it becomes an output");
}

} // namespace

SpecData batched(const SpecData &given, const std::string &axis,
                 const std::set<std::string> &inputs) {
  SpecData data = spec::expand_calls(given, spec::Calls::WithoutDerivatives);
  check_axis(data, axis);
  check_inputs(data, inputs);
  const auto over = [&](const SpecData &kernel) {
    SpecData made = Batcher(kernel, axis, inputs).run();
    analysis::analyse(made);
    return made;
  };
  try {
    return over(data);
  } catch (const SpecError &error) {
    const auto labels = error.code() == "E0061" ? labelled(data, Stretch::Kept) : std::nullopt;
    if (!labels) throw;
    try {
      return over(*labels);
    } catch (const SpecError &) {
    }
    throw; // told of the kernel as it is written
  }
}

} // namespace grad

LoopSpec batch(const LoopSpec &spec, const std::string &axis,
               const std::vector<std::string> &inputs) try {
  const support::FloatWorld world;
  std::set<std::string> chosen(inputs.begin(), inputs.end());
  if (inputs.empty())
    for (const auto &decl : grad::whole_inputs(spec::expand_calls(spec.data())))
      if (!decl->dims.empty()) chosen.insert(decl->name);
  if (chosen.empty())
    support::fail("E0061",
                  "kernel '" + spec.data().name + "' gets no axis of a batch: no input has dims",
                  spec.data().where, "name the inputs that get the axis");
  return LoopSpec(
      std::make_shared<const detail::SpecData>(grad::batched(spec.data(), axis, chosen)));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
