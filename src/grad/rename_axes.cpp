// See rename_axes.hpp.
#include "grad/rename_axes.hpp"

#include "expr/exchange.hpp"
#include "expr/held_lets.hpp"
#include "spec/own_axis.hpp"

#include <broadloom/array.hpp>

namespace broadloom::grad {
namespace {

class Renamer {
public:
  explicit Renamer(const Renaming &renaming)
      : axes_(renaming.axes), inside_(renaming.inside), accumulators_(renaming.accumulators),
        keeps_names_(renaming.keeps_names) {
    for (const auto &window : renaming.windows) {
      const std::string name =
          window_of(make_input(window->window->of, {}), *window).node()->input->name;
      if (name != window->name) windows_[window->name] = name;
    }
  }

  Expr run(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) { return exchanged(node); });
  }

  // What has a label that changes.
  std::shared_ptr<const InputDecl> declaration(const std::shared_ptr<const InputDecl> &decl) {
    const auto [known, fresh] = declared_.try_emplace(decl.get(), decl);
    if (!fresh) return known->second;
    auto made = std::make_shared<InputDecl>(*decl);
    bool changed = false;
    for (Dim &dim : made->dims) changed = change(axes_, dim.label) || changed;
    if (changed) known->second = std::move(made);
    return known->second;
  }

  Expr window_of(const Expr &of, const InputDecl &window) {
    Window renamed = *window.window;
    for (std::size_t dim = 0; dim < renamed.forms.size(); ++dim) {
      AffineForm &form = renamed.forms[dim];
      if (is_to_stay_inside(window, dim)) form.stays_inside = true;
      for (AffineForm::Term &term : form.terms) change(axes_, term.axis);
      exchange_extents(form, [&](const Expr &array) { return renamed_array(array); });
      for (AffineForm::Index &index :
           form.indices) { // windows of inputs, as deep as a window may be
        const Expr read = make_input(declaration(index.read->window->of), index.read->where);
        index.read = window_of(read, *index.read).node()->input;
      }
    }
    return make_window_like(of, renamed, window.where);
  }

private:
  using Names = std::unordered_map<std::string, std::string>;

  // Not where it has the dim's own label, and so its extent; lets need no sign.
  bool is_to_stay_inside(const InputDecl &window, std::size_t dim) const {
    const InputDecl &array = *window.window->of;
    const AffineForm &form = window.window->forms[dim];
    if (array.materialised || array.is_let || !form.is_axis()) return false;
    const std::string &axis = form.terms[0].axis;
    return inside_.contains(axis) && array.dims[dim].label != axis;
  }

  Expr renamed_array(const Expr &array) {
    const ExprNode &node = *array.node();
    return node.kind == ExprKind::Input ? make_input(declaration(node.input), node.where) : Expr();
  }

  static bool change(const Names &names, std::string &name) {
    const auto found = names.find(name);
    if (found != names.end()) name = found->second;
    return found != names.end();
  }

  // extent(h_0, of=h) is of the first dim of h, whatever axis is called so elsewhere.
  static bool is_dim_of(const std::vector<std::string> &arrays, const std::string &label) {
    for (const std::string &array : arrays)
      for (std::size_t dim = 0; dim < std::size_t(max_rank); ++dim)
        if (label == spec::own_axis(array, dim)) return true;
    return false;
  }

  // The node, whatever becomes of what it reads.
  static Expr same(const ExprNode &node) {
    return Expr(std::shared_ptr<const ExprNode>(std::shared_ptr<const ExprNode>(), &node));
  }

  // Nothing where the node is over other arguments what it is.
  Expr exchanged(const ExprNode &node) {
    // Axes that an array alone folds may be called as one that changes. Where the roots are all of
    // a kernel, arrays change with them.
    const bool stays = !keeps_names_ && (node.kind == ExprKind::Input ||
                                         (node.kind == ExprKind::Let && !node.axes.empty()));
    if (node.kind == ExprKind::Input) {
      const Expr made = read(node);
      return made.node() || !stays ? made : same(node);
    }
    if (stays) return same(node);
    bool changed = exchange_.changes(node);
    std::vector<Expr> args = exchange_.args_of(node);
    std::vector<AxisRef> axes = node.axes;
    for (AxisRef &axis : axes)
      if (const auto *label = std::get_if<std::string>(&axis.value());
          label != nullptr && !is_dim_of(node.of, *label))
        if (std::string name = *label; change(axes_, name)) axis = AxisRef(name), changed = true;
    std::vector<std::string> of = node.of;
    for (std::string &name : of) changed = change(windows_, name) || changed;
    FoldUse use = node.use ? *node.use : FoldUse();
    for (std::string &name : use.like) changed = change(windows_, name) || changed;
    if (const auto found = accumulators_.find(use.accumulator.definition().get());
        node.use && found != accumulators_.end()) {
      use.accumulator = found->second;
      changed = true;
    }
    if (!changed) return {};
    switch (node.kind) {
    case ExprKind::Fold:
    case ExprKind::Scan: return with_use(node, std::move(use), std::move(args), std::move(axes));
    case ExprKind::Extent:
    case ExprKind::Iota: return with_of(node, axes[0], std::move(of));
    case ExprKind::Let:
      if (!node.axes.empty()) return {};
      return keeps_names_ ? make_let(node.name, args[0], node.where) : args[0];
    case ExprKind::Join: return {}; // of arrays, which have names of their own
    case ExprKind::Input:
    case ExprKind::Literal:
    case ExprKind::Op:
    case ExprKind::Cast:
    case ExprKind::Parameter:
    case ExprKind::Call: break;
    }
    return with_args(node, std::move(args));
  }

  static std::vector<const InputDecl *> arrays_of(const InputDecl &window) {
    std::vector<const InputDecl *> arrays;
    for_each_read_by(window, [&](const std::shared_ptr<const InputDecl> &read) {
      if (!read->window && !read->is_let) arrays.push_back(read.get());
    });
    return arrays;
  }

  // A let that a window sees stays: an array has names of its own.
  Expr read(const ExprNode &node) {
    const InputDecl &decl = *node.input;
    if (!decl.window) {
      const auto made = declaration(node.input);
      return made == node.input ? Expr() : make_input(made, node.where);
    }
    const Expr let = let_seen(node);
    const Expr of = let.node() ? let : make_input(declaration(decl.window->of), node.where);
    Expr made =
        holding(window_of(of, decl), lets_held(node, [](const Expr &held) { return held; }));
    const bool same =
        made.node()->input->name == decl.name && arrays_of(*made.node()->input) == arrays_of(decl);
    return same ? Expr() : made;
  }

  const Names &axes_;
  const std::set<std::string> &inside_;
  const Accumulators &accumulators_;
  const bool keeps_names_;
  Names windows_; // by name: what they are called now
  std::unordered_map<const InputDecl *, std::shared_ptr<const InputDecl>> declared_;
  expr::Exchange exchange_;
};

} // namespace

std::vector<Expr> renamed(const std::vector<Expr> &roots, const Renaming &renaming) {
  Renamer renamer(renaming);
  std::vector<Expr> made;
  for (const Expr &root : roots) made.push_back(renamer.run(root));
  return made;
}

std::shared_ptr<const InputDecl> renamed(const std::shared_ptr<const InputDecl> &decl,
                                         const Renaming &renaming) {
  Renamer renamer(renaming);
  if (!decl->window) return renamer.declaration(decl);
  const Expr of = make_input(renamer.declaration(decl->window->of), {});
  return renamer.window_of(of, *decl).node()->input;
}

} // namespace broadloom::grad
