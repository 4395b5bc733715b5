// What the tests of kernels call and read: small specs, and what a call threw.
#pragma once

#include "tests/unit/kernel/all_engines.hpp"

#include <broadloom/broadloom.hpp>

#include <string>
#include <vector>

namespace broadloom::tests {

inline const Options interpreted{
    .threads = 1, .target = {}, .cache_dir = {}, .engine = Engine::interpreter};

// z[i, j] = 2 x[i, j] + y[i]
inline LoopSpec scaled_rows() {
  const Expr x = input("x", f32, {"i", "j"}), y = input("y", f32, {"i"});
  return LoopSpec("scaled_rows").out("z", x * 2 + y);
}

// z = a + 1, w = a * b
inline LoopSpec two_outputs() {
  const Expr a = input("a", f64, 1), b = input("b", f64, 1);
  return LoopSpec("two").out("z", a + 1).out("w", a * b);
}

inline LoopSpec row_sums() {
  const Expr x = input("x", f32, {"i", "j"});
  return LoopSpec("row_sums").out("s", sum(x, "j"));
}

struct Caught {
  std::string code, message, help;
};
template <class F> Caught error_of(const F &call) {
  try {
    call();
  } catch (const Error &error) {
    return {error.code(), error.message(), error.help()};
  }
  return {};
}

inline bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

inline const std::vector<Engine> engines = {Engine::interpreter, Engine::automatic,
                                            Engine::reference};

} // namespace broadloom::tests
