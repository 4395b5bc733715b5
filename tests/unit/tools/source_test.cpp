// SOURCE: the grammar, the views of NumPy, the generators.
#include "tests/unit/temp_folder.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/data/source.hpp"

#include <broadloom/error.hpp>
#include <broadloom/float16.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <numeric>

using namespace broadloom;

namespace {

using Extents = std::vector<std::int64_t>;

Extents list(std::span<const std::int64_t> values) { return {values.begin(), values.end()}; }

Array read(const std::string &text, DType dtype, const std::string &input = "x") {
  return cli::read_source(cli::parse_source(text, input), {input, dtype, {}});
}

// Where the first element lies, in elements from the start of the storage that `text` views.
struct Seen {
  Extents shape, strides, values;
};

Seen see(const std::string &text) {
  const Array array = read(text, i64);
  const Array copy = array.copy();
  const std::int64_t *values = copy.data<std::int64_t>();
  return {list(array.shape()), list(array.strides()), {values, values + copy.size()}};
}

std::string code_of(const std::string &text, DType dtype = f32) {
  try {
    read(text, dtype);
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "";
}

std::string message_of(const std::string &text) {
  try {
    cli::parse_source(text, "x");
  } catch (const cli::UsageError &error) {
    return error.message();
  }
  return "";
}

} // namespace

TEST_CASE("slices have NumPy's shapes, strides and elements") {
  struct Case {
    const char *text;
    Extents shape, strides, values;
  };
  const Case cases[] = {
      {"arange(6)", {6}, {1}, {0, 1, 2, 3, 4, 5}},
      {"arange(2, 6)", {4}, {1}, {2, 3, 4, 5}},
      {"arange(6, 0, -2)", {3}, {1}, {6, 4, 2}},
      {"arange(0, 7, 3)", {3}, {1}, {0, 3, 6}},
      {"arange(5, 2)", {0}, {1}, {}},
      {"[3, 1, 2]", {3}, {1}, {3, 1, 2}},
      {"[[1, 2], [3, 4]].T", {2, 2}, {1, 2}, {1, 3, 2, 4}},
      {"[ ]", {0}, {1}, {}},
      {"full(2, 2, value=7)", {2, 2}, {2, 1}, {7, 7, 7, 7}},
      {"eye(2)", {2, 2}, {2, 1}, {1, 0, 0, 1}},
      {"eye(2, 3)[1]", {3}, {1}, {0, 1, 0}},
      {"arange(6)[::2]", {3}, {2}, {0, 2, 4}},
      {"arange(6)[1::2]", {3}, {2}, {1, 3, 5}},
      {"arange(6)[::-1]", {6}, {-1}, {5, 4, 3, 2, 1, 0}},
      {"arange(6)[-2:]", {2}, {1}, {4, 5}},
      {"arange(6)[4:1:-2]", {2}, {-2}, {4, 2}},
      {"arange(6)[-100:100]", {6}, {1}, {0, 1, 2, 3, 4, 5}},
      {"arange(6)[100:-100:-1]", {6}, {-1}, {5, 4, 3, 2, 1, 0}},
      {"arange(6)[2:2]", {0}, {1}, {}},
      {"arange(6)[4:2]", {0}, {1}, {}},
      {"arange(6)[2::9223372036854775807]", {1}, {1}, {2}},
      {"arange(6)[2::-9223372036854775808]", {1}, {1}, {2}},
      {"arange(6)[3]", {}, {}, {3}},
      {"arange(6)[-1]", {}, {}, {5}},
      {"arange(6)[::2][::-1]", {3}, {-2}, {4, 2, 0}},
      {"arange(6)[ 1 : 5 , ][..., -1]", {}, {}, {4}},
      {"zeros(2,3).T", {3, 2}, {1, 3}, {0, 0, 0, 0, 0, 0}},
      {"zeros(2,3,4)[1, ::-1]", {3, 4}, {-4, 1}, Extents(12, 0)},
      {"zeros(2,3,4)[..., 0]", {2, 3}, {12, 4}, Extents(6, 0)},
      {"zeros(2,3,4)[0, ..., ::2].T", {2, 3}, {2, 4}, Extents(6, 0)},
      {"zeros(2,3)[...]", {2, 3}, {3, 1}, Extents(6, 0)},
      {"zeros(0,3)[::-1, 2]", {0}, {3}, {}},
  };
  for (const Case &expected : cases) {
    CAPTURE(expected.text);
    const Seen seen = see(expected.text);
    CHECK(seen.shape == expected.shape);
    CHECK(seen.strides == expected.strides);
    CHECK(seen.values == expected.values);
  }
}

TEST_CASE("a view shares the memory of what it views") {
  const Array base = read("arange(6)", i64);
  const Array last = cli::apply_view(base, cli::parse_source("0[-1]", "x").views.at(0), "");
  CHECK(last.raw() == base.data<std::int64_t>() + 5);
}

TEST_CASE("an index that the array lacks is an error of the data") {
  for (const std::string text : {"arange(3)[3]", "arange(3)[-4]", "arange(3)[0, 0]", "zeros(0)[0]",
                                 "1[0]", "zeros(2)[..., 0, 0]"}) {
    CAPTURE(text);
    CHECK(code_of(text) == "E0114");
  }
}

TEST_CASE("a source that is malformed is an error of usage") {
  for (const std::string text : {"",
                                 "abc",
                                 "1x",
                                 "rand",
                                 "rand(",
                                 "rand(3",
                                 "rand(3,4",
                                 "rand(3;4)",
                                 "rand(-1)",
                                 "rand(1.5)",
                                 "rund(3)",
                                 "arange()",
                                 "arange(1,2,3,4)",
                                 "arange(1,2,0)",
                                 "arange(-1)",
                                 "full(3)",
                                 "full(3, value=)",
                                 "full(3, value=x)",
                                 "eye()",
                                 "eye(1, 2, 3)",
                                 "linspace(0, 1)",
                                 "linspace(0, 1, 0)",
                                 "linspace(0, j, 3)",
                                 "[1, 2",
                                 "[1, [2]]",
                                 "[[1, 2], [3]]",
                                 "[[1], []]",
                                 "[1 2]",
                                 "[1,, 2]",
                                 "[x]",
                                 "a.npz:",
                                 "rand(3, seed)",
                                 "rand(3, seed=)",
                                 "rand(3, seed=-1)",
                                 "rand(3)x",
                                 "rand(3)[",
                                 "rand(3)[]",
                                 "rand(3)[1",
                                 "rand(3)[::0]",
                                 "rand(3)[1:2:3:4]",
                                 "rand(3)[..., ...]",
                                 "rand(3).t",
                                 "rand(3)[None]",
                                 "rand(99999999999999999999)",
                                 "rand(3, seed=1, seed=2)",
                                 "rand(seed=1, 3)",
                                 "rand(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)",
                                 "3[",
                                 "a.npz",
                                 "1 2"}) {
    CAPTURE(text);
    CHECK(code_of(text) == "E0403");
  }
}

TEST_CASE("the caret stands under the place of the mistake") {
  CHECK(message_of("rand(3,4") == "input x: expected ')'\n    rand(3,4\n            ^");
  CHECK(message_of("ones(3)[::0]") ==
        "input x: the step of a slice cannot be 0\n    ones(3)[::0]\n              ^");
}

TEST_CASE("a number must be a value of the declared dtype") {
  CHECK(read("2.5", f32).data<float>()[0] == 2.5f);
  CHECK(read("+3", i32).data<int>()[0] == 3);
  CHECK(read("9223372036854775807", i64).data<std::int64_t>()[0] == 9223372036854775807);
  CHECK(float(read("0.1", f16).data<float16>()[0]) == 0.0999755859375f);
  CHECK(float(read("1e38", bf16).data<bfloat16>()[0]) > 9e37f);
  CHECK(code_of("1e5", f16) == "E0403");
  CHECK(read("-inf", f64).data<double>()[0] == -INFINITY);
  CHECK(read("true", bool_).data<bool>()[0]);
  CHECK(code_of("2.5", i32) == "E0403");
  CHECK(code_of("300", u8) == "E0403");
  CHECK(code_of("-1", u64) == "E0403");
  CHECK(code_of("2", bool_) == "E0403");
  CHECK(code_of("true", f32) == "E0403");
  CHECK(code_of("1e39", f32) == "E0403");
}

TEST_CASE("generators make values in the declared dtype") {
  CHECK(read("ones(2)", f64).data<double>()[1] == 1);
  CHECK(list(read("rand(3, 4, seed=7)", f32).shape()) == Extents{3, 4});
  CHECK(read("rand()", f32).rank() == 0);
  CHECK(code_of("arange(128)", i8) == "");
  CHECK(code_of("arange(129)", i8) == "E0403");
  CHECK(code_of("randn(3)", i32) == "E0403");
  CHECK(code_of("zeros(1099511627776, 1099511627776)") == "E0112");
  const Array ints = read("rand(1000)", i64);
  for (int i = 0; i < 1000; ++i) {
    CHECK(ints.data<std::int64_t>()[i] >= 0);
    CHECK(ints.data<std::int64_t>()[i] <= 99);
  }
}

TEST_CASE("rand of f16 and bf16 is below one as well") {
  const Array halves = read("rand(20000, seed=1)", f16), uppers = read("rand(2000, seed=1)", bf16);
  for (int i = 0; i < 20000; ++i) CHECK(float(halves.data<float16>()[i]) < 1);
  for (int i = 0; i < 2000; ++i) CHECK(float(uppers.data<bfloat16>()[i]) < 1);
  CHECK(float(read("arange(4)", bf16).data<bfloat16>()[3]) == 3);
}

TEST_CASE("complex numbers are read with j, and made part by part") {
  using C64 = std::complex<float>;
  CHECK(read("1-2j", c64).data<C64>()[0] == C64(1, -2));
  CHECK(read("-2.5j", c64).data<C64>()[0] == C64(0, -2.5));
  CHECK(read("3", c64).data<C64>()[0] == C64(3, 0));
  CHECK(read("1e-3+infj", c128).data<std::complex<double>>()[0].imag() == INFINITY);
  for (const char *wrong : {"1+2", "1j2", "j", "1e39j", "2j3j"})
    CHECK(code_of(wrong, c64) == "E0403");
  CHECK(code_of("2j", f64) == "E0403");
  CHECK(read("arange(3)", c64).data<C64>()[2] == C64(2, 0));
  CHECK(read("ones(1)", c64).data<C64>()[0] == C64(1, 0));
  const Array uniform = read("rand(1000, seed=3)", c64), normal = read("randn(1000)", c64);
  C64 sum;
  for (int i = 0; i < 1000; ++i) {
    const C64 z = uniform.data<C64>()[i];
    CHECK((z.real() >= 0 && z.real() < 1 && z.imag() >= 0 && z.imag() < 1));
    sum += normal.data<C64>()[i];
  }
  CHECK(std::abs(sum) < 150);
}

TEST_CASE("rand is uniform in [0, 1), randn is normal") {
  const int n = 20000;
  const Array uniform = read("rand(20000, seed=1)", f32);
  const Array normal = read("randn(20000, seed=1)", f64);
  double mean = 0, square = 0, low = 1, high = 0;
  for (int i = 0; i < n; ++i) {
    low = std::min(low, double(uniform.data<float>()[i]));
    high = std::max(high, double(uniform.data<float>()[i]));
    mean += normal.data<double>()[i] / n;
    square += normal.data<double>()[i] * normal.data<double>()[i] / n;
  }
  CHECK(low >= 0);
  CHECK(low < 0.001);
  CHECK(high < 1);
  CHECK(high > 0.999);
  CHECK(std::abs(mean) < 0.03);
  CHECK(std::abs(square - 1) < 0.05);
}

TEST_CASE("a seed means the same numbers everywhere, and names seed where there is none") {
  const auto first = [](const char *text, const char *input) {
    return read(text, f64, input).data<double>()[0];
  };
  CHECK(first("rand(2, seed=7)", "x") == first("rand(2, seed=7)", "y"));
  CHECK(first("rand(2)", "x") == first("rand(2)", "x"));
  CHECK(first("rand(2)", "x") != first("rand(2)", "y"));
  CHECK(first("rand(1, seed=5489)", "x") == double(14514284786278117030ull >> 11) * 0x1p-53);
}

TEST_CASE("a file must be there and have the declared dtype exactly") {
  const TempFolder folder;
  save_npy(folder / "a.npy", Array(f64, {2, 3}));
  save_npy(folder / "b [1].npy", Array(f64, {2, 3}));
  CHECK(list(read((folder / "a.npy") + "[::-1].T", f64).strides()) == Extents{1, -3});
  CHECK(list(read((folder / "b [1].npy") + "[0]", f64).shape()) == Extents{3});
  CHECK(code_of(folder / "a.npy", f32) == "E0203");
  CHECK(code_of(folder / "none.npy", f32) == "E0402");
}

TEST_CASE("linspace meets both ends, and lists of numbers have the dtype that they need") {
  const Array line = read("linspace(-1, 0.5, 4)", f64);
  CHECK(line.to_vector<double>() == std::vector<double>{-1, -0.5, 0, 0.5});
  CHECK(read("linspace(2, 3, 1)", f32).to_vector<float>() == std::vector<float>{2});
  CHECK(code_of("linspace(0, 1, 3)", i32) == "E0403");
  CHECK(cli::dtype_of(cli::parse_source("[1, 2]", "x")) == i64);
  CHECK(cli::dtype_of(cli::parse_source("[1, 2.5]", "x")) == f64);
  CHECK(cli::dtype_of(cli::parse_source("[1, 2j]", "x")) == c128);
  CHECK(cli::dtype_of(cli::parse_source("rand(3)", "x")) == f64);
  CHECK(cli::dtype_of(cli::parse_source("arange(3)", "x")) == i64);
  CHECK(!cli::dtype_of(cli::parse_source("a.npy", "x")));
}

TEST_CASE("tables of numbers and arrays of archives are read") {
  const TempFolder folder;
  const std::string table = folder.write("t.csv", "a,b\n1, 2.5\n+3;-4e1\n\n");
  const Array read_table = read(table, f64);
  CHECK(read_table.shape()[0] == 2);
  CHECK(read_table.to_vector<double>() == std::vector<double>{1, 2.5, 3, -40});
  CHECK(read(table + "[:, 1]", f32).to_vector<float>() == std::vector<float>{2.5f, -40});
  CHECK(read(folder.write("c.csv", "1\n2\n"), i32).to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{1, 2});
  CHECK(code_of(folder.write("bad.csv", "1,2\n3\n"), f64) == "E0302");
  CHECK(code_of(folder.write("word.csv", "1,2\n3,x\n"), f64) == "E0302");
  CHECK(code_of(folder / "none.csv", f64) == "E0402");
  // Nothing is left out: not a line in which a field is missing or is no number, not the first line
  // of a text of Excel.
  for (const char *text : {"1,,3\n4,5,6\n", "3,NA\n3,4\n", ",1\n2,3\n", "1,2\n3,,\n"})
    CHECK(code_of(folder.write("gap.csv", text), f64) == "E0302");
  // A first line of what was meant as numbers is no heading.
  for (const char *line : {"1_000,2_000", "0x10", "\"1\",\"2\"", "-1.2.3 x", "1st,2nd", ".5.,x"}) {
    CAPTURE(line);
    CHECK(code_of(folder.write("odd.csv", std::string(line) + "\n3,4\n"), f64) == "E0302");
  }
  CHECK(read(folder.write("heading.csv", "x1,'y,n/a,-\n1,2,3,4\n"), f64).size() == 4);
  CHECK(read(folder.write("truth.csv", "true,false\nfalse,true\n"), bool_).size() == 4);
  CHECK(read(folder.write("complex.csv", "1+2j,-3j\n"), c128).size() == 2);
  const Array marked = read(folder.write("excel.csv", "\xef\xbb\xbf"
                                                      "1;2;\r\n 3 ; 4 ;\r\n"),
                            f64);
  CHECK(marked.to_vector<double>() == std::vector<double>{1, 2, 3, 4});
  const Array spaced = read(folder.write("spaces.csv", "  1  2\n3\t4 \n"), f64);
  CHECK(spaced.to_vector<double>() == std::vector<double>{1, 2, 3, 4});
  save_npz(folder / "w.npz", {{"w", read("[1, 2]", f32)}, {"b", read("3", f32)}});
  CHECK(read(folder / "w.npz:w[::-1]", f32).to_vector<float>() == std::vector<float>{2, 1});
  CHECK(code_of(folder / "w.npz:q", f32) == "E0304");
  CHECK(code_of(folder / "w.npz:w", f64) == "E0203");
}
