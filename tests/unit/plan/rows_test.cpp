// Rows: values kept from one loop of a row to the next, and folds over rows whose states are a row
// in memory. Tiles: operands that lie the other way round.
#include "analysis/analyse.hpp"
#include "plan/plan.hpp"
#include "plan/tasks.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace broadloom {
namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

plan::Plan plan_of(const LoopSpec &spec, const Shapes &shapes, int threads = 2) {
  const spec::TypedSpec typed = analysis::analyse(spec.data());
  std::vector<Layout> inputs, outputs;
  for (const auto &shape : shapes) inputs.push_back(contiguous_layout(shape));
  const std::vector<bool> wanted(typed.outputs.size(), true);
  const plan::Resolved resolved = plan::resolve(typed, inputs, wanted);
  for (const auto &shape : resolved.output_shapes) outputs.push_back(contiguous_layout(shape));
  return plan::make_plan(typed, resolved, inputs, outputs, wanted, {.threads = threads});
}

plan::Plan plan_of(const std::string &body, const Shapes &shapes, int threads = 2) {
  return plan_of(parse("kernel k {\n" + body + "\n}"), shapes, threads);
}

int count(const std::string &text, const std::string &part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

std::string loops(const plan::Plan &plan) { return loop::print(plan.program); }

// Every engine and number of threads; more threads are too many for so few chunks of rows, so that
// folds over rows then go the other way.
void check_bits(const std::string &body, const Shapes &shapes) {
  std::vector<Array> arrays;
  std::mt19937 bits(7);
  for (const auto &shape : shapes) {
    arrays.emplace_back(f32, shape);
    for (std::int64_t k = 0; k < arrays.back().size(); ++k)
      arrays.back().data<float>()[k] = 0.25f + float(bits() >> 8) * 0x1p-24f;
  }
  const std::vector<AnyView> views(arrays.begin(), arrays.end());
  std::vector<std::vector<Array>> all;
  for (const Engine engine : {Engine::jit, Engine::interpreter})
    for (const int threads : {1, 2, 3, 64}) {
      Options options;
      options.engine = engine;
      options.threads = threads;
      const Kernel kernel = compile(parse("kernel k {\n" + body + "\n}"), options);
      std::vector<Array> outputs;
      for (const Signature &output : kernel.infer(views))
        outputs.emplace_back(output.dtype, output.shape);
      const std::vector<AnyView> results(outputs.begin(), outputs.end());
      kernel.run(views, results);
      all.push_back(std::move(outputs));
    }
  for (const std::vector<Array> &outputs : all)
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Array &a = all.front()[k], &b = outputs[k];
      CHECK(std::memcmp(a.raw(), b.raw(), std::size_t(a.size()) * size_of(a.dtype())) == 0);
    }
}

const std::string softmax = "in x : f32[i, j]; in g : f32[i, j]; let e = MARK(exp(x - max(x, j)))\n"
                            "let y = e / sum(e, j); out d_x = y * (g - sum(y * g, j))";

std::string marked(const std::string &mark) {
  std::string text = softmax;
  return text.replace(text.find("MARK"), 4, mark);
}

} // namespace

TEST_CASE("what several loops over one row need is computed in the first and kept in a row") {
  const plan::Plan plan = plan_of(marked(""), {{500, 700}, {500, 700}});
  CAPTURE(loops(plan));
  CHECK(count(loops(plan), "exp(") == 1);
  CHECK(count(loops(plan), " / ") == 1);
  CHECK(plan.binding.row_bytes == std::vector<std::int64_t>{700 * 4, 700 * 4});
  CHECK(plan.binding.scratch_bytes.empty());
  CHECK(plan.program.phases.size() == 1);
}

TEST_CASE("what is in recompute() is kept in no row, and nothing is where rows leave the caches") {
  CHECK(count(loops(plan_of(marked("recompute"), {{500, 700}, {500, 700}})), "exp(") == 2);
  CHECK(plan_of(marked(""), {{50, 700'000}, {50, 700'000}}).binding.row_bytes.empty());
}

TEST_CASE("rows are each thread's own: the bits are the same on any number") {
  for (const std::string mark : {"", "recompute"})
    check_bits(marked(mark), {{300, 1001}, {300, 1001}});
  check_bits("in x : f32[i, j]; in w : f32[k, j]; let e = exp(x * w); out s = e / sum(e, j)",
             {{30, 70}, {20, 70}});
}

TEST_CASE("a scan that another loop of the same turn reads is kept in a row") {
  const std::string back = "in x : f32[i, j]; let s = scan(sum, x, j)\n";
  for (const std::string out :
       {"out y = scan(sum, s, j, reverse)", "out y = scan(sum, x, j, exclusive, reverse) * s",
        "out y = s; out m = max(s, j)", "out y = scan(max, s, j)", "out y = s / sum(s, j)"}) {
    const plan::Plan plan = plan_of(back + out, {{500, 700}});
    CAPTURE(loops(plan));
    CHECK(plan.binding.row_bytes == std::vector<std::int64_t>{700 * 8});
    CHECK(plan.binding.scratch_bytes.empty());
    CHECK(plan.program.phases.size() == 1);
    check_bits(back + out, {{30, 5003}});
  }
}

TEST_CASE(
    "a scan waits in memory for what goes another way, and where its rows would leave the caches") {
  const auto in_memory = [](const std::string &out, const Shapes &shapes) {
    const plan::Plan plan = plan_of("in x : f32[i, j]; let s = scan(sum, x, j)\n" + out, shapes);
    CAPTURE(loops(plan));
    CHECK(plan.binding.row_bytes.empty());
    CHECK(plan.binding.scratch_bytes.size() > 0);
  };
  in_memory("out y = scan(sum, s, j, reverse)", {{50, 33'000}});
  in_memory("out y = sum(s, i)", {{500, 700}});
  in_memory("out y = scan(sum, s, j, reverse)", {{2, 700'000}});
}

TEST_CASE("what is read of a scan both in a row and in another phase is in both places") {
  const std::string both = "in x : f32[i, j]; let s = scan(sum, x, j)\n"
                           "out y = scan(sum, s, j, reverse); out c = sum(s, i)";
  const plan::Plan plan = plan_of(both, {{500, 700}});
  CAPTURE(loops(plan));
  CHECK(plan.binding.row_bytes == std::vector<std::int64_t>{700 * 8});
  CHECK(plan.binding.scratch_bytes.at(0) == 500 * 700 * 8);
  check_bits(both, {{30, 701}});
}

TEST_CASE("all states of a scan that are read have rows, beside those of other values") {
  const std::string text = "in x : f32[i, j]; let e = exp(x - max(x, j))\n"
                           "out y = scan(var, x, j) + scan(argmax, x, j, reverse) + e / sum(e, j)";
  check_bits(text, {{20, 1003}});
}

TEST_CASE("rows that would crowd the nearest cache are scanned one by one, and what reads them has "
          "lanes") {
  const std::string own = "accumulator decay(s; x) { init s = 0; step s = 0.9 * s + STEP }\n";
  const auto plan_for = [&](const std::string &step, std::int64_t columns, const std::string &out) {
    std::string text = own;
    text.replace(text.find("STEP"), 4, step);
    text += "kernel k {\nin x : f32[i, j]\nlet s = scan(decay, x, j)\nout y = " + out + "\n}";
    return loops(plan_of(parse(text), {{500, columns}}));
  };
  const std::string alone = plan_for("x", 16384, "s * x");
  CAPTURE(alone);
  CHECK(count(alone, "vector for i") == 0);
  CHECK(count(alone, "set row0[j] = running") == 1);
  CHECK(count(alone, "    vector for j\n") == 1);
  CHECK(count(alone, "phase") == 1);
  CHECK(count(plan_for("x", 16400, "s * x"), "vector for i") == 1);
  CHECK(count(plan_for("exp(x)", 16384, "s * x"), "vector for i") == 1);
  const std::string back = plan_for("x", 16384, "scan(decay, s, j, reverse)");
  CAPTURE(back);
  CHECK(count(back, "phase") == 1);
  CHECK(count(back, "scratch") == 0);
}

TEST_CASE(
    "lanes of a row each have a row each for the states of a scan, where all of them stay in the "
    "second-level cache") {
  const std::string own = "accumulator decay(s; x) { init s = 0; step s = 0.9 * s + x }\n";
  const auto in_lanes = [&](const std::string &body, std::int64_t rows, std::int64_t columns) {
    const plan::Plan plan =
        plan_of(parse(own + "kernel k {\nin x : f32[i, j]\n" + body + "\n}"), {{rows, columns}});
    CAPTURE(loops(plan));
    CHECK(plan.program.phases.size() == 1);
    CHECK(plan.binding.scratch_bytes.empty());
    CHECK(plan.binding.row_bytes.size() == 1);
    CHECK(count(loops(plan), "vector for") == 1);
    return plan.binding.row_bytes.at(0);
  };
  const std::string along = "let s = scan(decay, x, j); out y = scan(decay, s, j, reverse)";
  CHECK(in_lanes(along, 500, 700) == 700 * 8 * 16);
  CHECK(in_lanes(along, 500, 1024) == 1024 * 8 * 16); // whose lines would crowd the nearest cache
  CHECK(in_lanes("let s = scan(sum, x, i); out y = scan(sum, s, i, reverse)", 500, 700) ==
        500 * 8 * 16);
  CHECK(plan_of(parse(own + "kernel k {\nin x : f32[i, j]\n" + along + "\n}"), {{50, 9000}})
            .binding.row_bytes.empty());
  for (const std::int64_t rows : {3, 16, 40})
    for (const std::int64_t columns : {15, 16, 64, 131})
      check_bits("in x : f32[i, j]; let s = scan(sum, x, i); out y = scan(sum, s, i, reverse) - s",
                 {{columns, rows}});
}

TEST_CASE("blocks of lanes that have lines of their own are shared out by the register") {
  const LoopSpec forward = parse("kernel k {\nin x : f32[i, j]\nout p = prod(x, j)\n}");
  const plan::Plan plan = plan_of(gradient(forward, {"x"}), {{500, 700}, {500}});
  CHECK(plan::grid_of(plan.program, 0, plan.binding, {.threads = 2}).count.at(0) > 4);
  const plan::Plan map = plan_of("in x : f32[i]; out y = x * 2", {{500 * 700}});
  CHECK(plan::grid_of(map.program, 0, map.binding, {.threads = 2}).step.at(0) % 1024 == 0);
}

TEST_CASE("blocks of threads cut no register tile") {
  const auto step = [](const std::string &body, const Shapes &shapes) {
    const plan::Plan plan = plan_of(body, shapes);
    return plan::grid_of(plan.program, 0, plan.binding, {.threads = 2}).step.at(0);
  };
  CHECK(
      step("in x : f32[n, i]; in y : f32[n, j]; out c = sum(x * y, n)", {{1000, 20}, {1000, 32}}) %
          4 ==
      0);
  CHECK(step("in x : f64[n, i]; in y : f64[n, j]; out c = sum(x * y, n)",
             {{1000, 48}, {1000, 32}}) == 8);
  CHECK(step("in x : f32[i, n]; in y : f32[j, n]; out c = sum(x * y, n)",
             {{40, 1000}, {40, 1000}}) == 12);
}

TEST_CASE("the rows of a tile of folds go block by block where they exceed a core's own caches") {
  const auto grid = [](std::int64_t rows, std::int64_t columns, std::int64_t own, int threads = 1) {
    const plan::Plan plan = plan_of("in x : f32[i, n]; in y : f32[j, n]; out c = sum(x * y, n)",
                                    {{rows, 1000}, {columns, 1000}});
    return plan::grid_of(plan.program, 0, plan.binding,
                         {.own_caches = own, .threads = threads, .task_cycles = 1e6});
  };
  const std::int64_t row = 4000; // bytes
  CHECK(grid(1000, 1000, 240 * row).step.at(0) == 120);
  CHECK(grid(1000, 1000, 240 * row).near == 0);
  CHECK(grid(1000, 1000, 2000 * row).blocks == 1);
  CHECK(!grid(1000, 1000, 2000 * row).near);
  CHECK(grid(1000, 1000, 10 * row).step.at(0) == 12);       // whole tiles
  CHECK(grid(1000, 40, 240 * row).blocks == 1);             // few columns read them again
  CHECK(grid(1000, 1000, 2000 * row, 8).step.at(0) <= 120); // threads take less
  CHECK(!grid(1000, 1000, 2000 * row, 8).near);
}

TEST_CASE("the gradient of a product needs no memory of the size of its input") {
  const LoopSpec forward = parse("kernel k {\nin x : f32[i, j]\nout p = prod(x, j)\n}");
  const plan::Plan plan = plan_of(gradient(forward, {"x"}), {{500, 700}, {500}});
  CAPTURE(loops(plan));
  CHECK(plan.program.phases.size() == 1);
  CHECK(plan.binding.scratch_bytes.empty());
  CHECK(plan.binding.row_bytes == std::vector<std::int64_t>{700 * 8 * 16, 700 * 8 * 16});
  // A few rows, or long ones, go in groups of lanes along the row.
  const plan::Plan few = plan_of(gradient(forward, {"x"}), {{31, 700}, {31}});
  CHECK(few.binding.row_bytes == std::vector<std::int64_t>{700 * 8, 700 * 8});
  CHECK(count(loops(few), "vector scan for j") == 1);
  const LoopSpec apart =
      parse("kernel k {\nin x : f32[i, k, j]\nin y : f32[i]\nout p = prod(x * y, j)\n}");
  const plan::Plan pairs = plan_of(gradient(apart, {"x"}), {{500, 2, 700}, {500}, {500, 2}});
  CHECK(count(loops(pairs), "vector scan for j") == 1);
  const plan::Plan wide = plan_of(gradient(forward, {"x"}), {{500, 5000}, {500}});
  CHECK(wide.binding.row_bytes == std::vector<std::int64_t>{5000 * 8, 5000 * 8});
}

TEST_CASE("a fold over rows goes along with the folds of the rows themselves") {
  const plan::Plan plan = plan_of("in x : f32[i, j]; let c = x - mean(x, j); out z = c\n"
                                  "out s[j] = reduce(sum) c; out m[j] = reduce(max) c",
                                  {{3000, 700}});
  CAPTURE(loops(plan));
  CHECK(plan.program.phases.size() == 2);
  CHECK(count(loops(plan), "for i within i.chunk") == 1);
  for (const Decision &d : plan.why) CHECK(d.text.find("reads 'x' again") == std::string::npos);
}

TEST_CASE("products of matrices, short rows, and rows beyond the caches are folded in registers") {
  const auto chunks = [](const std::string &body, const Shapes &shapes) {
    return count(loops(plan_of(body, shapes)), "for i within");
  };
  CHECK(chunks("in x : f32[i, j]; out s = sum(x, i)", {{3000, 700}}) == 1);
  CHECK(chunks("in x : f32[i, j]; in y : f32[k, i]; out s = sum(x * y, i)",
               {{3000, 700}, {300, 3000}}) == 0);
  CHECK(chunks("in x : f32[i, j]; out s = sum(x, i)", {{3000, 40}}) == 0);
  CHECK(chunks("in x : f32[i, j]; out s = sum(x, i)", {{3000, 70'000}}) == 0);
}

TEST_CASE("row by row or column by column, a fold over rows has the same bits") {
  const std::string x = "in x : f32[i, j]; ";
  check_bits(x + "out s = sum(x, i); out v = var(x, i); out m = max(x, i); out p = prod(x, i)",
             {{1001, 67}});
  check_bits(x + "out s = sum(x / sum(x, j), i); out z = x - mean(x, i)", {{700, 130}});
  check_bits(x + "out s = sum(scan(sum, x, j), i); out t = sum(scan(max, x, i), i)", {{500, 130}});
  check_bits("in x : f32[i, j]; in y : f32[j, i]; out s = sum(x * sum(y, j), i)",
             {{500, 130}, {130, 500}});
  check_bits("in x : f32[k, i, j]; out s = sum(x, i); out t = sum(x, k); out u = argmax(x, i)",
             {{5, 300, 70}});
}

TEST_CASE("rows are walked as they lie where the rest of a fold is small") {
  const std::string body = "in x : f32[i, j, k]; in g : f32[i, j, k]; in w : f32[j]\n"
                           "out d_x = g * w; out d_w = sum(x * g, like=w)";
  const Shapes shapes{{20, 30, 200}, {20, 30, 200}, {30}};
  const plan::Plan plan = plan_of(body, shapes);
  CAPTURE(loops(plan));
  CHECK(plan.program.phases[0].parallel.size() == 2);
  CHECK(plan.program[plan.program.phases[0].parallel[0]].name.front() == 'i');
  check_bits(body, shapes);
}

TEST_CASE("three coordinates leave the vector to the points, and more do not") {
  const std::string points = "in x : f32[p, c]; in y : f32[c]; out z = x * y";
  CHECK(count(loops(plan_of(points, {{2000, 3}, {3}})), "vector for p within p.chunk") == 1);
  CHECK(count(loops(plan_of(points, {{2000, 8}, {8}})), "vector for c") == 1);
  for (const std::int64_t pixels : {63, 64, 200})
    check_bits("in x : f32[p, c]; in y : f32[c]; in w : f32[p]; out z = x * y + w; out u = exp(x)",
               {{pixels, 3}, {3}, {pixels}});
}

TEST_CASE("operands that lie the other way round are walked in tiles, and to the same bits") {
  const auto tiles = [](const std::string &body, const Shapes &shapes) {
    return count(loops(plan_of(body, shapes)), "vector for j within j.chunk");
  };
  const std::string turned = "in a : f32[i, j]; in b : f32[j, i]; out z = a + b; out y = b * 2";
  CHECK(tiles(turned, {{300, 200}, {200, 300}}) == 1);
  CHECK(tiles("in a : f32[i, j]; in b : f32[i, j]; out z = a + b", {{300, 200}, {300, 200}}) == 0);
  CHECK(tiles(turned, {{300, 16}, {16, 300}}) == 1);
  CHECK(tiles(turned, {{16, 300}, {300, 16}}) == 1);
  CHECK(tiles(turned, {{300, 15}, {15, 300}}) == 0);
  for (const std::int64_t m : {16, 64, 130, 200})
    for (const std::int64_t n : {17, 65, 128, 300}) check_bits(turned, {{m, n}, {n, m}});
  check_bits("in a : f32[k, i, j]; in b : f32[j, k, i]; out z = a * b", {{3, 70, 90}, {90, 3, 70}});
}

} // namespace broadloom
