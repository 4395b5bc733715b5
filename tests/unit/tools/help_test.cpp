// What the program says about itself: --version, --help, the manual page and the completions.
#include "tools/broadloom/cli/cli.hpp"

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

std::string output_of(const std::vector<std::string> &args) {
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(cli::run_cli(args, in, out, err) == 0);
  CHECK(err.str().empty());
  return out.str();
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// The first word of each line from this heading to the next empty line.
std::vector<std::string> first_words_below(const std::string &text, const std::string &heading) {
  std::vector<std::string> words;
  std::istringstream lines(text.substr(text.find(heading)));
  std::string line, word;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.empty())
    if (line.size() > 2 && line[2] != ' ' && std::istringstream(line) >> word)
      words.push_back(word);
  return words;
}

// "-h,--help" -> "-h" and "--help"
std::set<std::string> options_in(const std::string &help) {
  std::set<std::string> options;
  for (const std::string &word : first_words_below(help, "Options:")) {
    std::istringstream parts(word);
    for (std::string part; std::getline(parts, part, ',');) options.insert(part);
  }
  return options;
}

std::vector<std::string> commands() {
  return first_words_below(output_of({"--help"}), "Subcommands:");
}

// How an option is written in a text of this kind: fish has no dashes, roff escapes them.
std::string spelling(const std::string &kind, const std::string &option) {
  std::string result;
  if (kind == "fish")
    return (option[1] == '-' ? " -l " + option.substr(2) : " -s " + option.substr(1)) + " ";
  for (const char c : option) result += kind == "man" && c == '-' ? "\\-" : std::string(1, c);
  return result;
}

TEST_CASE("--version says what Broadloom is made of, and what it uses of this machine") {
  const std::string text = output_of({"--version"});
  CHECK(text.rfind("broadloom 0.", 0) == 0);
  for (const char *part : {"LLVM 19.", "oneTBB 20", "CPU ", " thread"}) CHECK(contains(text, part));
}

TEST_CASE("every command has a help text, with a word on each option") {
  CHECK(commands().size() >= 4);
  for (const std::string &command : commands()) {
    const std::string help = output_of({command, "--help"});
    INFO(help);
    CHECK(contains(help, "Usage: broadloom " + command));
    CHECK(options_in(help).size() >= 2);
  }
}

TEST_CASE("the manual page and the completions have every command and option that --help lists") {
  for (const std::string kind : {"man", "bash", "zsh", "fish"}) {
    const std::string text = output_of({"--generate", kind});
    INFO(kind);
    for (const std::string &option : options_in(output_of({"--help"})))
      CHECK_MESSAGE(contains(text, spelling(kind, option)), option);
    for (const std::string &command : commands()) {
      CHECK_MESSAGE(contains(text, command), command);
      for (const std::string &option : options_in(output_of({command, "--help"})))
        CHECK_MESSAGE(contains(text, spelling(kind, option)), (command + " " + option));
    }
  }
}

TEST_CASE("the words that an option takes are completed, and stand in the manual page") {
  CHECK(contains(output_of({"--generate", "bash"}), "run:--engine)"));
  CHECK(contains(output_of({"--generate", "bash"}), "-W 'jit interpreter reference tiered'"));
  CHECK(contains(output_of({"--generate", "zsh"}), ":value:(jit interpreter reference tiered)"));
  CHECK(contains(output_of({"--generate", "fish"}), "-a 'jit interpreter reference tiered'"));
  CHECK(contains(output_of({"--generate", "man"}), "jit|interpreter|reference"));
}

TEST_CASE("--help and the manual page list the exit statuses and the environment") {
  for (const std::string &text : {output_of({"--help"}), output_of({"--generate", "man"})})
    for (const char *part : {"130", "BROADLOOM_PROFILE", "BROADLOOM_TARGET", "NO_COLOR"})
      CHECK(contains(text, part));
}

} // namespace
