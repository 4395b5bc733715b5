// Padded inputs as text and in C++: what is read, how it prints, and what is none.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

namespace bl = broadloom;

namespace {

std::string kernel(const std::string &value) {
  return "kernel k {\n  in  x : f32[:, :]\n  in  z : u8[n]\n  in  w : f32[u]\n  out y = " + value +
         "\n}\n";
}

std::string printed(const std::string &value) {
  const std::string text = bl::print(bl::parse(kernel(value)));
  CHECK(bl::print(bl::parse(text)) == text);
  const std::size_t from = text.find("out y = ") + 8;
  return text.substr(from, text.find('\n', from) - from);
}

std::string code(const std::string &value) {
  try {
    bl::check(bl::parse(kernel(value)));
  } catch (const bl::Error &error) {
    CHECK(error.where().line >= 4);
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "none";
}

} // namespace

TEST_CASE(
    "paddings print in the order in which they are filled, those that are filled alike in one") {
  CHECK(printed("pad(x, 0: (1, 2))[i, j]") == "pad(x, 0: (1, 2))[i, j]");
  CHECK(printed("pad(x, 0: (1, 2), zero)[i, j]") == "pad(x, 0: (1, 2))[i, j]");
  CHECK(printed("pad(x, -1: (1, 2), 0)[i, j]") == "pad(x, 1: (1, 2))[i, j]");
  CHECK(printed("pad(x, 1: (1, 2), 0: (0, 3), edge)[i + u, j]") ==
        "pad(x, 1: (1, 2), 0: (0, 3), edge)[i + u, j]");
  CHECK(printed("pad(pad(x, 1: (1, 2), wrap), 0: (0, 3), wrap)[i, j]") ==
        "pad(x, 1: (1, 2), 0: (0, 3), wrap)[i, j]");
  CHECK(printed("pad(pad(x, 0: (1, 2), 5), 1: (0, 3), reflect)[i, j]") ==
        "pad(pad(x, 0: (1, 2), 5), 1: (0, 3), reflect)[i, j]");
  CHECK(printed("pad(z, n: (1, 1), 255)[k]") == "pad(z, n: (1, 1), 255)[k]");
  CHECK(printed("pad(z, 0: (1, 1), true)[k]") == "pad(z, n: (1, 1), true)[k]");
  for (const char *number : {"-inf", "nan", "1.", "-0.5", "1e-07", "-3", "9.5"})
    CHECK(printed("pad(x, 0: (1, 1), " + std::string(number) + ")[i, j]") ==
          "pad(x, 0: (1, 1), " + std::string(number) + ")[i, j]");
  CHECK(printed("1 + pad(x,\n  0: (1, 2),\n edge)[i,\n j] * 2") ==
        "1 + pad(x, 0: (1, 2), edge)[i, j] * 2");
  CHECK(printed("sum(w, like=pad(x, 0: (1, 1), wrap)[u, j + u])") ==
        "sum(w, like=pad(x, 0: (1, 1), wrap)[u, j + u])");
}

TEST_CASE("a let of a padded input is another name of it") {
  const std::string text = "kernel k {\n  in  x : f32[:]\n  let p = pad(x, 0: (1, 1), edge)\n"
                           "  let q = pad(p, 0: (0, 0))\n  out y = p[i + 1] - p[i]\n}\n";
  CHECK_THROWS_AS(bl::parse(text), bl::SpecError); // q pads a dim twice
  std::string good = text;
  good.erase(good.find("  let q"), good.find("  out y") - good.find("  let q"));
  CHECK(bl::print(bl::parse(good)) ==
        "kernel k {\n  in  x : f32[:]\n"
        "  out y = pad(x, 0: (1, 1), edge)[i + 1] - pad(x, 0: (1, 1), edge)[i]\n}\n");
  good.insert(good.find("  out y"), "  let p = x\n");
  CHECK_THROWS_AS(bl::parse(good), bl::SpecError);
}

TEST_CASE("what is no padding is told where it stands") {
  for (const char *wrong :
       {"pad(x)[i, j]", "pad(x, edge)[i, j]", "pad(x, 0: 1)[i, j]",
        "pad(x, 0: (1, 1), middle)[i, j]", "pad(x, 0: (1, u))[i, j]",
        "pad(x, 0: (1, 1), edge, 1: (1, 1))[i, j]", "pad(x + 1, 0: (1, 1))[i, j]",
        "pad(x, 0: (1.5, 1))[i, j]", "pad(2, 0: (1, 1))[i, j]"})
    CHECK_MESSAGE(code(wrong) == "E0002", wrong);
  CHECK(code("pad(q, 0: (1, 1))[i, j]") == "E0003");
  CHECK(code("pad(x, 0: (99999999999999999999, 1))[i, j]") == "E0006");
  CHECK(code("pad(x, 0: (1, 1099511627777))[i, j]") == "E0006");
  CHECK(code("pad(x, 0: (-1, 1))[i, j]") == "E0024");
  CHECK(code("pad(x, 0: (1, 1), -2: (1, 1))[i, j]") == "E0024");
  CHECK(code("pad(pad(z, n: (1, 1)), 0: (1, 1))[k]") == "E0024");
  CHECK(code("pad(x, 0: (1, 1))") == "E0025");
  CHECK(code("sum(w, like=pad(x, 0: (1, 1)))") == "E0025");
  CHECK(code("pad(x, 0: (1, 1))[i]") == "E0140");
  for (const char *dim : {"2", "-3", "i", "n"})
    CHECK(code("pad(x, " + std::string(dim) + ": (1, 1))[i, j]") == "E0104");
  CHECK(code("pad(z, m: (1, 1))[k]") == "E0104");
  for (const char *number : {"256", "-1", "0.5", "inf", "99999999999999999999"})
    CHECK_MESSAGE(code("pad(z, n: (1, 1), " + std::string(number) + ")[k]") == "E0202", number);
  CHECK(code("pad(x, 0: (1, 1), 1e39)[i, j]") == "E0202");
  std::string deep;
  for (int k = 0; k < 100000; ++k) deep += "pad(";
  CHECK(code(deep + "x") == "E0002");
}

TEST_CASE("pad() prints as the text, and refuses what it cannot pad at the user's own line") {
  const bl::Expr x = bl::input("x", bl::f32, {"i", "j"}), w = bl::input("w", bl::f32, {"u"});
  const bl::Position i = bl::axis("i"), u = bl::axis("u");
  const bl::Expr padded = bl::pad(bl::pad(x, {{"i", 1, 1}}, bl::Pad::edge), {{1, 0, 2}}, -1.5);
  CHECK(bl::print(bl::LoopSpec("k").out("y", padded.at({i + u, "k"}) * w)) ==
        "kernel k {\n  in  x : f32[i, j]\n  in  w : f32[u]\n"
        "  out y = pad(pad(x, i: (1, 1), edge), j: (0, 2), -1.5)[i + u, k] * w\n}\n");
  const auto code = [](const auto &call) {
    try {
      call();
    } catch (const bl::Error &error) {
      CHECK(error.where().file.find("pads_test.cpp") != std::string::npos);
      CHECK_FALSE(error.help().empty());
      return error.code();
    }
    return std::string("none");
  };
  CHECK(code([&] { return bl::pad(x + 1, {{"i", 1, 1}}); }) == "E0023");
  CHECK(code([&] { return bl::pad(x.at({i, u}), {{"i", 1, 1}}); }) == "E0023");
  CHECK(code([&] { return bl::pad(x, {{"k", 1, 1}}); }) == "E0104");
  CHECK(code([&] { return bl::pad(x, {{"i", 1, -1}}); }) == "E0024");
  CHECK(code([&] { return bl::pad(padded, {{"i", 1, 1}}); }) == "E0024");
  CHECK(code([&] { return bl::pad(x, {{"i", 1, 1}}, w); }) == "E0002");
  CHECK(code([&] { return padded.at({i + u, "k"}).at({i}); }) == "E0023");
  CHECK(code([&] { bl::check(bl::LoopSpec("k").out("y", padded + 1)); }) == "E0025");
}
