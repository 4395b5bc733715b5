// Kernels that are built ahead of time, by the C++ interface. That they have the JIT's bits:
// golden/built_test.cpp, and tests/ship for C.
#include "tests/contains.hpp"

#include <broadloom/broadloom.hpp>
#include <broadloom/build.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace broadloom {
namespace {

const char *const rows = "kernel rows { in x : f32[i, j]; in w : f32[j]; out s = sum(x * w, j) }";

BuiltKernel built(const std::string &text, const std::string &layouts = "") {
  return build(parse(text), {.layouts = layouts, .layouts_file = "calls.txt"});
}

std::string error_of(const std::string &layouts) {
  try {
    built(rows, layouts);
  } catch (const Error &error) {
    return error.render();
  }
  return "none";
}

std::string code_of_loading(std::string_view bytes) {
  try {
    load(bytes);
  } catch (const Error &error) {
    return error.code();
  }
  return "none";
}

std::vector<float> run_rows(const Kernel &kernel, const std::vector<float> &x, std::int64_t i,
                            std::int64_t j, const ExtentList &strides) {
  std::vector<float> w, s;
  w.resize(std::size_t(j), 2);
  s.resize(std::size_t(i));
  kernel.run({View(x.data(), {i, j}, strides), View(w)}, {View(s)});
  return s;
}

} // namespace

TEST_CASE("what was built runs without a compilation, and other layouts by the generic program") {
  const BuiltKernel rows_of_4 = built(rows, "x=(*, 100) w=(100)");
  const Kernel kernel = load(rows_of_4.data, {.threads = 1});
  std::vector<float> x(600);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = float(k % 7);
  const Kernel compiled = compile(parse(rows), {.threads = 1});
  CHECK(run_rows(kernel, x, 6, 100, {100, 1}) == run_rows(compiled, x, 6, 100, {100, 1}));
  CHECK(kernel.counters().compiles == 0);
  CHECK(kernel.counters().loaded == 1);
  tests::contains(kernel.show(Stage::why), "the kernel was built with code");
  CHECK(run_rows(kernel, x, 100, 6, {1, 100}) == run_rows(compiled, x, 100, 6, {1, 100}));
  tests::contains(kernel.show(Stage::why), "built without code for this pattern");
  CHECK(kernel.counters().compiles == 0);
  CHECK(kernel.counters().interpreted == 0);
  const BoundCall bound = [&] { // a bound call asks for an exact pattern, and takes what is there
    static std::vector<float> w(6, 2), s(100);
    static const std::vector<float> data = x;
    return kernel.bind({View(data.data(), {100, 6}, {1, 100}), View(w)}, {View(s)});
  }();
  bound();
  CHECK(kernel.counters().compiles == 0);
}

TEST_CASE("what no built program fits is interpreted, and why says so") {
  const BuiltKernel scans = built("kernel scans { in x : f64[i]; out y = scan(sum, x, i) }");
  const Kernel kernel = load(scans.data, {.threads = 1});
  std::vector<double> x(80, 1), y(40);
  kernel.run({View(x.data(), {40}, {2})}, {View(y)});
  CHECK(y[39] == 40);
  CHECK(kernel.counters().compiles == 0);
  CHECK(kernel.counters().interpreted == 1);
  tests::contains(kernel.show(Stage::why), "built ahead of time without code for this pattern");
}

TEST_CASE("plans of a built kernel go by the caches that it was built for") {
  const std::string text = "kernel k { in x : f32[i]; out y = x * 3 }";
  const BuiltKernel usual = built(text, "x=(3000000)");
  setenv("BROADLOOM_CACHES", "64K,256K", 1);
  std::vector<float> x(3'000'000, 2), y(x.size());
  const Kernel kernel = load(usual.data);
  kernel.run({View(x)}, {View(y)});
  unsetenv("BROADLOOM_CACHES");
  CHECK(kernel.counters().loaded == 1);
  CHECK(kernel.counters().interpreted == 0);
}

TEST_CASE("an output whose extents nothing else has is built for any, or those that are listed") {
  const std::string text = "kernel k { in p : i64[i]; out h[p[i]] += 1.0 }";
  for (const char *layouts : {"", "p=(*) h=(5)"}) {
    const BuiltKernel counts = built(text, layouts);
    const Kernel kernel = load(counts.data);
    const std::vector<std::int64_t> p{0, 4, 4};
    std::vector<double> h(5);
    kernel.run({View(p)}, {View(h)});
    CHECK(h == std::vector<double>{1, 0, 0, 0, 2});
    CHECK(kernel.counters().compiles == 0);
    CHECK(kernel.counters().interpreted == 0);
  }
}

TEST_CASE("bytes that are no built kernel are refused, whatever is wrong") {
  const BuiltKernel good = built(rows, "x=(4, 100)");
  CHECK(code_of_loading(good.data) == "none");
  CHECK(code_of_loading("") == "E0504");
  CHECK(code_of_loading(good.object) == "E0504");
  for (std::size_t length = 0; length < good.data.size(); length += 101)
    CHECK(code_of_loading(std::string_view(good.data).substr(0, length)) == "E0504");
  for (std::size_t at = 0; at < good.data.size(); at += 97) {
    std::string changed = good.data;
    changed[at] = char(changed[at] ^ 0x20);
    CHECK(code_of_loading(changed) == "E0504");
  }
  CHECK(code_of_loading(good.data + "x") == "E0504");
}

TEST_CASE("a line of layouts that is wrong is told with its place") {
  struct Wrong {
    const char *line, *place, *says;
  };
  for (const Wrong &wrong :
       std::initializer_list<Wrong>{{"x", ":2", "'=' is wanted"},
                                    {"y=(3)", ":1", "no operand 'y'"},
                                    {"y=/f", ":1", "no output 'y'"},
                                    {"x=(3)", ":3", "'x' has 2 dims, and here are 1 number"},
                                    {"x=(3, 4", ":8", "',' or ')'"},
                                    {"x=(3; 4)", ":5", "',' or ')'"},
                                    {"x=(3, -4)", ":7", "a number from 0 on"},
                                    {"x=(3, j)", ":7", "a number from 0 on"},
                                    {"x=(3, 99999999999999999999)", ":7", "a number from 0 on"},
                                    {"x=(3, 4)/k", ":10", "c, f or strides"},
                                    {"x=(3, 4)/(1)", ":10", "here are 1 number"},
                                    {"x=(3, 4) x=(3, 4)", ":10", "twice"},
                                    {"s=maybe", ":3", "none"},
                                    {"ü=(3)", ":1", "name of an input"},
                                    {"x=(3, 4) ?", ":10", "name of an input"}}) {
    CAPTURE(wrong.line);
    const std::string said = error_of(std::string("# calls\n\n") + wrong.line + "\n");
    tests::contains(said, "calls.txt:3" + std::string(wrong.place) + ": error[E0070]: ");
    tests::contains(said, wrong.says);
    tests::contains(said, "^");
  }
  CHECK(error_of("x=(3, 4) # good\r\n\n  w=(*)  x = ( *, 5 ) / f  s=/c\n") == "none");
  tests::contains(error_of("x=(3, 4) w=(5)"), "E01"); // what no call could be
}

#if defined(__x86_64__)
TEST_CASE("code for aarch64 is built here, in an object of that architecture") {
  const BuiltKernel made =
      build(parse("kernel k { in x : f32[i, j]; out y = exp(x) / sum(exp(x), j) }"),
            {.layouts = "x=(*, 64)", .targets = {"aarch64"}});
  CHECK(made.targets == std::vector<std::string>{"aarch64"});
  CHECK(made.programs[0] > 0);
  REQUIRE(made.object.size() > 20);
  CHECK((unsigned char)made.object[18] == 183); // EM_AARCH64
  tests::contains(made.header, "k.o has code for aarch64");
  // What is not of this processor runs in the interpreter.
  const Kernel kernel = load(made.data);
  std::vector<float> x(6, 1), y(6);
  kernel.run({View(x.data(), {2, 3}, {3, 1})}, {View(y.data(), {2, 3}, {3, 1})});
  CHECK(y[5] == 1.0F / 3);
  CHECK(kernel.counters().interpreted == 1);
}

TEST_CASE("an object is of one architecture, and of processors that code is made for: E0503") {
  const auto code_for = [](std::vector<std::string> targets) {
    try {
      build(parse(rows), {.targets = std::move(targets)});
    } catch (const Error &error) {
      return error.code() + " " + error.message();
    }
    return std::string("none");
  };
  CHECK(code_for({"x86-64-v3", "aarch64"}) ==
        "E0503 an object file is of one architecture, not of that of x86-64-v3 and aarch64");
  CHECK(code_for({"sm_90"}) == "E0503 this machine builds no code for 'sm_90'");
  CHECK(code_for({"warp"}) == "E0503 this machine builds no code for 'warp'");
  CHECK(code_for({"i386"}) == "E0503 this machine builds no code for 'i386'");
}
#endif

TEST_CASE("a built kernel has a name that C takes") {
  for (const char *name : {"2k", "a-b", "a b", "k.o"}) try {
      build(parse(rows), {.name = name});
      FAIL("no error for " << name);
    } catch (const SpecError &error) {
      CHECK(error.code() == "E0071");
    }
  const BuiltKernel named = build(parse(rows), {.name = "other", .layouts = "x=(3, 40)"});
  tests::contains(named.header, "other_run(other_x x, other_w w, other_s s)");
}

TEST_CASE("files are written all, or none of them") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("built" + std::to_string(std::rand()));
  std::filesystem::create_directory(folder);
  const BuiltKernel good = built(rows, "x=(3, 40)");
  const auto count = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  std::filesystem::create_directory(folder / "rows.pc");
  CHECK_THROWS_AS(write(good, (folder / "rows").string()), DataError);
  CHECK(count() == 1);
  std::filesystem::remove(folder / "rows.pc");
  write(good, (folder / "rows").string());
  CHECK(count() == 3);
  CHECK_THROWS_AS(write(good, (folder / "none" / "rows").string()), DataError);
  std::filesystem::remove_all(folder);
}

TEST_CASE("what C would take for something else gets another name in the header") {
  const BuiltKernel words =
      built("kernel k { state int : f32; in run : f32; in run_ : f32; in x : f32; in x_of : f32\n"
            "update int = int + run + run_ + x + x_of # /* no end: */\n }");
  for (const char *name : {"k_int_ int_", "k_run_ run_", "k_run__ run__", "k_x x", "k_x_of_ x_of_",
                           "k_int_out int_out"})
    tests::contains(words.header, name);
}

} // namespace broadloom
