// The interpreter of the loop IR: values, boxes, chunks, and the fold tree to the last bit.
#include "tests/unit/loop_programs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace broadloom::loop {
namespace {

using namespace test;

TEST_CASE("rows are folded, multiplied and stored, box by box") {
  const Program p = row_sums();
  const std::vector<float> x{1, 2, 3, 4, 5, 6}, y{10, 100};
  std::vector<float> z{-1, -1};
  const std::int64_t extents[] = {2, 3}, chunks[] = {0, 0};
  const std::int64_t strides[] = {3, 1, 1, 0, 1, 0};
  char *buffers[] = {(char *)x.data(), (char *)y.data(), (char *)z.data()};
  const Frame frame{1, extents, chunks, strides, buffers};
  std::int64_t lo[] = {1}, hi[] = {2};
  interpret(p, 0, frame, lo, hi);
  CHECK(z == std::vector<float>{-1, 1500});
  lo[0] = 0;
  interpret(p, 0, frame, lo, hi);
  CHECK(z == std::vector<float>{60, 1500});
}

TEST_CASE("an empty fold gives the identity, an empty box stores nothing") {
  const Program p = row_sums();
  const std::vector<float> y{10, 100};
  std::vector<float> z{-1, -1};
  const std::int64_t extents[] = {2, 0}, chunks[] = {0, 0};
  const std::int64_t strides[] = {0, 1, 1, 0, 1, 0};
  char *buffers[] = {nullptr, (char *)y.data(), (char *)z.data()};
  const Frame frame{1, extents, chunks, strides, buffers};
  const std::int64_t lo[] = {0}, hi[] = {2}, none[] = {0};
  interpret(p, 0, frame, lo, none);
  CHECK(z == std::vector<float>{-1, -1});
  interpret(p, 0, frame, lo, hi);
  CHECK(z == std::vector<float>{0, 0});
}

// The tree of loop.hpp, written as it is told there.
double told(const std::vector<double> &x, std::size_t lanes, std::size_t leaf) {
  std::vector<double> level;
  if (leaf == 0) leaf = x.size();
  for (std::size_t begin = 0; begin < x.size(); begin += leaf) {
    std::vector<double> lane(lanes, 0.0);
    for (std::size_t i = begin; i < std::min(begin + leaf, x.size()); ++i)
      lane[(i - begin) % lanes] += x[i];
    for (; lane.size() > 1; lane.resize(lane.size() / 2))
      for (std::size_t l = 0; l < lane.size() / 2; ++l) lane[l] += lane[l + lane.size() / 2];
    level.push_back(lane[0]);
  }
  for (; level.size() > 1;) {
    std::vector<double> next;
    for (std::size_t i = 0; i < level.size(); i += 2)
      next.push_back(i + 1 < level.size() ? level[i] + level[i + 1] : level[i]);
    level = next;
  }
  return level.empty() ? 0.0 : level[0];
}

double run_fold(const Program &p, const std::vector<double> &x, std::int64_t chunk, bool reversed) {
  const auto n = std::int64_t(x.size());
  std::vector<double> data(x), parts(std::size_t(chunk ? n / chunk + 1 : 1));
  if (reversed) data.assign(x.rbegin(), x.rend());
  double z = -1;
  const std::int64_t count = chunk ? (n + chunk - 1) / chunk : 0;
  const std::int64_t extents[] = {n, count}, chunks[] = {chunk, 0};
  const std::int64_t strides[] = {reversed ? -1 : 1, 0, 0, 0, 0, 1};
  char *first = (char *)(reversed && n > 0 ? data.data() + n - 1 : data.data());
  char *buffers[] = {first, (char *)&z, (char *)parts.data()};
  const Frame frame{1, extents, chunks, strides, buffers};
  // The later chunks first: the order must not matter.
  for (std::int64_t c = count; c-- > 0;) {
    const std::int64_t lo[] = {c}, hi[] = {c + 1};
    interpret(p, 0, frame, lo, hi);
  }
  interpret(p, p.phases.size() - 1, frame, nullptr, nullptr);
  return z;
}

TEST_CASE("folds follow the tree of the definition, in one piece, in chunks and reversed") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (std::size_t n : {0u, 1u, 31u, 32u, 33u, 64u, 100u, 127u, 128u, 129u, 640u, 1000u, 1025u}) {
    std::vector<double> x(n);
    for (double &v : x) v = uniform(random) * std::exp2(double(random() % 60));
    for (std::size_t lanes : {1u, 32u}) {
      for (std::size_t leaf : {0u, 32u, 64u, 128u}) {
        const double expected = told(x, lanes, leaf);
        INFO("n " << n << " lanes " << lanes << " leaf " << leaf);
        const auto leaf64 = std::int64_t(leaf);
        const Program whole = whole_fold(Fold::Sum, DType::F64, int(lanes), leaf64, false);
        CHECK(run_fold(whole, x, 0, false) == expected);
        CHECK(run_fold(whole, x, 0, true) == expected);
        if (leaf == 0) continue;
        const Program cut = whole_fold(Fold::Sum, DType::F64, int(lanes), leaf64, true);
        for (std::int64_t leaves : {1, 2, 4, 16})
          CHECK(run_fold(cut, x, leaf64 * leaves, leaves == 2) == expected);
      }
    }
  }
}

} // namespace
} // namespace broadloom::loop
