// What the threads of a warp share, join and step in order: random kernels that are long enough for
// it, in threads that this processor plays, have the bits of the interpreter.
#include "random.hpp"
#include "same_bits.hpp"

#include "jit/runtime/paths.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

namespace broadloom::differential {
namespace {

Array filled(Random &random, DType dtype, const std::vector<std::int64_t> &shape) {
  const Layout layout = contiguous_layout(shape);
  Array numbers(DType::F64, {element_count(layout)});
  for (std::int64_t k = 0; k < numbers.size(); ++k)
    numbers.data<double>()[k] = random.unit() * 40 - 12;
  const std::string text =
      "kernel fill { in x : f64[i]; out y : " + std::string(name(dtype)) + " = x }";
  const auto cast = std::make_shared<Array>(compile(parse(text))({{"x", numbers}})["y"]);
  return Array(cast, dtype, cast->raw(), layout);
}

// On memory of the process, and on a device, where a phase is launched as a whole.
void agree(const std::string &text, const std::vector<NamedView> &inputs) {
  INFO(text);
  const LoopSpec spec = parse(text);
  const Results want = compile(spec, {.engine = Engine::interpreter}).call(inputs);
  const Results got =
      compile(spec, {.target = "warp", .engine = Engine::jit, .profile = Profile::paths})
          .call(inputs);
  const Device device("played");
  std::vector<Array> arrays;
  std::vector<NamedView> moved;
  for (const NamedView &input : inputs) arrays.push_back(device.to_device(input.view));
  for (std::size_t k = 0; k < inputs.size(); ++k) moved.push_back({inputs[k].name, arrays[k]});
  const Results there = compile(spec, {.device = device.name()}).call(moved);
  for (std::size_t k = 0; k < want.size(); ++k) {
    CHECK(same_bits(want[k], got[k]));
    CHECK(same_bits(want[k], device.to_host(there[k])));
  }
}

std::uint64_t taken(jit::Path path) { return jit::path_counts()[std::size_t(path)]; }

} // namespace

TEST_CASE("operands that lie across are transposed in memory that a warp shares, to the bit") {
  const std::uint64_t before = taken(jit::Path::TileOfThreads);
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Random random(seed);
    const std::int64_t rows = random.between(16, 150), columns = random.between(16, 150);
    const std::vector<DType> dtypes{DType::F32, DType::F64, DType::I16, DType::U8,
                                    DType::I64, DType::F16, DType::BF16};
    const DType a = random.pick(dtypes), b = random.pick(dtypes), c = random.pick(dtypes);
    const auto declared = [](const char *what, DType dtype, const char *axes) {
      return std::string("in ") + what + " : " + std::string(name(dtype)) + axes + "; ";
    };
    const Array of_a = filled(random, a, {rows, columns}),
                of_b = filled(random, b, {columns, rows}),
                of_c = filled(random, c, {columns, rows});
    const bool two = random.chance(50);
    agree("kernel k { " + declared("a", a, "[i, j]") + declared("b", b, "[j, i]") +
              declared("c", c, "[j, i]") + "out z[i, j] = f64(a) - f64(b)" +
              (two ? " * f64(c)" : "") + "; out w[j] = c[j, 0] }",
          {{"a", of_a}, {"b", of_b}, {"c", of_c}});
  }
  CHECK(taken(jit::Path::TileOfThreads) > before);
}

TEST_CASE(
    "what chunks of long folds and scans come to is joined, and stepped, by a warp, to the bit") {
  const std::uint64_t joins = taken(jit::Path::LeavesInLanes);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Random random(seed);
    const std::int64_t n = random.between(270000, 330000);
    const DType dtype = random.pick<DType>({DType::F32, DType::F64, DType::I32});
    const Array x = filled(random, dtype, {n});
    const std::string in = "kernel k { in x : " + std::string(name(dtype)) + "[i]; ";
    agree(in + "out s = sum(x); out m = argmax(x); out v = var(x) }", {{"x", x}});
    const std::string how = random.pick<std::string>({"", ", reverse", ", exclusive"});
    agree(in + "out y = scan(sum, x, i" + how + ") }", {{"x", x}});
  }
  CHECK(taken(jit::Path::LeavesInLanes) > joins);
}

TEST_CASE(
    "scans whose steps come one after the other are stepped by all threads of a warp, to the bit") {
  const std::uint64_t before = taken(jit::Path::ScanChain);
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    Random random(seed);
    const std::int64_t n = random.between(1, 400);
    const DType dtype = random.pick<DType>({DType::F32, DType::F64, DType::I16});
    const Array x = filled(random, dtype, {n});
    const std::string scan = random.pick<std::string>({"var", "logsumexp"});
    const std::string how = random.pick<std::string>({"", ", reverse", ", exclusive"});
    agree("kernel k { in x : " + std::string(name(dtype)) + "[i]; out y = scan(" + scan + ", x, i" +
              how + ") + x }",
          {{"x", x}});
  }
  CHECK(taken(jit::Path::ScanChain) > before);
}

} // namespace broadloom::differential
