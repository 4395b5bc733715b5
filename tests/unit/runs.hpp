// Runs a loop program in several ways and in the interpreter, on memory that ends at forbidden
// pages, and compares every byte that was written.
#pragma once

#include "loop/loop.hpp"
#include "ops/ops.hpp"

#include <doctest/doctest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::loop::test {

// Bytes that either end or begin exactly where no access is allowed.
class Guarded {
public:
  Guarded(std::size_t bytes, bool at_end) : bytes_(bytes) {
    constexpr std::size_t page = 4096;
    const std::size_t inside = (bytes + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    map_ =
        static_cast<char *>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(map_ != MAP_FAILED);
    if (inside > 0) REQUIRE(mprotect(map_ + page, inside, PROT_READ | PROT_WRITE) == 0);
    data_ = map_ + page + (at_end ? inside - bytes : 0);
    std::memset(data_, 0xAB, bytes_);
  }
  Guarded(Guarded &&other) noexcept
      : map_(std::exchange(other.map_, nullptr)), data_(other.data_), mapped_(other.mapped_),
        bytes_(other.bytes_) {}
  ~Guarded() {
    if (map_ != nullptr) munmap(map_, mapped_);
  }
  char *data() const { return data_; }
  std::size_t size() const { return bytes_; }

private:
  char *map_, *data_;
  std::size_t mapped_, bytes_;
};

// The values at which operations change their mind, then random ones.
inline std::vector<double> special_values(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  std::vector<double> v{0, 1, 2, 3, 5, 7, 8, 31, 33, 63, 100};
  if (is_float(real_dtype(dtype))) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const double x : {0.5, 1.5, 2.5, 0.3, 1e-3, 1e10, 2147483647.0, 2147483648.0, 4294967296.0,
                           9.3e18, 1.9e19, 1e-40, 3e38, 88.8, 255.7, 127.5, 32768.0, 65536.0})
      v.push_back(x);
    v.push_back(inf);
    const std::size_t count = v.size();
    for (std::size_t k = 0; k < count; ++k) v.push_back(-v[k]);
    v.push_back(std::nan(""));
  } else if (is_signed_integer(dtype)) {
    for (const double x : {-1., -2., -3., -7., -8., -64., -100.}) v.push_back(x);
    v.push_back(-std::ldexp(1, 8 * int(size_of(dtype)) - 1));
  } else {
    v.push_back(std::ldexp(1, 8 * int(size_of(dtype)) - 1));
  }
  return v;
}

// A phase on a box of its parallel axes, as `interpret`.
struct Runner {
  std::string name;
  std::function<void(std::size_t phase, const Frame &, const std::int64_t *lo,
                     const std::int64_t *hi)>
      run;
};

class Runs {
public:
  Runs(Program program, std::vector<Runner> runners)
      : program_(std::move(program)), runners_(std::move(runners)) {
    verify(program_);
  }

  std::vector<std::int64_t> extents, chunks; // by axis; chunks may stay empty
  int spread = 2;                            // the innermost stride of a buffer without a unit one
  bool reversed = false;                     // strides that are not unit are negative
  bool at_end = true;                        // where the forbidden page lies
  bool parts = false;                        // cut the parallel box in two
  bool special = true;                       // inputs hold special values

  // Runs in all ways and compares all outputs.
  void agree() {
    for (const std::string &difference : differences()) FAIL_CHECK(difference);
  }

  // What differs, buffer by buffer.
  std::vector<std::string> differences() {
    if (chunks.empty()) chunks.assign(program_.axes.size(), 0);
    const auto told = run({"interpreter", [&](std::size_t phase, const Frame &frame,
                                              const std::int64_t *lo, const std::int64_t *hi) {
                             interpret(program_, phase, frame, lo, hi);
                           }});
    std::vector<std::string> found;
    for (const Runner &runner : runners_) compare(runner, run(runner), told, found);
    return found;
  }

private:
  void compare(const Runner &runner, const std::vector<Guarded> &found,
               const std::vector<Guarded> &told, std::vector<std::string> &differences) const {
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer &buffer = program_.buffers[b];
      if (buffer.role == Role::Row) continue; // lanes may have rows of their own
      const std::size_t size = size_of(buffer.dtype);
      std::size_t wrong = 0, first = 0;
      for (std::size_t at = 0; at < found[b].size(); at += size) {
        if (same(found[b].data() + at, told[b].data() + at, buffer.dtype)) continue;
        if (wrong++ == 0) first = at / size;
      }
      if (wrong == 0) continue;
      differences.push_back(
          program_.name + " by " + runner.name + " differs from the interpreter: " + "buffer " +
          buffer.name + ": " + std::to_string(wrong) + " of " +
          std::to_string(found[b].size() / size) + " elements, first " + std::to_string(first) +
          ": " + text(found[b].data() + first * size, buffer.dtype) + ", interpreter " +
          text(told[b].data() + first * size, buffer.dtype));
    }
  }

  static bool same(const char *a, const char *b, DType dtype) {
    if (std::memcmp(a, b, size_of(dtype)) == 0) return true;
    const ops::Scalar x = ops::load(a, dtype), y = ops::load(b, dtype);
    const auto same_part = [&](std::uint64_t p, std::uint64_t q) {
      return p == q || (std::isnan(number(p, dtype)) && std::isnan(number(q, dtype)));
    };
    return same_part(x.bits, y.bits) && same_part(x.imag, y.imag);
  }
  static double number(std::uint64_t part, DType dtype) {
    return ops::as_f64(ops::convert({part}, real_dtype(dtype), DType::F64));
  }
  static std::string text(const char *at, DType dtype) {
    const ops::Scalar value = ops::load(at, dtype);
    char out[64];
    std::snprintf(out, sizeof out, "%.17g", number(value.bits, dtype));
    if (!is_complex(dtype)) return out;
    std::string both = out;
    std::snprintf(out, sizeof out, " + %.17g j", number(value.imag, dtype));
    return both + out;
  }

  std::vector<Guarded> run(const Runner &runner) {
    const std::size_t axes = program_.axes.size();
    std::vector<std::int64_t> strides(program_.buffers.size() * axes, 0);
    std::vector<Guarded> memory;
    std::vector<char *> bases;
    std::mt19937_64 random(7);
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer &buffer = program_.buffers[b];
      std::int64_t next = 1, low = 0, high = 0;
      bool empty = false;
      for (std::size_t w = buffer.walks.size(); w-- > 0;) {
        const Walk &walk = buffer.walks[w];
        const std::int64_t extent = extents[walk.axis.index];
        empty = empty || extent == 0;
        const int step = loop::step_of(walk.stride);
        const bool known = step != 0, unit = step == 1;
        std::int64_t stride = known ? step : next * (next == 1 ? spread : 1);
        if (is_row_in_lanes(buffer)) stride = row_lanes;
        next = std::abs(stride) * std::max<std::int64_t>(extent, 1) + (unit ? 3 : 0);
        if (!known && reversed && buffer.role != Role::Row) stride = -stride;
        strides[b * axes + walk.axis.index] = stride;
        (stride < 0 ? low : high) += stride * std::max<std::int64_t>(extent - 1, 0);
      }
      if (is_row_in_lanes(buffer)) high += row_lanes - 1; // of the last position
      const std::int64_t size = std::int64_t(size_of(buffer.dtype));
      memory.emplace_back(std::size_t(empty ? 0 : (high - low + 1) * size), at_end);
      bases.push_back(memory.back().data() - (empty ? 0 : low * size));
      if (buffer.role == Role::Input) fill(memory.back(), buffer.dtype, b, random);
    }
    const Frame frame{1, extents.data(), chunks.data(), strides.data(), bases.data()};
    for (std::size_t p = 0; p < program_.phases.size(); ++p) {
      std::vector<std::int64_t> lo, hi;
      for (const AxisId axis : program_.phases[p].parallel) {
        lo.push_back(0);
        hi.push_back(extents[axis.index]);
      }
      const auto box = [&] { runner.run(p, frame, lo.data(), hi.data()); };
      if (!parts || lo.empty()) {
        box();
        continue;
      }
      const std::int64_t end = hi.back(), middle = end / 3;
      lo.back() = middle;
      box();
      lo.back() = 0, hi.back() = middle;
      box();
    }
    return memory;
  }

  void fill(const Guarded &memory, DType dtype, std::size_t buffer, std::mt19937_64 &random) const {
    const std::vector<double> values = special_values(dtype);
    const std::size_t size = size_of(dtype), count = memory.size() / size;
    for (std::size_t k = 0; k < count; ++k) {
      // The first input runs through all values for each value of the second, and so on.
      std::size_t pick = k;
      for (std::size_t b = 0; b < buffer; ++b) pick /= values.size();
      double value = values[pick % values.size()];
      if (!special || pick / values.size() > 0) {
        if (!special || k % 3 == 0) value = std::uniform_real_distribution<>(-50, 50)(random);
      }
      ops::Scalar element = ops::convert(ops::scalar_from(value), DType::F64, dtype);
      if (is_complex(dtype)) { // any two special values meet in one number
        const double other = values[(k / 2 + k / values.size() + 7 * buffer) % values.size()];
        element.imag = ops::convert(ops::scalar_from(other), DType::F64, dtype).bits;
      }
      ops::store(memory.data() + k * size, dtype, element);
      if (dtype == DType::Bool && value != 0) memory.data()[k] = char(k % 5 + 1);
    }
  }

  Program program_;
  std::vector<Runner> runners_;
};

} // namespace broadloom::loop::test
