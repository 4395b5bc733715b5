// Kernels: a LoopSpec made runnable.
//
//   bl::Kernel k = bl::compile(spec);
//   k.run({{"x", xv}, {"y", yv}}, {{"z", zv}, {"s", sv}});
//
// A Kernel is immutable and cheap to copy, and may be called from many threads at once. Machine
// code is made at the first call for a pattern of layouts (not for each shape), a few milliseconds
// each.
#pragma once

#include <broadloom/array.hpp>
#include <broadloom/decision.hpp>
#include <broadloom/options.hpp>
#include <broadloom/partial.hpp>
#include <broadloom/spec.hpp>

#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace broadloom {

namespace detail {
class KernelImpl;       // jit/call/kernel.hpp
class FrozenParameters; // jit/call/frozen.hpp
} // namespace detail

// An argument of a call: {"x", view}, {"x", array}, or {"x", v} of a std::vector and the like,
// which has one dim.
struct NamedView {
  NamedView() = default;
  NamedView(std::string_view called, const AnyView &given) : name(called), view(given) {}
  template <class Range>
    requires requires(Range &&values) { View(std::forward<Range>(values)); }
  NamedView(std::string_view called, Range &&values)
      : name(called), view(View(std::forward<Range>(values))) {}

  std::string_view name;
  AnyView view;
};

// An input or an output as the spec has it. Its axes, one for each dim, are labels or else
// positions in the iteration space: "i", "0".
struct InputInfo {
  std::string name;
  DType dtype;
  std::vector<std::string> axes;
  std::vector<std::int64_t> extents; // as declared; -1 where each call says
  Place where;                       // its declaration
  InputRole role = InputRole::plain;
  Sign sign = Sign::any; // declared of all its elements
  int rank() const { return int(axes.size()); }
};
struct OutputInfo {
  std::string name;
  DType dtype;
  std::vector<std::string> axes;
  ModeKind mode;
  bool add; // `+=`: a call adds to what it finds
  Place where;
  bool update = false; // of the state of this name
  int rank() const { return int(axes.size()); }
};

struct Signature { // an output's dtype and shape for given inputs
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides = {}; // in elements, as a call lays it out that allocates it
};

// The time of a kernel's compilations: milliseconds of each step, all compilations together. If
// parts were made side by side, each step has its share of the time that they took together.
struct CompileSteps {
  double analyse = 0;  // the spec: types, axes, simplification
  double plan = 0;     // loops and their schedule
  double block = 0;    // which positions are lanes, copies and turns
  double load = 0;     // looking into the disk cache
  double start = 0;    // LLVM's code generator, as far as it had to be waited for
  double emit = 0;     // loop program -> LLVM IR
  double math = 0;     // the bodies of functions
  double optimise = 0; // passes on IR
  double select = 0;   // machine code: instructions, registers, object files
  double link = 0;     // into memory
};

// The time that a call is predicted to take, by the loop program and by what this machine was
// measured to do.
struct Prediction {
  double seconds = 0;         // of a call, with what it copies
  std::vector<double> phases; // of its loop nests; one in a loop over time counts for all steps
};

struct Counters {
  std::int64_t compiles = 0;    // patterns compiled to native code by this kernel
  std::int64_t loaded = 0;      // patterns whose code came from the disk cache
  std::int64_t patterns = 0;    // patterns that this kernel keeps: 64, and generic ones
  std::int64_t interpreted = 0; // calls that ran in the interpreter
  double compile_ms = 0;        // total, from the parsed spec to code ready
  CompileSteps steps = {};      // of these
};

// Outputs of a call that allocates them, in declared order.
class Results {
public:
  Results() = default; // of no call
  explicit Results(std::vector<std::pair<std::string, Array>> arrays)
      : arrays_(std::move(arrays)) {}
  // Throws DataError E0304 for an unknown name.
  const Array &operator[](std::string_view name) const;
  const Array &operator[](std::size_t index) const; // throws DataError E0304 beyond the last
  std::size_t size() const { return arrays_.size(); }
  auto begin() const { return arrays_.begin(); }
  auto end() const { return arrays_.end(); }

private:
  std::vector<std::pair<std::string, Array>> arrays_;
};
// `NAME: DTYPE[EXTENTS]` and the elements of each.
std::ostream &operator<<(std::ostream &out, const Results &results);

// A call with its arguments fixed: checked once, then repeated without any look-up. The call keeps
// the code alive but not the caller's memory.
class BoundCall {
public:
  BoundCall() = default; // of no kernel: it throws DataError E0317 when it is called
  void operator()(std::source_location line = std::source_location::current()) const;

private:
  friend class Kernel;
  explicit BoundCall(std::shared_ptr<const void> state) : state_(std::move(state)) {}
  std::shared_ptr<const void> state_;
};

// A LoopSpec made runnable. Copies share its code.
// The error of a call says the kernel and the line of the call: Error::kernel, Error::called.
class Kernel {
public:
  using Line = std::source_location;

  Kernel() = default; // none: all that it is asked throws DataError E0317
  explicit Kernel(std::shared_ptr<const detail::KernelImpl> impl) : impl_(std::move(impl)) {}
  explicit operator bool() const { return impl_ != nullptr; }

  // Inputs and outputs in declared order: that of the statements of a text, and of LoopSpec::in,
  // bl::input and LoopSpec::out.
  std::vector<InputInfo> inputs() const;
  std::vector<OutputInfo> outputs() const;

  // Runs on the caller's memory: inputs and outputs by position in declared order, or by name. By
  // position a repeated layout costs well under a microsecond on top of the work. An output that is
  // not named is not computed. Inputs may overlap outputs: the result is as if the inputs had been
  // copied first. Throws ShapeError, DTypeError, DataError before anything is written, and
  // CancelledError where Options::cancel says so: the outputs are then unspecified.
  void run(std::span<const AnyView> inputs, std::span<const AnyView> outputs,
           Line line = Line::current()) const;
  void run(std::initializer_list<AnyView> inputs, std::initializer_list<AnyView> outputs,
           Line line = Line::current()) const {
    run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), line);
  }
  void run(std::initializer_list<NamedView> inputs, std::initializer_list<NamedView> outputs,
           Line line = Line::current()) const {
    run_named({inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()}, line);
  }
  void run_named(std::span<const NamedView> inputs, std::span<const NamedView> outputs,
                 Line line = Line::current()) const;

  // Allocates the outputs and runs. Each lies in the stride order of an input that it reads and
  // that has all of its axes, else in C order. Among several such inputs that one counts with which
  // the fewest bytes are read against their order. So a + b and b + a have one order. All lie in C
  // order, or in F order, where that is asked for: kernel({{"x", x}}, bl::Order::c).
  Results operator()(std::initializer_list<NamedView> inputs, Order store = Order::none,
                     Line line = Line::current()) const {
    return call({inputs.begin(), inputs.size()}, store, line);
  }
  Results call(std::span<const NamedView> inputs, Order store = Order::none,
               Line line = Line::current()) const;

  // The same call again and again: by position, or by name. Throws what `run` does.
  BoundCall bind(std::span<const AnyView> inputs, std::span<const AnyView> outputs,
                 Line line = Line::current()) const;
  BoundCall bind(std::initializer_list<AnyView> inputs, std::initializer_list<AnyView> outputs,
                 Line line = Line::current()) const {
    return bind(std::span(inputs.begin(), inputs.size()),
                std::span(outputs.begin(), outputs.size()), line);
  }
  BoundCall bind(std::initializer_list<NamedView> inputs, std::initializer_list<NamedView> outputs,
                 Line line = Line::current()) const {
    return bind_named({inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()}, line);
  }
  BoundCall bind_named(std::span<const NamedView> inputs, std::span<const NamedView> outputs,
                       Line line = Line::current()) const;

  // The same kernel, with the same code, of which each call runs on at most so many threads,
  // whatever Options::threads says. The bits do not change. k.with_threads(1).run(..) leaves the
  // others to other work. Such a kernel costs nothing to make; 0 takes the limit back.
  Kernel with_threads(int most) const;

  // Blocks of the data along one axis, a label or a position ("0") as `inputs` says. Each is folded
  // on its own, in any order, on any machine. `combine` gives what one call with all of the data
  // gives, to the bit. `partial` takes the inputs of a call, with the block's part of those that
  // have the axis. Its offset says where the block begins in all of the data. `combine` takes the
  // inputs that lack the axis and are read once all is folded (`y` of `out z = sum(x, j) * y`).
  //
  // Blocks begin at multiples of `unit`, which looks at layouts only. A unit is 4096 where the
  // folded elements lie side by side, 128 where kept ones do, 1 for min, max, argmin, argmax and
  // integers. Only the last block ends elsewhere. "All of the data" means the blocks one behind the
  // other, lying in the order of dims in which each of them lies. Cost: a block costs a call for
  // each piece, and one for each leaf of a scan. A block is one piece if it is a power of two of
  // units long and begins at a multiple of its length. States have the size of the results, in the
  // types in which is accumulated.
  //
  // Outputs come apart that are made of folds along the axis, by accumulators with a combine, and
  // go on by maps and exact folds. If an output has the axis (`x - mean(x, j)`), `combine` gives a
  // block of it, and takes all inputs, the block of those that have the axis. Folds may be of other
  // folds along the axis, `mean((x - mean(x, j))^2, j)`: the data is then gone through `rounds`
  // times. The `partial` of a later round takes what `join` made of all blocks of the round before;
  // `combine` takes those of the last one. Reads at positions are of whole arrays, or along other
  // axes. Scans along the axis, by accumulators with a combine, go on from what comes before a
  // block. A round gives what each leaf of 4096 positions comes to (of any length, if any order has
  // the same bits). `combine` is then told where its block begins, as it is for `iota` in outputs.
  // Then blocks of a later round and of `combine` begin (of scans from the end: end) where leaves
  // of the first one do. Throws ShapeError E0104 (no such axis), SpecError E0060 (the kernel does
  // not come apart, and why) and what `run` throws for the arrays. Throws ShapeError E0150 for a
  // block that begins elsewhere, or leaves a position alone that would be folded in another order.
  // A block that does not say where it begins, though that must be known, is such a block, too.
  // Throws E0151 for blocks that do not follow each other, or are of another kernel.
  std::int64_t unit(std::string_view axis, std::span<const NamedView> inputs) const;
  std::int64_t unit(std::string_view axis, std::initializer_list<NamedView> inputs) const {
    return unit(axis, std::span(inputs.begin(), inputs.size()));
  }
  Partial partial(std::string_view axis, std::int64_t offset,
                  std::span<const NamedView> inputs) const;
  Partial partial(std::string_view axis, std::int64_t offset,
                  std::initializer_list<NamedView> inputs) const {
    return partial(axis, offset, std::span(inputs.begin(), inputs.size()));
  }
  Partial partial(const Partial &before, std::int64_t offset,
                  std::span<const NamedView> inputs) const;
  Partial partial(const Partial &before, std::int64_t offset,
                  std::initializer_list<NamedView> inputs) const {
    return partial(before, offset, std::span(inputs.begin(), inputs.size()));
  }
  int rounds(std::string_view axis) const;
  Results combine(std::span<const Partial> blocks, std::span<const NamedView> inputs) const;
  // The block that begins there.
  Results combine(std::span<const Partial> blocks, std::int64_t offset,
                  std::span<const NamedView> inputs) const;
  Results combine(std::initializer_list<Partial> blocks, std::int64_t offset,
                  std::initializer_list<NamedView> inputs) const {
    return combine(std::span(blocks.begin(), blocks.size()), offset,
                   std::span(inputs.begin(), inputs.size()));
  }
  Results combine(std::initializer_list<Partial> blocks,
                  std::initializer_list<NamedView> inputs = {}) const {
    return combine(std::span(blocks.begin(), blocks.size()),
                   std::span(inputs.begin(), inputs.size()));
  }
  // Blocks that follow each other as one: of two halves of a subtree the subtree is kept. So many
  // blocks can be combined in steps, near to where they were folded.
  Partial join(std::span<const Partial> blocks) const;

  // Why outputs at a position of the axis are not made of what inputs have at this position alone:
  // "it folds by 'sum' along it". Empty: they are, so blocks of the data along it give blocks of
  // the outputs that have it. Throws ShapeError E0104.
  std::string why_no_map(std::string_view axis) const;

  // Compiles ahead for these layouts; the data pointers are not read and may be null.
  void prepare(std::span<const AnyView> inputs) const;
  void prepare(std::initializer_list<AnyView> inputs) const {
    prepare(std::span(inputs.begin(), inputs.size()));
  }
  template <std::same_as<NamedView> Named = NamedView> // so that `{}` means the one above
  void prepare(std::initializer_list<Named> inputs) const {
    prepare_named({inputs.begin(), inputs.size()});
  }
  void prepare_named(std::span<const NamedView> inputs) const;

  // Dtypes, shapes and strides of the outputs for these inputs. Throws ShapeError, DTypeError.
  std::vector<Signature> infer(std::span<const AnyView> inputs) const;
  std::vector<Signature> infer(std::initializer_list<AnyView> inputs) const {
    return infer(std::span(inputs.begin(), inputs.size()));
  }
  template <std::same_as<NamedView> Named = NamedView>
  std::vector<Signature> infer(std::initializer_list<Named> inputs) const {
    return infer_named({inputs.begin(), inputs.size()});
  }
  std::vector<Signature> infer_named(std::span<const NamedView> inputs) const;

  // The text of a stage for the layouts of the latest call or `prepare`, of this thread where it
  // has made one. Before any, it is that of C-contiguous inputs of which no dim is 1. Llvm, Asm and
  // Why make the code where there is none yet. Throws CompileError E0501 for Llvm and Asm where the
  // kernel has no native code.
  std::string show(Stage stage, const ShowFormat &format = {}) const;
  std::vector<Decision> why() const;

  // For the layouts that `show` is about, in native code. The first prediction on a machine
  // measures it, which takes some 0.2 s. The numbers are kept beside the disk cache, and nothing
  // but predictions depends on them. Throws CompileError E0501 where the kernel has no native code.
  Prediction predict() const;

  // The engine of calls with the layouts that `show` is about: Jit, Interpreter or Reference. The
  // question may compile.
  Engine engine() const;

  // This kernel with the values of some parameters built in: calls are given the other inputs only.
  // All that depends on frozen parameters alone is computed here, once, if that changes no bit of
  // any output (docs/language.md, "Parameters and state"). Copies are kept: the arrays may change
  // afterwards. The text of the new kernel, `spec()`, has the values that were computed as
  // parameters in place of those that they were computed from. Freezing compiles a kernel or two.
  // Frozen kernels may be called from many threads. Throws DataError E0311 for what is no parameter
  // of this kernel or is frozen already, E0313 for a declared fact that does not hold. Throws what
  // `run` throws for the arrays.
  Kernel freeze(std::span<const NamedView> parameters) const;
  Kernel freeze(std::initializer_list<NamedView> parameters) const {
    return freeze(std::span(parameters.begin(), parameters.size()));
  }
  // A frozen kernel with other values of the same parameters, all of them, and the next version.
  // Nothing is compiled again, unless folded scales went by signs that the new values lack. Throws
  // DataError E0311 where this kernel is not frozen, ShapeError E0123 for another shape than
  // before, and what `freeze` throws.
  Kernel refreeze(std::span<const NamedView> parameters) const;
  Kernel refreeze(std::initializer_list<NamedView> parameters) const {
    return refreeze(std::span(parameters.begin(), parameters.size()));
  }
  // 0 of a kernel that is not frozen, 1 of one that `freeze` made, one more with each `refreeze`.
  std::int64_t version() const;

  const LoopSpec &spec() const;
  Counters counters() const;
  int threads() const; // that a call runs on at most

private:
  Kernel(std::shared_ptr<const detail::KernelImpl> impl,
         std::shared_ptr<const detail::FrozenParameters> frozen, int most_threads)
      : impl_(std::move(impl)), frozen_(std::move(frozen)), most_threads_(most_threads) {}
  const std::shared_ptr<const detail::KernelImpl> &impl() const; // throws E0317 where there is none

  std::shared_ptr<const detail::KernelImpl> impl_;
  std::shared_ptr<const detail::FrozenParameters> frozen_; // null: none are
  int most_threads_ = 0;                                   // of a call; 0: as compiled
};

// Checks the spec and makes it runnable. Throws SpecError, DTypeError, ShapeError (fixed extents
// that contradict each other) and CompileError (a limit, or Engine::jit where native code cannot be
// had).
Kernel compile(const LoopSpec &spec, const Options &options = {});

} // namespace broadloom
