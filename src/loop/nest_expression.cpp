// See nest_expression.hpp. The levels of the grammar are those of docs/language.md.
#include "loop/nest_expression.hpp"

#include "loop/grammar.hpp"
#include "support/number.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace broadloom::loop {
namespace {

using ops::Op;
using ops::Scalar;

constexpr int deepest = 200; // parentheses and signs in each other

std::string text_of(const Number::Part &part) {
  return (part.minus ? "-" : "") + std::string(part.token.text);
}

[[noreturn]] void no_fit(const Cursor &cursor, const Number::Part &part, DType dtype) {
  cursor.fail(part.token, "'" + text_of(part) + "' is no " + std::string(name(dtype)),
              "bool is true or false; integers have a sign and digits; floats may be inf or nan");
}

template <class T> T float_of(const Cursor &cursor, const Number::Part &part, DType dtype) {
  const std::string_view text = part.token.text;
  T value{};
  if (text == "inf") {
    value = std::numeric_limits<T>::infinity();
  } else if (text == "nan") {
    value = std::numeric_limits<T>::quiet_NaN();
  } else {
    const std::optional<T> number = support::number_of<T>(text);
    if (!number) no_fit(cursor, part, dtype);
    value = *number;
  }
  return part.minus ? -value : value;
}

std::uint64_t integer_of(const Cursor &cursor, const Number::Part &part, DType dtype) {
  const auto number = support::number_of<std::uint64_t>(part.token.text);
  if (!number) no_fit(cursor, part, dtype);
  const std::uint64_t size = *number;
  const int bits = 8 * int(size_of(dtype)) - (is_signed_integer(dtype) ? 1 : 0);
  const std::uint64_t greatest = bits == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << bits) - 1;
  const bool may_be_negative = is_signed_integer(dtype) || size == 0;
  if (part.minus ? !may_be_negative || size > greatest + 1 : size > greatest)
    no_fit(cursor, part, dtype);
  return part.minus ? ~size + 1 : size;
}

// One real number.
std::uint64_t part_of(const Cursor &cursor, const Number::Part &part, DType dtype) {
  if (dtype == DType::Bool) {
    if (part.minus || (part.token.text != "true" && part.token.text != "false"))
      no_fit(cursor, part, dtype);
    return part.token.text == "true";
  }
  if (dtype == DType::F64) return ops::scalar_from(float_of<double>(cursor, part, dtype)).bits;
  if (!is_float(dtype)) return integer_of(cursor, part, dtype);
  const auto value = float_of<float>(cursor, part, dtype);
  const Scalar narrow = ops::convert(ops::scalar_from(value), DType::F32, dtype);
  const float kept = ops::as_f32(ops::convert(narrow, dtype, DType::F32));
  if (std::isinf(kept) && !std::isinf(value)) no_fit(cursor, part, dtype);
  return narrow.bits;
}

std::uint64_t bits_of(const Cursor &cursor, const Number::Part &part) {
  const std::string_view text = part.token.text;
  const auto bits = support::number_of<std::uint64_t>(text.substr(2), 16);
  if (!bits)
    cursor.fail(part.token, "'" + std::string(text) + "' is not a number of 64 bits",
                "bits are written like 0x7fc00000");
  return *bits;
}

Number::Part read_part(Cursor &cursor) {
  Number::Part part;
  part.minus = cursor.accept("-");
  const bool word = cursor.is("inf") || cursor.is("nan");
  if (cursor.peek().kind != Tok::Integer && cursor.peek().kind != Tok::Real && !word)
    cursor.unexpected("a number");
  part.token = cursor.next();
  return part;
}

Number::Part read_bits(Cursor &cursor) {
  if (cursor.peek().kind != Tok::Integer || cursor.peek().text.substr(0, 2) != "0x")
    cursor.unexpected("bits like 0x7fc00000");
  return {false, cursor.next()};
}

class ExpressionReader {
public:
  ExpressionReader(Cursor &cursor, ExpressionTarget &target) : cursor_(cursor), target_(target) {}

  // Infix operations that bind at least so tightly.
  Operand read(int least) {
    Operand left = read_prefix();
    bool compared = false;
    for (;;) {
      const std::optional<Op> op = infix();
      if (!op || *op == Op::Pow) return left;
      const int level = binding_of(*op);
      if (level < least) return left;
      if (level == comparison && compared)
        cursor_.fail(cursor_.peek(), "comparisons do not chain", "write parentheses");
      compared = level == comparison;
      const Token sign = cursor_.next();
      const Operand right = read(level + 1);
      left = apply(*op, sign, std::array{left, right});
    }
  }

private:
  struct Depth {
    explicit Depth(ExpressionReader &reader) : count(reader.depth_) {
      if (++count > deepest)
        reader.cursor_.fail(reader.cursor_.peek(),
                            "an expression of more than 200 levels: parentheses, signs and powers",
                            "give a part of it a line of its own");
    }
    ~Depth() { --count; }
    int &count;
  };

  std::optional<Op> infix() const {
    if (cursor_.peek().kind != Tok::Sign) return std::nullopt;
    return find(cursor_.peek().text, ops::Form::Infix);
  }

  static std::optional<Op> find(std::string_view spelling, ops::Form form) {
    for (int k = 0; k < ops::op_count(); ++k)
      if (ops::info(Op(k)).form == form && ops::info(Op(k)).spelling == spelling) return Op(k);
    return std::nullopt;
  }

  Operand read_prefix() {
    Depth depth(*this);
    if (cursor_.peek().kind == Tok::Sign && !begins_number(cursor_)) {
      if (const std::optional<Op> op = find(cursor_.peek().text, ops::Form::Prefix)) {
        const Token sign = cursor_.next();
        return apply(*op, sign, std::array{read_prefix()});
      }
    }
    const bool minus = cursor_.is("-");
    const Operand base = read_atom();
    if (!cursor_.is("^")) return base;
    const Token sign = cursor_.next();
    if (minus)
      cursor_.fail(sign, "a power of a negative number without parentheses", "write (-2) ^ x");
    return apply(Op::Pow, sign, std::array{base, read_prefix()});
  }

  Operand read_atom() {
    if (begins_number(cursor_)) return {{}, read_number(cursor_)};
    if (cursor_.accept("(")) {
      const Operand inner = read(any);
      cursor_.expect(")");
      return inner;
    }
    const Token &first = cursor_.peek();
    const bool call =
        first.kind == Tok::Word && cursor_.peek(1).kind == Tok::Sign && cursor_.peek(1).text == "(";
    if (call) {
      if (dtype_from_name(first.text)) return read_cast();
      if (const std::optional<Op> op = ops::find_function(first.text)) return read_call(*op);
    }
    if (first.kind != Tok::Word && first.kind != Tok::Quoted) cursor_.unexpected("a value");
    return {target_.named(cursor_), {}};
  }

  Operand read_cast() {
    const Token word = cursor_.peek();
    const DType dtype = read_dtype(cursor_);
    cursor_.expect("(");
    const Operand arg = read(any);
    cursor_.expect(")");
    if (!arg.value)
      cursor_.fail(word, "a cast of a number, which has no type",
                   "write the number alone, or give it a line: t0 : f32 = 1");
    const DType from = target_.dtype_of(*arg.value);
    if (is_complex(from) && !is_complex(dtype) && dtype != DType::Bool)
      cursor_.fail(word, "a complex number is cast to a real one", "take real(x) or imag(x)");
    return {target_.cast(dtype, *arg.value), {}};
  }

  Operand read_call(Op op) {
    const Token word = cursor_.next();
    cursor_.expect("(");
    std::vector<Operand> args;
    do args.push_back(read(any));
    while (cursor_.accept(","));
    cursor_.expect(")");
    const int arity = ops::info(op).arity;
    if (int(args.size()) != arity)
      cursor_.fail(word,
                   "'" + std::string(word.text) + "' has " + std::to_string(args.size()) +
                       " arguments here",
                   "it takes " + std::to_string(arity));
    return apply(op, word, args);
  }

  Operand apply(Op op, const Token &sign, std::span<const Operand> operands) {
    const std::string shown = "'" + std::string(sign.text) + "'";
    if (ops::info(op).math == ops::Math::Sugar)
      cursor_.fail(sign, shown + " is no operation of loop programs", "write it out in others");
    const std::size_t first = op == Op::Where ? 1 : 0;
    std::optional<DType> wanted;
    for (std::size_t k = operands.size(); k-- > first;)
      if (operands[k].value) wanted = target_.dtype_of(*operands[k].value);
    if (!wanted)
      cursor_.fail(sign, "an operation on numbers only, which have no type",
                   "give a number a line: t0 : f32 = 1");
    std::vector<std::uint32_t> args;
    std::vector<DType> types;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const DType dtype = k < first ? DType::Bool : *wanted;
      const Operand &operand = operands[k];
      args.push_back(operand.value
                         ? *operand.value
                         : target_.literal(dtype, scalar_of(cursor_, operand.number, dtype)));
      types.push_back(target_.dtype_of(args.back()));
    }
    const ops::Typing typing = ops::type_of(op, types);
    if (!typing.error.empty())
      cursor_.fail(sign, shown + " " + std::string(typing.error), "cast its arguments");
    for (std::size_t k = 0; k < types.size(); ++k)
      if (types[k] != (k < first ? DType::Bool : typing.compute))
        cursor_.fail(sign,
                     shown + " computes in " + std::string(name(typing.compute)) +
                         " here and has an argument of " + std::string(name(types[k])),
                     "nothing is cast unless a cast says so: write f64(x)");
    return {target_.operation(op, typing.compute, typing.result, args), {}};
  }

  Cursor &cursor_;
  ExpressionTarget &target_;
  int depth_ = 0;
};

} // namespace

bool begins_number(const Cursor &cursor) {
  const Token &first = cursor.peek(cursor.is("-") ? 1 : 0);
  if (first.kind == Tok::Integer || first.kind == Tok::Real) return true;
  if (first.kind != Tok::Word) return false;
  if (first.text == "inf" || first.text == "nan") return true;
  if (cursor.is("-")) return false;
  return first.text == "true" || first.text == "false" || first.text == "complex" ||
         first.text == "bits";
}

Number read_number(Cursor &cursor) {
  Number number;
  number.first = cursor.peek();
  if (cursor.is("true") || cursor.is("false")) {
    number.re.token = cursor.next();
  } else if (cursor.accept("complex")) {
    number.kind = Number::Kind::Complex;
    cursor.expect("(");
    number.re = read_part(cursor);
    cursor.expect(",");
    number.im = read_part(cursor);
    cursor.expect(")");
  } else if (cursor.accept("bits")) {
    number.kind = Number::Kind::Bits;
    cursor.expect("(");
    number.re = read_bits(cursor);
    if (cursor.accept(",")) number.im = read_bits(cursor);
    cursor.expect(")");
  } else {
    number.re = read_part(cursor);
  }
  return number;
}

Scalar scalar_of(const Cursor &cursor, const Number &number, DType dtype) {
  switch (number.kind) {
  case Number::Kind::Plain: return {part_of(cursor, number.re, real_dtype(dtype)), 0};
  case Number::Kind::Complex:
    if (!is_complex(dtype)) break;
    return {part_of(cursor, number.re, real_dtype(dtype)),
            part_of(cursor, number.im, real_dtype(dtype))};
  case Number::Kind::Bits: {
    const Scalar bits{bits_of(cursor, number.re),
                      number.im.token.text.empty() ? 0 : bits_of(cursor, number.im)};
    char memory[16];
    ops::store(memory, dtype, bits);
    if (ops::load(memory, dtype) == bits) return bits;
    break;
  }
  }
  cursor.fail(number.first, "this is no " + std::string(name(dtype)),
              "complex(1, 2) is a complex number, bits(0x..) the bits of an element");
}

DType read_dtype(Cursor &cursor) {
  const Token &token = cursor.peek();
  const auto dtype = token.kind == Tok::Word ? dtype_from_name(token.text) : std::optional<DType>();
  if (!dtype) cursor.unexpected("a dtype");
  cursor.next();
  return *dtype;
}

Operand read_expression(Cursor &cursor, ExpressionTarget &target) {
  return ExpressionReader(cursor, target).read(any);
}

std::uint32_t read_value(Cursor &cursor, ExpressionTarget &target, DType dtype) {
  const Operand operand = read_expression(cursor, target);
  if (operand.value) return *operand.value;
  return target.literal(dtype, scalar_of(cursor, operand.number, dtype));
}

} // namespace broadloom::loop
