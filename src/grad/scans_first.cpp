// See scans_first.hpp.
#include "grad/scans_first.hpp"

#include "analysis/analyse.hpp"
#include "grad/declarations.hpp"
#include "spec/cut.hpp"
#include "support/free_name.hpp"

#include <algorithm>
#include <set>

namespace broadloom::grad {
namespace {

class ScansFirst {
public:
  ScansFirst(SpecData &data, const Decls &bounds, const std::set<std::string> &saved)
      : data_(data), bounds_(bounds), saved_(saved), taken_(spec::names_of(data)) {
    for (const Decls *inputs : {&std::as_const(data.inputs), &bounds})
      for (const auto &input : *inputs) note_free_axes(*input);
  }

  void run() {
    for (const Expr &let : data_.lets) {
      const Expr now = exchanged(let); // behind the arrays that it brings
      lets_.push_back(now);
    }
    for (OutputDecl &output : data_.outputs) {
      output.value = exchanged(output.value);
      for (Expr &init : output.mode.use.init) init = exchanged(init);
    }
    data_.lets = std::move(lets_);
    data_.inputs = windows_;
  }

private:
  void note_free_axes(const InputDecl &input) {
    if (!input.window) return;
    const InputDecl &of = *input.window->of;
    const bool is_let = of.is_let || of.materialised || saved_.contains(of.name);
    for (std::size_t d = 0; d < input.window->forms.size(); ++d) {
      const AffineForm &form = input.window->forms[d];
      const bool is_padded = std::ranges::count(input.window->pads, d, &DimPad::dim) != 0;
      for (const AffineForm::Term &term : form.terms)
        if (is_let || is_padded || !form.is_axis()) free_.insert(term.axis);
    }
  }

  Expr exchanged(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) { return now(node); });
  }

  Expr now(const ExprNode &node) {
    if (node.kind != ExprKind::Fold || node.use->like.size() != 1 || node.args.size() != 1)
      return {};
    const auto like = std::ranges::find(windows_, node.use->like[0], &InputDecl::name);
    if (like == windows_.end() || !(*like)->window) return {};
    const Expr value = exchange_.has(node.args[0].node()) ? exchange_(node.args[0]) : node.args[0];
    if (!runs_along(value, **like)) return {};
    const std::optional<Axes> axes = axes_of(value, **like);
    if (!axes) return {};
    const std::string name = support::fresh_name("along", taken_);
    const Expr let =
        make_let(name, with_bounds(inside(value), bounds_, windows_), node.where, axes->listed);
    lets_.push_back(let);
    return with_args(node, {make_window(let, spec::along(axes->read), node.where)});
  }

  // Does a scan in the value run along an axis that the window moves along, or that may end before
  // the dim where it stands alone? What arrays hold is computed there.
  bool runs_along(const Expr &value, const InputDecl &like) const {
    std::set<std::string> moved;
    for (const AffineForm &form : like.window->forms)
      for (const AffineForm::Term &term : form.terms)
        if (free_.contains(term.axis)) moved.insert(term.axis);
    bool runs = false;
    expr::Walker().walk(
        value.node(),
        [&](const ExprNode &node) {
          if (node.kind != ExprKind::Scan) return;
          const std::string *label = std::get_if<std::string>(&node.axes[0].value());
          runs = runs || label == nullptr || moved.contains(*label);
        },
        [](const ExprNode &node) { return node.kind != ExprKind::Let || node.axes.empty(); });
    return runs;
  }

  // Its axes are those of the array alone, and end where they ended before.
  Expr inside(const Expr &value) {
    SpecData alone = alone_with(value);
    stay_inside(alone, bounds_, false);
    for (const auto &input : alone.inputs)
      if (std::ranges::find(windows_, input->name, &InputDecl::name) == windows_.end())
        windows_.push_back(input);
    return alone.outputs[0].value;
  }

  struct Axes {
    std::vector<AxisRef> listed;
    std::vector<std::string> read;
  };

  // None where one of them has no label. An array is not repeated along an axis, so one along which
  // the value may be 1 is read, and folded, by a name of its own.
  std::optional<Axes> axes_of(const Expr &value, const InputDecl &like) {
    const spec::TypedSpec typed = analysis::analyse(alone_with(value));
    const std::vector<bool> are_one = may_be_one(typed, 0);
    for (const spec::Axis &known : typed.axes) taken_.insert(known.name);
    Axes axes;
    for (std::size_t dim = 0; dim < are_one.size(); ++dim) {
      const spec::Axis &known = typed.axes[std::size_t(typed.outputs[0].axes[dim])];
      if (!known.labelled) return {};
      axes.listed.emplace_back(known.name);
      const bool is_own = are_one[dim] && !walks(like, known.name);
      axes.read.push_back(is_own ? support::fresh_name(known.name, taken_) : known.name);
    }
    return axes;
  }

  static bool walks(const InputDecl &window, const std::string &axis) {
    return std::ranges::any_of(window.window->forms, [&](const AffineForm &form) {
      return std::ranges::count(form.terms, axis, &AffineForm::Term::axis) != 0;
    });
  }

  SpecData alone_with(const Expr &value) const {
    OutputDecl output;
    output.name = support::free_name(
        "along", [&](const std::string &free) { return !taken_.contains(free); });
    output.value = value;
    SpecData alone = spec::with_outputs(data_, {output});
    alone.inputs.clear();
    for (const auto &input : windows_)
      if (!is_of_later_let(*input)) alone.inputs.push_back(input);
    alone.lets = lets_; // which like= may name
    return alone;
  }

  // Of a let that is still being exchanged, or comes behind it.
  bool is_of_later_let(const InputDecl &input) const {
    const auto has = [&](const std::vector<Expr> &lets) {
      return std::ranges::any_of(
          lets, [&](const Expr &let) { return let.node()->name == input.window->of->name; });
    };
    return input.window && has(data_.lets) && !has(lets_);
  }

  SpecData &data_;
  const Decls &bounds_;
  const std::set<std::string> &saved_;
  Decls windows_ = data_.inputs;
  spec::Names taken_;
  std::set<std::string> free_; // axes that stand beside numbers or others somewhere
  std::vector<Expr> lets_;     // as far as they are known
  expr::Exchange exchange_;
};

} // namespace

void compute_scans_first(SpecData &data, const Decls &bounds, const std::set<std::string> &saved) {
  ScansFirst(data, bounds, saved).run();
}

} // namespace broadloom::grad
