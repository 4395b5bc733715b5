// How a window sees its array: strides, and where it begins; for all positions of the axes, or for
// those in a box.
//
//   x[2*i + u - 1, j] of x : f32[100, 8] with strides 8 and 1
//
// moves by 16 elements along i, 8 along u and 1 along j, from 8 elements before the start of x.
#pragma once

#include "kernel/padding.hpp"
#include "spec/spec.hpp"

#include <optional>
#include <span>
#include <vector>

namespace broadloom::kernel {

// The layout of a window, and how far its first element is from that of its array, or of the padded
// copy of it, in elements.
struct Seen {
  Layout layout;
  std::int64_t offset = 0;
  std::optional<Padding> padding;
  // The strides by which folds that read it have their trees. They follow from how the array lies,
  // and are the same whether a copy with borders is seen, of all of it or of a part, or the array
  // itself (viewer.cpp).
  Layout lies;
};

// So many positions of an axis, from the first on every step-th. A count of -1: all, as many as
// each operand has.
struct Range {
  std::int64_t first = 0, count = 0, step = 1;
};
using Box = std::vector<Range>; // [axis]

// Is there a border along this dim, or may the window leave the array there? Along any?
bool is_guarded(const spec::TypedWindow &window, std::size_t dim);
bool is_guarded(const spec::TypedWindow &window);
// May some window of a call see a copy of its array in one way of making the call, and the array
// itself in another?
bool sees_copies(const spec::TypedSpec &spec);

// [input]: whether its positions are looked at in a call, as they are read, or what is derived of
// them; and whether its elements are needed, by the kernel or as positions.
struct LookedUp {
  std::vector<bool> positions, elements;
};
LookedUp looked_up(const spec::TypedSpec &spec);

class Viewer {
public:
  // `given` are the layouts of the inputs that a call is given. Throws ShapeError E0102, E0142.
  Viewer(const spec::TypedSpec &spec, std::span<const Layout> given);

  // Of the input `window`. In a box it looks at the array itself where all that it reads is inside,
  // else at a copy of what it reads alone. Throws ShapeError E0112.
  Seen see(std::size_t window, const Box *box = nullptr);
  // What a window reads along each dim of the padded array, at all positions of its axes.
  std::vector<Padding::Dim> positions(std::size_t window, const Box *box = nullptr);
  bool is_read(std::size_t input) const { return looked_up_.positions[input]; }
  bool needs_elements(std::size_t input) const { return looked_up_.elements[input]; }

private:
  Seen see_array();
  Layout shape() const;
  Layout order_of_folds(const Layout &shape) const;
  bool stands(std::size_t dim) const;
  std::optional<int> dim_of_steps() const;
  __int128 start(std::size_t dim) const;
  std::vector<Padding::Dim> positions_of(const Layout &shape);
  std::int64_t step_of(int axis) const;
  std::int64_t common_divisor(std::size_t dim) const;
  __int128 times(std::size_t dim, const spec::TypedWindow::Term &term) const;
  bool is_inside(const std::vector<Padding::Dim> &dims) const;
  std::int64_t whole(__int128 number);
  void add(std::int64_t &sum, std::int64_t times, std::int64_t stride);
  [[noreturn]] void fail_size() const;

  const spec::TypedSpec &spec_;
  const std::span<const Layout> given_;
  const LookedUp looked_up_;
  const std::vector<std::int64_t> extents_; // [axis]
  std::size_t index_ = 0;
  const Box *box_ = nullptr;
  bool fits_ = true;
};

} // namespace broadloom::kernel
