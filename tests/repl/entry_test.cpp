// Entries of several lines: moving up and down inside of them, and editing each line as a line.
#include "tests/repl/person.hpp"
#include "tools/broadloom/repl/entry_lines.hpp"

namespace {

using namespace broadloom::cli;

const std::string up = "\033[A", down = "\033[B";
const std::string ctrl_a = "\x01", ctrl_e = "\x05", ctrl_k = "\x0b", ctrl_u = "\x15",
                  ctrl_w = "\x17";

} // namespace

TEST_CASE("up and down move between the lines of an entry while it is typed" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  Person person(folder);
  person.types("kernel k {\r  in x : f64[i]\r  out z = x * 2");
  CHECK(person.sees_last("> kernel k {\n...   in x : f64[i]\n...   out z = x * 2"));
  person.types(up + "; in y : f64[i]" + down + " + y }");
  CHECK(person.sees_last(
      "> kernel k {\n...   in x : f64[i]; in y : f64[i]\n...   out z = x * 2 + y }"));
  person.types(up + up + "\r"); // complete, wherever the cursor is
  CHECK(person.sees_last("x * 2 + y }\nk(x: f64[i], y: f64[i]) -> z: f64[i]\n>"));
}

TEST_CASE("beyond the first and the last line of an entry there is the history" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  Person person(folder);
  person.types(".let a = 1\r.let b = 2\r");
  CHECK(person.sees_last("b: i64\n>"));
  person.types("kernel k {\r  in x");
  CHECK(person.sees_last("> kernel k {\n...   in x"));
  person.types(up + up);
  CHECK(person.sees_last("> .let b = 2"));
  person.types(up);
  CHECK(person.sees_last("> .let a = 1"));
  person.types(down + down); // what was typed, and there the end of the first line
  CHECK(person.sees_last("> kernel k {\n...   in x"));
  person.types("{" + down + " : f64[i]");
  CHECK(person.sees_last("> kernel k {{\n...   in x : f64[i]"));
  person.types(up + ctrl_e + "\x7f" + down + ctrl_e + "\r  out z = x }\r");
  CHECK(person.sees_last("k(x: f64[i]) -> z: f64[i]\n>"));
  person.types(up); // as a whole
  CHECK(person.sees_last("> kernel k {\n...   in x : f64[i]\n...   out z = x }"));
  person.types(up + up + up);
  CHECK(person.sees_last("> .let b = 2"));
}

TEST_CASE("a line between that is shorter does not move the cursor aside" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  Person person(folder);
  person.types("kernel abc {\r#\r  out z = 2" + up + up + "d");
  CHECK(person.sees_last("> kernel abc d{\n... #\n...   out z = 2"));
}

TEST_CASE("keys for the line are for the one of the cursor" * doctest::skip(no_readline)) {
  const TempFolder folder;
  Person person(folder);
  person.types("kernel k {\r  out z = 22" + ctrl_a + "#" + ctrl_e + "3");
  CHECK(person.sees_last("> kernel k {\n... #  out z = 223"));
  person.types(ctrl_w + ctrl_w);
  CHECK(person.sees_last("> kernel k {\n... #  out z"));
  person.types(ctrl_u + "  # one" + up + ctrl_a + ctrl_k + "accumulator a {");
  CHECK(person.sees_last("> accumulator a {\n...   # one"));
  person.types(down + ctrl_u + ctrl_u);
  CHECK(person.sees_last("> accumulator a {"));
}

TEST_CASE("keys of ~/.inputrc that search the history move between lines first, and search on" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  folder.write("inputrc", "\"\\e[A\": history-search-backward\n");
  Person person(folder, false, {{"INPUTRC", "inputrc"}});
  person.types(".let a = 1\r.let b = 2\r.list\r");
  CHECK(person.sees("> .list\n"));
  person.types(".le" + up);
  CHECK(person.sees_last("> .let b = 2"));
  person.types(up);
  CHECK(person.sees_last("> .let a = 1"));
  person.types(ctrl_e + ctrl_u + "kernel k {\r  in x" + up + "k");
  CHECK(person.sees_last("> kernelk k {\n...   in x"));
}

TEST_CASE("Enter adds a line to an entry that is not complete, where the cursor is" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  Person person(folder);
  person.types("kernel k {\r  out z = x" + up + ctrl_e + "\r  in x : f64[i]");
  CHECK(person.sees_last("> kernel k {\n...   in x : f64[i]\n...   out z = x"));
  person.types(down + ctrl_e + " }\x16\n# behind it\r"); // Ctrl-V Ctrl-J
  CHECK(person.sees_last("x }\n... # behind it\nk(x: f64[i]) -> z: f64[i]\n>"));
}

TEST_CASE("Ctrl-C in the middle of an entry of several lines shows all of it" *
          doctest::skip(no_readline)) {
  const TempFolder folder;
  Person person(folder);
  person.types("kernel k {\r  in x");
  CHECK(person.sees_last("...   in x"));
  person.types("\x03");
  CHECK(person.sees_last("> kernel k {\n...   in x^C\n>"));
}

TEST_CASE("lines of a text are found by position, characters counted whole") {
  const std::string text = "αβγ d\n\nef  ghi";
  CHECK(line_begin(text, 0) == 0);
  CHECK(line_begin(text, 8) == 0);
  CHECK(line_end(text, 3) == 8);
  CHECK(line_begin(text, 9) == 9); // the empty line
  CHECK(line_end(text, 9) == 9);
  CHECK(line_end(text, 12) == text.size());
  CHECK(column_of(text, 7) == 4);
  CHECK_FALSE(above(text, 4, 2));
  CHECK(*above(text, 9, 2) == 4);
  CHECK(*below(text, 4, 2) == 9);
  CHECK(*below(text, 9, 2) == 12);
  CHECK_FALSE(below(text, 12, 0));
  CHECK(word_begin(text, 14) == 10);
  CHECK(word_begin(text, 10) == 9); // the line end
  CHECK(word_begin(text, 0) == 0);
}
