// Schedules of lets that are arrays, and clauses about such lets: form, mistakes, what is done
// about them, and that no bit depends on it.
#include "analysis/analyse.hpp"
#include "jit/native/target.hpp"
#include "spec/materialise.hpp"
#include "tests/unit/spec/scheduled.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace broadloom {
namespace {

using scheduled::code_of;
using scheduled::holds;
using scheduled::Inputs;
using scheduled::Ran;
using scheduled::run;
using scheduled::told;

const std::string product = "in a : f32[i, k]; in b : f32[k, j]; let h[i, j] = sum(a * b, k); "
                            "out y = h[i, n] - h[i, n + 1]";
const Inputs matrices{{"a", {37, 50}}, {"b", {50, 70}}};

// The text of the only decision about a clause.
std::string reason(const std::vector<Decision> &why, const std::string &clause) {
  std::string text;
  for (const Decision &d : why)
    if (d.topic == "schedule" && d.subject == clause) text += d.text;
  return text;
}

// The same bytes with and without the schedules, in every engine; what was decided.
std::vector<Decision> same_bytes(const std::string &statements, const std::string &schedules,
                                 const Inputs &inputs) {
  const LoopSpec plain = parse("kernel k { " + statements + " }");
  const LoopSpec asked = parse("kernel k { " + statements + "; " + schedules + " }");
  CAPTURE(print(asked));
  const auto bytes = run(plain, inputs, {.threads = 1}).bytes;
  CHECK((run(asked, inputs, {.threads = 2, .target = jit::targets_here().front()}).bytes == bytes));
  CHECK((run(asked, inputs, {.engine = Engine::interpreter}).bytes == bytes));
  CHECK((run(asked, inputs, {.engine = Engine::reference}).bytes ==
         run(plain, inputs, {.engine = Engine::reference}).bytes));
  const Ran ran = run(asked, inputs, {.threads = 3});
  CHECK((ran.bytes == bytes));
  return ran.why;
}

} // namespace

TEST_CASE("a schedule of a let is kept, printed and read back, and C++ says the same") {
  const std::string text = "kernel k {\n"
                           "  in  x : f32[i, j]\n"
                           "  let t = exp(x)\n"
                           "  let h[i, j] = t * t\n"
                           "  let g[i, j] = h + 1\n"
                           "  out y = h[i + 1, j] * g\n"
                           "  schedule {\n"
                           "    vector j\n"
                           "  }\n"
                           "  schedule h {\n"
                           "    parallel i\n"
                           "    keep t\n"
                           "    stream h\n"
                           "    fuse t, h\n"
                           "  }\n"
                           "  schedule g {\n"
                           "    vector i\n"
                           "  }\n"
                           "}\n";
  CHECK(print(parse(text)) == text);
  CHECK_NOTHROW(check(parse(text)));
  LoopSpec spec = parse(text.substr(0, text.find("  schedule")) + "}");
  spec.schedule(Schedule()
                    .of("h", Schedule().parallel("i").keep("t").stream("h").fuse("t", "h"))
                    .of("g", Schedule().vector("i"))
                    .vector("j")); // of the outputs, wherever it stands
  CHECK(print(spec) == text);
  const spec::TypedSpec typed = analysis::analyse(spec.data());
  CHECK(typed.wishes.vector == 1);
  REQUIRE(typed.materialised.size() == 2);
  const spec::TypedSpec &h = typed.materialised[0]->typed, &g = typed.materialised[1]->typed;
  CHECK(h.wishes.parallel.has(0));
  CHECK(h.wishes.stores == std::vector{spec::Stores::Streamed});
  CHECK(h.pairings.size() == 1);
  CHECK(!h.wishes.vector);
  CHECK(g.wishes.vector == 0);
}

TEST_CASE("a schedule of a let has the mistakes that one of outputs has, and its own") {
  const std::string kernel = "in x : f32[i, j]; let m = sum(x, j); let h[j, i] = exp(x) * m; "
                             "out y = h[j + 1, i]; ";
  const std::pair<const char *, const char *> all[] = {
      {"schedule h { vector i; copies j 2; stream h; keep m }", ""},
      {"schedule { vector i }; schedule h { vector j }", ""},
      {"schedule h { }", ""},
      {"schedule h { vector i }; schedule h { serial i }", "E0018"},
      {"schedule h { vector i; vector j }", "E0018"},
      {"schedule h { keep m; inline m }", "E0018"},
      {"schedule h { copies i 3 }", "E0019"},
      {"schedule h { vector k }", "E0104"},
      {"schedule g { vector i }", "E0017"},
      {"schedule m { vector i }", "E0017"},
      {"schedule y { vector i }", "E0017"},
      {"schedule h { stream y }", "E0017"},
      {"schedule h { keep z }", "E0017"},
      {"schedule h { fuse h, y }", "E0003"},
      {"schedule h { fuse h, m; separate m, h }", "E0016"},
      {"schedule h { fuse h, m }; separate h, m", ""},
      {"schedule in { vector i }", "E0005"},
      {"schedule h { unroll i 2 }", "E0015"},
      {"schedule h vector i", "E0002"},
      {"schedule h, g { vector i }", "E0002"},
  };
  for (const auto &[schedule, code] : all) {
    CAPTURE(std::string(schedule));
    CHECK(code_of(kernel + schedule) == code);
  }
}

TEST_CASE("what a schedule asks of a let reaches the loops of its own kernel, and no bit") {
  const std::vector<Decision> why = same_bytes(
      product, "schedule h { tile i 2; parallel i; stream h }; schedule { vector i }", matrices);
  CHECK(holds(told(why, "tile i 2"), "wish-met: 2 rows"));
  CHECK(holds(told(why, "parallel i"), "wish-met: shared out first"));
  CHECK(holds(told(why, "vector i"), "wish-met: lanes along i"));
  CHECK(reason(why, "h") == "");
  const std::vector<Decision> lanes =
      same_bytes("in x : f32[i, j]; let h[i, j] = exp(x); out y = h[p + 1, j] + h[p, j]",
                 "schedule h { vector i; order j, i; copies i 2 }", {{"x", {70, 130}}});
  CHECK(holds(told(lanes, "vector i"), "wish-met: lanes along i"));
  CHECK(holds(told(lanes, "order j, i"), "wish-met: j, i"));
  const std::vector<Decision> kept =
      same_bytes("in x : f32[i, j]; in w : f32[i, k]; let e = x + 1; let h[j, k] = sum(e * w, i); "
                 "out y = h[j, n + 1]",
                 "schedule h { keep e }", {{"x", {30, 20}}, {"w", {30, 10}}});
  CHECK(holds(told(kept, "keep e"), "wish-met: held in memory"));
}

TEST_CASE("a schedule of a loop over time is that of a step") {
  const std::vector<Decision> why = same_bytes(
      "in x : f32[t, i]; let u[t, i] = u[t - 1, i] * 0.5 + x; let e[t, i] = pad(u, 0: (1, 0))[t, "
      "i]; "
      "out y = u + e",
      "schedule u { vector t; copies i 2; serial i }; schedule e { vector i }", {{"x", {9, 130}}});
  CHECK(reason(why, "vector t").find("step by step") != std::string::npos);
  CHECK(holds(told(why, "serial i"), "wish-met: never cut"));
}

TEST_CASE("a join has no loops to schedule, which is told") {
  const std::vector<Decision> why = same_bytes(
      "in x : f32[i]; let a[i] = x + 1; let z[r] = concat(r, a[r], x[r]); out y = z[n + 1] - z[n]",
      "schedule z { vector i }; schedule a { vector i }", {{"x", {40}}});
  CHECK(reason(why, "schedule z").find("made up of '") != std::string::npos);
  CHECK(holds(told(why, "vector i"), "wish-met: lanes along i"));
}

TEST_CASE("a clause that names a let that is an array has the true reason for its answer") {
  const std::string blurred = "in x : f32[i, j]; in w : f32[u=3, v=3]; let h[i, j] = exp(x); "
                              "out y = sum(h[p + u, q + v] * w, u, v)";
  const Inputs image{{"x", {20, 30}}, {"w", {3, 3}}};
  const auto why = same_bytes(blurred, "schedule { inline h }", image);
  CHECK(holds(told(why, "inline h"), "wish-not-met: an array that is computed first"));
  const std::string text = reason(why, "inline h");
  CHECK(text.find("read at 9 positions for each element that is computed (h[p + u, q + v])") !=
        std::string::npos);
  CHECK(text.find("a fold reads h[p + u, q + v]") != std::string::npos);
  CHECK(text.ends_with("^~~~~~~~")); // under the clause
  CHECK(holds(told(same_bytes(blurred, "schedule { keep h }", image), "keep h"),
              "wish-met: an array that is computed first"));
  CHECK(reason(same_bytes(blurred, "schedule { at h p }", image), "at h p")
            .find("by tiles along p") != std::string::npos);
  const auto pairs = [&](const std::string &clause) {
    for (const Decision &d : same_bytes(blurred, "schedule { " + clause + " }", image))
      if (d.topic == "fuse" || d.topic == "separate") return d.code;
    return std::string();
  };
  CHECK(pairs("fuse h, y") == "fuse-of-array");
  CHECK(pairs("separate h, y") == "separate-of-array");
}

TEST_CASE(
    "an array that is read at positions is computed there where the schedule asks and it can") {
  struct Inlined {
    std::string statements, word; // of the reason; empty: it is done
    Inputs inputs;
  };
  const Inputs x{{"x", {40, 70}}};
  const std::string in = "in x : f32[i, j]; ";
  const Inlined all[] = {
      {in + "let h[i, j] = exp(x) * 2; out y = h[p + 1, j] - h[p, j]", "", x},
      {in + "let h[i, j] = exp(x) * 2; out y[p, j] = h[2*p + 1, j]", "", x},
      {"in x : f32[:, :]; let h[i, j] = x[i, j] + x[i, 0]; out y = h[p, q + 1]", "", x},
      {"in x : f32[:, :]; let h[i] = x[i, 0] * x[0, i]; out y = h[p + 1]",
       "say how long i is",
       {{"x", {9, 9}}}},
      {in + "let h[i, j] = exp(x); out y = max(h[2*p + u, 2*q + v], u < 2, v < 2)", "", x},
      {in + "let h[i, j] = x * 2; let g[p, j] = h[p + 1, j] + 1; out y = g[p, q + 1] * h[p, q]", "",
       x},
      {"in x : f32[:, :]; let h[i, j] = x[i + 1, j] - x[i, j]; out y = h[p, q + 1] * h[p, q]", "",
       x},
      {in + "let h[i, j] = x > 1; out y[p, q] = where(h[p + 1, q + 1], 1, 2)", "", x},
      {in + "let h[i, j] = exp(x); out y = sum(h[p + 1, j], j)", "a fold reads", x},
      {in + "let h[i, j] = exp(x); let g[p, j] = h[p + 1, j] * 2; out y = sum(g[p, j + 0], j)",
       "a fold reads g", x},
      {in + "let h[i] = sum(x, j); out y = h[p + 1] - h[p]", "it folds or scans", x},
      {in + "let h[i, j] = scan(sum, x, j); out y = h[p + 1, j]", "it folds or scans", x},
      {in + "let h[i, j] = x + iota(j); out y = h[p + 1, j]", "positions or extents", x},
      {in + "let h[i, j] = exp(x); out y = pad(h, 0: (1, 1))[p + 1, j]", "borders", x},
      {in + "let h[i, j] = f16(x); out y = h[p + 1, j] * 2", "rounded to f16", x},
      {in + "let h[r < 5, s] = exp(x[r + 0, s + 0]); out y = h[p + 1, q]", "is said", x},
      {in + "let h[i, j] = h[i - 1, j] + x; out y = h[p + 1, j]", "step by step", x},
      {in + "let h[i, j] = exp(x); out y = h[p + 1, j]; schedule h { vector i }",
       "'schedule h' speaks", x},
      {"set relaxed = on; " + in + "let h[i, j] = x * 2; out y = h[p + 1, j] + 1", "relaxed", x},
      {"in x : f32[:, :]; let h = exp(x); out y = h[p + 1, q]", "have no", x},
  };
  for (const Inlined &one : all) {
    CAPTURE(one.statements);
    const auto why = same_bytes(one.statements, "schedule { inline h }", one.inputs);
    const std::string text = reason(why, "inline h");
    CAPTURE(text);
    const bool met = holds(told(why, "inline h"), "wish-met: computed where it is read");
    CHECK(met == one.word.empty());
    CHECK(text.find(one.word) != std::string::npos);
    const Kernel kernel = compile(
        parse("kernel k { " + one.statements + "; schedule { inline h } }"), {.threads = 1});
    const auto &lets = analysis::analyse(kernel.spec().data()).materialised;
    const bool is_array = std::any_of(lets.begin(), lets.end(), [](const auto &let) {
      return let->typed.outputs[0].name == "h";
    });
    CHECK(is_array == !met);
  }
}

TEST_CASE("an inlined let leaves extents and errors of shapes as they are") {
  const std::string text =
      "in x : f32[i]; in z : f32[i]; let h[i] = x * z; out y = h[p + 1] * h[p]";
  const LoopSpec asked = parse("kernel k { " + text + "; schedule { inline h } }");
  const Kernel kernel = compile(asked);
  const Array nine = scheduled::numbers({9}), eight = scheduled::numbers({8});
  CHECK(kernel({{"x", nine}, {"z", nine}})["y"].size() == 8);
  CHECK_THROWS_AS(kernel({{"x", nine}, {"z", eight}}), ShapeError);
}

TEST_CASE("kernels of derivatives and batches have no schedules of lets, frozen ones keep them") {
  const LoopSpec spec = parse("kernel k { in x : f64[i, j]; param p : f64[i, j]; "
                              "let q[i, j] = exp(p); let h[i, j] = x * q[i, j]; "
                              "out y = h[n + 1, j] - h[n, j]; "
                              "schedule h { vector i }; schedule q { serial j } }");
  CHECK_NOTHROW(check(spec));
  CHECK(print(gradient(spec, {"x"})).find("schedule") == std::string::npos);
  CHECK(print(jvp(spec, {"x"})).find("schedule") == std::string::npos);
  CHECK(print(batch(spec, "m", {"x"})).find("schedule") == std::string::npos);
  for (const LoopSpec &derived : {gradient(spec, {"x"}), jvp(spec, {"x"}), batch(spec, "m", {"x"})})
    CHECK_NOTHROW(check(derived));
  const Kernel frozen = compile(parse(print(spec))).freeze({{"p", Array(f64, {4, 3})}});
  CHECK(print(frozen.spec()).find("schedule h {\n    vector i\n  }\n") != std::string::npos);
  CHECK(print(frozen.spec()).find("schedule q") == std::string::npos);
}

} // namespace broadloom
