// Inside the parser of loop programs: expressions, which are the same in nests and in the code of
// accumulators.
//
// A number has no type of its own: it takes that of the other arguments of its operation, or that
// of the place where it stands alone.
#pragma once

#include "loop/nest_text.hpp"
#include "ops/ops.hpp"

#include <optional>
#include <span>

namespace broadloom::loop {

// 1.5, -inf, true, complex(1, -2), bits(0x7fc00001)
struct Number {
  enum class Kind : std::uint8_t { Plain, Complex, Bits } kind = Kind::Plain;
  struct Part {
    bool minus = false;
    Token token;
  };
  Part re, im;
  Token first; // where errors point
};

// Whether a number begins here: then `read_number` reads it.
bool begins_number(const Cursor &cursor);
Number read_number(Cursor &cursor);
// The number as an element of that type; an error where it does not fit.
ops::Scalar scalar_of(const Cursor &cursor, const Number &number, DType dtype);

DType read_dtype(Cursor &cursor);

// Where expressions are written out to: values by their numbers.
class ExpressionTarget {
public:
  virtual ~ExpressionTarget() = default;
  virtual DType dtype_of(std::uint32_t value) const = 0;
  virtual std::uint32_t literal(DType dtype, ops::Scalar literal) = 0;
  virtual std::uint32_t cast(DType to, std::uint32_t value) = 0;
  virtual std::uint32_t operation(ops::Op op, DType compute, DType dtype,
                                  std::span<const std::uint32_t> args) = 0;
  // A word that is neither a function nor a type, the cursor on it: a value by name, an element ..
  virtual std::uint32_t named(Cursor &cursor) = 0;
};

struct Operand {
  std::optional<std::uint32_t> value; // or
  Number number;
};
// An expression up to what cannot belong to it.
Operand read_expression(Cursor &cursor, ExpressionTarget &target);
// The same where a value of this type is wanted. Other types are the verifier's concern.
std::uint32_t read_value(Cursor &cursor, ExpressionTarget &target, DType dtype);

} // namespace broadloom::loop
