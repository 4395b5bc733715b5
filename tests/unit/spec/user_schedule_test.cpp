// The schedule that a user writes: form, mistakes, what is done about it, and that no bit depends
// on it.
#include "analysis/analyse.hpp"
#include "jit/native/target.hpp"
#include "plan/tasks.hpp"
#include "spec/spec.hpp"
#include "tests/unit/spec/scheduled.hpp"
#include "text/print_typed.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdint>
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

const std::string rows = "in x : f32[i, j]; ";

} // namespace

TEST_CASE("a schedule is kept, printed and read back, and C++ says the same") {
  const std::string text = "kernel k {\n"
                           "  in  x : f32[i, j]\n"
                           "  let m = exp(x)\n"
                           "  out y = m\n"
                           "  out z = m * 2\n"
                           "  schedule {\n"
                           "    vector j\n"
                           "    parallel i\n"
                           "    serial -1\n"
                           "    copies j 2\n"
                           "    tile 0 4\n"
                           "    order i, j\n"
                           "    keep m\n"
                           "    stream y\n"
                           "    cached z\n"
                           "    fuse y, z\n"
                           "    separate m, y\n"
                           "  }\n"
                           "}\n";
  CHECK(print(parse(text)) == text);
  LoopSpec spec = parse(text.substr(0, text.find("  schedule")) + "}");
  CHECK(spec.data().schedule.clauses().empty());
  spec.schedule(Schedule()
                    .vector("j")
                    .parallel("i")
                    .serial(-1)
                    .copies("j", 2)
                    .tile(0, 4)
                    .order({"i", "j"})
                    .keep("m")
                    .stream("y")
                    .cached("z")
                    .fuse("y", "z")
                    .separate("m", "y"));
  CHECK(print(spec) == text);
  const spec::TypedSpec typed = analysis::analyse(spec.data());
  CHECK(typed.wishes.vector == 1);
  CHECK(typed.wishes.order == std::vector<int>{0, 1});
  CHECK(typed.wishes.copies_of(1) == 2);
  CHECK(typed.wishes.tile_of(0) == 4);
  CHECK(typed.wishes.stores == std::vector{spec::Stores::Streamed, spec::Stores::Cached});
  CHECK(typed.pairings.size() == 2);
  CHECK(typed.marks.size() == 1);
  const std::pair<Schedule, const char *> lets[] = {{Schedule().recompute("m"), "recompute m"},
                                                    {Schedule().inlined("m"), "inline m"},
                                                    {Schedule().at("m", "i"), "at m i"},
                                                    {Schedule().at("m", -1), "at m -1"}};
  for (const auto &[schedule, clause] : lets) {
    const std::string printed = print(LoopSpec(spec).schedule(schedule));
    CHECK(printed.find(std::string("    ") + clause + "\n") != std::string::npos);
    CHECK(print(parse(printed)) == printed);
  }
}

TEST_CASE("neither schedule nor the words of its clauses are reserved") {
  CHECK(code_of("in schedule : f32[vector, tile]; let copies = schedule * 2; out stream = copies; "
                "schedule { vector vector; tile tile 2; keep copies; stream stream }") == "");
  CHECK(code_of("in x : f32[i]; out y = x; schedule { }; schedule { }") == "E0018");
  CHECK(code_of("in x : f32[i]; out y = x\nschedule\n{\n\n vector i\n\n}") == "");
}

TEST_CASE("clauses that contradict each other, or name nothing, are errors") {
  const std::string kernel = rows + "let m = sum(x, j); out y = x - m; out z = x; schedule { ";
  const std::pair<const char *, const char *> all[] = {
      {"vector i; vector j", "E0018"},
      {"vector i; vector i", "E0018"},
      {"parallel i; serial j", ""},
      {"parallel i; serial i", "E0018"},
      {"serial 0; serial i", "E0018"},
      {"copies i 2; copies j 2; tile i 2", ""},
      {"copies i 2; copies -2 4", "E0018"},
      {"tile i 2; tile i 2", "E0018"},
      {"order i, j; order j, i", "E0018"},
      {"order i, j, 0", "E0018"},
      {"keep m; recompute m", "E0018"},
      {"inline m; recompute m", "E0018"},
      {"at m i; at m j", "E0018"},
      {"inline m", ""},
      {"at m i", ""},
      {"at y i", "E0017"},
      {"inline x", "E0017"},
      {"at m k", "E0104"},
      {"at m", "E0002"},
      {"stream y; cached z", ""},
      {"stream y; cached y", "E0018"},
      {"fuse y, z; separate z, y", "E0016"},
      {"fuse y, y", "E0016"},
      {"fuse y, x", "E0003"},
      {"keep y", "E0017"},
      {"stream m", "E0017"},
      {"cached x", "E0017"},
      {"vector k", "E0104"},
      {"order i, 2", "E0104"},
      {"copies j 0", "E0019"},
      {"copies j 3", "E0019"},
      {"copies j 16", "E0019"},
      {"tile j 16", ""},
      {"tile j 4096", ""},
      {"tile j 8192", "E0019"},
      {"tile j 24", "E0019"},
      {"tile j -2", "E0019"},
      {"unroll j 4", "E0015"},
      {"vector", "E0002"},
      {"copies j", "E0002"},
      {"vector j, i", "E0002"},
  };
  for (const auto &[clauses, code] : all) {
    CAPTURE(std::string(clauses));
    CHECK(code_of(kernel + clauses + " }") == code);
  }
  // A statement and the schedule are held against each other.
  CHECK(code_of("fuse y, z; " + kernel + "separate y, z }") == "E0016");
  const LoopSpec cpp = LoopSpec("k").out("y", input("x", f32, {"i"}));
  for (const Schedule &wrong : {Schedule().copies("i", 5), Schedule().stream("x")})
    CHECK_THROWS_AS(check(LoopSpec(cpp).schedule(wrong)), SpecError);
  try {
    check(LoopSpec(cpp).schedule(Schedule().vector("j")));
    FAIL_CHECK("nothing was thrown");
  } catch (const ShapeError &error) { // at the line above
    CHECK(error.where().file.find("user_schedule_test.cpp") != std::string::npos);
  }
}

TEST_CASE("a wish that is met changes what runs and no bit, one that is not is told") {
  struct Wish {
    std::string statements;
    Inputs inputs;
    std::string clause, line;
  };
  const std::string product = "in a : f32[i, k]; in b : f32[k, j]; out c = sum(a * b, k)";
  const Inputs matrices{{"a", {37, 50}}, {"b", {50, 70}}};
  const Inputs x{{"x", {70, 130}}};
  const Wish all[] = {
      {rows + "out y = x * 2", x, "vector i", "wish-met: lanes along i"},
      {rows + "out y = x * 2", x, "vector j", "wish-met: lanes along i.j"},
      {"in x : f32[:, :]; out y = x * 2", x, "vector i0", "wish-met: lanes along i0"},
      {rows + "out y = x - sum(x, j)", x, "vector i", "wish-not-met: lanes along j"},
      {rows + "out y = x - sum(x, j)", x, "vector i", "wish-met: lanes along i"},
      {rows + "out y = scan(sum, x, j)", x, "vector i", "wish-not-met: lanes along j"},
      {rows + "out y = sum(x, j)", {{"x", {100, 8}}}, "vector i", "wish-met: lanes along i"},
      {rows + "out y = sum(x, j)", {{"x", {1000, 8}}}, "vector j", "wish-met: lanes along j"},
      {rows + "out y = sum(x, i)", x, "vector i", "wish-not-met: lanes along j"},
      {rows + "out y = x * 2",
       {{"x", {1, 130}}},
       "vector i",
       "wish-not-met: as without the clause"},
      {rows + "out y[j, i] = x * 2", x, "order j, i", "wish-met: j, i"},
      {rows + "out y = sum(x, j)", x, "order j, i", "wish-not-met: i outside of j"},
      {rows + "out y = x * 2", x, "parallel i", "wish-met: shared out first"},
      {rows + "out y = sum(x, j)",
       {{"x", {100, 9000}}},
       "parallel j",
       "wish-met: shared out first"},
      {product, {{"a", {37, 300}}, {"b", {300, 70}}}, "parallel k", "wish-met: shared out first"},
      {product, matrices, "parallel k", "wish-not-met: parallel over i, j"},
      {rows + "out y = sum(x, i)",
       {{"x", {5, 5000}}},
       "parallel i",
       "wish-not-met: parallel over j"},
      {rows + "out y = x * 2", x, "serial i", "wish-met: never cut"},
      {rows + "out y = x * 2", x, "copies j 4", "wish-met: 4 copies"},
      {rows + "out y = exp(x)", x, "copies j 4", "wish-not-met: 1 copy"},
      {rows + "out y = prod(x, i)", {{"x", {1000, 3}}}, "copies i 2", "wish-met: 2 copies"},
      {rows + "out y = sum(x, j)", x, "copies j 8", "wish-not-met: 2 copies"},
      {product, matrices, "tile i 8", "wish-met: 8 rows"},
      {product, matrices, "tile i 2", "wish-met: 2 rows"},
      {product, matrices, "tile j 2", "wish-not-met: 1 row"},
      {rows + "out y = sum(x, i)", {{"x", {2000, 70}}}, "tile i 2", "wish-met: 2 rows"},
      {rows + "out y = sum(x, i)", {{"x", {2000, 70}}}, "tile i 1", "wish-met: 1 row"},
      {rows + "out y = x * 2", x, "tile i 16", "wish-met: tiles of 16 along i"},
      {rows + "out y = x * 2", x, "tile j 64", "wish-met: tiles of 64 along j"},
      {rows + "in w : f32[j, i]; out y = x * w",
       {{"x", {70, 130}}, {"w", {130, 70}}},
       "tile i 32",
       "wish-met: tiles of 32 along i"},
      {rows + "out y = x * 2", x, "tile j 256", "wish-not-met: no tiles"},
      {rows + "out y = x - sum(x, j)", x, "tile i 16", "wish-not-met: no tiles"},
      {rows + "out y = x * 2",
       {{"x", {1, 130}}},
       "tile i 16",
       "wish-not-met: as without the clause"},
      {rows + "out y = x * 2", x, "stream y", "wish-met: around the caches"},
      {rows + "out y += x * 2", x, "stream y", "wish-not-met: plain stores"},
      {rows + "out y = x * 2", x, "cached y", "wish-met: plain stores"},
      {rows + "in w : f32[i, k]; let e = x + 1; out y = sum(e * w, i)",
       {{"x", {30, 20}}, {"w", {30, 10}}},
       "keep e",
       "wish-met: held in memory"},
      {rows + "let e = x + 1; out y = sum(e, j) * e", x, "keep e", "wish-met: kept in a row"},
      {rows + "let e = x + 1; out y = e", x, "keep e", "wish-not-met: computed where it is read"},
      {rows + "let e = exp(x); out y = e / sum(e, j)", x, "recompute e",
       "wish-met: computed where it is read"},
      {rows + "let e = exp(x); out y = e / sum(e, j)", x, "inline e",
       "wish-met: computed where it is read"},
      {rows + "let e = x + 1; out y = sum(e, j) * e", x, "at e i", "wish-met: kept in a row"},
      {rows + "let e = x + 1; out y = sum(e, j) * e", x, "at e j",
       "wish-not-met: computed where it is read"},
      {rows + "let e = x + 1; out y = e", x, "at e i", "wish-not-met: computed where it is read"},
      {rows + "in w : f32[i, k]; let e = exp(x); out y = sum(e * w, i)",
       {{"x", {30, 20}}, {"w", {30, 10}}},
       "at e j",
       "wish-not-met: computed where it is read"},
  };
  for (const Wish &wish : all) {
    const LoopSpec plain = parse("kernel k { " + wish.statements + " }");
    // Decisions call axis 0 of unlabelled dims by the name of its loops.
    const std::string clause = wish.clause == "vector i0" ? "vector 0" : wish.clause;
    const LoopSpec asked =
        parse("kernel k { " + wish.statements + "; schedule { " + clause + " } }");
    CAPTURE(print(asked));
    const auto bytes = run(plain, wish.inputs, {.threads = 1}).bytes;
    for (const std::string &target : jit::targets_here()) {
      const Ran ran = run(asked, wish.inputs, {.threads = 3, .target = target});
      CHECK((ran.bytes == bytes));
      const std::vector<std::string> lines = told(ran.why, wish.clause);
      std::string shown;
      for (const std::string &line : lines) shown += line + "\n";
      CAPTURE(shown);
      // A fold of 32 ways is two registers of 512 bits, or four of 256.
      const bool other =
          wish.line == "wish-not-met: 2 copies" && holds(lines, "wish-not-met: 4 copies");
      if (!other) CHECK(holds(lines, wish.line));
    }
    CHECK((run(asked, wish.inputs, {.engine = Engine::interpreter}).bytes == bytes));
  }
}

TEST_CASE("fuse and separate are for lets that are folds, too") {
  const auto phases = [](const std::string &statements, const std::string &clause) {
    const Ran ran = run(parse("kernel k { " + statements + "; schedule { " + clause + " } }"),
                        {{"x", {40, 500}}}, {.threads = 1});
    for (const Decision &d : ran.why)
      if (d.topic == "fuse" || d.topic == "separate") return d.code + ": " + d.text;
    return std::string();
  };
  const std::string mean = rows + "let m = mean(x, j); out y = x - m; out s = max(x, j)";
  CHECK(phases(mean, "fuse m, y") == "fuse-done: m, y: both in phase 0");
  CHECK(phases(mean, "separate m, y") == "separate-done: m, y: in phases 0 and 1");
  CHECK(phases(mean, "separate m, s").starts_with("separate-done: m, s: in phases "));
  CHECK(phases(rows + "let t = x + 1; out y = t", "separate t, y").starts_with("separate-of-let"));
  const auto plain = run(parse("kernel k { " + mean + " }"), {{"x", {40, 500}}}, {}).bytes;
  for (const char *clause : {"separate m, y", "separate m, s", "fuse m, y", "fuse m, s"}) {
    CAPTURE(std::string(clause));
    CHECK((run(parse("kernel k { " + mean + "; schedule { " + clause + " } }"), {{"x", {40, 500}}},
               {.threads = 2})
               .bytes == plain));
  }
}

TEST_CASE("under relaxed arithmetic a let that is kept is rewritten as without the wish") {
  const std::string text = "set relaxed = on; in x : f32[i]; in w : f32[i]; let p = x * w; "
                           "out y = p + 1";
  const auto graph = [](const std::string &statements) {
    return text::print_graph(analysis::analyse(parse("kernel k { " + statements + " }").data()));
  };
  CHECK(graph(text).find("fma") != std::string::npos);
  CHECK(graph(text + "; schedule { keep p }").find("fma") != std::string::npos);
}

TEST_CASE("the kernel of the derivatives has no schedule, what computes forward keeps it") {
  const LoopSpec spec = parse("kernel k { in x : f64[i, j]; let e = exp(x); out y = e * e; "
                              "out s = sum(e); schedule { vector i; keep e; separate e, s } }");
  CHECK(print(gradient(spec, {"x"})).find("schedule") == std::string::npos);
  const GradientOptions save{.policy = Policy::save};
  CHECK(print(gradient(spec, {"x"}, save)).find("schedule") == std::string::npos);
  const LoopSpec forward = saving_forward(spec, {"x"}, save);
  CHECK(print(forward).find("separate e, s") != std::string::npos);
  CHECK_NOTHROW(check(forward));
}

TEST_CASE("a grid is cut along the axis that is asked for first, and not along one that is to be "
          "serial") {
  using plan::Cut;
  const std::int64_t extents[] = {8, 4096};
  const Cut second[] = {Cut::AsItFits, Cut::First}, never[] = {Cut::Never, Cut::AsItFits};
  const plan::Grid small = plan::make_grid(extents, {}, 1000, {.threads = 4});
  CHECK(small.blocks == 1);
  const plan::Grid asked = plan::make_grid(extents, {}, 1000, {.threads = 4}, 0, second);
  CHECK(asked.count == std::vector<std::int64_t>{1, 4});
  const plan::Grid alone = plan::make_grid(extents, {}, 1000, {.threads = 1}, 0, second);
  CHECK(alone.blocks == 1);
  const plan::Grid large = plan::make_grid(extents, {}, 1e9, {.threads = 4});
  CHECK(large.count[0] == 8);
  const plan::Grid serial = plan::make_grid(extents, {}, 1e9, {.threads = 4}, 0, never);
  CHECK(serial.count[0] == 1);
  CHECK(serial.step[0] == 8);
  CHECK(serial.count[1] > 1);
}

} // namespace broadloom
