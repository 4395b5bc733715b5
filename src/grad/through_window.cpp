// See through_window.hpp. Reads become windows, indices become sums of indices; what is made of
// them stays as it is.
#include "grad/through_window.hpp"

#include "expr/exchange.hpp"
#include "expr/window.hpp"
#include "grad/sweep.hpp"

#include <algorithm>
#include <map>

namespace broadloom::grad {
namespace {

bool is_of_let(const AffineForm::Extent &extent) {
  return extent.of.node()->kind != ExprKind::Input;
}

class Reader {
public:
  Reader(facts::Facts &facts, const InputDecl &window, bool is_mask, const facts::Terms &t)
      : facts_(facts), window_(window), is_mask_(is_mask), t_(t) {
    const std::vector<int> axes = facts.dims(*window.window->of);
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const AffineForm &form = window.window->forms[d];
      forms_[axes[d]] = &form;
      for (const DimPad &pad : window.window->pads)
        if (pad.dim == d) pads_[axes[d]] = &pad;
      replaced_ = replaced_ | expr::AxisSet::of(axes[d]);
      for (const AffineForm::Term &term : form.terms)
        walked_ = walked_ | expr::AxisSet::of(facts.space().axis(AxisRef(term.axis), t.place()));
      for (const AffineForm::Index &index : form.indices)
        for (const Dim &dim : index.read->dims)
          walked_ = walked_ | expr::AxisSet::of(facts.space().axis(AxisRef(dim.label), t.place()));
    }
  }

  Expr run(const Expr &root) {
    return inside(exchange_.run(root, [&](const ExprNode &node) {
      expr::AxisSet axes;
      for (const Expr &arg : node.args) axes = axes | axes_.at(arg.node());
      Expr made;
      switch (node.kind) {
      case ExprKind::Input:
        axes = axes | expr::AxisSet::of(facts_.dims(*node.input));
        if (!(axes & replaced_).empty()) made = input(node);
        break;
      case ExprKind::Iota: {
        const int axis = facts_.space().axis(node.axes[0], node.where);
        axes = expr::AxisSet::of(axis);
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
      case ExprKind::Join:
      case ExprKind::Literal:
      case ExprKind::Extent:
      case ExprKind::Parameter: break;
      }
      axes_[&node] = axes;
      const bool is_name = node.kind == ExprKind::Let && exchange_.changes(node);
      return is_name ? exchange_.now(node.args[0]) : made;
    }));
  }

  // Where the window reads no number; empty: everywhere.
  Expr reads_element() {
    Expr condition;
    for (const auto &[axis, pad] : pads_) {
      if (pad->mode != PadMode::Constant || pad->before + pad->after == 0) continue;
      const Expr at = position(axis), count = extent(axis);
      for (const Expr &one : {t_.op(ops::Op::Ge, {at, number(0)}), t_.op(ops::Op::Lt, {at, count})})
        condition = condition.node() ? t_.both(condition, one) : one;
    }
    return condition;
  }

private:
  // Nothing came from where the window reads a number: there is 0, as there is where all that is
  // read is padded with it.
  Expr inside(const Expr &value) {
    if (value.node()->kind == ExprKind::Input) return value;
    const Expr condition = reads_element();
    if (!condition.node()) return value;
    return is_mask_ ? t_.both(condition, value) : t_.where(condition, value);
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
          const int axis = axis_of(term.axis);
          const AffineForm inner = form_of(axis);
          const bool plain =
              !inner.is_from_end() && !pads_.contains(axis) && inner.outside == Outside::Fails;
          if (!plain || !add_to(form, inner, term.times)) fail("another window");
        }
        if (form.is_from_end() != old.is_from_end()) fail("another window");
        forms.push_back(std::move(form));
      }
    } else {
      for (const int axis : facts_.dims(decl)) {
        if (forms_.contains(axis) && !facts_.is_firm(expr::AxisSet::of(axis)) &&
            !facts_.is_as_long(decl.name, window_.window->of->name, axis))
          fail("an input that may be repeated");
        forms.push_back(form_of(axis));
      }
    }
    const Expr of = make_input(decl.window ? decl.window->of : node.input, node.where);
    const std::vector<DimPad> pads = pads_of(decl);
    const Expr made = make_window(pads.empty() ? of : make_padded(of, pads, node.where),
                                  std::move(forms), node.where);
    facts_.declare_like(made.node()->input->name, window_.name);
    return made;
  }

  // Of the input that is read in place of this one: as it is padded, or as the window is, with
  // zeros for its numbers.
  std::vector<DimPad> pads_of(const InputDecl &decl) const {
    if (decl.window) return decl.window->pads;
    const std::vector<int> axes = facts_.dims(decl);
    std::vector<DimPad> pads;
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (const auto found = pads_.find(axes[d]); found != pads_.end()) {
        pads.push_back(*found->second);
        pads.back().dim = d;
        pads.back().value = {};
      }
    return pads;
  }

  // Of no dtype of its own, as beside an index, which is i64.
  Expr number(std::int64_t value) const {
    Number number;
    number.integer = value < 0 ? -value : value;
    const Expr literal = make_literal(number, t_.place());
    return value < 0 ? t_.neg(literal) : literal;
  }
  Expr extent(int axis) const {
    return make_extent(facts_.axis_ref(axis), {window_.window->of->name}, t_.place());
  }

  // The index of the element that is read.
  Expr index(int axis) {
    const Expr at = position(axis);
    const auto found = pads_.find(axis);
    if (found == pads_.end()) return at;
    const Expr count = extent(axis), last = t_.op(ops::Op::Sub, {count, number(1)});
    switch (found->second->mode) {
    case PadMode::Constant: return at;
    case PadMode::Edge:
      return t_.op(ops::Op::Minimum, {t_.op(ops::Op::Maximum, {at, number(0)}), last});
    case PadMode::Wrap: return t_.op(ops::Op::Mod, {at, count});
    case PadMode::Reflect: {
      const Expr period = t_.op(ops::Op::Maximum, {t_.mul(last, number(2)), number(1)});
      const Expr turned = t_.op(ops::Op::Mod, {at, period});
      return t_.op(ops::Op::Minimum, {turned, t_.op(ops::Op::Sub, {period, turned})});
    }
    }
    return at;
  }

  // What the window reads along this axis of its input, from the first element on.
  Expr position(int axis) {
    const AffineForm &form = *forms_.at(axis);
    if (form.outside != Outside::Fails) fail("an index of a dim that is clipped or wrapped");
    const auto pad = pads_.find(axis);
    std::int64_t start = form.start();
    if (pad != pads_.end()) // behind the last one, or before the first
      start += form.is_from_end() ? pad->second->after : -pad->second->before;
    Expr sum;
    const auto add = [&](const Expr &at, std::int64_t times) {
      const Expr product = times == 1 ? at : t_.mul(number(times), at);
      sum = sum.node() ? t_.add(sum, product) : product;
    };
    for (const AffineForm::Term &term : form.terms)
      add(make_iota(AxisRef(term.axis), {window_.name}, t_.place()), term.times);
    for (const AffineForm::Index &index : form.indices)
      add(make_cast(DType::I64, make_input(index.read, t_.place()), t_.place()), index.times);
    for (const AffineForm::Extent &extent : form.extents) {
      if (is_of_let(extent)) fail("an index of a dim whose positions hold an extent of a let");
      const InputDecl &of = *extent.of.node()->input;
      const int counted = facts_.dims(of)[extent.dim];
      add(make_extent(facts_.axis_ref(counted), {of.name}, t_.place()), extent.times);
    }
    if (form.is_from_end()) add(extent(axis), 1);
    if (!sum.node()) return make_cast(DType::I64, number(start), t_.place());
    if (start < 0) return t_.sub(sum, number(-start));
    return start == 0 ? sum : t_.add(sum, number(start));
  }

  // The axes of its value; what it folds or runs along must not have to do with what is replaced.
  expr::AxisSet accumulated(const ExprNode &node, expr::AxisSet has) {
    expr::AxisSet bound;
    for (const AxisRef &ref : node.axes)
      bound = bound | expr::AxisSet::of(facts_.space().axis(ref, node.where));
    const bool like = node.kind == ExprKind::Fold && !node.use->like.empty();
    const bool whole = node.kind == ExprKind::Fold && node.axes.empty();
    expr::AxisSet axes = node.kind == ExprKind::Scan ? has : has - bound;
    if (like || whole) axes = like ? facts_.axes_like(node.use->like, node.where) : expr::AxisSet();
    const bool meets = like ? !((axes | has) & replaced_).empty() : !(has & replaced_).empty();
    if (meets && (like || whole || !(bound & (replaced_ | walked_)).empty()))
      fail("a reduction or a scan");
    return axes;
  }

  [[noreturn]] void fail(const std::string &what) const {
    fail_no_rule(facts_, "a sum through " + window_.name + " whose cotangent holds " + what,
                 t_.place());
  }

  facts::Facts &facts_;
  const InputDecl &window_;
  const bool is_mask_;
  const facts::Terms &t_;
  std::map<int, const AffineForm *> forms_; // by axis of the input
  std::map<int, const DimPad *> pads_;
  expr::AxisSet replaced_, walked_; // those axes, and those in their forms
  std::unordered_map<const ExprNode *, expr::AxisSet> axes_;
  expr::Exchange exchange_;
};

// Whether there are words for the index of what it reads in each dim.
bool says_positions(const InputDecl &window) {
  return std::ranges::all_of(window.window->forms, [](const AffineForm &form) {
    return form.outside == Outside::Fails && std::ranges::none_of(form.extents, is_of_let);
  });
}

} // namespace

Cotangent through_window(facts::Facts &facts, const Cotangent &g, const InputDecl &window,
                         const facts::Terms &t) {
  const auto read = [&](const Expr &value, bool is_mask) {
    return value.node() ? Reader(facts, window, is_mask, t).run(value) : value;
  };
  const Expr value = read(g.value, false), mask = read(g.mask, true);
  if (mask.node() || !says_positions(window)) return {value, mask};
  return {value, Reader(facts, window, true, t).reads_element()};
}

} // namespace broadloom::grad
