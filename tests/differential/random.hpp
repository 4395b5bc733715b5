// A small random source that gives the same numbers with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace broadloom::differential {

class Random {
public:
  explicit Random(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15u + 1) {}

  std::uint64_t bits() { return engine_(); }
  int below(int n) { return int(engine_() % std::uint64_t(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  double unit() { return double(engine_() >> 11) * 0x1p-53; }
  template <class T> const T &pick(const std::vector<T> &from) {
    return from[std::size_t(below(int(from.size())))];
  }
  template <class T> void shuffle(std::vector<T> &list) {
    for (std::size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[std::size_t(below(int(i)))]);
  }

private:
  std::mt19937_64 engine_;
};

} // namespace broadloom::differential
