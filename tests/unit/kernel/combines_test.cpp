// The combine of a user's accumulator: blocks without elements take no part, and one that joins
// wrongly is told.
#include "analysis/analyse.hpp"
#include "ops/joins.hpp"
#include "spec/definition.hpp"
#include "spec/materialise.hpp"
#include "spec/spec.hpp"
#include "tools/broadloom/cli/verify.hpp"
#include "unit/kernel/calls.hpp"

#include <broadloom/log.hpp>

#include <cmath>
#include <numeric>

using namespace broadloom;
using tests::has;

namespace {

// Two of its inits joined are no number.
const std::string online = "accumulator online(m, s; x) {\n"
                           "  init m = -inf, s = 0\n"
                           "  step m = maximum(m, x),\n"
                           "       s = s * exp(m - maximum(m, x)) + exp(x - maximum(m, x))\n"
                           "  combine m = maximum(m, m_other),\n"
                           "          s = s * exp(m - maximum(m, m_other)) + s_other * exp(m_other "
                           "- maximum(m, m_other))\n"
                           "  result m + log(s)\n}\n";
// Of two blocks the earlier one, so that a fold goes in logical order.
const std::string first = "accumulator first(v, c; x) {\n  init v = 0, c = false\n"
                          "  step v = c ? v : x, c = true\n  combine v = v, c = c\n}\n";
// Each block has the 1 of init.
const std::string from_one = "accumulator from_one(s; x) {\n  init s = 1\n  step s = s + x\n"
                             "  combine s = s + s_other\n}\n";

Array counted(std::vector<std::int64_t> shape) { // 0.5, 0.6, ..
  Array x(f64, shape);
  for (std::int64_t k = 0; k < x.size(); ++k) x.data<double>()[k] = 0.5 + 0.1 * double(k);
  return x;
}

// What is said while a kernel is compiled and called.
std::vector<std::string> told(const std::string &text, Engine engine = Engine::automatic) {
  std::vector<std::string> said;
  const LogLevel before = log_level();
  set_log_level(LogLevel::warn);
  set_log_sink([&said](LogLevel, std::string_view message) { said.emplace_back(message); });
  const Kernel kernel = compile(parse_all(text, "g.loom").at(0), tests::with(engine));
  kernel({{"x", counted({3})}});
  set_log_sink({});
  set_log_level(before);
  return said;
}

std::vector<std::string> reasons(const std::string &text) { // of topic `blocks`
  std::vector<std::string> all;
  set_log_level(LogLevel::off);
  for (const Decision &decision : compile(parse(text)).why())
    if (decision.topic == "blocks") all.push_back(decision.code);
  set_log_level(LogLevel::warn);
  return all;
}

ops::Recipe recipe_in(const std::string &text) {
  const spec::TypedSpec typed = analysis::analyse(parse(text).data());
  for (std::uint32_t n = 0; n < typed.graph.size(); ++n)
    if (typed.graph[expr::NodeId{n}].kind == expr::NodeKind::Fold)
      return typed.graph.recipe(expr::NodeId{n});
  return {};
}

} // namespace

TEST_CASE("An accumulator whose init is no identity of its combine gives what its steps give, of "
          "any number of elements") {
  const LoopSpec spec =
      parse(online + first +
            "kernel k { in x : f64[i, j]\n out r = online(x, j); out c = online(x, i)\n"
            " out a = online(x); out f = first(x, j); out g = first(x, i)\n"
            " out s = scan(online, x, j, reverse); out t = scan(first, x, i)\n"
            " out p = scan(online, x, i, exclusive); out q = first(x, j, init=(7, true))\n"
            " out b = online(x, j, init=(2, 3)) }");
  for (const std::int64_t rows : {1, 2, 5, 33})
    for (const std::int64_t columns : {1, 2, 3, 17, 31, 32, 33, 100, 4095, 4097, 9000}) {
      const Array x = counted({rows, columns});
      const std::vector<NamedView> inputs{{"x", x}};
      const Results truth = compile(spec, tests::with(Engine::reference)).call(inputs);
      const Results got = compile(spec, tests::with(Engine::interpreter)).call(inputs);
      for (const auto &[name, array] : truth) {
        CAPTURE(rows);
        CAPTURE(columns);
        CAPTURE(name);
        const std::vector<double> wanted = tests::values(array), have = tests::values(got[name]);
        for (std::size_t k = 0; k < wanted.size(); ++k)
          if (!(std::fabs(wanted[k] - have[k]) <= 1e-12 * std::fabs(wanted[k])) &&
              wanted[k] != have[k])
            FAIL_CHECK(k << ": " << have[k] << ", not " << wanted[k]);
      }
      for (const Options &options : {tests::with(Engine::jit), tests::with(Engine::jit, 3)}) {
        const Results native = compile(spec, options).call(inputs);
        for (const auto &[name, array] : got)
          CHECK(tests::bytes(native[name]) == tests::bytes(array));
      }
    }
}

TEST_CASE("Blocks of the data are joined likewise, and so are derivatives through such a combine") {
  const Kernel kernel =
      compile(parse(online + "kernel k { in x : f64[i, j]; out a[j] = reduce(online) x }"),
              tests::with(Engine::jit));
  const Array x = counted({300, 3});
  const Results whole = kernel({{"x", x}});
  const std::int64_t unit = kernel.unit("i", std::vector<NamedView>{{"x", x}});
  std::vector<Partial> blocks;
  for (std::int64_t begin = 0; begin < 300; begin += unit) {
    const std::int64_t end = std::min<std::int64_t>(300, begin + unit);
    blocks.push_back(kernel.partial(
        "i", begin, {{"x", View<double>(x.data<double>() + 3 * begin, {end - begin, 3})}}));
  }
  REQUIRE(blocks.size() > 1);
  CHECK(tests::bytes(kernel.combine(blocks, std::vector<NamedView>{})["a"]) ==
        tests::bytes(whole["a"]));
  for (const std::int64_t n : {1, 2, 5, 40}) {
    const LoopSpec spec =
        parse(online + "kernel k { in x : f64[i]; out a = online(x); out s = scan(online, x, i) }");
    const GradientCheck check = check_gradient(spec, {{"x", counted({n})}});
    CHECK_MESSAGE(check.passed(), describe(check.worst()));
    CHECK(compile(jvp(spec, {"x"}))({{"x", counted({n})}, {"t_x", counted({n})}})["t_a"].size() ==
          1);
  }
}

TEST_CASE(
    "Whether blocks count their elements is said, and only those do whose init is no identity") {
  CHECK(reasons(online + "kernel k { in x : f64[i]; out z = online(x) }") ==
        std::vector<std::string>{"empty-blocks"});
  const std::vector<Decision> why =
      compile(parse(online + "kernel k { in x : f64[i]; out z = online(x) }")).why();
  const auto found = std::ranges::find(why, "empty-blocks", &Decision::code);
  REQUIRE(found != why.end());
  CHECK(found->subject == "online");
  CHECK(found->text == "the init of 'online' is no identity of its combine (init joined with init "
                       "has s = nan, init alone 0.0): blocks count their elements, and one without "
                       "any takes no part");
  CHECK(reasons(first + "kernel k { in x : f64[i]; out z = first(x) }") ==
        std::vector<std::string>{"empty-blocks"});
  const std::string own =
      "accumulator own(s, n; x) { init s = 0, n = 0; step s = s + x, n = n + 1\n"
      "combine s = s + s_other, n = n + n_other; result s / n }\n"
      "accumulator mean_of(m, n; x) { init m = 0, n = 0\n"
      "step m = m + (x - m) / (n + 1), n = n + 1\n"
      "combine m = n + n_other == 0 ? 0 : (n * m + n_other * m_other) / (n + n_other),\n"
      "n = n + n_other }\n"
      "accumulator last(v, at; x, k) { init v = 0, at = -1; step v = x, at = k\n"
      "combine v = at_other > at ? v_other : v, at = maximum(at, at_other) }\n"
      "kernel k { in x : f64[i]; out z = own(x); out m = mean_of(x)\n"
      "out v = var(x); out l = logsumexp(x); out a = argmax(x)\n"
      "out w = last((x, iota(i)), i) }";
  CHECK(reasons(own).empty());
  CHECK(told(own).empty());
  // Derivatives are accumulators, too.
  for (const std::string statement :
       {"z = own(x)", "z = mean_of(x)", "z = var(x)", "z = logsumexp(x)", "z = prod(x)",
        "z = scan(logsumexp, x, i)", "z = scan(own, x, i)", "z = scan(prod, x, i)"}) {
    CAPTURE(statement);
    const LoopSpec spec = parse(own.substr(0, own.find("kernel")) +
                                "kernel k { in x : f64[i]; out " + statement + " }");
    CHECK(spec::all_faults(analysis::analyse(gradient(spec, {"x"}).data())).empty());
    CHECK(spec::all_faults(analysis::analyse(jvp(spec, {"x"}).data())).empty());
  }
  // One state more, which counts.
  const ops::Recipe counting = recipe_in(online + "kernel k { in x : f64[i]; out z = online(x) }");
  CHECK(counting.states.size() == 3);
  CHECK(counting.commutes);
  CHECK(recipe_in(own).states.size() == 2);
}

TEST_CASE("An accumulator of 16 states may count, too") {
  std::string states, init, step, combine;
  for (int k = 0; k < 16; ++k) {
    const std::string s = "s" + std::to_string(k), comma = k == 0 ? "" : ", ";
    states += comma + s;
    init += comma + s + " = 0";
    step += comma + s + " = " + s + " + x";
    combine += comma + s + " = " + s + " * " + s + "_other / " + s + " + 0 * " + s + " + " + s;
  }
  const std::string text = "accumulator wide(" + states + "; x) { init " + init + "; step " + step +
                           "; combine " + combine +
                           " }\nkernel k { in x : f64[i]; out z = wide(x) }";
  for (const Engine engine : {Engine::interpreter, Engine::jit})
    CHECK(tests::values(compile(parse(text), tests::with(engine))({{"x", counted({2})}})["z"])[0] ==
          doctest::Approx(1.1));
}

TEST_CASE("A combine that joins to other values than the steps give is told where it stands, but "
          "not by the reference") {
  const std::string text = from_one + "kernel k { in x : f64[i]; out z = from_one(x) }";
  CHECK(told(text) ==
        std::vector<std::string>{
            "g.loom:4:11: E0036: the combine of 'from_one' joins blocks to other values "
            "than "
            "its steps give: of the blocks [0.0625] and [0.21875] state 's' is 2.28125, of their "
            "elements one after the other 1.28125\n"
            "  combine s = s + s_other\n"
            "          ^\n"
            "help: each block steps from init, so let it say what no element gives, and give the "
            "rest by "
            "init= of the call; or leave combine out: the fold is then serial"});
  CHECK(told(text, Engine::reference).empty());
  CHECK(reasons(text) == std::vector<std::string>{"wrong-join", "empty-blocks"});
  // In a let that is an array, and of several blocks only.
  CHECK(told(from_one +
             "kernel k { in x : f64[i]; let h[n < 2] = from_one(x) + iota(n); out z[n] = h[n] }")
            .size() == 1);
  const std::string late =
      "accumulator late(s, n; x) { init s = 0, n = 0; step s = s + x, n = n + 1\n"
      "combine s = n > 1 ? s : s + s_other, n = n + n_other }\n";
  CHECK(told(late + "kernel k { in x : f64[i]; out z = late(x) }").size() == 1);
}

TEST_CASE("A wrong combine is the user's mistake in --check and in checked calls") {
  const LoopSpec spec = parse(from_one + "kernel k { in x : f64[i]; out z = from_one(x) }");
  const Array x = counted({3});
  set_log_level(LogLevel::off);
  const Array z = compile(spec)({{"x", x}})["z"], before(f64, std::vector<std::int64_t>{});
  const cli::RunCheck check = cli::check_run(spec, {x}, {"z"}, {z}, {before}, Engine::automatic);
  CHECK_FALSE(check.passed());
  const auto caught = tests::error_of([&] { cli::require_passed(spec, check); });
  CHECK(caught.code == "E0036");
  CHECK(has(caught.message, "'from_one'"));
  Options debugged;
  debugged.debug = Debug::reference;
  CHECK(tests::error_of([&] { compile(spec, debugged)({{"x", x}}); }).code == "E0036");
  set_log_level(LogLevel::warn);
  // One whose init is no identity is right, and passes both.
  const LoopSpec right = parse(online + "kernel k { in x : f64[i]; out z = online(x) }");
  const Array two = counted({2}), joined = compile(right)({{"x", two}})["z"];
  CHECK(*joined.data<double>() == doctest::Approx(std::log(std::exp(0.5) + std::exp(0.6))));
  cli::require_passed(right,
                      cli::check_run(right, {two}, {"z"}, {joined},
                                     {Array(f64, std::vector<std::int64_t>{})}, Engine::automatic));
  CHECK(tests::error_of([&] { compile(right, debugged)({{"x", two}}); }).code.empty());
}
