// What is typed as text: the graph and the axes, in lines and in other forms.
#pragma once

#include "spec/spec.hpp"

#include <span>

namespace broadloom::text {

std::string print_axes(const spec::TypedSpec &spec);  // `--stage axes`
std::string print_graph(const spec::TypedSpec &spec); // `--stage graph`

// "exp", "fold sum over {j}": what a node does, without its arguments.
std::string node_label(const spec::TypedSpec &spec, expr::NodeId id);
// "f32 {i j}"
std::string node_type(const spec::TypedSpec &spec, expr::NodeId id);

// How each operand lies along each axis, a row for each operand; `wanted` as plan::resolve takes
// it.
std::string print_axis_table(const spec::TypedSpec &spec, std::span<const Layout> inputs,
                             std::span<const Layout> outputs, const std::vector<bool> &wanted);

} // namespace broadloom::text
