// Bugs of our own, asked for by BROADLOOM_FAULT: the answer stays, a line and a report say what
// happened.
#include "support/log.hpp"
#include "tests/unit/temp_folder.hpp"
#include "tools/broadloom/cli/cli.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

using namespace broadloom;

namespace {

// A world in which these stages fail, with a log and a folder for reports of its own.
class Faults {
public:
  explicit Faults(const char *stages, bool strict = false) {
    ask(stages);
    setenv("XDG_STATE_HOME", folder.path.c_str(), 1);
    setenv("BROADLOOM_STRICT", strict ? "1" : "0", 1);
    support::log().sinks() = {std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_)};
  }
  ~Faults() {
    unsetenv("BROADLOOM_FAULT");
    unsetenv("XDG_STATE_HOME");
    setenv("BROADLOOM_STRICT", "1", 1);
    support::log().sinks() = sinks_;
  }
  static void ask(const char *stages) { setenv("BROADLOOM_FAULT", stages, 1); }

  std::string log() const { return lines_.str(); }
  int logged() const {
    const std::string text = log();
    return int(std::count(text.begin(), text.end(), '\n'));
  }
  int reports() const {
    return std::filesystem::exists(folder / "broadloom") ? int(std::distance(entries(), {})) : 0;
  }
  std::string report() const {
    return folder.read("broadloom/" + entries()->path().filename().string());
  }

  TempFolder folder;

private:
  std::filesystem::directory_iterator entries() const {
    return std::filesystem::directory_iterator(folder / "broadloom");
  }
  std::ostringstream lines_;
  std::vector<spdlog::sink_ptr> sinks_ = support::log().sinks();
};

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// The constant makes programs of which no other test has made code.
LoopSpec row_share(double constant) {
  const Expr x = input("x", f32, {"i", "j"});
  return LoopSpec("row_share").out("z", x / sum(x, "j") * constant);
}

struct Data {
  std::vector<float> x = std::vector<float>(60'000), z = std::vector<float>(60'000, -1);
  Data() { std::iota(x.begin(), x.end(), 1.f); }
  View<const float> in() const { return {x.data(), {300, 200}}; }
  View<float> out() { return {z.data(), {300, 200}}; }
};

std::vector<float> wanted(const LoopSpec &spec, Engine engine) {
  Data data;
  compile(spec, {.engine = engine}).run({data.in()}, {data.out()});
  return data.z;
}

std::string choice_of(const Kernel &kernel, const std::string &topic) {
  for (const Decision &d : kernel.why())
    if (d.topic == topic) return d.choice;
  return {};
}

} // namespace

TEST_CASE("Where emission fails the interpreter runs the kernel, and a line and a report say so") {
  const std::vector<float> expected = wanted(row_share(1.25), Engine::interpreter);
  const Faults faults("emit");
  const Kernel kernel = compile(row_share(1.25));
  Data data;
  kernel.run({data.in()}, {data.out()});
  CHECK(data.z == expected);
  std::fill(data.z.begin(), data.z.end(), -1.f);
  kernel.bind({data.in()}, {data.out()})();
  CHECK(data.z == expected);
  CHECK(kernel.engine() == Engine::interpreter);
  CHECK(kernel.counters().interpreted == 2);
  CHECK(choice_of(kernel, "engine") == "interpreter");
  CHECK_THROWS_AS(kernel.show(Stage::assembly), CompileError);
  CHECK(faults.logged() == 1);
  CHECK(has(faults.log(), "kernel 'row_share' runs in the interpreter: bug in Broadloom: "));
  REQUIRE(faults.reports() == 1);
  CHECK(has(faults.log(), "report: " + (faults.folder / "broadloom/row_share-")));
  for (const std::string part :
       {"bug in Broadloom", "Broadloom 0.", "kernel row_share {", "threads ",
        "in  x : f32 shape (300, 200) strides (200, 1)", "phase 0:"}) {
    CAPTURE(part);
    CHECK(has(faults.report(), part));
  }
}

TEST_CASE("Nothing of a failure remains in the caches") {
  const Faults faults("emit");
  Data data;
  compile(row_share(2.25)).run({data.in()}, {data.out()});
  Faults::ask("");
  const Kernel again = compile(row_share(2.25));
  again.run({data.in()}, {data.out()});
  CHECK(again.engine() == Engine::jit);
  CHECK(again.counters().compiles == 1);
  CHECK(faults.logged() == 1);
}

TEST_CASE("A bug is an error where Broadloom is strict or the engine was asked for") {
  const auto fails = [](const Options &options, const char *ir) {
    Data data;
    try {
      compile(row_share(3.25), options).run({data.in()}, {data.out()});
      FAIL("no error");
    } catch (const Error &error) {
      CHECK(error.code() == "E0901");
      const auto &bug = dynamic_cast<const InternalError &>(error);
      CHECK(has(bug.ir(), ir));
      CHECK(has(bug.what(), ir));
      CHECK_FALSE(has(bug.message(), "\n"));
    }
    CHECK(std::count(data.z.begin(), data.z.end(), -1.f) == 60'000);
  };
  const Faults strict("emit", true);
  fails({}, "phase 0:");
  Faults::ask("plan");
  fails({.engine = Engine::interpreter}, "fold sum");
  setenv("BROADLOOM_STRICT", "0", 1);
  fails({.engine = Engine::interpreter}, "fold sum");
  Faults::ask("emit");
  fails({.engine = Engine::jit}, "phase 0:");
  CHECK(strict.logged() == 0);
  CHECK(strict.reports() == 0);
}

TEST_CASE("Where the plan fails one for a single thread is tried, then the reference evaluates") {
  const std::vector<float> native = wanted(row_share(4.25), Engine::jit);
  const std::vector<float> reference = wanted(row_share(4.25), Engine::reference);
  const Faults faults("parallel-plan");
  Data data;
  const Kernel serial = compile(row_share(4.25), {.threads = 3});
  CHECK(serial.engine() == Engine::jit); // before any call: found out, not told
  CHECK(faults.logged() == 0);
  serial.run({data.in()}, {data.out()});
  CHECK(data.z == native);
  CHECK(serial.engine() == Engine::jit);
  CHECK(has(faults.log(), "runs by a plan for one thread: bug in Broadloom"));
  CHECK(choice_of(serial, "engine") == "a plan for one thread");

  Faults::ask("plan");
  const Kernel none = compile(row_share(4.25), {.threads = 3});
  CHECK(none.engine() == Engine::reference);
  none.run({data.in()}, {data.out()});
  CHECK(data.z == reference);
  std::fill(data.z.begin(), data.z.end(), -1.f);
  none.bind({data.in()}, {data.out()})();
  CHECK(data.z == reference);
  CHECK(none.engine() == Engine::reference);
  CHECK(choice_of(none, "engine") == "reference");
  CHECK_THROWS_AS(none.show(Stage::loop), CompileError);
  CHECK_FALSE(none.show(Stage::axes).empty());
  CHECK(faults.logged() == 2);
}

TEST_CASE("Where the interpreter fails half-way the reference begins with what was there before") {
  const LoopSpec spec = parse("kernel halfway { in x : f64[i]; out z = x * 3.75; out h += x }");
  const Faults faults("emit,interpret");
  const Kernel kernel = compile(spec, {.threads = 1});
  std::vector<double> x(1000, 2), h(1000, 1);
  const View<const double> xv(x.data(), {1000});
  const View<double> same(x.data(), {1000}), hv(h.data(), {1000});
  kernel.run({xv}, {same, hv}); // z lies where x does
  CHECK(x == std::vector<double>(1000, 7.5));
  CHECK(h == std::vector<double>(1000, 3));
  CHECK(kernel.engine() == Engine::reference);
  CHECK(choice_of(kernel, "engine") == "reference");
  kernel.run({{"x", xv}}, {{"h", hv}});
  CHECK(h == std::vector<double>(1000, 10.5));
  CHECK(faults.logged() == 4); // no code, then no interpreter, for each tuple of layouts
}

TEST_CASE("Reports are not written twice, not overwritten, and not more than fifty") {
  const Faults faults("emit");
  const auto fail = [](int extent) {
    const std::vector<float> x(extent, 1.f);
    std::vector<float> z(extent);
    compile(parse("kernel many { in x : f32[i]; out z = x * 1.75 }"))
        .run({View<const float>(x.data(), {extent})}, {View<float>(z.data(), {extent})});
    CHECK(z[0] == 1.75f);
  };
  fail(7);
  const std::string first = faults.report();
  fail(7);
  CHECK(faults.reports() == 1);
  CHECK(faults.report() == first);
  for (int extent = 8; extent < 70; ++extent) fail(extent);
  CHECK(faults.reports() == 50);
  CHECK(has(faults.log(), "is full of them"));
}

TEST_CASE(
    "A report goes to TMPDIR where the state folder cannot be written, else the log says so") {
  const Faults faults("emit");
  const std::string file = faults.folder.write("file", "");
  setenv("XDG_STATE_HOME", file.c_str(), 1);
  const char *before = std::getenv("TMPDIR");
  const std::string old = before == nullptr ? "" : before;
  setenv("TMPDIR", faults.folder.path.c_str(), 1);
  Data data;
  compile(row_share(5.25)).run({data.in()}, {data.out()});
  CHECK(has(faults.log(), "report: " + (faults.folder / "broadloom-")));
  setenv("TMPDIR", file.c_str(), 1);
  compile(row_share(6.25)).run({data.in()}, {data.out()});
  CHECK(has(faults.log(), "no report: there is no folder to write it to"));
  old.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", old.c_str(), 1);
}

TEST_CASE(
    "The command line goes on in the interpreter and says so, and exits with 70 where strict") {
  const std::vector<std::string> args{
      "run", "-e", "kernel k { in x : f32[i]; out z = x * 1.875 }", "--in", "x=ones(3)", "--json"};
  const auto run = [](std::vector<std::string> words) {
    std::istringstream in;
    std::ostringstream out, err;
    const int status = cli::run_cli(words, in, out, err);
    return std::tuple(status, out.str(), err.str());
  };
  CHECK(has(std::get<1>(run(args)), R"("engine": "jit")"));
  const std::string other = "kernel k { in x : f32[i]; out z = x * 1.9375 }";
  auto failing = args;
  failing[2] = other;
  const Faults faults("emit");
  const auto [status, out, err] = run(failing);
  CHECK(status == 0);
  CHECK(has(out, R"("engine": "interpreter")"));
  for (const std::vector<std::string> &inputs :
       {std::vector<std::string>{}, {"--in", "x=ones(3)"}}) {
    std::vector<std::string> show{"show", "-e", other, "--stage", "why"};
    show.insert(show.end(), inputs.begin(), inputs.end());
    CHECK(has(std::get<1>(run(show)), "engine: interpreter, for want of native code: bug in"));
    show[4] = "asm";
    CHECK(has(std::get<2>(run(show)), "E0501"));
  }
  setenv("BROADLOOM_STRICT", "1", 1);
  const auto [strict, nothing, error] = run(failing);
  CHECK(strict == 70);
  CHECK(nothing.empty());
  CHECK(has(error, "broadloom: error[E0901]: bug in Broadloom: "));
  CHECK(has(error, "phase 0:"));
}
