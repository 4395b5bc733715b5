// Values held in memory: when, what it saves, and that no bit depends on it.
#include "analysis/analyse.hpp"
#include "plan/plan.hpp"
#include "plan/scratch.hpp"
#include "support/min_cut.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace broadloom {
namespace {

// `near`: by bits, operands that the caches hold, as they come in tiles.
plan::Plan plan_of(const std::string &body, const std::vector<std::vector<std::int64_t>> &shapes,
                   std::uint64_t near = 0) {
  const spec::TypedSpec typed = analysis::analyse(parse("kernel k {\n" + body + "\n}").data());
  const std::vector<bool> wanted(typed.outputs.size(), true);
  std::vector<Layout> inputs, outputs;
  for (const auto &shape : shapes) inputs.push_back(contiguous_layout(shape));
  const plan::Resolved resolved = plan::resolve(typed, inputs, wanted);
  for (const auto &shape : resolved.output_shapes) outputs.push_back(contiguous_layout(shape));
  return plan::make_plan(typed, resolved, inputs, outputs, wanted, {.threads = 2}, true,
                         plan::Generality::Exact, {}, near);
}

std::size_t held(const plan::Plan &plan) {
  return std::size_t(std::count_if(plan.why.begin(), plan.why.end(),
                                   [](const Decision &d) { return d.topic == "hold"; }));
}

Array random(std::vector<std::int64_t> extents, unsigned seed) {
  Array a(f32, std::move(extents));
  std::mt19937 bits(seed);
  for (std::int64_t k = 0; k < a.size(); ++k)
    a.data<float>()[k] = 0.25f + float(bits() >> 8) * 0x1p-24f;
  return a;
}

const char *const dense = "in x : f32[n, p]; in w : f32[c, p]; in z : f32[n, c]\n"
                          "let e = MARK(exp(z) * sin(z))\n"
                          "out d_w = sum(e * x, n); out d_x = sum(e * w, c)";

std::string marked(const std::string &mark) {
  std::string text = dense;
  return text.replace(text.find("MARK"), 4, mark);
}

} // namespace

TEST_CASE("what the loops of a fold would compute for every position is computed once before") {
  const auto shapes = std::vector<std::vector<std::int64_t>>{{200, 300}, {100, 300}, {200, 100}};
  const plan::Plan plan = plan_of(marked(""), shapes);
  CAPTURE(loop::print(plan.program));
  CHECK(held(plan) == 1);
  CHECK(plan.binding.scratch_bytes.back() == 200 * 100 * 4); // after the panels of x and w
  const std::string text = loop::print(plan.program);
  CHECK(text.find("exp(") == text.rfind("exp("));
  CHECK(held(plan_of(marked("recompute"), shapes)) == 0);
}

TEST_CASE("nothing is held where each value is computed once anyway, or is too little work") {
  CHECK(held(plan_of("in x : f32[i, j]; let e = exp(x - max(x, j)); out y = e / sum(e, j)",
                     {{500, 700}})) == 0);
  CHECK(held(plan_of("in x : f32[i, j]; in y : f32[j]; out z = x * (y + 1)",
                     {{500, 700}, {700}})) == 0);
  CHECK(held(plan_of(marked(""), {{4, 3}, {2, 3}, {4, 2}})) == 0);
}

TEST_CASE("what planes share is held by rows where the call goes in tiles, as these stay near") {
  const std::string body = "in g : f32[i, j]; in x : f32[c, i, j]; out y = x * (exp(g) / (g + 2))";
  const std::vector<std::vector<std::int64_t>> large{{4096, 4096}, {3, 4096, 4096}};
  CHECK(held(plan_of(body, large)) == 0); // in memory it would cost more than it saves
  CHECK(held(plan_of(body, large, 1)) == 1);
}

TEST_CASE("no array is held that is larger than the operands") {
  const plan::Plan plan = plan_of("in x : f32[i]; in y : f32[j]; in w : f32[j, k]\n"
                                  "out s = sum(exp(x * y) * w, j)",
                                  {{3000}, {2000}, {2000, 5}});
  for (const std::int64_t bytes : plan.binding.scratch_bytes) CHECK(bytes <= 3000 * 5 * 4);
}

namespace {

// Each layer reads sums of rows and of columns of the one before, so all of that must be there
// first.
std::string residual(int layers) {
  std::string text = "in x : f32[i, j]", value = "x";
  for (int k = 0; k < layers; ++k) {
    const std::string next = "t" + std::to_string(k);
    text +=
        "; let " + next + " = sin(" + value + ") + mean(" + value + ", j) - max(" + value + ", i)";
    value = next;
  }
  return text + "; out y = " + value;
}

std::size_t count(const std::string &text, const std::string &part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++times;
  return times;
}

} // namespace

TEST_CASE("a chain whose links wait for folds of the one before is computed once, link by link") {
  for (const int layers : {30, 150}) { // 150: more folds than one cut is for
    const plan::Plan plan = plan_of(residual(layers), {{300, 500}});
    CHECK(held(plan) >= std::size_t(layers) * 3 / 4);
    CHECK(count(loop::print(plan.program), "sin(") <= std::size_t(layers) * 3);
  }
  const Array x = random({60, 70}, 6);
  std::vector<Results> all;
  for (const Engine engine : {Engine::reference, Engine::jit})
    for (const int threads : {1, 2}) {
      Options options;
      options.engine = engine;
      options.threads = threads;
      all.push_back(compile(parse("kernel k {\n" + residual(30) + "\n}"), options)({{"x", x}}));
    }
  for (const Results &results : all)
    CHECK(std::memcmp(all.front()["y"].raw(), results["y"].raw(), std::size_t(x.size()) * 4) == 0);
}

TEST_CASE("what keep holds is held once, however many folds read it") {
  std::string text = "in x : f32[i, j]; let e = keep(exp(x))";
  for (int k = 0; k < 230; ++k) { // more than one cut is for
    const std::string n = std::to_string(k + 2);
    text += "; out a" + n + " = sum(e * " + n + ", i); out b" + n + " = sum(e + " + n + ", j)";
  }
  CHECK(held(plan_of(text, {{50, 70}})) == 1);
}

TEST_CASE("keep holds a value from one sweep for the next") {
  const std::string body = "in x : f32[n, p]; let e = MARK(exp(x)); out a = sum(e, n)\n"
                           "out b = sum(e, p)";
  std::string kept = body, not_kept = body;
  kept.replace(kept.find("MARK"), 4, "keep");
  not_kept.replace(not_kept.find("MARK"), 4, "");
  CHECK(held(plan_of(kept, {{50, 70}})) == 1);
  CHECK(held(plan_of(not_kept, {{50, 70}})) == 0);
  // One sweep has it at hand.
  CHECK(held(plan_of("in x : f32[n, p]; out b = sum(keep(exp(x)), p)", {{50, 70}})) == 0);
}

TEST_CASE("held or not, on any number of threads and in every engine: the bits are the same") {
  const Array x = random({70, 130}, 1), w = random({40, 130}, 2), z = random({70, 40}, 3);
  std::vector<Results> all;
  for (const std::string mark : {"keep", "recompute", ""})
    for (const Engine engine : {Engine::automatic, Engine::interpreter})
      for (const int threads : {1, 3}) {
        Options options;
        options.engine = engine;
        options.threads = threads;
        const Kernel kernel = compile(parse("kernel k {\n" + marked(mark) + "\n}"), options);
        all.push_back(kernel({{"x", x}, {"w", w}, {"z", z}}));
      }
  for (const Results &results : all)
    for (const char *name : {"d_w", "d_x"}) {
      const Array &a = all.front()[name], &b = results[name];
      CHECK(std::memcmp(a.data<float>(), b.data<float>(), std::size_t(a.size()) * 4) == 0);
    }
}

TEST_CASE("a held value may lie in any order and be read by loops that merge its axes") {
  // Each output must equal the one of a kernel that holds nothing.
  const std::string bodies[] = {
      "in x : f32[i, j]; in y : f32[j, i]; let e = MARK(exp(x)); out s = sum(e); out t = sum(e, "
      "i)\n"
      "out u = sum(e * y, j); out v = e + y",
      "in x : f32[i, j]; in y : f32[j, i]; let e = MARK(exp(x * iota(j)))\n"
      "out s = sum(e * y); out t = scan(sum, e, i); out u = max(e, j)",
      "in x : f32[i, j]; in y : f32[j, i]; let m = mean(x, i); let e = MARK(exp(x - m))\n"
      "out s = e / sum(e, i); out t = sum(e * y, j); out u = mean(e)"};
  const Array x = random({300, 200}, 4), y = random({200, 300}, 5);
  for (const std::string &body : bodies) {
    std::vector<Results> both;
    for (const std::string mark : {"keep", "recompute"}) {
      std::string text = body;
      text.replace(text.find("MARK"), 4, mark);
      both.push_back(compile(parse("kernel k {\n" + text + "\n}"))({{"x", x}, {"y", y}}));
    }
    for (const std::string name : {"s", "t", "u"}) {
      INFO(body << " " << name);
      const Array &a = both[0][name], &b = both[1][name];
      REQUIRE(a.size() == b.size());
      CHECK(std::memcmp(a.raw(), b.raw(), std::size_t(a.size()) * size_of(a.dtype())) == 0);
    }
  }
}

TEST_CASE("a minimum cut costs what its edges cost, and no cut costs less") {
  // All cuts of small random graphs, by hand.
  std::mt19937 random_bits(9);
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 2 + random_bits() % 6;
    std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
    support::MinCut graph(n);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        if (a != b && random_bits() % 2 == 0) {
          cost[a][b] = double(random_bits() % 20);
          graph.add_edge(a, b, cost[a][b]);
        }
    const auto price = [&](auto in_source) {
      double sum = 0;
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
          if (in_source(a) && !in_source(b)) sum += cost[a][b];
      return sum;
    };
    double least = 1e300;
    for (std::size_t set = 0; set < std::size_t(1) << n; ++set)
      if ((set & 1) != 0 && (set >> (n - 1) & 1) == 0)
        least = std::min(least, price([&](std::size_t v) { return (set >> v & 1) != 0; }));
    CHECK(graph.cut(0, n - 1) == least);
    CHECK(price([&](std::size_t v) { return graph.with_source(v); }) == least);
  }
}

TEST_CASE("arrays between phases share memory unless they are in use at once") {
  const plan::Plan plan =
      plan_of("in x : f32[i, j]\nlet a = exp(x / sum(x, j))\nlet b = exp(a / sum(a, i))\n"
              "let c = exp(b / sum(b, j))\nout y = c / sum(c, i)",
              {{600, 600}});
  const std::vector<std::int64_t> &bytes = plan.binding.scratch_bytes;
  REQUIRE(bytes.size() > 2);
  std::vector<std::size_t> alone;
  for (std::size_t p = 0; p < plan.program.phases.size(); ++p) alone.push_back(p);
  const auto lives = plan::scratch_lifetimes(plan.program, bytes, alone);
  const support::Places places = support::places_of(lives);
  std::int64_t apart = 0;
  for (std::size_t a = 0; a < bytes.size(); ++a) {
    apart += (bytes[a] + 63) / 64 * 64;
    for (std::size_t b = 0; b < a; ++b) {
      const bool at_once =
          lives[a].made <= lives[b].last_read && lives[b].made <= lives[a].last_read;
      const bool meet = places.starts[a] < places.starts[b] + bytes[b] &&
                        places.starts[b] < places.starts[a] + bytes[a];
      CHECK_FALSE((at_once && meet));
    }
  }
  CHECK(places.bytes < apart);
  // What runs with an earlier phase is in use from there on.
  std::vector<std::size_t> all_with_first(alone.size(), 0);
  const auto longer = plan::scratch_lifetimes(plan.program, bytes, all_with_first);
  for (std::size_t a = 0; a < bytes.size(); ++a) {
    CHECK(longer[a].made == 0);
    CHECK(longer[a].last_read == lives[a].last_read);
  }
}

} // namespace broadloom
