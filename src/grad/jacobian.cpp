// Jacobians: the directional derivative along every element of an input at once
// (<broadloom/jacobian.hpp>).
//
//   in t_x : f64[i]             the tangent (jvp.cpp)
//   in t_x : f64[i_x, i]        one for each element of x (batch.cpp)
//   f64(iota(i_x) == iota(i))   each moves one element by 1
#include "analysis/analyse.hpp"
#include "expr/exchange.hpp"
#include "expr/stretch.hpp"
#include "facts/terms.hpp"
#include "grad/batch.hpp"
#include "grad/labels.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/free_name.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <broadloom/gradient.hpp>
#include <broadloom/jacobian.hpp>

#include <algorithm>

namespace broadloom {
namespace grad {
namespace {

using Decl = std::shared_ptr<const InputDecl>;

// The only input that the one kernel has and the other lacks.
Decl new_input(const SpecData &derived, const SpecData &kernel) {
  for (const auto &decl : whole_inputs(derived))
    if (std::ranges::none_of(whole_inputs(kernel),
                             [&](const auto &known) { return known->name == decl->name; }))
      return decl;
  return nullptr;
}

class Jacobian {
public:
  Jacobian(const SpecData &kernel, const std::string &of, const std::string &wrt)
      : kernel_(spec::expand_calls(kernel, spec::Calls::WithoutDerivatives)), of_(of) {
    for (const auto &decl : whole_inputs(kernel_))
      if (decl->name == wrt) input_ = decl;
  }

  SpecData run(const LoopSpec &spec) {
    const std::vector<std::string> wrt{input_ ? input_->name : ""};
    SpecData made = jvp(spec, wrt, {.of = {of_}}).data(); // says what is no input or no output
    check();
    made.name = kernel_.name; // as it is told where there is no such batch
    const std::string tangent = new_input(made, kernel_)->name;
    std::set<std::string> labels = labels_of(made);
    for (std::size_t d = 0; d < input_->dims.size(); ++d) {
      const std::string &label = input_->dims[d].label;
      axes_.push_back(support::fresh_name(
          label.empty() ? input_->name + std::to_string(d) : label + "_" + input_->name, labels));
    }
    for (std::size_t d = axes_.size(); d-- > 0;) made = batched(made, axes_[d], {tangent});
    const spec::TypedSpec typed = analysis::analyse(made);
    made = with_unit_tangents(std::move(made), tangent);
    made.name = kernel_.name + "_jacobian";
    std::set<std::string> names = spec::names_of(kernel_);
    list_axes(made.outputs[0], support::fresh_name("d_" + of_ + "_d_" + input_->name, names),
              typed);
    analysis::analyse(made);
    return made;
  }

private:
  void check() const {
    if (is_complex(input_->dtype))
      support::fail("E0603",
                    "input '" + input_->name + "' is " + std::string(name(input_->dtype)) +
                        ", and a Jacobian is one by real numbers",
                    support::with_text(input_->where, kernel_.source.get()),
                    "ask for a directional derivative: jvp");
    const spec::TypedSpec typed = analysis::analyse(kernel_);
    const auto output = std::ranges::find(typed.outputs, of_, &spec::TypedOutput::name);
    const auto needs_labels = [&](const std::string &what, const Place &where) {
      support::fail("E0609", what + " has axes without labels, and those of a Jacobian have names",
                    support::with_text(where, kernel_.source.get()),
                    "label the dims of the inputs");
    };
    for (const int axis : output->axes)
      if (!typed.axes[std::size_t(axis)].labelled)
        needs_labels("output '" + of_ + "'", output->where);
    for (const spec::TypedInput &input :
         typed.inputs) // an array of which only elements are read has none
      for (const int axis : input.in_windows_only ? std::vector<int>() : input.axis_of_dim)
        if (!typed.axes[std::size_t(axis)].labelled)
          needs_labels("kernel '" + kernel_.name + "'", kernel_.where);
  }

  AffineForm extent(std::size_t dim) const {
    AffineForm form;
    form.extents.push_back({make_input(input_, input_->where), dim, 1});
    return form;
  }

  // iota(i_x) == iota(i, of=x), for each dim.
  Expr unit(const std::vector<std::string> &dims, const std::vector<std::string> &of,
            const std::vector<std::string> &of_new = {}) const {
    const facts::Terms t(input_->where);
    Expr all;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Expr one = t.op(
          ops::Op::Eq, {make_iota(axes_[d], of_new, t.place()), make_iota(dims[d], of, t.place())});
      all = all.node() ? t.both(all, one) : one;
    }
    return make_cast(input_->dtype, all.node() ? all : t.num(1), t.place());
  }

  // Read at positions, it is an array of its own.
  SpecData with_unit_tangents(SpecData made, const std::string &tangent) {
    const spec::LetsByName lets = spec::lets_by_name(made);
    bool is_array =
        std::ranges::any_of(lets, [](const auto &let) { return !let.second.node()->axes.empty(); });
    spec::for_each_node(made, [&](const ExprNode &node) {
      is_array = is_array || (node.kind == ExprKind::Input && node.input->window);
    });
    std::vector<std::string> dims;
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      const std::string &label = input_->dims[d].label;
      dims.push_back(is_array || label.empty() ? axes_[d] + "_1" : label);
    }
    is_array = is_array && !axes_.empty();
    Expr instead = unit(dims, is_array ? std::vector<std::string>() : std::vector{input_->name});
    if (is_array) {
      std::vector<SaidExtent> said;
      for (const auto &names : {axes_, dims})
        for (std::size_t d = 0; d < names.size(); ++d) said.push_back({names[d], extent(d)});
      std::vector<AxisRef> listed;
      for (const SaidExtent &dim : said) listed.emplace_back(dim.axis);
      LetLoop loop;
      loop.said = make_said(tangent, std::move(said), [&] { return input_->where; });
      instead = make_let(tangent, instead, input_->where, std::move(listed), std::move(loop));
    }
    return exchanged(std::move(made), tangent, instead, is_array);
  }

  // A read at positions does not stretch where a dim has 1 element.
  bool may_stretch() const { return std::ranges::any_of(input_->dims, expr::is_one_of_more); }

  // The same as an expression: the array says how long the new axes are.
  Expr unit_beside(const Expr &array) {
    const Expr seen = make_window(array, spec::along(array.node()->axes), input_->where);
    named_ = seen.node()->input;
    std::vector<std::string> dims;
    for (const Dim &dim : input_->dims) dims.push_back(dim.label);
    return unit(dims, {input_->name}, {named_->name});
  }

  SpecData exchanged(SpecData made, const std::string &tangent, const Expr &instead,
                     bool is_array) {
    expr::Exchange exchange;
    const auto extents = [&](const Expr &of) {
      return name_of_array(of) == tangent ? instead : Expr();
    };
    const auto now = [&](const Expr &expr) {
      kept_.push_back(expr);
      return exchange.run(expr, [&](const ExprNode &node) {
        if (node.kind == ExprKind::Let && node.input) {
          const std::vector<Expr> args = exchange.args_of(node);
          LetLoop loop = loop_of(node);
          if (args.size() > 1) loop.start = args[1];
          loop.said = with_extents(loop.said, extents);
          return make_let(node.name, args[0], node.where, node.axes, loop);
        }
        if (node.kind != ExprKind::Input) return Expr();
        if (!node.input->window) {
          if (node.input->name != tangent) return Expr();
          if (!is_array) return instead;
          if (may_stretch()) return unit_beside(instead);
          std::vector<std::string> along = axes_;
          for (const Dim &dim : input_->dims) along.push_back(dim.label);
          return make_window(instead, spec::along(along), node.where);
        }
        if (node.input->window->of->name == tangent)
          return !is_array ? instead : make_window_like(instead, *node.input->window, node.where);
        return Expr();
      });
    };
    spec::change_values(made, now);
    if (is_array) made.lets.insert(made.lets.begin(), instead);
    std::vector<Decl> inputs;
    for (const auto &decl : made.inputs) {
      const bool is_of = decl->window && decl->window->of->name == tangent;
      if (decl->name == tangent || (is_of && !is_array)) continue;
      inputs.push_back(is_of ? make_window_like(instead, *decl->window, decl->where).node()->input
                             : decl);
    }
    if (named_) inputs.push_back(named_);
    made.inputs = std::move(inputs);
    return made;
  }

  // Zeros like an input without labels have axes that go by its place.
  void check_like(const OutputDecl &output) const {
    for (const Decl &decl : kernel_.inputs)
      if (std::ranges::count(output.mode.use.like, decl->name) != 0 && !decl->labelled() &&
          !decl->dims.empty())
        support::fail("E0609",
                      "output '" + of_ + "' has the shape of '" + decl->name +
                          "', which has no labels, and axes of a Jacobian have names",
                      support::with_text(decl->where, kernel_.source.get()), "label its dims");
  }

  // The axes of `of` first. One that nothing moves is 0 along the others.
  void list_axes(OutputDecl &output, const std::string &name, const spec::TypedSpec &made) const {
    const auto names_in = [&](const spec::TypedSpec &typed, const std::string &called) {
      AxisNames names;
      const auto found = std::ranges::find(typed.outputs, called, &spec::TypedOutput::name);
      for (const int axis : found->axes) names.push_back(typed.axes[std::size_t(axis)].name);
      return names;
    };
    AxisNames axes = names_in(made, output.name);
    const AxisNames of = names_in(analysis::analyse(kernel_), of_);
    if (axes.size() > of.size()) {
      std::rotate(axes.begin(), axes.begin() + std::ptrdiff_t(axes_.size()), axes.end());
    } else {
      check_like(output);
      axes.insert(axes.end(), axes_.begin(), axes_.end());
    }
    std::vector<SaidExtent> said;
    for (std::size_t d = 0; output.said && d < output.said->dims.size(); ++d)
      said.push_back({output.said->dims[d].label, output.said->said->of[d]});
    for (std::size_t d = 0; d < axes_.size(); ++d)
      if (std::ranges::count(axes, axes_[d]) != 0) said.push_back({axes_[d], extent(d)});
    output.name = name;
    output.has_axes = true;
    output.axes.assign(axes.begin(), axes.end());
    if (!said.empty()) output.said = make_said(name, std::move(said), [&] { return output.where; });
  }

  const SpecData kernel_;
  const std::string &of_;
  Decl input_;
  Decl named_;                    // a window of the array of tangents, which of= names
  std::vector<std::string> axes_; // [dim of the input]
  std::vector<Expr> kept_;
};

} // namespace
} // namespace grad

namespace {

LoopSpec jacobian_of(const LoopSpec &spec, const std::string &of, const std::string &wrt) {
  return LoopSpec(
      std::make_shared<const detail::SpecData>(grad::Jacobian(spec.data(), of, wrt).run(spec)));
}

// The kernel with a label for each axis.
std::optional<LoopSpec> labelled(const LoopSpec &spec, grad::Stretch stretch) {
  auto made =
      grad::labelled(spec::expand_calls(spec.data(), spec::Calls::WithoutDerivatives), stretch);
  if (!made) return std::nullopt;
  return LoopSpec(std::make_shared<const detail::SpecData>(std::move(*made)));
}

} // namespace

LoopSpec jacobian(const LoopSpec &spec, const std::string &of, const std::string &wrt) try {
  const support::FloatWorld world;
  if (std::ranges::none_of(grad::whole_inputs(spec::expand_calls(spec.data())),
                           [&](const auto &decl) { return decl->name == wrt; }))
    jvp(spec, {wrt}, {.of = {of}}); // says that there is none
  const std::optional<LoopSpec> open = labelled(spec, grad::Stretch::Kept);
  if (!open) return jacobian_of(spec, of, wrt);
  try {
    return jacobian_of(*open, of, wrt);
  } catch (const SpecError &error) { // a reduction is like what may be repeated
    if (error.code() != "E0061") throw;
  }
  return jacobian_of(*labelled(spec, grad::Stretch::Dropped), of, wrt);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

LoopSpec hessian(const LoopSpec &spec, const std::string &of, const std::string &wrt) try {
  const support::FloatWorld world;
  const LoopSpec slope = gradient(spec, {wrt}, {.of = {of}});
  const detail::SpecData &kernel = spec.data();
  const spec::TypedSpec typed = analysis::analyse(spec::expand_calls(kernel));
  const auto output = std::ranges::find(typed.outputs, of, &spec::TypedOutput::name);
  if (!output->axes.empty())
    support::fail("E0609",
                  "output '" + of + "' has " +
                      support::count(std::int64_t(output->axes.size()), "axis") +
                      ", and a Hessian is that of a single number",
                  output->where, "fold its axes, or ask for the Jacobian of a gradient");
  detail::SpecData made = slope.data();
  const auto weight = grad::new_input(made, spec::expand_calls(kernel));
  const facts::Terms t(weight->where);
  Number number;
  number.integer = 1;
  const Expr one = make_cast(weight->dtype, make_literal(number, t.place()), t.place());
  made = spec::filled(made, weight->name, one);
  const std::string name = made.outputs[0].name;
  made.name = kernel.name;
  detail::SpecData second =
      jacobian(LoopSpec(std::make_shared<const detail::SpecData>(std::move(made))), name, wrt)
          .data();
  second.name = kernel.name + "_hessian";
  std::set<std::string> names = spec::names_of(kernel);
  OutputDecl &result = second.outputs[0];
  result.name = support::fresh_name("d2_" + of + "_d_" + wrt, names);
  return LoopSpec(std::make_shared<const detail::SpecData>(std::move(second)));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
