// The windows of a kernel in a call: what each of them sees, and in which parts the call is made.
//
//   x[2*i + u - 1, j] of x : f32[100, 8] with strides 8 and 1
//
// moves by 16 elements along i, 8 along u and 1 along j, from 8 elements before the start of x
// (viewer.hpp). A window of a padded input is a view of a copy with borders, which all windows of
// this padding share. A derived window that may look outside of its array, or between two elements,
// is one of a copy with zeros there (padding.hpp). Where the array is large, the call is split, and
// only the borders are copied (interior.hpp). A gather is an array of what it reads (gather.hpp).
#pragma once

#include "kernel/by_parts.hpp"
#include "kernel/operands.hpp"
#include "kernel/viewer.hpp"
#include "spec/spec.hpp"

#include <span>
#include <vector>

namespace broadloom::kernel {

// What the pointers of a call decide about its windows. By default nothing shares memory.
struct Overlaps {
  std::vector<bool> written = {}; // [input]: an output shares memory with it; empty: with none
  bool may_be_parts = true;       // each output has memory
  bool may_be_filled = true;      // the last output may be written, and is apart from the inputs
  bool is_written(std::size_t input) const { return input < written.size() && written[input]; }
  friend bool operator==(const Overlaps &, const Overlaps &) = default;
};
// `call` are the inputs and outputs that a caller names.
Overlaps overlaps_of(const spec::TypedSpec &spec, Operands call);

// What was chosen: whose copies the windows see, and in what parts the call is made.
struct WindowChoice {
  struct Part {
    PartId id;
    Box box;                  // empty: all positions
    std::vector<Seen> seen;   // [window]
    std::vector<bool> wanted; // [output]
    std::vector<Layout> lies; // as operands.hpp has it
  };
  Layouts layouts = {};         // of all operands, windows behind the inputs
  std::vector<Part> parts = {}; // one after the other; at least one
  Box whole = {};               // of a call that is split: all positions of each axis
  bool split = false;           // or all in one part, which sees copies of whole arrays
  bool fills_output = false; // the last window is the output: a gather is all that there is to do
  std::vector<std::size_t> own_inputs = {}; // that are copied before parts write them
};

// From layouts alone: no pointer is looked at. `given` are the inputs that a kernel is given, then
// its outputs, in declared order. Throws ShapeError E0102 (extents that disagree), E0142 (a read
// outside of its array), E0143 (a border of nothing), E0112.
struct WindowRules {
  // From so many bytes of copies on the interior is computed without them.
  std::int64_t split_from_bytes = INT64_MAX;
  bool may_fill = false;
  std::span<const ByParts> by_parts = {}; // of this kernel
};
WindowChoice choose_windows(const spec::TypedSpec &spec, Operands given, const Overlaps &overlaps,
                            const WindowRules &rules);
// Of a call that is made in parts the last of each group.
std::vector<PartId> last_parts(const WindowChoice &choice);

// The operands that a caller names, with the shapes of outputs that are written at positions behind
// the inputs, and the extents that are said. Throws DataError E0316 where such an output is not
// given, ShapeError E0144 for an extent below 0.
class LentOperands {
public:
  LentOperands(const spec::TypedSpec &spec, Operands named);
  Operands all() const { return operands_; }

private:
  std::vector<AnyView> shapes_;
  std::vector<const AnyView *> operands_;
};
[[noreturn]] void fail_lent(const spec::TypedSpec &spec, const spec::TypedInput &shape);

// Of a step of a loop over time (spec/recurrence.hpp): the operand as it is at one position of the
// axis.
void take_one_position(const spec::TypedSpec &spec, std::size_t input, Layout &layout);

// Adds the layouts of the windows behind those of the inputs. Returns how they lie for the trees of
// folds.
std::vector<Layout> add_windows(const spec::TypedSpec &spec, std::vector<Layout> &inputs);

} // namespace broadloom::kernel
