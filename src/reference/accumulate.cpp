// See accumulate.hpp.
#include "reference/accumulate.hpp"

#include "ops/rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace broadloom::reference {
namespace {

using ops::Row;
using ops::WritableRow;

// So many neighbours step together, so that memory is read in whole cache lines both where the folded
// elements lie side by side and where the kept ones do.
constexpr std::int64_t lanes = 32;
constexpr std::size_t largest_element = 16; // in bytes

// A sum of floats with the rounding errors of all additions kept (Neumaier's scheme, in extended
// precision). Infinities and NaN spoil the errors, not the plain sum.
struct FloatSum {
  long double sum = 0, errors = 0;
  void add(long double x) {
    const long double next = sum + x;
    errors += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  double result() const { return double(std::isfinite(sum) ? sum + errors : sum); }
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
      : recipe_(what.recipe), accuracy_(what.accuracy), states_(recipe_.states.size()),
        next_(states_.size()), lines_(recipe_.step.lines.size()) {
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      const ops::Code::Line &line = recipe_.step.lines[k];
      const bool literal = line.kind == ops::Code::Line::Kind::Literal;
      if (literal) ops::store(lines_[k].data(), line.dtype, line.literal);
      line_rows_.push_back({lines_[k].data(), literal ? 0 : std::int64_t(size_of(line.dtype))});
    }
  }

  // From these values, or where there are none from those of the recipe.
  void start(std::span<const Row> values, std::int64_t count) {
    count_ = count;
    for (std::size_t k = 0; k < states_.size(); ++k) {
      Buffer first;
      ops::store(first.data(), recipe_.states[k], recipe_.start[k]);
      assign(states_[k], k, values.empty() ? Row{first.data(), 0} : values[k]);
    }
  }

  void step(std::span<const Row> args) {
    std::vector<Row> &values = values_; // as the code numbers them
    values.clear();
    for (std::size_t k = 0; k < states_.size(); ++k) values.push_back(row(k));
    values.insert(values.end(), args.begin(), args.end());
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      run_line(recipe_.step.lines[k], {lines_[k].data(), line_rows_[k].step});
      values.push_back(line_rows_[k]);
    }
    for (std::size_t k = 0; k < states_.size(); ++k)
      assign(next_[k], k, values[recipe_.step.results[k]]);
    std::swap(states_, next_);
  }

  void write(std::size_t state, WritableRow out) const {
    const DType type = recipe_.states[state];
    ops::convert_row(row(state), type, out, type, count_);
  }

private:
  using Buffer = std::array<char, lanes * largest_element>;

  Row row(std::size_t state) const {
    return {states_[state].data(), std::int64_t(size_of(recipe_.states[state]))};
  }
  void assign(Buffer &to, std::size_t state, Row value) const {
    const DType type = recipe_.states[state];
    ops::convert_row(value, type, {to.data(), std::int64_t(size_of(type))}, type, count_);
  }

  void run_line(const ops::Code::Line &line, WritableRow out) const {
    Row args[3];
    for (int k = 0; k < line.arg_count; ++k) args[k] = values_[line.args[k]];
    switch (line.kind) {
    case ops::Code::Line::Kind::Literal: break; // written once
    case ops::Code::Line::Kind::Cast:
      return ops::convert_row(args[0], line.compute, out, line.dtype, count_);
    case ops::Code::Line::Kind::Op:
      return ops::evaluate_row(line.op, line.compute, {args, std::size_t(line.arg_count)}, out,
                               count_, accuracy_);
    }
  }

  const ops::Recipe &recipe_;
  Accuracy accuracy_;
  std::vector<Buffer> states_, next_; // [state]
  std::vector<Buffer> lines_;         // [line]
  std::vector<Row> line_rows_;        // [line]
  std::vector<Row> values_;
  std::int64_t count_ = 0; // positions
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
    std::vector<Row> args = rows_of(at, steps, 1, what.args.size());
    for_each_row(nests.folded, at,
                 [&](const Addresses &here, std::int64_t elements, const Steps &along) {
                   for (std::int64_t e = 0; e < elements; ++e) {
                     if (workers.cancelled()) return;
                     for (std::size_t k = 0; k < args.size(); ++k)
                       args[k].data = here[k + 1] + e * along[k + 1];
                     const WritableRow element{here[0] + e * along[0], steps[0]};
                     if (what.scan && what.exclusive) states->write(what.state, element);
                     states->step(args);
                     if (what.scan && !what.exclusive) states->write(what.state, element);
                   }
                 });
    if (!what.scan) states->write(what.state, {at[0], steps[0]});
  };
}

// Both parts of complex numbers are sums of their own.
template <class Total>
Block in_extended_precision(const Accumulation &what, const Nests &nests, const Workers &workers) {
  return [&](const Addresses &at, std::int64_t count, const Steps &steps) {
    const DType whole = what.recipe.states[0], part = real_dtype(whole);
    for (std::size_t offset = 0; offset < size_of(whole); offset += size_of(part)) {
      std::array<Total, lanes> totals;
      const auto add_lanes = [&](const char *first, std::int64_t step) { // one element of each
        double x[lanes];
        ops::convert_row({first, step}, part, {reinterpret_cast<char *>(x), sizeof *x}, DType::F64,
                         count);
        for (std::int64_t l = 0; l < count; ++l) totals[std::size_t(l)].add(x[l]);
      };
      const auto add_elements = [&](Total &total, const char *first, std::int64_t step,
                                    std::int64_t n) {
        constexpr std::int64_t longest = 1024;
        double x[longest];
        for (std::int64_t e = 0; e < n; e += longest) {
          if (workers.cancelled()) return;
          const std::int64_t some = std::min(longest, n - e);
          ops::convert_row({first + e * step, step}, part, {reinterpret_cast<char *>(x), sizeof *x},
                           DType::F64, some);
          Total local = total; // in registers
          for (std::int64_t k = 0; k < some; ++k) local.add(x[k]);
          total = local;
        }
      };
      for_each_row(
          nests.folded, at, [&](const Addresses &here, std::int64_t elements, const Steps &along) {
            const char *first = here[1] + offset;
            if (std::abs(along[1]) <= std::abs(steps[1]) || count == 1)
              for (std::int64_t l = 0; l < count; ++l)
                add_elements(totals[std::size_t(l)], first + l * steps[1], along[1], elements);
            else
              for (std::int64_t e = 0; e < elements && !workers.cancelled(); ++e)
                add_lanes(first + e * along[1], steps[1]);
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
  const bool plain = !what.scan && what.starts.empty();
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
