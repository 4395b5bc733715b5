// broadloom-bench: kernels against hand-written loops, other libraries and the roofline, in the
// same run.
//
// The cases are in cases/cases.txt; docs/benchmarks.md says how to read what is printed. They are
// registered with Google Benchmark, as are the rows of math.cpp, math_compile.cpp and
// gradients.cpp, so its filters and reports work for all. It knows one time for each row and runs
// one row to its end before the next; so a case is one of its iterations, within which the rounds
// of all peers alternate (rounds.hpp), and what else a row says goes to the session's own reports
// (row.hpp).
#include "bench/all_cases.hpp"

#include <CLI/CLI.hpp>
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace {

void run_case(benchmark::State &state, bench::Session &session, const bench::Case &c) {
  for (auto _ : state) {
    const bench::Row &row = session.run(c);
    if (!row.failure.empty()) {
      state.SkipWithError(row.failure.c_str());
      break;
    }
    state.SetIterationTime(row.seconds);
    state.counters["ns_per_element"] = row.ns_per_element();
    if (row.roof) {
      state.counters["GBps"] = row.gb_per_second();
      state.counters["roofline"] = row.roof->fraction;
    }
    if (const bench::PeerRow *best = row.best_peer()) {
      state.counters["ratio"] = best->ratio;
      state.SetLabel("ratio to " + best->name);
    }
  }
}

// Prints the session's line for each case, as soon as it is there.
class LineReporter : public benchmark::BenchmarkReporter {
public:
  LineReporter(const bench::Session &session, bool why) : session_(session), why_(why) {}

  bool ReportContext(const Context &) override { return true; }
  void ReportRuns(const std::vector<Run> &) override {
    const bench::Row &row = session_.result().rows.back();
    fmt::print("{}\n", bench::text_row(row));
    if (why_) fmt::print("{}\n", row.why);
    std::fflush(stdout);
  }

private:
  const bench::Session &session_;
  const bool why_;
};

struct Options {
  bench::SessionOptions session;
  bool list = false, why = false;
  std::vector<std::string> for_library; // --benchmark_..
};

void declare(CLI::App &app, Options &options) {
  bench::SessionOptions &session = options.session;
  session.cases_folder = BROADLOOM_CASES_DIR;
  app.add_option("--filter", session.filter, "ids of cases or their beginnings up to a dash: W1,N");
  app.add_flag("--short", session.brief, "fewer rounds, and nothing of 64M elements");
  app.add_option("--seconds", session.seconds, "for the rounds of each case (3; with --short 1)");
  app.add_option("--threads", session.threads,
                 "numbers of threads, as in 1,2,4: our kernels run on each, in the same rounds")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  app.add_option("--python", session.python, "a Python that has the libraries of peers/");
  app.add_option("--json", session.json, "write the run as JSON");
  app.add_option("--html", session.html, "write a report as one HTML file");
  app.add_option("--markdown", session.markdown,
                 "put the table into this page, between its markers");
  app.add_option("--compare", session.compare, "JSON of an earlier run: say what changed since");
  app.add_option("--keep", session.keep, "JSON of an earlier run: take over the rows not run now");
  app.add_option("--from", session.from, "JSON of a run: report that and run nothing");
  app.add_option("--cases", session.cases_folder, "the folder of cases.txt and its kernels");
  app.add_flag("--list", options.list, "print the cases");
  app.add_flag("--why", options.why, "print the plan's decisions below each row");
  app.allow_extras();
}

// The names as they are, in a regular expression: they hold letters, digits and dashes only.
std::string pattern_of(const std::vector<const bench::Case *> &cases) {
  std::string pattern;
  for (const bench::Case *c : cases) pattern += (pattern.empty() ? "^(" : "|") + c->id;
  return pattern + ")/";
}

int run(const Options &options) {
  bench::Session session(options.session);
  if (options.list) {
    for (const bench::Case &c : session.cases()) fmt::print("{:<17} {}\n", c.id, c.title);
    return 0;
  }
  if (!options.session.from.empty()) {
    fmt::print("{}\n{}\n", bench::text_of_probe(session.result()), bench::text_header());
    for (const bench::Row &row : session.result().rows) fmt::print("{}\n", bench::text_row(row));
    session.finish();
    return 0;
  }

  const std::vector<const bench::Case *> selected = session.selected();
  for (const bench::Case &c : session.cases())
    benchmark::RegisterBenchmark(c.id.c_str(),
                                 [&](benchmark::State &state) { run_case(state, session, c); })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);

  std::vector<char *> words;
  for (const std::string &word : options.for_library)
    words.push_back(const_cast<char *>(word.c_str()));
  int count = int(words.size());
  words.push_back(nullptr);
  benchmark::Initialize(&count, words.data());
  if (benchmark::ReportUnrecognizedArguments(count, words.data())) return 2;

  const std::string filter = benchmark::GetBenchmarkFilter();
  if (!filter.empty() && filter != ".") { // with the library's rows and columns
    benchmark::RunSpecifiedBenchmarks();
  } else {
    session.start();
    fmt::print("{}\n{}\n", bench::text_of_probe(session.result()), bench::text_header());
    std::fflush(stdout);
    LineReporter reporter(session, options.why);
    benchmark::RunSpecifiedBenchmarks(&reporter, pattern_of(selected));
    session.finish();
  }
  benchmark::Shutdown();
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  // What was compiled by an earlier run would make the times of compiling and of first calls say
  // something else.
  setenv("BROADLOOM_CACHE", "0", 0);
  CLI::App app("Kernels against hand-written loops, other libraries and the roofline. Options that "
               "begin with --benchmark_ go to Google Benchmark.",
               "broadloom-bench");
  Options options;
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.for_library = app.remaining();
  options.for_library.insert(options.for_library.begin(), argv[0]);
  try {
    return run(options);
  } catch (const std::runtime_error &error) {
    fmt::print(stderr, "broadloom-bench: {}\n", error.what());
    return 1;
  }
}
