// See files.hpp.
#include "tools/broadloom/data/files.hpp"

#include "support/text.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace broadloom::cli {
namespace {

constexpr std::string_view space = " \t\r";

// What stands between commas or semicolons, or, where there are none, between spaces. Such a mark at the end of a line ends it.
std::vector<std::string> fields_of(const std::string &line) {
  const bool marked = line.find_first_of(",;") != line.npos;
  const std::string_view between = marked ? ",;" : space;
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(between, at), line.size());
    const std::size_t first = std::min(line.find_first_not_of(space, at), end);
    const std::size_t last = line.find_last_not_of(space, end - 1);
    const bool none = first == end;
    const bool rest = line.find_first_not_of(space, at) == line.npos; // behind the last mark
    if (!none) words.push_back(line.substr(first, last + 1 - first));
    if (none && marked && !rest) words.emplace_back();
    at = end + 1;
  }
  return words;
}

// Without the sign of `+1`, which from_chars does not read.
bool is_number(std::string &word) {
  const std::size_t sign = word.starts_with('+') ? 1 : 0;
  double value = 0;
  const auto [stop, error] = std::from_chars(word.data() + sign, word.data() + word.size(), value);
  if (error == std::errc::invalid_argument || stop != word.data() + word.size()) return false;
  word.erase(0, sign);
  return true;
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
    std::vector<std::string> words = fields_of(line);
    const auto wrong = std::ranges::find_if_not(words, is_number);
    const bool fine = wrong == words.end();
    if (words.empty() || (number == 1 && std::ranges::none_of(words, is_number)))
      continue; // a heading
    if (!fine || (columns >= 0 && columns != std::int64_t(words.size())))
      throw DataError(
          "E0302",
          fine ? fmt::format("line {} of '{}' has {}, those before have {}", number, path,
                             support::count(std::int64_t(words.size()), "number"), columns)
               : fmt::format("'{}' in line {} of '{}' is no number", *wrong, number, path),
          {},
          "a .csv file has as many numbers in each line, with commas between; a heading, which is "
          "the first line, holds none");
    columns = std::int64_t(words.size());
    ++rows;
    std::ranges::move(words, std::back_inserter(list.words));
  }
  list.extents = {rows};
  if (columns > 1) list.extents.push_back(columns);
  return list;
}

void write_csv(const std::string &path, const Array &array) {
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
  std::ofstream file(path);
  if (!(file << text) || !file.flush())
    throw DataError("E0303", fmt::format("'{}' cannot be written", path), {},
                    "check that the folder is there and may be written to");
}

} // namespace broadloom::cli
