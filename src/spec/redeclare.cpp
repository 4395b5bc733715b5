// See redeclare.hpp.
#include "spec/redeclare.hpp"

#include "expr/held_lets.hpp"
#include "spec/cut.hpp"

#include <algorithm>

namespace broadloom::spec {
namespace {

class Redeclarer {
public:
  Redeclarer(const Decls &changed, const std::vector<std::string> &labels)
      : changed_(changed), labels_(labels) {}

  SpecData run(const SpecData &data) {
    SpecData made = data;
    for (auto &decl : made.inputs) {
      const std::string name = decl->name;
      if (const Expr now = read(*decl, decl->where, nullptr); now.node()) decl = now.node()->input;
      if (decl->name != name) windows_[name] = decl->name; // a padding names its dims
    }
    reads_.clear(); // as these hold no lets
    change_values(made, [&](const Expr &expr) {
      return exchange_.run(expr, [&](const ExprNode &node) { return now(node); });
    });
    for (OutputDecl &output : made.outputs)
      for (AxisRef &axis : output.axes) axis = called(axis);
    return made;
  }

private:
  using Lets = std::vector<Expr>; // that a read holds

  // Nothing where it stays.
  Expr now(const ExprNode &node) {
    if (node.kind == ExprKind::Input) {
      const Lets lets = exchange_.args_of(node);
      return read(*node.input, node.where, &lets);
    }
    const bool has_labels = !labels_.empty() && !node.axes.empty();
    const bool names_windows = !windows_.empty() && (!node.of.empty() || node.use);
    if (!has_labels && !names_windows) return {};
    std::vector<AxisRef> axes = node.axes;
    for (AxisRef &axis : axes) axis = called(axis);
    std::vector<std::string> of = node.of;
    for (std::string &name : of) name = named(name);
    switch (node.kind) {
    case ExprKind::Fold:
    case ExprKind::Scan: {
      FoldUse use = *node.use;
      for (std::string &name : use.like) name = named(name);
      return with_use(node, std::move(use), exchange_.args_of(node), std::move(axes));
    }
    case ExprKind::Extent:
    case ExprKind::Iota: return with_of(node, axes[0], std::move(of));
    case ExprKind::Input:
    case ExprKind::Literal:
    case ExprKind::Op:
    case ExprKind::Cast:
    case ExprKind::Let:
    case ExprKind::Parameter:
    case ExprKind::Call:
    case ExprKind::Join: return {}; // dims of arrays
    }
    return {};
  }

  AxisRef called(const AxisRef &axis) const {
    const int *number = std::get_if<int>(&axis.value());
    if (number == nullptr || labels_.empty()) return axis;
    const auto at = std::size_t(*number < 0 ? *number + int(labels_.size()) : *number);
    return at < labels_.size() ? AxisRef(labels_[at]) : axis;
  }

  const std::string &named(const std::string &array) const {
    const auto found = windows_.find(array);
    return found == windows_.end() ? array : found->second;
  }

  // `lets`: null for a declaration, which holds none.
  Expr read(const InputDecl &old, const Place &where, const Lets *lets) {
    const Instead instead = [&](const std::string &array) {
      const auto found = changed_.find(array);
      return found == changed_.end() ? Expr() : make_input(found->second, where);
    };
    if (!old.window) return instead(old.name);
    if (const auto known = reads_.find(old.name); known != reads_.end()) return known->second;
    if (!reads_any(old, instead)) return {};
    if (lets == nullptr) return reads_[old.name] = read_over(old, instead, where);
    const auto called_so = [&](const std::string &name) {
      const auto let =
          std::ranges::find_if(*lets, [&](const Expr &one) { return one.node()->name == name; });
      return let == lets->end() ? Expr() : *let;
    };
    const InputDecl &whole = *old.window->of;
    Expr of = whole.is_let ? called_so(whole.name) : instead(whole.name);
    if (!of.node() && whole.is_let) return {};
    if (!of.node()) of = make_input(old.window->of, where);
    std::vector<Expr> held;
    for (const std::string &name : lets_in_positions(*old.window))
      if (const Expr let = called_so(name); let.node()) held.push_back(let);
    return reads_[old.name] = holding(read_over(of, old, instead, where), held);
  }

  const Decls &changed_;
  const std::vector<std::string> &labels_;
  std::unordered_map<std::string, Expr> reads_;
  std::unordered_map<std::string, std::string> windows_; // that are called otherwise now
  expr::Exchange exchange_;
};

} // namespace

SpecData redeclared(const SpecData &data, const Decls &changed,
                    const std::vector<std::string> &labels) {
  return Redeclarer(changed, labels).run(data);
}

} // namespace broadloom::spec
