// What a call of a kernel does around its nests, as a value: arrays, and the steps that fill them,
// in the order in which they run.
//
//   kernel heat {
//     in u0 : f64[i]
//     let u[t < 100, i] = (pad(u, 1: (1, 1), edge)[t - 1, i] + u[t - 1, i]) / 2 from u0
//     out y[i] = u[-1, i]
//   }
//
//   call heat
//     in   u0 : f64[1000]
//     out  y : f64[1000]
//     temp u : f64[101, 1000] along 0 from -1 ring 2, 16000 bytes at 0    # its last is read
//     copy u_pad : f64[100, 1002] along 0 from -1 ring 2
//     u[p0, p1] = start u0[p1] over p0 [-1, 0), p1 [0, 1000)
//     u_pad[-1, :] = pad u[-1, :] by 1: (1, 1) edge
//     for t [0, 100):
//       u[t, i] = run heat_u(u_pad[t - 1, i], u[t - 1, i]) over i [0, 1000)
//       u_pad[t, :] = pad u[t, :] by 1: (1, 1) edge
//     y[i] = run heat(u[99, i]) over i [0, 1000)
//
// It is printed (print), read back (parse), and looked at for reads of what is not there
// (verify.hpp). jit/call/choose_call.hpp makes it, and beside it what runs each step. A position is
// counted as in the text of the kernel: of an array of which few rows are kept, row r lies at r
// less the first, modulo their number.
#pragma once

#include <broadloom/dtype.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::calls {

struct Ref;

// (constant + multiples of positions along axes) / divisor + multiples of elements that say
// positions.
struct Affine {
  struct Term {
    std::string axis;
    std::int64_t times = 1;
    std::int64_t count = 0; // `i<8`: so many positions, where the step has others; 0: as the step
    friend bool operator==(const Term &, const Term &) = default;
  };
  struct Index {
    std::int64_t times = 1;
    std::shared_ptr<const Ref> element;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms = {};
  std::vector<Index> indices = {};
  std::int64_t divisor = 1;
  bool all = false; // all positions along the dim
  // What becomes of positions outside: clip, wrap, or zero stands there; none: they are mistakes.
  std::string outside = {};
};

// An element of an array for each position of the axes, a row, or all of it: `x[2*i + u - 1, j]`,
// `u[t, :]`, `u`. All of a let that goes step by step is its steps, without the rows before them.
struct Ref {
  std::string array;
  std::vector<Affine> at = {}; // [dim]; none: all of them
};

// Every step-th position of an axis from `first` on, `count` of them. `first` moves with the loops
// around.
struct Range {
  std::string axis;
  std::int64_t first = 0, count = 0, step = 1;
  std::vector<Affine::Term> moves = {};
  friend bool operator==(const Range &, const Range &) = default;
};

struct Array {
  enum class Owner : std::uint8_t {
    In,   // the caller's
    Out,  // the caller's, or made for the call
    Temp, // of a let, or of what one begins with
    Copy, // of what windows read
  };
  // Rows along the steps of a loop: the number of the first, and how many of them are kept; 0: all.
  // So many lie behind those of the steps, where a loop begins from there. In tiles, rows lie in
  // their order wherever a tile begins.
  struct Rows {
    std::size_t dim = 0;
    std::int64_t from = 0, kept = 0;
    bool in_tiles = false;
    std::int64_t behind = 0;
    friend bool operator==(const Rows &, const Rows &) = default;
  };
  // In the memory that the call has for its lets, in bytes. Those that never live at once may share
  // it.
  struct Place {
    std::int64_t bytes = 0, at = 0;
    friend bool operator==(const Place &, const Place &) = default;
  };
  Owner owner = Owner::In;
  std::string name = {};
  DType dtype = DType::F32;
  std::vector<std::int64_t> extents = {}; // of an array with rows: as many as are ever written
  std::optional<Rows> rows = {};
  std::optional<Place> place = {};
  std::string note = {}; // why
};

struct Border {
  int dim = 0;
  std::int64_t before = 0, after = 0;
  std::string mode = {}; // edge, wrap, reflect, or the number there: 1.5, or (1.5, -2)
  friend bool operator==(const Border &, const Border &) = default;
};

struct Step {
  enum class Kind : std::uint8_t {
    Run,    // a nest: to = run KERNEL(from) over axes
    Gather, // to = gather from over axes: no nest runs
    // to = scatter from over axes: adds up each element at the position that others say, with
    // borders at that which stands there, if any
    Scatter,
    Start, // to = start from, or zeros: the rows that a loop begins with
    Count, // to = count: the numbers 0, 1, .. of the steps
    // to = pad from by borders: with borders or zeros around; rows that the copy has not are left
    // out
    Pad,
    Copy, // to = copy from
    View, // to = view from over axes: nothing is moved, the one is the other
    // to = save from each N: rows that a loop is computed again from, in the last one the last
    Save,
    Again, // again to each N: the rows of a segment are there, computed from those that were saved
    For,   // steps for one position after the other
  };
  Kind kind = Kind::Run;
  std::string kernel = {}; // Run: which
  // For: `from` is what ends it, where it is true behind a step: the rows of lets behind that step
  // repeat its row. Or, where `each` is not 0, what it rests by: behind so many steps in a row at
  // which it is true, a further one repeats the rows before.
  std::vector<Ref> to = {}, from = {};
  std::vector<Range> over = {};     // For: one
  bool down = false;                // For: from the last position to the first
  std::int64_t each = 0;            // Save, Again, For: so many steps
  std::vector<Border> borders = {}; // Pad, Scatter
  // Pad: of each dim the positions around the array that the copy has, every divisor-th of them an
  // element; empty: all with borders.
  struct Reach {
    std::int64_t first = 0, last = -1, divisor = 1;
    friend bool operator==(const Reach &, const Reach &) = default;
  };
  std::vector<Reach> reach = {};
  std::vector<Step> body = {}; // For
  std::string note = {};       // why
  int line = 0;                // of the text that it was read from, or else of that of print
};

struct Call {
  std::string name;
  std::vector<Array> arrays; // in the order in which they are first written
  std::vector<Step> steps;

  const Array *find(std::string_view name) const {
    for (const Array &array : arrays)
      if (array.name == name) return &array;
    return nullptr;
  }
};

std::string_view word_of(Step::Kind kind);    // run, gather, ..
std::string_view word_of(Array::Owner owner); // in, out, temp, copy
std::string print(const Call &call);
std::string print(const Ref &ref);

// The text of print; notes are comments, and are not kept. Throws SpecError E0801 with the line of
// what is wrong.
Call parse(std::string_view text, std::string_view file = "<text>");

} // namespace broadloom::calls
