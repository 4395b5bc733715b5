// See printer.hpp: what a kernel uses, and what of it gets a name.
#include "expr/walk.hpp"
#include "spec/declared.hpp"
#include "text/let_order.hpp"
#include "text/printer.hpp"

#include <algorithm>

namespace broadloom::text {

// One walk finds the inputs, counts the users of every node and lists what becomes a let, each
// after those that it needs.
void Printer::collect() {
  std::unordered_map<const ExprNode *, std::size_t> users;
  std::vector<const ExprNode *> order;
  inputs_ = spec::declared_inputs(data_);
  for (const auto &decl : inputs_) take_names(*decl);
  expr::Walker walker;
  auto visit = [&](const ExprNode &node) {
    order.push_back(&node);
    if (node.kind == ExprKind::Input) take_names(*node.input);
    if (node.kind == ExprKind::Let) taken_.insert(node.name);
    for (const Expr &arg : node.args) ++users[arg.node()];
  };
  for (const Expr &let : data_.lets) walker.walk(let.node(), visit);
  for (const auto &axis : data_.axes)
    for_each_extent(*axis, [&](const AffineForm::Extent &extent) {
      if (extent.of.node()->kind == ExprKind::Let) walker.walk(extent.of.node(), visit);
    });
  for (const OutputDecl &out : data_.outputs) taken_.insert(out.name);
  spec::for_each_value(data_.outputs, [&](const Expr &value) {
    walker.walk(value.node(), visit);
    ++users[value.node()];
  });
  for (const ExprNode *node : order) {
    bool named = node->kind == ExprKind::Let;
    bool small = node->kind == ExprKind::Input || node->kind == ExprKind::Literal ||
                 node->kind == ExprKind::Join ||
                 (node->kind == ExprKind::Op && node->op == ops::Op::Neg &&
                  node->args[0].node()->kind == ExprKind::Literal); // -2
    if (!named && (small || users[node] < 2)) continue;
    let_names_[node] = named ? node->name : fresh_name();
    lets_.push_back(node);
  }
  if (labels_as_printed() != labels_of(inputs_)) name_windows(order);
  collect_definitions();
}

// A let that is called as an axis would have a read along that say another thing.
void Printer::take_names(const InputDecl &decl) {
  taken_.insert(decl.name);
  for (const Dim &dim : decl.dims) taken_.insert(dim.label);
}

// In the order of the text, so that it prints itself: what becomes a let moves to the front, and
// with it the accumulators that it folds with.
void Printer::collect_definitions() {
  std::vector<const FunctionDecl *> called;
  std::vector<const AccumulatorDef *> folding;
  const auto add_accumulator = [&](const Accumulator &accumulator) {
    if (accumulator.definition()) folding.push_back(accumulator.definition().get());
  };
  expr::Walker walker;
  const auto visit = [&](const ExprNode &node) {
    if (node.kind == ExprKind::Call) called.push_back(node.function.get());
    if (node.use) add_accumulator(node.use->accumulator);
  };
  for (const ExprNode *let : lets_) walker.walk(let, visit);
  for (const OutputDecl &out : data_.outputs) {
    walker.walk(out.value.node(), visit);
    add_accumulator(out.mode.use.accumulator);
    for (const Expr &init : out.mode.use.init) walker.walk(init.node(), visit);
  }
  definitions_ = used_definitions(folding, called);
  names_.insert(definitions_.parts.begin(), definitions_.parts.end());
}

// The labels of these, in the order of the iteration space.
std::vector<std::string> Printer::labels_of(const Decls &decls) {
  std::vector<std::string> labels;
  std::unordered_set<std::string> seen;
  for (const auto &decl : decls)
    for (const Dim &dim : decl->dims)
      if (!dim.label.empty() && seen.insert(dim.label).second) labels.push_back(dim.label);
  return labels;
}

// Those of the kernel that the text will be: its lets are read before its outputs.
std::vector<std::string> Printer::labels_as_printed() const {
  Decls decls;
  for (const auto &decl : inputs_)
    if (!decl->window) decls.push_back(decl);
  expr::Walker walker;
  const auto visit = [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input && node.input->window) decls.push_back(node.input);
  };
  for (const ExprNode *node : lets_) walker.walk(node, visit);
  spec::for_each_value(data_.outputs, [&](const Expr &value) { walker.walk(value.node(), visit); });
  for (const auto &decl : inputs_) // those that are only named, by like= or of=
    if (decl->window) decls.push_back(decl);
  return labels_of(decls);
}

// An expression that becomes a let moves to the front, and with it the windows that it reads, whose
// axes would then come first. So where that matters the windows become lets of their own, in their
// order; one of a let stands behind that.
void Printer::name_windows(const std::vector<const ExprNode *> &order) {
  std::unordered_map<std::string, std::vector<const ExprNode *>> reads; // by what is read
  for (const ExprNode *node : order)
    if (node->kind == ExprKind::Input && node->input->window)
      reads[node->input->name].push_back(node);
  std::vector<const ExprNode *> windows;
  std::unordered_map<const ExprNode *, const ExprNode *> called; // windows that lets are
  for (const auto &decl : inputs_) {
    const auto found = reads.find(decl->name);
    if (found == reads.end()) continue;
    windows.push_back(found->second[0]);
    const ExprNode *let = other_name_of(found->second);
    const std::string name = let != nullptr ? let->name : fresh_name();
    for (const ExprNode *node : found->second) let_names_[node] = name;
    if (let != nullptr) called[found->second[0]] = let;
    reads.erase(found);
  }
  lets_ = LetOrder(windows, lets_, inputs_, let_names_).run();
  for (const auto &[window, let] : called) {
    std::erase(lets_, let);
    std::ranges::replace(lets_, window, let);
  }
}

// The let that is one of these windows and nothing else: `let e = h[2, p]`. A let of the window
// beside it would make e another name, and what reads e would be printed as what reads that.
const ExprNode *Printer::other_name_of(const std::vector<const ExprNode *> &windows) const {
  const auto let = std::ranges::find_if(lets_, [&](const ExprNode *node) {
    return node->kind == ExprKind::Let && node->axes.empty() && node->args.size() == 1 &&
           std::ranges::count(windows, node->args[0].node()) > 0;
  });
  return let == lets_.end() ? nullptr : *let;
}

std::string Printer::fresh_name() {
  while (true) {
    std::string name = "t" + std::to_string(next_name_++);
    if (taken_.insert(name).second) return name;
  }
}

} // namespace broadloom::text
