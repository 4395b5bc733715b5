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

// The words of a line; false where one is no number.
bool read_row(const std::string &line, std::vector<std::string> &words) {
  constexpr std::string_view between = ",; \t\r";
  for (std::size_t at = line.find_first_not_of(between); at != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(between, at), line.size());
    words.push_back(line.substr(at, end - at));
    const std::string &word = words.back();
    const std::size_t sign = word[0] == '+' ? 1 : 0;
    double value = 0;
    const auto [stop, error] =
        std::from_chars(word.data() + sign, word.data() + word.size(), value);
    if (error == std::errc::invalid_argument || stop != word.data() + word.size()) return false;
    if (sign == 1) words.back().erase(0, 1);
    at = line.find_first_not_of(between, end);
  }
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
    std::vector<std::string> words;
    const bool fine = read_row(line, words);
    if (words.empty() || (!fine && rows == 0 && number == 1)) continue; // a heading
    if (!fine || (columns >= 0 && columns != std::int64_t(words.size())))
      throw DataError(
          "E0302",
          fine ? fmt::format("line {} of '{}' has {}, those before have {}", number, path,
                             support::count(std::int64_t(words.size()), "number"), columns)
               : fmt::format("'{}' in line {} of '{}' is no number", words.back(), number, path),
          {}, "a .csv file has as many numbers in each line, with commas between");
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

Array entry_of(const std::string &path, const std::string &entry) {
  std::vector<std::string> names;
  for (auto &[name, array] : load_npz(path)) {
    if (name == entry) return array;
    names.push_back(name);
  }
  throw DataError("E0304", fmt::format("'{}' has no array '{}'", path, entry), {},
                  names.empty() ? "it is empty" : "it has " + support::quoted_list(names));
}

} // namespace broadloom::cli
