// What is typed as text: the graph and the axes, in lines and in other forms.
#pragma once

#include "spec/spec.hpp"

#include <span>

namespace broadloom::spec {

std::string print_axes(const TypedSpec &spec);  // `--stage axes`
std::string print_graph(const TypedSpec &spec); // `--stage graph`

// "exp", "fold sum over {j}": what a node does, without its arguments.
std::string node_label(const TypedSpec &spec, expr::NodeId id);
// "f32 {i j}"
std::string node_type(const TypedSpec &spec, expr::NodeId id);

// How each operand lies along each axis, a row for each operand; `wanted` as plan::resolve takes it.
std::string print_axis_table(const TypedSpec &spec, std::span<const Layout> inputs,
                             std::span<const Layout> outputs, const std::vector<bool> &wanted);

} // namespace broadloom::spec
