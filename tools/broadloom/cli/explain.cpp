// See explain.hpp.
#include "tools/broadloom/cli/explain.hpp"

#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/help/pages.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <fmt/format.h>

#include <cctype>
#include <ostream>
#include <vector>

namespace broadloom::cli {

namespace {

struct Row {
  std::string code, meaning; // as on the page
};
struct Section {
  std::string title, text; // without the table
  std::vector<Row> rows;
};

// | E0102 | the meaning |
bool is_row(std::string_view line) { return line.starts_with("| E") && line.ends_with(" |"); }

std::vector<Section> sections() {
  std::vector<Section> found(1);
  for (std::string_view page = errors_page(); !page.empty();) {
    const std::string_view line = take_line(page);
    if (line.starts_with("## ") || line.starts_with("### ")) {
      found.push_back({std::string(line.substr(line.find(' ') + 1)), "", {}});
    } else if (is_row(line)) {
      const std::size_t bar = line.find(" | ", 2);
      found.back().rows.push_back({std::string(line.substr(2, bar - 2)),
                                   std::string(line.substr(bar + 3, line.size() - bar - 5))});
    } else if (!line.starts_with('|')) {
      found.back().text += std::string(line) + '\n';
    }
  }
  return found;
}

std::string trimmed(const std::string &text) {
  const std::size_t first = text.find_first_not_of('\n'), last = text.find_last_not_of('\n');
  return first == text.npos ? "" : text.substr(first, last - first + 1);
}

std::string shown(const Section &section) {
  const std::string text = without_marks(trimmed(section.text));
  return "\n" + without_marks(section.title) + "\n" + text + (text.empty() ? "" : "\n");
}

// The text of an example: what stands in its block, set in, below the words before it.
std::string shown_example(const Section &section) {
  std::string text, line;
  bool inside = false;
  for (std::string_view rest = section.text; !rest.empty();) {
    line = take_line(rest);
    if (line.starts_with("```"))
      inside = !inside;
    else
      text += inside && !line.empty() ? "  " + line + '\n' : without_marks(line) + '\n';
  }
  return "\nFor example:\n" + trimmed(text) + "\n";
}

// "When memory ends" -> "when-memory-ends"
std::string anchor_of(std::string_view title) {
  std::string anchor;
  for (const char c : title) {
    if (c == ' ') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      anchor += char(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

} // namespace

std::string explanation(std::string_view given) {
  std::string code;
  for (const char c : given) code += char(std::toupper(static_cast<unsigned char>(c)));
  const std::vector<Section> all = sections();
  std::vector<std::string> codes;
  for (const Section &section : all)
    for (const Row &row : section.rows) {
      codes.push_back(row.code);
      if (row.code != code) continue;
      std::string text = row.code + ": " + without_marks(row.meaning) + "\n" + shown(section);
      for (const Section &other : all)
        if (row.meaning.find("(#" + anchor_of(other.title) + ")") != std::string::npos)
          text += shown(other);
      for (const Section &other : all)
        if (other.title == code) text += shown_example(other);
      return text;
    }
  const std::string near = nearest(code, codes);
  throw UsageError("E0401", fmt::format("there is no error '{}'", given),
                   (near.empty() ? "" : fmt::format("did you mean {}? ", near)) +
                       "broadloom explain lists them all");
}

void explain(const std::string &code, const Streams &streams) {
  if (!code.empty()) {
    streams.out << explanation(code);
    return;
  }
  for (const Section &section : sections()) {
    if (section.rows.empty()) continue;
    streams.out << without_marks(section.title) << '\n';
    for (const Row &row : section.rows)
      streams.out << fmt::format("  {}  {}\n", row.code, without_marks(row.meaning));
  }
}

} // namespace broadloom::cli
