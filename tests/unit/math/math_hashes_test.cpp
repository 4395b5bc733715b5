// The bits of the math: one stored hash for each function, type and accuracy mode.
//
// Problem: a change of compiler, flags or source may move a last bit here and there, which no bound
// on the error notices, and the promise is the same bits everywhere.
// Method: each form runs over a stride of f32 or a list of samples, and a hash of all results (NaNs
// as one) is compared with tests/unit/math_hashes.txt: scalar, AVX2 and AVX-512 form with the same
// one. `./dev bless` rewrites the file. broadloom-prove does this over all 2^32 arguments.
#include "jit/math/array_table.hpp"
#include "tests/places.hpp"
#include "tools/prove/samples.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace jit = broadloom::jit;
namespace prove = broadloom::prove;

namespace {

constexpr std::uint64_t stride = 40009; // over the bit patterns of f32
constexpr std::uint64_t samples = 60000;

template <class T> struct Arguments {
  std::vector<T> x, y;
};

template <class T> Arguments<T> arguments(int arity) {
  Arguments<T> result;
  const auto add = [&](T x, T y) {
    result.x.push_back(x);
    result.y.push_back(y);
  };
  if (sizeof(T) == 4 && arity == 1) {
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += stride)
      add(T(std::bit_cast<float>(std::uint32_t(bits))), 0);
  } else if (arity == 1) {
    for (std::uint64_t i = 0; i < samples; ++i) add(prove::sample<T>(i), 0);
  } else {
    for (std::uint64_t i = 0; i < samples; ++i) {
      const auto [x, y] = prove::sample_pair<T>(i);
      add(x, y);
    }
  }
  return result;
}

template <class T> std::string hash_of(const Arguments<T> &args, jit::OverArrays<T> form) {
  std::vector<T> results(args.x.size());
  form(results.size(), args.x.data(), args.y.data(), results.data());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < results.size(); ++i)
    sum += prove::fingerprint(args.x[i], args.y[i], results[i]);
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

// "exp f32 high" and its hash, in the order of the table.
using Hashes = std::vector<std::pair<std::string, std::string>>;

template <class T> void add_hashes(Hashes &hashes) {
  const Arguments<T> one = arguments<T>(1), two = arguments<T>(2);
  for (const jit::ArrayForm<T> &form : jit::array_forms<T>()) {
    const Arguments<T> &args = form.arity == 1 ? one : two;
    const std::string name = std::string(form.name) + (sizeof(T) == 4 ? " f32 " : " f64 ") +
                             std::string(jit::word_for(form.accuracy));
    CAPTURE(name);
    const std::string scalar = hash_of(args, form.scalar);
    if (jit::has_v3()) CHECK(hash_of(args, form.v3) == scalar);
    if (jit::has_v4()) CHECK(hash_of(args, form.v4) == scalar);
    hashes.emplace_back(name, scalar);
  }
}

} // namespace

TEST_CASE("the bits of the math are those that were stored, in every form") {
  Hashes found;
  add_hashes<float>(found);
  add_hashes<double>(found);

  const auto path = std::filesystem::path(BROADLOOM_SOURCE_DIR) / "tests/unit/math_hashes.txt";
  if (std::getenv("BROADLOOM_BLESS")) {
    std::ofstream file(path);
    for (const auto &[name, hash] : found) file << name << ' ' << hash << '\n';
    return;
  }
  std::map<std::string, std::string> stored;
  std::ifstream file(path);
  for (std::string name, type, mode, hash; file >> name >> type >> mode >> hash;)
    stored[name + ' ' + type + ' ' + mode] = hash;
  for (const auto &[name, hash] : found) {
    CAPTURE(name);
    CHECK_MESSAGE(stored[name] == hash, "if the change of bits is meant: ./dev bless");
    stored.erase(name);
  }
  CHECK_MESSAGE(stored.empty(), "functions that are gone: ./dev bless");
}
