// The table of values: what NumPy 2 gives (or, where Broadloom differs on purpose, what it
// promises), for every elementwise operation and every type, in every engine. generate.py writes
// the tables and explains their form.
#include "jit/native/target.hpp"
#include "ops/ops.hpp"
#include "tests/places.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace broadloom {
namespace {

struct Column { // the values of an operand or a result
  DType dtype = DType::F64;
  std::vector<ops::Scalar> values;
};

struct Row {
  std::string expression;
  bool is_error = false;
  int ulps = 0;
  Column result;
};

struct Block {
  std::vector<Column> operands; // x, and y where there is one
  std::vector<Row> rows;
};

ops::Scalar scalar(const std::string &word, DType dtype) {
  if (is_complex(dtype)) {
    const std::size_t colon = word.find(':');
    const DType part = real_dtype(dtype);
    return {scalar(word.substr(0, colon), part).bits, scalar(word.substr(colon + 1), part).bits};
  }
  if (is_float(dtype))
    return ops::convert(ops::scalar_from(std::strtod(word.c_str(), nullptr)), DType::F64, dtype);
  if (is_unsigned_integer(dtype)) return {std::strtoull(word.c_str(), nullptr, 10)};
  return {std::uint64_t(std::strtoll(word.c_str(), nullptr, 10))};
}

Column column(std::istream &words) {
  std::string word;
  words >> word;
  const auto dtype = dtype_from_name(word);
  REQUIRE_MESSAGE(dtype, "not a type: ", word);
  Column column{*dtype, {}};
  while (words >> word)
    if (word != "=") column.values.push_back(scalar(word, *dtype));
  return column;
}

Row row(const std::string &line) {
  const std::size_t colon = line.rfind(" : ");
  REQUIRE_MESSAGE(colon != std::string::npos, line);
  Row row{line.substr(0, colon), false, 0, {}};
  std::string rest = line.substr(colon + 3);
  row.is_error = rest == "error";
  if (row.is_error) return row;
  if (const std::size_t tilde = rest.find('~'); tilde != std::string::npos) {
    row.ulps = rest[tilde + 1] - '0';
    rest.erase(tilde, 2);
  }
  std::istringstream words(rest);
  row.result = column(words);
  return row;
}

// All pairs, y fastest.
void make_grid(Block &block) {
  const std::vector<ops::Scalar> values = block.operands[0].values;
  for (Column &c : block.operands) c.values.clear();
  for (const ops::Scalar x : values)
    for (const ops::Scalar y : values) {
      block.operands[0].values.push_back(x);
      block.operands[1].values.push_back(y);
    }
}

std::vector<Block> blocks_of(const std::string &name) {
  std::ifstream file(std::string(BROADLOOM_SOURCE_DIR) + "/tests/values/" + name);
  REQUIRE(file.good());
  std::vector<Block> blocks;
  bool is_grid = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line == "grid") {
      is_grid = true;
    } else if (line.find(" : ") != std::string::npos) {
      if (is_grid) make_grid(blocks.back());
      is_grid = false;
      blocks.back().rows.push_back(row(line));
    } else {
      std::istringstream words(line);
      std::string operand;
      words >> operand;
      if (operand == "x") blocks.emplace_back();
      blocks.back().operands.push_back(column(words));
    }
  }
  return blocks;
}

double number(ops::Scalar s, DType dtype) {
  return ops::as_f64(ops::convert(s, dtype, DType::F64));
}

std::string shown(ops::Scalar s, DType dtype) {
  if (is_complex(dtype))
    return shown({s.bits}, real_dtype(dtype)) + ":" + shown({s.imag}, real_dtype(dtype));
  std::ostringstream out;
  out.precision(17);
  if (is_float(dtype))
    out << number(s, dtype);
  else if (is_unsigned_integer(dtype))
    out << s.bits;
  else
    out << std::int64_t(s.bits);
  return out.str();
}

// Each part within so many units in the last place of the greater one; 0, inf and nan are exact.
bool is_near(ops::Scalar got, ops::Scalar expected, const Row &row) {
  const DType part = real_dtype(row.result.dtype);
  const double x[] = {number({got.bits}, part), number({got.imag}, part)};
  const double y[] = {number({expected.bits}, part), number({expected.imag}, part)};
  double size = 0;
  for (const double one : y)
    if (std::isfinite(one)) size = std::max(size, std::fabs(one));
  const int digits = part == DType::F32 ? 23 : 52;
  const double ulp = size > 0 ? std::ldexp(1.0, std::ilogb(size) - digits) : 0;
  for (int k = 0; k < 2; ++k) {
    if (std::isnan(x[k]) && std::isnan(y[k])) continue;
    const bool exact = y[k] == 0 || !std::isfinite(y[k]) || !std::isfinite(x[k]);
    if (exact && (x[k] != y[k] || std::signbit(x[k]) != std::signbit(y[k]))) return false;
    if (!exact && std::fabs(x[k] - y[k]) > row.ulps * ulp) return false;
  }
  return true;
}

bool agrees(ops::Scalar got, const ops::Scalar expected, const Row &row) {
  const DType dtype = row.result.dtype;
  if (got == expected) return true;
  if (is_complex(dtype) && row.ulps > 0) return is_near(got, expected, row);
  if (is_complex(dtype)) {
    Row part = row;
    part.result.dtype = real_dtype(dtype);
    return agrees({got.bits}, {expected.bits}, part) && agrees({got.imag}, {expected.imag}, part);
  }
  if (!is_float(dtype)) return false;
  const double x = number(got, dtype), y = number(expected, dtype);
  if (std::isnan(x) && std::isnan(y)) return true;
  if (row.ulps == 0 || y == 0 || !std::isfinite(y) || std::isnan(x)) return false;
  if (std::signbit(x) != std::signbit(y)) return false;
  const std::int64_t apart = std::int64_t(got.bits) - std::int64_t(expected.bits);
  return std::abs(apart) <= row.ulps;
}

// The kernel with an output for each row, run on the operands of the block.
class Run {
public:
  Run(const Block &block, std::vector<const Row *> rows, const Options &options)
      : block_(block), rows_(std::move(rows)), kernel_(compile(parse(text()), options)) {}

  // Counts the values that differ, and reports the first of each row.
  int differences(const std::string &engine) const {
    const auto n = std::int64_t(block_.operands[0].values.size());
    std::vector<Array> inputs;
    std::vector<NamedView> views;
    for (const Column &c : block_.operands) {
      inputs.emplace_back(c.dtype, std::initializer_list<std::int64_t>{n});
      for (std::int64_t k = 0; k < n; ++k)
        ops::store(at(inputs.back(), k), c.dtype, c.values[std::size_t(k)]);
      views.push_back({views.empty() ? "x" : "y", inputs.back()});
    }
    const Results results = kernel_.call(views);
    int count = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      count += differences(*rows_[r], results[r], engine);
    return count;
  }

private:
  static char *at(const Array &array, std::int64_t k) {
    return static_cast<char *>(array.raw()) + k * std::int64_t(size_of(array.dtype()));
  }

  std::string text() const {
    std::string text = "kernel k {\n";
    for (std::size_t k = 0; k < block_.operands.size(); ++k)
      text += std::string("in ") + "xy"[k] + " : " + std::string(name(block_.operands[k].dtype)) +
              "[i]\n";
    for (std::size_t r = 0; r < rows_.size(); ++r)
      text += "out z" + std::to_string(r) + " = " + rows_[r]->expression + "\n";
    return text + "}";
  }

  int differences(const Row &row, const Array &result, const std::string &engine) const {
    int count = 0;
    if (result.dtype() != row.result.dtype) {
      FAIL_CHECK(types() << ": " << row.expression << " is " << name(result.dtype()) << ", not "
                         << name(row.result.dtype));
      return 1;
    }
    for (std::size_t k = 0; k < row.result.values.size(); ++k) {
      const ops::Scalar got = ops::load(at(result, std::int64_t(k)), row.result.dtype);
      if (agrees(got, row.result.values[k], row)) continue;
      if (count++ > 0) continue;
      std::string operands;
      for (const Column &c : block_.operands) operands += " " + shown(c.values[k], c.dtype);
      FAIL_CHECK(types() << ": " << row.expression << " of" << operands << ": " << engine
                         << " gives " << shown(got, row.result.dtype) << ", the table "
                         << shown(row.result.values[k], row.result.dtype));
    }
    return count;
  }

  std::string types() const {
    std::string text;
    for (const Column &c : block_.operands)
      text += (text.empty() ? "" : " ") + std::string(name(c.dtype));
    return text;
  }

  const Block &block_;
  std::vector<const Row *> rows_;
  Kernel kernel_;
};

struct Way {
  std::string name;
  Options options;
};

std::vector<Way> ways() {
  std::vector<Way> all{{"the reference", {.threads = 1, .engine = Engine::reference}},
                       {"the interpreter", {.threads = 1, .engine = Engine::interpreter}}};
  for (const std::string &target : jit::targets_here())
    all.push_back({target, {.threads = 1, .target = target, .engine = Engine::jit}});
  return all;
}

void check_errors(const Block &block) {
  for (const Row &row : block.rows) {
    if (!row.is_error) continue;
    std::string text = "kernel k { in x : " + std::string(name(block.operands[0].dtype)) + "[i]\n";
    if (block.operands.size() > 1)
      text += "in y : " + std::string(name(block.operands[1].dtype)) + "[i]\n";
    text += "out z = " + row.expression + " }";
    INFO(text);
    CHECK_THROWS_AS(check(parse(text)), DTypeError);
  }
}

// Every row of a table in every engine: all rows of a block in one kernel, or each in its own.
void check_table(const std::string &name, bool one_by_one) {
  std::size_t values = 0, differences = 0;
  for (const Block &block : blocks_of(name)) {
    check_errors(block);
    std::vector<const Row *> rows;
    for (const Row &row : block.rows) {
      if (row.is_error) continue;
      REQUIRE(row.result.values.size() == block.operands[0].values.size());
      rows.push_back(&row);
      values += row.result.values.size();
    }
    for (const Way &way : ways()) {
      if (!one_by_one) differences += Run(block, rows, way.options).differences(way.name);
      if (one_by_one)
        for (const Row *row : rows)
          differences += Run(block, {row}, way.options).differences(way.name);
    }
  }
  MESSAGE(name << ": " << values << " values");
  CHECK(differences == 0);
}

TEST_CASE("functions of one operand have the values of the table") {
  check_table("unary.txt", false);
}
TEST_CASE("operations have the values of the table at all pairs of values") {
  check_table("pairs.txt", true);
}
TEST_CASE("operands of two types meet as in the table") { check_table("mixed.txt", false); }
TEST_CASE("complex numbers have the values of the table") { check_table("complex.txt", false); }
TEST_CASE("conversions have the values of the table") { check_table("casts.txt", false); }

} // namespace
} // namespace broadloom
