// The printed loop IR, and the key.
#include "tests/unit/loop_programs.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <sstream>

namespace broadloom::loop {
namespace {

using namespace test;

TEST_CASE("a loop program prints as the nest that a person would write") {
  CHECK(print(row_sums()) == R"(program rows
  axes i, j
  in x : f32[i other, j unit]   # operand 0
  in y : f32[i unit]   # operand 1
  out z : f32[i unit]   # operand 0

phase 0:
  parallel for i
    init a0 : f64 = 0   # sum; 32 ways, leaves of 128 steps
    vector for j
      step a0 += f64(x[i, j])
      next x
    set z[i] = f32(a0) * y[i]
    next x, y, z
)");
}

TEST_CASE("a fold in chunks prints its two phases") {
  CHECK(print(whole_fold(Fold::Max, DType::I32, 32, 0, true)) == R"(program fold
  axes i, i.chunk (chunks of i)
  in x : i32[i unit]   # operand 0
  out z : i32   # operand 0
  scratch s0 : i32[i.chunk unit]   # operand 0

phase 0:
  parallel for i.chunk
    init a0 : i32 = -2147483648   # max; 32 ways
    vector for i within i.chunk
      step a0 = max(a0, x[i])
      next x
    set s0[i.chunk] = a0
    next s0

phase 1:
  init a1 : i32 = -2147483648   # max; leaves of 1 step
  for i.chunk
    step a1 = max(a1, s0[i.chunk])
    next s0
  set z = a1
)");
}

// z[i] = an expression of x[i] and y[i], without loops around a fold.
std::string
printed(const std::function<ValueId(Builder &, std::vector<Stmt> &, ValueId, ValueId)> &make,
        DType dtype = DType::F32) {
  Builder b;
  const AxisId i = b.axis("i");
  const BufferId x = b.buffer("x", Role::Input, 0, dtype, {{i, StrideClass::Unit}});
  const BufferId y = b.buffer("y", Role::Input, 1, dtype, {{i, StrideClass::Unit}});
  const ValueId xv = b.load(x), yv = b.load(y);
  std::vector<Stmt> body{let(xv), let(yv)};
  const ValueId v = make(b, body, xv, yv);
  const BufferId z = b.buffer("z", Role::Output, 0, b.p[v].dtype, {{i, StrideClass::Unit}});
  body.push_back(set(z, v));
  Loop l;
  l.axis = i;
  l.body = body;
  const LoopId id = b.loop(l);
  b.p.phases.push_back({{run(id)}, {}, 1});
  verify(b.p);
  const std::string text = print(b.p);
  const std::size_t from = text.find("for i\n") + 6;
  return text.substr(from, text.find("    next") - from);
}

TEST_CASE("infix expressions keep only the parentheses that matter") {
  using ops::Op;
  CHECK(printed([](Builder &b, std::vector<Stmt> &s, ValueId x, ValueId y) {
          const ValueId half = b.literal(-0.5, DType::F32);
          const ValueId sum = b.op(Op::Add, {x, half}), neg = b.op(Op::Neg, {y});
          const ValueId power = b.op(Op::Pow, {neg, half}), out = b.op(Op::Mul, {sum, power});
          for (ValueId v : {sum, neg, power, out}) s.push_back(let(v));
          return out;
        }) == "    set z[i] = (x[i] + -0.5) * (-y[i]) ^ -0.5\n");
  CHECK(printed([](Builder &b, std::vector<Stmt> &s, ValueId x, ValueId y) {
          const ValueId one = b.literal(1, DType::F32);
          const ValueId d = b.op(Op::Sub, {y, one}), e = b.op(Op::Sub, {x, d});
          const ValueId less = b.op(Op::Lt, {e, one}), not_less = b.op(Op::Not, {less});
          for (ValueId v : {d, e, less, not_less}) s.push_back(let(v));
          return not_less;
        }) == "    set z[i] = !(x[i] - (y[i] - 1) < 1)\n");
}

TEST_CASE("a value that is used twice gets a name and a type") {
  CHECK(printed([](Builder &b, std::vector<Stmt> &s, ValueId x, ValueId y) {
          const ValueId e = b.op(ops::Op::Exp, {x}), m = b.op(ops::Op::Maximum, {e, y});
          const ValueId out = b.op(ops::Op::Div, {m, e});
          for (ValueId v : {e, m, out}) s.push_back(let(v));
          return out;
        }) == "    t0 : f32 = exp(x[i])\n    set z[i] = maximum(t0, y[i]) / t0\n");
}

TEST_CASE("a chain of 100,000 operations prints in lines of bounded length") {
  const std::string text = printed([](Builder &b, std::vector<Stmt> &s, ValueId x, ValueId y) {
    ValueId v = b.op(ops::Op::Add, {x, y});
    s.push_back(let(v));
    const ValueId half = b.literal(0.5, DType::F32);
    for (int k = 0; k < 100000; ++k) {
      v = b.op(k % 2 == 0 ? ops::Op::Mul : ops::Op::Sub, {v, half});
      s.push_back(let(v));
    }
    return v;
  });
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  CHECK(longest <= 100);
}

TEST_CASE("an index prints as its axis, an extent as a call") {
  CHECK(print(positions()) == R"(program positions
  axes i, j
  out z : i64[i other, j unit]   # operand 0

phase 0:
  parallel for i
    parallel vector for j
      set z[i, j] = i + j * extent(j)
      next z
    next z
)");
}

TEST_CASE("keys tell programs apart by all but their names") {
  Program p = row_sums(), same = row_sums();
  same.name = "other";
  same.axes[0].name = "k";
  same.buffers[1].name = "w";
  CHECK(key(p) == key(same));

  std::vector<Program> others(9, p);
  others[0].buffers[0].walks[1].stride = StrideClass::Other;
  others[1].buffers[2].stream = true;
  others[2].loops[0].leaf = 2048;
  others[3].loops[1].parallel = false;
  others[4].recipes[0] = ops::recipe_of(Fold::Max, DType::F64);
  others[5].values.back().op = ops::Op::Add;
  others[6].buffers[1].dtype = DType::F64;
  others[7].phases[0].parallel.clear();
  others[8].axes[1].chunks_of = AxisId{0};
  for (const Program &other : others) CHECK(key(other) != key(p));
  Program other_axis = positions();
  other_axis.values[0].axis = {0};
  CHECK(key(other_axis) != key(positions()));
}

} // namespace
} // namespace broadloom::loop
