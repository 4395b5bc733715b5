// A LoopSpec says what a kernel computes: outputs, each an expression with a mode.
//
//   auto spec = bl::LoopSpec("demo").order(bl::Order::c)
//       .out("z", bl::broadcast, exp(x) * y)
//       .out("s", bl::accumulate(bl::sum), x * y)
//       .out("c", bl::reduce(bl::max), {"j"}, x * y);
//
// A LoopSpec is a value: copies are independent. Building it checks nothing; `check`, `compile` do.
#pragma once

#include <broadloom/accumulator.hpp>
#include <broadloom/accuracy.hpp>
#include <broadloom/expr.hpp>
#include <broadloom/scales.hpp>
#include <broadloom/schedule.hpp>

#include <iosfwd>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom {

enum class ModeKind : std::uint8_t { plain, broadcast, accumulate, reduce };

struct Mode {
  ModeKind kind = ModeKind::plain;
  FoldUse use; // Accumulate and Reduce; of Broadcast only `like`, the inputs whose axes it takes
};
inline const Mode broadcast{ModeKind::broadcast, {}};
Mode broadcast_like(Like like);
template <class... More> Mode broadcast_like(std::string input, More... more) {
  return broadcast_like(like(std::move(input), std::move(more)...));
}
namespace detail {
Mode fold_mode(ModeKind kind, const Accumulator &accumulator,
               const std::vector<ModeOption> &options);
struct SpecData; // src/spec/spec.hpp
} // namespace detail
template <class... Options> Mode accumulate(const Accumulator &a, const Options &...options) {
  return detail::fold_mode(ModeKind::accumulate, a, {ModeOption(options)...});
}
template <class... Options> Mode reduce(const Accumulator &a, const Options &...options) {
  return detail::fold_mode(ModeKind::reduce, a, {ModeOption(options)...});
}
template <class... More> Mode reduce_like(const Accumulator &a, std::string input, More... more) {
  return reduce(a, like(std::move(input), std::move(more)...));
}

struct Decision; // decision.hpp

class LoopSpec {
public:
  explicit LoopSpec(std::string name = "kernel",
                    std::source_location where = std::source_location::current());
  explicit LoopSpec(std::shared_ptr<const detail::SpecData> data) : data_(std::move(data)) {}

  LoopSpec &order(Order order);
  LoopSpec &accuracy(Accuracy accuracy); // default high
  // May a rewrite change the last bits (x / 3 as a product, a * b + c rounded once)? default off
  LoopSpec &relaxed(bool on);
  LoopSpec &scales(Scales scales); // default: fold where relaxed, else keep
  // Computes two outputs in one pass over the data where that is possible, or never in one.
  LoopSpec &fuse(std::string a, std::string b,
                 std::source_location where = std::source_location::current());
  LoopSpec &separate(std::string a, std::string b,
                     std::source_location where = std::source_location::current());
  // How the loops are to run: wishes, which change no bit. In place of the schedule that the spec
  // has, if any.
  LoopSpec &schedule(Schedule schedule);
  LoopSpec &stretch(bool on); // may an unlabelled dim of size 1 stretch at run time? default on

  // Inputs have an order, which positional arguments and the axes go by. First stand those named
  // here, read or not, then those that are only read, in the order in which bl::input made them.
  // (C++ leaves open which of two bl::input(..) within one expression comes first.)
  LoopSpec &in(const Expr &input, std::source_location where = std::source_location::current());

  // Axis `axis` has so many elements in the whole kernel: .axis("u", 2), of what
  // max(x[2*i + u], "u") folds. Numbers and extents of inputs; else it throws SpecError E0033.
  LoopSpec &axis(std::string axis, const Position &extent,
                 std::source_location where = std::source_location::current());

  // An output: mode (plain when left out), axes to keep or to list (all when left out), value.
  LoopSpec &out(std::string name, const Operand &value);
  LoopSpec &out(std::string name, const Mode &mode, const Operand &value);
  LoopSpec &out(std::string name, const Mode &mode, std::vector<AxisRef> axes,
                const Operand &value);

  // The new value of a state after a call, `update w = w - rate * d_w` of the text form: an output
  // of the state's name, axes and dtype. All updates and outputs are computed from the states as
  // they were before the call. `reduce` and `accumulate` keep the axes of the state.
  LoopSpec &update(std::string state, const Operand &value);
  LoopSpec &update(std::string state, const Mode &mode, const Operand &value);

  // Applied to the output declared last: its dtype, the write request `+=`, and how long an axis is
  // that it lists. The last is `out y[i < 2*extent(x, 0)]` of the text form, by numbers and
  // extents. Other values throw SpecError E0033, and a call throws ShapeError E0144 for one below
  // 0.
  LoopSpec &as(DType dtype);
  LoopSpec &add();
  // The order in which its elements lie where the call allocates it, `out z in f = ..`: a wish, as
  // an array that is given lies as it does. `none`: by the inputs, as if nothing was said.
  LoopSpec &store(Order order);
  LoopSpec &extent(std::string axis, const Position &extent,
                   std::source_location where = std::source_location::current());

  const detail::SpecData &data() const { return *data_; }

private:
  detail::SpecData &edit(); // copy on write
  std::shared_ptr<const detail::SpecData> data_;
};

// Reads a text with exactly one kernel, or the kernel called `kernel`. `file` names the text in
// errors. Throws SpecError with a place for every mistake of form.
LoopSpec parse(std::string_view text, std::string_view kernel = {},
               std::string_view file = "<text>");

// A result of a kernel that is called: a let. With `axes`, one label for each dim, it is an array
// in any case, and these are its dims.
struct Called {
  std::string name;
  std::vector<std::string> axes = {};
};

// The outputs of `kernel` over other arrays, as `call kernel(arguments) -> results` of the text
// form has it: lets of whatever reads them. There is one argument for each input in declared order,
// an input or a let of its rank (any other expression becomes a let). There is one result for each
// output. A dim of a result without `axes` has the label of the dim of an argument that walks the
// same axis, else its own. Nothing is compiled; an array is computed by a kernel of its own. Throws
// SpecError E0051 for arguments or results that do not fit. Throws E0052 for a kernel with states,
// outputs that add, or like= and of= of an input that is read at positions of its argument. Throws
// what `compile` throws of the kernel itself.
std::vector<Expr> call(const LoopSpec &kernel, const std::vector<Expr> &arguments,
                       const std::vector<Called> &results,
                       std::source_location where = std::source_location::current());

// All mistakes of a text, in the order in which they stand: of a statement the first one, and none
// that follow from others. Kernels that are well formed bring what `check` says, output by output.
// Empty where the text is right. Throws nothing but out of memory, E0305.
std::vector<Error> find_mistakes(std::string_view text, std::string_view file = "<text>");

// All kernels of a text, in order. A text without any gives an empty list.
std::vector<LoopSpec> parse_all(std::string_view text, std::string_view file = "<text>");

// The canonical text: parse(print(s)) prints the same. Shared sub-expressions become lets.
std::string print(const LoopSpec &spec);
std::ostream &operator<<(std::ostream &out, const LoopSpec &spec);

// Several kernels in one text, with what they share defined once. Throws SpecError E0004 where two
// of them define one name in two ways.
std::string print(const std::vector<LoopSpec> &kernels);

// The same kernel with fixed extents: `i=64` in place of `i` in each declaration that has the
// label. Throws SpecError E0046 where no declaration has it or it has another extent already, or
// the extent is 1, which would stretch.
struct AxisExtent {
  std::string axis;
  std::int64_t extent = 0;
};
LoopSpec specialise(const LoopSpec &spec, const std::vector<AxisExtent> &extents);

// The kernel that is compiled in place of one with Scales::fold, whatever it says itself: its
// factors of parameters moved to other parameters. Calls of functions are written out. `why` gets a
// decision for each factor that moved and for each that stays (topic "scales"). Folding the result
// again changes nothing. Throws what `check` throws.
LoopSpec fold_scales(const LoopSpec &spec, std::vector<Decision> *why = nullptr);

// Throws what `compile` would throw for any data: SpecError, DTypeError, ShapeError (fixed
// extents).
void check(const LoopSpec &spec);

} // namespace broadloom
