// See report.hpp.
#include "tools/prove/report.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace broadloom::prove {
namespace {

std::string trimmed(const std::string &cell) {
  const std::size_t first = cell.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return cell.substr(first, cell.find_last_not_of(' ') - first + 1);
}

Row cells_of(const std::string &line) {
  Row row;
  std::istringstream text(line.substr(1));
  for (std::string cell; std::getline(text, cell, '|');) row.push_back(trimmed(cell));
  return row;
}

std::string line_of(const Row &row) {
  std::string line = "|";
  for (const std::string &cell : row) line += ' ' + cell + " |";
  return line;
}

bool same_name(const Row &a, const Row &b) {
  return std::equal(a.begin(), a.begin() + 3, b.begin());
}

} // namespace

void update_table(const std::string &file, const std::string &name, const std::vector<Row> &rows,
                  const std::vector<std::string> &order) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("there is no file " + file);
  const std::string begin = "<!-- " + name + ": begin -->", end = "<!-- " + name + ": end -->";
  std::ostringstream before, after;
  std::vector<std::string> table;
  int part = 0;
  for (std::string line; std::getline(in, line);) {
    if (line == end) part = 2;
    if (part == 1)
      table.push_back(line);
    else
      (part == 0 ? before : after) << line << '\n';
    if (line == begin) part = 1;
  }
  if (part != 2 || table.size() < 2)
    throw std::runtime_error(file + " has no table between " + begin + " and " + end);

  std::vector<Row> all;
  for (std::size_t i = 2; i < table.size(); ++i) {
    const Row row = cells_of(table[i]);
    const auto anew = [&](const Row &other) { return same_name(row, other); };
    if (row.size() >= 3 && std::none_of(rows.begin(), rows.end(), anew)) all.push_back(row);
  }
  all.insert(all.end(), rows.begin(), rows.end());
  const auto place = [&](const Row &row) {
    return std::find(order.begin(), order.end(), row[0]) - order.begin();
  };
  std::stable_sort(all.begin(), all.end(), [&](const Row &a, const Row &b) {
    if (place(a) != place(b)) return place(a) < place(b);
    return std::pair(a[1], a[2]) < std::pair(b[1], b[2]);
  });

  std::ofstream out(file);
  out << before.str() << table[0] << '\n' << table[1] << '\n';
  for (const Row &row : all) out << line_of(row) << '\n';
  out << after.str();
}

} // namespace broadloom::prove
