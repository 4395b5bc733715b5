// Memory of arrays: see src/array/memory.hpp.
#include "array/memory.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace bl = broadloom;
using namespace broadloom::array;

namespace {

constexpr std::size_t MiB = std::size_t(1) << 20;

std::int64_t nonzero(const std::shared_ptr<void> &memory, std::size_t bytes) {
  const auto *first = static_cast<const unsigned char *>(memory.get());
  return std::count_if(first, first + bytes, [](unsigned char byte) { return byte != 0; });
}

} // namespace

TEST_CASE("Memory of a large output goes to the next output of its size") {
  release_kept();
  void *first = written_memory(8 * MiB).get();
  CHECK(kept_bytes() == (keeps_memory ? 8 * MiB : 0));
  const auto second = written_memory(7 * MiB);
  if (keeps_memory) CHECK(second.get() == first);
  CHECK(kept_bytes() == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(second.get()) % (2 * MiB) == 0);
}

TEST_CASE("An output of half the size does not hold on to memory of a large one") {
  release_kept();
  written_memory(8 * MiB).reset();
  const auto half = written_memory(4 * MiB);
  CHECK(kept_bytes() == (keeps_memory ? 8 * MiB : 0));
}

TEST_CASE("Zeroed memory is zero though memory of its size was written before") {
  release_kept();
  {
    const auto written = written_memory(4 * MiB);
    std::fill_n(static_cast<unsigned char *>(written.get()), 4 * MiB, 1);
  }
  CHECK(nonzero(zeroed_memory(4 * MiB), 4 * MiB) == 0);
  CHECK(nonzero(zeroed_memory(1000), 1000) == 0);
}

TEST_CASE("Kept memory has a limit, the oldest goes first, and all of it can be released") {
  release_kept();
  {
    std::vector<std::shared_ptr<void>> many;
    for (int k = 0; k < 5; ++k) many.push_back(written_memory(64 * MiB));
  }
  CHECK(kept_bytes() == (keeps_memory ? most_kept_bytes : 0));
  written_memory(most_kept_bytes + 1).reset(); // too large to keep: nothing else must go for it
  CHECK(kept_bytes() == (keeps_memory ? most_kept_bytes : 0));
  bl::release_kept_memory();
  CHECK(kept_bytes() == 0);
}

TEST_CASE("Memory that nobody has gives null, not an overflow") {
  CHECK(written_memory(SIZE_MAX) == nullptr);
  CHECK(written_memory(SIZE_MAX / 2) == nullptr);
  CHECK(zeroed_memory(SIZE_MAX - 1) == nullptr);
}

TEST_CASE("Threads take and give back memory at the same time") {
  release_kept();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int k = 0; k < 200; ++k) {
        const auto memory = written_memory((2 + std::size_t(k + t) % 3) * MiB);
        static_cast<unsigned char *>(memory.get())[k] = 1;
      }
    });
  threads.clear();
  CHECK(kept_bytes() <= most_kept_bytes);
  release_kept();
}

TEST_CASE("An output that is added to starts from zeros, whatever its memory held") {
  release_kept();
  const std::int64_t n = std::int64_t(MiB);
  const bl::Array x(bl::f32, {n});
  std::fill_n(x.data<float>(), n, 3.0f);
  const bl::Kernel twice = bl::compile(bl::parse("kernel k { in x : f32[:]; out z = x + x }"));
  const bl::Kernel add = bl::compile(bl::parse("kernel k { in x : f32[:]; out z += x }"));
  CHECK(twice({{"x", x}})["z"].data<float>()[n - 1] == 6);
  CHECK(add({{"x", x}})["z"].data<float>()[n - 1] == 3);
}
