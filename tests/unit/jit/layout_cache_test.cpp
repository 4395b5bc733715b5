// The layouts that a kernel has seen, and which of them a thread called last.
#include "jit/nest/layout_cache.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace broadloom::jit {
namespace {

AnyView view_of(std::int64_t extent) {
  return {DType::F32, nullptr, true, contiguous_layout(std::vector{extent})};
}

// As a call with an input of so many elements makes it.
const Specialisation *add(LayoutCache &cache, std::int64_t extent) {
  const AnyView view = view_of(extent);
  const AnyView *operands[] = {&view};
  auto special = std::make_shared<Specialisation>();
  special->input_count = 1;
  special->key = layout_key(operands, 1);
  special->hash = layout_hash(operands);
  return cache.add(std::move(special)).get();
}

// The look-up of a call.
const Specialisation *call(const LayoutCache &cache, std::int64_t extent) {
  const AnyView view = view_of(extent);
  const AnyView *operands[] = {&view};
  const Specialisation *special = cache.find_pinned(operands, {}, cache.likely());
  cache.note(special);
  return special;
}

template <class Do> void on_another_thread(const Do &what) { std::thread(what).join(); }

} // namespace

TEST_CASE("Of a single layout nothing is noted, and it is likely in every thread") {
  LayoutCache cache;
  CHECK(cache.likely() == nullptr);
  CHECK(cache.latest() == nullptr);
  const Specialisation *only = add(cache, 16);
  CHECK(cache.likely() == only);
  CHECK(cache.latest().get() == only);
  on_another_thread([&] {
    CHECK(cache.likely() == only);
    CHECK(cache.latest().get() == only);
  });
}

TEST_CASE("A thread's latest layout is likely whatever others call") {
  LayoutCache cache;
  const Specialisation *first = add(cache, 16), *second = add(cache, 8);
  CHECK(cache.likely() == second);
  CHECK(call(cache, 16) == first);
  CHECK(cache.likely() == first);
  on_another_thread([&] {
    CHECK(cache.likely() == nullptr);     // it has called none
    CHECK(cache.latest().get() == first); // that of the other thread
    CHECK(call(cache, 8) == second);
    CHECK(cache.likely() == second);
    CHECK(cache.latest().get() == second);
  });
  CHECK(cache.likely() == first);
  CHECK(cache.latest().get() == first);
}

TEST_CASE("Calls that alternate between layouts write nothing that all threads read") {
  LayoutCache cache;
  const Specialisation *first = add(cache, 16), *second = add(cache, 8);
  std::vector<unsigned char> before(sizeof cache), after(sizeof cache);
  std::memcpy(before.data(), static_cast<const void *>(&cache), sizeof cache);
  for (int turn = 0; turn < 3; ++turn) {
    CHECK(call(cache, 16) == first);
    CHECK(call(cache, 8) == second);
  }
  on_another_thread([&] { CHECK(call(cache, 16) == first); });
  std::memcpy(after.data(), static_cast<const void *>(&cache), sizeof cache);
  CHECK(before == after);
}

TEST_CASE("After a layout that is not pinned the latest one is still told") {
  LayoutCache cache;
  for (std::int64_t extent = 1; extent <= 12; ++extent) add(cache, extent);
  const Specialisation *more = add(cache, 13);
  CHECK(cache.likely() == nullptr);
  CHECK(cache.latest().get() == more);
  CHECK(call(cache, 3)->key[0] == 3);
  CHECK(cache.latest()->key[0] == 3);
}

TEST_CASE("Stages are shown for the layouts of this thread's latest call") {
  const Kernel kernel = compile(parse("kernel twice { in x: f32[i]; out y = x * 2 }"));
  std::vector<float> x(64, 1.0f), y(64);
  const auto run = [&](int extent) {
    kernel.run({View<const float>(x.data(), {extent})}, {View<float>(y.data(), {extent})});
  };
  // Of one element there is no loop.
  const auto shows_loop = [&] {
    return kernel.show(Stage::loop).find("for i") != std::string::npos;
  };
  run(37);
  run(1);
  CHECK_FALSE(shows_loop());
  run(37);
  CHECK(shows_loop());
  on_another_thread([&] {
    CHECK(shows_loop());
    run(1);
    CHECK_FALSE(shows_loop());
  });
  CHECK(shows_loop());
}

} // namespace broadloom::jit
