// Errors that no wrong text can give and that no other test names by their code.
// tests/errors/codes_test.cpp holds the list of codes against these tests and the texts.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace broadloom;

namespace {

template <class F> std::string code_of(const F &call) {
  try {
    call();
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "none";
}

} // namespace

TEST_CASE("a text without a kernel, or with several, needs a choice") {
  CHECK(code_of([] { parse(""); }) == "E0010");
  CHECK(code_of([] { parse("kernel a { in x : f32; out z = x }", "b"); }) == "E0010");
}

TEST_CASE("elements of another type are not handed out") {
  CHECK(code_of([] { Array(f32, {2}).data<double>(); }) == "E0210");
}

TEST_CASE("a file that is not there cannot be opened") {
  CHECK(code_of([] { load_npy("/no/such/file.npy"); }) == "E0301");
}

TEST_CASE("more memory than there is cannot be had") {
  CHECK(code_of([] { Array(f64, {std::int64_t(1) << 55}); }) == "E0305");
}

TEST_CASE("there is no machine code of a kernel that is interpreted") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[i]; out z = x }"),
                                {.threads = 1, .engine = Engine::interpreter});
  CHECK(code_of([&] { kernel.show(Stage::llvm); }) == "E0501");
  CHECK(code_of([&] { kernel.show(Stage::assembly); }) == "E0501");
}

TEST_CASE("native code has a limit of size, and says so where nothing else may run") {
  std::string step = "m", text = "in x : f64[:]; out z = x";
  for (int k = 0; k < 1'000; ++k) step += " + a * " + std::to_string(k % 7);
  for (int k = 0; k < 350; ++k) text += " + heavy(x * " + std::to_string(k) + ")";
  text = "accumulator heavy(a; m) { init a = 0; step a = " + step + " }\nkernel k { " + text;
  const Kernel kernel = compile(parse(text + " }"), {.threads = 1, .engine = Engine::jit});
  CHECK(code_of([&] { kernel({{"x", Array(f64, {3})}}); }) == "E0502");
}
