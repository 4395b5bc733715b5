// The stages as people and programs see them: `why` as data, tables, drawings, and the hot loop
// with its lines.
#include "analysis/analyse.hpp"
#include "jit/engine/engine.hpp"
#include "jit/nest/explain_program.hpp"
#include "loop/listing.hpp"
#include "plan/cost.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>
#include <llvm/Support/JSON.h>

#include <regex>
#include <sstream>

namespace broadloom {
namespace {

plan::Plan plan_of(const std::string &body, const std::vector<Layout> &inputs) {
  const spec::TypedSpec typed = analysis::analyse(parse("kernel k {\n" + body + "\n}").data());
  const std::vector<bool> wanted(typed.outputs.size(), true);
  const plan::Resolved resolved = plan::resolve(typed, inputs, wanted);
  std::vector<Layout> outputs;
  for (const auto &shape : resolved.output_shapes) outputs.push_back(contiguous_layout(shape));
  return plan::make_plan(typed, resolved, inputs, outputs, wanted, {.threads = 2});
}

Layout shaped(std::vector<std::int64_t> shape) { return contiguous_layout(shape); }

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != text.npos;
}

int count(const std::string &text, const std::string &part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

AnyView f32_of(const Layout &layout) { return {DType::F32, nullptr, false, layout}; }

Decision last_of(const Kernel &kernel, const std::string &topic) {
  Decision found;
  for (const Decision &d : kernel.why())
    if (d.topic == topic) found = d;
  return found;
}

const std::vector<std::pair<std::string, std::vector<Layout>>> programs{
    {"in x : f32[i, j]; let e = exp(x - max(x, j)); out y = e / sum(e, j)", {shaped({60, 70})}},
    {"in x : f32[i, j]; out s = sum(x, i); out t = sum(x, j); out y = x * 2 + 1",
     {shaped({600, 70})}},
    {"in x : f64[i]; out s = scan(sum, x, i)", {shaped({100'000})}},
    {"in x : i32[i]; in y : i32[i]; out z = where(x > y, x // y, x % 7)",
     {shaped({500}), shaped({500})}},
    {"in x : f16[i]; out m = argmax(x, i); out s = sum(x)", {shaped({50'000})}},
};

// The instructions, without directives, labels of debugging and comments.
std::vector<std::string> instructions(const std::string &code) {
  std::vector<std::string> found;
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('\t') && !line.starts_with("\t.") && !line.starts_with("\t#"))
      found.push_back(line.substr(0, line.find('#')));
  return found;
}

} // namespace

TEST_CASE("The decisions are a JSON array of objects with the same keys in the same order") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i, j]; out s = sum(x, j); out t = sum(x, i) }"));
  const std::string text = kernel.show(Stage::why, {.json = true});
  auto parsed = llvm::json::parse(text);
  REQUIRE(bool(parsed));
  const llvm::json::Array *array = parsed->getAsArray();
  REQUIRE(array != nullptr);
  const std::vector<Decision> why = kernel.why();
  const std::size_t phases = kernel.predict().phases.size(); // which come last
  REQUIRE(array->size() == why.size() + phases);
  for (std::size_t k = 0; k < why.size(); ++k) {
    const llvm::json::Object &object = *(*array)[k].getAsObject();
    CHECK(object.size() == 10);
    CHECK(object.getString("code")->str() == why[k].code);
    CHECK(object.getString("choice")->str() == why[k].choice);
    CHECK(object.getNumber("bytes").has_value() == why[k].cost.bytes.has_value());
    CHECK(object.getArray("alternatives")->size() == why[k].alternatives.size());
  }
  CHECK(count(text, "\n{\"topic\":") == int(why.size() + phases));
  CHECK(count(text, ",\"text\":") == int(why.size() + phases));
  const std::string hard = to_json(std::vector<Decision>{{"t", "\"\\\n\xff"}});
  CHECK(contains(hard, R"("text":"\"\\\n)"));
  CHECK(bool(llvm::json::parse(hard)));
}

TEST_CASE("why tells whether the code was there, and in what the nearest known pattern differs") {
  const LoopSpec spec = parse("kernel cached { in x : f32[i, j]; out y = x * 1.2345 }");
  const Kernel kernel = compile(spec);
  kernel.prepare({f32_of(shaped({30, 40}))});
  CHECK(last_of(kernel, "cache").code == "first-pattern");
  kernel.prepare({f32_of(shaped({50, 60}))});
  CHECK(last_of(kernel, "cache").code == "pattern-known");
  kernel.prepare({f32_of(
      strided_layout(std::vector<std::int64_t>{30, 40}, std::vector<std::int64_t>{80, 2}))});
  const Decision miss = last_of(kernel, "cache");
  CHECK(miss.code == "new-pattern");
  CHECK(contains(miss.text, "'x' is walked"));
  const Kernel twin = compile(spec);
  twin.prepare({f32_of(shaped({7, 8}))});
  CHECK(last_of(twin, "cache").code == "code-known");
}

TEST_CASE("why says which engine runs and why not another") {
  const LoopSpec spec = parse("kernel k { in x : f32[i]; out y = x + 1 }");
  CHECK(last_of(compile(spec, {.engine = Engine::interpreter}), "engine").code ==
        "interpreter-asked");
  CHECK(last_of(compile(spec, {.engine = Engine::reference}), "engine").code == "reference-asked");
  CHECK(last_of(compile(spec), "engine").code == "native-code");
}

TEST_CASE(
    "Vectors of 256 bits have half the lanes of those of 512, and twice the groups of a fold") {
  const plan::Plan plan = plan_of("in x : f32[i]; out s = sum(x)", {shaped({1'000'000})});
  for (const int bits : {256, 512}) {
    CAPTURE(bits);
    const jit::Target target{jit::find_isa(bits == 512 ? "x86-64-v4" : "x86-64-v3"), "", true};
    const loop::Numbers numbers = plan.binding.numbers();
    const auto why = block::explain(plan.program, jit::blocks_of(plan.program, target), &numbers);
    REQUIRE(why.size() >= 2);
    CHECK(why[0].choice == (bits == 512 ? "16 lanes" : "8 lanes"));
    CHECK(why[1].choice == (bits == 512 ? "2 groups" : "4 groups"));
  }
}

TEST_CASE("why says what large kernels call, and which phases are cut into several functions") {
  std::string sum = "x";
  for (int k = 0; k < 400; ++k) sum += " + lgamma(x * " + std::to_string(k) + ".5)";
  const plan::Plan large = plan_of("in x : f32[i]; out y = " + sum, {shaped({1000})});
  std::vector<std::string> told;
  for (const Decision &d : jit::explain_weights(block::weigh(large.program)))
    told.push_back(d.code + ": " + d.subject);
  CHECK(told ==
        std::vector<std::string>{"called-out-of-line: lgamma of f32", "cut-into-pieces: phase 0"});
  const plan::Plan small = plan_of("in x : f32[i]; out y = lgamma(x)", {shaped({1000})});
  CHECK(jit::explain_weights(block::weigh(small.program)).empty());
}

TEST_CASE("A listing is the printed program, and every statement but literals has a line of it") {
  for (const auto &[body, layouts] : programs) {
    const plan::Plan plan = plan_of(body, layouts);
    const loop::Listing listing = loop::list(plan.program);
    CHECK(listing.text == loop::print(plan.program));
    const int lines = count(listing.text, "\n");
    for (const loop::Loop &loop : plan.program.loops)
      for (const loop::Stmt &s : loop.body) {
        const auto kind = plan.program[s.value].kind;
        if (s.kind == loop::StmtKind::Let &&
            (kind == loop::ValueKind::Literal || kind == loop::ValueKind::Result))
          continue;
        REQUIRE(listing.line_of.count(&s) == 1);
        CHECK(listing.line_of.at(&s) >= 1);
        CHECK(listing.line_of.at(&s) <= lines);
      }
  }
}

TEST_CASE("The code that is shown with its lines is the code that runs") {
  const jit::Target target = jit::find_target("");
  for (const auto &[body, layouts] : programs) {
    CAPTURE(body);
    const plan::Plan plan = plan_of(body, layouts);
    const loop::Listing listing = loop::list(plan.program);
    const block::Program blocks = jit::blocks_of(plan.program, target);
    const auto shown = instructions(jit::asm_text(plan.program, blocks, target, &listing));
    CHECK(shown == instructions(jit::asm_text(plan.program, blocks, target)));
    CHECK(shown.size() > 10);
  }
}

// Of narrow elements LLVM makes one instruction of the narrowing and the store, and forgets where
// the store was to go.
TEST_CASE("What goes around the caches does so for elements of any size") {
  for (const std::string dtype : {"u8", "i8", "u16", "i16", "f16", "bf16", "f32", "f64"}) {
    CAPTURE(dtype);
    const plan::Plan plan = plan_of("in x : " + dtype + "[i]; out y : " + dtype +
                                        " = f32(x) * 3\nschedule { stream y }",
                                    {shaped({1'000'000})});
    for (const std::string &name : jit::targets_here()) {
      CAPTURE(name);
      const jit::Target target = jit::find_target(name);
      if (!target.isa->fences_streams) continue; // aarch64 has other instructions
      const std::string code =
          jit::asm_text(plan.program, jit::blocks_of(plan.program, target), target);
      CHECK(contains(code, "\tvmovnt"));
    }
  }
}

// Of folds over u and k, steps of k: four of u would be far off, most of them past the end.
TEST_CASE("Four steps ahead are four of the innermost fold") {
  const plan::Plan plan =
      plan_of("in x : f32[u, i, k]; in w : f32[u, k, j]; out y[i, j] = sum(x * w, u, k, acc=f32)",
              {shaped({3, 200, 150}), shaped({3, 150, 200})});
  const jit::Target target = jit::find_target("");
  const block::Program blocks = jit::blocks_of(plan.program, target);
  REQUIRE(contains(block::print(plan.program, blocks), "prefetch 4 steps ahead"));
  const std::string code = jit::llvm_text(plan.program, blocks, target);
  std::smatch ahead, distance;
  REQUIRE(std::regex_search(code, ahead,
                            std::regex("(%\\S+) = getelementptr i8, ptr (%\\S+), i64 (%\\S+)\n"
                                       "  call void @llvm.prefetch.p0\\(ptr \\1,")));
  REQUIRE(std::regex_search(code, distance, std::regex(ahead.str(3) + " = mul i64 4, (%\\S+)\n")));
  CHECK(
      contains(code, "getelementptr i8, ptr " + ahead.str(2) + ", i64 " + distance.str(1) + "\n"));
}

TEST_CASE(
    "The hot loop is shown under the lines that it comes from, and all of the code on request") {
  const Kernel kernel =
      compile(parse("kernel k { in a : f32[i]; in b : f32[i]; in c : f32[i]; out z = a * b + c }"));
  const std::string hot = kernel.show(Stage::assembly);
  CAPTURE(hot);
  CHECK(contains(hot, "set z[i] = a[i] * b[i] + c[i]\n\tvmov"));
  CHECK(contains(hot, "\tvaddps"));
  CHECK(count(hot, "\n\tj") == 1);
  CHECK_FALSE(contains(hot, "\tret"));
  const std::string all = kernel.show(Stage::assembly, {.whole = true});
  CHECK(contains(all, "phase_0:"));
  CHECK(contains(all, "\tret"));
  CHECK_FALSE(contains(all, "\t.loc"));
}

TEST_CASE("The axes table says what stands side by side, what stretches, and what is not there") {
  const Kernel kernel = compile(parse(
      "kernel k { in x : f32[:, :, :]; in y : f32[1, :, 1]; in z : f32[:]; out w = x * y + z }"));
  kernel.prepare({f32_of(shaped({4, 5, 6})), f32_of(shaped({1, 5, 1})), f32_of(shaped({6}))});
  const std::string table = kernel.show(Stage::axes);
  CAPTURE(table);
  CHECK(contains(table, "  x     4 step 30  5 step 6  6 unit\n"));
  CHECK(contains(table, "  y     stretched  5 unit    stretched\n"));
  CHECK(contains(table, "  z     -          -         6 unit\n"));
}

TEST_CASE("The drawing of a graph is one page that needs no other file") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i, j]; out y = exp(x) / sum(exp(x), j) }"));
  const std::string page = kernel.show(Stage::graph, {.graph = ShowFormat::Graph::html});
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(count(page, "<g class=") == 1 + 5); // a frame; x, exp, the sum, the quotient, y
  for (const char *outside : {"<script ", "<link", "src=", "href=", "url(h", "import"})
    CHECK_FALSE(contains(page, outside));
  const std::string dot = kernel.show(Stage::graph, {.graph = ShowFormat::Graph::dot});
  CHECK(dot.starts_with("digraph \"k\" {"));
  CHECK_FALSE(contains(dot, "subgraph"));
  CHECK(count(dot, " -> ") == count(page, "<path class="));
}

TEST_CASE(
    "Casts, numbers and extents stand in the labels of what reads them, and a mean is one box") {
  const auto drawn = [](const std::string &body) {
    return compile(parse("kernel k { " + body + " }"))
        .show(Stage::graph, {.graph = ShowFormat::Graph::dot});
  };
  const std::string norm =
      drawn("in x : f32[i, j]; in g : f32[j]; let d = x - mean(x, j)\n"
            "out y = d / sqrt(mean(d * d, j) + 1e-5) * g; out n = extent(j, of=x) * 2");
  CAPTURE(norm);
  for (const char *label : {"in x", "mean of f64(x) over j", "d = x - f32(n", "mean of f64(n",
                            " + 1e-05", "= sqrt(", " * g", "out n = n"})
    CHECK(contains(norm, label));
  for (const char *none : {"= cast", "= literal", "[label=\"extent", "fold sum"})
    CHECK_FALSE(contains(norm, none));
  // A sum that something else reads is no part of a mean, nor is one over other axes.
  CHECK(count(drawn("in x : f64[i, j]; let s = sum(x, j); out y = s / extent(j); out z = s"),
              "mean of") == 0);
  CHECK(count(drawn("in x : f64[i, j]; out y = sum(x, j) / extent(i, of=x)"), "mean of") == 0);
  // Every other one of casts of casts is a box, so that labels stay short.
  CHECK(count(drawn("in x : f64[i]; out y = f64(f32(f64(f32(x))))"), "[label=") <= 4);
  CHECK(contains(drawn("in x : f32[i]; out y = 2.5"), "out y = "));
}

TEST_CASE("A deep graph goes across a page, a flat one down it") {
  const auto box_of = [](const std::string &page, const std::string &title) {
    const std::size_t at = page.rfind("<rect x=\"", page.find(">" + title + "<"));
    return std::pair(std::stod(page.substr(at + 9)),
                     std::stod(page.substr(page.find("y=\"", at) + 3)));
  };
  const auto page_of = [](const std::string &body) {
    return compile(parse("kernel k { " + body + " }"))
        .show(Stage::graph, {.graph = ShowFormat::Graph::html});
  };
  std::string sines = "x";
  for (int k = 0; k < 12; ++k) sines = "sin(" + sines + ")";
  const std::string deep = page_of("in x : f32[i]; out y = " + sines);
  CHECK(box_of(deep, "in x").first + 500 < box_of(deep, "out y = n12").first);
  CHECK(box_of(deep, "in x").second == box_of(deep, "out y = n12").second);
  const std::string flat = page_of("in a : f32[i]; in b : f32[i]; in f : f32[i]\n"
                                   "out y = a; out z = b; out u = f");
  CHECK(box_of(flat, "in a").second < box_of(flat, "out y = a").second);
  CHECK(box_of(flat, "in a").second == box_of(flat, "in f").second);
}

TEST_CASE("The drawing of several kernels has a frame for each, with what was fused into its loops "
          "and its sizes") {
  const LoopSpec net = parse("kernel net { in x : f32[n, p]; in w : f32[p, h]; in v : f32[h, q]\n"
                             "let a[n, h] = sum(x * w, p)\nlet r = maximum(a[n, h], 0)\n"
                             "let both[s, n, h] = stack(s, a, a)\n"
                             "out y = sum(r * v, h); out z = both }");
  const Kernel kernel = compile(net);
  const auto drawn = [&](ShowFormat::Graph graph) {
    return kernel.show(Stage::graph, {.graph = graph});
  };
  const std::string unknown = drawn(ShowFormat::Graph::html);
  CHECK(contains(unknown, "f32 {n p}"));
  CHECK_FALSE(contains(unknown, "phase: "));
  kernel.prepare({f32_of(shaped({64, 30})), f32_of(shaped({30, 40})), f32_of(shaped({40, 20}))});
  const std::string page = drawn(ShowFormat::Graph::html), dot = drawn(ShowFormat::Graph::dot);
  CAPTURE(page);
  for (const std::string &text : {page, dot}) {
    CHECK(contains(text, "let a, an array"));
    CHECK(contains(text, "let both"));
    CHECK(contains(text, "kernel net"));
    CHECK(contains(text, "computed where it is read: 'r'"));
    CHECK(contains(text, "phase: 0: parallel over"));
    CHECK(contains(text, "f32 [n=64, h=40]"));
  }
  CHECK(contains(page, "2560 elements, 10 KiB"));
  CHECK(contains(page, "2560 elements, 10 KiB, if it were an array")); // a value in the loops
  CHECK(contains(page, " % of the operations"));
  CHECK(contains(page, " predicted")); // of each frame
  CHECK_FALSE(contains(dot, " predicted"));
  CHECK(count(dot, "subgraph cluster") == count(page, "class=\"frame\""));
  CHECK(count(dot, " -> ") == count(page, "<path class="));
}

TEST_CASE("Predicted operations count each turn of each loop once") {
  const plan::Plan plan = plan_of("in x : f32[i, j]; in y : f32[i]; out z = x * exp(y)",
                                  {shaped({30, 40}), shaped({30})});
  double flops = 0;
  for (const Cost &phase : plan::phase_costs(plan.program, plan.binding)) flops += *phase.flops;
  CHECK(flops == 30 * 40 + 30); // exp once for each row
}

} // namespace broadloom

TEST_CASE("typical extents of one label agree where one of its arrays is read at positions") {
  const broadloom::Kernel kernel = broadloom::compile(broadloom::parse(
      "kernel k { in y : i8; in z : f64[i, j]; in a : f64[p]; in b : f64[p, q]; let c = b; "
      "let d[q, r] = c[r, q]; out o = sum(z) + y }"));
  CHECK_NOTHROW(kernel.show(broadloom::Stage::loop));
  CHECK_NOTHROW(kernel.why());
}

TEST_CASE("a label that stands alone at a dim of a known extent has this extent in all arrays") {
  const broadloom::Kernel kernel = broadloom::compile(broadloom::parse(
      "kernel k { in x : f32[n=40, m=30]; in d : f32[i]; out y[i, j] = x[i, j] * d }"));
  CHECK_NOTHROW(kernel.show(broadloom::Stage::loop));
}

TEST_CASE("typical extents keep windows inside of dims of a known extent") {
  for (const char *text :
       {"kernel k { in x : f32[100]; in w : f32[5]; in d : f32[i]; out y = sum(d * w[u], like=x[i "
        "+ u]) }",
        "kernel k { in x : f32[h=16, w=16]; in d : f32[a, b]; axis p < 2; axis q < 2; "
        "out y = sum(d, like=x[3*a + p, 2*b + q]) }",
        "kernel k { in x : f32[20]; in d : f32[i]; let p = pad(x, 0: (2, 3), edge); "
        "out y[i] = d * (p[i + 5] - p[2*i]) }",
        "kernel k { in x : f32[20]; in d : f32[i]; out y[i] = d * x[19 - 2*i] * x[-1 - i] }"})
    CHECK_NOTHROW(broadloom::compile(broadloom::parse(text)).show(broadloom::Stage::loop));
}
