// The language page is tested as it stands: every fenced `loom` block is checked, every `console` block
// is run with the built program, and what it prints must be what the page shows. The README's example
// must be the sample of that name, which the samples suite runs.
//
//   $ broadloom check -e 'kernel k {      a command; lines that begin with > continue it
//   >   out z = 1 }'
//   k: ok                                 all else is what stdout and stderr show
//
// A loom block that begins with `# NAME.loom` is written to that file. The commands of one page run in
// one folder, in order, so that later ones find the files of earlier ones.
#include "ops/ops.hpp"
#include "temp_folder.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace bl = broadloom;
namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), path.string());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string page(const std::string &name) {
  return contents(fs::path(BROADLOOM_SOURCE_DIR) / name);
}

struct Block {
  std::string language, text;
  int line = 0; // of its first line in the page
};

std::vector<Block> blocks_of(const std::string &text) {
  std::vector<Block> blocks;
  std::istringstream lines(text);
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), "", number + 1});
    } else if (inside) {
      blocks.back().text += line + '\n';
    }
  }
  REQUIRE_MESSAGE(!inside, "a fenced block is never closed");
  return blocks;
}

// The name in a first line `# NAME.loom`, else nothing.
std::string file_name(const Block &block) {
  const std::string first = block.text.substr(0, block.text.find('\n'));
  const bool named = first.rfind("# ", 0) == 0 && fs::path(first).extension() == ".loom" &&
                     first.find(' ', 2) == first.npos;
  return named ? first.substr(2) : "";
}

struct Command {
  std::string text, shown;
};

std::vector<Command> commands_in(const Block &block) {
  std::vector<Command> commands;
  std::istringstream lines(block.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("$ ", 0) == 0) {
      commands.push_back({line.substr(2), ""});
      continue;
    }
    REQUIRE_MESSAGE(!commands.empty(), "a console block begins with a command");
    Command &command = commands.back();
    if (line.rfind("> ", 0) == 0 && command.shown.empty())
      command.text += '\n' + line.substr(2);
    else
      command.shown += line + '\n';
  }
  return commands;
}

// Runs the commands in one shell, so that $? and files carry over; a mark ends the output of each.
std::vector<std::string> outputs_of(const std::vector<Command> &commands,
                                    const TempFolder &folder) {
  constexpr char mark = '\001';
  std::ostringstream script;
  script << "PATH='" << fs::path(BROADLOOM_PROGRAM).parent_path().string() << "':$PATH\n"
         << "export BROADLOOM_LOG=off\n";
  for (const Command &command : commands)
    script << command.text << "\nstatus=$?; printf '\\001'; (exit $status)\n";
  folder.write("script.sh", script.str());
  const std::string line = "cd '" + folder.path + "' && sh ./script.sh 2>&1 </dev/null";
  FILE *pipe = popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::vector<std::string> outputs{""};
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) {
    if (c == mark)
      outputs.emplace_back();
    else
      outputs.back() += char(c);
  }
  pclose(pipe);
  outputs.pop_back();
  return outputs;
}

int run_console_blocks(const std::string &name) {
  const TempFolder folder;
  int run = 0;
  for (const Block &block : blocks_of(page(name))) {
    INFO(name << ", line " << block.line);
    if (block.language == "loom" && !file_name(block).empty())
      folder.write(file_name(block), block.text);
    if (block.language != "console") continue;
    const std::vector<Command> commands = commands_in(block);
    const std::vector<std::string> outputs = outputs_of(commands, folder);
    REQUIRE(outputs.size() == commands.size());
    for (std::size_t i = 0; i < commands.size(); ++i) {
      INFO("$ " << commands[i].text);
      CHECK(outputs[i] == commands[i].shown);
      ++run;
    }
  }
  return run;
}

int check_loom_blocks(const std::string &name) {
  int checked = 0;
  for (const Block &block : blocks_of(page(name))) {
    if (block.language != "loom") continue;
    INFO(name << ", line " << block.line << "\n" << block.text);
    CHECK_NOTHROW(for (const bl::LoopSpec &spec : bl::parse_all(block.text)) bl::check(spec));
    ++checked;
  }
  return checked;
}

} // namespace

TEST_CASE("every kernel on the language page is a right one") {
  CHECK(check_loom_blocks("docs/language.md") >= 4);
}

TEST_CASE("every command on the language page prints what is shown there") {
  CHECK(run_console_blocks("docs/language.md") >= 10);
}

TEST_CASE("the README's example is samples/example.cpp, but for line breaks and spaces") {
  const auto solid = [](std::string text) {
    std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
    return text;
  };
  std::string example;
  for (const Block &block : blocks_of(page("README.md")))
    if (block.language == "cpp") example += block.text;
  const std::string sample = page("samples/example.cpp");
  CHECK(solid(example) == solid(sample.substr(sample.find('\n')))); // without its first comment
}

TEST_CASE("the language page names every function, fold and option") {
  const std::string text = page("docs/language.md");
  // As a word of its own between spaces, backquotes, parentheses or commas.
  const auto names = [&](const std::string &word) {
    const auto part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
      if (!part(text[at - 1]) && !part(text[at + word.size()])) return true;
    return false;
  };
  for (int i = 0; i < bl::ops::op_count(); ++i) {
    const std::string spelling(bl::ops::info(bl::ops::Op(i)).spelling);
    INFO(spelling);
    CHECK(names(spelling == "||" ? "\\|\\|" : spelling)); // as a table has it
  }
  for (int i = 0; i < bl::ops::fold_count(); ++i)
    CHECK(names(std::string(bl::ops::info(bl::Fold(i)).name)));

  const TempFolder folder;
  for (const std::string command : {"run", "show", "check"}) {
    std::istringstream help(outputs_of({{"broadloom " + command + " --help", ""}}, folder).at(0));
    for (std::string word; help >> word;) {
      word = word.substr(0, word.find(','));
      INFO(command << " " << word);
      if (word.rfind("--", 0) == 0) CHECK(names(word));
    }
  }
}
