// What a mistake says to a program: the kernel, the line of the call, what to do.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace bl = broadloom;

namespace {

bool ends_with(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

template <class Call> bl::Error error_of(const Call &call) {
  try {
    call();
  } catch (const bl::Error &error) {
    return error;
  }
  FAIL("nothing was thrown");
  return bl::SpecError("", "", {}, "");
}

const char *const text = "kernel product {\n  in x : f32[i]\n  in y : f32[i]\n  out z = x * y\n}\n";

} // namespace

TEST_CASE("the error of a call names its kernel, its line and what to do") {
  const bl::Kernel kernel = bl::compile(bl::parse(text, {}, "product.loom"));
  const std::vector<float> x(5), y(3);
  std::vector<float> z(5);
  const int line = __LINE__ + 1;
  const bl::Error error = error_of([&] { kernel.run({{"x", x}, {"y", y}}, {{"z", z}}); });
  CHECK(error.code() == "E0102");
  CHECK(error.kernel() == "product");
  CHECK(ends_with(error.called().file, "call_errors_test.cpp"));
  CHECK(error.called().line == line);
  const std::string what = error.what();
  CHECK(what.starts_with("E0102: kernel 'product': "));
  CHECK(what.find(error.message()) != what.npos);
  CHECK(what.find("(product.loom:") != what.npos);
  CHECK(what.find(", called at ") != what.npos);
  CHECK(what.find("call_errors_test.cpp:" + std::to_string(line)) != what.npos);
  CHECK(ends_with(what, "\nhelp: " + error.help()));
}

TEST_CASE("an unknown name says what it is like, and the kernel is named once") {
  const bl::Kernel kernel =
      bl::compile(bl::parse("kernel scale { in weights : f32[i]; out z = 2 * weights }"));
  const std::vector<float> w(5);
  const bl::Error error = error_of([&] { kernel({{"weight", w}}); });
  CHECK(std::string(error.what())
            .starts_with("E0308: kernel 'scale' has no input called 'weight' (called at "));
  CHECK(error.help().starts_with("did you mean 'weights'? kernel 'scale' declares the inputs "));
  CHECK(error_of([&] { kernel({{"q", w}}); }).help().starts_with("kernel 'scale' declares "));
}

TEST_CASE("a gradient that lacks a cotangent says what that is") {
  const bl::LoopSpec spec = bl::parse("kernel k { in x : f32[i]; out y = x * x }");
  const bl::Kernel slopes = bl::compile(bl::gradient(spec, {"x"}));
  const std::vector<float> x(5);
  CHECK(error_of([&] { slopes({{"x", x}}); })
            .help()
            .starts_with("d_y is how much a loss changes with each element of 'y', all ones "));
  CHECK(error_of([&] { slopes({{"d_y", x}}); }).help().starts_with("kernel 'k_grad' declares "));
}

TEST_CASE("what a text holds moves no terminal through what()") {
  const bl::Error error = error_of([&] { bl::parse("kernel k { in x\x1b[31m : f32[i] }"); });
  CHECK(std::string(error.what()).find('\x1b') == std::string::npos);
}

TEST_CASE("every way to call notes the line of the caller") {
  const bl::Kernel kernel = bl::compile(bl::parse(text));
  std::vector<float> x(5), y(3), z(5);
  const std::vector<bl::NamedView> named{{"x", x}, {"y", y}}, out{{"z", z}};
  const std::vector<bl::AnyView> in_order{bl::View(x), bl::View(y)}, outputs{bl::View(z)};
  const auto is_here = [](const bl::Error &error, int line) {
    CHECK(error.kernel() == "product");
    CHECK(ends_with(error.called().file, "call_errors_test.cpp"));
    CHECK(error.called().line == line);
  };
  is_here(error_of([&] { kernel({{"x", x}, {"y", y}}); }), __LINE__);
  is_here(error_of([&] { kernel.call(named); }), __LINE__);
  is_here(error_of([&] { kernel.run(in_order, outputs); }), __LINE__);
  is_here(error_of([&] { kernel.run({bl::View(x), bl::View(y)}, {bl::View(z)}); }), __LINE__);
  is_here(error_of([&] { kernel.run_named(named, out); }), __LINE__);
  is_here(error_of([&] { kernel.bind(in_order, outputs); }), __LINE__);
  is_here(error_of([&] { kernel.bind_named(named, out); }), __LINE__);
  is_here(error_of([&] { kernel.bind({{"x", x}, {"y", y}}, {{"z", z}}); }), __LINE__);
}

TEST_CASE("a bound call and a stateful kernel note the line, too") {
  const bl::Kernel gather =
      bl::compile(bl::parse("kernel pick { in x : f32[n]; in k : i32[i]; out z = x[k[i]] }"));
  std::vector<float> x(3), z(2);
  std::vector<std::int32_t> k{0, 1};
  const bl::BoundCall call = gather.bind({{"x", x}, {"k", k}}, {{"z", z}});
  k[1] = 7;
  const int line = __LINE__ + 1;
  const bl::Error outside = error_of([&] { call(); });
  CHECK(outside.code() == "E0315");
  CHECK(outside.kernel() == "pick");
  CHECK(outside.called().line == line);

  bl::StatefulKernel step(
      bl::parse("kernel step { state w : f32[2]; in d : f32[2]; update w = w - d }"));
  const std::vector<float> d(3);
  const int at = __LINE__ + 1;
  const bl::Error wrong = error_of([&] { step({{"d", d}}); });
  CHECK(wrong.kernel() == "step");
  CHECK(ends_with(wrong.called().file, "call_errors_test.cpp"));
  CHECK(wrong.called().line == at);
}

TEST_CASE("an error that is no call's has its place and its help") {
  const bl::Error error =
      error_of([] { bl::check(bl::parse("kernel k { in x : f32[:]\nout z = q }")); });
  CHECK(error.kernel().empty());
  CHECK(!error.called().known());
  CHECK(std::string(error.what()).starts_with("E0003: 'q' is not defined (<text>:2:9)\nhelp: "));
}

TEST_CASE("names and lines of a megabyte are cut") {
  const std::string name(1 << 20, 'a');
  const bl::Error twice = error_of([&] {
    bl::parse("kernel k { in x : f32[:]; let " + name + " = x; let " + name + " = x; out z = x }");
  });
  CHECK(twice.code() == "E0004");
  CHECK(twice.message().size() < 200);
  CHECK(twice.render().size() < 600);
  CHECK(std::string(twice.what()).size() < 600);
  const bl::Error near = error_of([&] { // the help names it, too
    bl::parse("kernel k { in " + name + "b : f32[:]; out z = " + name + " }");
  });
  CHECK(near.code() == "E0003");
  CHECK(std::string(near.what()).size() < 600);
  std::string many; // a list of thousands of names
  for (int i = 0; i < 3000; ++i) many += "in x" + std::to_string(i) + " : f32; ";
  const bl::Kernel kernel = bl::compile(bl::parse("kernel k { " + many + "out z = x0 }"));
  const bl::Error missing = error_of([&] { kernel({{"q", bl::View<const float>(nullptr, {})}}); });
  CHECK(missing.help().size() < 5000);
}
