// What a step of a loop over time may read: steps of other loops, which have a start as its own
// have, and elements at the step's own number. Each engine must have the bits of the reference,
// which goes step by step.
#include "all_engines.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace broadloom;
using tests::code_of;
using tests::results;
using tests::values;

namespace {

using D = std::vector<double>;

View<const double> view(const D &values, std::initializer_list<std::int64_t> shape) {
  return {values.data(), shape};
}

// A symmetric matrix whose eigenvalues are above 0.
D positive_matrix(std::size_t n) {
  D made(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      made[i * n + j] = 1 / double(i + j + 1) + (i == j ? double(n) : 0);
  return made;
}

// The columns of L, of a = L L^T, as the text computes them.
D cholesky(D a, std::size_t n) {
  D columns(n * n);
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t i = t; i < n; ++i) columns[t * n + i] = a[i * n + t] / std::sqrt(a[t * n + t]);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        a[i * n + j] = a[i * n + j] - columns[t * n + i] * columns[t * n + j];
  }
  return columns;
}

const std::string cholesky_text =
    "in a : f64[:, :]\n"
    "let l[t, i] = where(iota(i) < iota(t), 0, s[t - 1, i, t] / sqrt(s[t - 1, t, t]))\n"
    "let s[t, i, j] = s[t - 1, i, j] - l[t, i] * l[t, j] from a[i, j]\n";

} // namespace

TEST_CASE(
    "a step reads the row and the column of its own number, as a Cholesky factorisation does") {
  for (const std::size_t n : {1, 2, 7, 33}) {
    const D a = positive_matrix(n);
    const auto extent = std::int64_t(n);
    CHECK(values(results(cholesky_text + "out y[t, i] = l",
                         {{"a", view(a, {extent, extent})}})["y"]) == cholesky(a, n));
  }
}

TEST_CASE("a loop of one let reads its own row and column, and keeps the rows that a step needs") {
  const std::size_t n = 6;
  const D a = positive_matrix(n);
  D s = a;
  for (std::size_t t = 0; t < n; ++t) {
    const D before = s;
    for (std::size_t i = t + 1; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        s[i * n + j] =
            before[i * n + j] - before[i * n + t] / before[t * n + t] * before[t * n + j];
  }
  const std::string text =
      "in a : f64[:, :]\nlet s[t, i, j] = s[t - 1, i, j] - where(iota(i) > iota(t), "
      "s[t - 1, i, t] / s[t - 1, t, t] * s[t - 1, t, j], 0) from a[i, j]\n";
  for (const std::string out :
       {"out y[i, j] = s[-1, i, j]", "let z[t, i, j] = s\nout y[i, j] = z[-1, i, j]"})
    CHECK(values(results(text + out, {{"a", view(a, {6, 6})}})["y"]) == s);
}

TEST_CASE("a step's own number stands in any dim, beside constants, borders and other axes") {
  const D x = tests::first_numbers(20);
  for (const std::string read :
       {"s[t - 1, t]", "s[t - 2, t + 1]", "s[t - 1, 2*t]", "s[t - 1, i] * s[t - 1, 4 - t]",
        "pad(s, 1: (1, 1), edge)[t - 1, t + 2]", "sum(s[t - 1, t + k], k)"})
    for (const std::string out : {"out y[t, i] = s", "out y[i] = s[-1, i]"})
      for (const std::string start : {"", " from 2", " from x[0, i]"})
        results(
            "in x : f64[:, :]\nin w : f64[k]\nlet s[t < 3, i] = x[t, i] / 8 + 0 * sum(w, k) - " +
                read + start + "\n" + out,
            {{"x", view(x, {4, 5})}, {"w", view(x, {2})}});
  for (const std::string out : {"out y[t, i] = s", "out y[i] = s[0, i]"})
    results("in x : f64[t, i]\nlet s[t, i] = x / 8 - s[t + 1, t] * s[t + 1, i] from 0.5\n" + out,
            {{"x", view(x, {4, 5})}});
  const D square = tests::first_numbers(9);
  CHECK(values(results("in x : f64[i, t]\nlet s[i, t] = x + s[t, t - 1]\nout y[i, t] = s",
                       {{"x", view(square, {3, 3})}})["y"]) == D{1, 6, 15, 4, 9, 18, 7, 12, 21});
}

TEST_CASE("a step that reads itself outside of another dim is told where") {
  const D x = tests::first_numbers(20);
  CHECK(code_of("in x : f64[t, i]; let s[t, i] = x + s[t - 1, t]; out y[t, i] = s",
                {{"x", view(x, {5, 4})}}) == "E0142");
  CHECK(code_of("in x : f64[t, i]; let s[t, i] = x + s[t, t]; out y[t, i] = s") == "E0028");
}

TEST_CASE("a loop that reads an earlier step of another one begins with the start of that") {
  const std::string alone = "let z[t < 5] = 2 * z[t - 1] from 3\n",
                    waits = "let z[t < 5] = 2 * z[t - 1] + 0 * p[t - 1] from 3\n";
  for (const std::string p :
       {"let p[t] = p[t - 1] + z[t - 1]", "let p[t] = p[t - 1] + z[t - 2] from 7",
        "let q[t] = z * z\nlet p[t] = p[t - 1] + z[t - 1] * q",
        "let p[t] = p[t - 1] + z[t - 1]\nlet r[t] = r[t - 1] + p[t - 1] + z[t - 1] from 1\n"
        "let u[t] = r"}) {
    const std::string out = "\nout y[t] = p";
    const Results one = results(alone + p + out, {}), both = results(waits + p + out, {});
    CHECK(tests::bytes(one["y"]) == tests::bytes(both["y"]));
  }
  const Results back = results("in x : f64[t]\nlet z[t] = x + z[t + 1] from 10\n"
                               "let p[t] = p[t + 1] + z[t + 1]\nout y[t] = p",
                               {{"x", view({1, 2, 3}, {3})}});
  CHECK(values(back["y"]) == D{38, 23, 10});
}

TEST_CASE("a loop that reads an earlier step of another one goes on as long") {
  CHECK(code_of("let z[t < 5] = z[t - 1] + 1\nlet p[t < 4] = p[t - 1] + z[t - 1]\nout y[t] = p") ==
        "E0031");
  CHECK(code_of("let z[t < 5] = z[t - 1] + 1\nlet m[t] = z / sum(z, t)\n"
                "let p[t] = p[t - 1] + z[t - 1] + m\nout y[t] = p") == "E0032");
}

TEST_CASE("loops of several dtypes go together, each in its own") {
  const Results r =
      results("let z[t < 3] = z[t - 1] + 1.5 + d[t - 1]\n"
              "let d[t < 3] = d[t - 1] || z > 2 from false\nout y[t] = z\nout f[t] = d",
              {});
  CHECK(values(r["y"]) == D{1.5, 3, 5.5});
  CHECK(r["f"].dtype() == DType::Bool);
  CHECK(tests::bytes(r["f"]) == std::vector<unsigned char>{0, 1, 1});
  const std::vector<float> x{1, 2, 3};
  const Results typed =
      results("in x : f32[t]\nlet z[t] = -z[t - 1] + where(d[t - 1], x, 2)\n"
              "let n[t] = n[t - 1] + 1 + d[t - 1]\nlet d[t] = !d[t - 1] & (z > 1) | n[t - 1] > 1\n"
              "out y[t] = z\nout c[t] = n\nout f[t] = d",
              {{"x", View<const float>(x.data(), {3})}});
  CHECK(typed["y"].dtype() == DType::F32);
  CHECK(typed["c"].dtype() == DType::F32); // as of those that all have one
  CHECK(typed["f"].dtype() == DType::Bool);
}

TEST_CASE("a loop that begins with a number has a dtype that has the number") {
  CHECK(values(results("let z[t < 3] = z[t - 1] + 1 from 0.5\nout y[t] = z", {})["y"]) ==
        D{1.5, 2.5, 3.5});
  const std::vector<std::int32_t> x{5, -3, 7};
  const Results r = results("in x : i32[t]\nlet z[t] = z[t - 1] + x from -0.5\nout y[t] = z",
                            {{"x", View<const std::int32_t>(x.data(), {3})}});
  CHECK(values(r["y"]) == D{4.5, 1.5, 8.5});
  CHECK(results("let z[t < 2] = z[t - 1] * 2 from 1j\nout y[t] = z", {})["y"].dtype() ==
        DType::C128);
  CHECK(code_of("in x : u8[t]\nlet z[t] = z[t - 1] + x from 300\nout y[t] = z") == "E0202");
  CHECK(code_of("in x : f64[t]\nlet d[t] = d[t - 1] || x > 1 from 0.5\nout y[t] = d") == "E0030");
}

TEST_CASE("a step names lets of its own loop for an extent") {
  const D x = tests::first_numbers(6);
  for (const std::string of : {"b[t, i]", "b[t - 1, i]"})
    CHECK(values(results("in x : f64[:]\nlet b[t < 2, i] = a[t - 1, i] * 2\n"
                         "let a[t < 2, i] = b[t, i] + iota(i, of=" +
                             of + ") + extent(i, of=" + of + ") from x[i]\nout y[t, i] = a",
                         {{"x", view({1, 2}, {2})}})["y"]) == D{4, 7, 10, 17});
}
