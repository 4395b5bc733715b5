// The C++ interface as its overview shows it: each line stands here as it is written there.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace bl = broadloom;

TEST_CASE("the overview of the C++ interface compiles and runs") {
  const std::int64_t rows = 2, cols = 3, ld = 4;
  const std::vector<float> x_data{1, 2, 3, 0, 4, 5, 6, 0}, y_data{1, 2};
  const float *px = x_data.data();
  const bl::View<const float> yv(y_data);
  std::vector<float> z(6), s(2), c(3), n(6);
  const bl::View<float> zv(z, {rows, cols}), sv(s), cv(c), nv(n, {rows, cols});

  auto x = bl::input("x", bl::f32, {"i", "j"});
  auto y = bl::input("y", bl::f32, {"i"});
  auto spec = bl::LoopSpec("demo")
                  .order(bl::Order::c)
                  .out("z", bl::broadcast, exp(x) * y)
                  .out("s", bl::accumulate(bl::sum), x * y)
                  .out("c", bl::reduce(bl::max), {"j"}, x * y) // kept axes
                  .out("n", x / bl::sum(x, "j"));
  bl::LoopSpec same = bl::parse(bl::print(spec));
  bl::LoopSpec back = bl::gradient(spec, {"x", "y"});

  bl::Kernel k = bl::compile(spec);
  bl::View<const float> xv(px, {rows, cols},
                           {ld, 1}); // strides in elements; contiguous when left out
  k.run({{"x", xv}, {"y", yv}}, {{"z", zv}, {"s", sv}, {"c", cv}, {"n", nv}}); // caller's memory
  k.run({xv, yv}, {zv, sv, cv, nv}); // the same by position, in declared order
  bl::Results r = k({{"x", xv}, {"y", yv}});
  auto bound = k.bind({xv, yv}, {zv, sv, cv, nv});
  bound(); // repeated calls on one layout
  k.prepare({xv, yv});
  k.infer({xv, yv});
  k.show(bl::Stage::loop);
  k.why();

  CHECK(bl::print(same) == bl::print(spec));
  CHECK(bl::print(back).starts_with("kernel demo_grad {"));
  CHECK(s == std::vector<float>{6, 30});
  CHECK(c == std::vector<float>{8, 10, 12});
  CHECK(r["z"].to_vector<float>() == z);
  CHECK(r["n"].at(1, 1) == doctest::Approx(5.0 / 15));

  const bl::Expr unlabelled = bl::input("y", bl::f32, 1).dims({1});
  const bl::Options options{
      .threads = 1, .target = "", .cache_dir = "", .engine = bl::Engine::automatic};
  const bl::GradientOptions gradient_options{.policy = bl::Policy::recompute, .value = true};
  CHECK(bl::compile(bl::LoopSpec("u").out("z", bl::input("m", bl::f32, 2) + unlabelled), options)
            .threads() == 1);
  CHECK(bl::print(bl::gradient(spec, {"x"}, gradient_options)).find("out n") != std::string::npos);
  CHECK(
      bl::print(
          bl::parse("kernel a { in x : f32; out z = x }\nkernel b { in x : f32; out z = x }", "b"))
          .starts_with("kernel b"));
}
