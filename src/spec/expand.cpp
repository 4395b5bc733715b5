// See expand.hpp.
#include "spec/expand.hpp"

#include "expr/definition.hpp"
#include "spec/declared.hpp"
#include "spec/prelude.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace broadloom::spec {

namespace {

constexpr std::size_t most = std::size_t(1) << 20;

} // namespace

Expr Expander::expand(const Expr &root) {
  if (!root.node()) return root;
  scan(root);
  struct Work {
    const Expr *expr;
    std::size_t frame;
  };
  std::vector<Work> work{{&root, 0}};
  while (!work.empty()) {
    const auto [expr, frame] = work.back();
    if (ready(*expr, frame)) {
      work.pop_back();
      continue;
    }
    const ExprNode &node = *expr->node();
    const std::size_t before = work.size();
    for (const Expr &arg : node.args)
      if (!ready(arg, frame)) work.push_back({&arg, frame});
    if (work.size() > before) continue;
    if (node.kind == ExprKind::Call && goes(*node.function)) {
      const Expr &body = node.function->body;
      const std::size_t inner = frame_of(node, frame);
      if (!ready(body, inner)) {
        work.push_back({&body, inner});
        continue;
      }
      keep(node, frame, value(body, inner));
    } else if (node.kind == ExprKind::Parameter) {
      keep(node, frame, frames_[frame].args[params_.at(&node)]);
    } else {
      keep(node, frame, rebuilt(node, frame));
    }
    work.pop_back();
  }
  return value(root, 0);
}

Accumulator Expander::expand(const Accumulator &accumulator) {
  const auto &definition = accumulator.definition();
  if (!definition || !changes(*definition)) return accumulator;
  const auto found = expanded_.find(definition.get());
  if (found != expanded_.end()) return found->second;
  auto made = std::make_shared<const AccumulatorDef>(expand(*definition));
  return expanded_.emplace(definition.get(), Accumulator(std::move(made))).first->second;
}

// In the frame of the kernel: the names of a definition stand for themselves.
AccumulatorDef Expander::expand(const AccumulatorDef &definition) {
  AccumulatorDef made = definition;
  for (auto *clauses : {&made.step, &made.combine})
    for (AccumulatorDef::Clause &clause : *clauses) clause.value = expand(clause.value);
  made.result = expand(made.result);
  return made;
}

void Expander::scan(const Expr &root) {
  roots_.push_back(root);
  const auto visit = [&](const ExprNode &node) { note(node); };
  walker_.walk(root.node(), visit);
  // The functions called, and those that they call.
  for (; scanned_ < functions_.size(); ++scanned_) {
    const FunctionDecl &function = *functions_[scanned_];
    for (std::size_t k = 0; k < function.params.size(); ++k) params_[function.params[k].node()] = k;
    walker_.walk(function.body.node(), visit);
  }
}

void Expander::note(const ExprNode &node) {
  bool changed =
      std::any_of(node.args.begin(), node.args.end(), [&](const Expr &arg) { return !stays(arg); });
  if (node.kind == ExprKind::Call && goes(*node.function)) {
    if (known_.insert(node.function.get()).second) functions_.push_back(node.function.get());
    changed = true;
  }
  if (node.kind == ExprKind::Parameter) changed = params_.count(&node) != 0;
  if (node.use && node.use->accumulator.definition())
    changed = changes(*node.use->accumulator.definition()) || changed;
  if (changed) changes_.insert(&node);
}

bool Expander::changes(const AccumulatorDef &definition) {
  const auto [it, fresh] = definitions_.emplace(&definition, false);
  if (!fresh) return it->second;
  bool changed = false;
  for_each_expression(definition, [&](const Expr &root) {
    expr::Walker().walk(root.node(), [&](const ExprNode &node) {
      changed = changed || (node.kind == ExprKind::Call && goes(*node.function));
    });
  });
  return definitions_[&definition] = changed;
}

Expr Expander::rebuilt(const ExprNode &node, std::size_t frame) {
  std::vector<Expr> args;
  for (const Expr &arg : node.args) args.push_back(value(arg, frame));
  if (const auto &where = frames_[frame].where) { // a mistake in what it is given is the caller's
    if (node.kind == ExprKind::Op) return make_op(node.op, std::move(args), *where);
    if (node.kind == ExprKind::Cast) return make_cast(node.dtype, std::move(args[0]), *where);
  }
  const bool folds = node.kind == ExprKind::Fold || node.kind == ExprKind::Scan;
  if (!folds || !node.use->accumulator.definition()) return with_args(node, std::move(args));
  FoldUse use = *node.use;
  use.accumulator = expand(use.accumulator);
  return with_use(node, std::move(use), std::move(args), node.axes);
}

void Expander::keep(const ExprNode &node, std::size_t frame, Expr value) {
  if (done_.size() >= most)
    support::fail("E0013",
                  "the functions of " + owner_ + " write out to more than " + std::to_string(most) +
                      " operations",
                  support::with_text(node.where, source_),
                  "a function that uses its argument twice doubles what it is given: call fewer");
  done_.emplace(Key{&node, frame}, std::move(value));
}

// The frame for these arguments, the old one where they are the same.
std::size_t Expander::frame_of(const ExprNode &call, std::size_t frame) {
  const FunctionDecl &function = *call.function;
  Frame made{&function, {}, frames_[frame].where};
  if (!made.where && is_prelude(function)) made.where = call.where;
  std::size_t hash = std::hash<const FunctionDecl *>()(&function);
  for (const Expr &arg : call.args) {
    made.args.push_back(value(arg, frame));
    hash = hash * 1000003 + std::hash<const ExprNode *>()(made.args.back().node());
  }
  for (auto [it, end] = frame_ids_.equal_range(hash); it != end; ++it) {
    const Frame &old = frames_[it->second];
    if (old.function == &function &&
        std::equal(old.args.begin(), old.args.end(), made.args.begin(), made.args.end(),
                   [](const Expr &a, const Expr &b) { return a.node() == b.node(); }))
      return it->second;
  }
  frame_ids_.emplace(hash, frames_.size());
  frames_.push_back(std::move(made));
  return frames_.size() - 1;
}

namespace {

[[noreturn]] void fail_parameter(const ExprNode &node, const SpecData &data) {
  support::fail("E0003", "'" + node.name + "' is a name of a definition, and stands outside of it",
                support::with_text(node.where, data.source.get()),
                "use it in the function or the accumulator that it belongs to");
}

void refuse_parameters(const SpecData &data) {
  const auto visit = [&](const ExprNode &node) {
    if (node.kind == ExprKind::Parameter) fail_parameter(node, data);
  };
  expr::Walker walker;
  for (const Expr &let : data.lets) walker.walk(let.node(), visit);
  for_each_value(data.outputs, [&](const Expr &value) { walker.walk(value.node(), visit); });
}

} // namespace

SpecData expand_calls(const SpecData &data, Calls calls) {
  SpecData result = data;
  refuse_parameters(data);
  result.inputs =
      declared_inputs(data); // an argument that a function ignores is an input all the same
  Expander expander(calls, "kernel '" + data.name + "'", data.source.get());
  for (Expr &let : result.lets) let = expander.expand(let);
  for (OutputDecl &output : result.outputs) {
    output.value = expander.expand(output.value);
    FoldUse &use = output.mode.use;
    for (Expr &init : use.init) init = expander.expand(init);
    use.accumulator = expander.expand(use.accumulator);
  }
  return result;
}

AccumulatorDef expand_calls(const AccumulatorDef &definition, const std::string *source) {
  return Expander(Calls::All, "accumulator '" + definition.name + "'", source).expand(definition);
}

} // namespace broadloom::spec
