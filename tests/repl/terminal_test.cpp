// The program as a person meets it: lines, the history, Ctrl-C, colours and the pager.
#include "tests/repl/person.hpp"

namespace {

const std::string kernel = "kernel k { in x : f64[i]; out z = x * 2 }";
const std::string endless =
    "kernel endless { in x:f32[i]; in y:f32[j]; in z:f32[k]; out s = sum(sin(x*y*z)) }\r"
    ".run x=ones(90000) y=ones(90000) z=ones(90000)\r";

} // namespace

TEST_CASE("a person defines, runs, derives and shows a kernel, and leaves with Ctrl-D") {
  const TempFolder folder;
  Person person(folder);
  person.types("kernel k {\r");
  CHECK(person.sees_last("> kernel k {\n..."));
  person.types("in x : f64[i]\r");
  CHECK(person.sees_last("... in x : f64[i]\n..."));
  person.types("out z = x * 2 }\r");
  CHECK(person.sees("... out z = x * 2 }\nk(x: f64[i]) -> z: f64[i]\n>"));
  person.types(".run x=arange(3)\r");
  CHECK(person.sees("z: f64[3]\n[0.0, 2.0, 4.0]\n>"));
  person.types(".grad k x\r");
  CHECK(person.sees("kernel k_grad {"));
  person.types(".show loop k\r");
  CHECK(person.sees("vector for i"));
  person.types("\x04");
  CHECK(person.leaves() == 0);
}

TEST_CASE("an error has a caret, and the session goes on") {
  const TempFolder folder;
  Person person(folder);
  person.types("kernel k { in x : f64[i]; out z = x + q }\r");
  CHECK(person.sees("<input>:1:39: error[E0003]: 'q' is not defined"));
  CHECK(person.sees("\n                                      ^\n"));
  person.types(kernel + "\r");
  CHECK(person.sees("k(x: f64[i]) -> z: f64[i]\n>"));
  person.types(".quit\r");
  CHECK(person.leaves() == 0);
}

TEST_CASE("the history brings back what was typed, kernels of several lines as a whole" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  {
    Person person(folder);
    person.types("kernel k {\r  in x : f64[i]\r  out z = x * 2 }\r.run x=ones(1)\r");
    CHECK(person.sees("z: f64[1]\n[2.0]\n>"));
    person.types("\x04");
    CHECK(person.leaves() == 0);
  }
  Person person(folder); // another session
  person.types("\033[A\033[A");
  CHECK(person.sees_last("> kernel k {\n...   in x : f64[i]\n...   out z = x * 2 }"));
  person.types("\x7f+ 1 }\r");
  CHECK(person.sees_last("...   out z = x * 2 + 1 }\nk(x: f64[i]) -> z: f64[i]\n>"));
  person.types(".run x=ones(1)\r");
  CHECK(person.sees("[3.0]\n>"));
}

TEST_CASE("the tab key completes commands, functions, kernels, inputs and files" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  folder.write("samples.loom", "kernel from_file { in x : f64[i]; out z = x }\n");
  Person person(folder);
  person.types("kernel row { in xenon : f64[i]; out z = logsu\t");
  CHECK(person.sees_last("out z = logsumexp"));
  person.types("(xen\t) }\r.ru\tro\tx\tarange(2)\r");
  CHECK(person.sees("> .run row xenon=arange(2)\nz: f64\n1.3132616875182228"));
  person.types(".s\t\t");
  CHECK(person.sees(".set   .show\n> .s"));
  person.types("\x15.load sam\t\r");
  CHECK(person.sees("> .load samples.loom\nfrom_file(x: f64[i]) -> z: f64[i]"));
}

TEST_CASE("Ctrl-C clears a line, and what stands above it") {
  const TempFolder folder;
  Person person(folder);
  person.types("kernel k {\r");
  CHECK(person.sees_last("> kernel k {\n..."));
  person.types("in x : f6");
  CHECK(person.sees_last("... in x : f6"));
  person.types("\x03");
  CHECK(person.sees_last("... in x : f6^C\n>"));
  person.types(kernel + "\r");
  CHECK(person.sees("k(x: f64[i]) -> z: f64[i]\n>"));
}

TEST_CASE("Ctrl-C stops a kernel that would run for hours, and the session goes on") {
  const TempFolder folder;
  Person person(folder);
  person.types(endless);
  CHECK(person.sees("Ctrl-C stops it"));
  person.types("\x03");
  CHECK(person.sees("stopped\n>"));
  person.types(".run x=ones(1) y=ones(1) z=zeros(1)\r");
  CHECK(person.sees("s: f32\n0.0\n>"));
  person.types("\x04");
  CHECK(person.leaves() == 0);
}

TEST_CASE("long lines wrap, and the cursor is where the next letter goes" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  Person person(folder);
  const std::string comment = "# " + std::string(56, 'a'); // with the prompt just a whole row
  person.types(comment + "bcd");
  CHECK(person.sees_last("\n> " + comment + "\nbcd"));
  CHECK(person.column() == 3);
  person.types("\001");
  CHECK(person.sees_last("bcd"));
  CHECK(person.column() == 2);
  person.types("# \005e");
  CHECK(person.sees_last("aabcde"));
}

TEST_CASE("what is typed is coloured, and with NO_COLOR it is not" * doctest::skip(no_readline)) {
  const TempFolder folder;
  {
    Person person(folder, true);
    person.types("kernel k { in x : f64[i]; out z = exp(x) + 1 + qq }");
    CHECK(person.got("\033[1;35mkernel"));
    CHECK(person.got("\033[34mexp"));
    CHECK(person.got("\033[33m1"));
    CHECK(person.got("\033[4;31mqq"));
  }
  Person person(folder);
  person.types(kernel);
  CHECK(person.sees_last(kernel));
  person.types("\x03");
  CHECK(person.sees_last("^C\n>"));
  person.types(".quit\r");
  CHECK(person.leaves() == 0);
}

TEST_CASE("a paste of several lines is one entry, and bytes that are no text do no harm" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  Person person(folder);
  person.types(
      "\033[200~kernel k {\r  in x : f64[i]\r  out z = x * 2\r}\r.run x=ones(2)\033[201~\r");
  CHECK(person.sees("k(x: f64[i]) -> z: f64[i]\nz: f64[2]\n[2.0, 2.0]\n>"));
  person.types("\033[200~\xff\xfe garbage \x01\x02\033[201~\r");
  CHECK(person.sees("error[E0014]"));
  person.types(".run x=ones(1)\r");
  CHECK(person.sees("z: f64[1]\n[2.0]\n>"));
}

TEST_CASE("arrays and sentences are laid out in the width of the terminal") {
  const TempFolder folder;
  Person person(folder);
  person.types(kernel + "\r.run x=arange(20)\r");
  CHECK(person.sees(
      "z: f64[20]\n[ 0.0,  2.0,  4.0,  6.0,  8.0, 10.0, 12.0, 14.0, 16.0,\n 18.0, 20.0,"));
  person.types(".set plot on\r.run x=arange(90)\r");
  CHECK(person.sees("…\n    0 to 178\n"));
  person.types(".help\r");
  CHECK(person.sees("its statements alone, which make up the kernel 'scratch', or\n  a command."));
}

TEST_CASE("long output goes through the pager, short output does not") {
  const TempFolder folder;
  Person person(folder, false, {{"BROADLOOM_PAGER", "sed s/^/P:/"}});
  person.types(".help\r");
  CHECK(person.sees("P:Type a kernel"));
  CHECK(person.sees("so does Ctrl-D\nP:"));
  person.types(".help quit\r");
  CHECK(person.sees("\n.quit"));
}

TEST_CASE("an empty pager is none, and one that cannot be run loses nothing") {
  const TempFolder folder;
  {
    Person person(folder, false, {{"BROADLOOM_PAGER", ""}, {"PAGER", "sed s/^/P:/"}});
    person.types(".help\r");
    CHECK(person.sees("\nType a kernel"));
  }
  Person person(folder, false, {{"BROADLOOM_PAGER", "no-such-pager"}});
  person.types(".help\r");
  CHECK(person.sees("no-such-pager: not found"));
  CHECK(person.sees("\nType a kernel"));
  CHECK(person.sees_last("\n>"));
}

TEST_CASE("stages are coloured, and with NO_COLOR they are not") {
  const TempFolder folder;
  {
    Person person(folder, true);
    person.types(kernel + "\r.sh loop\r");
    CHECK(person.got("\033[1;35mprogram\033[0m k"));
    CHECK(person.got("\033[36mf64\033[0m"));
  }
  Person person(folder);
  person.types(kernel + "\r.sh loop\r");
  CHECK(person.sees("vector for"));
  CHECK(person.bytes().find("\033[1;35m") == std::string::npos);
}

TEST_CASE("on a dumb terminal there are no escapes at all") {
  const TempFolder folder;
  Person person(folder, true, {{"TERM", "dumb"}, {"BROADLOOM_PAGER", "sed s/^/P:/"}});
  person.types(kernel + "\r");
  CHECK(person.sees("k(x: f64[i]) -> z: f64[i]\n>"));
  person.types(".show loop\rout z = q\r.help\r");
  CHECK(person.sees("'q' is not defined"));
  CHECK(person.sees("\nType a kernel"));
  person.types(".quit\r");
  CHECK(person.leaves() == 0);
  CHECK(person.bytes().find('\033') == std::string::npos);
}

TEST_CASE("~ is the home folder, and completed names with spaces stand in quotes" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  folder.write("my kernels.loom", "kernel from_home { in x : f64[i]; out z = x }\n");
  Person person(folder);
  person.types(".load ~/my\t\r");
  CHECK(person.sees("> .load \"~/my kernels.loom\"\nfrom_home(x: f64[i])"));
  person.types(".run x=ones(2) -> \t~/z.npy\r.let a = ~/z.npy\r");
  CHECK(person.sees("-> z=~/z.npy\n"));
  CHECK(person.sees("\na: f64[2]\n"));
  CHECK(folder.count() == 3); // and the history
}

TEST_CASE("a bracket that is closed shows the one that opens it" * doctest::skip(no_readline)) {
  const TempFolder folder;
  Person person(folder);
  person.types("x(1)");
  CHECK(person.got("> x(1)\033[K\033[J\r\033[3C"));
  CHECK(person.sees_last("> x(1)"));
}

TEST_CASE("a file that is named starts the session with what it defines") {
  const TempFolder folder;
  folder.write("k.loom", kernel + "\n");
  Person person(folder, false, {}, "k.loom");
  CHECK(person.screen().find("k(x: f64[i]) -> z: f64[i]\nBroadloom ") != std::string::npos);
  person.types(".run x=ones(1)\r");
  CHECK(person.sees("[2.0]\n>"));
  person.types(".help E0102\r");
  CHECK(person.sees("\nE0102: "));
}
