// The session without any terminal: what an input prints, and what it leaves behind.
#include "tools/broadloom/repl/repl.hpp"
#include "tools/broadloom/repl/session.hpp"

#include "tests/contains.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace broadloom;
using broadloom::tests::contains;
using namespace broadloom::cli;

namespace {

struct Talk {
  std::istringstream in;
  std::ostringstream out, err;
  Streams streams{in, out, err};
  Session session{streams, {}};

  // What an input prints.
  std::string operator()(const std::string &text) {
    out.str("");
    session.execute(text);
    return out.str();
  }
  // The error that it throws, rendered; empty where there is none.
  std::string error(const std::string &text) {
    try {
      session.execute(text);
    } catch (const Error &error) {
      return error.render();
    }
    return "";
  }
};

const std::string scale = "kernel scale { in x : f64[i]; in a : f64; out z = x * a }";

} // namespace

TEST_CASE("a kernel is defined, run on data, and keeps its data for the next time") {
  Talk talk;
  CHECK(talk(scale) == "scale(x: f64[i], a: f64) -> z: f64[i]\n");
  CHECK(talk(".run scale x=arange(3) a=2") == "z: f64[3]\n[0.0, 2.0, 4.0]\n");
  CHECK(talk(".run a = 3") == "z: f64[3]\n[0.0, 3.0, 6.0]\n");
}

TEST_CASE("data that was never given is made up in fitting shapes, and said") {
  Talk talk;
  talk("kernel k { in x : f32[i, j]; in y : f32[j, c=3]; out z = sum(x * y, j) }");
  contains(talk(".run x=ones(2, 7)"), "made up: y=rand(7, 3)\nz: f32[2, 3]\n");
  contains(talk(".run"), "made up: y=rand(7, 3)\n"); // x is kept, what was made up is not
}

TEST_CASE("functions and accumulators of earlier inputs are there for later ones") {
  Talk talk;
  CHECK(talk("def twice(a) = a * 2") == "");
  CHECK(talk("def four(a) = twice(twice(a))") == "");
  talk("accumulator last(s; m) {\n init s = 0\n step s = m\n}");
  talk("kernel k { in x : f64[i]; out z = last(four(x), i) }");
  CHECK(talk(".run x=arange(4)") == "z: f64\n12.0\n");
}

TEST_CASE("what is defined again replaces the old one, and kernels keep what they were made with") {
  Talk talk;
  talk("def f(a) = a + 1");
  talk("kernel k { in x : f64; out z = f(x) }");
  talk("def f(a) = a + 10");
  CHECK(talk(".run k x=1") == "z: f64\n2.0\n");
  talk("kernel k { in x : f64; out z = f(x) }");
  CHECK(talk(".run k x=1") == "z: f64\n11.0\n");
}

TEST_CASE("statements alone make up the kernel scratch, and are replaced by name") {
  Talk talk;
  CHECK(talk("order c") == "");
  CHECK(talk("in x : f64[i]; in y : f64[i]") == "");
  CHECK(talk("let t = x * 2") == "");
  CHECK(talk("out z = t + y") == "scratch(x: f64[i], y: f64[i]) -> z: f64[i]\n");
  CHECK(talk(".run x=ones(2) y=ones(2)") == "z: f64[2]\n[3.0, 3.0]\n");
  talk("let t = x * 5");
  CHECK(talk(".run") == "z: f64[2]\n[6.0, 6.0]\n");
  contains(talk.error("out w = x + q"), "<input>:1:13: error[E0003]");
  CHECK(talk(".run") == "z: f64[2]\n[6.0, 6.0]\n"); // nothing has changed
  talk(".clear");
  contains(talk.error("out z = t"), "'t' is not defined");
}

TEST_CASE("a schedule is a statement of several lines, and is replaced as a whole") {
  Talk talk;
  Feeder feeder(talk.session, "<input>");
  talk("in x : f64[i, j]; out z = x * 2");
  for (const char *line : {"schedule {", "  vector i", "  copies i 2"}) feeder.line(line);
  CHECK(feeder.open());
  feeder.line("}");
  CHECK_FALSE(feeder.open());
  contains(talk(".why"), "lanes along i, as the schedule asks");
  talk("schedule { vector j }");
  contains(talk(".show spec"), "  schedule {\n    vector j\n  }\n");
  contains(talk.error("schedule { vector k }"), "<input>:1:12: error[E0104]");
  contains(talk(".show spec"), "vector j");
}

TEST_CASE("a derivative clause may follow the function as an input of its own") {
  Talk talk;
  talk("def flat(a) = round(a)");
  talk("  derivative a = g * 3");
  talk("kernel k { in x : f64; out z = flat(x) }");
  talk(".grad k x");
  CHECK(talk(".run k_grad x=1 d_z=2") == "d_x: f64\n6.0\n");
}

TEST_CASE("errors stand at their place in the input, also where it needs earlier ones") {
  Talk talk;
  talk("def f(a) = a & 1\n");
  const std::string own = talk.error("kernel k {\n  in x : i32[i]\n  out z = f(x) + qq\n}");
  contains(own, "<input>:3:18: error[E0003]: 'qq' is not defined\n  out z = f(x) + qq\n");
  // The mistake is in the function, seen only with floats.
  contains(talk.error("kernel k {\n  in x : f64[i]\n  out z = f(x)\n}"),
           "<input>:1:12: error[E0201]");
}

TEST_CASE("an input with a mistake changes nothing") {
  Talk talk;
  talk(scale);
  CHECK(talk.error("def good(a) = a\nkernel scale { in x : f64; out z = bad(x) }") != "");
  CHECK(talk.session.library().definitions().empty());
  CHECK(talk(".run scale x=ones(1) a=5") == "z: f64[1]\n[5.0]\n");
}

TEST_CASE("names that are wrong bring the name that was perhaps meant") {
  Talk talk;
  talk(scale);
  contains(talk.error(".rnu"), "did you mean .run?");
  contains(talk.error(".run scael"), "did you mean 'scale'?");
  contains(talk.error(".show lop"), "did you mean 'loop'? the stages are 'spec', 'folded', ");
  contains(talk.error(".set thread 2"), "did you mean 'threads'?");
  contains(talk.error(".run y=1"), "kernel 'scale' has no input 'y'");
  contains(talk.error(".grad scale y"), "kernel 'scale' has no input 'y'");
  contains(talk.error(".run x=rnd(3)"), "there is no generator 'rnd'");
}

TEST_CASE("commands without a kernel, a value or a file say what is missing") {
  Talk talk;
  contains(talk.error(".run"), "there is no kernel yet");
  talk(scale);
  contains(talk.error(".show"), "a stage is missing");
  contains(talk.error(".set threads"), "write .set threads N");
  contains(talk.error(".load"), ".load takes one file");
  contains(talk.error(".load no.loom"), "cannot read 'no.loom'");
  contains(talk.error(".run x=no.npy"), "there is no file 'no.npy'");
  contains(talk.error(".run x=rand(3"), "'(' is not closed");
  contains(talk.error(".run ->"), "nothing stands behind ->");
}

TEST_CASE("a result that does not fit memory is refused before it is made") {
  Talk talk;
  talk("kernel outer { in x : f64[i]; in y : f64[j]; out z = x * y }");
  contains(talk.error(".run x=ones(10000000) y=ones(10000000)"), "error[E0305]: no memory for");
  contains(talk.error(".run x=ones(10000000000000)"), "error[E0305]: no memory for input 'x'");
  CHECK(talk(".run x=ones(1) y=ones(1)") == "z: f64[1, 1]\n[[1.0]]\n");
}

TEST_CASE("directional derivatives are printed and defined") {
  Talk talk;
  talk("kernel k { in x : f64; in y : f64; out z = x * x * y; out w = x }");
  contains(talk(".jvp x of=z value"), "  out t_z : f64 = 2 * (t_x * x) * y\n");
  CHECK(talk(".run k_jvp x=1 y=3 t_x=2") == "z: f64\n3.0\nw: f64\n1.0\nt_z: f64\n12.0\n");
  contains(talk(".jvp k"), "  in  t_y : f64\n");
  contains(talk.error(".jvp k q"), "kernel 'k' has no input 'q'");
  contains(talk.error(".jvp k of=q"), "kernel 'k' has no output 'q'");
}

TEST_CASE("Jacobians, Hessians and batches are printed and defined") {
  Talk talk;
  talk("kernel k { in x : f64[i]; out y = x * x; out l = sum(x * x * x) }");
  contains(talk(".jacobian x of=y"), "  out d_y_d_x[i, i_x < extent(x, 0)] : f64 = ");
  CHECK(talk(".run k_jacobian x=arange(2)") == "d_y_d_x: f64[2, 2]\n[[0.0, 0.0],\n [0.0, 2.0]]\n");
  talk(".hessian k x of=l");
  CHECK(talk(".run k_hessian x=arange(2)") == "d2_l_d_x: f64[2, 2]\n[[0.0, 0.0],\n [0.0, 6.0]]\n");
  contains(talk(".batch k x axis=n"), "  in  x : f64[n, i]\n");
  contains(talk(".batch k"), "  out l = sum(x * x * x, i)\n");
  contains(talk.error(".jacobian k x"), "one output and one input are to be named");
  contains(talk.error(".batch k axis=i"), "kernel 'k' has an axis 'i' already");
}

TEST_CASE("the gradient is printed and defined") {
  Talk talk;
  talk(scale);
  contains(talk(".grad scale x,a"), "kernel scale_grad {\n");
  CHECK(talk(".run scale_grad x=ones(2) a=3 d_z=ones(2)") ==
        "d_x: f64[2]\n[3.0, 3.0]\nd_a: f64\n2.0\n");
  contains(talk(".grad scale x policy=save"), "kernel scale_forward {");
}

TEST_CASE("stages, reasons and checks are shown for the data given") {
  Talk talk;
  talk(scale);
  contains(talk(".show spec"), "kernel scale {");
  contains(talk(".show loop scale"), "vector for i");
  contains(talk(".show plan x=ones(77) a=1"), "i = 77");
  contains(talk(".show asm"), "vmul");
  contains(talk(".why"), "threads:");
  const std::string checked = talk(".check x=rand(3) a=2");
  contains(checked, "check: z equals the reference\n");
  contains(checked, "check: gradient of z by x agrees");
}

TEST_CASE("a timed kernel is compared with what the machine can do") {
  Talk talk;
  talk(scale);
  const std::string text = talk(".time x=rand(1000) a=2");
  for (const char *part :
       {"a call", "ns per element, 1000 elements", "GB/s, 0.016 MB",
        "GFLOP/s, 1 operations per element", "% of the roofline, ", "% in most rounds: "})
    contains(text, part);
}

TEST_CASE("outputs go to files, and with plot on small ones are drawn") {
  const TempFolder folder;
  Talk talk;
  talk(scale);
  CHECK(talk(".run x=arange(4) a=1 -> z='" + (folder / "z.npy") + "'") == "");
  CHECK(load_npy(folder / "z.npy").size() == 4);
  talk(".set plot on");
  contains(talk(".run"), "    ▁▃▆█\n    0 to 3\n");
  CHECK(talk("arange(4) * 2") == "[0, 2, 4, 6]\n    ▁▃▆█\n    0 to 6\n");
}

TEST_CASE("a file is loaded, and its errors name it") {
  const TempFolder folder;
  Talk talk;
  talk(".load '" + folder.write("my kernels.loom", scale + "\n" + "def f(x) = x\n") + "'");
  contains(talk(".list"), "def f\nkernel scale(");
  const std::string bad = folder.write("bad.loom", "\nkernel k { in x : f99[i]; out z = x }\n");
  contains(talk.error(".load " + bad), bad + ":2:19: error[E0002]");
}

TEST_CASE("settings are printed and kept") {
  Talk talk;
  CHECK(talk(".set") == "threads 0\nengine auto\ndebug off\nplot off\ndigits all\n");
  talk(".set threads = 1");
  talk(".set engine interpreter");
  CHECK(talk(".set") == "threads 1\nengine interpreter\ndebug off\nplot off\ndigits all\n");
  talk(scale);
  CHECK(talk(".run x=arange(2) a=2") == "z: f64[2]\n[0.0, 2.0]\n");
}

TEST_CASE("floats are printed with as many digits as are set") {
  Talk talk;
  CHECK(talk("[1, 2] / 3") == "[0.3333333333333333, 0.6666666666666666]\n");
  talk(".set digits 3");
  CHECK(talk("[1, 200] / 3") == "[0.333,  66.7]\n");
  CHECK(talk("[3, 1e10]") == "[  3.0, 1e+10]\n");
  CHECK(talk("1 / 3 + 2j / 3") == "0.333+0.667j\n");
  CHECK(talk("f16(1) / 3") == "0.333\n");
  CHECK(talk("123456") == "123456\n"); // an integer has all of them
  talk(scale);
  CHECK(talk(".run x=[1] a=0.123456") == "z: f64[1]\n[0.123]\n");
  talk(".set digits all");
  CHECK(talk("1 / 3") == "0.3333333333333333\n");
  for (const char *wrong : {".set digits 0", ".set digits 18", ".set digits x"})
    contains(talk.error(wrong), "write .set digits all|N");
}

TEST_CASE("with debug on each run is checked") {
  Talk talk;
  talk("kernel logs { in x : f32[i]; out y = log(x) }");
  talk(".set debug nan,memory");
  contains(talk(".set"), "debug nan,memory\n");
  contains(talk.error(".run x=[1, -1]"), "error[E0319]: output 'y' is nan at [1]");
  contains(talk.error(".set debug some"), "'some' is no value of debug");
  talk(".set debug off");
  CHECK(talk(".run x=[1, -1]") == "y: f32[2]\n[0.0, nan]\n");
}

TEST_CASE("help has every command with an example, and what is behind it") {
  Talk talk;
  const std::string help = talk(".help");
  for (const char *name :
       {".run", ".let", ".save", ".grad", ".jvp", ".jacobian", ".hessian", ".batch", ".show",
        ".why", ".time", ".tune", ".check", ".set", ".load", ".list", ".clear", ".help", ".quit"})
    contains(help, std::string("e.g. ") + name);
  contains(talk(".help run"), "SOURCE is a.npy");
  contains(talk(".help .set"), "engine auto|jit|interpreter|reference");
}

TEST_CASE("help on a function is asked for in several ways") {
  Talk talk;
  const std::string help = talk(".help exp");
  contains(help, "exp(x): e to the power of x\n");
  contains(help, "d_x = d_z * exp(x)\n");
  for (const char *line : {"?exp", "? exp", "help exp", "help(exp)"}) {
    talk.out.str("");
    Feeder(talk.session, "<input>").line(line);
    CHECK(talk.out.str() == help);
  }
  contains(talk.error(".help exq"), "did you mean exp?");
  contains(talk("help .run"), "SOURCE is a.npy");
}

TEST_CASE("lines are put together until a definition is complete") {
  Talk talk;
  Feeder feeder(talk.session, "<input>");
  for (const char *line :
       {"# a comment", "kernel k {", "  in x : f64[i]", "", "  out z = x *", "    2"})
    feeder.line(line);
  CHECK(feeder.open());
  CHECK(talk.out.str() == "");
  feeder.line("}");
  CHECK_FALSE(feeder.open());
  CHECK(talk.out.str() == "k(x: f64[i]) -> z: f64[i]\n");
  feeder.line("def f(a,");
  CHECK(feeder.open());
  feeder.line("  b) = a + b");
  CHECK_FALSE(feeder.open());
  feeder.line("kernel half { in x : f64[i]");
  CHECK_THROWS_AS(feeder.line(".list"), SpecError); // a command cannot stand inside
  CHECK_FALSE(feeder.open());
}

TEST_CASE("a huge paste is read in one go") {
  Talk talk;
  Feeder feeder(talk.session, "<input>");
  feeder.line("kernel k {");
  feeder.line("  in x : f64[i]");
  for (int k = 0; k < 20'000; ++k) feeder.line("  # line " + std::to_string(k));
  feeder.line("  out z = x }");
  CHECK(talk.session.library().kernels().count("k") == 1);
}

TEST_CASE("values have names, and are data of kernels") {
  Talk talk;
  CHECK(talk(".let a = [1, 2, 3]") == "a: i64[3]\n");
  CHECK(talk(".let m : f32 = [[1, 2], [3, 4]]") == "m: f32[2, 2]\n");
  CHECK(talk(".let r = rand(2, 4)") == "r: f64[2, 4]\n");
  talk(scale);
  CHECK(talk(".run x=a a=2") ==
        "z: f64[3]\n[2.0, 4.0, 6.0]\n"); // numbers take the dtype of the input
  CHECK(talk(".run x=a[::-1]") == "z: f64[3]\n[6.0, 4.0, 2.0]\n");
  CHECK(talk(".run x=scale.z") == "z: f64[3]\n[12.0,  8.0,  4.0]\n");
  CHECK(talk(".run") == "z: f64[3]\n[24.0, 16.0,  8.0]\n"); // of the latest run
  contains(talk.error(".run x=m[0]"),
           "error[E0203]: 'm' holds f32, and input 'x' is declared as f64");
  contains(talk.error(".run x=b"), "error[E0403]");
  contains(talk(".list"), "a : i64[3]\nm : f32[2, 2]\nr : f64[2, 4]\nscale.z : f64[3]\n");
}

TEST_CASE("values are computed of others, and an expression alone is printed") {
  Talk talk;
  CHECK(talk("2 + 3") == "5\n");
  talk(".let a = [1, 2, 3]");
  CHECK(talk(".let b = a * 2 + 1") == "b: i64[3]\n");
  CHECK(talk("b") == "[3, 5, 7]\n");
  CHECK(talk("sum(b) / 2") == "7.5\n");
  CHECK(talk("where(a > 1, a, 0)") == "[0, 2, 3]\n");
  talk(scale);
  talk(".run x=a a=2");
  CHECK(talk("scale.z - a") == "[1.0, 2.0, 3.0]\n");
  CHECK(talk(".let c : f32 = scale.z ^ 2") == "c: f32[3]\n");
  CHECK(talk(".let d = c[1:]") == "d: f32[2]\n");
  talk("def half(v) = v / 2");
  CHECK(talk("half(a)") == "[0.5, 1.0, 1.5]\n");
  contains(talk.error("a + q"), "error[E0003]: 'q' is not defined");
  contains(talk.error(".let out = 3"), "error[E0401]");
  contains(talk.error(".let x"), "error[E0401]");
  contains(talk.error(".let x : float = 3"), "'float' is no dtype");
  CHECK(talk("x = 3") == "x: i64\n");
  talk(".let value = 4");
  CHECK(talk("value * 2") == "8\n");
}

TEST_CASE("sources and views stand in expressions where an operand does") {
  Talk talk;
  CHECK(talk("[1, 2] * 3") == "[3, 6]\n");
  CHECK(talk("full(2, value=3) + arange(2)") == "[3, 4]\n");
  CHECK(talk("[[1, 2], [3, 4]].T") == "[[1, 3],\n [2, 4]]\n");
  CHECK(talk("sum(rand(2, 3) * 0) + 1") == "1.0\n");
  CHECK(talk("eye(2)[0]") == "[1.0, 0.0]\n");
  CHECK(talk(".let x = arange(6)") == "x: i64[6]\n");
  CHECK(talk("x[1:3] + x[::-1][:2]") == "[6, 6]\n");
  CHECK(talk("x[i + 4] - x[0]") == "[4, 5]\n");
  CHECK(talk(".let i = [7]") == "i: i64[1]\n");
  CHECK(talk("x[i + 4]") == "[4, 5]\n");
  CHECK(talk(".let y = [1, 2, 3] / 2") == "y: f64[3]\n");
  talk(scale);
  talk(".run x=[1, 2, 3] a=2");
  CHECK(talk("scale.z[1:] * 2") == "[ 8.0, 12.0]\n");
  contains(talk.error("[1, q] + 1"), "'q' is no number");
  contains(talk.error("rand(3"), "expected ')'");
  contains(talk.error("[[1, 2], [3]] * 2"), "different lengths");
}

TEST_CASE("a mistake in an expression has its place in what was typed") {
  Talk talk;
  const auto error = [&](const std::string &typed, const std::string &under,
                         const std::string &message) {
    CAPTURE(typed);
    const std::string shown = talk.error(typed);
    contains(shown, message);
    contains(shown, typed + "\n" + under + "\n");
    CHECK(shown.find("source_") == shown.npos);
  };
  error("rand(2, 2) + foo", "             ^~~", "<input>:1:14: error[E0003]: 'foo' is not defined");
  error("[1, 2, 3] + rand(3) * exx(2)", "                      ^~~", "no function 'exx'");
  error("(1 + 2", "^", "this parenthesis is never closed");
  error("1 +", "   ^", "expected an expression, found the end");
  error("rand(3) + [1, 2]", "^~~~~~~~~~~~~~~~",
        "axis 0 of 'rand(3)' has 3 elements, axis 0 of '[1, 2]' has 2");
  error(".let a = rand(3) + [1, 2]", "         ^~~~~~~~~~~~~~~~", "<input>:1:10: error[E0102]");
  error(".let a : f32 = foo * 2", "               ^~~", "<input>:1:16: error[E0003]");
  talk("kernel k { in x : f64[i]; out z = x }");
  talk(".run x=[1, 2, 3]");
  error("1 + k.z * [1, 2]", "    ^~~~~~~~~~~~", "axis 0 of 'k.z' has 3 elements");
  talk("def twice(v) = v * 2"); // stands before the kernel of an expression
  error("twice(rand(2)) + nobody", "                 ^~~~~~", "<input>:1:18: error[E0003]");
  contains(talk.error("[1, 2] +\n  [1, 2, 3] * (4 +\n  none)"),
           "<input>:3:3: error[E0003]: 'none' is not defined\n  none)\n  ^~~~\n");
}

TEST_CASE("words and numbers of other languages bring those of this one") {
  Talk talk;
  contains(talk.error("not true"), "help: write ! for 'not'");
  contains(talk.error("max(3, 4)"),
           "help: max folds one value; for the greater of two write maximum(a, b)");
  contains(talk.error("1 + min(3, 0)"), "for the lesser of two write minimum(a, b)");
  contains(talk.error("mean(rand(3), 2)"), "positions count from 0");
  contains(talk.error("0x1F"), "help: write 31: numbers are decimal");
  contains(talk.error("1 + 0b1_01"), "help: write 5: numbers are decimal");
  contains(talk.error("1_000 * 2"), "help: write 1000, without '_'");
  contains(talk.error("2.5f * 3"), "help: write 2.5: a number takes the dtype of what it meets");
  for (const char *odd : {"0xfffffffffffffffff", "0x", "2x", "1_e", "0b12"})
    contains(talk.error(odd), "put * between a number and a name");
}

TEST_CASE("what newcomers type brings what they meant") {
  Talk talk;
  contains(talk.error("let x = [1, 2]"), "help: write .let x = [1, 2]");
  contains(talk.error("let x = rand(3)"), "help: write .let x = rand(3)");
  contains(talk.error("f(a) = a + 1"), "help: write def f(a) = a + 1");
  contains(talk.error("print(3)"), "at the prompt an expression alone is printed");
  contains(talk.error("kernel k { in x : f32[i] out y = x }"), "if ; stands between them");
  contains(talk.error("kernel k(x) { out y = x }"), "help: inputs stand inside: kernel k { in x");
  contains(talk.error("kernel k { in x; out y = x }"), "help: write such as in x : f32[i]");
  contains(talk("help kernel"), "kernel k { in x : f32[i, j];");
  contains(talk("?def"), "def f(x, y) = x * y + 1\n");
  contains(talk("help accumulator"), "is a fold of your own");
  for (const char *text :
       {"def f(x, y) = x * y + 1", "in x : f32[i]", "let y = x * 2", "out z = y"})
    CHECK(talk.error(text) == ""); // are statements and definitions as before
}

TEST_CASE("where no kernel is named, the one that was used last is meant") {
  Talk talk;
  talk("kernel a { in x : f64[i]; out z = x }");
  talk("kernel b { in y : f64[i]; out w = 2 * y }");
  CHECK(talk(".run y=[1]") == "w: f64[1]\n[2.0]\n"); // the one defined last
  CHECK(talk(".run a x=[3]") == "z: f64[1]\n[3.0]\n");
  CHECK(talk(".run") == "z: f64[1]\n[3.0]\n");
  contains(talk(".grad"), "kernel a_grad {");
  CHECK(talk(".run x=[4]") == "z: f64[1]\n[4.0]\n");
  contains(talk.error(".run b x=[1]"), "kernel 'b' has no input 'x'"); // after a mistake as before
  CHECK(talk(".run") == "z: f64[1]\n[4.0]\n");
}

TEST_CASE("reasons begin with what costs most, and all are told where all are asked for") {
  Talk talk;
  talk("kernel k { in x : f32[i, j]; let h[i] = sum(exp(x), j); out z[i] = h[i] * h[i] }");
  const std::string few = talk(".why x=rand(300, 300)"), all = talk(".why all");
  CHECK(std::count(few.begin(), few.end(), '\n') <= 11);
  CHECK(few.starts_with("let h: "));
  contains(few, " cycles)\n");
  contains(few, " more: .why all\n");
  CHECK(few.find("cache: ") == few.npos);
  contains(all, "# let h\n");
  contains(all, "cache: ");
}

TEST_CASE("clauses of a schedule are tried at the prompt") {
  Talk talk;
  talk("kernel k { in x : f32[i]; out z = x * 2 }");
  contains(talk(".tune x=rand(1000)"), "k: ");
  contains(talk(".tune x=rand(1000)"), " change what runs; ratios below 0.");
}

TEST_CASE("a kernel that is typed as if it were a value or a function says how it is run") {
  Talk talk;
  talk(scale);
  for (const char *typed : {"scale", "scale(1, 2)", "scale + 1"}) {
    CAPTURE(typed);
    contains(talk.error(typed), "'scale' is a kernel: run it by .run scale x=SOURCE a=SOURCE");
  }
  contains(talk.error("w + 1"), "help: give it a value: .let w = rand(3, 4)");
  contains(talk.error("sum w"), "help: 'sum' is a function, whose arguments stand in parentheses");
  contains(talk.error("clear"), "help: commands begin with a dot: .clear");
  talk("w = [[1, 2], [3, 4]]");
  contains(talk.error("out z = w + 1"),
           "help: 'w' is data: w + 1 alone reads it, and a kernel is given it, in w : i64[:, :]");
  contains(talk.error("w += 1"), "help: write x = x + e for x += e");
}

TEST_CASE("a name, an equals sign and data give the name a value, as at other prompts") {
  Talk talk;
  CHECK(talk("x = [1, 2, 3]") == "x: i64[3]\n");
  CHECK(talk("y = x * 2 # twice") == "y: i64[3]\n");
  CHECK(talk("y # shown") == "[2, 4, 6]\n");
  CHECK(talk("sum(y) # of all\n") == "12\n");
  CHECK(talk("z = rand(2, 2)") == "z: f64[2, 2]\n");
  CHECK(talk("x == 2") == "[false,  true, false]\n");
  contains(talk.error("x = "), "nothing is said of what 'x' is");
  contains(talk.error("x = nonsense"), "'nonsense'");
  contains(talk.error("z[0]"), "help: write one position for each dim, `:` for all of it: x[0, :]");
  CHECK(talk("x") == "[1, 2, 3]\n");
}

TEST_CASE("a command of other prompts brings the one that does it here") {
  Talk talk;
  contains(talk.error(".vars"), "help: write .list");
  contains(talk.error(".plot x"), "help: write .set plot on");
  contains(talk.error(".bench"), "help: write .time");
}

TEST_CASE("values are written to files, and what is replaced is said") {
  Talk talk;
  const TempFolder folder;
  talk(".let a = [[1, 2], [3, 4]]");
  talk(".let b = [0.5, 2]");
  CHECK(talk(".save a " + (folder / "a.npy")) == "");
  CHECK(talk(".save a b " + (folder / "all.npz")) == "");
  CHECK(talk(".save a " + (folder / "a.csv")) == "");
  CHECK(load_npy(folder / "a.npy").to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(talk(".let c = " + (folder / "all.npz") + ":b") == "c: f64[2]\n");
  CHECK(talk(".let d = " + (folder / "a.csv") + ".T") == "d: f64[2, 2]\n");
  CHECK(talk("d") == "[[1.0, 3.0],\n [2.0, 4.0]]\n");
  contains(talk(".save b " + (folder / "a.npy")),
           "replaced " + (folder / "a.npy") + ", a file of ");
  contains(talk.error(".save q " + (folder / "q.npy")), "the values are 'a', 'b', 'c' and 'd'");
  contains(talk.error(".save a b " + (folder / "q.npy")), "only a .npz file holds several arrays");
  contains(talk.error(".save a " + (folder / "q.txt")), "is no .npy, .npz, .csv or .png file");
  talk(scale);
  CHECK(talk(".run x=[1] a=2 -> z=" + (folder / "z.npy")) == "");
  contains(talk(".run x=[1] a=3 -> z=" + (folder / "z.npy")), "replaced " + (folder / "z.npy"));
  CHECK(talk(".run x=[1] a=3 -> z=" + (folder / "z.csv")) == "");
  CHECK(folder.read("z.csv") == "3.0\n");
  CHECK(talk(".run x=[1] a=3 -> z=" + (folder / "z.npz")) == "");
  CHECK(talk(".let e = " + (folder / "z.npz") + ":z") == "e: f64[1]\n");
}

TEST_CASE("an input or an output that is named twice is a mistake") {
  Talk talk;
  talk(scale);
  contains(talk.error(".grad scale x,x"), "input 'x' is given twice");
  contains(talk.error(".grad scale x of=z of=z"), "output 'z' is given twice");
  contains(talk.error(".jvp scale x x"), "input 'x' is given twice");
}

TEST_CASE("what a run leaves lies as the kernel lays it out") {
  Talk talk;
  const TempFolder folder;
  talk("kernel turned { in x : f64[i, j]; out z in f = x + 1 }");
  talk(".run turned x=rand(2, 3)");
  talk(".save turned.z " + (folder / "z.npy"));
  CHECK(load_npy(folder / "z.npy").strides()[0] == 1);
}

TEST_CASE("a kernel that is defined again forgets data that no longer fits, and says so") {
  Talk talk;
  talk(scale);
  talk(".run x=arange(3) a=2");
  const std::string told = talk("kernel scale { in x : f64[i, j]; in b : f64; out z = x * b }");
  contains(told, "forgot a=2: there is no such input now\n");
  talk("kernel scale { in x : f32[i]; in b : f64; out z = x * b }");
  talk(".run x=[1, 2] b=2");
  contains(talk("kernel scale { in x : f64[i]; in b : f64; out z = x * b }"),
           "forgot x=[1, 2]: the input is another one now\n");
  CHECK(talk(".list").find("b = 2") != std::string::npos);
}

TEST_CASE("words by which other programs explain themselves or end do so here") {
  Talk talk;
  Feeder feeder(talk.session, "<input>");
  for (const char *word : {"help", "?", "help()"}) {
    talk.out.str("");
    feeder.line(word);
    CHECK_FALSE(feeder.open());
    contains(talk.out.str(), "Type a kernel");
  }
  feeder.line("exit");
  CHECK(talk.session.done());
}
