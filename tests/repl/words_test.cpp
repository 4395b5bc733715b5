// The small parts of the REPL: words of a command, colours, completion, plots.
#include "spec/words.hpp"
#include "tools/broadloom/data/plot.hpp"
#include "tools/broadloom/help/language_words.hpp"
#include "tools/broadloom/repl/command_table.hpp"
#include "tools/broadloom/repl/completion.hpp"
#include "tools/broadloom/repl/fit.hpp"
#include "tools/broadloom/repl/highlight.hpp"
#include "tools/broadloom/repl/input_text.hpp"
#include "tools/broadloom/repl/paint_stage.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

using namespace broadloom;
using namespace broadloom::cli;

namespace {

using List = std::vector<std::string>;

Library library() {
  Library library;
  library.define({"<input>", 1,
                  "def twist(a) = a\nkernel row { in x : f32[i]; in why : f32[i]; "
                  "out z = x * why }"});
  return library;
}

// Each painted part of a line with the first letter of its paint: "k:kernel n:1".
std::string painted(const std::string &line, std::size_t cursor, const std::string &before = "") {
  std::string text;
  for (const Span &span : highlight(before, line, cursor, library())) {
    const char letters[] = "pktfn#.?";
    text += (text.empty() ? "" : " ") + std::string(1, letters[int(span.paint)]) + ':' +
            line.substr(span.begin, span.end - span.begin);
  }
  return text;
}

List completed(const std::string &line, const std::string &before = "") {
  return complete(before, line, library()).words;
}

bool has(const List &words, const std::string &word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

} // namespace

TEST_CASE("words end at spaces and commas outside of brackets and quotes") {
  CHECK(words_of(" k x = rand(3, 4)[::2, 1], -> z='my file.npy' ") ==
        List{"k", "x=rand(3, 4)[::2, 1]", "->", "z=my file.npy"});
  CHECK(words_of("x,y") == List{"x", "y"});
  CHECK(words_of("  ").empty());
  CHECK_THROWS(words_of("x='a"));
  CHECK_THROWS(words_of("x=rand(3"));
}

TEST_CASE("a command begins with a dot and no digit") {
  CHECK(is_command(".run"));
  CHECK(is_command("  .x"));
  CHECK_FALSE(is_command(".5"));
  CHECK_FALSE(is_command("run"));
}

TEST_CASE("keywords, types, functions, numbers and comments have their colours") {
  CHECK(painted("kernel k { in x : f32[i]; out z = exp(x) * 2.5 } # end", 0) ==
        "k:kernel k:in t:f32 k:out f:exp n:2.5 #:# end");
  CHECK(painted("out z = twist(x)", 0, "in x : f32[i]\n") == "k:out f:twist");
}

TEST_CASE("a schedule and its clauses are painted as such, and are names elsewhere") {
  CHECK(painted("kernel k { in x : f32[i]; out z = x; schedule { vector i; copies i 2 } }", 0) ==
        "k:kernel k:in t:f32 k:out k:schedule k:vector k:copies n:2");
  CHECK(painted("in schedule : f32[vector]; out copies = schedule", 0) == "k:in t:f32 k:out");
  CHECK(painted("out z = copies", 0) == "k:out ?:copies");
  CHECK(completed("sched") == List{"schedule"});
  CHECK(has(completed("  rec", "schedule {\n"), "recompute"));
}

TEST_CASE("unknown names stand out, but for the one that is being typed") {
  CHECK(painted("out z = qq + 1", 0) == "k:out ?:qq n:1");
  CHECK(painted("out z = qq", 10) == "k:out");
  CHECK(painted(".rum k", 6) == "?:.rum");
  CHECK(painted(".run k", 6) == ".:.run");
}

TEST_CASE("a line that is no text at all is painted up to where it breaks off") {
  CHECK(painted("out z = 1 \x01 2", 0) == "k:out n:1");
  CHECK(painted("out \xff", 0) == "k:out");
  CHECK(painted("2x", 0) == "");
}

TEST_CASE("commands, kernels, stages, inputs, settings and generators are completed") {
  CHECK(completed(".ru") == List{".run"});
  CHECK(completed(".s") == List{".save", ".set", ".show"});
  CHECK(completed(".show lo") == List{"loop"});
  CHECK(completed(".set debug in") == List{"infinity", "interpreter"});
  CHECK(completed(".show loop r") == List{"row"});
  CHECK(completed(".run ro") == List{"row"});
  CHECK(completed(".run row w") == List{"why="});
  CHECK(completed(".grad row w") == List{"why"});
  CHECK(completed(".jvp row w") == List{"why"});
  CHECK(completed(".jv") == List{".jvp"});
  CHECK(completed(".run row x=ra") == List{"rand(", "randn("});
  CHECK(completed(".set eng") == List{"engine"});
  CHECK(completed(".set engine ref") == List{"reference"});
  CHECK(completed(".help gr") == List{"grad"});
  CHECK(completed(".help sq") == List{"sqrt", "square"});
  CHECK(complete("", ".load sam", library()).files);
  CHECK(complete("", ".run row x=sam", library()).files);
  CHECK(completed(".sh lo") == List{"loop"});
  CHECK(completed(".s lo").empty()); // .save, .set or .show
}

TEST_CASE("behind an arrow outputs are completed, then files") {
  CHECK(completed(".run row x=1 -> ") == List{"z="});
  CHECK(completed(".run -> ") == List{"z="});
  CHECK(completed(".run row -> z=r").empty());
  CHECK(complete("", ".run row -> z=r", library()).files);
}

TEST_CASE("in quotes files are completed, with their spaces") {
  const Completion found = complete("", ".run row x='my fi", library());
  CHECK(found.files);
  CHECK(found.in_quotes);
  CHECK(found.begin == std::string(".run row x='").size());
  CHECK_FALSE(complete("", ".run row x='my file.npy' w", library()).in_quotes);
  CHECK(completed(".run row x='my file.npy' w") == List{"why="});
}

TEST_CASE("a command may be cut short where it stays the only one") {
  CHECK(find_command(".sh").name == ".show");
  CHECK(find_command("q").name == ".quit");
  CHECK(find_command(".run").name == ".run");
  CHECK(commands_like(".s").size() == 3);
  CHECK(commands_like(".").empty());
  try {
    find_command(".l");
    CHECK(false);
  } catch (const Error &error) {
    CHECK(error.message() == "'.l' may be .let or .load or .list");
  }
}

TEST_CASE("lines are broken at spaces, below the second column of a table") {
  CHECK(wrapped("axes: i, j: by descending stride\nok\n", 16) ==
        "axes: i, j: by\n  descending\n  stride\nok\n");
  CHECK(wrapped("  .why [K]    print why it is so\n", 28) ==
        "  .why [K]    print why it\n              is so\n");
  CHECK(wrapped("  .why [K]    print why\n", 20) == "  .why [K]    print\n    why\n"); // too narrow
  CHECK(wrapped("a-word-that-is-wider and more", 10) == "a-word-that-is-wider\n  and more");
  CHECK(wrapped("  keep  all   of  it\n\n", 0) == "  keep  all   of  it\n\n");
  CHECK(wrapped("a  b\n\n c\n", 80) == "a  b\n\n c\n");
}

TEST_CASE("the rows of a text count what a terminal breaks, and no escapes") {
  CHECK(rows_of("", 10) == 0);
  CHECK(rows_of("a\nb\n", 10) == 2);
  CHECK(rows_of("0123456789\n", 10) == 1);
  CHECK(rows_of("0123456789a", 10) == 2);
  CHECK(rows_of("\033[1;35m0123456789\033[0m\n", 10) == 1);
  CHECK(rows_of("▁▂▃▄▅▆▇█▁▂\n", 10) == 1);
}

TEST_CASE("stages are painted without a change of their text") {
  const auto plain = [](std::string text) {
    for (std::size_t at = text.find('\033'); at != text.npos; at = text.find('\033'))
      text.erase(at, text.find('m', at) + 1 - at);
    return text;
  };
  const Kernel kernel = compile(parse("kernel k { in x : f32[i, j]; out z = x / sum(x, j) }"));
  kernel.prepare({Array(f32, {40, 40})});
  for (const Stage stage : {Stage::spec, Stage::folded, Stage::axes, Stage::graph, Stage::plan,
                            Stage::loop, Stage::block, Stage::llvm, Stage::assembly}) {
    const std::string text = kernel.show(stage), painted = painted_stage(text, stage, library());
    CHECK(painted != text);
    CHECK(plain(painted) == text);
  }
  CHECK(painted_stage("  %p = fadd double %q, 1 ; sum\n", Stage::llvm, library()) ==
        "  %p = \033[1;35mfadd\033[0m \033[36mdouble\033[0m %q, \033[33m1\033[0m "
        "\033[2m; sum\033[0m\n");
}

TEST_CASE("words are what the parser takes them for") {
  const LanguageWords &words = language_words();
  for (const LanguageWordList *list : {&words.reserved, &words.types})
    for (const std::string_view word : *list) CHECK(spec::is_reserved(word));
  for (const LanguageWordList *list : {&words.functions, &words.folds})
    for (const std::string_view word : *list) CHECK(spec::is_built_in(word));
  for (const LanguageWordList *list : {&words.declaring, &words.clauses, &words.constants,
                                       &words.options, &words.flags, &words.between})
    for (const std::string_view word : *list) CHECK_FALSE(spec::is_reserved(word));
  CHECK(painted("axis i < 3", 99) == "k:axis n:3");
  CHECK(painted("out y = sum(x, reverse)", 99).find("?:reverse") == std::string::npos);
}

TEST_CASE("words of the language and names of the text are completed") {
  CHECK(has(completed("out z = logs"), "logsumexp"));
  CHECK(has(completed("out z = tw"), "twist"));
  CHECK(has(completed("  out z = long_na", "in long_name : f32[i]\n"), "long_name"));
  CHECK(has(completed("ker"), "kernel"));
  CHECK(completed("out z = ").empty()); // nothing typed: nothing to go by
}

TEST_CASE("what every command takes can be completed and is documented") {
  for (const Command &command : command_table()) {
    CHECK(command.name[0] == '.');
    CHECK_FALSE(command.help.empty());
    CHECK(command.example.starts_with(command.name));
  }
}

TEST_CASE("small arrays are plotted, others are not") {
  const Array row(i32, {8});
  for (int k = 0; k < 8; ++k) row.data<std::int32_t>()[k] = k;
  CHECK(plot_array(row) == "    ▁▂▃▄▅▆▇█\n    0 to 7\n");
  const Array matrix(f64, {2, 2});
  matrix.data<double>()[1] = 4;
  matrix.data<double>()[2] = std::numeric_limits<double>::quiet_NaN();
  CHECK(plot_array(matrix) == "      ██\n    ??  \n    0 to 4\n");
  row.data<std::int32_t>()[7] = 7777;
  CHECK(plot_array(row, 0, 2).ends_with("    0 to 7.8e+03\n"));
  row.data<std::int32_t>()[7] = 7;
  CHECK(plot_array(row, 12) == plot_array(row));
  CHECK(plot_array(row, 11) == "    ▁▂▃▄▅▆…\n    0 to 7\n"); // cut
  CHECK(plot_array(matrix, 7) == "      …\n    ??…\n    0 to 4\n");
  CHECK(plot_array(Array(f32, {1000})) == "");
  CHECK(plot_array(Array(f32, {})) == "");
  CHECK(plot_array(Array(c64, {3})) == "");
}
