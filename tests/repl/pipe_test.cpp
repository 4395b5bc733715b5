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
  CHECK(pipe(kernel + ".run x=ones(2, 2)\n").status == cli::WrongData);
}

TEST_CASE("commands that go wrong in a pipe have a line, too, and a status of their kind") {
  const Run unknown = pipe("\n.nothing\n.list\n");
  CHECK(unknown.status == cli::WrongUsage);
  CHECK(unknown.err.find("<stdin>:2: error[E0401]: there is no command '.nothing'") == 0);
  CHECK(unknown.out == "");
  const Run wrong = pipe(kernel + ".run y=1\n");
  CHECK(wrong.status == cli::WrongUsage);
  CHECK(wrong.err.find("<stdin>:5: error[E0404]") == 0);
  const Run data = pipe(kernel + "\n.run x=[1, 2][5]\n");
  CHECK(data.status == cli::WrongData);
  CHECK(data.err.find("<stdin>:6: error[E0114]") == 0);
}

TEST_CASE("-c runs lines and reads no other") {
  const Run run = pipe("never read\n", {"-c", kernel + ".run x=arange(2)"});
  CHECK(run.err == "");
  CHECK(run.out == "k(x: f64[i]) -> z: f64[i]\nz: f64[2]\n[0.0, 2.0]\n");
  CHECK(pipe("", {"-c", "1 + 2"}).out == "3\n");
  const Run wrong = pipe("", {"-c", "1 + 2\n.nothing"});
  CHECK(wrong.status == cli::WrongUsage);
  CHECK(wrong.out == "3\n");
  CHECK(wrong.err.find("<text>:2: error[E0401]") == 0);
  CHECK(pipe("", {"-c", "sum("}).err.find("expected an expression, found the end") !=
        std::string::npos);
  CHECK(pipe("", {"-c", "kernel k {"}).status == cli::WrongSpec);
  CHECK(pipe("", {"-c", ""}).status == cli::Fine);
}

TEST_CASE("a file alone is checked where there is no terminal, and comes before the lines of -c") {
  const TempFolder folder;
  const std::string good = folder.write("k.loom", kernel),
                    bad = folder.write("bad.loom", "kernel k { in x : f9[i]; out z = q }");
  CHECK(pipe("never read\n", {good}).out == "k: ok\n");
  const Run wrong = pipe("", {bad});
  CHECK(wrong.status == cli::WrongSpec);
  CHECK(wrong.err.find(bad + ":1:19: error[E0002]") == 0);
  CHECK(wrong.err.find("error[E0003]") != wrong.err.npos); // all mistakes
  const Run run = pipe("", {good, "-c", ".run x=ones(1)"});
  CHECK(run.out == "k(x: f64[i]) -> z: f64[i]\nz: f64[1]\n[2.0]\n");
  CHECK(pipe("", {good, "-i", good}).status == cli::WrongUsage);
  CHECK(pipe("", {good, "check", good}).status == cli::WrongUsage);
}

TEST_CASE("a word that is neither a command nor a file brings the command that was perhaps meant") {
  const Run run = pipe("", {"rnu"});
  CHECK(run.status == cli::WrongUsage);
  CHECK(run.err.find("there is neither a command nor a file 'rnu'") != run.err.npos);
  CHECK(run.err.find("did you mean 'run'?") != run.err.npos);
  const Run more = pipe("", {"ruun", "k.loom", "--in", "x=1"}); // also with words behind it
  CHECK(more.status == cli::WrongUsage);
  CHECK(more.err.find("there is neither a command nor a file 'ruun'") != more.err.npos);
  CHECK(more.err.find("did you mean 'run'?") != more.err.npos);
}

TEST_CASE("words that no command takes are told in their order, with the option that was meant") {
  const Run extra = pipe("", {"run", "--thread", "2", "-e", "text", "--bar"});
  CHECK(extra.status == cli::WrongUsage);
  CHECK(extra.err.find("error[E0401]: '--thread' and '--bar' were not expected\n"
                       "help: did you mean '--threads'? ") != extra.err.npos);
  const Run other = pipe("", {"show", "-e", "text", "--stage", "lop"});
  CHECK(other.err.find("--stage: 'lop' is none of 'spec', 'folded', 'axes', 'graph', 'call', "
                       "'plan', 'loop', 'block', 'llvm', 'asm' and 'why'; did you mean 'loop'?") !=
        other.err.npos);
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
