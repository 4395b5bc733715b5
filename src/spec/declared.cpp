// See declared.hpp.
#include "spec/declared.hpp"

#include "expr/walk.hpp"
#include "expr/window.hpp"

#include <map>
#include <string>
#include <unordered_set>

namespace broadloom::spec {

std::vector<std::shared_ptr<const InputDecl>> declared_inputs(const SpecData &data) {
  std::multimap<std::uint64_t, std::shared_ptr<const InputDecl>> read; // by when they were made
  std::unordered_set<const InputDecl *> seen;
  expr::Walker walker;
  std::vector<std::shared_ptr<const InputDecl>> windows; // in the order in which they are read
  const auto note_one = [&](const std::shared_ptr<const InputDecl> &decl) {
    if (decl->is_let || !seen.insert(decl.get()).second) return;
    decl->window ? windows.push_back(decl) : void(read.emplace(decl->created, decl));
  };
  const auto note = [&](const std::shared_ptr<const InputDecl> &decl) {
    if (seen.contains(decl.get())) return;
    // Before what its positions are made of: its axes come in the order of its own positions.
    note_one(decl);
    for_each_read_by(*decl, note_one);
  };
  const auto walk = [&](const Expr &root) {
    walker.walk(root.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Input) note(node.input);
      if (node.kind == ExprKind::Let && node.input) for_each_read_by(*node.input, note_one);
    });
  };
  for (const Expr &let : data.lets) walk(let);
  for (const OutputDecl &output : data.outputs) {
    walk(output.value);
    if (output.said) for_each_read_by(*output.said, note_one);
    for (const Expr &init : output.mode.use.init) walk(init);
  }
  for (const auto &axis : data.axes) for_each_read_by(*axis, note_one);

  std::vector<std::shared_ptr<const InputDecl>> inputs;
  std::unordered_set<std::string> names;
  const auto add = [&](const std::shared_ptr<const InputDecl> &decl) {
    if (names.insert(decl->name).second) inputs.push_back(decl);
  };
  for (const auto &decl : data.inputs) decl->window ? note(decl) : add(decl);
  for (const auto &[created, decl] : read) add(decl);
  for (const auto &decl : windows) add(decl);
  return inputs;
}

} // namespace broadloom::spec
