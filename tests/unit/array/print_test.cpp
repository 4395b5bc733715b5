// Arrays as text.
#include "tools/broadloom/cli/report.hpp"
#include "tools/broadloom/data/source.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace broadloom;

namespace {

std::string printed(const char *source, DType dtype) {
  return print(cli::read_source(cli::parse_source(source, "x"), {"x", dtype, {}}));
}

} // namespace

TEST_CASE("a matrix prints in brackets with its columns aligned") {
  const Array matrix(f64, {2, 3});
  const double values[] = {1, -0.5, 1e20, 0.1, 100, 2};
  std::copy(values, values + 6, matrix.data<double>());
  CHECK(print(matrix) == "[[  1.0,  -0.5, 1e+20],\n"
                         " [  0.1, 100.0,   2.0]]");
}

TEST_CASE("scalars, bools, empty arrays and higher ranks print as NumPy prints them") {
  CHECK(printed("3", f32) == "3.0");
  CHECK(printed("-7", i64) == "-7");
  CHECK(printed("18446744073709551615", u64) == "18446744073709551615");
  CHECK(printed("arange(2)", bool_) == "[false,  true]");
  CHECK(printed("zeros(0)", f32) == "[]");
  CHECK(printed("zeros(2, 0)", i8) == "[[],\n []]");
  CHECK(printed("ones(2,1,2)", i8) == "[[[1, 1]],\n\n [[1, 1]]]");
}

TEST_CASE("lines are as wide as asked for") {
  const Array row(i32, {6});
  CHECK(print(row, 9) == "[0, 0, 0,\n 0, 0, 0]");
  CHECK(print(row, 1) == "[0,\n 0,\n 0,\n 0,\n 0,\n 0]");
}

TEST_CASE("floats print the fewest digits that name them") {
  CHECK(printed("0.1", f32) == "0.1");
  CHECK(printed("0.30000000000000004", f64) == "0.30000000000000004");
  CHECK(printed("-0.0", f64) == "-0.0");
  CHECK(printed("-inf", f32) == "-inf");
  CHECK(printed("0.1", f16) == "0.1");
  CHECK(printed("65504", f16) == "65500.0");
  CHECK(printed("6e-8", f16) == "6e-08");
  CHECK(printed("3.14159", bf16) == "3.14");
  CHECK(printed("nan", bf16) == "nan");
  CHECK(printed("nan", f64) == "nan");
}

TEST_CASE("complex numbers print both parts and j") {
  CHECK(printed("1+2j", c64) == "1.0+2.0j");
  CHECK(printed("-0.1-0.0j", c128) == "-0.1-0.0j");
  CHECK(printed("1e20+nanj", c64) == "1e+20+nanj");
  CHECK(printed("arange(2)", c64) == "[0.0+0.0j, 1.0+0.0j]");
}

TEST_CASE("long arrays are elided, and views print in logical order") {
  CHECK(printed("arange(2000)", i32) == "[   0,    1,    2, ..., 1997, 1998, 1999]");
  CHECK(printed("arange(5)[::-2]", i32) == "[4, 2, 0]");
  CHECK(printed("zeros(50, 30)", i32) == "[[0, 0, 0, ..., 0, 0, 0],\n"
                                         " [0, 0, 0, ..., 0, 0, 0],\n"
                                         " [0, 0, 0, ..., 0, 0, 0],\n"
                                         " ...,\n"
                                         " [0, 0, 0, ..., 0, 0, 0],\n"
                                         " [0, 0, 0, ..., 0, 0, 0],\n"
                                         " [0, 0, 0, ..., 0, 0, 0]]");
}

TEST_CASE("a long row breaks into lines of at most 100 columns") {
  const std::string text = printed("arange(500)", i32);
  std::size_t start = 0;
  for (std::size_t end = 0; end != text.npos; start = end + 1) {
    end = text.find('\n', start);
    CHECK((end == text.npos ? text.size() : end) - start <= 101);
  }
}

TEST_CASE("the JSON report has the keys that scripts rely on") {
  cli::RunReport report{"demo",
                        {{"z", f32, {2, 3}, true, "a \"b\".npy"}, {"s", i64, {}, false, {}}},
                        1.5,
                        "miss",
                        {3000, 1000, 2001},
                        2,
                        48,
                        {}};
  report.parse_ms = 0.25;
  report.steps.analyse = 0.5;
  report.steps.select = 1;
  CHECK(
      cli::to_json(report) ==
      R"({"kernel": "demo", "outputs": {)"
      R"("z": {"dtype": "f32", "shape": [2, 3], "order": "f", "path": "a \"b\".npy"}, )"
      R"("s": {"dtype": "i64", "shape": [], "order": "c", "path": null}}, )"
      R"("compile_ms": 1.500000, "steps_ms": {"parse": 0.250000, "analyse": 0.500000, )"
      R"("plan": 0.000000, "block": 0.000000, "load": 0.000000, "start": 0.000000, )"
      R"("emit": 0.000000, "math": 0.000000, "optimise": 0.000000, "select": 1.000000, )"
      R"("link": 0.000000}, "cache": "miss", )"
      R"("run_ms": {"min": 0.001000, "p10": 0.001200, "median": 0.002001, "p90": 0.002800, "max": 0.003000, "n": 3}, )"
      R"("threads": 2, "engine": "jit", "bytes": 48})");
}
