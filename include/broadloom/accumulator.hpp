// Accumulators: what folds the elements along axes into one value, or runs along one axis (scan).
//
//   bl::sum(x, "j")                          a reduction; without axes it folds all those of x
//   bl::var(x, "j", bl::correction(1))       options follow the axes
//   bl::reduce(bl::max, bl::init(0))         in a mode
//   bl::scan(bl::sum, x, "j", bl::reverse)   the running value at each position
//
// An accumulator of one's own has states, and says how a step changes them:
//
//   auto a = bl::parameter("a"), m = bl::parameter("m");
//   auto damped = bl::accumulator("damped", {"a"}, {"m"}).init("a", 0).step("a", 0.5 * a + m);
//   damped(x, "j")                           a' = 0.5 a + x, in order along j
//
// Nothing is checked here: `check` and `compile` do that.
#pragma once

#include <broadloom/expr.hpp>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace broadloom {

// `User`: by a definition of the user's own.
enum class Fold : std::uint8_t {
  Sum,
  Prod,
  Min,
  Max,
  Any,
  All,
  Mean,
  Var,
  Std,
  Norm,
  LogSumExp,
  ArgMin,
  ArgMax,
  User
};

// `like("x")`: give a folded value the axes and extents of input x, folding or repeating;
// `like("x", "y")`: those that x + y would have.
struct Like {
  std::vector<std::string> inputs;
};
template <class... More> Like like(std::string input, More... more) {
  return {{std::move(input), std::string(std::move(more))...}};
}

// A value for each state that enters once, first; it lacks the folded axes.
struct Init {
  std::vector<Expr> values;
};
inline Init init(const Operand &value) { return {{value.expr()}}; }
Init init(std::initializer_list<Operand> values);

// The type in which to accumulate.
struct Acc {
  DType dtype;
};
inline Acc acc(DType dtype) { return {dtype}; }

// The number that var and std take from the number of elements before they divide by it.
struct Correction {
  double value;
};
inline Correction correction(double value) { return {value}; }

// Options of a scan: the value before each step; from the end; that state, not the result.
enum class ScanFlag { exclusive, reverse };
inline constexpr ScanFlag exclusive = ScanFlag::exclusive;
inline constexpr ScanFlag reverse = ScanFlag::reverse;
struct State {
  std::string name;
};
inline State state(std::string name) { return {std::move(name)}; }

namespace detail {
struct AccumulatorDef; // src/expr/definition.hpp
}
struct FoldUse;

// Options that may follow the value in a reduction, the accumulator in a mode, the axis in a scan.
using ModeOption = std::variant<Like, Init, Acc, Correction>;
using ScanOption = std::variant<ScanFlag, State, Init, Acc, Correction>;
class FoldArgument {
public:
  FoldArgument(const char *axis) : value_(AxisRef(axis)) {}
  FoldArgument(std::string axis) : value_(AxisRef(std::move(axis))) {}
  FoldArgument(int axis) : value_(AxisRef(axis)) {}
  FoldArgument(AxisRef axis) : value_(std::move(axis)) {}
  FoldArgument(Like option) : value_(ModeOption(std::move(option))) {}
  FoldArgument(Init option) : value_(ModeOption(std::move(option))) {}
  FoldArgument(Acc option) : value_(ModeOption(option)) {}
  FoldArgument(Correction option) : value_(ModeOption(option)) {}
  const std::variant<AxisRef, ModeOption> &value() const { return value_; }

private:
  std::variant<AxisRef, ModeOption> value_;
};

class Accumulator {
public:
  explicit Accumulator(Fold fold) : fold_(fold) {}
  explicit Accumulator(std::shared_ptr<const detail::AccumulatorDef> definition)
      : fold_(Fold::User), definition_(std::move(definition)) {}

  Fold fold() const { return fold_; }
  const std::shared_ptr<const detail::AccumulatorDef> &definition() const {
    return definition_;
  } // of User

  // A reduction: one value, or a tuple of as many as the accumulator has arguments.
  template <class... More> Expr operator()(const Operand &value, const More &...more) const {
    return reduce({value}, {FoldArgument(more)...});
  }
  template <class... More>
  Expr operator()(std::initializer_list<Operand> values, const More &...more) const {
    return reduce(values, {FoldArgument(more)...});
  }

  // More of a definition; each gives a new accumulator. `init` and `step` are given for every
  // state, `combine` for every state or none. A combine joins two blocks, the later one's states
  // being the parameters STATE_other. The result is the first state where none is given. Throw
  // SpecError E0020 for a built-in accumulator.
  Accumulator init(std::string state, const Operand &number) const;
  Accumulator step(std::string state, const Operand &value) const;
  Accumulator combine(std::string state, const Operand &value) const;
  Accumulator result(const Operand &value) const;

private:
  Expr reduce(std::vector<Operand> values, std::vector<FoldArgument> more) const;
  detail::AccumulatorDef copy(const std::source_location &where) const;

  Fold fold_;
  std::shared_ptr<const detail::AccumulatorDef> definition_;
};

inline const Accumulator sum{Fold::Sum};
inline const Accumulator prod{Fold::Prod};
inline const Accumulator min{Fold::Min};
inline const Accumulator max{Fold::Max};
inline const Accumulator any{Fold::Any}; // x != 0 somewhere, everywhere
inline const Accumulator all{Fold::All};
inline const Accumulator mean{Fold::Mean};
inline const Accumulator var{Fold::Var};
inline const Accumulator std_{Fold::Std};
inline const Accumulator norm{Fold::Norm}; // the root of the sum of squares
inline const Accumulator logsumexp{Fold::LogSumExp};
inline const Accumulator argmin{Fold::ArgMin}; // the i64 index of the first least element
inline const Accumulator argmax{Fold::ArgMax};

// The start of a definition, and a name in one: a state, STATE_other or an argument.
Accumulator accumulator(std::string name, std::vector<std::string> states,
                        std::vector<std::string> arguments,
                        std::source_location where = std::source_location::current());
Expr parameter(std::string name, std::source_location where = std::source_location::current());

// An accumulator with its options, as a mode or an expression uses it.
struct FoldUse {
  Accumulator accumulator{Fold::Sum};
  std::vector<std::string> like; // inputs; empty: none
  std::vector<Expr> init;        // of a mode only: in an expression they follow the arguments
  std::optional<DType> acc;
  std::optional<double> correction;
  bool exclusive = false, reverse = false; // of a scan
  std::string state;                       // of a scan; empty: the result
};

// The running value along one axis: `scan(sum, x, "j")` is NumPy's cumsum.
namespace detail {
Expr scan_along(const Accumulator &accumulator, std::vector<Operand> values, AxisRef axis,
                std::vector<ScanOption> options);
}
template <class... More>
Expr scan(const Accumulator &accumulator, const Operand &value, AxisRef axis, const More &...more) {
  return detail::scan_along(accumulator, {value}, std::move(axis), {ScanOption(more)...});
}
template <class... More>
Expr scan(const Accumulator &accumulator, std::initializer_list<Operand> values, AxisRef axis,
          const More &...more) {
  return detail::scan_along(accumulator, values, std::move(axis), {ScanOption(more)...});
}

} // namespace broadloom
