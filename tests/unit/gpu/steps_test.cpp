// The steps of a call between nests, on the device that this processor plays: with the bits of the
// host's, and without a copy to the host.
#include "jit/gpu/played_device.hpp"
#include "jit/gpu/steps.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>

namespace broadloom {
namespace {

using jit::gpu::launched_on_played_device;

Array counted(DType dtype, const ExtentList &shape, const std::function<double(std::int64_t)> &of) {
  Array array(dtype, shape);
  for (std::int64_t k = 0; k < array.size(); ++k) {
    const double value = of(k);
    switch (dtype) {
    case DType::F32: array.data<float>()[k] = float(value); break;
    case DType::F64: array.data<double>()[k] = value; break;
    case DType::F16: array.data<float16>()[k] = float16(float(value)); break;
    case DType::I32: array.data<std::int32_t>()[k] = std::int32_t(value); break;
    case DType::I64: array.data<std::int64_t>()[k] = std::int64_t(value); break;
    case DType::U8: array.data<std::uint8_t>()[k] = std::uint8_t(value); break;
    case DType::U64: array.data<std::uint64_t>()[k] = std::uint64_t(value); break;
    default: FAIL("no such numbers here");
    }
  }
  return array;
}

Array waves(const ExtentList &shape) {
  return counted(DType::F32, shape, [](std::int64_t k) { return std::sin(double(k) * 0.37) * 3; });
}

// Calls a kernel here and there: equal bits, and so many words of the host's that it waits for.
void agree(const std::string &text, const std::vector<NamedView> &inputs, std::int64_t words,
           std::int64_t least_steps = 1) {
  CAPTURE(text);
  const LoopSpec spec = parse(text);
  const Device device("played");
  const Results expected = compile(spec).call(inputs);
  std::vector<Array> there;
  std::vector<NamedView> views;
  for (const NamedView &input : inputs) there.push_back(device.to_device(input.view));
  for (std::size_t k = 0; k < inputs.size(); ++k) views.push_back({inputs[k].name, there[k]});
  const Kernel kernel = compile(spec, {.device = "played"});
  const auto before = launched_on_played_device();
  const Results got = kernel.call(views);
  const auto after = launched_on_played_device();
  CHECK(after.copies_out - before.copies_out == words);
  CHECK(after.steps - before.steps >= least_steps);
  for (const auto &[name, array] : expected) {
    CAPTURE(name);
    const Array here = device.to_host(got[name]);
    REQUIRE(here.size() == array.size());
    CHECK(std::memcmp(here.raw(), array.raw(),
                      std::size_t(array.size()) * size_of(array.dtype())) == 0);
  }
}

TEST_CASE("borders of every kind are filled on the device, and nothing goes to the host") {
  const Array x = waves({40, 50});
  for (const char *how : {"", ", edge", ", wrap", ", reflect", ", 2.5"})
    agree("kernel k { in x : f32[i, j]; out y[i, j] = sum(sum(pad(x, i: (1, 1), j: (0, 3)" +
              std::string(how) + ")[i + u, j + v], v < 4), u < 3) }",
          {{"x", x}}, 0, 2);
  agree("kernel k { in x : f32[i, j]; let u[t < 9, i, j] = u[t - 1, i, j] / 2 + x from x\n"
        "out y[i, j] = u[8, i, j] }",
        {{"x", x}}, 0, 1);
}

TEST_CASE("elements of every size are copied on the device, whatever their steps") {
  const Device device("played");
  jit::gpu::Device &there = *jit::gpu::played_device();
  for (const DType dtype : {DType::U8, DType::F16, DType::I32, DType::F64, DType::C128}) {
    const std::size_t size = size_of(dtype);
    Array x(dtype, {5, 6, 7});
    for (std::size_t k = 0; k < std::size_t(x.size()) * size; ++k)
      static_cast<unsigned char *>(x.raw())[k] = static_cast<unsigned char>(k * 37 + k / 251);
    const Array from = device.to_device(x), to = device.allocate(dtype, {7, 3, 5});
    AnyView turned = from; // the other way round, and every second of the middle, from behind
    turned.layout.extents = {7, 3, 5};
    turned.layout.strides = {1, -14, 42};
    turned.data = static_cast<char *>(from.raw()) + 5 * 7 * size;
    jit::gpu::Steps(there).copy(turned, to.raw(), to.layout());
    const Array got = device.to_host(to);
    bool all = true;
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t k = 0; k < 7; ++k)
          all = all &&
                std::memcmp(static_cast<char *>(got.raw()) + (k * 15 + j * 5 + i) * size,
                            static_cast<char *>(x.raw()) + (i * 42 + (5 - 2 * j) * 7 + k) * size,
                            size) == 0;
    CHECK(all);
  }
}

TEST_CASE("a gather looks its positions up on the device: one word says whether all are inside") {
  const Array x = waves({40, 50});
  const auto at = [](DType dtype) {
    return counted(dtype, {7}, [](std::int64_t k) { return double(k * 5 % 40); });
  };
  for (const auto &[dtype, name] :
       {std::pair(DType::I64, "i64"), {DType::I32, "i32"}, {DType::U8, "u8"}, {DType::U64, "u64"}})
    agree("kernel k { in x : f32[i, j]; in at : " + std::string(name) +
              "[k]; out y[k, j] = x[at[k], j] }",
          {{"x", x}, {"at", at(dtype)}}, 1, 3);
  const Array far = counted(DType::I32, {7}, [](std::int64_t k) { return double(k * 37 - 90); });
  agree("kernel k { in x : f32[i, j]; in at : i32[k]; out y[k, j] = x[clip(at[k]), j] }",
        {{"x", x}, {"at", far}}, 0);
  agree("kernel k { in x : f32[i, j]; in at : i32[k]; out y[k, j] = x[wrap(2 * at[k] + k), j] }",
        {{"x", x}, {"at", far}}, 0);
  agree("kernel k { in x : f32[i, j]; in at : i32[k]; in to : i32[k]; out y[k] = x[at[k], to[k]] }",
        {{"x", x}, {"at", at(DType::I32)}, {"to", at(DType::I32)}}, 2);
}

TEST_CASE("a position outside is told as without a device, and outputs are as they were: E0315") {
  const Array x = waves({4}),
              at = counted(DType::I64, {3}, [](std::int64_t k) { return k == 1 ? 9.0 : 0.0; });
  const Device device("played");
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i]; in at : i64[k]; out y[k] = x[at[k]] }"),
              {.device = "played"});
  const Array a = device.to_device(x), b = device.to_device(at), y = device.to_device(waves({3}));
  try {
    kernel.run({AnyView(a), AnyView(b)}, {AnyView(y)});
    FAIL("it was taken");
  } catch (const DataError &error) {
    CHECK(error.code() == "E0315");
    CHECK(error.message().find("at[1] is 9") != std::string::npos);
  }
  CHECK(device.to_host(y).at<float>(2) == waves({3}).at<float>(2));
  // So large that the device leaves it to the host, which takes it modulo the extent.
  const Array large =
      counted(DType::U64, {3}, [](std::int64_t k) { return 1.8e19 + double(k) * 4096; });
  agree("kernel k { in x : f32[i]; in at : u64[k]; out y[k] = x[wrap(at[k])] }",
        {{"x", x}, {"at", large}}, 5); // the word, x, positions, and places for the result
}

TEST_CASE("what is scattered is added in its order, on the device") {
  const auto waves_of_f64 = [](const ExtentList &shape) { // whose sums show their order
    return counted(DType::F64, shape,
                   [](std::int64_t k) { return std::sin(double(k) * 0.37) * 3; });
  };
  const Array g = waves_of_f64({500, 6}), x = waves_of_f64({11, 6});
  const Array at = counted(DType::I32, {500},
                           [](std::int64_t k) { return double(k * k % 11 == 3 ? 0 : k * k % 11); });
  agree("kernel k { in x : f64[i, j]; in g : f64[k, j]; in at : i32[k]\n"
        "out d = sum(g, like=x[at[k], j]) }",
        {{"x", x}, {"g", g}, {"at", at}}, 1, 6);
  agree("kernel k { in x : f64[i, j]; in g : f64[k, j]; in at : i32[k]\n"
        "out d = sum(g, like=pad(x, i: (2, 2), reflect)[at[k] + 2, j]) }",
        {{"x", x}, {"g", g}, {"at", at}}, 1, 6);
}

TEST_CASE("the text of each step is PTX that stands alone") {
  for (int k = 0; k < jit::gpu::step_count; ++k) {
    const std::string text = jit::gpu::text_of(jit::gpu::Step(k));
    CAPTURE(k);
    CHECK(text.find(".version 7.0") != std::string::npos);
    CHECK(text.find(".target sm_70") != std::string::npos);
    CHECK(text.find(jit::gpu::kernel_of(jit::gpu::Step(k)).name) != std::string::npos);
    CHECK(text.find(".visible .entry") == text.rfind(".visible .entry"));
    CHECK(text.find("call") == std::string::npos); // nothing is elsewhere
    CHECK(text.find(".ftz") == std::string::npos);
    CHECK(text.find("fma") == std::string::npos);
  }
}

} // namespace
} // namespace broadloom
