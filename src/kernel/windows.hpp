// The windows of a call: strided views of the arrays that it is given.
//
//   x[2*i + u - 1, j] of x : f32[100, 8] with strides 8 and 1
//
// moves by 16 elements along i, 8 along u and 1 along j, from 8 elements before the start of x (viewer.hpp).
//
// A window of a padded input is a view of a copy with borders, which all windows of this padding share, and a derived window that may
// look outside of its array, or between two elements, is one of a copy with zeros there (padding.hpp). Where the array is large, the call
// is split, and only the borders are copied (interior.hpp).
//
// A gather is an array of what it reads (gather.hpp). Where sums through gathers are inputs (rewrite/scatters.hpp), they are added up.
#pragma once

#include "kernel/by_parts.hpp"
#include "kernel/gather.hpp"
#include "kernel/operand_copy.hpp"
#include "kernel/operands.hpp"
#include "kernel/viewer.hpp"
#include "spec/spec.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace broadloom::kernel {

struct Split;

// What a call has at hand for its windows.
struct Helpers {
  RunTasks tasks;
  // What is added up in each of the sums, for these inputs of a call: in C order over the axes of their windows.
  std::function<std::vector<Array>(Operands inputs)> summed;
};

// What was chosen for the windows of a call: whose copies they see, and in what parts it is made. Data for those who tell of it.
struct WindowChoice {
  struct Part {
    PartId id;
    Box box;                  // empty: all positions
    std::vector<Seen> seen;   // [window]
    std::vector<bool> wanted; // [output]
  };
  Layouts layouts = {}; // of all operands, windows behind the inputs
  std::vector<Part> parts = {};
  bool split = false;                       // or all in one part
  bool fills_output = false;                // no kernel is called
  std::vector<std::size_t> own_inputs = {}; // that are copied before parts write them
};

// The operands of a call with its windows behind the inputs: what the specialisations and engines of a kernel are about. The views of the
// windows live as long as this; the others are the caller's.
class WindowedOperands {
public:
  // `given` are the inputs that a call is given, then outputs, in declared order; dtypes and ranks of the inputs are as declared.
  // Throws ShapeError E0102 (extents that disagree), E0142 (a read outside of its array), E0143 (a border of nothing), E0112, DataError E0315 (an element says a
  // position outside); E0306 and E0310 where elements are needed for that. `elements` says whether they are there.
  // With `ReadInto` a gather that is all of the output is left to `fill`. `Planned`: they are not there, and what `ReadInto` would choose is.
  enum class Elements : std::uint8_t { Read, ReadInto, NotThere, Planned };
  static bool is_there(Elements elements) {
    return elements == Elements::Read || elements == Elements::ReadInto;
  }
  // Of an array only so many rows along a dim lie in memory, and no window but those of borders looks at more. The array begins with row
  // `first` of them.
  struct KeptRows {
    std::size_t input = 0, dim = 0;
    std::int64_t rows = 0, first = 0;
  };
  struct How {
    Elements elements = Elements::Read;
    // From so many bytes of copies on the interior is computed without them (interior.hpp).
    std::int64_t split_from_bytes = INT64_MAX;
    std::vector<KeptRows> kept_rows = {};
    // Of this kernel, which must live as long as the operands.
    std::span<const ByParts> by_parts = {};
  };
  WindowedOperands(const spec::TypedSpec &spec, Operands given, Helpers helpers, const How &how);

  // How often the kernel is to be called, and with what, one after the other: with all, or with the parts that they are split into.
  std::size_t calls() const { return parts_.empty() ? 1 : parts_.size(); }
  Operands call(std::size_t k) const {
    return parts_.empty() ? Operands(operands_) : Operands(parts_[k].operands);
  }
  Lies lies(std::size_t k) const { return parts_.empty() ? lies_ : parts_[k].lies; }
  Lies lies() const { return lies_; } // of all
  // Which kernel call `k` is of. Those of ByParts are given its numbers behind the inputs, and its outputs alone.
  PartId part(std::size_t k) const { return parts_.empty() ? PartId() : parts_[k].id; }
  // How many parts; 0: all in one, which sees copies of whole arrays with their borders.
  std::size_t parts() const { return parts_.size(); }
  Operands all() const { return operands_; }
  WindowChoice choice() const;
  // Whether that is still what is chosen here. No allocation.
  bool has(const WindowChoice &choice) const;
  // Whether the output is what a gather reads, element for element, and nothing else is to be done: as of `out y = x[k[i], j]` where y lies
  // in C order and shares no memory with an input. Then `fill` writes it; `look` only looks at the positions. Both throw E0315.
  bool fills_output() const { return filled_; }
  void look() const;
  void fill() const;
  // Brings the copies up to date where these operands are used for more than one call. Throws E0315.
  void copy_again() const;
  bool has_copies() const {
    return !own_inputs_.empty() || !copies_.empty() || !gathered_.empty() || !sums_.empty() ||
           !looked_at_.empty();
  }
  // The same for some rows along a dim of one input alone, where it has no borders along that dim. Where few rows are kept, these are counted
  // from the first that lies in memory.
  void copy_rows_again(std::uint32_t input, std::size_t dim, std::int64_t first,
                       std::int64_t count) const;

private:
  bool split(Viewer &viewer, const How &how);
  void add_parts(Viewer &viewer, Operands operands, const Split &split, const How &how,
                 std::size_t group);
  void add_rest(Viewer &viewer, Operands operands);
  bool may_split(const How &how) const;
  bool is_read(std::size_t given, const Viewer &viewer) const;
  bool is_written(std::size_t given) const;
  void copy_what_is_written(const Viewer &viewer, const How &how);
  void add_numbers(const ByParts &by_parts, const Box &whole, const Box &box,
                   std::vector<AnyView> &views);
  AnyView seen_by(const AnyView &of, const Seen &seen);
  AnyView copy_of(AnyView of, Padding padding);
  struct Looked { // a gather of which nobody needs the elements
    std::size_t window = 0;
    Layout layout;
  };
  void look_at(const Looked &looked) const;
  void look_up(std::size_t window, const AnyView &of, const Seen &seen, const AnyView *into,
               AnyView &view);
  const AnyView *output_of(std::size_t window, const Layout &layout, Operands given,
                           Elements elements) const;
  void add_up(std::size_t sum, const Layout &layout, AnyView &view);
  // For calls::Recorder.
  void record_gather(std::size_t window, const AnyView &to) const;
  void record_sum(std::size_t sum, const AnyView &values) const;

  struct Copy {
    Padding padding;
    AnyView of;
    Array elements;
  };
  const spec::TypedSpec &spec_;
  const Helpers helpers_;
  const std::vector<KeptRows> kept_rows_;
  std::vector<AnyView> given_; // inputs; kept for those that are read here
  std::vector<Copy> copies_;
  struct Made { // a gather, or a sum through the gather `window`
    std::size_t window = 0;
    AnyView from; // of a gather: the array, or a copy with borders
    Array elements;
  };
  std::vector<Made> gathered_, sums_;
  std::vector<Looked> looked_at_;
  bool filled_ = false;       // by the last of those that are gathered
  std::vector<Array> summed_; // until all sums are added up
  std::vector<AnyView> windows_;
  std::vector<Seen> seen_; // [window]
  std::vector<Layout> lies_;
  std::vector<const AnyView *> operands_;
  struct Part {
    std::vector<AnyView> views;
    std::vector<const AnyView *> operands; // into views, null where an output is not wanted
    std::vector<Layout> lies;
    PartId id;
    Box box; // empty: all
    std::vector<Seen> seen;
    std::vector<bool> wanted; // [output]
  };
  std::vector<Part> parts_;            // empty: all in one
  std::deque<std::int64_t> numbers_;   // that parts are given
  std::deque<OperandCopy> own_inputs_; // of inputs that parts would write before others read them
  std::vector<std::size_t> own_;       // which these are
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

// The same of layouts alone: adds those of the windows behind those of the inputs. Returns how they lie for the trees of folds.
std::vector<Layout> add_windows(const spec::TypedSpec &spec, std::vector<Layout> &inputs);

} // namespace broadloom::kernel
