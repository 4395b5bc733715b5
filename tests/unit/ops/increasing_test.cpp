// Accumulators that meet positions in order.
#include "ops/increasing.hpp"
#include "ops/ops.hpp"

#include <doctest/doctest.h>

using namespace broadloom;
using namespace broadloom::ops;

namespace {
using Line = Code::Line;

// i < 0 || x > v || x == v && at < i takes x and at.
Recipe argmax_of_i32() {
  Recipe recipe;
  recipe.name = "argmax";
  recipe.states = {DType::I32, DType::I64};
  recipe.start = {{}, scalar_from(std::int64_t(-1))};
  recipe.args = {DType::I32, DType::I64};
  const auto op = [](Op op, DType compute, std::uint32_t a, std::uint32_t b) {
    return Line{Line::Kind::Op, op, compute, DType::Bool, {a, b, 0}, 2, {}};
  };
  const auto where = [](DType type, std::uint32_t c, std::uint32_t a, std::uint32_t b) {
    return Line{Line::Kind::Op, Op::Where, type, type, {c, a, b}, 3, {}};
  };
  Code &step = recipe.step; // v, i, x, at
  step.inputs = 4;
  step.lines = {{Line::Kind::Literal, Op::Add, DType::I64, DType::I64, {}, 0, {}},
                op(Op::Lt, DType::I64, 1, 4),
                op(Op::Gt, DType::I32, 2, 0),
                op(Op::Or, DType::Bool, 5, 6),
                op(Op::Eq, DType::I32, 2, 0),
                op(Op::Lt, DType::I64, 3, 1),
                op(Op::And, DType::Bool, 8, 9),
                op(Op::Or, DType::Bool, 7, 10),
                where(DType::I32, 11, 2, 0),
                where(DType::I64, 11, 3, 1)};
  step.results = {12, 13};
  return recipe;
}

std::vector<Scalar> stepped(const Recipe &recipe, std::span<const int> x) {
  std::vector<Scalar> states = recipe.start, work;
  for (std::size_t k = 0; k < x.size(); ++k) {
    std::vector<Scalar> inputs = states;
    inputs.push_back(convert(scalar_from(std::int64_t(x[k])), DType::I64, DType::I32));
    inputs.push_back(scalar_from(std::int64_t(k)));
    run(recipe.step, inputs, work);
    for (std::size_t s = 0; s < states.size(); ++s) states[s] = work[recipe.step.results[s]];
  }
  return states;
}
} // namespace

TEST_SUITE("unit/ops") {
  TEST_CASE("ties are not asked about where positions grow") {
    const Recipe whole = argmax_of_i32(), simple = with_increasing(whole, 1);
    CHECK(simple.step.lines.size() == 6); // 0, <, >, ||, and two choices
    for (const std::vector<int> &x : {std::vector{3, 1, 4, 1, 5, 9, 2, 6, 5, 9},
                                      {-5},
                                      {0, 0, 0},
                                      {-1, -1, -3},
                                      {7, 6, 5, 7},
                                      {}})
      CHECK(stepped(whole, x) == stepped(simple, x));
    CHECK(simple.combine == whole.combine);
  }

  TEST_CASE("a state that does not start below zero may be later than what comes") {
    Recipe recipe = argmax_of_i32();
    recipe.start[1] = scalar_from(std::int64_t(2));
    CHECK(with_increasing(recipe, 1).step == recipe.step);
  }

  TEST_CASE("a state that takes anything but the argument may be later than what comes") {
    Recipe recipe = argmax_of_i32();
    recipe.step.lines[0].literal = scalar_from(std::int64_t(100));
    recipe.step.lines.back().args[1] = 4; // i = 100
    CHECK(with_increasing(recipe, 1).step == recipe.step);
  }

  TEST_CASE("an argument that is no position of 64 bits says nothing") {
    Recipe recipe = argmax_of_i32();
    recipe.args[1] = DType::I32;
    CHECK(with_increasing(recipe, 1).step == recipe.step);
    CHECK(with_increasing(argmax_of_i32(), 0).step == argmax_of_i32().step);
  }

  TEST_CASE("a result that is known is a literal") {
    Recipe recipe = argmax_of_i32();
    recipe.states.push_back(DType::Bool);
    recipe.start.push_back(scalar_from(true));
    // A third state shifts the inputs: v, i, b, x, at.
    for (Line &line : recipe.step.lines)
      for (int a = 0; a < line.arg_count; ++a)
        if (line.args[a] >= 2) ++line.args[a];
    recipe.step.inputs = 5;
    recipe.step.results = {13, 14, 10}; // b: whether at < i
    const Recipe simple = with_increasing(recipe, 1);
    REQUIRE(simple.step.results[2] >= 5);
    const Line &line = simple.step.lines[simple.step.results[2] - 5];
    CHECK(line.kind == Line::Kind::Literal);
    CHECK(line.dtype == DType::Bool);
    CHECK(line.literal.bits == 0);
  }
}
