// Lets that read themselves at earlier positions of one axis: loops over time.
//
//   let h[t, i] = tanh(x + sum(h[t - 1, k] * v, k)) from h0
//
// is computed step by step: its kernel is that of all t at once, of which a call runs one position
// after the other. What it reads of itself is an input like any other, the array of h with the
// start in `lag` rows before it:
//
//   in  h_before : f64[:, :]                        h0, h[0], h[1], ..
//   out h = tanh(x + sum(h_before[t, k] * v, k))    row t + 1 of the same array
//
// Several lets that read each other, as c and h of an LSTM, go step by step together. Where `t + c`
// is read, t runs from the last position to the first, and the start lies behind the array.
#pragma once

#include "spec/spec.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::spec {

// The axis along which lets read each other, and in which order a step computes them.
struct TimeLoop {
  struct Member {
    std::string let;
    std::size_t dim = 0;  // of the let: that axis
    std::int64_t lag = 0; // the greatest with which it is read
  };
  std::string axis;
  bool backwards = false;
  std::int64_t count = -1; // of steps, where it is said
  std::vector<Member> members;
};

// `reads_of(let)`: the reads of members that its value holds, Input nodes at positions and Let
// nodes. Throws SpecError E0028, E0030 and E0031. The lets are all those of one circle, in the
// order of their definition.
using ReadsOf = std::function<std::vector<const ExprNode *>(const std::string &let)>;
TimeLoop find_time_loop(const std::vector<std::string> &lets,
                        const std::unordered_map<std::string, Expr> &by_name,
                        const ReadsOf &reads_of, const std::string *source);

// By how much a window is away from the position `label` along a dim, if it is at label + c and is
// not padded there. Other dims may be read at positions of the step, too, as column t of `p[t - 1,
// i, t]`.
std::optional<std::int64_t> moved_along(const Window &window, std::size_t dim,
                                        const std::string &label);

// What is known of such a let once it is typed. Its kernel is a step: its operands have one
// position of the axis.
struct Recurrence {
  struct Read {
    std::uint32_t input = 0; // of its kernel: the array with the start before it
    std::size_t let = 0;     // of TypedSpec::materialised: whose
    std::int64_t more =
        0; // rows that it is given beyond the steps, so that these are all that it could be run for
  };
  std::size_t first = 0, count = 1; // the lets that go step by step together
  std::size_t dim = 0;
  int axis = 0; // of its kernel, along which it reads; the let itself may have it by another name
  bool backwards = false;
  std::int64_t lag = 0;                // rows before the first step
  std::int64_t steps = -1;             // where they are said
  std::optional<std::size_t> start;    // of TypedSpec::materialised; none: zeros
  std::vector<std::size_t> start_dims; // of the let: the dim that each dim of the start is
  std::vector<Read> reads;
  std::optional<std::uint32_t> positions; // of its kernel: an i64 for each step, 0, 1, ..
};

using LetKernels = std::span<const std::shared_ptr<const Materialised>>; // TypedSpec::materialised

// The extents of lets that go step by step together, for inputs of a call: of each its shape.
// `shapes` has those of the lets before them, and gets theirs. `solve(kernel, given)` has the
// extents of the axes of a kernel, of which some arrays have more elements than there can be, as
// they are not known yet. Throws ShapeError E0102 and E0142.
using Solve = std::function<std::vector<std::int64_t>(const TypedSpec &, std::span<const Layout>)>;
void find_loop_shapes(LetKernels lets, std::size_t first, std::span<const Layout> inputs,
                      std::vector<std::vector<std::int64_t>> &shapes, const Solve &solve);

// Does the kernel read of this input, the array of such a let, no more than the position that is
// computed last, as h[-1, i]? Then the others need not be kept.
bool reads_last_position(const TypedSpec &reader, std::size_t input, const Recurrence &of);

// Whether a step may see some rows of this array alone, with `dim` for its steps: windows that are
// copies of it walk the steps along no other dim.
bool may_see_few_rows(const TypedSpec &step, std::size_t input, std::size_t dim);

// A step of the kernel, which goes along `time`, reads of this array with `dim` for its steps no
// more than these rows of it, from t + low to t + high; none where it reads others. Nothing at all:
// high < low.
struct RowsRead {
  std::int64_t low = 0, high = -1;

  void add(const RowsRead &more) {
    const bool first = high < low;
    low = first ? more.low : std::min(low, more.low);
    high = first ? more.high : std::max(high, more.high);
  }
};
std::optional<RowsRead> rows_read_by_step(const TypedSpec &reader, std::size_t input,
                                          std::size_t dim);

// That of the array that a member reads.
std::vector<std::int64_t> shape_before(const Recurrence &of, const Recurrence::Read &read,
                                       const std::vector<std::int64_t> &shape);

} // namespace broadloom::spec
