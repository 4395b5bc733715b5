// See split_parts.hpp.
#include "rewrite/split_parts.hpp"

#include <fmt/format.h>

namespace broadloom::rewrite {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;

spec::TypedSpec empty_like(const spec::TypedSpec &spec, const std::string &suffix) {
  spec::TypedSpec made;
  made.name = spec.name + suffix;
  made.source = spec.source;
  made.order = spec.order;
  made.axes = spec.axes;
  made.accuracy = spec.accuracy;
  made.relaxed = spec.relaxed;
  return made;
}

spec::TypedInput array_input(std::string name, DType dtype, std::vector<int> axes) {
  spec::TypedInput input;
  input.name = std::move(name);
  input.dtype = dtype;
  input.axis_of_dim = std::move(axes);
  input.extents.assign(input.axis_of_dim.size(), -1);
  input.may_stretch.assign(input.axis_of_dim.size(), true); // as it may be 1 by like=
  return input;
}

void add_output(spec::TypedSpec &spec, NodeId value, std::vector<int> axes, const char *name) {
  spec::TypedOutput output;
  output.name = fmt::format("{}{}", name, spec.outputs.size());
  output.dtype = spec.graph[value].dtype;
  output.axes = std::move(axes);
  output.value = output.addend = value;
  spec.outputs.push_back(std::move(output));
  spec.wishes.stores.resize(spec.outputs.size());
}

NodeId read_input(spec::TypedSpec &spec, std::size_t input, const Place &where) {
  const spec::TypedInput &read = spec.inputs[input];
  return spec.graph.add({.kind = NodeKind::Input,
                         .dtype = read.dtype,
                         .axes = read.axes(),
                         .payload = std::uint32_t(input)},
                        {}, where);
}

NodeId operation(expr::Graph &graph, ops::Op op, DType dtype, const std::vector<NodeId> &args,
                 const Place &where) {
  Node node{.kind = NodeKind::Op, .op = op, .dtype = dtype};
  for (const NodeId arg : args) node.axes = node.axes | graph[arg].axes;
  return graph.add(node, args, where);
}

std::vector<NodeId> run_code(expr::Graph &graph, const ops::Code &code,
                             std::vector<NodeId> values) {
  using Line = ops::Code::Line;
  return ops::write_out(
      code, std::move(values),
      [&](const Line &line) {
        return graph.add({.dtype = line.dtype, .literal = line.literal}, {}, {});
      },
      [&](const Line &line, NodeId arg) {
        const Node cast{.kind = NodeKind::Cast, .dtype = line.dtype, .axes = graph[arg].axes};
        return line.dtype == graph[arg].dtype ? arg : graph.add(cast, std::span(&arg, 1), {});
      },
      [&](const Line &line, const std::vector<NodeId> &args) {
        return operation(graph, line.op, ops::compute_dtype(line.dtype), args, {});
      });
}

void add_before(spec::TypedSpec &spec, const ops::Recipe &recipe, AxisSet kept, int axis,
                bool reverse) {
  ops::Recipe in_order = ops::joining(recipe);
  in_order.combine = {};
  in_order.exact = in_order.commutes = in_order.needs_value = false;
  std::vector<int> dims = kept.list();
  dims.insert(dims.begin(), axis);
  Node scan{.kind = NodeKind::Scan,
            .exclusive = true,
            .reverse = reverse,
            .recipe = spec.graph.add_recipe(in_order),
            .axes = kept | AxisSet::of(axis),
            .folded = AxisSet::of(axis)};
  std::vector<NodeId> starts, args;
  for (const DType state : recipe.states) {
    spec.inputs.push_back(
        array_input(fmt::format("start{}", spec.inputs.size()), state, kept.list()));
    starts.push_back(read_input(spec, spec.inputs.size() - 1, {}));
  }
  for (const DType state : recipe.states) {
    spec.inputs.push_back(array_input(fmt::format("t{}", spec.inputs.size()), state, dims));
    args.push_back(read_input(spec, spec.inputs.size() - 1, {}));
  }
  args.insert(args.end(), starts.begin(), starts.end());
  for (std::size_t k = 0; k < recipe.states.size(); ++k) {
    scan.payload = std::uint32_t(k);
    scan.dtype = recipe.states[k];
    add_output(spec, spec.graph.add(scan, args, {}), dims);
  }
}

} // namespace broadloom::rewrite
