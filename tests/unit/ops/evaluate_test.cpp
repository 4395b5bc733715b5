// One element at a time: every operation against what NumPy 2 answers, and the rules that are ours.
#include "ops/ops.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace broadloom::ops {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct IntegerRow {
  Op op;
  DType dtype;
  std::int64_t x, y, result;
};
constexpr IntegerRow integer_rows[] = {
#define BL_ROW(op, dtype, x, y, result)                                                            \
  {Op::op, DType::dtype, std::int64_t(x), std::int64_t(y), std::int64_t(result)},
#include "tests/unit/ops/evaluate_integers.inc"
#undef BL_ROW
};

struct FloatRow {
  Op op;
  DType dtype;
  double x, y, result;
};
constexpr FloatRow float_rows[] = {
#define BL_ROW(op, dtype, x, y, result) {Op::op, DType::dtype, x, y, result},
#include "tests/unit/ops/evaluate_floats.inc"
#undef BL_ROW
};

constexpr DType supported[] = {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, f16, bf16};

Scalar real(double value, DType dtype) { return convert(scalar_from(value), DType::F64, dtype); }
double as_real(Scalar s, DType dtype) { return as_f64(convert(s, dtype, DType::F64)); }
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}
Scalar evaluate(Op op, DType compute, std::vector<Scalar> args) {
  return ops::evaluate(op, compute, std::span<const Scalar>(args));
}
double real_result(Op op, DType d, double x, double y = 0) {
  return as_real(evaluate(op, d, {real(x, d), real(y, d)}), d);
}

TEST_CASE("integer operations give what NumPy 2 gives") {
  for (const IntegerRow &row : integer_rows) {
    const Scalar got = evaluate(row.op, row.dtype, {scalar_from(row.x), scalar_from(row.y)});
    INFO(info(row.op).enumerator << " " << name(row.dtype) << " " << row.x << " " << row.y);
    CHECK(as_i64(got) == row.result);
  }
}

TEST_CASE("float operations give the bits that NumPy 2 gives") {
  for (const FloatRow &row : float_rows) {
    const double got = real_result(row.op, row.dtype, row.x, row.y);
    INFO(info(row.op).enumerator << " " << name(row.dtype) << " " << row.x << " " << row.y
                                 << " gives " << got << ", not " << row.result);
    CHECK(same(got, row.result));
  }
}

TEST_CASE("an integer power with a negative exponent is total") {
  auto power = [](std::int64_t base, std::int64_t exponent) {
    return as_i64(evaluate(Op::Pow, i32, {scalar_from(base), scalar_from(exponent)}));
  };
  CHECK(power(1, -3) == 1);
  CHECK(power(-1, -3) == -1);
  CHECK(power(-1, -4) == 1);
  CHECK(power(2, -1) == 0);
  CHECK(power(0, -1) == 0);
}

TEST_CASE("maximum and minimum order -0 below +0 and propagate NaN, fmax and fmin ignore NaN") {
  for (DType d : {f32, f64}) {
    for (auto [x, y] : {std::pair(0.0, -0.0), std::pair(-0.0, 0.0)}) {
      for (Op op : {Op::Maximum, Op::Fmax}) CHECK(same(real_result(op, d, x, y), 0.0));
      for (Op op : {Op::Minimum, Op::Fmin}) CHECK(same(real_result(op, d, x, y), -0.0));
    }
    for (Op op : {Op::Maximum, Op::Minimum}) {
      CHECK(std::isnan(real_result(op, d, nan, 1)));
      CHECK(std::isnan(real_result(op, d, 1, nan)));
    }
    for (Op op : {Op::Fmax, Op::Fmin}) {
      CHECK(real_result(op, d, nan, 1) == 1);
      CHECK(real_result(op, d, 1, nan) == 1);
      CHECK(std::isnan(real_result(op, d, nan, nan)));
    }
  }
}

TEST_CASE("no answer depends on the sign of a NaN") {
  CHECK(real_result(Op::CopySign, f64, 2, nan) == 2);
  CHECK(real_result(Op::CopySign, f64, 2, -nan) == 2);
  CHECK(real_result(Op::CopySign, f32, -2, -0.0) == -2);
}

TEST_CASE("bools add by or, multiply by and") {
  const Scalar no = scalar_from(false), yes = scalar_from(true);
  CHECK(evaluate(Op::Add, bool_, {yes, yes}) == yes);
  CHECK(evaluate(Op::Add, bool_, {no, yes}) == yes);
  CHECK(evaluate(Op::Mul, bool_, {no, yes}) == no);
  CHECK(evaluate(Op::BitNot, bool_, {yes}) == no);
  CHECK(evaluate(Op::Lt, bool_, {no, yes}) == yes);
}

TEST_CASE("where takes the chosen branch as it is") {
  const Scalar a = scalar_from(1.5), b = scalar_from(-0.0);
  CHECK(evaluate(Op::Where, f64, {scalar_from(true), a, b}) == a);
  CHECK(evaluate(Op::Where, f64, {scalar_from(false), a, b}) == b);
}

TEST_CASE("floats become integers by truncation, saturation and NaN as zero") {
  auto to = [](double value, DType dtype) {
    return as_i64(convert(scalar_from(value), f64, dtype));
  };
  CHECK(to(300.7, u8) == 255);
  CHECK(to(255.9, u8) == 255);
  CHECK(to(-0.9, u8) == 0);
  CHECK(to(-5, u8) == 0);
  CHECK(to(-128.9, i8) == -128);
  CHECK(to(-129, i8) == -128);
  CHECK(to(127.9, i8) == 127);
  CHECK(to(1e30, i32) == INT32_MAX);
  CHECK(to(-1e30, i32) == INT32_MIN);
  CHECK(to(2147483647.5, i32) == INT32_MAX);
  CHECK(to(0x1p63, i64) == INT64_MAX);
  CHECK(to(-0x1p63, i64) == INT64_MIN);
  CHECK(to(0x1.fffffffffffffp62, i64) == 0x7ffffffffffffc00);
  CHECK(std::uint64_t(to(inf, u64)) == UINT64_MAX);
  CHECK(std::uint64_t(to(0x1p63, u64)) == std::uint64_t(1) << 63);
  CHECK(to(-inf, i16) == INT16_MIN);
  for (DType d : {i8, i16, i32, i64, u8, u16, u32, u64}) {
    CHECK(to(nan, d) == 0);
    CHECK(as_i64(convert(scalar_from(std::nanf("")), f32, d)) == 0);
    CHECK(to(3.99, d) == 3);
  }
  CHECK(as_i64(convert(scalar_from(3e9f), f32, i32)) == INT32_MAX);
}

TEST_CASE("other conversions wrap, round once or ask for non-zero") {
  CHECK(as_i64(convert(scalar_from(std::int64_t(300)), i32, u8)) == 44);
  CHECK(as_i64(convert(scalar_from(std::int64_t(200)), u8, i8)) == -56);
  CHECK(as_i64(convert(scalar_from(std::int64_t(-1)), i8, u32)) == 0xffffffff);
  CHECK(as_i64(convert(scalar_from(std::int64_t(-1)), i8, u64)) == -1);
  // By way of f64 this would round twice, to 0x1p60.
  const std::int64_t hard = (std::int64_t(1) << 60) + (std::int64_t(1) << 36) + 1;
  CHECK(as_f32(convert(scalar_from(hard), i64, f32)) == 0x1.000002p60f);
  CHECK(as_f64(convert(scalar_from(std::int64_t(-1)), u64, f64)) == 0x1p64);
  for (double value : {nan, 0.5, -inf}) CHECK(convert(scalar_from(value), f64, bool_).bits == 1);
  CHECK(convert(scalar_from(-0.0), f64, bool_).bits == 0);
  CHECK(convert(scalar_from(std::int64_t(256)), i64, bool_).bits == 1);
  CHECK(as_f32(convert(scalar_from(true), bool_, f32)) == 1.0f);
}

TEST_CASE("the identity of a fold changes nothing that it meets") {
  for (DType d : supported) {
    if (is_narrow_float(d)) continue; // they compute in f32
    for (Fold fold : {Fold::Sum, Fold::Prod, Fold::Min, Fold::Max}) {
      for (double value : {0.0, 1.0, -5.0, 100.0, inf, -inf}) {
        const Scalar x = real(value, d);
        INFO(info(fold).name << " " << name(d) << " " << value);
        CHECK(evaluate(info(fold).step, d, {identity(fold, d), x}) == x);
      }
    }
  }
  for (Fold fold : {Fold::Any, Fold::All})
    for (bool x : {false, true})
      CHECK(evaluate(info(fold).step, bool_, {identity(fold, bool_), scalar_from(x)}) ==
            scalar_from(x));
}

TEST_CASE("an element survives the way to memory and back") {
  for (DType d : supported) {
    for (double value : {0.0, 1.0, -3.0, 1e10, 0.1}) {
      unsigned char memory[16];
      std::memset(memory, 0xa5, sizeof memory);
      const Scalar x = real(value, d);
      store(memory + 1, d, x); // not aligned
      CHECK(load(memory + 1, d) == x);
      CHECK(memory[0] == 0xa5);
      CHECK(memory[1 + size_of(d)] == 0xa5);
    }
  }
  const unsigned char odd_bool = 2;
  CHECK(load(&odd_bool, bool_).bits == 1);
}

TEST_CASE("every operation has an answer for every type that the type rules let in") {
  const double values[] = {0, 1, -1, 2.5, -300, 1e300, inf, -inf, nan};
  for (int index = 0; index < op_count(); ++index) {
    const Op op{std::uint8_t(index)};
    if (info(op).math == Math::Sugar) continue;
    for (DType d : supported) {
      std::vector<DType> types(std::size_t(info(op).arity), d);
      if (info(op).rule == TypeRule::Select) types[0] = bool_;
      const Typing typing = type_of(op, types);
      if (!typing.error.empty()) continue;
      for (double x : values) {
        for (double y : values) {
          std::vector<Scalar> args{real(x, typing.compute), real(y, typing.compute),
                                   real(y, typing.compute)};
          if (op == Op::Where) args[0] = scalar_from(x > y);
          const Scalar result = evaluate(op, typing.compute, args);
          // The result is in the canonical form of its type.
          unsigned char memory[16];
          const DType carried = compute_dtype(typing.result);
          store(memory, carried, result);
          CHECK(load(memory, carried) == result);
        }
      }
    }
  }
}

} // namespace
} // namespace broadloom::ops
