// See through_lets.hpp.
#include "grad/lets_gradient.hpp"

#include "expr/join.hpp"

namespace broadloom::grad {

// From what has flowed into a join to its parts. That of the second of two begins where the first one ends:
//
//   let d_b = sum(d_z[b_0 + extent(a, 0)], like=b[b_0])
void ThroughLets::pull_apart(const spec::Materialised &let) {
  const std::string &name = let.data.outputs[0].name;
  const auto flowed = into_.find(name);
  if (flowed == into_.end()) return;
  const Place &where = let.data.outputs[0].where;
  const Expr cotangent = make_let(fresh("d_" + name), flowed->second.value, where);
  cotangents_.push_back(cotangent);
  AffineForm first; // of the part that comes next
  const auto &places = lets_.at(name).node()->args[0].node()->places;
  for (std::size_t k = 0; k < let.join->parts.size(); ++k) {
    const std::string &part_name = let.join->parts[k];
    const Expr &part = lets_.at(part_name);
    std::vector<AffineForm> own, forms;
    const std::size_t rank = let.typed.outputs[0].axes.size();
    for (std::size_t dim = 0; dim < rank && places; ++dim) {
      own.push_back({0, {{spec::own_axis(part_name, dim), 1}}, {}});
      AffineForm &form = forms.emplace_back(places->of_parts[k][dim]);
      form.terms[0].axis = own.back().terms[0].axis;
      exchange_extents(form, [&](const Expr &of) {
        return of.node()->kind == ExprKind::Let ? lets_.at(of.node()->name) : Expr();
      });
    }
    for (std::size_t dim = 0; dim < rank && !places; ++dim) {
      if (let.join->stacks && dim == let.join->dim) {
        forms.push_back(first);
        continue;
      }
      own.push_back({0, {{spec::own_axis(part_name, own.size()), 1}}, {}});
      forms.push_back(own.back());
      if (dim == let.join->dim) add_to(forms.back(), first, 1);
    }
    Expr value = make_window(cotangent, forms, where);
    if (let.join->stacks) {
      ++first.constant;
    } else {
      const Expr whole = make_window(part, own, where);
      if (declared_.insert(whole.node()->input->name).second)
        windows_.push_back(whole.node()->input);
      FoldUse use;
      use.like = {whole.node()->input->name};
      value = make_fold(use, {value}, {}, where);
      if (!places) first.extents.push_back({part, let.join->dim, 1});
    }
    OutputDecl into;
    into.where = where;
    into.value = value;
    const auto [known, is_fresh] = into_.try_emplace(part_name, into);
    if (!is_fresh) known->second.value = facts::Terms(where).add(known->second.value, value);
  }
}

// Each output may become a part of a let, with axes of its own.
void ThroughLets::stay_inside_one_by_one(const Decls &bounds) {
  if (std::ranges::none_of(bounds, [](const auto &input) { return bool(input->window); })) return;
  const Decls inputs = made_.inputs;
  std::unordered_set<std::string> known;
  for (const auto &input : inputs) known.insert(input->name);
  for (OutputDecl &output : made_.outputs) {
    SpecData alone;
    alone.inputs = inputs;
    alone.outputs = {output};
    stay_inside(alone, bounds, false);
    output = alone.outputs[0];
    for (const auto &input : alone.inputs)
      if (known.insert(input->name).second) made_.inputs.push_back(input);
  }
}

namespace {

bool is_zero(const ExprNode &number) {
  return number.kind == ExprKind::Literal && number.number.integer == 0 && number.number.real == 0;
}

} // namespace

bool is_nothing(const Expr &value) {
  const ExprNode *node = value.node();
  while (!is_zero(*node)) {
    const bool is_sum = node->kind == ExprKind::Fold && node->args.size() == 1 &&
                        node->use->accumulator.fold() == Fold::Sum;
    if (!is_sum && node->kind != ExprKind::Cast && node->kind != ExprKind::Let) return false;
    if (node->args.size() != 1) return false; // a let that is a loop
    node = node->args[0].node();
  }
  return true;
}

Expr held_in(const Expr &array, const ExprNode &value, const ExprNode &node) {
  if (&node == &value) return array;
  // relu(v) > 0 where v > 0.
  const bool is_relu = value.kind == ExprKind::Op && value.op == ops::Op::Relu;
  const bool is_above = node.kind == ExprKind::Op && node.op == ops::Op::Gt;
  if (!is_relu || !is_above || node.args[0].node() != value.args[0].node() ||
      !is_zero(*node.args[1].node()))
    return {};
  return make_op(ops::Op::Gt, {array, node.args[1]}, node.where);
}

SpecData through_lets(const SpecData &data, const spec::Split &split,
                      const std::vector<std::string> &wrt, const GradientOptions &options,
                      const GradientOf &gradient) {
  return ThroughLets(data, split, wrt, options, gradient).run();
}

} // namespace broadloom::grad
