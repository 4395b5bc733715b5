// What the threads of a warp share, join and step in order: random kernels that are long enough for
// it, in threads that this processor plays, have the bits of the interpreter.
#include "random.hpp"
#include "same_bits.hpp"

#include "jit/runtime/paths.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>

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

namespace {

// Rows of an array that lies somewhere in other memory, some elements from its begin.
AnyView somewhere(const Array &whole, void *memory, std::int64_t offset, const Layout &layout) {
  char *first = static_cast<char *>(memory) + offset * std::int64_t(size_of(whole.dtype()));
  return {whole.dtype(), first, true, layout};
}

} // namespace

TEST_CASE(
    "threads move 16 bytes at once where all is aligned, and elements where it is not, to the "
    "bit") {
  const std::uint64_t maps = taken(jit::Path::MapWide), folds = taken(jit::Path::FoldWide);
  const Device device("played");
  const std::vector<DType> dtypes{DType::F32, DType::F64, DType::I16, DType::U8,
                                  DType::I64, DType::F16, DType::BF16};
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    Random random(seed);
    const bool aligned = random.chance(40);
    const std::int64_t rows = random.between(1, 5), columns = random.between(1, 900),
                       step = aligned ? (columns + 15) / 16 * 16 : columns + random.between(0, 3);
    const std::vector<std::int64_t> shape{rows, columns}, strides{step, 1}, results{rows};
    const Layout layout = strided_layout(shape, strides);
    const std::int64_t size = rows * step + 16;
    struct Operand {
      std::string name;
      Array here;
      std::int64_t offset;
      Layout layout;
    };
    std::vector<Operand> operands;
    std::string declared;
    for (const char *name : {"a", "b"}) {
      const DType dtype = random.pick(dtypes);
      operands.push_back({name, filled(random, dtype, {size}), 0, layout});
      declared +=
          std::string("in ") + name + " : " + std::string(broadloom::name(dtype)) + "[i, j]; ";
    }
    const DType dtype = random.pick(dtypes);
    operands.push_back({"z", filled(random, dtype, {size}), 0, layout});
    const bool folds_too = random.chance(50);
    if (folds_too)
      operands.push_back(
          {"m", filled(random, operands[0].here.dtype(), {rows}), 0, contiguous_layout(results)});
    for (Operand &operand : operands)
      if (!aligned && operand.name != "m") operand.offset = random.between(0, 16);
    const LoopSpec spec =
        parse("kernel k { " + declared + "out z : " + std::string(broadloom::name(dtype)) +
              " = f64(a) - f64(b)" + (folds_too ? "; out m = max(a, j) }" : " }"));
    CAPTURE(print(spec));
    CAPTURE(seed);
    // What lies around the elements, too, is as the interpreter leaves it.
    const auto run = [&](const Options &options, std::vector<Array> memory) {
      std::vector<NamedView> in, to;
      for (std::size_t k = 0; k < operands.size(); ++k)
        (k < 2 ? in : to)
            .push_back({operands[k].name, somewhere(operands[k].here, memory[k].raw(),
                                                    operands[k].offset, operands[k].layout)});
      compile(spec, options).run_named(in, to);
      return memory;
    };
    std::vector<Array> copies, other, there;
    for (const Operand &operand : operands) {
      copies.push_back(operand.here.copy());
      other.push_back(operand.here.copy());
      there.push_back(device.to_device(operand.here));
    }
    const std::vector<Array> want = run({.engine = Engine::interpreter}, copies);
    const std::vector<Array> got =
        run({.target = "warp", .engine = Engine::jit, .profile = Profile::paths}, other);
    const std::vector<Array> on_device = run({.device = device.name()}, there);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      CHECK(same_bits(want[k], got[k]));
      CHECK(same_bits(want[k], device.to_host(on_device[k])));
    }
  }
  CHECK(taken(jit::Path::MapWide) > maps);
  CHECK(taken(jit::Path::FoldWide) > folds);
}

TEST_CASE(
    "folds of more results than a processor would cut go in chunks for many warps, to the bit") {
  Random random(3);
  const Array x = filled(random, DType::F32, {40, 33000});
  const LoopSpec spec =
      parse("kernel k { in x : f32[i, j]; out s = sum(x, j); out m = argmax(x, j) }");
  const Results want = compile(spec, {.engine = Engine::interpreter})({{"x", x}});
  for (const int warps : {8, 64}) {
    const Kernel kernel =
        compile(spec, {.threads = warps, .target = "warp", .engine = Engine::jit});
    const Results got = kernel({{"x", x}});
    CHECK(same_bits(want["s"], got["s"]));
    CHECK(same_bits(want["m"], got["m"]));
    const std::vector<Decision> why = kernel.why();
    const bool cut = std::ranges::any_of(
        why, [](const Decision &decision) { return decision.code == "few-positions-kept"; });
    CHECK(cut == (warps > 40));
  }
}

} // namespace broadloom::differential
