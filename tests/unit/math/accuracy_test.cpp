// `set accuracy`: which form of a function a kernel runs, in every engine.
//
// The forms themselves are tested in math_test.cpp and math_hashes_test.cpp.
#include "tests/unit/loop_programs.hpp"

#include "jit/math/array_table.hpp"
#include "jit/native/target.hpp"
#include "math/scalar.hpp"
#include "spec/spec.hpp"
#include "support/check.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace broadloom {
namespace {

constexpr Accuracy all_modes[] = {Accuracy::high, Accuracy::exact, Accuracy::fast};

std::string setting(Accuracy accuracy) {
  return "set accuracy = " + std::string(jit::word_for(accuracy)) + "; ";
}

// exp(x), x ^ y, hypot(x, y), ..
std::string call(const math::ScalarFunction &f) {
  if (f.name == "pow") return "x ^ y";
  return std::string(f.name) + (f.arity == 2 ? "(x, y)" : "(x)");
}

// Every function of ours on its own, and one inside a fold.
std::string all_functions() {
  std::string outputs;
  for (const math::ScalarFunction &f : math::vector_functions())
    outputs += "; out z_" + std::string(f.name) + " = " + call(f);
  return outputs + "; out total = sum(exp(x))";
}

Kernel kernel_of(Accuracy accuracy, const std::string &outputs, Engine engine,
                 const std::string &target = {}, const std::string &defs = {}) {
  const std::string text =
      defs + "kernel k { " + setting(accuracy) + "in x : f32[i]; in y : f32[i]" + outputs + " }";
  return compile(parse(text), {.threads = 1, .target = target, .engine = engine});
}

struct Inputs {
  std::vector<float> x, y;
};
Inputs inputs_of(int n) {
  Inputs in;
  for (int k = 0; k < n; ++k) {
    in.x.push_back(k % 11 == 3 ? INFINITY : std::ldexp(float(k * 37 % 101 - 40), k % 5 - 6));
    in.y.push_back(k % 13 == 5 ? NAN : float(k * 53 % 29 - 9) / 7);
  }
  return in;
}

// All outputs as bits, NaNs as one.
std::vector<std::uint32_t> bits_of(const Kernel &kernel, const Inputs &in) {
  const auto n = std::int64_t(in.x.size());
  const Results results = kernel(
      {{"x", View<const float>(in.x.data(), {n})}, {"y", View<const float>(in.y.data(), {n})}});
  std::vector<std::uint32_t> bits;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Array &array = results[k];
    REQUIRE(array.dtype() == f32);
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const float value = array.data<float>()[i];
      bits.push_back(std::isnan(value) ? 0x7fc00000 : std::bit_cast<std::uint32_t>(value));
    }
  }
  return bits;
}

TEST_CASE("each mode gives the same bits in native code and interpreted, at every tail length") {
  const std::string outputs = all_functions();
  for (const Accuracy accuracy : all_modes) {
    const Kernel interpreted = kernel_of(accuracy, outputs, Engine::interpreter);
    for (const std::string &target : jit::targets_here()) {
      INFO(target << ", " << jit::word_for(accuracy));
      const Kernel native = kernel_of(accuracy, outputs, Engine::jit, target);
      for (int n = 1; n <= 70; ++n) {
        INFO(n << " elements");
        CHECK(bits_of(native, inputs_of(n)) == bits_of(interpreted, inputs_of(n)));
      }
    }
  }
}

// An argument where the mode's own form and the high form differ, if one is found soon.
struct Difference {
  float x = 0, y = 0, own = 0, high = 0;
  bool found = false;
};
Difference difference_of(const math::ModeForm &form) {
  const math::ScalarFunction &high = *math::find_function(form.name);
  Difference d;
  for (std::uint64_t bits = 0x3d000000; bits < 0x42000000 && !d.found; bits += 997) {
    d.x = std::bit_cast<float>(std::uint32_t(bits));
    d.y = 1.37f;
    d.own = form.unary ? form.unary(d.x) : form.binary(d.x, d.y);
    d.high = form.unary ? high.unary_f32(d.x) : high.binary_f32(d.x, d.y);
    d.found = !std::isnan(d.own) && d.own != d.high;
  }
  return d;
}

TEST_CASE("a function with a form of its own for the mode runs that form, in every engine") {
  int differences = 0;
  for (const math::ScalarFunction &f : math::vector_functions()) {
    for (const Accuracy accuracy : {Accuracy::exact, Accuracy::fast}) {
      const math::ModeForm *form = math::find_form(f.name, accuracy);
      if (!form) continue;
      const Difference d = difference_of(*form);
      if (!d.found) continue; // as good as each other
      ++differences;
      INFO(f.name << " at " << d.x << ", " << jit::word_for(accuracy));
      const Inputs in{{d.x}, {d.y}};
      for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
        const std::string output = "; out z = " + call(f);
        CHECK(bits_of(kernel_of(accuracy, output, engine), in)[0] ==
              std::bit_cast<std::uint32_t>(d.own));
        CHECK(bits_of(kernel_of(Accuracy::high, output, engine), in)[0] ==
              std::bit_cast<std::uint32_t>(d.high));
      }
    }
  }
  CHECK(differences > 0);
}

TEST_CASE("the steps of accumulators, functions of the user and constants take the mode too") {
  const math::ModeForm *form = math::find_form("exp", Accuracy::exact);
  REQUIRE(form != nullptr);
  const Difference d = difference_of(*form);
  REQUIRE(d.found);
  char number[32]; // with all its digits
  std::snprintf(number, sizeof number, "%.9g", double(d.x));
  const std::string defs = "def grown(a) = exp(a)\n"
                           "accumulator last(t; v) {\n  init t = 0\n  step t = exp(v)\n}\n";
  const std::string outputs = std::string("; out a = grown(x); out b = last(x, acc=f32); ") +
                              "out c = x * 0 + exp(" + number + ")";
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference})
    for (const std::uint32_t bits :
         bits_of(kernel_of(Accuracy::exact, outputs, engine, {}, defs), {{d.x}, {0}}))
      CHECK(bits == std::bit_cast<std::uint32_t>(d.own));
}

// What the form of the mode gives for x in f32.
float in_f32(const math::ScalarFunction &f, Accuracy accuracy, float x) {
  const math::ModeForm *form = math::find_form(f.name, accuracy);
  return form ? form->unary(x) : f.unary_f32(x);
}

TEST_CASE_TEMPLATE("f16 and bf16 are the result of f32, rounded once, in each mode", T, float16,
                   bfloat16) {
  std::vector<T> x;
  for (int bits = 0; bits < 65536; bits += 3) x.push_back(T::from_bits(std::uint16_t(bits)));
  std::string body = "in x : " + std::string(name(dtype_of<T>())) + "[i]";
  std::vector<const math::ScalarFunction *> functions;
  for (const math::ScalarFunction &f : math::vector_functions()) {
    if (f.arity != 1) continue;
    functions.push_back(&f);
    body += "; out z_" + std::string(f.name) + " = " + call(f);
  }
  for (const Accuracy accuracy : all_modes) {
    for (const Engine engine : {Engine::automatic, Engine::interpreter}) {
      const Results results =
          compile(parse("kernel k { " + setting(accuracy) + body + " }"),
                  {.engine = engine})({{"x", View<const T>(x.data(), {std::int64_t(x.size())})}});
      for (std::size_t k = 0; k < functions.size(); ++k) {
        INFO(functions[k]->name << ", " << jit::word_for(accuracy));
        REQUIRE(results[k].dtype() == dtype_of<T>());
        int wrong = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const T found = results[k].template data<T>()[i];
          const T expected(in_f32(*functions[k], accuracy, x[i]));
          wrong += std::isnan(float(expected)) ? !std::isnan(float(found))
                                               : found.bits() != expected.bits();
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("kernels of different accuracy never share code") {
  const loop::Program high = loop::test::row_sums();
  for (const Accuracy accuracy : {Accuracy::exact, Accuracy::fast}) {
    loop::Program other = high;
    other.accuracy = accuracy;
    CHECK(loop::key(other) != loop::key(high));
    CHECK(loop::print(other).find("  accuracy " + std::string(jit::word_for(accuracy)) + "\n") !=
          std::string::npos);
    loop::verify(other);
  }
  CHECK(loop::print(high).find("accuracy") == std::string::npos);
  loop::Program broken = high;
  broken.accuracy = Accuracy(7);
  CHECK_THROWS_AS(loop::verify(broken), support::InternalError);
}

TEST_CASE("the kernel of the derivatives keeps the accuracy") {
  const LoopSpec spec = parse("kernel k { set accuracy = exact; in x : f32[i]; out z = exp(x) }");
  const std::vector<std::string> wrt = {"x"};
  CHECK(print(gradient(spec, wrt)).find("set accuracy = exact") != std::string::npos);
}

} // namespace
} // namespace broadloom
