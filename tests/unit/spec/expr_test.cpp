// Expressions and specs built in C++: handles, places and copies.
#include <broadloom/spec.hpp>

#include "spec/spec.hpp"

#include <doctest/doctest.h>

namespace bl = broadloom;

TEST_CASE("operators build nodes that remember the caller's line") {
  auto x = bl::input("x", bl::f32, {"i"});
  auto z = x * 2.0f + 1; // this line
  CHECK(z.node()->where.line == __LINE__ - 1);
  CHECK(z.node()->where.file.find("expr_test.cpp") != std::string::npos);
  CHECK(z.node()->args[0].node()->op == bl::ops::Op::Mul);
}

TEST_CASE("numbers keep their kind") {
  auto x = bl::input("x", bl::f32);
  CHECK((x + 1).node()->args[1].node()->number.kind == bl::Number::Kind::Int);
  CHECK((x + 1.0f).node()->args[1].node()->number.kind == bl::Number::Kind::Float);
  CHECK((x + true).node()->args[1].node()->number.kind == bl::Number::Kind::Bool);
  CHECK((x + UINT64_MAX).node()->args[1].node()->number.too_large);
}

TEST_CASE("placing an input gives another input and leaves the first as it was") {
  auto y = bl::input("y", bl::f32, 1);
  auto placed = y.dims({1});
  CHECK(y.node()->input->placement == bl::Placement::ByOrder);
  CHECK(placed.node()->input->axes == std::vector{1});
  CHECK_THROWS_WITH_AS((y + 1).dims({0}), doctest::Contains("E0132"), bl::ShapeError);
}

TEST_CASE("a copied spec does not see what is added to the other") {
  auto x = bl::input("x", bl::f32, {"i"});
  auto first = bl::LoopSpec("demo").out("z", x);
  auto second = first;
  second.out("w", x + 1).as(bl::f64).add();
  CHECK(first.data().outputs.size() == 1);
  CHECK(second.data().outputs.size() == 2);
  CHECK(second.data().outputs[1].dtype == bl::f64);
  CHECK(second.data().outputs[1].add);
}

TEST_CASE("a chain of a million operations is built and freed without recursion") {
  auto x = bl::input("x", bl::f32);
  bl::Expr sum = x;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + x;
  sum = bl::Expr();
  CHECK(sum.node() == nullptr);
}

TEST_CASE("a mistake in C++ is reported with the line that made it") {
  auto x = bl::input("x", bl::f32, {"i"});
  auto bits = x & 1; // this line
  try {
    bl::check(bl::LoopSpec("demo").out("z", bits));
    FAIL("no error");
  } catch (const bl::DTypeError &error) {
    CHECK(error.code() == "E0201");
    CHECK(error.where().line == __LINE__ - 6);
    CHECK(error.render().find("expr_test.cpp:") == error.render().rfind("/") + 1);
  }
}

TEST_CASE("an empty expression is an error, not a crash") {
  auto x = bl::input("x", bl::f32);
  CHECK_THROWS_WITH_AS(bl::check(bl::LoopSpec("demo").out("z", x + bl::Expr())),
                       doctest::Contains("E0002"), bl::SpecError);
  CHECK_THROWS_AS(bl::check(bl::LoopSpec("demo").out("z", bl::Expr())), bl::SpecError);
}

TEST_CASE("names from C++ are checked like names from text") {
  auto named = [](const char *name) {
    return bl::LoopSpec("demo").out("z", bl::input(name, bl::f32) + 1);
  };
  CHECK_THROWS_WITH_AS(bl::check(named("a b")), doctest::Contains("E0001"), bl::SpecError);
  CHECK_THROWS_WITH_AS(bl::check(named("out")), doctest::Contains("E0005"), bl::SpecError);
  CHECK_THROWS_WITH_AS(bl::check(named("z")), doctest::Contains("E0004"), bl::SpecError);
  CHECK_NOTHROW(bl::check(named("exp")));
}

TEST_CASE("one input may be declared twice alike, but not differently") {
  auto a = bl::input("x", bl::f32, 1), b = bl::input("x", bl::f32, 1);
  CHECK_NOTHROW(bl::check(bl::LoopSpec("demo").out("z", a + b)));
  auto c = bl::input("x", bl::f64, 1);
  CHECK_THROWS_WITH_AS(bl::check(bl::LoopSpec("demo").out("z", a + c)), doctest::Contains("E0004"),
                       bl::SpecError);
}

TEST_CASE("an error renders with a caret, and in color only when asked") {
  bl::SpecError error("E0003", "'q' is not defined", {"a.loom", 3, 5, 2, "\tz = qq"}, "declare it");
  CHECK(error.render() ==
        "a.loom:3:5: error[E0003]: 'q' is not defined\n\tz = qq\n\t   ^~\nhelp: declare it");
  CHECK(error.render(true).find("\033[") != std::string::npos);
  CHECK(std::string(error.what()) == "E0003: 'q' is not defined (a.loom:3:5)\nhelp: declare it");
  bl::DataError nowhere("E0301", "cannot open", {}, "check the path");
  CHECK(nowhere.render() == "broadloom: error[E0301]: cannot open\nhelp: check the path");
}

TEST_CASE("a braced number is a dim of that extent, a plain one a rank") {
  const auto text = [](const broadloom::Expr &x) {
    return broadloom::print(broadloom::LoopSpec("k").out("z", x));
  };
  CHECK(text(broadloom::input("f", broadloom::f32, {3})).find("f32[3]") != std::string::npos);
  CHECK(text(broadloom::input("f", broadloom::f32, 3)).find("f32[:, :, :]") != std::string::npos);
  CHECK(text(broadloom::input("f", broadloom::f32)).find("f : f32\n") != std::string::npos);
  CHECK(text(broadloom::input("f", broadloom::f32, {})) ==
        text(broadloom::input("f", broadloom::f32)));
}
