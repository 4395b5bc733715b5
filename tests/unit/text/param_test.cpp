// `param`: an input with a role and maybe a sign, in text and in C++.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

using namespace broadloom;

TEST_CASE("Parameters and their signs print as they were written") {
  const char *text = "kernel demo {\n"
                     "  in  x : f32[n, c]\n"
                     "  param a : f32[c] > 0\n"
                     "  param b : f32[:] dims(1) >= 0\n"
                     "  param d : f32[c=3] < 0\n"
                     "  param e : f32 <= 0\n"
                     "  param f : f64[c] != 0\n"
                     "  param g : f64[:, :] axes(1, 0)\n"
                     "  out z = x * a + b * d + e * f + g\n"
                     "}\n";
  CHECK(print(parse(text)) == text);
  const std::vector<InputInfo> inputs = compile(parse(text)).inputs();
  const std::vector<Sign> signs{Sign::any,      Sign::positive,    Sign::nonnegative,
                                Sign::negative, Sign::nonpositive, Sign::nonzero,
                                Sign::any};
  REQUIRE(inputs.size() == signs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CHECK(inputs[i].sign == signs[i]);
    CHECK(inputs[i].role == (i == 0 ? InputRole::plain : InputRole::parameter));
  }
}

TEST_CASE("A parameter that was made in C++ is that of the text") {
  const Expr x = input("x", f32, {"n", "c"});
  const Expr s = param("s", f32, {"c"}).positive(), b = param("b", f32).known(Sign::nonzero);
  const LoopSpec spec = LoopSpec("demo").out("z", x * s + b);
  CHECK(print(spec) == "kernel demo {\n  in  x : f32[n, c]\n  param s : f32[c] > 0\n"
                       "  param b : f32 != 0\n  out z = x * s + b\n}\n");
}

TEST_CASE("A sign is known of parameters only") {
  for (const Expr &e :
       {input("x", f32, 1), param("w", f32, {"i"}) + 1, param("w", f32, {":"}).at({"i"})}) {
    std::string code;
    try {
      (void)e.positive();
    } catch (const SpecError &error) {
      code = error.code();
    }
    CHECK(code == "E0040");
  }
}

TEST_CASE("A parameter is an input of a call until it is frozen") {
  const Kernel kernel =
      compile(parse("kernel k { param w : f64[i]; in x : f64[i]; out z = w * x; out y = w[i] }"));
  const double w[] = {1, 2}, x[] = {3, 4};
  double z[2], y[2];
  const View<const double> wv(w, {2}), xv(x, {2});
  kernel.run({wv, xv}, {View<double>(z, {2}), View<double>(y, {2})});
  CHECK(z[1] == 8);
  CHECK(y[1] == 2);
  CHECK(kernel({{"x", xv}, {"w", wv}})["z"].data<double>()[0] == 3);
}

TEST_CASE("param is a word at the start of a statement, and a name elsewhere") {
  const char *text = "kernel k {\n  param param : f32[param]\n  out z = param + 1\n}\n";
  CHECK(print(parse(text)) == text);
}
