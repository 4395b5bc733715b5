// See through_window.hpp. Reads become windows, indices become sums of indices; what is made of them stays as it is.
#include "grad/through_window.hpp"

#include "expr/window.hpp"
#include "grad/sweep.hpp"

#include <map>

namespace broadloom::grad {
namespace {

class Reader {
public:
  Reader(Facts &facts, const InputDecl &window, const Terms &t)
      : facts_(facts), window_(window), t_(t) {
    const std::vector<int> axes = facts.dims(*window.window->of);
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const AffineForm &form = window.window->forms[d];
      forms_[axes[d]] = &form;
      replaced_ = replaced_ | AxisSet::of(axes[d]);
      for (const AffineForm::Term &term : form.terms)
        walked_ = walked_ | AxisSet::of(facts.space().axis(AxisRef(term.axis), t.place()));
      for (const AffineForm::Index &index : form.indices)
        for (const Dim &dim : index.read->dims)
          walked_ = walked_ | AxisSet::of(facts.space().axis(AxisRef(dim.label), t.place()));
    }
  }

  Expr run(const Expr &root) {
    expr::Walker walker;
    walker.walk(root.node(), [&](const ExprNode &node) {
      AxisSet axes;
      for (const Expr &arg : node.args) axes = axes | axes_.at(arg.node());
      Expr made;
      switch (node.kind) {
      case ExprKind::Input:
        for (const int axis : facts_.dims(*node.input)) axes = axes | AxisSet::of(axis);
        if (!(axes & replaced_).empty()) made = input(node);
        break;
      case ExprKind::Iota: {
        const int axis = facts_.space().axis(node.axes[0], node.where);
        axes = AxisSet::of(axis);
        if (replaced_.has(axis)) made = index(axis);
        break;
      }
      case ExprKind::Fold:
      case ExprKind::Scan: axes = accumulated(node, axes); break;
      case ExprKind::Call:
        if (!(axes & replaced_).empty() && !facts_.calls().is_elementwise(node.function->body))
          fail("a call of '" + node.function->name + "'");
        break;
      case ExprKind::Op:
      case ExprKind::Cast:
      case ExprKind::Let:
      case ExprKind::Literal:
      case ExprKind::Extent:
      case ExprKind::Parameter: break;
      }
      axes_[&node] = axes;
      if (!made.node()) made = over_changed(node);
      if (made.node()) now_.emplace(&node, made);
    });
    return current(root);
  }

private:
  Expr current(const Expr &expr) const {
    const auto found = now_.find(expr.node());
    return found == now_.end() ? expr : found->second;
  }

  Expr over_changed(const ExprNode &node) const {
    std::vector<Expr> args;
    bool changed = false;
    for (const Expr &arg : node.args) {
      args.push_back(current(arg));
      changed = changed || args.back().node() != arg.node();
    }
    if (!changed) return {};
    return node.kind == ExprKind::Let ? args[0] : with_args(node, std::move(args));
  }

  AffineForm form_of(int axis) const {
    if (const auto found = forms_.find(axis); found != forms_.end()) return *found->second;
    const spec::Axis &known = facts_.spec().axes[std::size_t(axis)];
    if (!known.labelled) fail("an input with a dim that has no label");
    AffineForm form;
    form.terms.push_back({known.name, 1});
    return form;
  }

  Expr input(const ExprNode &node) {
    const InputDecl &decl = *node.input;
    std::vector<AffineForm> forms;
    if (decl.window) {
      for (const AffineForm &old : decl.window->forms) {
        const auto axis_of = [&](const std::string &label) {
          return facts_.space().axis(AxisRef(label), node.where);
        };
        if (old.is_axis()) {
          forms.push_back(form_of(axis_of(old.terms[0].axis)));
          continue;
        }
        AffineForm form = old;
        form.terms.clear();
        for (const AffineForm::Index &index : old.indices)
          for (const Dim &dim : index.read->dims)
            if (replaced_.has(axis_of(dim.label))) fail("another window");
        for (const AffineForm::Term &term : old.terms) {
          const AffineForm inner = form_of(axis_of(term.axis));
          const bool plain = !inner.is_from_end() && inner.outside == Outside::Fails;
          if (!plain || !add_to(form, inner, term.times)) fail("another window");
        }
        if (form.is_from_end() != old.is_from_end()) fail("another window");
        forms.push_back(std::move(form));
      }
    } else {
      for (const int axis : facts_.dims(decl)) {
        if (forms_.contains(axis) && !facts_.is_firm(AxisSet::of(axis)))
          fail("an input that may be repeated");
        forms.push_back(form_of(axis));
      }
    }
    const Expr made =
        make_window(make_input(decl.window ? decl.window->of : node.input, node.where),
                    std::move(forms), node.where);
    facts_.declare_window(made.node()->input->name, window_.name);
    return made;
  }

  Expr index(int axis) {
    const AffineForm &form = *forms_.at(axis);
    if (form.outside != Outside::Fails) fail("an index of a dim that is clipped or wrapped");
    Expr sum = t_.num(double(form.start()));
    sum = make_cast(DType::I64, sum, t_.place());
    if (form.is_from_end())
      sum = t_.add(sum, make_extent(facts_.axis_ref(axis), {window_.window->of->name}, t_.place()));
    for (const AffineForm::Term &term : form.terms) {
      const Expr at = make_iota(AxisRef(term.axis), {window_.name}, t_.place());
      sum = t_.add(sum, t_.mul(make_cast(DType::I64, t_.num(double(term.times)), t_.place()), at));
    }
    for (const AffineForm::Index &index : form.indices) {
      const Expr at = make_cast(DType::I64, make_input(index.read, t_.place()), t_.place());
      sum = t_.add(sum, t_.mul(make_cast(DType::I64, t_.num(double(index.times)), t_.place()), at));
    }
    return sum;
  }

  // The axes of its value; what it folds or runs along must not have to do with what is replaced.
  AxisSet accumulated(const ExprNode &node, AxisSet has) {
    AxisSet bound;
    for (const AxisRef &ref : node.axes)
      bound = bound | AxisSet::of(facts_.space().axis(ref, node.where));
    const bool like = node.kind == ExprKind::Fold && !node.use->like.empty();
    const bool whole = node.kind == ExprKind::Fold && node.axes.empty();
    AxisSet axes = node.kind == ExprKind::Scan ? has : has - bound;
    if (like || whole) axes = like ? facts_.axes_like(node.use->like, node.where) : AxisSet();
    const bool meets = like ? !((axes | has) & replaced_).empty() : !(has & replaced_).empty();
    if (meets && (like || whole || !(bound & (replaced_ | walked_)).empty()))
      fail("a reduction or a scan");
    return axes;
  }

  [[noreturn]] void fail(const std::string &what) const {
    fail_no_rule(facts_, "a sum through " + window_.name + " whose cotangent holds " + what,
                 t_.place());
  }

  Facts &facts_;
  const InputDecl &window_;
  const Terms &t_;
  std::map<int, const AffineForm *> forms_; // by axis of the input
  AxisSet replaced_, walked_;               // those axes, and those in their forms
  std::unordered_map<const ExprNode *, AxisSet> axes_;
  std::unordered_map<const ExprNode *, Expr> now_;
};

} // namespace

Expr through_window(Facts &facts, const Expr &value, const InputDecl &window, const Terms &t) {
  return value.node() ? Reader(facts, window, t).run(value) : value;
}

} // namespace broadloom::grad
