// Positions as text: what is read, how it prints, and what is none.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include "expr/window.hpp"

namespace bl = broadloom;

namespace {

std::string kernel(const std::string &positions) {
  return "kernel k {\n  in  x : f32[:, :]\n  in  w : f32[u, v]\n  out y = x[" + positions +
         "] * w\n}\n";
}

std::string printed(const std::string &positions) {
  const std::string text = bl::print(bl::parse(kernel(positions)));
  CHECK(bl::print(bl::parse(text)) == text);
  const std::size_t from = text.find("out y = x[") + 10;
  return text.substr(from, text.find(']', from) - from);
}

std::string code(const std::string &positions) {
  try {
    bl::check(bl::parse(kernel(positions)));
  } catch (const bl::Error &error) {
    CHECK(error.where().line == 4);
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "none";
}

} // namespace

TEST_CASE("positions print as sums of multiples of axes, the number last") {
  CHECK(printed("2*i + u - 1, j") == "2*i + u - 1, j");
  CHECK(printed("u - 1 + i*2, v") == "u + 2*i - 1, v");
  CHECK(printed("-i, 3") == "-i, 3");
  CHECK(printed("-(i - 2)*3, -j - 1") == "-3*i + 6, -j - 1");
  CHECK(printed("i + i + 2*(u - i), 2 - 3") == "2*u, -1");
  CHECK(printed("0*i, -0") == "0, 0");
  CHECK(printed("- - i, ((j))") == "i, j");
  CHECK(printed("9223372036854775807*i - 9223372036854775807, 0") ==
        "9223372036854775807*i - 9223372036854775807, 0");
}

TEST_CASE("a position may go on in the next line, and axes may be called as inputs are") {
  CHECK(printed("x +\n w, w") == "x + w, w");
  CHECK(printed("i,\n   j") == "i, j");
}

TEST_CASE("what is no sum of multiples of axes is no position") {
  for (const char *wrong : {"i*j, 0", "i / 2, 0", "i // 2, 0", "i % 2, 0", "i ^ 2, 0", "1.5, 0",
                            "sum(i), 0", ":, 0", "i, 2.*j"})
    CHECK(code(wrong) == "E0022");
  for (const char *wrong : {"i,", "i +, 0", "i 2, 0", "(i, 0", "i > 1, 0", "*i, 0", "!i, 0"})
    CHECK_MESSAGE(code(wrong).substr(0, 4) == "E000", wrong);
  for (const char *wrong : {"", "i", "i, j, u", "1", "x[i], 0"}) CHECK(code(wrong) == "E0140");
  CHECK(code("x[i, j], 0") == "E0206");
  CHECK(code("clip(i), 0") == "E0026");
  CHECK(code("nothing[i], 0") == "E0026");
  CHECK(code("in, 0") == "E0005");
}

TEST_CASE("positions stay within i64 and within limits") {
  for (const char *wrong :
       {"9223372036854775808, 0", "9223372036854775807 + 1 + i, 0", "-9223372036854775807 - 1, 0",
        "9223372036854775807*(2*i), 0", "4611686018427387904*i + 4611686018427387904*i, 0"})
    CHECK(code(wrong) == "E0006");
  std::string deep, wide = "a0";
  for (int k = 0; k < 100000; ++k) deep += "(-";
  for (int k = 1; k < 20; ++k) wide += " + a" + std::to_string(k);
  CHECK(code(deep + "i") == "E0013");
  CHECK(code(wide + ", 0") == "E0013");
}

TEST_CASE("axes to which nothing gives an extent are told before any call") {
  CHECK(code("i + j, 0") == "E0141");
  CHECK(code("i + j, j + i") == "E0141");
  CHECK(code("i + j, j") == "none"); // j stands in a sum, and is bounded by the second dim
  CHECK(code("i + u, j + v") == "none");
}

TEST_CASE(
    "labels come in the order in which inputs, then windows have them, and printing keeps it") {
  const bl::Expr x = bl::make_window(bl::input("x", bl::f32, 1), {{0, {{"a", 2}}, {}}}, {});
  const bl::Expr y = bl::make_window(bl::input("y", bl::f32, 1), {{0, {{"b", 3}}, {}}}, {});
  const bl::Expr shared = exp(y);
  const bl::LoopSpec spec = bl::LoopSpec("k").out("z", x + shared * shared);
  const std::string text = bl::print(spec);
  CHECK(bl::print(bl::parse(text)) == text);
  const bl::Array in(bl::f32, {7});
  for (const bl::LoopSpec &kernel : {spec, bl::parse(text)}) {
    const bl::Results results = bl::compile(kernel)({{"x", in}, {"y", in}});
    const auto shape = results["z"].shape();
    CHECK(std::vector(shape.begin(), shape.end()) == std::vector<std::int64_t>{4, 3});
  }
}

TEST_CASE("windows of two inputs of one name are a mistake") {
  const bl::Expr a = bl::make_window(bl::input("x", bl::f32, {":"}), {{0, {{"i", 1}}, {}}}, {});
  const bl::Expr b = bl::make_window(bl::input("x", bl::f32, {"i"}), {{0, {{"i", 1}}, {}}}, {});
  CHECK_THROWS_AS(bl::check(bl::LoopSpec("k").out("z", a + b)), bl::SpecError);
}

TEST_CASE("at() is a read at positions, and prints as one") {
  const bl::Expr x = bl::input("x", bl::f32, 2), w = bl::input("w", bl::f32, {"u"});
  const bl::Position i = bl::axis("i"), u = bl::axis("u");
  const bl::LoopSpec spec =
      bl::LoopSpec("k").out("y", x.at({2 * i + u - 1 + 1, "j"}) * w + x.at({-i, 3u}) * w);
  CHECK(bl::print(spec) == "kernel k {\n  in  x : f32[:, :]\n  in  w : f32[u]\n"
                           "  out y = x[2*i + u, j] * w + x[-i, 3] * w\n}\n");
  CHECK(bl::print(bl::parse(bl::print(spec))) == bl::print(spec));
  CHECK((i - i * 1 + 0).terms().empty());
  CHECK((3 - (u + 2)).constant() == 1);
}

TEST_CASE("at() refuses what is no input and numbers beyond i64, at the user's own line") {
  const bl::Expr x = bl::input("x", bl::f32, 1);
  const auto code = [](const auto &call) {
    try {
      call();
    } catch (const bl::Error &error) {
      CHECK(error.where().file.find("windows_test.cpp") != std::string::npos);
      CHECK_FALSE(error.help().empty());
      return error.code();
    }
    return std::string("none");
  };
  const bl::Position i = bl::axis("i");
  CHECK(code([&] { return (x + 1).at({i}); }) == "E0023");
  CHECK(code([&] { return x.at({i + 1}).at({i}); }) == "E0023");
  CHECK(code([&] { return bl::Expr().at({i}); }) == "E0023");
  CHECK(code([&] { return x.at({INT64_MAX * i * 2}); }) == "E0006");
  CHECK(code([&] { return x.at({i + INT64_MAX + 1 - 1}); }) == "E0006");
  CHECK(code([&] { return x.at({UINT64_MAX}); }) == "E0006");
  CHECK(code([&] { return x.at({INT64_MIN}); }) == "E0006");
  CHECK(code([&] { return x.at({i}).dims({0}); }) == "E0132");
  CHECK_THROWS_AS(bl::check(bl::LoopSpec("k").out("z", x.at({i, 0}))), bl::ShapeError);
}

TEST_CASE("a window that is printed as a let of its own stands behind the array that it reads") {
  const bl::LoopSpec spec =
      bl::parse("kernel k { in y : f64[:, :]; in w : f64[u]\n"
                "let h[q, b, a] = sum(hypot(1 + y[b + 0, q] * w, y[a, 2*a] - w), u)\n"
                "out o[m] = h[m, 0, m] }");
  const bl::LoopSpec read = bl::parse(bl::print(bl::gradient(spec, {"y", "w"})));
  CHECK(bl::print(bl::parse(bl::print(read))) == bl::print(read));
}

TEST_CASE("windows of ten thousand lets are printed as lets of their own, each behind its array") {
  const auto x = bl::input("x", bl::f64, {":"}), z = bl::input("z", bl::f64, {":"});
  bl::Expr last = bl::let("h0", {"i"}, x.at({bl::axis("i")}) * 0.5);
  for (int k = 1; k < 10000; ++k)
    last = bl::let("h" + std::to_string(k), {"i"}, last.at({bl::axis("i")}) * 0.5);
  const bl::Expr shared = bl::exp(z.at({bl::axis("k") + 1}));
  bl::LoopSpec spec("k");
  spec.out("y",
           x.at({bl::axis("m") + 1}) * bl::sum(shared * shared * last.at({bl::axis("k")}), "k"));
  const std::string text = bl::print(spec);
  CHECK(text.find("let t1 = x[m + 1]\n") != std::string::npos);
  CHECK(text.find("let h7[i] = t10 * 0.5\n  let t11 = h7[i]\n  let h8[i] = t11 * 0.5\n") !=
        std::string::npos);
}
