// Operands of products that are packed: see src/plan/panels.hpp.
#include "jit/native/target.hpp"
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

const char *const product = "kernel k { in a : f64[i, k]; in b : f64[k, j]\n"
                            "out c = sum(a * b, k) }";

Array counting(DType dtype, std::initializer_list<std::int64_t> shape) {
  const Array array(dtype, shape);
  for (std::int64_t k = 0; k < array.size(); ++k) {
    const double value = double(k * 37 % 251) * 0.25 - 20;
    if (dtype == f64) array.data<double>()[k] = value / 3;
    if (dtype == f32) array.data<float>()[k] = float(value) / 3;
    if (dtype == i32) array.data<std::int32_t>()[k] = std::int32_t(value * 4);
  }
  return array;
}

bool equal(const Array &a, const Array &b) {
  const auto bytes = std::size_t(a.size()) * size_of(a.dtype());
  return std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end()) &&
         std::memcmp(a.copy().raw(), b.copy().raw(), bytes) == 0;
}

struct Packed {
  std::vector<std::string> inputs;
  std::size_t phases = 0;
  friend bool operator==(const Packed &, const Packed &) = default;
};

// Native code for both targets and the interpreter give the same bits, for one thread and for
// several. What is packed?
Packed packs(const std::string &text, const std::vector<Array> &inputs) {
  const LoopSpec spec = parse(text);
  std::vector<NamedView> named;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < inputs.size(); ++k) names.push_back(std::string(1, "abxy"[k]));
  for (std::size_t k = 0; k < inputs.size(); ++k) named.push_back({names[k], inputs[k]});
  const Kernel kernel = compile(spec);
  const Results ours = kernel.call(named);
  const auto same = [&](const Options &options) {
    const Results theirs = compile(spec, options).call(named);
    for (std::size_t k = 0; k < ours.size(); ++k) CHECK(equal(ours[k], theirs[k]));
  };
  same({.engine = Engine::interpreter});
  same({.threads = 3});
  same({.target = jit::targets_here().front()});
  Packed packed;
  for (const Decision &decision : kernel.why()) {
    if (decision.code == "operand-packed") packed.inputs.push_back(decision.subject);
    packed.phases += decision.topic == "phase";
  }
  return packed;
}

Packed of(std::vector<std::string> inputs, std::size_t phases) {
  return {std::move(inputs), phases};
}

} // namespace

TEST_CASE("What the rows of a product share is packed, where it is larger than the nearest cache") {
  CHECK(packs(product, {counting(f64, {140, 130}), counting(f64, {130, 99})}) == of({"b"}, 2));
  CHECK(packs(product, {counting(f64, {128, 300}), counting(f64, {300, 64})}) == of({"b"}, 2));
  CHECK(packs(product, {counting(f64, {140, 16}), counting(f64, {16, 99})}) == of({}, 1));
}

TEST_CASE("Few rows, few columns or few steps are not worth a panel") {
  CHECK(packs(product, {counting(f64, {100, 130}), counting(f64, {130, 99})}) == of({}, 1));
  CHECK(packs(product, {counting(f64, {140, 500}), counting(f64, {500, 5})}) == of({}, 1));
  CHECK(packs(product, {counting(f64, {140, 9}), counting(f64, {9, 1100})}) == of({}, 1));
}

TEST_CASE("Panels are filled from operands of any strides") {
  const Array a = counting(f64, {140, 130});
  CHECK(packs(product, {a, counting(f64, {99, 130}).transposed()}).phases <= 2);
  CHECK(packs(product, {counting(f64, {130, 140}).transposed(), counting(f64, {130, 99})}) ==
        of({"b", "a"}, 3));
  CHECK(packs("kernel k { in a : f64[k, i]; in b : f64[j, k]\n out c = sum(a * b, k) }",
              {counting(f64, {130, 140}), counting(f64, {99, 130})})
            .phases == 3);
}

TEST_CASE("Products of all types that accumulate are packed") {
  const std::string f32_in_f64 = "kernel k { in a : f32[i, k]; in b : f32[k, j]\n"
                                 "out c = sum(a * b, k) }";
  const std::string f32_alone = "kernel k { in a : f32[i, k]; in b : f32[k, j]\n"
                                "out c = sum(a * b, k, acc=f32) }";
  const std::string integers = "kernel k { in a : i32[i, k]; in b : i32[k, j]\n"
                               "out c = sum(a * b, k) }";
  const std::string greatest = "kernel k { in a : f32[i, k]; in b : f32[k, j]\n"
                               "out c = max(a + b, k) }";
  for (const std::string &text : {f32_in_f64, f32_alone, greatest})
    CHECK(packs(text, {counting(f32, {140, 130}), counting(f32, {130, 165})}) == of({"b"}, 2));
  CHECK(packs(integers, {counting(i32, {140, 130}), counting(i32, {130, 165})}) == of({"b"}, 2));
}

TEST_CASE("What is made of a product is made in its loops, but functions have loops of their own") {
  CHECK(packs("kernel k { in a : f32[i, k]; in b : f32[k, j]; in x : f32[j]; in y : f32[i, j]\n"
              "out c = gelu(sum(a * b, k) + x) * y }",
              {counting(f32, {140, 130}), counting(f32, {130, 99}), counting(f32, {99}),
               counting(f32, {140, 99})}) == of({"b"}, 3));
  CHECK(packs("kernel k { in a : f32[i, k]; in b : f32[k, j]; in x : f32[j]; in y : f32[i, j]\n"
              "out c = relu(sum(a * b, k) + x) * y }",
              {counting(f32, {140, 130}), counting(f32, {130, 99}), counting(f32, {99}),
               counting(f32, {140, 99})}) == of({"b"}, 2));
}

TEST_CASE("Batches of products have panels for each") {
  CHECK(packs("kernel k { in a : f64[n, i, k]; in b : f64[n, k, j]\n out c = sum(a * b, k) }",
              {counting(f64, {3, 130, 80}), counting(f64, {3, 80, 70})}) == of({"b"}, 2));
  CHECK(packs("kernel k { in a : f64[n, i, k]; in b : f64[k, j]\n out c = sum(a * b, k) }",
              {counting(f64, {3, 130, 80}), counting(f64, {80, 70})}) == of({"b"}, 2));
}

TEST_CASE("Two products share a panel, and others read the operand as it lies") {
  CHECK(packs("kernel k { in a : f64[i, k]; in b : f64[k, j]; in x : f64[i, k]\n"
              "out c = sum(a * b, k)\n out d = sum(x * b, k)\n out e = b * 2 }",
              {counting(f64, {140, 130}), counting(f64, {130, 99}), counting(f64, {140, 130})})
            .inputs == std::vector<std::string>{"b"});
  CHECK(packs("kernel k { in a : f32[i, k]; in b : f32[k, j]\n"
              "out c = sum(a * b, k)\n out d = sum(a - b, k, acc=f32)\n out e = sum(b, k) }",
              {counting(f32, {140, 130}), counting(f32, {130, 99})})
            .inputs == std::vector<std::string>{"b"});
}
