// See let_order.hpp.
#include "text/let_order.hpp"

#include "expr/walk.hpp"
#include "expr/window.hpp"

#include <set>

namespace broadloom::text {

LetOrder::LetOrder(const std::vector<const ExprNode *> &windows,
                   const std::vector<const ExprNode *> &lets,
                   const std::vector<std::shared_ptr<const InputDecl>> &inputs,
                   const std::unordered_map<const ExprNode *, std::string> &names)
    : windows_(windows), lets_(lets), names_(names) {
  for (std::size_t k = 0; k < windows.size(); ++k)
    window_called_.emplace(windows[k]->input->name, k);
  std::unordered_map<std::string, std::size_t> arrays;
  for (std::size_t k = 0; k < lets.size(); ++k)
    if (lets[k]->kind == ExprKind::Let) arrays.emplace(lets[k]->name, k);
  for (const auto &input : inputs)
    if (input->window)
      if (const auto array = arrays.find(input->window->of->name); array != arrays.end())
        array_of_window_.emplace(input->name, array->second);
}

std::vector<const ExprNode *> LetOrder::run() {
  for (const ExprNode *window : windows_) place(window);
  for (const ExprNode *let : lets_) place(let);
  return std::move(placed_);
}

void LetOrder::place(const ExprNode *node) {
  std::vector<Open> stack;
  const auto open = [&](const ExprNode *one) {
    if (!known_.contains(one) && begun_.insert(one).second) stack.push_back(opened(one));
  };
  open(node);
  while (!stack.empty()) {
    Open &top = stack.back();
    if (top.next < top.before.size()) {
      open(top.before[top.next++]);
      continue;
    }
    for (const ExprNode *part : top.parts) add(part);
    add(top.node);
    stack.pop_back();
  }
}

// Behind what it is made of, of which the windows come first, and behind the arrays that like= and
// of= name. What is placed already has all of that before it.
LetOrder::Open LetOrder::opened(const ExprNode *node) const {
  Open open{node, {}, {}};
  std::set<std::size_t> read, arrays;
  const auto name = [&](const std::string &called) {
    if (const auto array = array_of_window_.find(called); array != array_of_window_.end())
      arrays.insert(array->second);
  };
  const auto visit = [&](const ExprNode &part) {
    if (part.kind == ExprKind::Input)
      if (const auto window = window_called_.find(part.input->name); window != window_called_.end())
        read.insert(window->second);
    if (part.kind != ExprKind::Input && &part != node && names_.contains(&part))
      open.parts.push_back(&part);
    for (const std::string &of : part.of) name(of);
    if (part.use)
      for (const std::string &like : part.use->like) name(like);
  };
  expr::Walker().walk(node, visit, [&](const ExprNode &part) { return !known_.contains(&part); });
  for (const std::size_t k : read) open.before.push_back(windows_[k]);
  for (const std::size_t k : arrays) open.before.push_back(lets_[k]);
  return open;
}

} // namespace broadloom::text
