// Calls as text: what is read back, and what breaks a rule.
#include "calls/record.hpp"
#include "calls/verify.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

bool has(const std::string &text, const std::string &part) { return text.find(part) != text.npos; }

// What is wrong with a call of these lines.
std::string mistake(const std::string &lines) {
  try {
    calls::verify(calls::parse("call k\n" + lines));
  } catch (const SpecError &error) {
    CHECK(error.code() == "E0801");
    CHECK_FALSE(error.help().empty());
    return error.message();
  }
  return "none";
}

const std::string arrays = "  in x : f32[6]\n  out y : f32[6]\n";

} // namespace

TEST_CASE("a call reads back as it is printed") {
  const std::string text =
      "call k\n"
      "  in   x : f32[10, 3]\n"
      "  in   k : i64[5]\n"
      "  in   at : i64[]\n"
      "  out  y : f32[5, 3]\n"
      "  temp u : f64[12, 3] along 0 from -2 ring 4, 96 bytes at 64\n"
      "  copy \"u 1\" : f64[14, 3] along 0 from -2 ring 4\n"
      "  temp d : f64[12, 3] along 0 from 0 behind 2 ring 4\n"
      "  u = count\n"
      "  u[-1, :] = start 0\n"
      "  \"u 1\"[-2, :] = pad u[-2, :] by 0: (1, 1) edge, 1: (0, 2) -1.5 at "
      "[-3, 8] by 2, [0, 4]\n"
      "  for t [0, 10) down:\n"
      "    again u[t - 1, :], \"u 1\"[t, :] each 4\n"
      "    saved = save u each 4\n"
      "    u[t, i] = run k_u(\"u 1\"[2*t - 1, i], x[(i - t + 1) / 2, 0]) over i "
      "[1, 4) by 2\n"
      "  y[m, j] = gather x[clip(-2*k[m] + at[] + 1), j] over m [0, 5), j [0, 3)\n"
      "  y = view x, u\n"
      "  y[k[m], 0] = scatter x[m, 0] by 0: (1, 2) (1.5, -2) over m [0, 4)\n"
      "  for tile [0, 3):\n"
      "    y[m, j<7] = run k(x[clip((2*m - 1) / 2 + 3*k[m] - at[]), j<7]) over m "
      "[2*tile + 1, +2), j [0, 3)\n";
  CHECK(calls::print(calls::parse(text)) == text);
}

TEST_CASE("a call that keeps to the rules is right, in parts, too") {
  CHECK(mistake(arrays + "  y[i] = run k(x[i]) over i [0, 6)\n") == "none");
  CHECK(mistake(arrays + "  y[i] = run k(x[i + 1]) over i [0, 5)\n"
                         "  y[i] = run k(x[0]) over i [5, 6)\n") == "none");
  CHECK(mistake(arrays + "  y[i] = run k(x[i / 2]) over i [0, 6) by 2\n") !=
        "none"); // no such text
  CHECK(mistake(arrays + "  y[i] = run k(x[(i) / 2]) over i [0, 6) by 2\n"
                         "  y[i] = run k(x[(i - 1) / 2]) over i [1, 6) by 2\n") == "none");
}

TEST_CASE("a call that breaks a rule is refused with its line") {
  const auto refused = [&](const std::string &lines, const std::string &what, int line) {
    const std::string message = mistake(lines);
    CHECK_MESSAGE(has(message, what), message);
    CHECK_MESSAGE(has(message, "line " + std::to_string(line)), message);
  };
  refused(arrays + "  y[i] = run k(z[i]) over i [0, 6)\n", "no array 'z'", 4);
  refused(arrays + "  y[i] = run k(x[i, 0]) over i [0, 6)\n", "has 1 dims", 4);
  refused(arrays + "  y[i] = run k(x[j]) over i [0, 6)\n", "no axis 'j'", 4);
  refused(arrays + "  y[i] = run k(x[i + 1]) over i [0, 6)\n", "outside of [0, 6)", 4);
  refused(arrays + "  y[i] = run k(x[i]) over i [0, 7)\n", "outside of [0, 6)", 4);
  // Parts that overlap, and that leave a hole.
  refused(arrays + "  y[i] = run k(x[i]) over i [0, 4)\n  y[i] = run k(x[i]) over i [3, 6)\n",
          "written twice", 5);
  refused(arrays + "  y[i] = run k(x[i]) over i [0, 2)\n  y[i] = run k(x[i]) over i [3, 6)\n",
          "all of output 'y'", 3);
  // What no step has written.
  refused(arrays + "  temp a : f32[6]\n  y[i] = run k(a[i]) over i [0, 6)\n",
          "before it is written", 5);
  // Views that show two elements at a place, and none.
  const auto viewed = [&](const std::string &first) {
    return arrays + "  temp z : f32[6]\n  z[p] = view x[p] over p [0, 3)\n  z[" + first +
           "] = view x[p] over p [0, 3)\n  y[i] = run k(z[i]) over i [0, 6)\n";
  };
  CHECK(mistake(viewed("p + 3")) == "none");
  refused(viewed("p + 2"), "written twice", 6);
  refused(viewed("p + 4"), "outside of [0, 6)", 6);
  refused(arrays + "  temp z : f32[6]\n  z[p] = view x[p] over p [0, 5)\n"
                   "  y[i] = run k(z[i]) over i [0, 6)\n",
          "before it is written", 6);
  refused(arrays + "  temp z : f32[6]\n  z = view x, y\n", "several arrays", 5);
  // A piece that moves with a loop.
  CHECK(mistake(arrays + "  for tile [0, 3):\n    y[i] = run k(x[i]) over i [2*tile, +2)\n") ==
        "none");
  refused(arrays + "  for tile [0, 3):\n    y[i] = run k(x[i]) over i [2*tile, +3)\n",
          "written twice", 5);
  // A ring that is too short for what is read two steps before.
  const auto loop = [&](int ring) {
    return arrays + "  temp u : f32[8] along 0 from -2 ring " + std::to_string(ring) +
           "\n  u[p] = start 0 over p [-2, 0)\n"
           "  for t [0, 6):\n    u[t] = run k_u(u[t - 1], u[t - 2])\n    y[t] = run k(u[t])\n";
  };
  CHECK(mistake(loop(3)) == "none");
  refused(loop(2), "lies in the place of row", 7);
}

TEST_CASE("what is no call is told with its place") {
  for (const std::string text :
       {"", "call", "nest k\n", "call k\n   y = run k()\n", "call k\n  in x f32[2]\n",
        "call k\n  in x : f33[2]\n", "call k\n  in x : f32[2]\n  in x : f32[2]\n",
        "call k\n  y = walk x\n", "call k\n  for t [0, 2)\n",
        "call k\n  y[i] = run k(x[i) over i\n", "call k\n  y[i] = run k(x[i]) over i [0, 2) by 0\n",
        "call k\n  in x : f32[2] along 1 from 0\n"}) {
    CAPTURE(text);
    std::string code = "none";
    try {
      calls::parse(text);
    } catch (const SpecError &error) {
      code = error.code();
    }
    CHECK(code == "E0801");
  }
}

TEST_CASE(
    "an output that lies over an input of a call in classes has that copied, and is told so") {
  const LoopSpec value = parse("kernel k { in x : f32[n]; in w : f32[u]\n"
                               "out y[i] = sum(x[2*i + u] * w[u], u) }");
  const Kernel kernel = compile(gradient(value, {"x"}));
  std::vector<float> flows(40, 1), x(40, 2), w(3, 3);
  const AnyView d_y = View<const float>(flows.data(), {10});
  kernel.run_named(std::vector<NamedView>{{"x", View<const float>(x.data(), {21})},
                                          {"w", View<const float>(w.data(), {3})},
                                          {"d_y", d_y}},
                   std::vector<NamedView>{{"d_x", View<float>(flows.data(), {21})}});
  const std::string text = kernel.show(Stage::call);
  CHECK_MESSAGE(has(text, "d_y_copy = copy d_y"), text);
  calls::verify(calls::parse(text));
}

TEST_CASE("what a gather fills compiles nothing, whoever asks for it") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[n]; in k : i64[m]; out y[j] = x[k[j]] }"));
  const std::vector<float> x{1, 2, 3};
  const std::vector<std::int64_t> k{2, 0};
  const Results made = kernel(
      {{"x", View<const float>(x.data(), {3})}, {"k", View<const std::int64_t>(k.data(), {2})}});
  CHECK(made["y"].data<float>()[0] == 3);
  for (const Stage stage : {Stage::plan, Stage::loop, Stage::block, Stage::assembly})
    CHECK(has(kernel.show(stage), "no loop runs: a gather fills 'y'"));
  CHECK(has(kernel.show(Stage::why), "engine: a gather fills 'y'"));
  CHECK(has(kernel.show(Stage::call), "gather x[k[j]] over j [0, 2)    # no nest runs"));
  CHECK(kernel.counters().compiles == 0);
}

TEST_CASE("why says in text what it says in JSON, of lets too") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[n]; let a[n] = x[n] * 2\n"
                                      "out m = max(x); out y[i] = a[i] + a[i + 1]\n"
                                      "schedule { at a i; fuse a, m } }"));
  const std::int64_t shape[] = {100};
  kernel.prepare({AnyView(f32, nullptr, false, contiguous_layout(shape))});
  const std::string text = kernel.show(Stage::why);
  for (const Decision &decision : kernel.why())
    CHECK_MESSAGE(has(text, decision.topic + ": " + decision.text), decision.text);
  CHECK(has(text, "lets: let 'a' is read at positions"));
  CHECK(has(text, "let 'a' is read at 2 positions for each element that is computed (a[i], "
                  "a[i + 1]), and a kernel of its own computes all of it"));
  CHECK(has(text, "schedule { at a i; fuse a, m } }\n           ^~~~~~")); // the clause
  CHECK(has(text, "fuse: a, m: not possible: let 'a' is an array: a kernel of its own"));
}

TEST_CASE("what a call ran is held against what is printed of it") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f64[i]; let u[t < 4, i] = u[t - 1, i] + x[i] from x; "
                    "let h[i] = x * 2; out y[i] = u[-1, i] + h[i] }"));
  const std::vector<double> x{0, 1, 2};
  calls::Record record;
  {
    const calls::Recorder recorder;
    const Results made = kernel({{"x", View<const double>(x.data(), {3})}});
    CHECK(made["y"].data<double>()[2] == 2 * 5 + 2 * 2);
    record = recorder.record();
  }
  std::map<std::string, int> runs;
  for (const calls::Event &event : record.events)
    if (event.kind == calls::Step::Kind::Run) ++runs[event.kernel];
  CHECK(runs == std::map<std::string, int>{{"k", 1}, {"k_h", 1}, {"k_u", 4}, {"k_u_start", 1}});
  calls::Call call = calls::parse(kernel.show(Stage::call));
  CHECK_NOTHROW(calls::check_record(record, call));
  for (calls::Step &step : call.steps)
    if (step.kind == calls::Step::Kind::For) --step.over[0].count;
  CHECK_THROWS_AS(calls::check_record(record, call), InternalError);
  call.steps.clear();
  CHECK_THROWS_AS(calls::check_record(record, call), InternalError);
}

TEST_CASE("rows without elements begin with nothing, and nothing is told of them") {
  const Kernel kernel = compile(parse("kernel k { in x : f64[t, j]; let l[t, j] = l[t - 1, j] + x "
                                      "from 1; out v[j] = l[-1, j]; out w[t] = sum(l[t, j], j) }"));
  const Array x(f64, {3, 0});
  calls::Record record;
  {
    const calls::Recorder recorder;
    const std::vector<NamedView> inputs{{"x", x}};
    CHECK(kernel.call(inputs)["w"].data<double>()[2] == 0);
    record = recorder.record();
  }
  CHECK_NOTHROW(calls::check_record(record, calls::parse(kernel.show(Stage::call))));
}

TEST_CASE("a printed position that is not where a step looked is noticed") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f64[i]; in g : i64[m]; "
                    "let u[t < 4, i] = u[t - 1, i] + pad(u, 1: (1, 1), edge)[t - 1, i + 2] from x; "
                    "let h[i] = x * 2; let w[i] = h[2 - i] - h[i]; "
                    "out y[i] = u[-1, 2 - i] + w; out z[m] = x[g[m]] * 2 }"));
  const std::vector<double> x{0, 1, 2};
  const std::vector<std::int64_t> g{2, 0};
  calls::Record record;
  {
    const calls::Recorder recorder;
    const Results made = kernel(
        {{"x", View<const double>(x.data(), {3})}, {"g", View<const std::int64_t>(g.data(), {2})}});
    CHECK(made["z"].data<double>()[0] == 4);
    record = recorder.record();
  }
  const std::string text = kernel.show(Stage::call);
  REQUIRE_NOTHROW(calls::check_record(record, calls::parse(text)));
  // Each position that is no element's is moved by one, each name of an array is another's.
  int changed = 0;
  const auto is_wrong = [&](const calls::Call &call) {
    try {
      calls::check_record(record, call);
      return false;
    } catch (const InternalError &) {
      return true;
    }
  };
  const std::function<void(const calls::Call &, std::vector<calls::Step> &)> change =
      [&](const calls::Call &whole, std::vector<calls::Step> &steps) {
        for (calls::Step &step : steps) {
          change(whole, step.body);
          for (auto *refs : {&step.from, &step.to})
            for (calls::Ref &ref : *refs)
              for (calls::Affine &position : ref.at) {
                if (position.all || !position.indices.empty()) continue;
                position.constant += 1;
                CHECK_MESSAGE(is_wrong(whole), calls::print(whole));
                position.constant -= 1;
                ++changed;
              }
        }
      };
  calls::Call call = calls::parse(text);
  change(call, call.steps);
  CHECK(changed > 10);
}

TEST_CASE("a copy with borders of the rows one step before is told of those rows") {
  const Kernel kernel = compile(gradient(
      parse("kernel k { in u0 : f64[i]; in k : f64; "
            "let u[t < 7, i] = k * pad(u, 1: (1, 1), 0)[t - 1, i + 2] * u[t - 1, i] from u0; "
            "out y[i] = u[-1, i] }"),
      {"k"}));
  const std::vector<double> u0{0.5, 1, 2}, d_y{1, 0, 0};
  const double k = 2;
  calls::Record record;
  {
    const calls::Recorder recorder;
    kernel({{"u0", View<const double>(u0.data(), {3})},
            {"k", View<const double>(&k, {})},
            {"d_y", View<const double>(d_y.data(), {3})}});
    record = recorder.record();
  }
  const std::string text = kernel.show(Stage::call);
  CHECK_MESSAGE(has(text, "= pad u_1 by 1: (1, 1) 0"), text);
  CHECK_NOTHROW(calls::check_record(record, calls::parse(text)));
}
