// Promotion and the typing of operations, against NumPy 2's own answers.
#include "ops/ops.hpp"

#include <doctest/doctest.h>

namespace bl = broadloom;
using bl::DType;
using bl::Fold;
using bl::ops::Op;

namespace {

DType result(Op op, DType a, DType b) { return bl::ops::type_of(op, std::array{a, b}).result; }
DType result(Op op, DType a) { return bl::ops::type_of(op, std::array{a}).result; }
bool defined(Op op, DType a, DType b) {
  return bl::ops::type_of(op, std::array{a, b}).error.empty();
}
bool defined(Op op, DType a) { return bl::ops::type_of(op, std::array{a}).error.empty(); }

} // namespace

TEST_CASE("names and sizes of the element types go both ways") {
  for (int i = 0; i < bl::dtype_count; ++i)
    CHECK(bl::dtype_from_name(bl::name(DType(i))) == DType(i));
  CHECK_FALSE(bl::dtype_from_name("float32"));
  CHECK(bl::size_of(bl::bool_) == 1);
  CHECK(bl::size_of(bl::bf16) == 2);
  CHECK(bl::size_of(bl::c128) == 16);
}

TEST_CASE("integers promote to the narrowest integer that holds both") {
  CHECK(bl::promote(bl::i8, bl::u8) == bl::i16);
  CHECK(bl::promote(bl::u16, bl::i8) == bl::i32);
  CHECK(bl::promote(bl::u32, bl::i64) == bl::i64);
  CHECK(bl::promote(bl::u64, bl::i8) == bl::f64);
  CHECK(bl::promote(bl::bool_, bl::u8) == bl::u8);
}

TEST_CASE("an integer beside a float asks for a float that holds it") {
  CHECK(bl::promote(bl::i16, bl::f32) == bl::f32);
  CHECK(bl::promote(bl::i32, bl::f32) == bl::f64);
  CHECK(bl::promote(bl::i8, bl::f16) == bl::f16);
  CHECK(bl::promote(bl::u8, bl::bf16) == bl::bf16);
  CHECK(bl::promote(bl::f16, bl::bf16) == bl::f32);
  CHECK(bl::promote(bl::c64, bl::f64) == bl::c128);
}

// What numpy.promote_types answers (NumPy 2.4, ml_dtypes 0.5 for bf16, which stands where f16
// does); a row and a column for each dtype in the order of DType.
TEST_CASE("promotion is NumPy's, for all pairs") {
  using namespace bl;
  constexpr DType table[dtype_count][dtype_count] = {
      {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128},
      {i8, i8, i16, i32, i64, i16, i32, i64, f64, f16, bf16, f32, f64, c64, c128},
      {i16, i16, i16, i32, i64, i16, i32, i64, f64, f32, f32, f32, f64, c64, c128},
      {i32, i32, i32, i32, i64, i32, i32, i64, f64, f64, f64, f64, f64, c128, c128},
      {i64, i64, i64, i64, i64, i64, i64, i64, f64, f64, f64, f64, f64, c128, c128},
      {u8, i16, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128},
      {u16, i32, i32, i32, i64, u16, u16, u32, u64, f32, f32, f32, f64, c64, c128},
      {u32, i64, i64, i64, i64, u32, u32, u32, u64, f64, f64, f64, f64, c128, c128},
      {u64, f64, f64, f64, f64, u64, u64, u64, u64, f64, f64, f64, f64, c128, c128},
      {f16, f16, f32, f64, f64, f16, f32, f64, f64, f16, f32, f32, f64, c64, c128},
      {bf16, bf16, f32, f64, f64, bf16, f32, f64, f64, f32, bf16, f32, f64, c64, c128},
      {f32, f32, f32, f64, f64, f32, f32, f64, f64, f32, f32, f32, f64, c64, c128},
      {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, c128, c128},
      {c64, c64, c64, c128, c128, c64, c64, c128, c128, c64, c64, c64, c128, c64, c128},
      {c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128},
  };
  for (int a = 0; a < dtype_count; ++a)
    for (int b = 0; b < dtype_count; ++b) {
      INFO(name(DType(a)) << " with " << name(DType(b)));
      CHECK(promote(DType(a), DType(b)) == table[a][b]);
    }
}

TEST_CASE("operations on f16 and bf16 compute in f32 and give NumPy's type") {
  for (DType narrow : {bl::f16, bl::bf16}) {
    for (Op op : {Op::Add, Op::Div, Op::Pow, Op::Maximum, Op::Atan2}) {
      const auto typing = bl::ops::type_of(op, std::array{narrow, bl::u8});
      CHECK(typing.compute == bl::f32);
      CHECK(typing.result == narrow);
    }
    CHECK(bl::ops::type_of(Op::Lt, std::array{narrow, narrow}).compute == bl::f32);
    CHECK(bl::ops::accumulate_dtype(Fold::Sum, narrow) == bl::f64);
    CHECK(bl::ops::accumulate_dtype(Fold::Max, narrow) == bl::f32);
    for (Fold fold : {Fold::Sum, Fold::Prod, Fold::Min, Fold::Max, Fold::Mean})
      CHECK(bl::ops::result_dtype(fold, narrow) == narrow);
  }
}

TEST_CASE("promotion does not depend on the order of its arguments") {
  for (int a = 0; a < bl::dtype_count; ++a)
    for (int b = 0; b < bl::dtype_count; ++b)
      CHECK(bl::promote(DType(a), DType(b)) == bl::promote(DType(b), DType(a)));
}

TEST_CASE("true division gives floats, floor division keeps integers and makes bool i8") {
  CHECK(result(Op::Div, bl::i8, bl::i8) == bl::f64);
  CHECK(result(Op::Div, bl::f32, bl::i16) == bl::f32);
  CHECK(result(Op::FloorDiv, bl::i32, bl::u8) == bl::i32);
  CHECK(result(Op::FloorDiv, bl::bool_, bl::bool_) == bl::i8);
  CHECK(result(Op::Pow, bl::bool_, bl::bool_) == bl::i8);
}

TEST_CASE("bool adds and multiplies but does not subtract or negate") {
  CHECK(result(Op::Add, bl::bool_, bl::bool_) == bl::bool_);
  CHECK_FALSE(defined(Op::Sub, bl::bool_, bl::bool_));
  CHECK_FALSE(defined(Op::Neg, bl::bool_));
  CHECK(defined(Op::BitNot, bl::bool_));
}

TEST_CASE("bits and shifts are for integers") {
  CHECK_FALSE(defined(Op::BitAnd, bl::f32, bl::i32));
  CHECK_FALSE(defined(Op::Shl, bl::i32, bl::f64));
  CHECK_FALSE(defined(Op::BitOr, bl::u64, bl::i64)); // they meet in f64
  CHECK(result(Op::Shl, bl::bool_, bl::bool_) == bl::i8);
}

TEST_CASE("comparisons and logic give bool, and logic computes in bool") {
  CHECK(result(Op::Lt, bl::f32, bl::i64) == bl::bool_);
  CHECK(bl::ops::type_of(Op::Lt, std::array{bl::f32, bl::i64}).compute == bl::f64);
  CHECK(bl::ops::type_of(Op::And, std::array{bl::f32, bl::i64}).compute == bl::bool_);
}

TEST_CASE("functions of integers compute in NumPy's float for that width") {
  CHECK(result(Op::Sqrt, bl::i16) == bl::f32);
  CHECK(result(Op::Sqrt, bl::i32) == bl::f64);
  CHECK(result(Op::Sqrt, bl::i8) == bl::f16);
  CHECK(result(Op::Hypot, bl::i16, bl::u16) == bl::f32);
  CHECK(result(Op::IsNan, bl::i8) == bl::bool_);
  CHECK(result(Op::Floor, bl::i8) == bl::i8);
}

TEST_CASE("the condition of where takes no part in the promotion") {
  auto typing = bl::ops::type_of(Op::Where, std::array{bl::f64, bl::i8, bl::u8});
  CHECK(typing.result == bl::i16);
}

TEST_CASE("sums widen as in NumPy and accumulate in 64 bits") {
  CHECK(bl::ops::result_dtype(Fold::Sum, bl::bool_) == bl::i64);
  CHECK(bl::ops::result_dtype(Fold::Prod, bl::u8) == bl::u64);
  CHECK(bl::ops::result_dtype(Fold::Sum, bl::f32) == bl::f32);
  CHECK(bl::ops::accumulate_dtype(Fold::Sum, bl::f32) == bl::f64);
  CHECK(bl::ops::result_dtype(Fold::Max, bl::i8) == bl::i8);
  CHECK(bl::ops::accumulate_dtype(Fold::Min, bl::bool_) == bl::bool_);
}

TEST_CASE("any and all are bool, a mean is a float") {
  for (DType d : {bl::bool_, bl::i8, bl::u64, bl::f32, bl::f64}) {
    for (Fold fold : {Fold::Any, Fold::All}) {
      CHECK(bl::ops::accumulate_dtype(fold, d) == bl::bool_);
      CHECK(bl::ops::result_dtype(fold, d) == bl::bool_);
      CHECK(bl::ops::is_exact(fold, bl::bool_));
    }
    CHECK(bl::ops::accumulate_dtype(Fold::Mean, d) == bl::f64);
    CHECK(bl::ops::result_dtype(Fold::Mean, d) == (d == bl::f32 ? bl::f32 : bl::f64));
  }
}

TEST_CASE("only float sums and products depend on the order of their terms") {
  CHECK_FALSE(bl::ops::is_exact(Fold::Sum, bl::f64));
  CHECK(bl::ops::is_exact(Fold::Sum, bl::i64));
  CHECK(bl::ops::is_exact(Fold::Max, bl::f64));
}

TEST_CASE("functions are found by name, operators are not") {
  CHECK(bl::ops::find_function("exp") == Op::Exp);
  CHECK(bl::ops::find_function("pow") == Op::Pow);
  CHECK(bl::ops::find_function("xor") == Op::BitXor);
  CHECK_FALSE(bl::ops::find_function("+"));
  CHECK_FALSE(bl::ops::find_function("sum"));
  CHECK(bl::ops::find_fold("sum") == Fold::Sum);
  CHECK_FALSE(bl::ops::find_fold("variance"));
}
