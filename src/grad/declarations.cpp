// See declarations.hpp.
#include "grad/declarations.hpp"

#include "expr/stretch.hpp"
#include "plan/plan.hpp"
#include "rewrite/scatters.hpp"
#include "support/free_name.hpp"

#include <algorithm>

namespace broadloom::grad {

// By its shape in a call where all that may be 1 is, and all else is more: a label along which
// it may be 1 (of inputs that say `j=1` or `:`) and others more is no label of its cotangent.
std::vector<bool> may_be_one(const spec::TypedSpec &typed, std::size_t output) {
  std::vector<std::int64_t> sizes(typed.axes.size(), 2);
  for (const spec::TypedInput &input : typed.inputs)
    for (std::size_t d = 0; d < input.extents.size(); ++d)
      if (input.extents[d] >= 0 && !input.may_stretch[d]) // 1 too, where an output says so
        sizes[std::size_t(input.axis_of_dim[d])] = input.extents[d];
  // Windows as inputs: their axes have labels, and what they are of is no matter here.
  const std::optional<rewrite::Scatters> parts = rewrite::split_scatters(typed);
  spec::TypedSpec spec = parts ? parts->after : typed;
  for (spec::TypedInput &input : spec.inputs) input.window.reset();
  for (spec::TypedOutput &made : spec.outputs) // an input that lends its shape is no 1 beside more
    made.like.clear();
  std::vector<Layout> layouts;
  for (const spec::TypedInput &input : spec.inputs) {
    std::vector<std::int64_t> shape;
    for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d) {
      const std::int64_t size = sizes[std::size_t(input.axis_of_dim[d])];
      const bool is_declared = input.extents[d] >= 0;
      shape.push_back(is_declared ? input.extents[d] : input.may_stretch[d] ? 1 : size);
    }
    layouts.push_back(contiguous_layout(shape));
  }
  const std::vector<bool> none(spec.outputs.size(), false);
  const auto shapes = plan::resolve(spec, layouts, none).output_shapes;
  std::vector<bool> result;
  for (std::size_t d = 0; d < shapes[output].size(); ++d)
    result.push_back(shapes[output][d] == 1 &&
                     sizes[std::size_t(typed.outputs[output].axes[d])] != 1);
  return result;
}

Declarations::Declarations(const SpecData &data, const spec::TypedSpec &typed, facts::Facts &facts)
    : data_(data), typed_(typed), facts_(facts) {
  const auto add = [&](const std::shared_ptr<const InputDecl> &decl) {
    if (taken_.insert(decl->name).second) inputs_.push_back(decl);
  };
  for (const auto &decl : data_.inputs) add(decl);
  expr::Walker walker;
  const auto visit = [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input) add(node.input);
    if (node.kind == ExprKind::Let) taken_.insert(node.name);
  };
  spec::for_each_value(data_.outputs, [&](const Expr &value) { walker.walk(value.node(), visit); });
  for (const OutputDecl &output : data_.outputs) taken_.insert(output.name);
}

std::string Declarations::fresh(const std::string &name) {
  return support::fresh_name(name, taken_);
}

// A label would hold it to the extent of inputs with that label, which `like` may not read.
std::shared_ptr<const InputDecl> Declarations::declare(const NewInput &wanted) {
  auto decl = std::make_shared<InputDecl>();
  decl->name = fresh(wanted.name);
  decl->dtype = wanted.dtype;
  decl->where = wanted.where;
  bool rigid = true;
  for (std::size_t d = 0; d < wanted.axes.size(); ++d)
    rigid = rigid && has_label(wanted.like, wanted.axes[d]);
  for (std::size_t d = 0; d < wanted.axes.size(); ++d) {
    const int axis = wanted.axes[d];
    const spec::Axis &known = typed_.axes[std::size_t(axis)];
    const bool is_one = wanted.may_be_one[d] && !data_.stretch; // then `:` would not be repeated
    if (known.labelled && rigid)
      decl->dims.push_back(wanted.may_be_one[d] ? Dim(known.name, expr::may_be_one)
                                                : Dim(known.name));
    else
      decl->dims.push_back(is_one ? Dim(1) : Dim(":"));
    decl->axes.push_back(axis);
  }
  place(*decl);
  return decl;
}

// Does an input with labels give the value its extent? Or none, where a mode repeats it.
bool Declarations::has_label(const Expr &value, int axis) {
  const std::vector<std::string> names = facts_.lenders(value, axis);
  return names.empty() ||
         std::any_of(typed_.inputs.begin(), typed_.inputs.end(), [&](const auto &input) {
           return input.labelled && std::count(names.begin(), names.end(), input.name) > 0;
         });
}

// Unlabelled dims lie where `order` puts them, or need to be placed.
void Declarations::place(InputDecl &decl) const {
  if (decl.labelled() || decl.dims.empty()) return decl.axes.clear();
  const int rank = int(decl.dims.size());
  const int placed = int(std::ranges::count(typed_.axes, false, &spec::Axis::implied));
  const int first = data_.order == Order::c ? 0 : placed - rank;
  bool by_order = data_.order != Order::none || rank == placed;
  for (int d = 0; d < rank; ++d) by_order = by_order && decl.axes[std::size_t(d)] == first + d;
  if (by_order)
    decl.axes.clear();
  else
    decl.placement = Placement::Axes;
}

} // namespace broadloom::grad
