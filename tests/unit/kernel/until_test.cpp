// Loops over time that go until a condition holds: two lets of the language, of which a call runs
// no step behind that one.
#include "calls/record.hpp"
#include "split_calls.hpp"

#include <cmath>
#include <map>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

using D = std::vector<double>;

View<const double> view(const D &values) { return {values.data(), {std::int64_t(values.size())}}; }
View<const double> number(const double &value) { return {&value, {}}; }

// How often each nest of a kernel k runs in a call: k_u is a step of its let u.
std::map<std::string, int> runs_of(const Kernel &kernel, const std::vector<NamedView> &inputs) {
  const calls::Recorder recorder;
  kernel.call(inputs);
  std::map<std::string, int> runs;
  for (const calls::Event &event : recorder.record().events)
    if (event.kind == calls::Step::Kind::Run) ++runs[event.kernel];
  CHECK_NOTHROW(calls::check_record(recorder.record(), calls::parse(kernel.show(Stage::call))));
  return runs;
}

// So many steps of let u in each engine that has steps.
void check_steps(const LoopSpec &spec, const std::vector<NamedView> &inputs, int steps) {
  for (const Options &options :
       {with(Engine::interpreter), with(Engine::jit), with(Engine::jit, 3)}) {
    const Kernel kernel = compile(spec, options);
    CHECK(runs_of(kernel, inputs).at("k_u") == steps);
    CHECK(has(kernel, "loop-ends"));
  }
}

std::int64_t integer(const Array &array) { return array.copy().data<std::int64_t>()[0]; }

const std::string newton = "in a : f64\n"
                           "let u[t < 50 until abs(u[t] - u[t - 1]) < 1e-12] = "
                           "(u[t - 1] + a / u[t - 1]) / 2 from a\n";
struct Root {
  double value;
  int steps = 0;
};
Root newtons_root(double a) {
  Root root{a};
  for (double before = 0; root.steps == 0 || std::abs(root.value - before) >= 1e-12; ++root.steps) {
    before = root.value;
    root.value = (before + a / before) / 2;
  }
  return root;
}

const std::string jacobi = "in u0 : f64[i]; in f : f64[i]; in eps : f64\n"
                           "let u[t < 400 until max(abs(u[t, i] - u[t - 1, i]), i) < eps, i] = "
                           "(pad(u, 1: (1, 1))[t - 1, i] + pad(u, 1: (1, 1))[t - 1, i + 2] + f[i]) "
                           "/ 2 from u0\n";
struct Solved {
  D u;
  int steps = 0;
};
Solved jacobi_by_hand(D u, const D &f, double eps) {
  const std::size_t n = u.size();
  for (int step = 1;; ++step) {
    D next(n);
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      next[i] = ((i > 0 ? u[i - 1] : 0) + (i + 1 < n ? u[i + 1] : 0) + f[i]) / 2;
      most = std::max(most, std::abs(next[i] - u[i]));
    }
    u = next;
    if (most < eps || step == 400) return {u, step};
  }
}

} // namespace

TEST_CASE("Newton's method ends when it is there, and says after how many steps") {
  for (const double a : {2.0, 9.0, 1e6, 1.0}) {
    const Root root = newtons_root(a);
    const std::vector<NamedView> inputs{{"a", number(a)}};
    const std::string body = newton + "out y = u[-1]\nout n = steps(u)\nout h[t] = u[t]";
    const Results got = results(body, inputs);
    CHECK(values(got["y"]) == D{root.value});
    CHECK(integer(got["n"]) == root.steps);
    const D h = values(got["h"]);
    REQUIRE(h.size() == 50);
    for (std::size_t t = std::size_t(root.steps) - 1; t < 50; ++t) CHECK(h[t] == root.value);
    check_steps(kernel_of(body), inputs, root.steps);
  }
}

TEST_CASE("a loop that goes until a condition holds is printed as the two lets that it is") {
  const std::string lets =
      "  let u[t < 50] = where(u_done[t - 1], u[t - 1], (u[t - 1] + a / u[t - 1]) / 2) from a\n"
      "  let u_done[t < 50] = u_done[t - 1] || abs(u[t] - u[t - 1]) < 1e-12\n";
  const std::string text = print(kernel_of(newton + "out y = u[-1]"));
  CHECK_MESSAGE(text.find(lets) != text.npos, text);
  CHECK(print(parse(text)) == text);
}

TEST_CASE("a Jacobi iteration ends where it has converged, and keeps two rows") {
  const D u0{0, 1, 0, 0, 0, 2, 0}, f{0.5, 0, 0.25, 0, 0, 0, 1};
  for (const double eps : {1e-3, 1e-9, 100.0, 0.0}) {
    const Solved solved = jacobi_by_hand(u0, f, eps);
    CHECK((solved.steps < 400) == (eps > 0));
    const std::vector<NamedView> inputs{{"u0", view(u0)}, {"f", view(f)}, {"eps", number(eps)}};
    const Results got = results(jacobi + "out y[i] = u[-1, i]\nout n = steps(u)", inputs);
    CHECK(values(got["y"]) == solved.u);
    CHECK(integer(got["n"]) == solved.steps);
    check_steps(kernel_of(jacobi + "out y[i] = u[-1, i]"), inputs, solved.steps);
    CHECK(has(compile(kernel_of(jacobi + "out y[i] = u[-1, i]")), "let-keeps-rows"));
    const Results all = results(jacobi + "out y[t, i] = u[t, i]", inputs);
    const D rows = values(all["y"]);
    for (std::size_t t = std::size_t(solved.steps) - 1; t < 400; ++t)
      for (std::size_t i = 0; i < 7; ++i) CHECK(rows[7 * t + i] == solved.u[i]);
    check_steps(kernel_of(jacobi + "out y[t, i] = u[t, i]"), inputs, solved.steps);
  }
}

TEST_CASE("at the first step the condition compares with the start") {
  const D u0{3, 4};
  const std::vector<NamedView> inputs{{"u0", view(u0)}};
  const std::string body = "in u0 : f64[i]\n"
                           "let u[t < 9 until all(u[t, i] == u[t - 1, i], i), i] = "
                           "minimum(u[t - 1, i] + 1, 4) from u0\n"
                           "out y[t, i] = u[t, i]\nout n = steps(u)\nout d[t] = u_done[t]";
  const Results got = results(body, inputs);
  CHECK(integer(got["n"]) == 2);
  check_steps(kernel_of(body), inputs, 2);
  const D at_once{4, 4};
  CHECK(integer(results(body, {{"u0", view(at_once)}})["n"]) == 1);
  check_steps(kernel_of(body), {{"u0", view(at_once)}}, 1);
}

TEST_CASE("who writes the two lets has the same call") {
  const D u0{3, 4, 9};
  const std::vector<NamedView> inputs{{"u0", view(u0)}};
  const std::string rest = "out y[i] = u[-1, i]\nout n = sum(where(u_done[t], 0, 1), t)";
  const LoopSpec sugar = kernel_of(
      "in u0 : f64[i]; let u[t < 60 until sum(u[t, i], i) < 1, i] = u[t - 1, i] / 2 from u0\n" +
      rest);
  const LoopSpec by_hand = kernel_of("in u0 : f64[i]\nlet u[t < 60, i] = where(u_done[t - 1], u[t "
                                     "- 1, i], u[t - 1, i] / 2) from u0\n"
                                     "let u_done[t < 60] = u_done[t - 1] || sum(u[t, i], i) < 1\n" +
                                     rest);
  CHECK(print(sugar) == print(by_hand));
  const LoopSpec turned =
      kernel_of("in u0 : f64[i]\nlet u[t < 60, i] = where(!over[t - 1], u[t - 1, i] / 2, u[t - 1, "
                "i]) from u0\n"
                "let over[t] = sum(u[t, i], i) < 1 || over[t - 1]\nout y[i] = u[-1, i]");
  check_steps(sugar, inputs, 5);
  check_steps(by_hand, inputs, 5);
  check_steps(turned, inputs, 5);
  CHECK(bytes(in_all_engines(turned, inputs)["y"]) == bytes(in_all_engines(sugar, inputs)["y"]));
}

TEST_CASE("all lets that go step by step with one that ends hold still") {
  const D x0{1, 2, 3};
  const std::vector<NamedView> inputs{{"x0", view(x0)}};
  // d reads only its own step, and is at rest with the others.
  const std::string body =
      "in x0 : f64[i]\n"
      "let d[t < 40, i] = u[t - 1, i] - v[t - 1, i]\n"
      "let v[t, i] = v[t - 1, i] + d[t, i] / 4\n"
      "let u[t until max(abs(d[t, i]), i) < 0.01, i] = u[t - 1, i] - d[t, i] / 4 from x0\n"
      "out a[t, i] = u[t, i]\nout b[t, i] = v[t, i]\nout c[t, i] = d[t, i]\n"
      "out n = steps(u)";
  const Results got = results(body, inputs);
  const auto steps = integer(got["n"]);
  CHECK(steps == 10);
  check_steps(kernel_of(body), inputs, int(steps));
  for (const char *name : {"a", "b", "c"}) {
    const D rows = values(got[name]);
    for (std::size_t t = std::size_t(steps); t < 40; ++t)
      for (std::size_t i = 0; i < 3; ++i)
        CHECK(rows[3 * t + i] == rows[3 * std::size_t(steps - 1) + i]);
  }
}

TEST_CASE("what a step makes of lets that hold still is at rest some steps later") {
  const D u0{3, 4, 9};
  const std::vector<NamedView> inputs{{"u0", view(u0)}};
  // d is 0 from the step behind the last one on.
  const std::string body =
      "in u0 : f64[i]\n"
      "let u[t < 60, i] = where(u_done[t - 1], u[t - 1, i], u[t - 1, i] / 2) from u0\n"
      "let d[t, i] = u[t, i] - u[t - 1, i]\n"
      "let u_done[t] = u_done[t - 1] || max(abs(d[t, i]), i) < 0.5\n"
      "out y[t, i] = u[t, i]\nout e[t, i] = d[t, i]";
  const Results got = results(body, inputs);
  check_steps(kernel_of(body), inputs, 6);
  const D e = values(got["e"]);
  CHECK(e[3 * 4 + 2] == -9.0 / 32);
  CHECK(e[3 * 5 + 2] == 0);
  CHECK(e[3 * 59 + 2] == 0);
}

TEST_CASE("a loop runs all steps where a let of it goes on changing") {
  const D u0{3, 4, 9};
  const std::vector<NamedView> inputs{{"u0", view(u0)}};
  for (const std::string &more :
       {std::string("let p[t] = p[t - 1] + u[t - 1, 0]\nout y = p[-1]"),
        std::string("let p[t, i] = u[t, i] * iota(t) + u[t - 1, i]\n"
                    "let q[t, i] = where(u_done[t - 1], q[t - 1, i], p[t, i])\nout y = sum(q[-1, "
                    "i], i) + sum(p[-1, i], i)")}) {
    const LoopSpec spec = kernel_of(
        "in u0 : f64[i]\nlet u[t < 60 until sum(u[t, i], i) < 1, i] = u[t - 1, i] / 2 from u0\n" +
        more);
    in_all_engines(spec, inputs);
    const Kernel kernel = compile(spec, with(Engine::jit));
    CHECK(runs_of(kernel, inputs).at("k_u") == 60);
    CHECK(has(kernel, "loop-runs-on"));
    CHECK_FALSE(has(kernel, "loop-ends"));
  }
}

TEST_CASE("a loop that goes backwards ends, too") {
  const D x{1, 2, 4, 8, 16, 1, 1, 1};
  const std::vector<NamedView> inputs{{"x", view(x)}};
  const std::string body =
      "in x : f64[t]\nlet u[t until u[t] > 10] = x + u[t + 1]\nout y[t] = u\nout n = steps(u)";
  const Results got = results(body, inputs);
  CHECK(values(got["y"]) == D{19, 19, 19, 19, 19, 3, 2, 1});
  CHECK(integer(got["n"]) == 4);
  check_steps(kernel_of(body), inputs, 4);
  check_steps(kernel_of("in x : f64[t]\nlet u[t until u[t] > 10] = x + u[t + 1]\nout y = u[0]"),
              inputs, 4);
}

TEST_CASE("a loop with a lag of two steps ends with the rows that it keeps") {
  const std::string body = "let u[t < 30 until u[t] > 100] = u[t - 1] + u[t - 2] from 1\n";
  const Results got = results(body + "out y = u[-1]\nout n = steps(u)", {});
  CHECK(integer(got["y"]) == 144);
  CHECK(integer(got["n"]) == 10);
  check_steps(kernel_of(body + "out y = u[-1]"), {}, 10);
  check_steps(kernel_of(body + "out y[t] = u"), {}, 10);
}

TEST_CASE("who watches each step of a loop that ends is shown all rows") {
  Options options = with(Engine::jit);
  options.debug = Debug::all;
  const D u0{0, 1, 0, 0, 0, 2, 0}, f{0.5, 0, 0.25, 0, 0, 0, 1};
  const double eps = 1e-3;
  const std::vector<NamedView> inputs{{"u0", view(u0)}, {"f", view(f)}, {"eps", number(eps)}};
  const Results got = compile(kernel_of(jacobi + "out y[i] = u[-1, i]"), options).call(inputs);
  CHECK(values(got["y"]) == jacobi_by_hand(u0, f, eps).u);
}

TEST_CASE("a bound call of a loop that ends runs again and again") {
  const D f{0.5, 0, 0.25, 0, 0, 0, 1};
  D u0{0, 1, 0, 0, 0, 2, 0}, y(7);
  const double eps = 1e-5;
  const Kernel kernel = compile(kernel_of(jacobi + "out y[i] = u[-1, i]"), with(Engine::jit, 2));
  const BoundCall bound = kernel.bind({{"u0", view(u0)}, {"f", view(f)}, {"eps", number(eps)}},
                                      {{"y", View<double>(y.data(), {7})}});
  for (const double first : {0.0, 3.0, -1.0}) {
    u0[0] = first;
    bound();
    CHECK(y == jacobi_by_hand(u0, f, eps).u);
  }
}

TEST_CASE("gradients go through the steps that were taken") {
  const D u0{0.3, 1, 0.2, 0.1, 0.5, 2, 0.7}, f{0.5, 0.1, 0.25, 0.2, 0.1, 0.3, 1};
  const double eps = 1e-2;
  const Solved solved = jacobi_by_hand(u0, f, eps);
  const std::vector<NamedView> inputs{{"u0", view(u0)}, {"f", view(f)}, {"eps", number(eps)}};
  const std::string y = "out y = sum(u[-1, i]^2, i)";
  const LoopSpec spec = kernel_of(jacobi + y);
  const GradientCheck check = check_gradient(spec, inputs);
  for (const SlopeCheck &slope : check.slopes)
    if (slope.input != "eps") CHECK(slope.slope == Slope::agrees);
  std::string counted = jacobi + y;
  const std::string until = "t < 400 until max(abs(u[t, i] - u[t - 1, i]), i) < eps";
  counted.replace(counted.find(until), until.size(), "t < " + std::to_string(solved.steps));
  const double one = 1;
  std::vector<NamedView> given = inputs;
  given.push_back({"d_y", number(one)});
  for (const bool carry : {false, true}) {
    const Results fixed = compile(gradient(kernel_of(counted), {"u0", "f"}, {.carry = carry}),
                                  with(Engine::reference))
                              .call(given);
    for (const char *loop_bytes : {"", "0"}) {
      if (*loop_bytes != 0) setenv("BROADLOOM_LOOP_BYTES", loop_bytes, 1);
      std::vector<unsigned char> first;
      for (const Options &options : {with(Engine::interpreter), with(Engine::jit, 2)}) {
        const Results got =
            compile(gradient(spec, {"u0", "f"}, {.carry = carry}), options).call(given);
        for (const char *name : {"d_u0", "d_f"})
          for (std::size_t i = 0; i < 7; ++i)
            CHECK(values(got[name])[i] == doctest::Approx(values(fixed[name])[i]).epsilon(1e-12));
        if (first.empty()) first = bytes(got["d_f"]);
        CHECK(bytes(got["d_f"]) == first);
      }
      unsetenv("BROADLOOM_LOOP_BYTES");
    }
  }
}

TEST_CASE("directional derivatives end with the loop") {
  const double a = 7, t_a = 1;
  const LoopSpec spec = jvp(kernel_of(newton + "out y = u[-1]"), {"a"});
  const std::vector<NamedView> inputs{{"a", number(a)}, {"t_a", number(t_a)}};
  const Results got = in_all_engines(spec, inputs);
  CHECK(values(got["t_y"])[0] == doctest::Approx(0.5 / std::sqrt(7.0)).epsilon(1e-9));
  const Kernel kernel = compile(spec, with(Engine::jit));
  const std::map<std::string, int> runs = runs_of(kernel, inputs);
  CHECK(runs.at("k_jvp_u") == newtons_root(a).steps);
  CHECK(runs.at("k_jvp_t_u") == newtons_root(a).steps + 2); // two of rest, as 0 + -0 is another
  CHECK(has(kernel, "loop-ends"));
  CHECK(has(kernel, "loop-rests"));
}

// The same kernel where nothing tells that steps are at rest.
LoopSpec restless(const LoopSpec &spec, const std::string &array) {
  std::string text = print(spec);
  const std::string asked = "where(" + array + ",", instead = "where(" + array + " > 0,";
  for (std::size_t at = text.find(asked); at != std::string::npos;
       at = text.find(asked, at + instead.size()))
    text.replace(at, asked.size(), instead);
  return parse(text);
}

TEST_CASE("what flows back through a loop that ended runs few of the steps behind it") {
  const double a = 7, one = 1;
  const std::vector<NamedView> root{{"a", number(a)}, {"d_y", number(one)}};
  const LoopSpec slope = gradient(kernel_of(newton + "out y = u[-1]"), {"a"});
  const Kernel kernel = compile(slope, with(Engine::jit));
  CHECK(runs_of(kernel, root).at("k_grad_d_u") == newtons_root(a).steps + 4);
  CHECK(has(kernel, "loop-rests"));
  CHECK(kernel.show(Stage::call).find("down rests after 4 of u_done_1[t]:") != std::string::npos);
  CHECK(bytes(kernel.call(root)["d_a"]) ==
        bytes(compile(restless(slope, "u_done_1[t]"), with(Engine::jit)).call(root)["d_a"]));

  const D u0{0.3, 1, 0.2, 0.1, 0.5, 2, 0.7}, f{0.5, 0.1, 0.25, 0.2, 0.1, 0.3, 1};
  for (const double eps : {1e-2, 1e-1, 10.0, 0.0}) {
    const std::vector<NamedView> inputs{
        {"u0", view(u0)}, {"f", view(f)}, {"eps", number(eps)}, {"d_y", number(one)}};
    const LoopSpec spec = kernel_of(jacobi + "out y = sum(u[-1, i]^2, i)");
    const int steps = jacobi_by_hand(u0, f, eps).steps;
    for (const bool carry : {false, true}) {
      const LoopSpec back = gradient(spec, {"u0", "f"}, {.carry = carry});
      const Results all = compile(restless(back, "u_done_1[t]"), with(Engine::jit)).call(inputs);
      for (const char *loop_bytes : {"", "0"})
        for (const Options &options :
             {with(Engine::interpreter), with(Engine::jit), with(Engine::jit, 3)}) {
          if (*loop_bytes != 0) setenv("BROADLOOM_LOOP_BYTES", loop_bytes, 1);
          const Kernel few = compile(back, options);
          const std::map<std::string, int> runs = runs_of(few, inputs);
          CHECK(runs.at("k_grad_d_u") <= std::min(400, steps + 8));
          const Results got = few.call(inputs);
          unsetenv("BROADLOOM_LOOP_BYTES");
          for (const char *name : {"d_u0", "d_f"}) CHECK(bytes(got[name]) == bytes(all[name]));
        }
    }
  }
}

TEST_CASE("a step rests only where all of its lets do") {
  const D x{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<NamedView> inputs{{"x", view(x)}};
  // The array says so for some steps in the middle; p goes on in the first loop alone.
  const std::string still = "in x : f64[t]\nlet rests[t] = i64(x[t] > 2 && x[t] < 8)\n"
                            "let s[t] = where(rests[t], s[t - 1], s[t - 1] + x[t])\n";
  const std::string moves = "let p[t] = where(rests[t], p[t - 1] + 1, s[t] * p[t - 1])\n";
  const LoopSpec one = kernel_of(still + "out y[t] = s[t]");
  const LoopSpec two = kernel_of(still + moves + "out y[t] = s[t]\nout z[t] = p[t]");
  const Results got = in_all_engines(one, inputs);
  CHECK(values(got["y"]) == D{1, 3, 3, 3, 3, 3, 3, 11});
  CHECK(runs_of(compile(one, with(Engine::jit)), inputs).at("k_s") == 5);
  in_all_engines(two, inputs);
  CHECK(runs_of(compile(two, with(Engine::jit)), inputs).at("k_s") == 8);
  const LoopSpec last = kernel_of(still + "out y = s[-1]");
  CHECK(values(in_all_engines(last, inputs)["y"]) == D{11});
}

TEST_CASE("a step of a loop that ends is frozen where it hangs on parameters") {
  const double a = 2;
  const LoopSpec spec = kernel_of(
      "param w : f64; in a : f64\nlet u[t < 50 until abs(u[t] - u[t - 1]) < 1e-9 * exp(w)] = "
      "(u[t - 1] + a / u[t - 1]) / 2 from a\nout y = u[-1]");
  const double w = 0;
  const std::vector<NamedView> data{{"a", number(a)}}, all{{"a", number(a)}, {"w", number(w)}};
  const Results frozen = compile(spec).freeze({{"w", number(w)}}).call(data);
  CHECK(bytes(frozen["y"]) == bytes(compile(spec).call(all)["y"]));
}

TEST_CASE("what no loop can go until is an error") {
  const std::string step = " = u[t - 1, i] / 2 from u0\nout y[i] = u[-1, i]";
  const std::string in = "in u0 : f64[i]\n";
  CHECK(code_of(in + "let u[t < 9 until u[t, i] < 1, i]" + step) == "E0106");
  CHECK(code_of(in + "let u[t until u[t, 0] < 1, i]" + step) == "E0031");
  CHECK(code_of(in + "let u[t < 9 until, i]" + step) == "E0002");
  CHECK(code_of(in + "let u[t < 9 until u[t, 0] < 1 2, i]" + step) == "E0002");
  CHECK(code_of(in + "let u[t < 9 until u[t, 0] < 1, i until true]" + step) == "E0028");
  CHECK(code_of(in + "let u[t < 9 until u[t, 0] < 1, i] = u0[i]\nout y[i] = u[-1, i]") == "E0028");
  CHECK(code_of(in + "let u_done = 1\nlet u[t < 9 until u[t, 0] < 1, i]" + step) == "E0004");
  CHECK(code_of(in + "let u[t < 9 until u[t, 0] < 1, i]" + step + "\nlet u_done = 1") == "E0004");
  CHECK(code_of("in x : f64[i]\nout y[i until true] = x") == "E0028");
  CHECK(code_of("in x : f64[i]\nlet h[i] = x\nout y = steps(h)") == "E0003");
}

TEST_CASE("in C++ a loop ends as one of the text does, and is printed as it") {
  const Expr a = input("a", DType::F64);
  const auto t = axis("t");
  const Expr now = itself("u").at({t}), before = itself("u").at({t - 1});
  const Until end("u_done", "t", abs(now - before) < 1e-12, {.count = 50});
  const Expr u = let("u", {"t"}, end.held("u", {"t"}, (before + a / before) / 2), {.from = a});
  const LoopSpec spec = LoopSpec("k").out("y", u.at({-1})).out("n", end.steps());
  const double two = 2;
  const std::vector<NamedView> inputs{{"a", number(two)}};
  check_steps(spec, inputs, newtons_root(2).steps);
  const Results got = in_all_engines(spec, inputs);
  CHECK(values(got["y"]) == D{newtons_root(2).value});
  CHECK(integer(got["n"]) == newtons_root(2).steps);
  CHECK(print(parse(print(spec))) == print(spec));
  // One that nothing but its end reads.
  check_steps(LoopSpec("k").out("y", u.at({-1})), inputs, newtons_root(2).steps);
}

TEST_CASE("in C++ all lets of a loop that ends are held, also where it goes backwards") {
  const D xs{1, 2, 3, 4, 5};
  const Expr x = input("x", DType::F64, {"t"});
  const auto t = axis("t");
  const std::vector<NamedView> inputs{{"x", view(xs)}};
  const auto spec_of = [&](bool backwards, const char *name) {
    const Position back = backwards ? t + 1 : t - 1;
    const Until end(name, "t", itself("s").at({t}) > 6, {.backwards = backwards});
    const Expr s = let("s", {"t"}, end.held("s", {"t"}, itself("s").at({back}) + x));
    const Expr p = let("p", {"t"}, end.held("p", {"t"}, itself("p").at({back}) + s.at({t})));
    return LoopSpec("k").out("a", s.at({t})).out("b", p.at({t})).out("n", end.steps());
  };
  for (const char *name : {"s_done", "a_done", "z_done"}) {
    const Results on = in_all_engines(spec_of(false, name), inputs);
    CHECK(values(on["a"]) == D{1, 3, 6, 10, 10});
    CHECK(values(on["b"]) == D{1, 4, 10, 20, 20});
    CHECK(integer(on["n"]) == 4);
    const Results back = in_all_engines(spec_of(true, name), inputs);
    CHECK(values(back["a"]) == D{9, 9, 9, 9, 5});
    CHECK(values(back["b"]) == D{14, 14, 14, 14, 5});
    CHECK(integer(back["n"]) == 2);
    CHECK(has(compile(spec_of(false, name)), "loop-ends"));
  }
  const LoopSpec text = kernel_of("in x : f64[t]\nlet s[t until s[t] > 6] = s[t - 1] + x\n"
                                  "out a[t] = s[t]\nout n = steps(s)");
  CHECK(bytes(in_all_engines(text, inputs)["a"]) ==
        bytes(in_all_engines(spec_of(false, "s_done"), inputs)["a"]));
}

TEST_CASE("in C++ mistakes of an end are told where they are made") {
  const Expr before = itself("u").at({axis("t") - 1});
  CHECK(code_thrown_by([&] { Until("d", "t", before > 1, {.count = 0}); }) == "E0031");
  const Until end("d", "t", before > 1);
  CHECK(code_thrown_by([&] { end.held("u", {"s"}, before); }) == "E0028");
  CHECK(code_thrown_by([&] { end.held("u", {0, "t"}, before); }) == "E0028");
}

TEST_CASE("in C++ the two lets may be written out, and an output reads the second") {
  const Expr a = input("a", DType::F64);
  const auto t = axis("t");
  const Expr before = itself("u").at({t - 1});
  const Expr u =
      let("u", {"t"}, where(itself("u_done").at({t - 1}), before, (before + a / before) / 2),
          {.from = a, .axis = "t", .count = 50});
  const Expr done =
      let("u_done", {"t"}, itself("u_done").at({t - 1}) || abs(u.at({t}) - u.at({t - 1})) < 1e-12);
  const LoopSpec spec = LoopSpec("k").out("y", u.at({-1})).out("all", done.at({-1}));
  const double two = 2;
  check_steps(spec, {{"a", number(two)}}, newtons_root(2).steps);
}
