// Inside the gradient stage: how large the values of a forward pass are for the inputs of a call to
// come, and roughly what they cost to compute.
#pragma once

#include "spec/materialise.hpp"

#include <broadloom/kernel.hpp>

#include <unordered_map>

namespace broadloom::grad {

class ForwardSizes {
public:
  // Throws SpecError E0610 where nothing tells the extents of an input, and what a call throws.
  ForwardSizes(const spec::TypedSpec &typed, const std::vector<NamedView> &inputs);

  // Of a let that is an array.
  std::int64_t bytes(const std::string &let) const;
  double operations(const spec::Materialised &let) const;

  // Of a value of the kernel with these axes; as if no dim of 1 were repeated.
  double elements(expr::AxisSet axes) const { return elements(axes, extents_); }
  // Of the kernel itself, or of a let: operations of a node for each of its values, in the unit of
  // the table of operations.
  static double cost(const spec::TypedSpec &kernel, expr::NodeId node);

private:
  using AxisExtents = std::vector<std::int64_t>; // [axis]
  AxisExtents extents_of(const spec::TypedSpec &kernel) const;
  static double elements(expr::AxisSet axes, const AxisExtents &extents);

  const spec::TypedSpec &typed_;
  std::unordered_map<std::string, Layout> arrays_; // inputs and lets
  AxisExtents extents_;
};

} // namespace broadloom::grad
