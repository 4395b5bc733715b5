// Expressions over inputs: values that build the body of a kernel with ordinary C++ operators.
//
//   auto x = bl::input("x", bl::f32, {"i", "j"});
//   auto z = bl::where(x > 0, exp(-x * x), 1.5) / bl::sum(x, "j");
//
// An Expr is a cheap, immutable handle; sub-expressions are shared. Nothing is checked or computed
// here: `compile` does both. An error names the user's own file and line, which every operator
// notes by std::source_location. Numbers are weakly typed, as in NumPy 2: `x * 2.0` keeps f32.
#pragma once

#include <broadloom/dtype.hpp>
#include <broadloom/error.hpp>

#include <complex>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace broadloom {

namespace detail {
struct ExprNode; // src/expr/node.hpp
} // namespace detail

class Position;

// Alignment of unlabelled dims: f aligns trailing dims (NumPy), c leading dims, none demands equal
// ranks. And of what is stored: c has the elements of the last dim side by side, f those of the
// first one.
enum class Order { c, f, none };

// Roles of inputs. Parameters change seldom, and may be frozen; states belong to who calls it.
enum class InputRole : std::uint8_t { plain, parameter, state };

// Facts about all elements of an input. A NaN has no sign: it is in none of these but `any`.
enum class Sign : std::uint8_t { any, positive, nonnegative, negative, nonpositive, nonzero };
std::string_view relation(Sign sign); // "> 0", ">= 0", "< 0", "<= 0", "!= 0"; "" of `any`

class Expr {
public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const detail::ExprNode> node) : node_(std::move(node)) {}

  // For an input without labels: XLA's broadcast_dimensions (strictly increasing), or any distinct,
  // non-negative axes. Returns the placed input. Throws SpecError E0132 where *this is not an
  // input.
  Expr dims(std::initializer_list<int> axes,
            std::source_location where = std::source_location::current()) const;
  Expr axes(std::initializer_list<int> axes,
            std::source_location where = std::source_location::current()) const;

  // For a parameter: a fact that holds of all its elements, `param s : f32[c] > 0` of the text
  // form. Rewrites may rely on it; each call looks whether it holds (DataError E0313). Throws
  // SpecError E0040 where *this is not a parameter.
  Expr known(Sign sign, std::source_location where = std::source_location::current()) const;
  Expr positive(std::source_location where = std::source_location::current()) const {
    return known(Sign::positive, where);
  }

  // The input read at positions, one for each dim. x.at({2 * bl::axis("i") + bl::axis("u") - 1,
  // "j"}) is x[2*i + u - 1, j] of the text form. Its rules for extents hold (docs/positions.md,
  // "Windows"). The axes of the positions are its axes. At a call it is a view of the array, never
  // a copy, unless a position has an index() in it. Throws SpecError E0023 where *this is not an
  // input or has been read at positions, E0006 where numbers of a position have left i64. `compile`
  // tells the rest, E0140 to E0142.
  Expr at(std::initializer_list<Position> positions,
          std::source_location where = std::source_location::current()) const;
  Expr at(const std::vector<Position> &positions,
          std::source_location where = std::source_location::current()) const;

  const detail::ExprNode *node() const { return node_.get(); }
  const std::shared_ptr<const detail::ExprNode> &handle() const { return node_; }

private:
  std::shared_ptr<const detail::ExprNode> node_;
};

// An argument of an operator: an expression or a number, with the line on which it was written.
class Operand {
public:
  Operand(const Expr &expr, std::source_location where = std::source_location::current())
      : expr_(expr), where_(where) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T number, std::source_location where = std::source_location::current())
      : expr_(make(number, where)), where_(where) {}
  // Throws SpecError E0006 where the imaginary part is no finite number.
  template <class T>
    requires std::is_floating_point_v<T>
  Operand(std::complex<T> number, std::source_location where = std::source_location::current())
      : expr_(complex(double(number.real()), double(number.imag()), where)), where_(where) {}

  const Expr &expr() const { return expr_; }
  const std::source_location &where() const { return where_; }

private:
  template <class T> static Expr make(T number, const std::source_location &where) {
    if constexpr (std::is_same_v<T, bool>)
      return boolean(number, where);
    else if constexpr (std::is_floating_point_v<T>)
      return real(double(number), where);
    else
      return integer(std::int64_t(number), std::is_unsigned_v<T> && number > T(INT64_MAX), where);
  }
  static Expr boolean(bool value, const std::source_location &where);
  static Expr integer(std::int64_t value, bool too_large, const std::source_location &where);
  static Expr real(double value, const std::source_location &where);
  static Expr complex(double real, double imaginary, const std::source_location &where);

  Expr expr_;
  std::source_location where_;
};

// One dim of an input: ":" is unlabelled, a word is a label, "i?" one that may be 1; or a fixed
// extent.
struct Dim {
  std::string label;        // empty: unlabelled
  std::int64_t extent = -1; // -1: known at the call only

  Dim() = default;
  Dim(const char *word) : label(std::string(word) == ":" ? "" : word) {}
  Dim(std::string word) : label(word == ":" ? "" : std::move(word)) {}
  Dim(int fixed) : extent(fixed) {}
  Dim(std::string word, std::int64_t fixed) : label(std::move(word)), extent(fixed) {}
};

// An input by its dims: labels, ":" or fixed extents; `{3}` is one dim of 3 elements. Without dims
// it is a scalar.
Expr input(std::string name, DType dtype, std::vector<Dim> dims = {},
           std::source_location where = std::source_location::current());

// An input by its number of unlabelled dims. A template, so that a braced list never means a rank.
// Throws ShapeError E0101 for a negative one.
namespace detail {
Expr input_of_rank(std::string name, DType dtype, int rank, std::source_location where);
}
template <std::same_as<int> Rank>
Expr input(std::string name, DType dtype, Rank rank,
           std::source_location where = std::source_location::current()) {
  return detail::input_of_rank(std::move(name), dtype, rank, where);
}

// A parameter: an input that changes seldom, `param w : f32[o, c]` of the text form. A call takes
// it as any input until it is frozen.
Expr param(std::string name, DType dtype, std::vector<Dim> dims = {},
           std::source_location where = std::source_location::current());

// A state: an array that a bl::StatefulKernel owns (stateful.hpp), `state w : f32[c, p]` of the
// text form. To the kernel itself it is an input; LoopSpec::update says what it holds after a call.
Expr state(std::string name, DType dtype, std::vector<Dim> dims = {},
           std::source_location where = std::source_location::current());

// One with the dtype and the dims of an input, such as a moment beside a weight. Throws SpecError
// E0308 where `input` is none.
Expr state_like(std::string name, const Expr &input,
                std::source_location where = std::source_location::current());
std::string_view name(const Expr &input); // of an input; "" of any other expression

// An axis by label or by position in the iteration space (negative counts from the end).
class AxisRef {
public:
  AxisRef(const char *label) : value_(std::string(label)) {}
  AxisRef(std::string label) : value_(std::move(label)) {}
  AxisRef(int position) : value_(position) {}
  const std::variant<std::string, int> &value() const { return value_; }

private:
  std::variant<std::string, int> value_;
};

// The place that is read along one dim of an input: an integer plus integer multiples of axes. A
// value, which `+ - *` make of others; an axis with multiple 0 is none. Below 0, and moved up by no
// axis, it counts from the end: -1 is the last element, -axis("i") turns the dim around. Numbers
// that leave i64 make it invalid, which Expr::at tells. Elements of inputs may be in it, too:
// index() below.
class Position {
public:
  struct Term {
    std::string axis;
    std::int64_t times = 0;
  };
  struct Index {
    Expr read; // an input that is read at positions
    std::int64_t times = 0;
  };
  struct Extent {
    Expr of; // an input or a let
    std::size_t dim = 0;
    std::int64_t times = 0;
  };
  enum class Outside : std::uint8_t { Fails, Clips, Wraps };

  Position(const char *axis) : Position(std::string(axis)) {}
  Position(std::string axis) { terms_.push_back({std::move(axis), 1}); }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Position(T constant)
      : constant_(std::int64_t(constant)), valid_(std::in_range<std::int64_t>(constant)) {}

  std::int64_t constant() const { return constant_; }
  const std::vector<Term> &terms() const {
    return terms_;
  } // no axis twice, in the order in which they were added
  const std::vector<Index> &indices() const { return indices_; }
  const std::vector<Extent> &extents() const { return extents_; }
  Outside outside() const { return outside_; }
  bool valid() const { return valid_; }
  // bl::axis("i") + 0: an axis alone that is to stay inside of the dim, and need not be as long as
  // it.
  bool stays_inside() const { return stays_inside_; }
  bool is_number() const { return terms_.empty() && indices_.empty() && extents_.empty(); }

  friend Position operator+(const Position &a, const Position &b) { return a.plus(b, 1); }
  friend Position operator-(const Position &a, const Position &b) { return a.plus(b, -1); }
  friend Position operator-(const Position &a) { return Position(0).plus(a, -1); }
  template <std::integral T> friend Position operator*(T times, const Position &a) {
    return a.times(Position(times));
  }
  template <std::integral T> friend Position operator*(const Position &a, T times) {
    return a.times(Position(times));
  }

  friend Position index(const Expr &read, std::source_location where);
  friend Position extent_of(const Expr &array, const AxisRef &dim, std::source_location where);
  friend Position clip(Position position, std::source_location where);
  friend Position wrap(Position position, std::source_location where);

private:
  Position plus(const Position &other, std::int64_t times) const;
  Position times(const Position &number) const;
  static Position limited(Position position, Outside outside, const std::source_location &where);

  std::int64_t constant_ = 0;
  std::vector<Term> terms_;
  std::vector<Index> indices_;
  std::vector<Extent> extents_;
  Outside outside_ = Outside::Fails;
  bool valid_ = true;
  bool stays_inside_ = false;
};

// A position that an element of an integer input says: x.at({bl::index(k.at({"i"})) + 1, "j"}) is
// x[k[i] + 1, j]. If an input has labels, index(k) reads it at these. At a call an element that
// says a position outside of the array is a DataError, E0315. clip() and wrap() bring the position
// inside: the nearest one, or modulo the extent. Throws SpecError E0026 where `read` is no input or
// clip() and wrap() are around a position without index(), or within another.
Position index(const Expr &read, std::source_location where = std::source_location::current());
Position clip(Position position, std::source_location where = std::source_location::current());
Position wrap(Position position, std::source_location where = std::source_location::current());

inline Position axis(std::string name) { return {std::move(name)}; }

// The extent of a dim of an input or a let, by number or label. x.at({bl::axis("i") +
// bl::extent_of(y, 0)}) is x[i + extent(y, 0)]. A let is an array then. Throws SpecError E0003
// where `array` is neither, E0104 where it has no such dim.
Position extent_of(const Expr &array, const AxisRef &dim,
                   std::source_location where = std::source_location::current());

// A dim that is padded, by its label or, of an input without labels, its number: so many elements
// before and after.
struct PaddedDim {
  AxisRef dim;
  std::int64_t before = 0, after = 0;
};
// The added elements are 0, or elements of the dim, as the modes of np.pad of these names have
// them.
enum class Pad : std::uint8_t { zero, edge, wrap, reflect };

// An input with more elements around, to be read at positions, of which 0 is the first that was
// added. Write pad(x, {{"i", 1, 1}}, bl::Pad::edge).at({bl::axis("i") + bl::axis("u")}). Or filled
// with a number. A call makes one padded copy for all reads of one padding. Throws SpecError E0023
// where x is neither an input nor such a padded one, E0024 for negative amounts and a dim that is
// padded twice. Throws E0006 beyond 2^40, ShapeError E0104 where x has no such dim. `compile` tells
// the rest: E0025, E0202.
Expr pad(const Expr &x, const std::vector<PaddedDim> &dims, Pad mode = Pad::zero,
         std::source_location where = std::source_location::current());
Expr pad(const Expr &x, const std::vector<PaddedDim> &dims, const Operand &number,
         std::source_location where = std::source_location::current());

// Inputs by their names; `{}` is none.
class InputNames {
public:
  InputNames() = default;
  InputNames(const char *name) : InputNames(std::string(name)) {}
  InputNames(std::string name) {
    if (!name.empty()) names_.push_back(std::move(name));
  }
  InputNames(std::initializer_list<std::string> names) : names_(names) {}
  InputNames(std::vector<std::string> names) : names_(std::move(names)) {}
  const std::vector<std::string> &names() const { return names_; }

private:
  std::vector<std::string> names_;
};

// The number of elements along an axis that the inputs of the expression have, or those called
// `of`, and the index along it. Both are i64, counted from 0.
Expr extent(AxisRef axis, InputNames of = {},
            std::source_location where = std::source_location::current());
Expr iota(AxisRef axis, InputNames of = {},
          std::source_location where = std::source_location::current());

// Operators. `/` is true division (integers give f64); floor division and the remainder with the
// divisor's sign are floor_divide and operator%. Power is pow.
Expr operator+(const Operand &a, const Operand &b);
Expr operator-(const Operand &a, const Operand &b);
Expr operator*(const Operand &a, const Operand &b);
Expr operator/(const Operand &a, const Operand &b);
Expr operator%(const Operand &a, const Operand &b);
Expr operator&(const Operand &a, const Operand &b);
Expr operator|(const Operand &a, const Operand &b);
Expr operator<<(const Operand &a, const Operand &b);
Expr operator>>(const Operand &a, const Operand &b);
Expr operator&&(const Operand &a, const Operand &b);
Expr operator||(const Operand &a, const Operand &b);
Expr operator==(const Operand &a, const Operand &b);
Expr operator!=(const Operand &a, const Operand &b);
Expr operator<(const Operand &a, const Operand &b);
Expr operator<=(const Operand &a, const Operand &b);
Expr operator>(const Operand &a, const Operand &b);
Expr operator>=(const Operand &a, const Operand &b);
Expr operator-(const Operand &a);
Expr operator!(const Operand &a);
Expr operator~(const Operand &a);

// A value with a name: `let name = value` of the text form. If it is read at positions (Expr::at),
// it is an array, computed first, with the axes of the value in iteration order as dims. With
// `axes` it is an array in any case, and these are its dims: labels or positions, all the axes that
// the value has. Names are checked by `compile`: E0004 where two inputs, lets or outputs have one
// name.
Expr let(std::string name, const Operand &value);
Expr let(std::string name, std::vector<AxisRef> axes, const Operand &value);

// The let of that name in its own definition, or before it: h in `let h[t, i] = tanh(x + h[t - 1,
// i]) from h0`. The let is read at earlier positions of one of its dims, or all at later ones:
//
//   auto h = bl::let("h", {"t", "i"}, tanh(x + bl::itself("h").at({bl::axis("t") - 1, "i"})),
//                    {.from = h0});
//
// `from` is what it begins with, zeros where there is none; `axis` and `count` say how many steps
// there are where no input does. For a let that does not read itself they say the extent of an
// axis: `let u[i < 3] = ..` of the text form.
struct LetSteps {
  std::optional<Operand> from = {};
  std::string axis = {};
  std::int64_t count = -1;
  Order store = Order::
      none; // how its array lies, `let h[i, j] in f = ..`; of a let that reads itself nothing
};
Expr itself(std::string name, std::source_location where = std::source_location::current());
Expr let(std::string name, std::vector<AxisRef> axes, const Operand &value, LetSteps steps);

// Arrays side by side along one dim, or each at a position of a new one. `axis` is a dim of the let
// whose whole value the join is.
//
//   bl::let("z", {"i", "j"}, bl::concat("i", {x.at({"i", "j"}), y.at({"i", "j"})}))
//       z[i, j] = concat(i, x[i, j], y[i, j])
//
// Each part is an array of its own, in which axes mean what they mean there. A part is a let
// NAME_part0, .. unless it is a let with these dims already. Parts are computed where they lie in
// the whole, and nothing is copied. Throws SpecError E0009 without parts. `compile` throws E0029
// for a join that stands elsewhere, E0104 where the let lacks the axis. Parts of different ranks or
// dtypes are E0101 and E0201.
Expr concat(const AxisRef &axis, const std::vector<Expr> &parts,
            std::source_location where = std::source_location::current());
Expr stack(const AxisRef &axis, const std::vector<Expr> &parts,
           std::source_location where = std::source_location::current());

// Parts that lie at positions of the whole, each one axis of the part times 1 or more, plus numbers
// and extents:
//
//   bl::let("z", {"r"}, bl::parts({{x.at({"i"}), {2 * bl::axis("i")}},
//                                 {y.at({"i"}), {2 * bl::axis("i") + 1}}}))
//
// `compile` throws E0034 for other positions; a call E0142 for one below 0, E0145 where two parts
// lie at one position, E0146 where none does. The rest is as of concat().
struct Part {
  Expr value;
  std::vector<Position> at;
};
Expr parts(const std::vector<Part> &parts,
           std::source_location where = std::source_location::current());

// Elementwise functions, named as in the text form. Meaning: docs/functions.md.
Expr floor_divide(const Operand &a, const Operand &b);
Expr bitwise_xor(const Operand &a, const Operand &b);
Expr pow(const Operand &base, const Operand &exponent);
Expr maximum(const Operand &a, const Operand &b); // NaN propagates, -0 < +0
Expr minimum(const Operand &a, const Operand &b);
Expr fmax(const Operand &a, const Operand &b); // NaN is ignored
Expr fmin(const Operand &a, const Operand &b);
Expr where(const Operand &condition, const Operand &yes, const Operand &no);
// Random numbers without a state: of two integers, the same in any engine, thread or order.
Expr random_bits(const Operand &seed, const Operand &counter); // u32, each value as likely
Expr random(const Operand &seed, const Operand &counter);      // f64 in [0, 1), of 53 bits
Expr normal(const Operand &seed, const Operand &counter);      // f64 of mean 0 and variance 1
Expr clip(const Operand &x, const Operand &low, const Operand &high);
Expr cast(DType dtype, const Operand &x);
Expr abs(const Operand &x);
Expr sign(const Operand &x);
Expr floor(const Operand &x);
Expr ceil(const Operand &x);
Expr round(const Operand &x); // half to even
Expr trunc(const Operand &x);
Expr sqrt(const Operand &x);
Expr rsqrt(const Operand &x); // 1 / sqrt(x)
Expr square(const Operand &x);
Expr reciprocal(const Operand &x);
Expr relu(const Operand &x);
Expr exp(const Operand &x);
Expr exp2(const Operand &x);
Expr expm1(const Operand &x);
Expr log(const Operand &x);
Expr log2(const Operand &x);
Expr log10(const Operand &x);
Expr log1p(const Operand &x);
Expr sin(const Operand &x);
Expr cos(const Operand &x);
Expr tan(const Operand &x);
Expr asin(const Operand &x);
Expr acos(const Operand &x);
Expr atan(const Operand &x);
Expr atan2(const Operand &y, const Operand &x);
Expr sinh(const Operand &x);
Expr cosh(const Operand &x);
Expr tanh(const Operand &x);
Expr asinh(const Operand &x);
Expr acosh(const Operand &x);
Expr atanh(const Operand &x);
Expr cbrt(const Operand &x);
Expr erf(const Operand &x);
Expr erfc(const Operand &x);
Expr lgamma(const Operand &x);
Expr digamma(const Operand &x);
Expr polygamma(const Operand &n, const Operand &x); // the nth derivative of digamma
Expr sigmoid(const Operand &x);                     // 1 / (1 + exp(-x))
Expr softplus(const Operand &x);                    // log(1 + exp(x))
Expr silu(const Operand &x);                        // x * sigmoid(x)
Expr gelu(const Operand &x);                        // x times the normal distribution function of x
Expr gelu_tanh(const Operand &x);                   // its approximation by tanh
Expr logaddexp(const Operand &x, const Operand &y); // log(exp(x) + exp(y))
Expr fma(const Operand &a, const Operand &b, const Operand &c); // a * b + c, rounded once
// x itself. For a derivative: may it keep this value of the forward pass, or must it compute it
// again?
Expr keep(const Operand &x);
Expr recompute(const Operand &x);
Expr hypot(const Operand &x, const Operand &y);
Expr fmod(const Operand &x, const Operand &y);
Expr copysign(const Operand &magnitude, const Operand &sign);
Expr isnan(const Operand &x);
Expr isinf(const Operand &x);
Expr isfinite(const Operand &x);
Expr real(const Operand &x); // of a real x: x itself
Expr imag(const Operand &x); // of a real x: 0
Expr conj(const Operand &x);

} // namespace broadloom
