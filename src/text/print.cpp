// LoopSpec to canonical text: parse(print(s)) prints the same.
//
// The accumulators and functions that it uses come first, then the kernel: inputs, lets, outputs.
// Parentheses are written only where precedence asks for them. An operation that the API uses twice
// becomes a let, so that the text is never longer than the expression is large:
//
//   auto t = exp(x); out("z", t * t)      let t0 = exp(x)
//                                         out z = t0 * t0
#include "expr/stretch.hpp"
#include "spec/definition.hpp"
#include "spec/materialise.hpp"
#include "spec/words.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"
#include "text/printer.hpp"

#include <utility>

namespace broadloom {

namespace text {

Printed Printer::run() {
  collect();
  Printed printed;
  for (const PrintedDefinition &definition : definitions_.all) {
    const AccumulatorDef *accumulator = definition.accumulator;
    accumulator ? define(*accumulator) : define(definition);
    printed.definitions.push_back(
        {accumulator ? accumulator->name : definition.name, std::exchange(text_, {})});
  }
  names_ = std::move(let_names_); // a clause may share nodes with the kernel that was made by it
  text_ += "kernel " + data_.name + " {\n";
  settings();
  for (const auto &decl : inputs_)
    if (!decl->window && !decl->is_output) input(*decl);
  said_axes(false);
  for (const ExprNode *node : lets_) let(node);
  said_axes(true);
  for (const OutputDecl &decl : data_.outputs) output(decl);
  text_ += spec::print(data_.schedule);
  printed.kernel = text_ + "}\n";
  return printed;
}

// Those that lets say, or those that are known before.
void Printer::said_axes(bool by_lets) {
  for (const auto &axis : data_.axes)
    if (spec::lets_read(*axis).empty() != by_lets)
      text_ += "  axis " + axis->dims[0].label + " < " + broadloom::print(axis->said->of[0]) + "\n";
}

void Printer::settings() {
  if (data_.order_given)
    text_ += std::string("  order ") +
             (data_.order == Order::c   ? "c"
              : data_.order == Order::f ? "f"
                                        : "none") +
             "\n";
  if (!data_.stretch) text_ += "  stretch off\n";
  if (data_.accuracy != Accuracy::high)
    text_ += std::string("  set accuracy = ") +
             (data_.accuracy == Accuracy::exact ? "exact\n" : "fast\n");
  if (data_.relaxed) text_ += "  set relaxed = on\n";
  if (data_.scales)
    text_ += std::string("  set scales = ") + (*data_.scales == Scales::fold ? "fold\n" : "keep\n");
  for (const Pairing &pairing : data_.pairings)
    text_ += (pairing.fuse ? "  fuse " : "  separate ") + pairing.a + ", " + pairing.b + "\n";
}

void Printer::let(const ExprNode *node) {
  text_ += "  let " + names_.at(node);
  const bool is_let = node->kind == ExprKind::Let;
  if (is_let && !node->axes.empty()) list(node->axes, loop_of(*node));
  if (is_let) store(node->store);
  text_ += " = ";
  const ExprNode *value = is_let ? node->args[0].node() : node;
  const auto name = names_.find(value); // that of a window which is all of the let
  expression(value, name != names_.end() && name->second == names_.at(node) ? value : node);
  if (is_let && node->args.size() > 1) {
    text_ += " from ";
    expression(node->args[1].node(), node);
  }
  text_ += "\n";
}

void Printer::define(const AccumulatorDef &definition) {
  auto list = [&](const std::vector<std::string> &names) { text_ += support::joined(names); };
  auto clauses = [&](const char *word, const std::vector<AccumulatorDef::Clause> &clauses) {
    for (std::size_t k = 0; k < clauses.size(); ++k) {
      text_ += k == 0 ? std::string("  ") + word + " " : ", ";
      text_ += clauses[k].state + " = ";
      expression(clauses[k].value.node(), nullptr);
    }
    if (!clauses.empty()) text_ += "\n";
  };
  text_ += "accumulator " + definition.name + "(";
  list(definition.states);
  text_ += "; ";
  list(definition.args);
  text_ += ") {\n";
  // In a definition inf and nan are what they are, whatever the kernel calls so.
  std::unordered_set<std::string> taken;
  taken.swap(taken_);
  clauses("init", definition.init);
  for (const auto *names : {&definition.states, &definition.args})
    taken_.insert(names->begin(), names->end());
  clauses("step", definition.step);
  clauses("combine", definition.combine);
  if (definition.result.node()) {
    text_ += "  result ";
    expression(definition.result.node(), nullptr);
    text_ += "\n";
  }
  text_ += "}\n";
  taken.swap(taken_);
}

void Printer::define(const PrintedDefinition &function) {
  // In a definition inf and nan are what they are, whatever the kernel calls so.
  std::unordered_set<std::string> own(function.params.begin(), function.params.end());
  taken_.swap(own);
  text_ += "def " + function.name + "(" + support::joined(function.params) + ") = ";
  expression(function.body, function.is_part ? function.body : nullptr);
  text_ += "\n";
  if (function.function) {
    taken_.insert(cotangent_name);
    for (const FunctionDecl::Derivative &d : function.function->derivatives) {
      text_ += "  derivative " + function.params[d.param] + " = ";
      expression(d.value.node(), nullptr);
      text_ += "\n";
    }
  }
  taken_.swap(own);
}

void Printer::input(const InputDecl &decl) {
  text_ += "  " + std::string(spec::word_of(decl.role)) +
           (decl.role == InputRole::plain ? "  " : " ") + decl.name + " : " +
           std::string(name(decl.dtype));
  for (std::size_t i = 0; i < decl.dims.size(); ++i) {
    const Dim &dim = decl.dims[i];
    text_ += i == 0 ? "[" : ", ";
    text_ += dim.label;
    if (!dim.label.empty() && dim.extent >= 0) text_ += "=";
    if (expr::may_be_one_of_more(dim))
      text_ += "?";
    else if (dim.extent >= 0)
      text_ += std::to_string(dim.extent);
    else if (dim.label.empty())
      text_ += ":";
  }
  if (!decl.dims.empty()) text_ += "]";
  if (decl.placement != Placement::ByOrder) {
    text_ += decl.placement == Placement::Dims ? " dims(" : " axes(";
    text_ += support::joined(decl.axes, [](int axis) { return std::to_string(axis); }) + ")";
  }
  if (decl.sign != Sign::any) text_ += " " + std::string(relation(decl.sign));
  text_ += "\n";
}

void Printer::list(const std::vector<AxisRef> &axes, const LetLoop &loop) {
  text_ += "[";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::string axis = axis_text(axes[i]);
    text_ += (i == 0 ? "" : ", ") + axis;
    for (std::size_t d = 0; loop.said && d < loop.said->dims.size(); ++d)
      if (loop.said->dims[d].label == axis)
        text_ += " < " + broadloom::print(loop.said->said->of[d]);
    if (!loop.said && loop.count >= 0 && loop.counted_dim == i)
      text_ += " < " + std::to_string(loop.count);
  }
  text_ += "]";
}

void Printer::store(Order order) {
  if (order != Order::none) text_ += order == Order::c ? " in c" : " in f";
}

void Printer::output(const OutputDecl &decl) {
  text_ += (decl.update ? "  update " : "  out ") + (decl.at ? decl.at->name : decl.name);
  if (decl.has_axes) list(decl.axes, {{}, -1, 0, decl.said});
  if (decl.dtype) text_ += " : " + std::string(name(*decl.dtype));
  store(decl.store);
  text_ += decl.add ? " += " : " = ";
  const Mode &mode = decl.mode;
  const std::string like = mode.use.like.empty() ? "" : "like=" + support::tuple(mode.use.like);
  switch (mode.kind) {
  case ModeKind::plain: break;
  case ModeKind::broadcast:
    text_ += like.empty() ? "broadcast " : "broadcast(" + like + ") ";
    break;
  case ModeKind::accumulate:
  case ModeKind::reduce:
    text_ += mode.kind == ModeKind::reduce ? "reduce(" : "accumulate(";
    text_ += std::string(spec::name_of(mode.use.accumulator)) + options_text(mode.use);
    if (!like.empty()) text_ += ", " + like;
    for (std::size_t k = 0; k < mode.use.init.size(); ++k) {
      text_ += k > 0 ? ", " : mode.use.init.size() > 1 ? ", init=(" : ", init=";
      expression(mode.use.init[k].node(), nullptr);
    }
    text_ += mode.use.init.size() > 1 ? ")) " : ") ";
    break;
  }
  expression((decl.at ? decl.value.node()->args[0] : decl.value).node(), nullptr);
  text_ += "\n";
}

Printed print(const SpecData &data) { return Printer(data).run(); }

} // namespace text

std::string print(const LoopSpec &spec) try {
  return print(std::vector{spec});
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
