// broadloom tune: which clauses are tried, and the form of what is printed. Times are nobody's
// business here.
#include "tools/broadloom/cli/cli.hpp"
#include "tools/broadloom/cli/tune.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

struct Run {
  int status;
  std::string out, err;
};

Run run(const std::vector<std::string> &args) {
  std::istringstream in;
  std::ostringstream out, err;
  const int status = cli::run_cli(args, in, out, err);
  return {status, out.str(), err.str()};
}

std::vector<std::string> clauses_of(const std::string &statements) {
  std::vector<std::string> texts;
  for (const cli::Possible &clause :
       cli::possible_clauses(parse("kernel k { " + statements + " }")))
    texts.push_back(print(clause));
  return texts;
}

} // namespace

TEST_CASE(
    "each clause that a schedule could have is tried, but none that contradicts what it has") {
  const std::string labels = "in x : f32[i]; let m = exp(x); out y = m";
  CHECK(clauses_of(labels) ==
        std::vector<std::string>{"vector i", "parallel i", "serial i", "copies i 1", "copies i 2",
                                 "copies i 4", "copies i 8", "tile i 1", "tile i 2", "tile i 4",
                                 "tile i 8", "tile i 64", "tile i 512", "keep m", "recompute m",
                                 "at m i", "stream y", "cached y"});
  CHECK(clauses_of(labels + "; schedule { serial i; copies i 2; keep m; vector i }") ==
        std::vector<std::string>{"tile i 1", "tile i 2", "tile i 4", "tile i 8", "tile i 64",
                                 "tile i 512", "stream y", "cached y"});
  const std::vector<std::string> by_position = clauses_of("in x : f32[:, :]; out y = x");
  for (const char *clause : {"vector 1", "order 0, 1", "order 1, 0"})
    CHECK(std::count(by_position.begin(), by_position.end(), clause) == 1);
  const std::vector<std::string> three = clauses_of("in x : f32[i, j, k]; out y = x");
  CHECK(std::count(three.begin(), three.end(), "order k, i, j") == 1);
}

TEST_CASE("tune says how many clauses change what runs, and which are worth writing") {
  const Run r =
      run({"tune", "-e", "kernel k { in x : f32[i, j]; out s = sum(x, j); schedule { serial j } }",
           "--in", "x=rand(200,20)", "--seconds", "0.001", "--threads", "2"});
  CAPTURE(r.out);
  CHECK(r.status == 0);
  CHECK(r.err.empty());
  const std::regex form(
      "k: \\d+ clauses, of which [1-9]\\d* change what runs; ratios below [01]\\.\\d\\d are more "
      "than "
      "noise\n(none is faster by more than noise\n|"
      "(  [01]\\.\\d\\d of the time: [a-z]+ .*\n)+together [01]\\.\\d\\d of the time:\n"
      "  schedule \\{\n    serial j\n(    [a-z]+ .*\n)+  \\}\n)");
  CHECK(std::regex_match(r.out, form));
}

TEST_CASE("clauses that put lets that are arrays in tiles, or do without them, change what runs") {
  const auto tried = [](const std::string &schedule) {
    const LoopSpec spec = parse("kernel k { in x : f32[i, j]; let h[i, j] = exp(x)\n"
                                "out y[i, n < extent(x, 1) - 1] = h[i, n] + h[i, n + 1]\n" +
                                schedule + " }");
    const Array x(DType::F32, {40, 30}), y(DType::F32, {40, 29});
    const std::vector<AnyView> in{x}, out{y};
    return cli::tune(spec, {.threads = 1}, in, out, 1e-5).tried;
  };
  CHECK(tried("") - tried("schedule { keep h }") == 2); // at h i, recompute h
}

TEST_CASE("tune needs the data of every input") {
  const Run r = run({"tune", "-e", "kernel k { in x : f32[i]; out y = x }"});
  CHECK(r.status == 2);
  CHECK(r.err.find("error[E0404]") != std::string::npos);
}
