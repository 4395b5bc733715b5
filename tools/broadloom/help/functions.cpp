// See functions.hpp.
#include "tools/broadloom/help/functions.hpp"

#include "tools/broadloom/help/pages.hpp"

#include "analysis/analyse.hpp"
#include "ops/ops.hpp"

#include <broadloom/gradient.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace broadloom::cli {
namespace {

enum class Kind { Other, Element, Fold };

struct FunctionRow { // as on the page, without marks
  std::string form, value, numpy, example;
  Kind kind = Kind::Other;
  std::string name() const { return form.substr(0, form.find('(')); }
};

std::string plain(const std::string &cell) {
  std::string text = without_marks(cell);
  std::erase(text, '`');
  return text;
}

std::vector<FunctionRow> rows() {
  std::vector<FunctionRow> rows;
  Kind kind = Kind::Other;
  for (std::string_view page = functions_page(); !page.empty();) {
    const std::string_view line = take_line(page);
    if (line.starts_with("## "))
      kind = line == "## Elementwise" ? Kind::Element
             : line == "## Folds"     ? Kind::Fold
                                      : Kind::Other;
    if (const auto cells = cells_of(line); cells.size() == 4 && cells[0].starts_with('`'))
      rows.push_back({plain(cells[0]), plain(cells[1]), plain(cells[2]), plain(cells[3]), kind});
  }
  return rows;
}

// atan2(y, x) -> y, x; of a fold without the axis
std::vector<std::string> arguments(const FunctionRow &row) {
  std::vector<std::string> names(1);
  for (const char c : row.form.substr(row.form.find('(') + 1)) {
    if (c == ',') names.emplace_back();
    if (c != ',' && c != ' ' && c != ')') names.back() += c;
  }
  if (row.kind == Kind::Fold) names.resize(1);
  return names;
}

LoopSpec kernel_of(const FunctionRow &row, DType dtype) {
  std::string text = "kernel k { ";
  for (const std::string &name : arguments(row))
    text += fmt::format("in {} : {}{}; ", name, broadloom::name(name == "c" ? DType::Bool : dtype),
                        row.kind == Kind::Fold ? "[i]" : "");
  return parse(text + "out z = " + row.form + " }");
}

// The dtype of what comes of arguments of a dtype, if it is defined for this one.
std::optional<DType> result_of(const FunctionRow &row, DType dtype) {
  try {
    return analysis::analyse(kernel_of(row, dtype).data()).outputs.at(0).dtype;
  } catch (const Error &) {
    return {};
  }
}

// "f32, f64 stay; i32, i64 -> f64": what comes of arguments of each dtype.
std::string dtypes(const FunctionRow &row) {
  std::vector<std::pair<DType, std::string>> groups; // by result, in the order of dtypes
  std::vector<std::string_view> same;
  for (int i = 0; i < dtype_count; ++i) {
    const DType dtype = DType(i);
    const std::optional<DType> result = result_of(row, dtype);
    if (!result) continue;
    if (*result == dtype) {
      same.push_back(name(dtype));
      continue;
    }
    auto group = std::ranges::find(groups, *result, &std::pair<DType, std::string>::first);
    if (group == groups.end()) group = groups.insert(group, {*result, ""});
    group->second += (group->second.empty() ? "" : ", ") + std::string(name(dtype));
  }
  std::vector<std::string> words;
  if (!same.empty())
    words.push_back(fmt::format("{} stay{}", fmt::join(same, ", "), same.size() == 1 ? "s" : ""));
  for (const auto &[result, given] : groups)
    words.push_back(fmt::format("{} -> {}", given, name(result)));
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string accuracy(const FunctionRow &row) {
  std::vector<std::string> found;
  for (std::string_view page = math_page(); !page.empty();) {
    const auto cells = cells_of(take_line(page)); // function, dtype, mode, greatest error, ..
    if (cells.size() == 7 && cells[0] == row.name() && (cells[2] == "high" || cells[2].empty()))
      found.push_back(fmt::format("{} {} ulp", cells[1], cells[3]));
  }
  if (const auto fold = ops::find_fold(row.name());
      fold && ops::accumulate_dtype(*fold, DType::F32) == DType::F64)
    found.push_back("f32 is kept in f64");
  if (const auto op = ops::find_function(row.name());
      op && ops::info(*op).math == ops::Math::Inline && result_of(row, DType::F64) == DType::F64)
    found.insert(found.begin(), "f32, f64 rounded once at most");
  return fmt::format("{}", fmt::join(found, ", "));
}

// As `broadloom grad` prints it, with lines between statements.
std::string gradient(const FunctionRow &row) {
  if (result_of(row, DType::F64) != DType::F64) return "none";
  try {
    std::vector<std::string> by = arguments(row);
    std::erase(by, "c");
    const std::string text = print(broadloom::gradient(kernel_of(row, DType::F64), by));
    std::vector<std::string> lines;
    for (std::string_view rest = text; !rest.empty();) {
      std::string line(take_line(rest));
      if (line.starts_with("  let ")) lines.push_back(line.substr(2));
      if (!line.starts_with("  out ")) continue;
      line.erase(0, 6);
      lines.push_back(line.erase(line.find(" :"), line.find(" =") - line.find(" :")));
    }
    return fmt::format("{}", fmt::join(lines, "\n            "));
  } catch (const Error &) {
    return "none";
  }
}

} // namespace

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const FunctionRow &row : rows()) names.push_back(row.name());
  return names;
}

std::string function_help(std::string_view name) {
  for (const FunctionRow &row : rows()) {
    if (row.name() != name) continue;
    std::string text = fmt::format("{}: {}\n", row.form, row.value);
    const auto add = [&](const char *word, const std::string &said) {
      if (!said.empty()) text += fmt::format("  {:8}  {}\n", word, said);
    };
    add("NumPy", row.numpy);
    if (row.kind != Kind::Other) {
      add("dtypes", dtypes(row));
      add("accuracy", accuracy(row));
      add("gradient", gradient(row));
    }
    add("example", row.example);
    return text;
  }
  return "";
}

} // namespace broadloom::cli
