// What a plan needs beside the operands: scratch memory, loops and steps. Nothing has the size of a
// folded expression, and nothing is folded twice.
#include "analysis/analyse.hpp"
#include "plan/plan.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

namespace broadloom {
namespace {

plan::Plan plan_of(const std::string &body, const std::vector<Layout> &inputs, int threads = 2) {
  const spec::TypedSpec typed = analysis::analyse(parse("kernel k {\n" + body + "\n}").data());
  const std::vector<bool> wanted(typed.outputs.size(), true);
  const plan::Resolved resolved = plan::resolve(typed, inputs, wanted);
  std::vector<Layout> outputs;
  for (const auto &shape : resolved.output_shapes) outputs.push_back(contiguous_layout(shape));
  return plan::make_plan(typed, resolved, inputs, outputs, wanted, {.threads = threads});
}

Layout shaped(std::vector<std::int64_t> shape) { return contiguous_layout(shape); }

std::int64_t scratch(const plan::Plan &plan) {
  return std::accumulate(plan.binding.scratch_bytes.begin(), plan.binding.scratch_bytes.end(),
                         std::int64_t(0));
}

int count(const std::string &text, const std::string &part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

int steps(const plan::Plan &plan) { return count(loop::print(plan.program), "step "); }

} // namespace

TEST_CASE("A sum of radial basis functions needs no memory of the size of the pairs") {
  const std::string body =
      "in x : f32[i]; in y : f32[j]; in w : f32[j]; out s = sum(w * exp(-(x - y) ^ 2), j)";
  for (const auto &[m, n] :
       std::vector<std::pair<int, int>>{{1000, 2000}, {3, 100'000}, {100'000, 3}, {1, 50'000}}) {
    const int xs = m, ys = n;
    CAPTURE(xs);
    CAPTURE(ys);
    const plan::Plan plan = plan_of(body, {shaped({m}), shaped({n}), shaped({n})});
    CHECK(scratch(plan) <= 8 * (m + n));
    CHECK(count(loop::print(plan.program), "exp(") == 1);
  }
}

TEST_CASE(
    "The value and all gradients of a sum of radial basis functions are one sweep with one exp") {
  const LoopSpec value = parse("kernel k { in x : f32[i]; in y : f32[j]; in w : f32[j]\n"
                               "out s = sum(w * exp(-(x - y) ^ 2), j) }");
  const std::string text = print(gradient(value, {"x", "y", "w"}, {.value = true}));
  const std::size_t open = text.find('{') + 1;
  for (const auto &[m, n] :
       std::vector<std::pair<int, int>>{{4096, 4096}, {100'000, 100}, {1024, 16'000}}) {
    const plan::Plan plan = plan_of(text.substr(open, text.rfind('}') - open),
                                    {shaped({m}), shaped({n}), shaped({n}), shaped({m})});
    CAPTURE(loop::print(plan.program));
    CHECK(count(loop::print(plan.program), "exp(") == 1);
    CHECK(scratch(plan) <= 2 * 8 * std::int64_t(n) * (m / 128 + 1)); // a row of states for 128 rows
  }
}

TEST_CASE("What shares no function with the rows keeps its states in registers") {
  const plan::Plan plan = plan_of("in x : f32[i]; in y : f32[j]\n"
                                  "out r = sum((x - y) ^ 2, j); out c = sum((x - y) ^ 2, i)",
                                  {shaped({4096}), shaped({4096})});
  CAPTURE(loop::print(plan.program));
  CHECK(scratch(plan) == 0);
}

TEST_CASE("Softmax and its kin fold each row once per reduction and keep rows for threads only") {
  struct Case {
    std::string name, body;
    int folds; // reductions that are written, mean being a sum
  };
  for (const Case &c : std::vector<Case>{
           {"softmax", "let e = exp(x - max(x, j)); out y = e / sum(e, j)", 2},
           {"log_softmax", "let t = x - max(x, j); out y = t - log(sum(exp(t), j))", 2},
           {"layernorm", "let c = x - mean(x, j); out y = c / sqrt(mean(c * c, j) + 1e-5)", 2},
           {"standardise",
            "let c = x - mean(x, j); out y = c / sqrt(mean(c * c, j)); out m = mean(x, j)", 2},
           {"logsumexp", "let m = max(x, j); out y = m + log(sum(exp(x - m), j))", 2},
           {"nested", "out y = x / sum(x * max(x, j), j)", 2}}) {
    CAPTURE(c.name);
    const plan::Plan plan = plan_of("in x : f32[i, j]; " + c.body, {shaped({500, 700})});
    CAPTURE(loop::print(plan.program));
    CHECK(scratch(plan) == 0);
    CHECK(steps(plan) == c.folds);
    CHECK(plan.program.phases.size() == 1);
  }
}

TEST_CASE("Standardising columns keeps what it folds in a row of scratch for each 128 rows") {
  const plan::Plan plan =
      plan_of("in x : f32[i, j]; let c = x - mean(x, i); out y = c / sqrt(mean(c * c, i))",
              {shaped({5000, 70})});
  CAPTURE(loop::print(plan.program));
  CHECK(scratch(plan) <= 2 * 70 * 8 * (5000 / 128 + 2));
  CHECK(steps(plan) == 2);
}

TEST_CASE("A total inside a map is folded once, not again for every element") {
  const plan::Plan plan = plan_of("in x : f64[i, j]; out y = x / sum(x)", {shaped({300, 400})});
  CAPTURE(loop::print(plan.program));
  CHECK(plan.program.phases.size() >= 2);
  CHECK(scratch(plan) <= 64 * 1024);
  CHECK(count(loop::print(plan.program), "step a0 +=") == 1);
}

TEST_CASE("A map, its row fold and its column fold are one sweep without temporaries") {
  const plan::Plan plan = plan_of("in x : f32[i, j]; in y : f32[i]\n"
                                  "let b = exp(x) * y\n"
                                  "out z = b; out r[i] = reduce(sum) b; out c[j] = reduce(sum) b",
                                  {shaped({2000, 1500}), shaped({2000})});
  CAPTURE(loop::print(plan.program));
  CHECK(scratch(plan) <= 64 * 8 * (2000 + 1500));
  CHECK(steps(plan) == 2);
  CHECK(plan.program.phases.size() == 2); // the second joins the rows of the column fold
  for (const Decision &d : plan.why) CHECK(d.text.find("reads 'x' again") == std::string::npos);
}

TEST_CASE("An unlabelled dim on a labelled axis meets only what its expression reads") {
  const std::string body = "in x : f32[i, j]; in y : f32[:]; out p = x; out q = y";
  CHECK_NOTHROW(plan_of(body, {shaped({2, 3}), shaped({5})}));
  CHECK_THROWS_AS(plan_of(body + "; out z = x + y", {shaped({2, 3}), shaped({5})}), ShapeError);
}

TEST_CASE("What another output does with its axes keeps nobody's from being walked as one") {
  const auto axes = [](const plan::Plan &plan) {
    std::string names;
    for (const loop::Axis &axis : plan.program.axes) names += axis.name + " ";
    return names;
  };
  const std::string maps = "in x : f32[i, j]; in u : f32[i, j]; in r : f32[j]; out z = x * 2; ";
  const std::vector<Layout> shapes{shaped({400, 100}), shaped({400, 100}), shaped({100})};
  CHECK(axes(plan_of("in x : f32[i, j]; out z = x * 2", {shapes[0]})) == "i.j ");
  CHECK(axes(plan_of(maps + "out w = u * r", shapes)).starts_with("i.j "));
  // What is shared is still read once: both loops are the one that both allow.
  CHECK(axes(plan_of(maps + "out w = x * r + u", shapes)).find("i.j") == std::string::npos);
  CHECK(plan_of(maps + "out w = x * r + u", shapes).program.phases.size() == 1);
  // So is what is to be.
  CHECK(plan_of(maps + "out w = u * r; fuse z, w", shapes).program.phases.size() == 1);
  // Axes of one place without a label, and operands that lend their shape alone.
  const std::string unlabelled =
      "in x : f32[:, :]; in u : f32[:, :]; in r : f32[:]; out z = x * 2; ";
  CHECK(axes(plan_of(unlabelled + "out w = u * r", shapes)).starts_with("i0.i1 "));
  CHECK(axes(plan_of("in g : f32[:, :]; in x : f32[:, :]; out d = sum(g, like=x)",
                     {shapes[0], shapes[0]})) == "i0.i1 ");
  // Another order of the axes is no other's, either.
  Layout across = shaped({50, 70});
  across.strides = {1, 50};
  const plan::Plan plan =
      plan_of("in x : f32[i, j]; in u : f32[i, j]; in r : f32[j]; out z = x * r; out w = sum(u, j)",
              {shaped({50, 70}), across, shaped({70})});
  CHECK(loop::print(plan.program).find("parallel for i\n    parallel vector for j") !=
        std::string::npos);
  CHECK(loop::print(plan.program).find("parallel vector for i\n    init a0") != std::string::npos);
}

} // namespace broadloom
