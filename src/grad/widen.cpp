// See widen.hpp.
#include "grad/widen.hpp"

#include "array/copy.hpp"
#include "expr/definition.hpp"
#include "expr/exchange.hpp"
#include "expr/function.hpp"
#include "expr/join.hpp"
#include "expr/window.hpp"

#include <unordered_map>

namespace broadloom::grad {
namespace {

class Widener {
public:
  Widener() = default;

  SpecData run(const SpecData &data) {
    SpecData made = data;
    for (auto &input : made.inputs) input = wide_input(input);
    for (Expr &let : made.lets) let = wide_value(let);
    for (OutputDecl &output : made.outputs) {
      output.value = wide_value(output.value);
      output.mode.use = wide_use(output.mode.use);
      if (output.dtype) output.dtype = wide(*output.dtype);
      output.said = wide_said(output.said);
    }
    return made;
  }

private:
  using Functions = std::unordered_map<const FunctionDecl *, std::shared_ptr<const FunctionDecl>>;

  // One map for all roots, so that what outputs share stays shared.
  Expr wide_value(const Expr &root) {
    if (!root.node()) return root;
    for (const auto &function : functions_called({root})) widen_function(function);
    return exchanged(root);
  }

  Expr exchanged(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) { return made(node); });
  }

  // Nothing where the node stays.
  Expr made(const ExprNode &node) {
    std::vector<Expr> args = exchange_.args_of(node);
    switch (node.kind) {
    case ExprKind::Input: return make_input(wide_input(node.input), node.where, std::move(args));
    case ExprKind::Cast: return make_cast(wide(node.dtype), args[0], node.where);
    case ExprKind::Fold:
    case ExprKind::Scan: return with_use(node, wide_use(*node.use), std::move(args), node.axes);
    case ExprKind::Call:
      return make_call(functions_.at(node.function.get()), std::move(args), node.where);
    case ExprKind::Let: {
      if (!node.input) break;
      LetLoop loop = loop_of(node);
      loop.said = wide_said(loop.said);
      if (loop.start.node()) loop.start = args[1];
      return make_let(node.name, args[0], node.where, node.axes, loop);
    }
    case ExprKind::Join: {
      if (!node.places) break;
      JoinPositions places = *node.places;
      for (std::vector<AffineForm> &forms : places.of_parts)
        for (AffineForm &form : forms)
          exchange_extents(form, [&](const Expr &array) { return wide_array(array); });
      for (auto &said : places.said) said = wide_said(said);
      return make_join_at(std::move(args), std::move(places), node.where);
    }
    case ExprKind::Op:
    case ExprKind::Literal:
    case ExprKind::Extent:
    case ExprKind::Iota:
    case ExprKind::Parameter: break;
    }
    return {};
  }

  // What an extent is of.
  Expr wide_array(const Expr &array) {
    const ExprNode &node = *array.node();
    return node.kind == ExprKind::Input ? make_input(wide_input(node.input), node.where)
                                        : exchange_.now(array);
  }
  std::shared_ptr<const InputDecl> wide_said(const std::shared_ptr<const InputDecl> &said) {
    return with_extents(said, [&](const Expr &array) { return wide_array(array); });
  }

  std::shared_ptr<const InputDecl> wide_input(const std::shared_ptr<const InputDecl> &input) {
    if (const auto known = inputs_.find(input.get()); known != inputs_.end()) return known->second;
    auto copy = std::make_shared<InputDecl>(*input);
    copy->dtype = wide(input->dtype);
    copy->sign = Sign::any; // slopes are measured on both sides of 0
    if (input->window) {    // positions are integers, and stay
      auto window = std::make_shared<Window>(*input->window);
      window->of = wide_input(input->window->of);
      for (AffineForm &form : window->forms)
        exchange_extents(form, [&](const Expr &array) { return wide_array(array); });
      copy->window = std::move(window);
    }
    return inputs_[input.get()] = std::move(copy);
  }

  FoldUse wide_use(FoldUse use) {
    if (use.acc) use.acc = wide(*use.acc);
    for (Expr &init : use.init) init = wide_value(init);
    if (const auto &definition = use.accumulator.definition())
      use.accumulator = Accumulator(wide_definition(definition));
    return use;
  }

  std::shared_ptr<const AccumulatorDef>
  wide_definition(const std::shared_ptr<const AccumulatorDef> &definition) {
    if (const auto found = definitions_.find(definition.get()); found != definitions_.end())
      return found->second;
    auto made = std::make_shared<AccumulatorDef>(*definition);
    for (auto *clauses : {&made->init, &made->step, &made->combine})
      for (AccumulatorDef::Clause &clause : *clauses)
        clause.value = Widener(functions_).wide_value(clause.value);
    made->result = Widener(functions_).wide_value(made->result);
    return definitions_[definition.get()] = std::move(made);
  }

  // For a definition, which is met in the middle of a walk: it is walked on its own.
  explicit Widener(const Functions &functions) : functions_(functions) {}

  // Over the same Parameter nodes.
  void widen_function(const std::shared_ptr<const FunctionDecl> &function) {
    if (functions_.count(function.get())) return;
    auto made = std::make_shared<FunctionDecl>(*function);
    made->body = exchanged(made->body);
    for (FunctionDecl::Derivative &derivative : made->derivatives)
      derivative.value = exchanged(derivative.value);
    functions_[function.get()] = std::move(made);
  }

  expr::Exchange exchange_;
  std::unordered_map<const InputDecl *, std::shared_ptr<const InputDecl>> inputs_;
  std::unordered_map<const AccumulatorDef *, std::shared_ptr<const AccumulatorDef>> definitions_;
  Functions functions_;
};

} // namespace

DType wide(DType dtype) {
  if (is_float(dtype)) return DType::F64;
  return is_complex(dtype) ? DType::C128 : dtype;
}

SpecData widened(const SpecData &data) { return Widener().run(data); }

Array widened(const AnyView &view) {
  const Array dense(view.dtype, view.layout.shape());
  array::copy_elements(view, dense.raw(), dense.layout());
  Array result(wide(view.dtype), view.layout.shape());
  const auto from = std::ptrdiff_t(size_of(dense.dtype())),
             to = std::ptrdiff_t(size_of(result.dtype()));
  for (std::int64_t k = 0; k < dense.size(); ++k)
    ops::store(
        static_cast<char *>(result.raw()) + k * to, result.dtype(),
        ops::convert(ops::load(static_cast<const char *>(dense.raw()) + k * from, view.dtype),
                     view.dtype, result.dtype()));
  return result;
}

std::span<double> parts(const Array &array) {
  return {static_cast<double *>(array.raw()),
          std::size_t(array.size()) * (is_complex(array.dtype()) ? 2 : 1)};
}

} // namespace broadloom::grad
