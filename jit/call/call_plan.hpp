// What the calls of a kernel do, chosen once for all that have these layouts: the printed value
// (calls/call.hpp), and beside each of its steps what runs it, with the memory that it sees.
//
//   y = choose_call(nests, operands)       the only place where steps are chosen (choose_call.hpp)
//   run_call(nests, plan, ..)              the only loop over them (run_call.hpp)
//
// A call plan knows no memory. An operand says in which array it begins, and how far; of a loop,
// also how it moves on from step to step.
#pragma once

#include "calls/call.hpp"
#include "jit/call/lets.hpp"
#include "jit/runtime/paths.hpp"
#include "kernel/padding.hpp"
#include "kernel/windows.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace broadloom::jit {

// Where an operand of a step lies. The arrays of a call have numbers: first those that the caller
// names, then the memory of all lets, then copies.
struct MemRef {
  static constexpr std::int32_t none = -1, not_wanted = -2;
  AnyView view; // of the first step; its address is null, or of what needs no memory of a call
  std::int32_t array = none; // in which it begins; none: view.data is where it is
  std::int64_t offset = 0;   // from the beginning of that, in bytes
  // From step to step, in bytes: along the rows, and along other dims that the step is a position
  // of.
  std::int64_t move = 0, aside = 0;
  // Of an array of which only these rows are kept: how many, and which of them the first step has.
  std::int64_t kept_rows = 0, first_row = 0;

  // At step t, where arrays begin at these addresses.
  void *at(std::span<char *const> arrays, std::int64_t t = 0) const {
    char *begin = array < 0 ? static_cast<char *>(view.data) : arrays[std::size_t(array)];
    if (begin == nullptr) return nullptr;
    const std::int64_t rows = kept_rows > 0 ? (first_row + t) % kept_rows - first_row : t;
    return begin + offset + rows * move + t * aside;
  }
};

// Operands at step t. Null for those that are not wanted.
inline std::vector<AnyView> views_at(const std::vector<MemRef> &operands,
                                     std::span<char *const> arrays, std::int64_t t = 0) {
  std::vector<AnyView> views;
  for (const MemRef &operand : operands) {
    views.push_back(operand.view);
    views.back().data = operand.at(arrays, t);
  }
  return views;
}
inline std::vector<const AnyView *> pointers_to(const std::vector<MemRef> &operands,
                                                const std::vector<AnyView> &views) {
  std::vector<const AnyView *> pointers;
  for (std::size_t k = 0; k < views.size(); ++k)
    pointers.push_back(operands[k].array == MemRef::not_wanted ? nullptr : &views[k]);
  return pointers;
}

// What runs a step, or comes before one: the checks, Told and ByReference are not printed.
namespace act {

struct CheckInput { // the memory of an input of which copies are read
  const Nest *nest;
  std::size_t input;
  MemRef operand;
};
struct CheckApart { // outputs of which parts are written
  const Nest *nest;
  std::vector<MemRef> operands;
};
struct Run {
  const Nest *nest;      // of that kernel, or of a part of it
  std::string_view name; // of the kernel that is printed
  std::vector<MemRef> operands;
  std::vector<Layout> lies;
  std::size_t number = 0; // of all runs of the plan
};
struct Pad {
  kernel::Padding padding;
  MemRef of, to;
  bool comes_later = false; // of what a loop brings: only borders of numbers, and zeros
  // Of a loop that is under way, one row: the first, or that of step t.
  struct Row {
    std::size_t member = 0, dim = 0;
    std::int64_t first = 0;
    bool moves = false;
    std::int64_t kept = 0, most = 0; // so many lie in memory, or 0; so many does the copy have
  };
  std::optional<Row> row = {};
};
struct Gather {
  const Nest *nest;
  std::size_t window = 0;       // an input of it
  std::vector<MemRef> operands; // all inputs
  MemRef of, to;
  enum class What : std::uint8_t { Copy, Output, Look } what = What::Copy; // Look: at positions
};
struct Scatter {
  const Nest *nest;
  std::size_t window = 0;
  std::vector<MemRef> operands;
  MemRef values, to;
};
struct Copy { // elements as they are: Step::Kind::Copy, or a row that a loop starts with
  calls::Step::Kind kind;
  MemRef from, to;
};
struct Count {
  MemRef to;
};
struct Save {
  std::size_t loop = 0;
};
struct Again {
  std::size_t loop = 0;
  std::vector<Pad> pads; // of rows that were computed again
};
struct For {
  std::size_t loop = 0;
};
struct Told { // a let is there, or a row of it
  std::size_t let = 0;
  MemRef row;
};
struct ByReference { // a loop, as the definition has it
  std::size_t first_let = 0;
};
struct InTiles {
  std::size_t number = 0;
};

} // namespace act

using Action = std::variant<act::CheckInput, act::CheckApart, act::Run, act::Pad, act::Gather,
                            act::Scatter, act::Copy, act::Count, act::Save, act::Again, act::For,
                            act::Told, act::ByReference, act::InTiles>;

// With `segments` its rows are computed again from some that are saved (checkpoints.cpp).
struct TimeLoop {
  struct Member {
    MemRef rows; // with those that it starts with
    // What it goes on from: `lag` rows in each place, and the last row.
    MemRef saved;
    std::size_t dim = 0;
    std::int64_t lag = 0, kept = 0;
  };
  std::int64_t steps = 0;
  bool backwards = false;
  Segments segments = {};
  std::int64_t last_step_read = 0; // so far ahead of the step of the loop that follows it
  std::vector<Member> members = {};
  std::vector<Action> body = {};
  // Where a member is true so many steps before the one that was run, the rows of all members
  // behind that one repeat it (spec/early_end.hpp).
  struct End {
    std::size_t member = 0;
    std::int64_t back = 0;
  };
  std::optional<End> end = {};
  // Behind so many steps in a row at which the element t + shift of this array is true, the rows of
  // further ones repeat those of the step before (spec/at_rest.hpp).
  struct Rest {
    MemRef says;
    std::int64_t shift = 0, after = 0;
  };
  std::optional<Rest> rest = {};
  std::int64_t step(std::int64_t n) const { return backwards ? steps - 1 - n : n; }
  // Steps that are there at once; 0: all.
  std::int64_t segment() const { return segments.steps; }
};

// Lets that are computed a few rows at a time, just before what reads these rows
// (choose_tiles.hpp). Rows are positions of the dim that lies outermost. Tasks may run at once, and
// have memory of their own for the rows that they keep.
struct Tiles {
  // The copy with borders that a let's array lies in, as others look past its ends.
  struct Border {
    kernel::Padding padding = {};
    MemRef copy = {};
    std::size_t dim = 0;               // of rows
    std::int64_t above = 0, below = 0; // rows of the border that are read
    // Rows of the copy before row 0 of the array.
    std::int64_t before() const { return padding.before(dim); }
  };
  struct Array {            // of a let
    std::size_t number = 0; // of the arrays of a call: its views count from row 0 of all its rows
    // All rows, those that are there at a time, and those that there is memory for.
    std::int64_t row_bytes = 0, rows = 0, kept = 0, room = 0;
    MemRef whole = {};
    std::string name = {};
    std::optional<Border> border = {};
  };
  struct RowsOfNest {
    std::vector<std::size_t> boxes;         // [phase]: which of its parallel axes has them
    std::int64_t positions = 1;             // of that for each row
    std::vector<std::int64_t> scratch = {}; // [scratch array]: bytes of a row
    // Of a piece of so many rows: where each scratch array begins, and what lies behind them.
    std::vector<std::int64_t> starts(std::int64_t rows) const {
      std::vector<std::int64_t> starts{0};
      for (const std::int64_t row_bytes : scratch)
        starts.push_back(starts.back() + (rows * row_bytes + 63) / 64 * 64);
      return starts;
    }
  };
  struct Nest { // that computes all rows of a let or of the outputs, or those of a part of a call
    act::Run run;
    int axis = 0;                                  // of its kernel: the rows
    std::shared_ptr<const Specialisation> special; // null: of a plan that is not run
    RowsOfNest rows = {};
    std::int64_t first = 0;                // the row that position 0 is
    std::optional<std::size_t> array = {}; // that it writes; none: outputs of the call
  };
  struct Piece { // rows [begin, end) of what a nest writes, or of the border around an array
    std::uint32_t nest = 0; // or the array
    std::int64_t begin = 0, end = 0;
    std::int64_t needed = 0; // rows of the array from here on are read now or later
    bool is_border = false;
    friend bool operator==(const Piece &, const Piece &) = default;
  };
  // What is copied for a piece of the border around an array: from which of its rows on, to which
  // rows of the copy, and how many of them.
  struct PaddedRows {
    std::int64_t row = 0, copy_row = 0, count = 1;
  };
  static std::vector<PaddedRows> padded_rows(const Border &border, std::int64_t rows,
                                             const Piece &piece) {
    std::vector<PaddedRows> made;
    const std::int64_t first = std::max<std::int64_t>(piece.begin, 0),
                       end = std::min(piece.end, rows);
    if (first < end) made.push_back({first, first + border.before(), end - first});
    for (std::int64_t row = piece.begin; row < piece.end; ++row)
      if (row < 0 || row >= rows)
        made.push_back(
            {kernel::row_in_border(border.padding, border.dim, row, rows), row + border.before()});
    return made;
  }
  std::vector<Array> arrays;
  std::vector<Nest> nests;
  std::vector<std::vector<Piece>> tasks; // each in order
  std::int64_t scratch = 0; // bytes of the largest piece: its scratch arrays, and a thread's own
};

struct CallPlan {
  std::vector<std::int64_t> key; // of the operands of the call (layout_cache.hpp)
  kernel::Overlaps overlaps;

  calls::Call shown;
  std::vector<Action> actions;
  std::deque<TimeLoop> loops;
  std::deque<Tiles> tiles;
  std::size_t runs = 0;

  std::shared_ptr<const Lets::Layouts> lets; // null: there are none
  std::vector<bool> needed;                  // [let]: it is computed
  std::vector<std::string> not_in_tiles;     // [let]: why; empty: it is, or nobody asked
  std::size_t operands = 0;                  // of the caller: arrays from 0 on
  std::int64_t bytes = 0;                    // of the memory that a call needs
  std::vector<std::int64_t> arrays = {};     // behind those of the caller: where each begins in it
  bool copies_stay = true;                   // no copy lies where another array was

  std::vector<std::pair<const Nest *, std::shared_ptr<const kernel::WindowChoice>>> windows;
  std::vector<Path> paths;          // that it takes
  std::deque<std::int64_t> numbers; // that parts are given
};

// Shown each let that is an array, once it is there, or, of one that goes step by step, the row of
// each step. `views` are those of Lets::views.
using LetWatch = std::function<void(std::size_t let, std::optional<std::int64_t> step,
                                    const AnyView &row, std::span<const AnyView> views)>;

} // namespace broadloom::jit
