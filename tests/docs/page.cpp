// See page.hpp.
#include "tests/docs/page.hpp"

#include "tests/places.hpp"

#include "tests/unit/temp_folder.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace bl = broadloom;
namespace fs = std::filesystem;

namespace pages {
namespace {

struct Command {
  std::string text, shown;
};

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Puts a file or a program of the page into the folder of its commands.
void provide(const Block &block, const TempFolder &folder) {
  const std::string name = file_name(block);
  if (name.empty()) return;
  if (block.language == "loom") folder.write(name, block.text);
  if (block.language != "cpp") return;
  const fs::path program = fs::path(BROADLOOM_PAGES_DIR) / fs::path(name).stem();
  REQUIRE_MESSAGE(fs::exists(program), program.string() << " is not built: see tests/meson.build");
  fs::create_symlink(program, folder / fs::path(name).stem().string());
}

std::vector<Command> commands_in(const Block &block) {
  std::vector<Command> commands;
  for (const std::string &line : lines_of(block.text)) {
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
         << "export BROADLOOM_LOG=off\n"
         << "export BROADLOOM_CACHES=1M,32M\n"; // or a server would store more around the caches
  for (const Command &command : commands)
    script << command.text << "\nstatus=$?; printf '\\001'; (exit $status)\n";
  folder.write("script.sh", script.str());
  const std::string line = "cd '" + folder.path + "' && sh ./script.sh 2>&1 </dev/null";
  FILE *pipe = popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::vector<std::string> outputs{""};
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe))
    if (c == mark)
      outputs.emplace_back();
    else
      outputs.back() += char(c);
  pclose(pipe);
  outputs.pop_back();
  return outputs;
}

// The lines of a console block with these outputs.
std::vector<std::string> shown(const std::vector<Command> &commands,
                               const std::vector<std::string> &outputs) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const char *prompt = "$ ";
    for (const std::string &line : lines_of(commands[i].text)) {
      lines.push_back(prompt + line);
      prompt = "> ";
    }
    for (const std::string &line : lines_of(outputs[i])) lines.push_back(line);
  }
  return lines;
}

// Where blessing is asked for: the page with other lines in place of some blocks' texts.
class Rewrite {
public:
  explicit Rewrite(std::string path)
      : path_(std::move(path)), lines_(lines_of(text_of(path_))),
        wanted_(std::getenv("BROADLOOM_BLESS") != nullptr) {}

  bool wanted() const { return wanted_; }
  void replace(const Block &block, const std::vector<std::string> &lines) {
    const auto first = lines_.begin() + (block.line - 1 + grown_);
    const auto old = std::ptrdiff_t(lines_of(block.text).size());
    lines_.insert(lines_.erase(first, first + old), lines.begin(), lines.end());
    grown_ += std::ptrdiff_t(lines.size()) - old;
  }
  void save() const {
    if (!wanted_) return;
    std::ofstream file(fs::path(BROADLOOM_SOURCE_DIR) / path_, std::ios::binary);
    for (const std::string &line : lines_) file << line << '\n';
  }

private:
  std::string path_;
  std::vector<std::string> lines_;
  std::ptrdiff_t grown_ = 0;
  bool wanted_;
};

} // namespace

std::string text_of(const std::string &path) {
  std::ifstream file(fs::path(BROADLOOM_SOURCE_DIR) / path, std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Block> blocks_of(const std::string &text) {
  std::vector<Block> blocks;
  bool inside = false;
  int number = 0;
  for (const std::string &line : lines_of(text)) {
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

std::string file_name(const Block &block) {
  const std::string mark = block.language == "cpp" ? "// " : "# ";
  const std::string first = block.text.substr(0, block.text.find('\n'));
  if (first.rfind(mark, 0) != 0) return "";
  const std::string name = first.substr(mark.size());
  const bool named =
      fs::path(name).extension() == "." + block.language && name.find(' ') == name.npos;
  return named ? name : "";
}

std::string prose_of(const std::string &text) {
  std::string prose;
  bool inside = false;
  for (const std::string &line : lines_of(text)) {
    const bool fence = line.rfind("```", 0) == 0;
    if (fence) inside = !inside;
    if (!inside && !fence) prose += line + '\n';
  }
  return prose;
}

std::vector<std::string> headings_of(const std::string &prose) {
  std::vector<std::string> headings = lines_of(prose);
  std::erase_if(headings, [](const std::string &line) {
    const std::size_t marks = line.find_first_not_of('#');
    return marks == 0 || marks == line.npos || line[marks] != ' ';
  });
  return headings;
}

std::string anchor_of(const std::string &title) {
  std::string anchor;
  for (const char c : title) {
    if (c == ' ') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-')
      anchor += char(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

std::string output_of(const std::string &command) {
  const TempFolder folder;
  return outputs_of({{command, ""}}, folder).at(0);
}

int check_loom_blocks(const std::string &path) {
  int checked = 0;
  for (const Block &block : blocks_of(text_of(path))) {
    if (block.language != "loom") continue;
    INFO(path << ", line " << block.line << "\n" << block.text);
    CHECK_NOTHROW(for (const bl::LoopSpec &spec : bl::parse_all(block.text)) bl::check(spec));
    ++checked;
  }
  return checked;
}

int run_console_blocks(const std::string &path) {
  const TempFolder folder;
  Rewrite rewrite(path);
  int run = 0;
  for (const Block &block : blocks_of(text_of(path))) {
    INFO(path << ", line " << block.line);
    provide(block, folder);
    if (block.language != "console") continue;
    const std::vector<Command> commands = commands_in(block);
    const std::vector<std::string> outputs = outputs_of(commands, folder);
    REQUIRE(outputs.size() == commands.size());
    run += int(commands.size());
    if (rewrite.wanted()) {
      rewrite.replace(block, shown(commands, outputs));
      continue;
    }
    for (std::size_t i = 0; i < commands.size(); ++i) {
      INFO("$ " << commands[i].text);
      CHECK(outputs[i] == commands[i].shown);
    }
  }
  rewrite.save();
  return run;
}

} // namespace pages
