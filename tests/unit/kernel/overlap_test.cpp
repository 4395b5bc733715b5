// Self-overlap and overlap of two views, against counting every element.
#include "kernel/overlap.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <vector>

using namespace broadloom;
using namespace broadloom::kernel;

namespace {

Layout layout(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  return strided_layout(shape, strides);
}

// The offsets of all elements, counted one by one.
std::multiset<std::int64_t> offsets(const Layout &layout) {
  std::multiset<std::int64_t> all = {0};
  for (int d = 0; d < layout.rank; ++d) {
    std::multiset<std::int64_t> next;
    for (const std::int64_t offset : all)
      for (std::int64_t k = 0; k < layout.extents[d]; ++k)
        next.insert(offset + k * layout.strides[d]);
    all = next;
  }
  return all;
}

bool share_a_byte(const AnyView &a, const AnyView &b) {
  const auto bytes = [](const AnyView &view) {
    std::set<std::uintptr_t> all;
    for (const std::int64_t offset : offsets(view.layout))
      for (std::size_t k = 0; k < size_of(view.dtype); ++k)
        all.insert(reinterpret_cast<std::uintptr_t>(view.data) +
                   std::uintptr_t(offset * std::int64_t(size_of(view.dtype))) + k);
    return all;
  };
  const std::set<std::uintptr_t> of_a = bytes(a);
  for (const std::uintptr_t byte : bytes(b))
    if (of_a.count(byte)) return true;
  return false;
}

Layout random_layout(std::mt19937_64 &random) {
  std::vector<std::int64_t> shape(random() % 4), strides;
  for (std::int64_t &extent : shape) extent = std::int64_t(random() % 5);
  for (std::size_t d = 0; d < shape.size(); ++d)
    strides.push_back(std::int64_t(random() % 25) - 12);
  return layout(shape, strides);
}

} // namespace

TEST_CASE("The reach of a reversed view begins below its data pointer") {
  const Reach reach = reach_of(layout({3, 4}, {4, -1}), f32);
  CHECK(reach.low == -12);
  CHECK(reach.high == 36);
}

TEST_CASE("A view without elements reaches nothing and meets nothing") {
  const Reach reach = reach_of(layout({3, 0}, {5, 1}), f64);
  CHECK(reach.low == reach.high);
  CHECK_FALSE(meet(Span{16, 16}, Span{0, 64}));
}

TEST_CASE("Ordinary views do not overlap themselves") {
  CHECK_FALSE(overlaps_itself(layout({4, 5}, {5, 1})));
  CHECK_FALSE(overlaps_itself(layout({4, 5}, {1, 4})));
  CHECK_FALSE(overlaps_itself(layout({4, 5}, {-10, 2})));
  CHECK_FALSE(overlaps_itself(layout({1, 5}, {0, 1})));
  CHECK_FALSE(overlaps_itself(layout({5, 0}, {0, 0})));
  CHECK_FALSE(overlaps_itself(layout({}, {})));
}

TEST_CASE("Repeated elements and sliding windows overlap themselves") {
  CHECK(overlaps_itself(layout({4, 5}, {0, 1})));
  CHECK(overlaps_itself(layout({4, 5}, {1, 1})));
  CHECK(overlaps_itself(layout({4, 5}, {4, 1})));
}

TEST_CASE("Strides that are not nested are told apart exactly") {
  CHECK_FALSE(overlaps_itself(layout({2, 3}, {3, 2}))); // 0 2 4 3 5 7
  CHECK(overlaps_itself(layout({3, 4}, {3, 2})));       // 6 = 2 * 3 = 3 * 2
}

TEST_CASE("Self-overlap agrees with counting on random small layouts") {
  std::mt19937_64 random(7);
  for (int k = 0; k < 3000; ++k) {
    const Layout view = random_layout(random);
    const auto all = offsets(view);
    const bool expected = std::set<std::int64_t>(all.begin(), all.end()).size() != all.size();
    CAPTURE(k);
    CHECK(overlaps_itself(view) == expected);
  }
}

TEST_CASE("Interleaved and neighbouring views do not meet, shifted ones do") {
  float data[64];
  const auto view = [&](int at, std::vector<std::int64_t> shape,
                        std::vector<std::int64_t> strides) {
    return AnyView{f32, data + at, true, layout(shape, strides)};
  };
  CHECK_FALSE(elements_meet(view(0, {8}, {2}), view(1, {8}, {2})));
  CHECK_FALSE(elements_meet(view(0, {4, 4}, {8, 1}), view(4, {4, 4}, {8, 1})));
  CHECK(elements_meet(view(0, {4, 5}, {8, 1}), view(4, {4, 4}, {8, 1})));
  CHECK(elements_meet(view(0, {8}, {1}), view(7, {8}, {-1})));
  CHECK_FALSE(elements_meet(view(0, {8}, {1}), view(8, {8}, {1})));
}

TEST_CASE("Meeting of two views agrees with counting on random small layouts") {
  std::mt19937_64 random(11);
  std::vector<char> memory(4096);
  const DType dtypes[] = {u8, i16, f32, f64};
  for (int k = 0; k < 3000; ++k) {
    const auto view = [&] {
      const DType dtype = dtypes[random() % 4];
      const std::size_t at = 2048 + random() % 32 * size_of(dtype);
      return AnyView{dtype, memory.data() + at, true, random_layout(random)};
    };
    const AnyView a = view(), b = view();
    CAPTURE(k);
    CHECK(elements_meet(a, b) == share_a_byte(a, b));
  }
}

TEST_CASE("More elements than addresses overlap, however entangled the strides") {
  std::vector<std::int64_t> shape, strides;
  for (std::int64_t k = 0; k < 12; ++k) {
    shape.push_back(20);
    strides.push_back(1'000'003 + 7919 * k * k);
  }
  CHECK(overlaps_itself(layout(shape, strides)));
}

TEST_CASE("A bound call on overlapping memory reads its input as it was before each call") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[:]; out z = x * 2 }"));
  std::vector<float> memory{1, 2, 3, 4, 5};
  const BoundCall call =
      kernel.bind({View<const float>(memory.data(), {4})}, {View<float>(memory.data() + 1, {4})});
  call();
  CHECK(memory == std::vector<float>{1, 2, 4, 6, 8});
  call();
  CHECK(memory == std::vector<float>{1, 2, 4, 8, 12});
}

TEST_CASE("A bound call in place needs no copy") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[:]; out z = x * 2 }"));
  std::vector<float> memory{1, 2, 3};
  const BoundCall call =
      kernel.bind({View<const float>(memory.data(), {3})}, {View<float>(memory.data(), {3})});
  call();
  call();
  CHECK(memory == std::vector<float>{4, 8, 12});
}
