// The loop IR: the nest that a person would write, as flat tables with typed ids.
//
//   program  = accuracy, axes, buffers, values, accumulators, loops, phases
//   accumulator = recipe, start               the recipe's own start, or values known before the
//                                             loop
//   phase    = body                          phases run one after another, with a barrier between,
//                                            or as a pipeline (below)
//   body     = { statement }
//   statement= let value                     compute a value, once, here
//            | set buffer = value            store it
//            | step acc with values          one step of acc's recipe, inside the loop that carries
//                                            acc
//            | loop                          `for axis`: its accumulators start before the first
//                                            turn
//   value    = literal | op args | cast arg | load buffer | extent axis | index axis
//            | result acc state              after the loop that carries acc
//            | running acc state             inside it: the state so far, after acc's step or
//                                            before it
//
// z[i] = f(sum_j x[i, j], y[i]) is one phase, in the words of the 2008 page:
//
//   parallel for i
//     init a0 : f64 = 0                      # sum; 32 ways, leaves of 128 steps
//     vector for j
//       step a0 += f64(x[i, j])
//       next x
//     set z[i] = f(f32(a0), y[i])
//     next x, y, z
//
// Addresses are implied: a buffer is a base pointer with one stride for each axis that it walks,
// and the element meant is the one at the current position of the loops around. A buffer does not
// move along axes that it does not walk; that is all there is to broadcasting at this level.
//
// What a program means does not depend on how it is run:
// - A `vector` loop runs several neighbouring positions at once; nothing but speed follows from it.
// - A `parallel` loop may be split into boxes that run in any order on any threads. Parallel loops
//   form an unbroken chain from the phase's root, carry no accumulators, and contain every store.
// - A loop with accumulators folds in a fixed tree. Its range is cut into leaves of `leaf` steps of
//   `ways` positions; position p of a leaf belongs to way p % ways; each way starts from the
//   identity and steps in order; ways are joined by halving (way w with way w + ways/2, ..); leaves
//   are joined pairwise in index order (0 with 1, 2 with 3, .., then these; an odd last one is
//   carried up). A loop of few known `turns` has the same tree, of one leaf, without being the
//   vector loop: the one around it takes 16 rows of 8, say, at once. Loops without accumulators may
//   have known turns, too; a Row is then one for each lane. A leaf of one position whose step is a
//   join is the block that it is given: 1+0j times z has other bits than z. leaf 0 means that the
//   whole range is one leaf: for exact accumulators, for which the tree cannot matter, and for
//   ordered ones (no combine), which step through the range from their start.
// - A `scan` loop runs in order (from the end where `reverse`), in blocks of `leaf` positions that
//   begin at multiples of it. Its accumulators carry what the blocks before have come to, from
//   their start; within a block they step from the recipe's start; the running state is
//   combine(carried, stepped). leaf 0: one block, whose steps begin at the start, so that the
//   running state is the stepped one.
// - A scan with `ways` cuts each block into groups of so many positions, from its first on. Every
//   position takes one step from the recipe's start. Then, for d = 1, 2, 4, 8, in every 2d aligned
//   positions of a group each one of the later half is joined to the last one of the earlier half
//   (earlier and last in the direction of the loop; positions beyond the end of the axis are not
//   there):
//
//     s0 s1 s2 s3   ->   s0, s0 s1, s2, s2 s3   ->   s0, s0 s1, (s0 s1) s2, (s0 s1) (s2 s3)
//
//   A group's last state is joined to the `stepped` state of the block, which begins as above;
//   within the group the running state is combine(combine(carried, stepped before the group),
//   joined). The arguments of the step are computed before a running state is read, as the lanes
//   step together.
// - A scan at the root of a phase may hand its states on from box to box (`handed`): its range is a
//   box, as that of a parallel loop, and the boxes run one after another, each from what the one
//   before has stored.
// - Three phases over the chunks of one axis, of which the middle one hands its states on from box
//   to box, are a pipeline: a box may go through all three before the next one begins, in the order
//   of the middle phase, as it needs of the others no more than the states handed on. That is how a
//   parallel scan reads its operands from memory once.
// - An axis may be cut into chunks of whole leaves, a power of two of them (the frame says how many
//   positions): `for i.chunk` with `for i` within it. Chunk results joined by a loop of leaf 1 and
//   one lane give the very tree of the uncut loop, which is how one long fold runs on many threads.
#pragma once

#include "ops/recipe.hpp"

#include <broadloom/accuracy.hpp>
#include <broadloom/array.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::loop {

struct AxisId {
  std::uint32_t index = 0;
  friend auto operator<=>(const AxisId &, const AxisId &) = default;
};
struct BufferId {
  std::uint32_t index = 0;
  friend auto operator<=>(const BufferId &, const BufferId &) = default;
};
struct ValueId {
  std::uint32_t index = 0;
  friend auto operator<=>(const ValueId &, const ValueId &) = default;
};
struct AccId {
  std::uint32_t index = 0;
  friend auto operator<=>(const AccId &, const AccId &) = default;
};
struct LoopId {
  std::uint32_t index = 0;
  friend auto operator<=>(const LoopId &, const LoopId &) = default;
};

// A loop axis: one or several merged axes of the spec ("i", "i.j"), or the chunks of another axis.
struct Axis {
  std::string name;
  std::optional<AxisId> chunks_of;
  // What the user's schedule asks of blocks along it: groups of lanes or leaves of a turn, rows of
  // a tile or a jam; 0: nothing.
  int copies = 0, tile = 0;
  // So many positions, where code is made for a few of them that are folded; 0: they are not known.
  int positions = 0;
  // Its rows fill register tiles of twice as many, beside what they share and no nearest cache
  // holds.
  bool tall = false;
};

// What is known of a stride when code is made, in elements: nothing, or the step from one position
// to the next. Steps other than 1 are known of inputs whose elements become lanes.
enum class StrideClass : std::int8_t {
  Reversed = -1,
  Other = 0,
  Unit = 1,
  Two = 2,
  Three = 3,
  Four = 4
};
constexpr int step_of(StrideClass stride) { return int(stride); } // 0: not known
StrideClass stride_class(std::int64_t step);                      // Other where no class has it
std::string_view name(StrideClass stride); // as texts say it: "unit", "step 2"
struct Walk {                              // the buffer moves along this axis
  AxisId axis;
  StrideClass stride = StrideClass::Other;
  friend bool operator==(const Walk &, const Walk &) = default;
};

// A way to see an operand: the same memory may appear as several buffers with different walks. A
// row is memory of one thread: what a turn of the loops around stores there, loops later in the
// same turn may read. Where lanes are around and do not move it, it is one for each lane: a loop of
// known turns has it at hand, and else it walks in steps of row_lanes.
enum class Role : std::uint8_t { Input, Output, Scratch, Row };
struct Buffer {
  std::string name;
  Role role = Role::Input;
  std::uint32_t operand = 0; // index among the inputs, outputs, scratch arrays or rows
  DType dtype = DType::F32;
  std::vector<Walk> walks; // in the order of the operand's dims
  // Too big for the caches: stores go around them where that is possible; of an input, cache lines
  // are asked for ahead.
  bool stream = false;
  // An input that is read many times over and leaves the nearest cache meanwhile: rows of a product
  // share what they load.
  bool reread = false;
  // Of an input: its element at a position may be that of `of` so many positions further along the
  // axis. x[i + 1, j] is x[i, j] at i + 1 where both see one array. Code asks their addresses.
  struct Shift {
    BufferId of;
    AxisId axis;
    int by = 0;
    friend bool operator==(const Shift &, const Shift &) = default;
  };
  std::optional<Shift> shift = {};
};

enum class ValueKind : std::uint8_t { Literal, Op, Cast, Load, Result, Running, Extent, Index };
struct Value {
  ValueKind kind = ValueKind::Literal;
  DType dtype = DType::F32;
  ops::Op op = ops::Op::Add;
  // Op: the type of the arguments (of args[1] for Where); Cast: the type cast from.
  DType compute = DType::F32;
  ValueId args[3] = {};
  int arg_count = 0;
  BufferId buffer;         // Load
  AccId acc;               // Result, Running
  std::uint32_t state = 0; // Result, Running: which state of the accumulator
  AxisId axis; // Extent: its number of positions; Index: the position of the loop around
  ops::Scalar literal;
  friend bool operator==(const Value &, const Value &) = default;
};

struct Acc {
  std::uint32_t recipe = 0;   // in the program's table
  std::vector<ValueId> start; // of each state; empty: the recipe's own
};

enum class StmtKind : std::uint8_t { Let, Set, Step, Loop };
struct Stmt {
  StmtKind kind = StmtKind::Let;
  ValueId value;             // Let, Set
  BufferId buffer;           // Set
  AccId acc;                 // Step
  std::vector<ValueId> args; // Step: the arguments of the recipe
  LoopId loop;               // Loop

  static Stmt let(ValueId value) { return {StmtKind::Let, value, {}, {}, {}, {}}; }
  static Stmt set(BufferId buffer, ValueId value) {
    return {StmtKind::Set, value, buffer, {}, {}, {}};
  }
  static Stmt step(AccId acc, std::vector<ValueId> args) {
    return {StmtKind::Step, {}, {}, acc, std::move(args), {}};
  }
  static Stmt run(LoopId loop) { return {StmtKind::Loop, {}, {}, {}, {}, loop}; }
};

inline constexpr int fold_ways = 32;  // of a vector loop with accumulators
inline constexpr int most_turns = 64; // that are known; 32 where rows are stored
inline constexpr int scan_ways = 16;  // of a vector loop that scans
// Of a row of each lane's own, of any length, the elements of all lanes at a position lie side by
// side, in so many places: a vector loop that stores such rows takes no more lanes.
inline constexpr int row_lanes = 16;

struct Loop {
  AxisId axis;
  // The chunk axis of an enclosing loop: run only that chunk of `axis`.
  std::optional<AxisId> within;
  bool parallel = false;
  bool vector = false; // at most one on any path from the root
  std::vector<AccId> accs;
  int ways = 1;  // 1; where `vector`, fold_ways or scan_ways; where there are `turns`, fold_ways
  int turns = 0; // the number of positions, where the code is for that number alone; 0: any
  std::int64_t leaf = 0; // positions per leaf, a multiple of ways; 0: one leaf
  bool scan = false;     // its running states are read inside, or they are those of a scan's block
  bool reverse = false;  // from the last position to the first; scans and ordered folds only
  std::vector<BufferId> handed; // one for each state, of one element; or none
  std::vector<Stmt> body;
};

struct Phase {
  std::vector<Stmt> body;
  std::vector<AxisId> parallel; // the axes of the parallel loops, outermost first, or of `handed`
  double cost = 0;              // rough cycles for one innermost position, for the grain
};

struct Program {
  std::string name;
  Accuracy accuracy = Accuracy::high; // of the functions, in every value and recipe
  std::vector<Axis> axes;
  std::vector<Buffer> buffers;
  std::vector<Value> values;
  std::vector<ops::Recipe> recipes;
  std::vector<Acc> accs;
  std::vector<Loop> loops;
  std::vector<Phase> phases;
  std::uint32_t scratch_count = 0;

  const Axis &operator[](AxisId id) const { return axes[id.index]; }
  const Buffer &operator[](BufferId id) const { return buffers[id.index]; }
  const Value &operator[](ValueId id) const { return values[id.index]; }
  const Acc &operator[](AccId id) const { return accs[id.index]; }
  const ops::Recipe &recipe(AccId id) const { return recipes[accs[id.index].recipe]; }
  const Loop &operator[](LoopId id) const { return loops[id.index]; }
};

// Whether the accumulator of this loop, whose leaves are of one position, takes the blocks that it
// is given as they are.
bool takes_blocks(const Program &program, const Loop &loop, AccId acc);

// The loop that is all that a body contains, but for values.
std::optional<LoopId> only_loop(const std::vector<Stmt> &body);
// How the buffer walks the axis; null where it does not.
const Walk *walk(const Program &program, BufferId buffer, AxisId axis);

// The loop of the phase that hands its states on, or null.
const Loop *handing_loop(const Program &program, const Phase &phase);

// Whether this phase and the two after it are a pipeline. Only the structure has a say.
bool is_pipeline(const Program &program, std::size_t first);

// What a program runs on: the only contract with native code (jit/runtime/abi.hpp states it for C).
struct Frame {
  std::uint64_t version = 1;
  // [axis]: positions; for a chunk axis, the number of chunks.
  const std::int64_t *extents = nullptr;
  // [axis]: positions per chunk of this axis, 0 where uncut.
  const std::int64_t *chunks = nullptr;
  // [buffer * axis count + axis], in elements; 0 where not walked.
  const std::int64_t *strides = nullptr;
  // [buffer]: address of the element at position 0 of all axes.
  char *const *buffers = nullptr;
};

// For people: expressions inline, one line for each statement. Every detail that matters shows.
std::string print(const Program &program);

// The whole program as text: each value has a line with its place in the table and its type. The
// page of `print` leaves out what no person asks for (places, types of numbers, code of built-in
// accumulators, costs), and is read faster for it.
std::string write(const Program &program);

// The program of such a text, whether it comes from `write` or from a person, who may write
// expressions inline and leave out places. parse(write(p)) is p, names included, if p verifies.
// Throws SpecError: E0801 where the text is malformed, E0802 at the statement that breaks a rule of
// `verify`, E0013, E0014.
Program parse(std::string_view text, std::string_view file = "<nest>");

// The program as bytes: equal keys if and only if the programs are equal up to names. Keys native
// code.
std::string key(const Program &program);

// In what program b differs from a, one sentence about b for each difference; empty where their
// keys are equal. Both are of one kernel, for two layouts.
std::vector<std::string> differences(const Program &a, const Program &b);

// Whether a buffer is a row that has places side by side for each of the lanes around.
bool is_row_in_lanes(const Buffer &buffer);

// Checks every rule stated above, and that every store reaches each of its elements once; a
// violation is our bug, thrown with the printed program.
void verify(const Program &program);

// What a program runs on, less the memory: see Frame.
struct Numbers {
  std::span<const std::int64_t> extents, chunks, strides;
  std::span<const std::int64_t> outputs = {}; // [output]: its elements; -1 where it is not wanted
};

// What the loops take for granted about the numbers: known turns, chunks of whole leaves that cover
// their axis, unit strides, and outputs that are stored as a whole. A violation is our bug.
void verify_numbers(const Program &program, const Numbers &numbers);

// How often one run of the program stores the elements of an output. Nothing is computed.
struct Writes {
  std::int64_t elements = 0, never = 0, again = 0;
  std::int64_t stores = 0; // in all
  std::int64_t first = -1; // in C order, that is not stored exactly once
  bool once() const { return first < 0 && stores == elements; }
};
Writes count_writes(const Program &program, const Numbers &numbers, std::uint32_t output,
                    const Layout &layout);

// Runs one phase on the box lo[k] <= position < hi[k] of its parallel axes. Same bits as native
// code.
void interpret(const Program &program, std::size_t phase, const Frame &frame,
               const std::int64_t *lo, const std::int64_t *hi);

} // namespace broadloom::loop
