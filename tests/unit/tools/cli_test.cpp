// The command line: what is printed, what is written, and every exit status.
#include "tests/places.hpp"
#include "tests/unit/temp_folder.hpp"
#include "tools/broadloom/cli/cli.hpp"

#include <broadloom/array.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <sys/wait.h>

using namespace broadloom;

namespace {

struct Run {
  int status;
  std::string out, err;
};

Run broadloom_with(const std::string &input, const std::vector<std::string> &args) {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int status = cli::run_cli(args, in, out, err);
  return {status, out.str(), err.str()};
}

Run run(const std::vector<std::string> &args) { return broadloom_with("", args); }

// Whether the run ended so, with an error of this code and a help line.
bool failed(const Run &run, int status, const std::string &code) {
  CAPTURE(run.err);
  CHECK(run.status == status);
  CHECK(run.err.find("error[" + code + "]: ") != std::string::npos);
  CHECK(run.err.find("\nhelp: ") != std::string::npos);
  CHECK(run.out.empty());
  return run.status == status && run.err.find("[" + code + "]") != std::string::npos;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

const std::string two = R"(kernel two {
  in x : i32[:, :]
  out y = x * 2
  out s[0] : i64 = reduce(sum) x
})";
const std::string grow = "kernel grow { in x : f64[:]; out h += x * x }";
const std::string folds = "kernel least { in x : f32[:]; out m[] = reduce(min) x }";

Array counting(std::initializer_list<std::int64_t> shape) {
  Array array(i32, shape);
  std::iota(array.data<int>(), array.data<int>() + array.size(), 0);
  return array;
}

} // namespace

TEST_CASE("run prints every output with its dtype and shape") {
  const Run r = run({"run", "-e", two, "--in", "x=arange(3)[::-1]"});
  CHECK(failed(r, 3, "E0101"));
  const TempFolder folder;
  save_npy(folder / "x.npy", counting({2, 3}));
  const Run good = run({"run", "-e", two, "--in", "x=" + (folder / "x.npy") + "[:, ::-1]"});
  CHECK(good.err == "");
  CHECK(good.status == 0);
  CHECK(good.out == "y: i32[2, 3]\n[[ 4,  2,  0],\n [10,  8,  6]]\ns: i64[2]\n[ 3, 12]\n");
}

TEST_CASE("a text comes from -e, from a file, or from standard input") {
  const TempFolder folder;
  const std::string file = folder.write("two.loom", two);
  for (const Run &r :
       {run({"run", "-e", two, "--in", "x=ones(1,1)"}), run({"run", file, "--in", "x=ones(1,1)"}),
        run({"run", "--in", "x=ones(1,1)", file}),
        broadloom_with(two, {"run", "-", "--in", "x=ones(1,1)"})}) {
    CHECK(r.status == 0);
    CHECK(r.out == "y: i32[1, 1]\n[[2]]\ns: i64[1]\n[1]\n");
  }
}

TEST_CASE("all engines give the same answer") {
  std::vector<std::string> outs;
  for (const char *engine : {"jit", "interpreter", "reference"}) {
    const Run r = run({"run", "-e", two, "--in", "x=rand(9,7)", "--engine", engine});
    CHECK(r.err == "");
    outs.push_back(r.out);
  }
  CHECK(outs[0] == outs[1]);
  CHECK(outs[0] == outs[2]);
}

TEST_CASE("--debug checks the call, and nothing is written where a check fails") {
  const TempFolder folder;
  const std::string logs = "kernel logs { in x : f32[i]; out y = log(x) * 2 }";
  const std::string out = "y=" + (folder / "y.npy");
  const Run good = run({"run", "--debug", "-e", logs, "--in", "x=[1, 1]"});
  CHECK(good.status == 0);
  CHECK(good.out == "y: f32[2]\n[0.0, 0.0]\n");
  CHECK(failed(run({"run", "--debug", "-e", logs, "--in", "x=[1, -1]", "--out", out}), 3, "E0319"));
  CHECK(failed(run({"run", "--debug=nan,infinity", "-e", logs, "--in", "x=[1, 0]", "--out", out}),
               3, "E0320"));
  CHECK(folder.count() == 0);
  CHECK(run({"run", "--debug=interpreter,reference,memory", "-e", logs, "--in", "x=[1, -1]"})
            .status == 0);
  CHECK(failed(run({"run", "--debug=nans", "-e", logs, "--in", "x=[1]"}), 2, "E0401"));
}

TEST_CASE("--out writes the outputs that it names, and prints none") {
  const TempFolder folder;
  const Run r =
      run({"run", "-e", two, "--in", "x=ones(2,3).T", "--out", "y=" + (folder / "y.npy")});
  CHECK(r.status == 0);
  CHECK(r.out == "");
  const Array y = load_npy(folder / "y.npy");
  CHECK(y.shape()[0] == 3);
  CHECK(y.strides()[0] == 1); // stored in the order of the input
  CHECK(y.data<int>()[5] == 2);
  CHECK(folder.count() == 1);
}

TEST_CASE("--out writes what .save writes, and several outputs to one archive") {
  const TempFolder folder;
  const auto wrote = [&](const std::vector<std::string> &outs) {
    std::vector<std::string> args{"run", "-e", two, "--in", "x=ones(2,3)"};
    for (const std::string &out : outs) args.insert(args.end(), {"--out", out});
    const Run r = run(args);
    CHECK(r.err == "");
    return r.status == 0;
  };
  CHECK(wrote({"y=" + (folder / "y.csv")}));
  CHECK(folder.read("y.csv") == "2,2,2\n2,2,2\n");
  CHECK(wrote({"y=" + (folder / "all.npz"), "s=" + folder.path + "/./all.npz"}));
  const NamedArrays all = load_npz(folder / "all.npz");
  REQUIRE(all.size() == 2);
  CHECK(all[0].first == "y");
  CHECK(all[1].second.to_vector<std::int64_t>() == std::vector<std::int64_t>{3, 3});
  for (const char *file : {"h.npz", "h.csv"})
    for (const char *line : {"[0.0, 1.0, 4.0]", "[0.0, 2.0, 8.0]"}) {
      const std::string path = folder / file;
      REQUIRE(run({"run", "-e", grow, "--in", "x=arange(3)", "--out", "h=" + path}).status == 0);
      const std::string source = "x=" + path + (path.ends_with("z") ? ":h" : "");
      CHECK(run({"run", "-e", "kernel k { in x : f64[:]; out z = x }", "--in", source}).out ==
            "z: f64[3]\n" + std::string(line) + "\n");
    }
  const std::string cube = "kernel cube { in x : f64[:, :, :]; out z = x }";
  CHECK(
      failed(run({"run", "-e", cube, "--in", "x=ones(2,2,2)", "--out", "z=" + (folder / "z.csv")}),
             3, "E0101"));
  CHECK(folder.count() == 4);
}

TEST_CASE("commas do not part the files of one --out or --in") {
  const TempFolder folder;
  const std::string both = "y=" + (folder / "y.npy") + ",s=" + (folder / "s.npy");
  const Run r = run({"run", "-e", two, "--in", "x=ones(2,3)", "--out", both});
  CHECK(failed(r, 2, "E0405"));
  CHECK(contains(r.err, "--out x=x.npy --out y=y.npy"));
  CHECK(folder.count() == 0);
  CHECK(failed(run({"run", "-e", two, "--in", "x=a.npy,y=b.npy"}), 2, "E0404"));
  CHECK(run({"run", "-e", two, "--in", "x=rand(2,3,seed=7)"}).status == 0);
  CHECK(
      run({"run", "-e", two, "--in", "x=ones(2,3)", "--out", "y=" + (folder / "a,b.npy")}).status ==
      0);
  CHECK(folder.count() == 1);
}

TEST_CASE("outputs lie as the kernel lays them out, and the plan says so") {
  const TempFolder folder;
  const auto order = [&](const std::string &text, const std::vector<std::string> &ins,
                         const std::string &line_of_plan) {
    std::vector<std::string> args{"run", "-e", text, "--out", "z=" + (folder / "z.npy")};
    std::vector<std::string> show{"show", "-e", text, "--stage", "plan"};
    for (const std::string &in : ins) {
      args.insert(args.end(), {"--in", in});
      show.insert(show.end(), {"--in", in});
    }
    REQUIRE(run(args).status == 0);
    const std::string plan = run(show).out;
    CAPTURE(plan);
    CHECK(contains(plan, "\n  output   " + line_of_plan + " z\n"));
    return load_npy(folder / "z.npy").strides()[0] == 1 ? "f" : "c";
  };
  using Text = std::string;
  const Text a = "kernel k { in a : f64[i, j]; ", b = a + "in b : f64[i, j]; ";
  const Text straight = "=rand(30,40)", turned = "=rand(40,30).T";
  CHECK(order(a + "out z in f = a + 1 }", {"a" + straight}, "1.s.") == Text("f"));
  CHECK(order(a + "out z in c = a + 1 }", {"a" + turned}, "1.s.") == Text("c"));
  CHECK(order(a + "out z = a + 1 }", {"a" + turned}, "1") == Text("f"));
  // Of two that are as large it is C order, whichever is declared first.
  CHECK(order(b + "out z = a + b }", {"a" + turned, "b" + straight}, "1.s.") == Text("c"));
  CHECK(order(b + "out z = a + b }", {"a" + straight, "b" + turned}, "s.1.") == Text("c"));
}

TEST_CASE("the output of += starts from the file that is there, once per command") {
  const TempFolder folder;
  const std::string out = "h=" + (folder / "h.npy");
  CHECK(run({"run", "-e", grow, "--in", "x=3[...]", "--out", out}).status == 3);
  CHECK(folder.count() == 0);
  for (int i = 1; i <= 2; ++i) {
    const Run r = run({"run", "-e", grow, "--in", "x=arange(4)", "--out", out, "--repeat", "5"});
    CHECK(r.status == 0);
    CHECK(load_npy(folder / "h.npy").data<double>()[3] == 9.0 * i);
  }
  const std::string before = folder.read("h.npy");
  CHECK(failed(run({"run", "-e", grow, "--in", "x=arange(5)", "--out", out}), 3, "E0120"));
  CHECK(folder.read("h.npy") == before);
  save_npy(folder / "h.npy", Array(f32, {4}));
  CHECK(failed(run({"run", "-e", grow, "--in", "x=arange(4)", "--out", out}), 3, "E0203"));
}

TEST_CASE("states go from one run to the next in a file") {
  const TempFolder folder;
  const std::string file = folder / "n.npz";
  const std::string count = "kernel count { state n : i64; state c : f64[i]; in x : i64\n"
                            "out before = n\nupdate n = n + x }";
  const Run first = run({"run", "-e", count, "--in", "n=1", "--in", "c=ones(2)", "--in", "x=2",
                         "--save-state", file});
  CHECK(first.out == "before: i64\n1\n");
  const Run second = run({"run", "-e", count, "--load-state", file, "--in", "x=5", "--out",
                          "before=" + (folder / "b.npy"), "--save-state", file});
  CHECK(second.err == "");
  CHECK(second.out == "");
  CHECK(*load_npy(folder / "b.npy").data<std::int64_t>() == 3);
  const NamedArrays states = load_npz(file);
  REQUIRE(states.size() == 2);
  CHECK(*states[0].second.data<std::int64_t>() == 8);
  CHECK(states[1].second.size() == 2); // without an update it is what it was
  CHECK(run({"run", "-e", count, "--load-state", file, "--in", "x=0", "--in", "n=4"}).out ==
        "before: i64\n4\nn: i64\n4\n");
  // What cannot be read, is of another kernel or has no states leaves the file alone.
  CHECK(failed(run({"run", "-e", count, "--load-state", file + "x", "--in", "x=0"}), 3, "E0301"));
  CHECK(failed(run({"run", "-e", two, "--load-state", file, "--in", "x=ones(1,1)"}), 3, "E0314"));
  CHECK(failed(run({"run", "-e", two, "--in", "x=ones(1,1)", "--save-state", file}), 3, "E0314"));
  CHECK(failed(run({"run", "-e", count, "--load-state", file, "--save-state", file}), 2, "E0404"));
  CHECK(*load_npz(file)[0].second.data<std::int64_t>() == 8);
}

TEST_CASE("--json prints one object and no values") {
  const TempFolder folder;
  const std::string path = folder / "s.npy";
  const Run r = run({"run", "-e", two, "--in", "x=ones(2,3)", "--out", "s=" + path, "--json",
                     "--repeat", "3", "--threads", "1"});
  CHECK(r.err == "");
  CHECK(contains(r.out, R"({"kernel": "two", "outputs": {"s": {"dtype": "i64", "shape": [2], )"
                        R"("order": "c", "path": ")" +
                            path + R"("}}, "compile_ms": )"));
  CHECK(contains(r.out, R"("n": 3}, "threads": 1, "engine": "jit", "bytes": 40})"));
  CHECK(std::count(r.out.begin(), r.out.end(), '\n') == 1);
}

TEST_CASE("--repeat reports times on stderr and leaves stdout alone") {
  const Run plain = run({"run", "-e", two, "--in", "x=ones(2,3)"});
  const Run timed = run({"run", "-e", two, "--in", "x=ones(2,3)", "--repeat", "4"});
  CHECK(timed.out == plain.out);
  CHECK(contains(timed.err, "4 calls: min "));
  CHECK(contains(timed.err, ", p10 "));
  CHECK(contains(timed.err, ", p90 "));
}

TEST_CASE("--check holds a run against the reference and its gradient against slopes") {
  const std::string text = "kernel k { in x : f64[i, j]; in y : f64[i]; in n : i32\n"
                           "out z = exp(x) * y; out a = argmax(x); out m = n * max(x, j) }";
  const std::vector<std::string> args{"run",  "-e",        text,   "--in", "x=rand(3,4)",
                                      "--in", "y=rand(3)", "--in", "n=2",  "--check"};
  const Run r = run(args);
  CHECK(r.err == "");
  CHECK(r.status == 0);
  for (const char *line :
       {"check: z equals the reference\n", "check: a equals the reference\n",
        "check: gradient of z by x agrees: derived ", "check: gradient of z by y agrees: derived ",
        "check: gradient of m by x agrees: derived "})
    CHECK(contains(r.out, line));
  CHECK_FALSE(contains(r.out, "by n"));
  std::vector<std::string> json = args;
  json.push_back("--json");
  const std::string out = run(json).out;
  CHECK(contains(out, R"("check": {"passed": true, "outputs": {"z": {"passed": true, )"
                      R"("difference": 0, "tolerance": 0})"));
  CHECK(contains(out, R"({"output": "z", "input": "y", "slope": "agrees", "derived": )"));
}

TEST_CASE("--check says where there is nothing to compare, and takes += and views as they are") {
  const Run flat = run(
      {"run", "-e", "kernel k { in x : f64[i]; out z = abs(x) }", "--in", "x=zeros(3)", "--check"});
  CHECK(flat.status == 0);
  CHECK(contains(flat.out, "check: gradient of z by x is not smooth here"));
  const Run none = run({"run", "-e", "kernel k { in x : f64[i]; out z = 1.5 * argmax(x) }", "--in",
                        "x=rand(3)", "--check"});
  CHECK(none.status == 0);
  CHECK(contains(none.out, "check: gradient of z by x has no gradient: "));
  const TempFolder folder;
  const std::string out = "h=" + (folder / "h.npy");
  for (int i = 1; i <= 2; ++i) {
    const Run grown = run({"run", "-e", grow, "--in", "x=arange(9)[::2]", "--out", out, "--check"});
    CHECK(grown.status == 0);
    CHECK(contains(grown.out, "check: h equals the reference"));
    CHECK(load_npy(folder / "h.npy").data<double>()[4] == 64.0 * i);
  }
}

TEST_CASE("show prints a stage, for given inputs too") {
  CHECK(contains(run({"show", "-e", two, "--stage", "spec"}).out, "kernel two {"));
  for (const char *stage : {"axes", "graph", "call", "plan", "loop", "why"}) {
    const Run r = run({"show", "-e", two, "--stage", stage, "--in", "x=ones(2,3).T"});
    CHECK(r.err == "");
    CHECK(r.status == 0);
    CHECK(r.out.size() > 1);
  }
}

TEST_CASE("show has forms of some stages, and says where an option goes with another") {
  CHECK(run({"show", "-e", two, "--stage", "why", "--json"}).out.starts_with("[\n{\"topic\":"));
  CHECK(run({"show", "-e", two, "--stage", "graph", "--format", "dot"}).out.starts_with("digraph"));
  CHECK(contains(run({"show", "-e", two, "--stage", "asm", "--all"}).out, "phase_0:"));
  CHECK(failed(run({"show", "-e", two, "--stage", "loop", "--json"}), 2, "E0401"));
  CHECK(failed(run({"show", "-e", two, "--stage", "why", "--all"}), 2, "E0401"));
  CHECK(failed(run({"show", "-e", two, "--stage", "axes", "--format", "dot"}), 2, "E0401"));
}

TEST_CASE("check names the kernels that are fine, and exits with 1 for one that is not") {
  CHECK(run({"check", "-e", two + "\n" + grow}).out == "two: ok\ngrow: ok\n");
  CHECK(run({"check", "-e", "kernel k { in x : f32[:]; out y = z }"}).status == 1);
  CHECK(run({"check", "-e", ""}).status == 1);
  CHECK(run({"check", "-e", "kernel k { in x : bool[:]; out y = -x }"}).status == 1);
  CHECK(run({"check", "-e", "kernel k { in x : f32[2]; in y : f32[3]; out z = x + y }"}).status ==
        1);
}

TEST_CASE("an error in a file names the file") {
  const TempFolder folder;
  const std::string file = folder.write("bad.loom", "kernel k {\n  out y = z\n}\n");
  CHECK(contains(run({"check", file}).err, "bad.loom:2:11: error[E0003]: "));
}

TEST_CASE("mistakes of usage exit with 2") {
  CHECK(failed(run({"-i", "no.loom"}), 2, "E0402"));
  CHECK(failed(run({"grad", "-e", two, "--wrt", "nothing"}), 2, "E0404"));
  CHECK(failed(run({"grad", "-e", two}), 2, "E0401"));
  CHECK(failed(run({"walk"}), 2, "E0401"));
  CHECK(failed(run({"run", "-e", two, "--fast"}), 2, "E0401"));
  CHECK(failed(run({"run"}), 2, "E0401"));
  CHECK(failed(run({"run", "-e", two, "a.loom"}), 2, "E0401"));
  CHECK(failed(run({"run", "-e", two, "--engine", "steam"}), 2, "E0401"));
  CHECK(failed(run({"run", "-e", two, "--engine", "1"}), 2, "E0401"));
  CHECK(failed(run({"run", "-e", two, "--repeat", "0"}), 2, "E0401"));
  CHECK(failed(run({"run", "-e", two, "--threads", "many"}), 2, "E0401"));
  CHECK(failed(run({"run", "-e", two, "--in", "x"}), 2, "E0401"));
  CHECK(failed(run({"show", "-e", two}), 2, "E0401"));
  CHECK(failed(run({"show", "-e", two, "--stage", "last"}), 2, "E0401"));
  CHECK(failed(run({"run", "/nowhere/a.loom"}), 2, "E0402"));
  CHECK(failed(run({"run", "-e", two, "--in", "x=/nowhere/a.npy"}), 2, "E0402"));
  CHECK(failed(run({"run", "-e", two, "--in", "x=rand(3,"}), 2, "E0403"));
  CHECK(failed(run({"run", "-e", two}), 2, "E0404"));
  CHECK(failed(run({"run", "-e", two, "--in", "q=1"}), 2, "E0404"));
  CHECK(failed(run({"run", "-e", two, "--in", "x=1", "--in", "x=1"}), 2, "E0404"));
  CHECK(failed(run({"run", "-e", two, "--in", "x=1", "--out", "q=a.npy"}), 2, "E0405"));
  CHECK(failed(run({"run", "-e", two, "--in", "x=1", "--out", "y=a.txt"}), 2, "E0405"));
  CHECK(failed(run({"run", "-e", two, "--in", "x=1", "--out", "y=a.npy", "--out", "s=./a.npy"}), 2,
               "E0405"));
  CHECK(failed(run({"grad", "-e", grow, "--wrt", "x,x"}), 2, "E0404"));
  CHECK(failed(run({"grad", "-e", grow, "--wrt", "x", "--of", "h,h"}), 2, "E0404"));
  CHECK(failed(run({"jvp", "-e", grow, "--wrt", "x, x"}), 2, "E0404"));
  CHECK(failed(run({"jacobian", "-e", grow, "--of", "h", "--wrt", "x,q"}), 2, "E0404"));
  CHECK(failed(run({"hessian", "-e", grow, "--of", "q", "--wrt", "x"}), 2, "E0404"));
  CHECK(failed(run({"batch", "-e", grow, "--inputs", "q"}), 2, "E0404"));
  CHECK(failed(run({"run", "-e", two + "\n" + grow}), 2, "E0406"));
  CHECK(failed(run({"run", "-e", two, "--kernel", "three"}), 2, "E0406"));
}

TEST_CASE("a usage error has no place, and helps") {
  const Run r = run({"run", "-e", two});
  CHECK(r.err == "broadloom: error[E0404]: input 'x' of kernel 'two' is not given\n"
                 "help: add --in x=SOURCE, for example --in x='rand(3, 4)'\n");
}

TEST_CASE("--kernel chooses one of several") {
  const Run r = run({"run", "-e", two + "\n" + grow, "--kernel", "grow", "--in", "x=arange(3)"});
  CHECK(r.out == "h: f64[3]\n[0.0, 1.0, 4.0]\n");
}

TEST_CASE("wrong data exits with 3 and changes no file") {
  const TempFolder folder;
  const std::string cut = folder.write("cut.npy", "\x93NUMPY");
  const std::string old = folder.write("m.npy", "old");
  const std::string none = "m=" + (folder / "none/m.npy");
  CHECK(failed(run({"run", "-e", folds, "--in", "x=" + cut}), 3, "E0302"));
  CHECK(failed(run({"run", "-e", folds, "--in", "x=" + folder.path + "/cut.npy[0]"}), 3, "E0302"));
  CHECK(failed(run({"run", "-e", folds, "--in", "x=zeros(0)", "--out", "m=" + old}), 3, "E0307"));
  CHECK(failed(run({"run", "-e", folds, "--in", "x=ones(2)", "--out", none}), 3, "E0303"));
  CHECK(failed(run({"run", "-e", two, "--in", "x=ones(2,2)", "--out", "y=" + old, "--out",
                    "s=" + (folder / "none/s.npy")}),
               3, "E0303"));
  save_npy(folder / "x.npy", Array(f64, {2}));
  CHECK(failed(run({"run", "-e", folds, "--in", "x=" + (folder / "x.npy")}), 3, "E0203"));
  CHECK(failed(run({"run", "-e", folds, "--in", "x=ones(2)[5]"}), 3, "E0114"));
  CHECK(folder.read("m.npy") == "old");
  CHECK(folder.count() == 3);
}

TEST_CASE("--help and --version exit with 0, for each command too") {
  CHECK(contains(run({"--version"}).out, "broadloom 0."));
  CHECK(contains(run({"--help"}).out, "show"));
  CHECK(contains(run({"run", "--help"}).out, "--repeat"));
  CHECK(contains(run({"show", "--help"}).out, "--stage"));
  CHECK(contains(run({"check", "--help"}).out, "FILE"));
  CHECK(run({"grad", "--help"}).status == 0);
}

TEST_CASE("the program itself exits with the same statuses and keeps stdout for results") {
  const auto status = [](const std::string &words) {
    const int code = std::system((BROADLOOM_PROGRAM " " + words).c_str());
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
  };
  CHECK(status("--version >/dev/null") == 0);
  CHECK(status("check -e 'kernel k {' 2>/dev/null") == 1);
  CHECK(status("run --nonsense 2>/dev/null") == 2);
  CHECK(status("run -e 'kernel k { in x : f32; out y = x }' --in x=/dev/null.npy 2>/dev/null") ==
        2);
  CHECK(status("run -e 'kernel k { in x : f32; out y = x }' --in x=1 >/dev/full 2>/dev/null") == 3);
  CHECK(status("run -e 'kernel k { in x : f32; out y = x }' --in x=1 | grep -q '^1.0$'") == 0);
  const int unknown_level =
      std::system("BROADLOOM_LOG=loud " BROADLOOM_PROGRAM
                  " run -e 'kernel k { in x : f32; out y = x }' --in x=1 2>&1 | "
                  "grep -q \"BROADLOOM_LOG is 'loud': write trace, debug, info,\"");
  CHECK(WEXITSTATUS(unknown_level) == 0);
}
