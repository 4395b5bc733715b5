// See files.hpp.
#include "tools/broadloom/data/files.hpp"

#include "array/npy.hpp"
#include "array/npz.hpp"
#include "support/text.hpp"
#include "tools/broadloom/data/number.hpp"
#include "tools/broadloom/data/png_file.hpp"
#include "tools/broadloom/data/standard_input.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace broadloom::cli {
namespace {

constexpr std::string_view space = " \t\r";

struct Field {
  std::string word;
  std::size_t at; // in its line
};

// What stands between commas or semicolons, or, where there are none, between spaces. Such a mark
// at the end of a line ends it.
std::vector<Field> fields_of(const std::string &line) {
  const bool marked = line.find_first_of(",;") != line.npos;
  const std::string_view between = marked ? ",;" : space;
  std::vector<Field> fields;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(between, at), line.size());
    const std::size_t first = std::min(line.find_first_not_of(space, at), end);
    const std::size_t last = line.find_last_not_of(space, end - 1);
    const bool none = first == end;
    const bool rest = line.find_first_not_of(space, at) == line.npos; // behind the last mark
    if (!none) fields.push_back({line.substr(first, last + 1 - first), first});
    if (none && marked && !rest) fields.push_back({"", first});
    at = end + 1;
  }
  return fields;
}

// Without the sign of `+1`, which from_chars does not read.
bool is_number(Field &field) {
  std::string &word = field.word;
  const std::size_t sign = word.starts_with('+') ? 1 : 0;
  const bool is_truth = word == "true" || word == "false";
  if (!is_truth && !number_of(std::string_view(word).substr(sign))) return false;
  word.erase(0, sign);
  return true;
}

// 1_000, 0x10, -1.2.3: meant as a number, and none. No field of a heading begins so.
bool begins_as_number(const Field &field) {
  const std::size_t first = field.word.find_first_not_of("+-.'\"");
  return first != std::string::npos && field.word[first] >= '0' && field.word[first] <= '9';
}

} // namespace

ListSource read_csv(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw DataError("E0301", fmt::format("'{}' cannot be opened", path), {},
                    "check the path, and that it may be read");
  ListSource list;
  std::int64_t rows = 0, columns = -1, number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3); // as Excel begins a text
    std::vector<Field> fields = fields_of(line);
    auto wrong = std::ranges::find_if_not(fields, is_number);
    const bool fine = wrong == fields.end();
    if (fields.empty()) continue;
    if (number == 1 && std::ranges::none_of(fields, is_number)) {
      wrong = std::ranges::find_if(fields, begins_as_number);
      if (wrong == fields.end()) continue; // a heading
    }
    const auto count = std::int64_t(fields.size());
    if (!fine)
      throw DataError(
          "E0302",
          fmt::format("'{}' in line {}, column {} of '{}' is no number", wrong->word, number,
                      support::count_columns(line.substr(0, wrong->at)) + 1, path),
          {},
          "write numbers as 1000, -2.5 or 1e-3, with commas between; a heading, which is the first "
          "line, holds none, nor a word that begins with a digit");
    if (columns >= 0 && columns != count)
      throw DataError("E0302",
                      fmt::format("line {} of '{}' has {}, those before have {}", number, path,
                                  support::count(count, "number"), columns),
                      {}, "a .csv file has as many numbers in each line, with commas between");
    columns = count;
    ++rows;
    for (Field &field : fields) list.words.push_back(std::move(field.word));
  }
  list.extents = {rows};
  if (columns > 1) list.extents.push_back(columns);
  return list;
}

static array::PendingFile pending_csv(const std::string &path, const Array &array) {
  array::PendingFile file(path);
  if (array.rank() > 2)
    throw ShapeError("E0101", fmt::format("an array of {} dims is no table", array.rank()), {},
                     "write it to a .npy file");
  const std::int64_t rows = array.rank() > 0 ? array.shape()[0] : 1,
                     columns = array.rank() > 1 ? array.shape()[1] : 1;
  std::string text;
  const Array in_order = array.copy();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t k = r * columns + c;
      const Array one(
          {}, array.dtype(),
          static_cast<char *>(in_order.raw()) + k * std::int64_t(size_of(array.dtype())), Layout());
      text += print(one) + (c + 1 < columns ? "," : "\n");
    }
  file.write(text.data(), text.size());
  return file;
}

bool is_archive(std::string_view path) { return path.ends_with(".npz"); }

bool is_written(std::string_view path) {
  return is_archive(path) || path.ends_with(".npy") || path.ends_with(".csv") ||
         path.ends_with(".png");
}

array::PendingFile pending_file(const std::string &path, const NamedArrays &arrays) {
  if (is_archive(path)) return npz::pending(path, arrays);
  const Array &array = arrays.at(0).second;
  switch (kind_of_name(path)) {
  case FileKind::Csv: return pending_csv(path, array);
  case FileKind::Png: return pending_png(path, array);
  case FileKind::Npy: break;
  }
  return npy::pending(path, array);
}

} // namespace broadloom::cli
