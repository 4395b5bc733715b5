// Specs that are made in place of being written: what the parts of a kernel that was taken apart
// (split_folds.hpp) are built of.
#pragma once

#include "spec/spec.hpp"

#include <string>
#include <vector>

namespace broadloom::rewrite {

// A spec with the axes and settings of another, without anything in it.
spec::TypedSpec empty_like(const spec::TypedSpec &spec, const std::string &suffix);

// An array on these axes, one dim for each.
spec::TypedInput array_input(std::string name, DType dtype, std::vector<int> axes);

// Called by this and its number.
void add_output(spec::TypedSpec &spec, expr::NodeId value, std::vector<int> axes,
                const char *name = "state");

expr::NodeId read_input(spec::TypedSpec &spec, std::size_t input, const Place &where);

expr::NodeId operation(expr::Graph &graph, ops::Op op, DType dtype,
                       const std::vector<expr::NodeId> &args, const Place &where);

// The nodes of straight-line code over these values.
std::vector<expr::NodeId> run_code(expr::Graph &graph, const ops::Code &code,
                                   std::vector<expr::NodeId> values);

// Of a scan whose leaves have come to t[leaf, ..], along `axis`: what comes before each of them,
// from a start on.
//
//   in start, t      out state0 = start, combine(start, t[0]), combine(combine(start, t[0]), t[1]),
//                    ..
//
// From the last leaf where `reverse`. So the joins are those that one call makes: blocks are joined
// one after another.
void add_before(spec::TypedSpec &spec, const ops::Recipe &recipe, expr::AxisSet kept, int axis,
                bool reverse);

} // namespace broadloom::rewrite
