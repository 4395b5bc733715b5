// See choose_saved.hpp.
#include "grad/choose_saved.hpp"

#include "analysis/analyse.hpp"
#include "expr/function.hpp"
#include "expr/held_lets.hpp"
#include "grad/forward_sizes.hpp"
#include "grad/order.hpp"
#include "grad/saved_within.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace broadloom::grad {
namespace {

// Where keep() asks for more than there may be.
struct Kept {
  std::int64_t bytes = 0;
  std::optional<Place> first = {};

  void add(const ForwardValue &value, const Place &where) {
    if (!value.must_be_saved || !value.wanted) return;
    bytes += value.bytes;
    if (!first) first = where;
  }
  void check(const SaveWithin &within, const std::string *source) const {
    if (bytes <= within.bytes) return;
    support::fail("E0610",
                  "what keep() is around takes " + support::count(bytes, "byte") + ", and " +
                      std::to_string(within.bytes) + " may be saved",
                  first ? support::with_text(*first, source) : Place(),
                  "allow " + support::count(bytes, "byte") + ", or leave keep() out");
  }
};

Saved told_of(const std::vector<ForwardValue> &values, const std::vector<bool> &saved) {
  Saved told;
  for (std::size_t v = 0; v < values.size(); ++v) {
    told.wanted += values[v].wanted;
    told.saved += saved[v];
    if (saved[v]) told.bytes += values[v].bytes;
  }
  return told;
}

bool is_mark(const ExprNode &node, ops::Op op) {
  return node.kind == ExprKind::Op && node.op == op;
}

// Lets of which others ask for more than elements: what is computed again has them as they are. Of
// those that like= and of= name it has no other.
struct ReadOtherwise {
  std::set<std::string> lets, named;
};
ReadOtherwise read_otherwise(const SpecData &data) {
  std::set<std::string> found, names;
  const auto add_extents = [&](const InputDecl &decl) {
    for_each_extent(decl, [&](const AffineForm::Extent &extent) {
      if (extent.of.node()->kind == ExprKind::Let) found.insert(name_of_array(extent.of));
    });
  };
  expr::Walker walker;
  for (const auto &[name, let] : spec::lets_by_name(data))
    walker.walk(let.node(), [&](const ExprNode &node) {
      if (node.input) add_extents(*node.input);
      names.insert(node.of.begin(), node.of.end());
      if (node.use) names.insert(node.use->like.begin(), node.use->like.end());
      if (node.kind == ExprKind::Input && node.input->window) // its let is read by elements
        return found.merge(lets_in_positions(*node.input->window));
      for (const Expr &arg : node.args)
        if (arg.node()->kind == ExprKind::Let && !arg.node()->axes.empty())
          found.insert(arg.node()->name);
    });
  ReadOtherwise all{std::move(found), {}};
  for (const auto &input : data.inputs)
    if (names.contains(input->name)) all.named.merge(spec::lets_read(*input));
  return all;
}

double work_of(const ExprNode &node) {
  switch (node.kind) {
  case ExprKind::Op: return ops::info(node.op).cost;
  case ExprKind::Cast: return 2;
  case ExprKind::Fold:
  case ExprKind::Scan: return 4;
  case ExprKind::Call: {
    double all = 0;
    expr::Walker walker;
    walker.walk(node.function->body.node(), [&](const ExprNode &part) {
      if (part.kind == ExprKind::Op) all += ops::info(part.op).cost;
    });
    return all;
  }
  case ExprKind::Input:
  case ExprKind::Literal:
  case ExprKind::Let:
  case ExprKind::Extent:
  case ExprKind::Iota:
  case ExprKind::Parameter:
  case ExprKind::Join: return 0;
  }
  return 0;
}

} // namespace

std::vector<std::string> choose_lets(const SpecData &data, const spec::Split &split,
                                     const SaveWithin &within, const std::vector<std::string> &read,
                                     Saved &told) {
  const spec::TypedSpec typed = analysis::analyse(data);
  const ForwardSizes sizes(typed, within.inputs);
  const spec::LetsByName lets = spec::lets_by_name(data);
  const ReadOtherwise otherwise = read_otherwise(data);
  std::map<std::string, std::size_t> index;
  std::vector<ForwardValue> values;
  std::vector<ForwardWork> work;
  Kept kept;
  for (std::size_t k = 0; k < split.lets.size(); ++k) {
    const spec::Materialised &let = *split.lets[k];
    const std::string &name = let.data.outputs[0].name;
    index[name] = k;
    ForwardWork own{sizes.operations(let)};
    if (let.join)
      for (const std::string &part : let.join->parts) own.needs.push_back(index.at(part));
    for (const spec::TypedInput &input : let.typed.given())
      if (const auto known = index.find(input.name); input.materialised && known != index.end())
        own.needs.push_back(known->second);
    const bool goes_on = let.recurrence && let.recurrence->first != k; // the loop is one work
    if (goes_on) {
      work.back().operations += own.operations;
      work.back().needs.insert(work.back().needs.end(), own.needs.begin(), own.needs.end());
    } else {
      work.push_back(std::move(own));
    }
    if (let.recurrence && let.recurrence->start)
      work.back().needs.push_back(*let.recurrence->start);
    ForwardValue &value = values.emplace_back(ForwardValue{sizes.bytes(name), work.size() - 1});
    const auto own_let = lets.find(name);
    if (own_let == lets.end()) { // what a loop begins with
      value.may_be_saved = false;
      continue;
    }
    const ExprNode &root = *own_let->second.node()->args[0].node();
    value.wanted = std::ranges::count(read, name) != 0;
    value.must_be_saved = is_mark(root, ops::Op::Keep);
    value.may_be_saved = !is_mark(root, ops::Op::Recompute) && !otherwise.named.contains(name) &&
                         (value.wanted || !otherwise.lets.contains(name));
    kept.add(value, own_let->second.node()->where);
  }
  kept.check(within, data.source.get());
  const std::vector<bool> saved = saved_within(values, work, within.bytes);
  told = told_of(values, saved);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (saved[k]) names.push_back(split.lets[k]->data.outputs[0].name);
  return names;
}

std::vector<Expr> choose_values(const spec::TypedSpec &typed, facts::Facts &facts,
                                const ForwardValues &forward, const std::vector<ReadValue> &read,
                                const SaveWithin &within, Saved &told) {
  const ForwardSizes sizes(typed, within.inputs);
  std::vector<ForwardValue> values;
  std::vector<ForwardWork> work;
  std::vector<std::vector<Expr>> exprs; // [value]
  std::unordered_map<const ExprNode *, std::size_t> index;
  std::map<std::uint32_t, std::size_t> by_node; // equal values once
  Kept kept;
  const auto enter = [&](const Expr &expr) {
    const ExprNode &node = *expr.node();
    if (is_another_name(node)) {
      if (const auto of = index.find(value_of(expr).node()); of != index.end())
        index.emplace(&node, of->second);
      return;
    }
    if (is_free(expr)) return;
    const bool is_scoped = facts.is_scoped(expr);
    if (!is_scoped) {
      const auto [known, fresh] = by_node.try_emplace(facts.node(expr).index, values.size());
      if (!fresh) {
        index.emplace(&node, known->second);
        exprs[known->second].push_back(expr);
        return;
      }
    }
    expr::AxisSet walked = facts.axes(expr);
    ForwardWork own;
    for (const Expr &arg : node.args) {
      walked = walked | facts.axes(arg);
      if (const auto known = index.find(arg.node()); known != index.end())
        own.needs.push_back(known->second);
    }
    own.operations = work_of(node) * sizes.elements(walked);
    index.emplace(&node, values.size());
    ForwardValue &value = values.emplace_back();
    value.made_by = work.size();
    work.push_back(std::move(own));
    exprs.push_back({expr});
    value.may_be_saved = !is_scoped && !forward.is_recomputed(expr) && facts.can_be_saved(expr) &&
                         !facts.inputs(expr).empty();
    if (!value.may_be_saved) return;
    value.bytes =
        std::int64_t(sizes.elements(facts.axes(expr)) * double(size_of(facts.dtype(expr))));
    value.must_be_saved = forward.is_kept(expr);
  };
  std::vector<Expr> roots;
  for (const ReadValue &one : read) roots.push_back(one.value);
  for (const Expr &expr : in_order(roots, [](const Expr &part) { return part.node()->args; }))
    enter(expr);
  for (const ReadValue &one : read)
    if (const auto known = index.find(one.value.node()); known != index.end())
      values[known->second].wanted = true;
  for (std::size_t v = 0; v < values.size(); ++v) kept.add(values[v], exprs[v][0].node()->where);
  kept.check(within, typed.source.get());
  const std::vector<bool> saved = saved_within(values, work, within.bytes);
  told = told_of(values, saved);
  std::vector<Expr> chosen;
  for (std::size_t v = 0; v < values.size(); ++v)
    if (saved[v]) chosen.insert(chosen.end(), exprs[v].begin(), exprs[v].end());
  return chosen;
}

} // namespace broadloom::grad
