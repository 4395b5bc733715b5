// See jvp.hpp.
#include "analysis/analyse.hpp"
#include "facts/substitute.hpp"
#include "facts/terms.hpp"
#include "grad/bounds.hpp"
#include "grad/earlier_steps.hpp"
#include "grad/jvp.hpp"
#include "grad/through_lets.hpp"
#include "grad/widen.hpp"
#include "spec/declared.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <map>

namespace broadloom::grad {
namespace {

const std::string &name_of(const spec::Materialised &let) { return let.data.outputs[0].name; }

class LoopTangents {
public:
  explicit LoopTangents(const LoopToMove &loop)
      : loop_(loop), earlier_({loop.fresh, [this](const Expr &window) { return named(window); },
                               [this](const SteppedLet &of, const Expr &let) { add(of, let); }}) {}

  std::vector<TangentLet> run() {
    const std::size_t count = recurrence(loop_.first).count;
    for (std::size_t k = loop_.first; k < loop_.first + count; ++k)
      if (loop_.moving.contains(name_of(let(k)))) derive(k);
    for (Member &member : members_) {
      member.let = make_tangent(member, member.value, goes_on(member, member));
      Expr value = in_this_kernel(member);
      TangentLet made{make_tangent(member, value, goes_on(member, member)), std::move(named_)};
      named_.clear();
      made_.push_back(std::move(made));
    }
    return std::move(made_);
  }

private:
  struct Member {
    std::size_t k = 0; // of the split
    SpecData step;     // its tangent, with arrays in place of what is read of the loop
    Expr value;
    std::set<std::size_t> reads; // the lets whose tangents it reads
    Expr let;                    // of its name; its value is of no account
  };
  // A let of the loop as an array of a step: which one, and whether it is its tangent.
  struct Before {
    std::size_t k = 0;
    bool is_tangent = false;
  };

  const spec::Materialised &let(std::size_t k) const { return *loop_.split.lets[k]; }
  const spec::Recurrence &recurrence(std::size_t k) const { return *let(k).recurrence; }
  const ExprNode &node(std::size_t k) const { return *loop_.lets.at(name_of(let(k))).node(); }
  const std::string &tangent_name(std::size_t k) const {
    return loop_.request.names.at(name_of(let(k)));
  }

  void derive(std::size_t k) {
    Member member;
    member.k = k;
    JvpRequest request = loop_.request;
    request.of = {name_of(let(k))};
    request.value = false;
    request.plain = true;
    std::erase_if(request.wrt, [&](const std::string &moved) {
      return std::ranges::none_of(let(k).data.inputs,
                                  [&](const auto &input) { return input->name == moved; });
    });
    for (const spec::Recurrence::Read &read : recurrence(k).reads) {
      const std::string &array = let(k).typed.inputs[read.input].name;
      before_[array] = {read.let, false};
      if (!loop_.moving.contains(name_of(let(read.let)))) continue;
      const auto [known, fresh] = tangents_of_.try_emplace(array);
      if (fresh) known->second = loop_.fresh("t_" + array);
      before_[known->second] = {read.let, true};
      request.wrt.push_back(array);
      request.names[array] = known->second;
    }
    member.step = directional(let(k).data, request);
    OutputDecl &output = member.step.outputs[0];
    Decls bounds = spec::declared_inputs(let(k).data);
    std::erase_if(bounds, [&](const auto &input) {
      return is_positions(k, input->window ? input->window->of->name : input->name);
    });
    SameExtents same;
    for (const auto &input : let(k).data.inputs) // or lets
      if (!input->window && request.names.contains(input->name))
        same.emplace(request.names.at(input->name), input->name);
    output.value =
        with_bounds(loop_.accumulators.own(output.value), bounds, member.step.inputs, same);
    output.dtype.reset();
    const DType dtype = let(k).typed.outputs[0].dtype;
    member.value = analysis::analyse(member.step).outputs[0].dtype == dtype
                       ? output.value
                       : make_cast(dtype, output.value, output.where);
    expr::Walker().walk(member.value.node(), [&](const ExprNode &node) {
      if (node.kind != ExprKind::Input || !node.input->window) return;
      const auto array = before_.find(node.input->window->of->name);
      if (array != before_.end() && array->second.is_tangent) member.reads.insert(array->second.k);
    });
    members_.push_back(std::move(member));
  }

  const Member &member(std::size_t k) const { return *std::ranges::find(members_, k, &Member::k); }
  // Whether the tangent of one reads that of the other, or of what reads it.
  bool goes_on(const Member &from, const Member &to) const {
    std::set<std::size_t> seen;
    std::vector<std::size_t> open(from.reads.begin(), from.reads.end());
    while (!open.empty()) {
      const std::size_t k = open.back();
      open.pop_back();
      if (!seen.insert(k).second) continue;
      open.insert(open.end(), member(k).reads.begin(), member(k).reads.end());
    }
    return seen.contains(to.k);
  }

  // One that reads no tangent of another step begins with nothing.
  Expr make_tangent(const Member &member, const Expr &value, bool is_loop) const {
    const ExprNode &old = node(member.k);
    LetLoop loop = loop_of(old);
    const Expr start = start_of(member.k);
    loop.start = is_loop ? start : Expr();
    return make_let(tangent_name(member.k), value, old.where, old.axes, loop);
  }
  // What its tangent begins with; empty where that is 0.
  Expr start_of(std::size_t k) const {
    if (!recurrence(k).start) return {};
    const auto found = loop_.starts.find(name_of(let(*recurrence(k).start)));
    return found == loop_.starts.end() ? Expr() : found->second;
  }

  SteppedLet stepped(std::size_t k, bool is_tangent) {
    const ExprNode &old = node(k);
    SteppedLet of;
    of.let = is_tangent ? member(k).let : loop_.lets.at(name_of(let(k)));
    for (const AxisRef &axis : old.axes) of.axes.push_back(std::get<std::string>(axis.value()));
    of.dim = recurrence(k).dim;
    of.backwards = recurrence(k).backwards;
    of.start_dims = recurrence(k).start_dims;
    of.counts_steps = recurrence(k).steps < 0;
    if (is_tangent)
      of.start = start_of(k);
    else if (old.args.size() > 1)
      of.start = old.args[1];
    if (of.start.node() && !number_of(of.start)) {
      const auto [known, fresh] = starts_.try_emplace({k, is_tangent});
      const spec::Materialised &start = let(*recurrence(k).start);
      if (fresh)
        known->second = spec::let_of_start(
            start.typed, is_tangent ? loop_.fresh(tangent_name(k) + "_start") : name_of(start),
            of.start, old.where);
      of.start = known->second;
    }
    return of;
  }
  void add(const SteppedLet &of, const Expr &let) {
    const auto is_input = [](const ExprNode &value) {
      return value.kind == ExprKind::Input && !value.input->window;
    };
    for (const auto &[key, start] : starts_) // that of a let itself is there
      if (key.second && start.node() == of.start.node() &&
          !is_input(*start.node()->args[0].node()) && listed_.insert(start.node()->name).second)
        made_.push_back({start, {}});
    made_.push_back({let, std::move(named_)});
    named_.clear();
  }
  std::string named(const Expr &window) {
    named_.push_back(window.node()->input);
    return window.node()->input->name;
  }

  Expr own(std::size_t k, const Place &where) {
    const SteppedLet of = stepped(k, false);
    return make_window(of.let, spec::along(of.axes), where);
  }

  Expr in_this_kernel(const Member &member) {
    const Expr array = own(member.k, node(member.k).where);
    const ExprNode &value = *let(member.k).data.outputs[0].value.node();
    return facts::exchange(member.value, [&](const ExprNode &node) {
      if (const Expr held = held_in(array, value, node); held.node()) return held;
      if (node.kind == ExprKind::Iota || node.kind == ExprKind::Extent)
        return of_arrays(member, node);
      if (node.kind == ExprKind::Fold && node.use && !node.use->like.empty())
        return like_arrays(member, node);
      if (node.kind != ExprKind::Input || !node.input->window) return Expr();
      const std::string &of = node.input->window->of->name;
      if (is_positions(member.k, of)) return position(member, *node.input->window, node.where);
      if (const auto found = before_.find(of); found != before_.end())
        return read(member, found->second, *node.input->window, node.where);
      return spec::over_lets(node, loop_.lets);
    });
  }

  Expr read(const Member &by, const Before &of, const Window &window, const Place &where) {
    Window at = spec::with_lets(window, loop_.lets);
    const spec::Recurrence &loop = recurrence(of.k);
    std::int64_t &moved = at.forms[loop.dim].constant;
    const std::int64_t lag = loop.backwards ? moved : loop.lag - moved;
    moved = 0;
    const bool together =
        of.is_tangent && goes_on(by, by) && goes_on(member(of.k), by) && goes_on(by, member(of.k));
    if (!together) return earlier_.read(stepped(of.k, of.is_tangent), lag, std::move(at), where);
    moved = loop.backwards ? lag : -lag;
    return make_window_like(make_ahead(tangent_name(of.k), where), at, where);
  }

  bool is_positions(std::size_t k, const std::string &name) const {
    const auto &positions = recurrence(k).positions;
    return positions && let(k).typed.inputs[*positions].name == name;
  }
  // The number of the step, or of the last.
  Expr position(const Member &member, const Window &window, const Place &where) {
    const SteppedLet of = stepped(member.k, false);
    const AxisRef axis(of.axes[of.dim]);
    if (!window.forms[0].terms.empty()) return make_iota(axis, {}, where);
    const Expr steps = make_extent(axis, {}, where);
    const facts::Terms t(where);
    return t.sub(steps, t.num(1));
  }

  // What a name of a window, or of an array, means here; empty: the same.
  std::string name_here(const Member &member, const std::string &name) {
    for (const auto &input : member.step.inputs) {
      if (input->name != name) continue;
      if (!input->window) return {};
      const auto found = before_.find(input->window->of->name);
      if (found != before_.end()) {
        Window at = spec::with_lets(*input->window, loop_.lets);
        at.forms[recurrence(found->second.k).dim].constant = 0; // its shape alone matters
        const Expr &of = loop_.lets.at(name_of(let(found->second.k)));
        return named(make_window_like(of, at, input->where));
      }
      named_.push_back(spec::over_lets(input, loop_.lets));
      return {};
    }
    return {};
  }
  Expr of_arrays(const Member &member, const ExprNode &node) {
    std::vector<std::string> of = node.of;
    bool changed = false;
    for (std::string &name : of)
      if (const std::string here = name_here(member, name); !here.empty()) {
        name = here;
        changed = true;
      }
    if (!changed) return {};
    return with_of(node, node.axes[0], of);
  }
  Expr like_arrays(const Member &member, const ExprNode &node) {
    const auto at = std::ranges::find_if(
        node.use->like, [&](const auto &name) { return !name_here(member, name).empty(); });
    if (at == node.use->like.end()) return {};
    support::fail("E0607",
                  "a sum in let '" + name_of(let(member.k)) + "' is like " + *at +
                      ", which is not there as a whole yet, and nothing moves through it",
                  support::with_text(node.where, let(member.k).data.source.get()),
                  "let it be like an array that is there before");
  }

  const LoopToMove &loop_;
  EarlierSteps earlier_;
  std::vector<Member> members_;
  std::unordered_map<std::string, Before> before_;           // by the name of the array
  std::unordered_map<std::string, std::string> tangents_of_; // of such arrays
  std::map<std::pair<std::size_t, bool>, Expr> starts_;      // lets: [member, of its tangent]
  std::set<std::string> listed_;                             // of these
  std::vector<std::shared_ptr<const InputDecl>> named_;      // of the let in the making
  std::vector<TangentLet> made_;
};

} // namespace

std::vector<TangentLet> tangents_of_loop(const LoopToMove &loop) {
  return LoopTangents(loop).run();
}

std::vector<std::string> moving_members(const spec::Split &split, std::size_t first,
                                        const std::vector<std::string> &moving) {
  std::vector<std::string> found;
  std::set<std::size_t> known;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t k = first; k < first + split.lets[first]->recurrence->count; ++k) {
      const spec::Materialised &let = *split.lets[k];
      if (known.contains(k) || !is_continuous(let.typed.outputs[0].dtype)) continue;
      std::vector<std::string> all = moving;
      for (const spec::Recurrence::Read &read : let.recurrence->reads)
        if (known.contains(read.let)) all.push_back(let.typed.inputs[read.input].name);
      const auto &start = let.recurrence->start;
      const bool begins = start && std::ranges::count(moving, name_of(*split.lets[*start])) != 0;
      if (!begins && !reads_any(let.data, all)) continue;
      known.insert(k);
      found.push_back(name_of(let));
      more = true;
    }
  }
  return found;
}

} // namespace broadloom::grad
