// The verifier of the loop IR: sound programs pass, each broken rule is named.
#include "loop_programs.hpp"

#include "support/check.hpp"

#include <doctest/doctest.h>

namespace broadloom::loop {
namespace {

using namespace test;

std::string complaint(const Program &p) {
  try {
    verify(p);
  } catch (const support::InternalError &e) {
    return e.what();
  }
  return {};
}

#define CHECK_COMPLAINT(program, words) CHECK(complaint(program).find(words) != std::string::npos)

TEST_CASE("sound programs pass the verifier") {
  CHECK(complaint(row_sums()) == "");
  for (bool chunked : {false, true}) {
    CHECK(complaint(whole_fold(Fold::Sum, DType::F64, 32, 4096, chunked)) == "");
    CHECK(complaint(whole_fold(Fold::Max, DType::I32, 1, 0, chunked)) == "");
  }
  CHECK(complaint(positions()) == "");
  CHECK(complaint(Program{}) == "");
}

TEST_CASE("references must point somewhere") {
  Program p = row_sums();
  p.values[1].args[0] = {99};
  CHECK_COMPLAINT(p, "missing value");
  p = row_sums();
  p.loops[1].body[0].loop = {1};
  CHECK_COMPLAINT(p, "exactly one place");
  p = row_sums();
  p.phases[0].body.push_back(p.phases[0].body[0]);
  CHECK_COMPLAINT(p, "exactly one place");
}

TEST_CASE("values must be computed before their uses, once, in scope") {
  Program p = row_sums();
  std::swap(p.loops[0].body[0], p.loops[0].body[1]);
  CHECK_COMPLAINT(p, "not in scope");
  p = row_sums();
  p.loops[0].body.insert(p.loops[0].body.begin(), p.loops[0].body[0]);
  CHECK_COMPLAINT(p, "computed twice");
  p = row_sums();
  p.loops[1].body.push_back(set({2}, {0})); // x's value belongs to the inner loop
  CHECK_COMPLAINT(p, "not in scope");
}

TEST_CASE("types must fit") {
  Program p = row_sums();
  p.values[1].compute = DType::I32;
  CHECK_COMPLAINT(p, "casts from another type");
  p = row_sums();
  p.buffers[2].dtype = DType::F64;
  CHECK_COMPLAINT(p, "another type than z has");
  p = row_sums();
  p.recipes[0].args[0] = DType::F32;
  CHECK_COMPLAINT(p, "step by a value of another type");
  p = row_sums();
  p.values.back().op = ops::Op::Lt;
  CHECK_COMPLAINT(p, "types that its operation does not give");
}

TEST_CASE("accumulators step once in their loop and are read after it") {
  Program p = row_sums();
  p.loops[0].body.pop_back();
  CHECK_COMPLAINT(p, "never steps");
  p = row_sums();
  p.loops[0].body.push_back(p.loops[0].body.back());
  CHECK_COMPLAINT(p, "steps twice");
  p = row_sums();
  std::swap(p.loops[1].body[0], p.loops[1].body[1]);
  CHECK_COMPLAINT(p, "not joined here");
}

TEST_CASE("loops must nest soundly") {
  Program p = row_sums();
  p.loops[0].lanes = 8;
  CHECK_COMPLAINT(p, "wrong number of lanes");
  p = row_sums();
  p.loops[0].leaf = 100;
  CHECK_COMPLAINT(p, "whole lanes");
  p = row_sums();
  p.loops[1].vector = true;
  CHECK_COMPLAINT(p, "vector loop within another");
  p = row_sums();
  p.loops[0].parallel = true;
  CHECK_COMPLAINT(p, "carries accumulators");
  p = row_sums();
  p.phases[0].parallel.clear();
  CHECK_COMPLAINT(p, "outside of a parallel loop");
  p = row_sums();
  p.buffers[2].walks.clear();
  CHECK_COMPLAINT(p, "store to one element");
  p = row_sums();
  p.loops[1].body.push_back(set({0}, {5}));
  CHECK_COMPLAINT(p, "input x");
  p = row_sums();
  p.loops[0].within = AxisId{0};
  CHECK_COMPLAINT(p, "chunks of another axis");
}

TEST_CASE("an index needs a loop, an extent needs none") {
  Program p = positions();
  std::swap(p.values[0].kind, p.values[1].kind);
  CHECK_COMPLAINT(p, "no loop around walks it");
  p = positions();
  p.values[0].dtype = DType::I32;
  CHECK_COMPLAINT(p, "is an extent, but no i64");
  p = positions();
  p.values[0].axis = {7};
  CHECK_COMPLAINT(p, "missing axis");
}

TEST_CASE("a complaint shows the program") {
  Program p = row_sums();
  p.loops[0].lanes = 8;
  CHECK_COMPLAINT(p, "parallel for i");
}

} // namespace
} // namespace broadloom::loop
