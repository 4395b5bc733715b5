// Inputs and outputs in declared order, wherever positions are meant, and what a kernel says of
// them.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

using namespace broadloom;

namespace {

std::vector<std::string> names_of(const std::vector<InputInfo> &inputs) {
  std::vector<std::string> names;
  for (const InputInfo &input : inputs) names.push_back(input.name);
  return names;
}
std::vector<std::string> inputs_of(const LoopSpec &spec) {
  return names_of(compile(spec).inputs());
}

using Names = std::vector<std::string>;

// Declared price, vol, strike; read strike, vol, price.
LoopSpec option() {
  const Expr price = input("price", f64, {"i"}), vol = input("vol", f64, {"i"});
  const Expr strike = input("strike", f64, {"i"});
  return LoopSpec("option").out("z", strike * 0 + vol * 100 + price);
}

} // namespace

TEST_CASE("Positions are those of the declarations, not of the first reading") {
  const double price = 1, vol = 2, strike = 3;
  const View<const double> pv(&price, {1}), vv(&vol, {1}), sv(&strike, {1});
  const char *text = "kernel option {\n"
                     "  in price : f64[i]; in vol : f64[i]; in strike : f64[i]\n"
                     "  out z = strike * 0 + vol * 100 + price\n}";
  for (const LoopSpec &spec : {option(), parse(text), parse(print(option()))}) {
    for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
      const Kernel kernel = compile(spec, {.engine = engine});
      CHECK(names_of(kernel.inputs()) == Names{"price", "vol", "strike"});
      double z = 0;
      kernel.run({pv, vv, sv}, {View<double>(&z, {1})});
      CHECK(z == 201);
      z = 0;
      kernel.bind({pv, vv, sv}, {View<double>(&z, {1})})();
      CHECK(z == 201);
      kernel.prepare({pv, vv, sv});
      CHECK(kernel({{"strike", sv}, {"price", pv}, {"vol", vv}})[0].data<double>()[0] == 201);
    }
  }
  CHECK(print(option()).find("in  price : f64[i]\n  in  vol : f64[i]\n  in  strike : f64[i]") !=
        std::string::npos);
}

TEST_CASE("Inputs of different types and ranks are expected in declared order") {
  const Expr row = input("row", f32, {"j"}), count = input("count", i32);
  const Expr x = input("x", f32, {"i", "j"});
  const Kernel kernel = compile(LoopSpec("k").out("z", (x + row) * cast(f32, count)));
  const std::vector<float> data(6, 2);
  const std::int32_t two = 2;
  const View<const float> rv(data.data(), {3}), xv(data.data(), {2, 3});
  const View<const std::int32_t> cv(&two, {});
  // The iteration space, too: j is declared first.
  CHECK(kernel.infer({rv, cv, xv})[0].shape == std::vector<std::int64_t>{3, 2});
  CHECK(kernel.infer({{"x", xv}, {"row", rv}, {"count", cv}})[0].shape ==
        std::vector<std::int64_t>{3, 2});
  CHECK_THROWS_AS(kernel.infer({xv, rv, cv}), Error);
}

TEST_CASE("LoopSpec::in declares before all that is only read, and a placed input keeps its turn") {
  const Expr a = input("a", f64, 1), b = input("b", f64, 2), c = input("c", f64, 1);
  const Expr d = input("d", f64, 1), placed = a.dims({0});
  CHECK(inputs_of(LoopSpec("k").out("z", d + c + b + placed)) == Names{"a", "b", "c", "d"});
  CHECK(inputs_of(LoopSpec("k").in(d).in(c).out("z", d + b + placed)) == Names{"d", "c", "a", "b"});
  CHECK(inputs_of(LoopSpec("k").out("z", c).out("y", b)) == Names{"b", "c"});
}

TEST_CASE("An input that a function ignores, or that init= reads, has its turn as well") {
  const Expr a = input("a", f64, {"i"}), b = input("b", f64), c = input("c", f64, {"i"});
  const Function first = function("first", {"p", "q"}, [](Expr p, Expr) { return p; });
  const LoopSpec ignoring = LoopSpec("k").out("z", first(c, a));
  CHECK(inputs_of(ignoring) == Names{"a", "c"});
  CHECK(inputs_of(parse(print(ignoring))) == Names{"a", "c"});
  CHECK(inputs_of(LoopSpec("k").out("s", reduce(sum, init(b)), {}, c)) == Names{"b", "c"});
  CHECK(inputs_of(LoopSpec("k").out("s", reduce(sum, init(b)), {}, a)) == Names{"a", "b"});
}

TEST_CASE("A gradient has the inputs of the kernel in their order, then the cotangents") {
  const LoopSpec spec = gradient(option(), {"vol", "price"});
  CHECK(inputs_of(spec) == Names{"price", "vol", "strike", "d_z"});
  CHECK(inputs_of(parse(print(spec))) == Names{"price", "vol", "strike", "d_z"});
  const Kernel kernel = compile(spec);
  REQUIRE(kernel.outputs().size() == 2);
  CHECK(kernel.outputs()[0].name == "d_vol");
  CHECK(kernel.outputs()[1].name == "d_price");
}

TEST_CASE("bind, prepare and infer take names; an output that bind is not given is not computed") {
  const double price = 1, vol = 2, strike = 3;
  const View<const double> pv(&price, {1}), vv(&vol, {1}), sv(&strike, {1});
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
    const Kernel kernel = compile(option().out("w", Expr(input("price", f64, {"i"})) + 1),
                                  {.threads = 1, .engine = engine});
    kernel.prepare({{"vol", vv}, {"strike", sv}, {"price", pv}});
    CHECK(kernel.infer({{"vol", vv}, {"strike", sv}, {"price", pv}})[1].name == "w");
    double z = 0, w = -1;
    const BoundCall both =
        kernel.bind({{"vol", vv}, {"strike", sv}, {"price", pv}},
                    {{"w", View<double>(&w, {1})}, {"z", View<double>(&z, {1})}});
    both();
    CHECK(z == 201);
    CHECK(w == 2);
    w = -1, z = 0;
    kernel.bind({{"vol", vv}, {"strike", sv}, {"price", pv}}, {{"z", View<double>(&z, {1})}})();
    CHECK(z == 201);
    CHECK(w == -1);
    CHECK_THROWS_AS(kernel.bind({{"vol", vv}, {"price", pv}}, {{"z", View<double>(&z, {1})}}),
                    DataError);
    CHECK_THROWS_AS(kernel.prepare({{"vol", vv}, {"price", pv}, {"strikes", sv}}), DataError);
    CHECK_THROWS_AS(kernel.infer({{"vol", vv}, {"vol", vv}, {"strike", sv}}), DataError);
  }
}

TEST_CASE("A kernel says what its inputs and outputs are") {
  const Kernel kernel = compile(parse("kernel k {\n"
                                      "  in x : f32[i, j=3]; in y : f64[:]; in n : i32\n"
                                      "  out p[j, i] = broadcast x\n"
                                      "  out a[i] = accumulate(sum) x * n\n"
                                      "  out r[j] : f64 += reduce(max) x\n"
                                      "  out q = y\n}"));
  const std::vector<InputInfo> in = kernel.inputs();
  REQUIRE(in.size() == 3);
  CHECK(in[0].dtype == DType::F32);
  CHECK(in[0].axes == Names{"i", "j"});
  CHECK(in[0].extents == std::vector<std::int64_t>{-1, 3});
  CHECK(in[0].where.line == 2);
  CHECK(in[1].axes == Names{"j"}); // aligned at the end
  CHECK(in[2].rank() == 0);
  const std::vector<OutputInfo> out = kernel.outputs();
  REQUIRE(out.size() == 4);
  CHECK(out[0].axes == Names{"j", "i"});
  CHECK(out[0].mode == ModeKind::broadcast);
  CHECK(out[1].mode == ModeKind::accumulate);
  CHECK(out[2].mode == ModeKind::reduce);
  CHECK(out[2].dtype == DType::F64);
  CHECK(out[2].add);
  CHECK(out[3].mode == ModeKind::plain);
  CHECK(out[3].rank() == 1);
  CHECK_FALSE(out[3].add);
  const Kernel plain =
      compile(parse("kernel k { in x : f32[:, :]; in y : f32[:]; out z = x * y }"));
  CHECK(plain.inputs()[0].axes == Names{"0", "1"});
  CHECK(plain.inputs()[1].axes == Names{"1"});
}
