// Calls that take their memory from the caller: include/broadloom/arena.hpp. That they have the
// same
// bits: tests/differential. That they ask the system for none: tests/ship/arena.c.
#include <broadloom/arena.hpp>
#include <broadloom/broadloom.hpp>

#include "jit/runtime/arena.hpp"

#include <broadloom.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace broadloom {
namespace {

using jit::runtime::CallArena;

// A let that is an array, a copy with borders, a fold in blocks and rows of threads.
const char *const lets = "kernel lets { in x : f64[i, j]\n"
                         "  let a[i, j] = sqrt(x)\n"
                         "  let b[i, j] = pad(a, 0: (1, 0), edge)[i, j] + a[i, j]\n"
                         "  out y = b / sum(b, j)\n"
                         "  out t = sum(exp(b)) }";

struct Call {
  explicit Call(const std::string &text, Options options = {})
      : kernel(compile(parse(text), options)) {
    for (std::int64_t k = 0; k < x.size(); ++k) x.data<double>()[k] = double(k % 13);
  }
  Kernel kernel;
  Array x{DType::F64, {60, 500}};
  Array y{DType::F64, {60, 500}}, t{DType::F64, {}};
  std::vector<AnyView> inputs{x}, outputs{y, t};

  std::vector<double> values() const {
    std::vector<double> all(y.data<double>(), y.data<double>() + y.size());
    all.push_back(t.data<double>()[0]);
    return all;
  }
};

// What the call is given is filled with a pattern, of which nothing around it changes.
std::vector<double> run_in_arena(const Call &call, std::size_t bytes, std::size_t skipped = 0) {
  std::vector<unsigned char> memory(bytes + skipped + 64, 0xa5);
  {
    const Arena arena(memory.data() + skipped, bytes);
    call.kernel.run(call.inputs, call.outputs);
  }
  CHECK(std::ranges::all_of(memory.begin(), memory.begin() + std::ptrdiff_t(skipped),
                            [](unsigned char c) { return c == 0xa5; }));
  CHECK(std::ranges::all_of(memory.end() - 64, memory.end(),
                            [](unsigned char c) { return c == 0xa5; }));
  CHECK(std::ranges::any_of(memory, [](unsigned char c) { return c != 0xa5; }));
  return call.values();
}

std::string code_of(const auto &work) {
  try {
    work();
  } catch (const Error &error) {
    return error.code();
  }
  return "none";
}

} // namespace

TEST_CASE("a call takes its memory from an arena of the size that it says, wherever that begins") {
  for (const int threads : {1, 2, 3})
    for (const char *tile_rows : {"0", "4"}) {
      setenv("BROADLOOM_TILE_ROWS", tile_rows, 1);
      const Call call(lets, {.threads = threads});
      unsetenv("BROADLOOM_TILE_ROWS");
      call.kernel.run(call.inputs, call.outputs);
      const std::vector<double> wanted = call.values();
      const std::size_t bytes = workspace(call.kernel, call.inputs, call.outputs);
      CHECK(bytes > (std::string(tile_rows) == "0" ? 60 * 500 * sizeof(double) : 500));
      for (const std::size_t skipped : {0, 1, 24, 63})
        CHECK(run_in_arena(call, bytes, skipped) == wanted);
    }
  CHECK(CallArena::missed == 0);
}

TEST_CASE("to ask for the workspace computes nothing and needs no data") {
  const Call call(lets);
  std::ranges::fill_n(call.y.data<double>(), call.y.size(), -1.0);
  std::vector<AnyView> inputs = call.inputs, outputs = call.outputs;
  const std::size_t bytes = workspace(call.kernel, inputs, outputs);
  for (AnyView &view : inputs) view.data = nullptr;
  for (AnyView &view : outputs) view.data = nullptr;
  CHECK(workspace(call.kernel, inputs, outputs) == bytes);
  CHECK(call.y.data<double>()[0] == -1);
  // Of one output, which needs less.
  const NamedView x("x", call.inputs[0]), t("t", call.outputs[1]);
  CHECK(workspace_named(call.kernel, std::span(&x, 1), std::span(&t, 1)) > 0);
}

TEST_CASE("a call that needs no memory takes an arena of no bytes") {
  const Kernel kernel = compile(parse("kernel k { in x : f64[i]; out y = 2 * x }"));
  const Array x(DType::F64, {5}), y(DType::F64, {5});
  const AnyView inputs[] = {x}, outputs[] = {y};
  CHECK(workspace(kernel, inputs, outputs) == 0);
  const Arena arena(nullptr, 0);
  CHECK_NOTHROW(kernel.run(inputs, outputs));
}

TEST_CASE("an arena that is too small is told before anything is written: E0323") {
  const Call call(lets);
  std::ranges::fill_n(call.y.data<double>(), call.y.size(), -1.0);
  const std::size_t bytes = workspace(call.kernel, call.inputs, call.outputs);
  std::vector<char> memory(bytes);
  for (const std::size_t given : {std::size_t(0), std::size_t(63), bytes / 2, bytes - 64}) {
    const Arena arena(memory.data(), given);
    CHECK(code_of([&] { call.kernel.run(call.inputs, call.outputs); }) == "E0323");
  }
  CHECK(std::ranges::count(call.values(), -1.0) == call.y.size());
  CHECK_NOTHROW(call.kernel.run(call.inputs, call.outputs)); // which has memory of its own again
}

TEST_CASE("through the C interface an arena is checked and used as in C++") {
  bl_kernel *kernel = nullptr;
  REQUIRE(bl_compile(lets, nullptr, &kernel) == BL_OK);
  const Call call(lets);
  call.kernel.run(call.inputs, call.outputs);
  const std::vector<double> wanted = call.values();
  const std::int64_t shape[] = {60, 500};
  const bl_view in = {BL_F64, 2, call.x.data<double>(), shape, nullptr};
  const bl_view out[] = {{BL_F64, 2, call.y.data<double>(), shape, nullptr},
                         {BL_F64, 0, call.t.data<double>(), nullptr, nullptr}};
  std::size_t bytes = 0;
  REQUIRE(bl_workspace(kernel, &in, 1, out, 2, &bytes) == BL_OK);
  CHECK(bytes == workspace(call.kernel, call.inputs, call.outputs));
  std::vector<char> memory(bytes);
  std::ranges::fill_n(call.y.data<double>(), call.y.size(), -1.0);
  CHECK(bl_run_in(kernel, &in, 1, out, 2, memory.data(), 100) == BL_DATA_ERROR);
  CHECK(std::string(bl_latest_error()->code) == "E0323");
  CHECK(call.y.data<double>()[0] == -1);
  CHECK(bl_run_in(kernel, &in, 1, out, 2, memory.data(), bytes) == BL_OK);
  CHECK(call.values() == wanted);
  CHECK(bl_run_in(kernel, &in, 1, out, 2, nullptr, bytes) == BL_BAD_ARGUMENT);
  CHECK(bl_run_in(nullptr, &in, 1, out, 2, memory.data(), bytes) == BL_BAD_ARGUMENT);
  CHECK(bl_workspace(kernel, &in, 1, out, 2, nullptr) == BL_BAD_ARGUMENT);
  CHECK(bl_workspace(kernel, &in, 0, out, 2, &bytes) != BL_OK);
  CHECK(bl_free_kernel(kernel) == BL_OK);
}

} // namespace broadloom
