// The REPL in a pipe: no prompt, and the first error ends it.
#include "tests/unit/temp_folder.hpp"
#include "tools/broadloom/cli/cli.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace broadloom;

namespace {

struct Run {
  int status;
  std::string out, err;
};

Run pipe(const std::string &text, const std::vector<std::string> &args = {}) {
  std::istringstream in(text);
  std::ostringstream out, err;
  const int status = cli::run_cli(args, in, out, err);
  return {status, out.str(), err.str()};
}

const std::string kernel = "kernel k {\n  in x : f64[i]\n  out z = x * 2\n}\n";

} // namespace

TEST_CASE("piped lines run without a prompt") {
  const Run run = pipe(kernel + ".run x=arange(2)\n.quit\nnever read\n");
  CHECK(run.status == cli::Fine);
  CHECK(run.out == "k(x: f64[i]) -> z: f64[i]\nz: f64[2]\n[0.0, 2.0]\n");
  CHECK(run.err == "");
}

TEST_CASE("the first error ends a pipe with the status of its kind and its line") {
  const Run wrong = pipe("\n" + kernel + "kernel k2 {\n  in x : f64[i]\n  out z = q\n}\n.list\n");
  CHECK(wrong.status == cli::WrongSpec);
  CHECK(wrong.err.find("<stdin>:8:11: error[E0003]") == 0);
  CHECK(wrong.out == "k(x: f64[i]) -> z: f64[i]\n");
  CHECK(pipe(".nothing\n").status == cli::WrongUsage);
  CHECK(pipe(kernel + ".run x=ones(2, 2)\n").status == cli::WrongData);
}

TEST_CASE("a text that ends inside of a kernel is an error") {
  const Run run = pipe("kernel k { in x : f64[i]\n");
  CHECK(run.status == cli::WrongSpec);
  CHECK(run.err.find("E0007") != run.err.npos);
}

TEST_CASE("-i reads a file first") {
  const TempFolder folder;
  const Run run = pipe(".run x=ones(1)\n", {"-i", folder.write("k.loom", kernel)});
  CHECK(run.status == cli::Fine);
  CHECK(run.out == "k(x: f64[i]) -> z: f64[i]\nz: f64[1]\n[2.0]\n");
  CHECK(pipe("", {"-i", folder / "none.loom"}).status == cli::WrongUsage);
}
