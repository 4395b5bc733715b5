// The verifier of the loop IR: sound programs pass, each broken rule is named.
#include "tests/unit/loop_programs.hpp"

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

TEST_CASE("what is in the tables is in use") {
  Program p = row_sums();
  p.values.push_back(p.values[0]);
  CHECK_COMPLAINT(p, "value 6 is computed nowhere");
  p = row_sums();
  p.accs.push_back(p.accs[0]);
  CHECK_COMPLAINT(p, "an accumulator that no loop carries");
}

TEST_CASE("loops must nest soundly") {
  Program p = row_sums();
  p.loops[0].ways = 8;
  CHECK_COMPLAINT(p, "wrong number of ways");
  p = row_sums();
  p.loops[0].leaf = 100;
  CHECK_COMPLAINT(p, "whole ways");
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

TEST_CASE("a complaint shows the program and the line that breaks a rule") {
  Program p = row_sums();
  p.loops[0].ways = 8;
  CHECK_COMPLAINT(p, "parallel for i");
  CHECK_COMPLAINT(p, "line 10: the loop over j has a wrong number of ways");
}

Program copy_in_chunks() { return nest("copy_in_chunks.loop"); }

TEST_CASE("a store that a loop repeats is found") {
  CHECK(complaint(copy_in_chunks()) == "");
  Program p = copy_in_chunks();
  p.loops[0].within.reset(); // every chunk stores the whole axis
  CHECK_COMPLAINT(p, "the loop over i.chunk repeats a store to one element of z");
  p = copy_in_chunks();
  p.buffers[1].walks.clear();
  CHECK_COMPLAINT(p, "store to one element of z");
  p = positions();
  p.buffers[0].walks.erase(p.buffers[0].walks.begin());
  p.loops[1].parallel = p.loops[0].parallel = false;
  p.phases[0].parallel.clear();
  CHECK_COMPLAINT(p, "the loop over i repeats a store to one element of z");
}

TEST_CASE("an output that two statements store is found") {
  Program p = copy_in_chunks();
  p.loops[0].body.push_back(p.loops[0].body.back());
  CHECK_COMPLAINT(p, "the output z is stored by two statements");
}

TEST_CASE("memory that is read before it is stored is found") {
  Program p = whole_fold(Fold::Sum, DType::F64, 32, 4096, true);
  std::swap(p.phases[0], p.phases[1]);
  CHECK_COMPLAINT(p, "s0 is read before anything is stored there");
}

std::string complaint(const Program &p, const Numbers &numbers) {
  try {
    verify_numbers(p, numbers);
  } catch (const support::InternalError &e) {
    return e.what();
  }
  return {};
}

#define CHECK_NUMBERS(program, numbers, words)                                                     \
  CHECK(complaint(program, numbers).find(words) != std::string::npos)

TEST_CASE("numbers that do not fit the loops are found") {
  const Program p = whole_fold(Fold::Sum, DType::F64, 32, 4096, true); // axes i, i.chunk; x, z, s0
  const std::vector<std::int64_t> extents{20000, 3}, chunks{8192, 0}, strides{1, 0, 0, 0, 0, 1},
      one{1}, two{2};
  CHECK(complaint(p, {extents, chunks, strides, one}) == "");
  CHECK_NUMBERS(p, (Numbers{extents, chunks, strides, two}), "is not stored as a whole");
  const std::vector<std::int64_t> short_of{20000, 2}, odd{4096 + 128, 0}, thrice{12288, 0},
      five{20000, 5}, far{2, 0, 0, 0, 0, 1};
  CHECK_NUMBERS(p, (Numbers{short_of, chunks, strides, one}), "do not cover it");
  CHECK_NUMBERS(p, (Numbers{five, odd, strides, one}), "not whole leaves");
  const std::vector<std::int64_t> two_of_thrice{20000, 2};
  CHECK_NUMBERS(p, (Numbers{two_of_thrice, thrice, strides, one}), "not a power of two");
  CHECK_NUMBERS(p, (Numbers{extents, chunks, far, one}), "does not lie as its walk says");
}

TEST_CASE("an output that nothing stores is found") {
  const Program p = copy_in_chunks();
  const std::vector<std::int64_t> extents{100, 2}, chunks{64, 0}, strides{1, 0, 1, 0},
      wanted{100, 7}, not_wanted{100, -1};
  CHECK(complaint(p, {extents, chunks, strides, not_wanted}) == "");
  CHECK_NUMBERS(p, (Numbers{extents, chunks, strides, wanted}), "output 1 is not stored");
}

TEST_CASE("stores are counted for each element of an output") {
  Program p = copy_in_chunks();
  const std::vector<std::int64_t> extents{100, 2}, chunks{64, 0}, strides{1, 0, -3, 0};
  const Layout layout =
      strided_layout(std::vector<std::int64_t>{100}, std::vector<std::int64_t>{-3});
  const auto counted = [&](const Numbers &numbers) { return count_writes(p, numbers, 0, layout); };
  CHECK(counted({extents, chunks, strides}).once());
  const std::vector<std::int64_t> one_chunk{100, 1}, short_chunks{32, 0};
  const Writes missed = counted({one_chunk, chunks, strides});
  CHECK(missed.never == 36);
  CHECK(missed.first == 64);
  CHECK(counted({extents, short_chunks, strides}).never == 36);
  p.loops[0].within.reset();
  const Writes twice = counted({extents, chunks, strides});
  CHECK(twice.again == 100);
  CHECK_FALSE(twice.once());
}

} // namespace
} // namespace broadloom::loop
