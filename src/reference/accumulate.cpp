// See accumulate.hpp.
#include "reference/accumulate.hpp"

#include "ops/rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

namespace broadloom::reference {
namespace {

using ops::Row;
using ops::WritableRow;

// So many neighbours step together, so that memory is read in whole cache lines both where the
// folded elements lie side by side and where the kept ones do.
constexpr std::int64_t lanes = 32;
constexpr std::size_t largest_element = 16; // in bytes

// A sum of floats with the rounding errors of all additions kept: what an addition loses is a
// number of its own, which two more differences give exactly (Knuth's TwoSum, in extended
// precision). Infinities and NaN spoil the errors, not the plain sum.
struct FloatSum {
  long double sum = 0, errors = 0; // -0 stays where all is -0
  void add(long double x) {
    const long double next = sum + x, taken = next - sum;
    errors += (sum - (next - taken)) + (x - taken);
    sum = next;
  }
  double result() const { return double(std::isfinite(sum) && errors != 0 ? sum + errors : sum); }
};

struct FloatProduct {
  long double product = 1;
  void add(long double x) { product *= x; }
  double result() const { return double(product); }
};

// The states of some positions, which step together, line by line of the recipe.
class States {
public:
  explicit States(const Accumulation &what)
      : recipe_(what.recipe), accuracy_(what.accuracy), buffers_(2 * count_of_states() + lines()),
        values_(count_of_states() + recipe_.args.size()) {
    for (std::size_t k = 0; k < count_of_states(); ++k) {
      moves_.push_back(ops::row_conversion(recipe_.states[k], recipe_.states[k]));
      values_[k] = row(k, recipe_.states[k]);
    }
    for (std::size_t k = 0; k < lines(); ++k) {
      const ops::Code::Line &line = recipe_.step.lines[k];
      values_.push_back(row(2 * count_of_states() + k, line.dtype));
      switch (line.kind) {
      case ops::Code::Line::Kind::Literal: // once for all steps
        ops::store(buffers_[2 * count_of_states() + k].data(), line.dtype, line.literal);
        values_.back().step = 0;
        functions_.push_back(nullptr);
        break;
      case ops::Code::Line::Kind::Cast:
        functions_.push_back(ops::row_conversion(line.compute, line.dtype));
        break;
      case ops::Code::Line::Kind::Op:
        functions_.push_back(ops::row_function(line.op, line.compute));
        break;
      }
    }
  }

  // From these values, or where there are none from those of the recipe.
  void start(std::span<const Row> values, std::int64_t count) {
    count_ = count;
    for (std::size_t k = 0; k < count_of_states(); ++k) {
      Buffer first;
      ops::store(first.data(), recipe_.states[k], recipe_.start[k]);
      move(k, values.empty() ? Row{first.data(), 0} : values[k], values_[k]);
    }
  }

  // The values of the code: states, arguments, lines. The caller sets the arguments.
  std::span<Row> args() { return {values_.data() + count_of_states(), recipe_.args.size()}; }

  void step() {
    const std::size_t first_line = count_of_states() + recipe_.args.size();
    for (std::size_t k = 0; k < lines(); ++k) {
      if (functions_[k] == nullptr) continue;
      const ops::Code::Line &line = recipe_.step.lines[k];
      const Row args[] = {values_[line.args[0]], values_[line.args[1]], values_[line.args[2]]};
      functions_[k](args, writable(values_[first_line + k]), count_, accuracy_);
    }
    // Any value may be a result, old states too: none of them changes before all have been read.
    for (std::size_t k = 0; k < count_of_states(); ++k)
      move(k, values_[recipe_.step.results[k]], next(k));
    for (std::size_t k = 0; k < count_of_states(); ++k) move(k, next(k), values_[k]);
  }

  void write(std::size_t state, WritableRow out) const {
    moves_[state](&values_[state], out, count_, accuracy_);
  }

private:
  using Buffer = std::array<char, lanes * largest_element>;

  std::size_t count_of_states() const { return recipe_.states.size(); }
  std::size_t lines() const { return recipe_.step.lines.size(); }
  Row row(std::size_t buffer, DType dtype) const {
    return {buffers_[buffer].data(), std::int64_t(size_of(dtype))};
  }
  Row next(std::size_t state) const {
    return {buffers_[count_of_states() + state].data(), values_[state].step};
  }
  // The rows of values lie in our own buffers.
  static WritableRow writable(Row row) { return {const_cast<char *>(row.data), row.step}; }
  void move(std::size_t state, Row from, Row to) const {
    moves_[state](&from, writable(to), count_, accuracy_);
  }

  const ops::Recipe &recipe_;
  Accuracy accuracy_;
  std::vector<Buffer> buffers_; // of the states, the next states and the lines
  std::vector<Row> values_; // of the states, the arguments and the lines, as the code numbers them
  std::vector<ops::RowFunction> moves_;     // [state]
  std::vector<ops::RowFunction> functions_; // [line], null: a literal
  std::int64_t count_ = 0;                  // positions
};

// The nests of kept and of folded loops, each over the result, the arguments and the start values.
struct Nests {
  Nest kept, folded;
  Addresses at;

  explicit Nests(const Accumulation &what) {
    std::vector<Operand> operands{what.out};
    operands.insert(operands.end(), what.args.begin(), what.args.end());
    operands.insert(operands.end(), what.starts.begin(), what.starts.end());
    kept = nest_of(what.kept, operands);
    folded = nest_of(what.folded, operands);
    at = starts_of(operands);
    if (!what.reverse) return;
    for (Loop &loop : folded) {
      for (std::size_t k = 0; k < at.size(); ++k) {
        if (loop.count > 0) at[k] += (loop.count - 1) * loop.steps[k];
        loop.steps[k] = -loop.steps[k];
      }
    }
  }
};

std::vector<Row> rows_of(const Addresses &at, const Steps &steps, std::size_t first,
                         std::size_t count) {
  std::vector<Row> rows;
  for (std::size_t k = first; k < first + count; ++k) rows.push_back({at[k], steps[k]});
  return rows;
}

Block step_by_step(const Accumulation &what, const Nests &nests, const Workers &workers) {
  const auto states = std::make_shared<States>(what);
  return [&, states](const Addresses &at, std::int64_t count, const Steps &steps) {
    states->start(rows_of(at, steps, 1 + what.args.size(), what.starts.size()), count);
    for (std::size_t k = 0; k < what.args.size(); ++k) states->args()[k].step = steps[k + 1];
    for_each_row(nests.folded, at,
                 [&](const Addresses &here, std::int64_t elements, const Steps &along) {
                   for (std::int64_t e = 0; e < elements; ++e) {
                     if (workers.cancelled()) return;
                     for (std::size_t k = 0; k < what.args.size(); ++k)
                       states->args()[k].data = here[k + 1] + e * along[k + 1];
                     const WritableRow element{here[0] + e * along[0], steps[0]};
                     if (what.scan && what.exclusive) states->write(what.state, element);
                     states->step();
                     if (what.scan && !what.exclusive) states->write(what.state, element);
                   }
                 });
    if (!what.scan) states->write(what.state, {at[0], steps[0]});
  };
}

// Elements that lie far apart are then still in the first cache when those beside them are wanted.
constexpr std::int64_t chunk = 128;

template <class Total> void add(Total &total, Row row, DType type, std::int64_t count) {
  double x[chunk];
  ops::convert_row(row, type, {reinterpret_cast<char *>(x), sizeof *x}, DType::F64, count);
  Total local = total; // in registers
  for (std::int64_t k = 0; k < count; ++k) local.add(x[k]);
  total = local;
}

// Both parts of complex numbers are sums of their own.
template <class Total>
Block in_extended_precision(const Accumulation &what, const Nests &nests, const Workers &workers) {
  return [&](const Addresses &at, std::int64_t count, const Steps &steps) {
    const DType whole = what.recipe.states[0], part = real_dtype(whole);
    for (std::size_t offset = 0; offset < size_of(whole); offset += size_of(part)) {
      const std::uint64_t start =
          offset == 0 ? what.recipe.start[0].bits : what.recipe.start[0].imag;
      std::array<Total, lanes> totals;
      totals.fill({ops::as_f64(ops::convert({start}, part, DType::F64))});
      for_each_row(nests.folded, at,
                   [&](const Addresses &here, std::int64_t elements, const Steps &along) {
                     for (std::int64_t e = 0; e < elements && !workers.cancelled(); e += chunk) {
                       const char *first = here[1] + offset + e * along[1];
                       for (std::int64_t l = 0; l < count; ++l)
                         add(totals[std::size_t(l)], {first + l * steps[1], along[1]}, part,
                             std::min(chunk, elements - e));
                     }
                   });
      double results[lanes];
      for (std::int64_t l = 0; l < count; ++l) results[l] = totals[std::size_t(l)].result();
      ops::convert_row({reinterpret_cast<char *>(results), sizeof *results}, DType::F64,
                       {at[0] + offset, steps[0]}, part, count);
    }
  };
}

std::int64_t points_of(const Accumulation &what) {
  std::int64_t points = 1;
  for (std::size_t a = 0; a < what.kept.size(); ++a)
    points *= what.kept[a].count * what.folded[a].count;
  return points;
}

} // namespace

void run_accumulation(const Accumulation &what, const Workers &workers) {
  const Nests nests(what);
  const std::optional<ops::Op> op = ops::only_op(what.recipe);
  const DType type = what.recipe.states[0];
  // Where their order is free, sums and products of floats are not taken step by step: they are as
  // exact as can be.
  const bool plain = !what.scan && what.starts.empty() && what.recipe.has_combine();
  const auto make = [&]() -> Block {
    if (plain && op == ops::Op::Add && (is_float(type) || is_complex(type)))
      return in_extended_precision<FloatSum>(what, nests, workers);
    if (plain && op == ops::Op::Mul && is_float(type))
      return in_extended_precision<FloatProduct>(what, nests, workers);
    return step_by_step(what, nests, workers);
  };
  for_each_block(nests.kept, nests.at, lanes, points_of(what), workers, make);
}

} // namespace broadloom::reference
