// The windows of a call: strided views of the arrays that it is given.
//
//   x[2*i + u - 1, j] of x : f32[100, 8] with strides 8 and 1
//
// moves by 16 elements along i, 8 along u and 1 along j, from 8 elements before the start of x. Extents: an axis that is the label of a
// declared dim has that dim's; one that stands only alone, as j, has that of the dim at whose position it stands; any other
// takes the greatest extent for which every read is inside its array.
//
// A window of a padded input is a view of a copy with borders (borders.hpp), which all windows of this padding share.
//
// A derived window that may look outside of its array, or between two elements, is a view of a copy with zeros there (padding.hpp), and
// a gather is an array of what it reads (gather.hpp). Where sums through gathers are inputs (rewrite/scatters.hpp), they are added up.
#pragma once

#include "kernel/gather.hpp"
#include "kernel/operands.hpp"
#include "kernel/padding.hpp"
#include "spec/spec.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace broadloom::kernel {

// What a call has at hand for its windows.
struct Helpers {
  RunTasks tasks;
  // What is added up in each of the sums, for these inputs of a call: in C order over the axes of their windows.
  std::function<std::vector<Array>(Operands inputs)> summed;
};

// The layout of a window, and how far its first element is from that of its array, or of the padded copy of it, in elements.
struct Seen {
  Layout layout;
  std::int64_t offset = 0;
  std::optional<Padding> padding;
};

// The operands of a call with its windows behind the inputs: what the specialisations and engines of a kernel are about. The views of the
// windows live as long as this; the others are the caller's.
class WindowedOperands {
public:
  // `given` are the inputs that a call is given, then outputs, in declared order; dtypes and ranks of the inputs are as declared.
  // Throws ShapeError E0102 (extents that disagree), E0142 (a read outside of its array), E0143 (a border of nothing), E0112, DataError E0315 (an element says a
  // position outside); E0306 and E0310 where elements are needed for that. `elements` says whether they are there.
  // With `ReadInto` a gather that is all of the output is left to `fill`.
  enum class Elements : std::uint8_t { Read, ReadInto, NotThere };
  WindowedOperands(const spec::TypedSpec &spec, Operands given, Helpers helpers,
                   Elements elements = Elements::Read);

  Operands all() const { return operands_; }
  // Whether the output is what a gather reads, element for element, and nothing else is to be done: as of `out y = x[k[i], j]` where y lies
  // in C order and shares no memory with an input. Then `fill` writes it; `look` only looks at the positions. Both throw E0315.
  bool fills_output() const { return filled_; }
  void look() const;
  void fill() const;
  // Brings the copies up to date where these operands are used for more than one call. Throws E0315.
  void copy_again() const;
  // The same for some rows along a dim of one input alone, where it has no borders along that dim.
  void copy_rows_again(std::uint32_t input, std::size_t dim, std::int64_t first,
                       std::int64_t count) const;

private:
  AnyView copy_of(const AnyView &view, const Padding &padding);
  void look_up(std::size_t window, const AnyView &of, const Seen &seen, const AnyView *into,
               AnyView &view);
  const AnyView *output_of(std::size_t window, const Layout &layout, Operands given) const;
  void add_up(std::size_t sum, const Layout &layout, AnyView &view);

  struct Copy {
    Padding padding;
    AnyView of;
    Array elements;
  };
  const spec::TypedSpec &spec_;
  const Helpers helpers_;
  std::vector<AnyView> given_; // inputs; kept for those that are read here
  std::vector<Copy> copies_;
  struct Made { // a gather, or a sum through the gather `window`
    std::size_t window = 0;
    AnyView from; // of a gather: the array, or a copy with borders
    Array elements;
  };
  std::vector<Made> gathered_, sums_;
  bool filled_ = false;       // by the last of those that are gathered
  std::vector<Array> summed_; // until all sums are added up
  std::vector<AnyView> windows_;
  std::vector<const AnyView *> operands_;
};

// The operands that a caller names, with the shapes of outputs that are written at positions behind the inputs, and the extents that are
// said. Throws DataError E0316 where such an output is not given, ShapeError E0144 for an extent below 0.
class LentOperands {
public:
  LentOperands(const spec::TypedSpec &spec, Operands named);
  Operands all() const { return operands_; }

private:
  std::vector<AnyView> shapes_;
  std::vector<const AnyView *> operands_;
};
[[noreturn]] void fail_lent(const spec::TypedSpec &spec, const spec::TypedInput &shape);

// Of a step of a loop over time (spec/recurrence.hpp): the operand as it is at one position of the axis.
void take_one_position(const spec::TypedSpec &spec, std::size_t input, Layout &layout);

// The same of layouts alone: adds those of the windows behind those of the inputs.
void add_windows(const spec::TypedSpec &spec, std::vector<Layout> &inputs);

} // namespace broadloom::kernel
