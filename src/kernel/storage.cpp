// See storage.hpp.
#include "kernel/storage.hpp"

#include "kernel/check.hpp"
#include "kernel/layouts.hpp"
#include "kernel/windows.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>

namespace broadloom::kernel {
namespace {

constexpr std::size_t most_entries = 1024; // of a table
constexpr int most_rounds = 4;             // where tables would be larger

// The first is the order as it was; then C, F, and those with another dim as the fastest.
std::vector<Layout> orders_of(const StoredArray &array) {
  std::vector<Layout> orders{array.layout};
  if (!array.is_free) return orders;
  const auto rank = std::size_t(array.layout.rank);
  const auto add = [&](const std::vector<std::size_t> &order) {
    const Layout layout = dense_in_order(array.layout, order);
    const auto is_same = [&](const Layout &other) {
      for (std::size_t d = 0; d < rank; ++d)
        if (layout.extents[d] > 1 && layout.strides[d] != other.strides[d]) return false;
      return true;
    };
    if (std::ranges::none_of(orders, is_same)) orders.push_back(layout);
  };
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t(0));
  add(order);
  std::ranges::reverse(order);
  add(order);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return array.layout.strides[a] > array.layout.strides[b];
  });
  for (std::size_t k = 0; k < rank; ++k) {
    std::vector<std::size_t> moved = order;
    std::rotate(moved.begin() + std::ptrdiff_t(k), moved.begin() + std::ptrdiff_t(k) + 1,
                moved.end());
    add(moved);
  }
  return orders;
}

// A kernel as it is seen here.
class Step {
public:
  Step(const StorageStep &step, std::span<const StoredArray> arrays) {
    const spec::TypedSpec &typed = *step.typed;
    axes_ = int(typed.axes.size());
    std::vector<Layout> layouts;
    for (const std::size_t input : step.inputs) layouts.push_back(arrays[input].layout);
    add_windows(typed, layouts);
    const std::vector<bool> read = elements_read(typed);
    for (std::size_t i = 0; i < typed.inputs.size(); ++i) {
      if (!read[i]) continue;
      const spec::TypedInput &input = typed.inputs[i];
      Operand &operand = add(step.inputs[typed.array_of(i)], layouts[i], input.dtype);
      if (!input.window) {
        walk(operand, input.axis_of_dim);
        continue;
      }
      for (std::size_t dim = 0; dim < input.window->forms.size(); ++dim)
        for (const auto &term : input.window->forms[dim].terms)
          operand.moves.push_back({term.axis, dim, term.times});
    }
    if (step.output < 0) return;
    const auto &output = typed.outputs[0];
    const auto array = std::size_t(step.output);
    walk(add(array, arrays[array].layout, output.dtype), output.axes);
  }

  bool touches(std::size_t array) const {
    return std::ranges::any_of(operands_, [&](const Operand &o) { return o.array == array; });
  }

  // `layout_of(array)`
  template <class LayoutOf> double cost(LayoutOf layout_of) const {
    // Along an axis on which the largest operand stands still nothing would be gained.
    const auto largest = std::ranges::max_element(operands_, {}, &Operand::bytes);
    std::optional<double> least;
    for (int axis = 0; axis < axes_; ++axis) {
      if (largest == operands_.end() || step_of(*largest, axis, layout_of(largest->array)) == 0)
        continue;
      double bytes = 0;
      for (const Operand &operand : operands_) {
        const std::int64_t step = step_of(operand, axis, layout_of(operand.array));
        bytes += operand.bytes * double(std::clamp<std::int64_t>(std::abs(step), 1, 4));
      }
      least = std::min(least.value_or(bytes), bytes);
    }
    return least.value_or(0);
  }

private:
  struct Move {
    int axis = 0;
    std::size_t dim = 0;
    std::int64_t times = 1;
  };
  struct Operand {
    std::size_t array = 0;
    double bytes = 0;
    std::vector<Move> moves;
  };
  static std::int64_t step_of(const Operand &operand, int axis, const Layout &layout) {
    std::int64_t step = 0;
    for (const Move &move : operand.moves)
      if (move.axis == axis && layout.extents[move.dim] > 1)
        step += move.times * layout.strides[move.dim];
    return step;
  }
  Operand &add(std::size_t array, const Layout &layout, DType dtype) {
    double elements = 1;
    for (const std::int64_t extent : layout.shape()) elements *= double(extent);
    return operands_.emplace_back(array, elements * double(size_of(dtype)), std::vector<Move>());
  }
  static void walk(Operand &operand, const std::vector<int> &axes) {
    for (std::size_t dim = 0; dim < axes.size(); ++dim)
      operand.moves.push_back({axes[dim], dim, 1});
  }

  int axes_ = 0;
  std::vector<Operand> operands_;
};

// A cost for each choice of some variables, the first of which changes fastest.
struct Table {
  std::vector<std::size_t> variables;
  std::vector<double> costs;
};

class OrderSearch {
public:
  OrderSearch(std::span<const StoredArray> arrays, std::span<const StorageStep> steps) {
    for (const StoredArray &array : arrays) {
      orders_.push_back(orders_of(array));
      if (orders_.back().size() > 1) variables_.push_back(orders_.size() - 1);
    }
    for (const StorageStep &step : steps) steps_.emplace_back(step, arrays);
    choice_.assign(arrays.size(), 0);
  }

  Storage run() {
    Storage made;
    made.bytes_before = made.bytes = total();
    if (!variables_.empty() && !eliminate()) improve();
    if (const double bytes = total(); bytes < made.bytes_before * 0.9)
      made.bytes = bytes;
    else
      choice_.assign(choice_.size(), 0);
    for (std::size_t a = 0; a < orders_.size(); ++a) made.layouts.push_back(orders_[a][choice_[a]]);
    return made;
  }

private:
  double total() const {
    double sum = 0;
    for (const Step &step : steps_) sum += cost(step);
    return sum;
  }
  double cost(const Step &step) const {
    return step.cost([&](std::size_t a) -> const Layout & { return orders_[a][choice_[a]]; });
  }
  std::size_t entries(std::span<const std::size_t> variables) const {
    std::size_t count = 1;
    for (const std::size_t v : variables) {
      count *= orders_[v].size();
      if (count > most_entries) return most_entries + 1;
    }
    return count;
  }
  // Sets choice_ to the entry.
  void choose(std::span<const std::size_t> variables, std::size_t entry) {
    for (const std::size_t v : variables) {
      choice_[v] = entry % orders_[v].size();
      entry /= orders_[v].size();
    }
  }
  std::size_t entry_of(std::span<const std::size_t> variables) const {
    std::size_t entry = 0, times = 1;
    for (const std::size_t v : variables) {
      entry += times * choice_[v];
      times *= orders_[v].size();
    }
    return entry;
  }

  // The others of the tables that hold a variable.
  static std::vector<std::size_t> neighbours(const std::vector<Table> &tables,
                                             std::size_t variable) {
    std::vector<std::size_t> found;
    for (const Table &table : tables) {
      if (std::ranges::count(table.variables, variable) == 0) continue;
      for (const std::size_t other : table.variables)
        if (other != variable && std::ranges::count(found, other) == 0) found.push_back(other);
    }
    return found;
  }

  bool eliminate() {
    std::vector<Table> tables;
    for (const Step &step : steps_) {
      Table table;
      for (const std::size_t v : variables_)
        if (step.touches(v)) table.variables.push_back(v);
      const std::size_t count = entries(table.variables);
      if (count > most_entries) return false;
      for (std::size_t entry = 0; entry < count; ++entry) {
        choose(table.variables, entry);
        table.costs.push_back(cost(step));
      }
      tables.push_back(std::move(table));
    }
    struct Eliminated {
      std::size_t variable;
      std::vector<std::size_t> others;
      std::vector<std::size_t> best; // [entry of the others]
    };
    std::vector<Eliminated> done;
    std::vector<std::size_t> left = variables_;
    while (!left.empty()) {
      const auto next = std::ranges::min_element(
          left, {}, [&](std::size_t v) { return neighbours(tables, v).size(); });
      Eliminated made{*next, neighbours(tables, *next), {}};
      left.erase(next);
      const std::size_t count = entries(made.others);
      if (count > most_entries) {
        choice_.assign(choice_.size(), 0);
        return false;
      }
      Table sum{made.others, {}};
      std::vector<Table> mine;
      for (std::size_t t = 0; t < tables.size();) {
        if (std::ranges::count(tables[t].variables, made.variable) == 0) {
          ++t;
          continue;
        }
        mine.push_back(std::move(tables[t]));
        tables.erase(tables.begin() + std::ptrdiff_t(t));
      }
      for (std::size_t entry = 0; entry < count; ++entry) {
        choose(made.others, entry);
        double least = std::numeric_limits<double>::infinity();
        std::size_t best = 0;
        for (std::size_t k = 0; k < orders_[made.variable].size(); ++k) {
          choice_[made.variable] = k;
          double bytes = 0;
          for (const Table &table : mine) bytes += table.costs[entry_of(table.variables)];
          if (bytes < least) least = bytes, best = k; // of those as good the first
        }
        sum.costs.push_back(least);
        made.best.push_back(best);
      }
      tables.push_back(std::move(sum));
      done.push_back(std::move(made));
    }
    for (auto made = done.rbegin(); made != done.rend(); ++made)
      choice_[made->variable] = made->best[entry_of(made->others)];
    return true;
  }

  // From the orders as they were, each in turn.
  void improve() {
    choice_.assign(choice_.size(), 0);
    bool changed = true;
    for (int round = 0; round < most_rounds && changed; ++round) {
      changed = false;
      for (const std::size_t v : variables_) {
        const std::size_t before = choice_[v];
        double least = std::numeric_limits<double>::infinity();
        std::size_t best = before;
        for (std::size_t k = 0; k < orders_[v].size(); ++k) {
          choice_[v] = k;
          double bytes = 0;
          for (const Step &step : steps_)
            if (step.touches(v)) bytes += cost(step);
          if (bytes < least) least = bytes, best = k;
        }
        choice_[v] = best;
        changed = changed || best != before;
      }
    }
  }

  std::vector<std::vector<Layout>> orders_; // [array]
  std::vector<std::size_t> variables_;      // arrays that have several
  std::vector<Step> steps_;
  std::vector<std::size_t> choice_; // [array]
};

} // namespace

Storage choose_storage(std::span<const StoredArray> arrays, std::span<const StorageStep> steps) {
  return OrderSearch(arrays, steps).run();
}

} // namespace broadloom::kernel
