// See saved_within.hpp. Of each value a vertex "needed", of each work a vertex "done":
//
//   source -> needed, uncuttable           of what is wanted
//   needed -> done, price times bytes      cut: it is saved
//   done -> needed, uncuttable             of what the work reads
//   done -> sink, operations               cut: it is computed again
#include "grad/saved_within.hpp"

#include "support/min_cut.hpp"

#include <algorithm>

namespace broadloom::grad {
namespace {

using support::MinCut;

class Chooser {
public:
  Chooser(const std::vector<ForwardValue> &values, const std::vector<ForwardWork> &work,
          std::int64_t bytes)
      : values_(values), work_(work), bytes_(bytes) {}

  std::vector<bool> run() {
    std::vector<bool> best = with_price(0);
    if (fits(best)) return best;
    double low = 0, high = 1; // operations a byte
    best = with_price(high);
    for (int k = 0; k < 200 && !fits(best); ++k) best = with_price(high *= 4);
    for (int k = 0; k < 60; ++k) {
      const double middle = (low + high) / 2;
      const std::vector<bool> saved = with_price(middle);
      fits(saved) ? (best = saved, high = middle) : low = middle;
    }
    fill(best);
    return best;
  }

private:
  std::int64_t bytes_of(const std::vector<bool> &saved) const {
    std::int64_t bytes = 0;
    for (std::size_t v = 0; v < values_.size(); ++v)
      if (saved[v]) bytes += values_[v].bytes;
    return bytes;
  }
  bool fits(const std::vector<bool> &saved) const { return bytes_of(saved) <= bytes_; }

  std::vector<bool> with_price(double price) const {
    const std::size_t source = values_.size() + work_.size(), sink = source + 1;
    MinCut cut(sink + 1);
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const ForwardValue &value = values_[v];
      if (value.wanted) cut.add_edge(source, v, MinCut::uncuttable);
      cut.add_edge(v, done(value.made_by), saving(value, price));
    }
    for (std::size_t w = 0; w < work_.size(); ++w) {
      cut.add_edge(done(w), sink, work_[w].operations);
      for (const std::size_t v : work_[w].needs) cut.add_edge(done(w), v, MinCut::uncuttable);
    }
    cut.cut(source, sink);
    std::vector<bool> saved(values_.size());
    for (std::size_t v = 0; v < values_.size(); ++v)
      saved[v] = cut.with_source(v) && !cut.with_source(done(values_[v].made_by));
    return saved;
  }
  std::size_t done(std::size_t work) const { return values_.size() + work; }
  // A byte costs a little in any case: what is as cheap to compute again is not saved.
  static double saving(const ForwardValue &value, double price) {
    if (value.must_be_saved) return 0;
    if (!value.may_be_saved) return MinCut::uncuttable;
    return (price + 1e-6) * double(value.bytes);
  }

  // One after the other, while any fits that saves operations.
  void fill(std::vector<bool> &saved) const {
    for (std::size_t rounds = 0; rounds < most_rounds; ++rounds) {
      const double now = computed_again(values_, work_, saved);
      const std::int64_t left = bytes_ - bytes_of(saved);
      std::size_t found = values_.size();
      double most = 0;
      for (std::size_t v = 0; v < values_.size(); ++v) {
        if (saved[v] || !values_[v].may_be_saved || values_[v].bytes > left) continue;
        saved[v] = true;
        const double fewer = now - computed_again(values_, work_, saved);
        saved[v] = false;
        const double each = fewer / std::max(1.0, double(values_[v].bytes));
        if (each > most) most = each, found = v;
      }
      if (found == values_.size()) return;
      saved[found] = true;
    }
  }

  static constexpr std::size_t most_rounds = 64;
  const std::vector<ForwardValue> &values_;
  const std::vector<ForwardWork> &work_;
  const std::int64_t bytes_;
};

} // namespace

std::vector<bool> saved_within(const std::vector<ForwardValue> &values,
                               const std::vector<ForwardWork> &work, std::int64_t bytes) {
  return Chooser(values, work, bytes).run();
}

double computed_again(const std::vector<ForwardValue> &values, const std::vector<ForwardWork> &work,
                      const std::vector<bool> &saved) {
  std::vector<bool> done(work.size());
  std::vector<std::size_t> open;
  const auto need = [&](std::size_t v) {
    const std::size_t w = values[v].made_by;
    if (saved[v] || done[w]) return;
    done[w] = true;
    open.push_back(w);
  };
  double operations = 0;
  for (std::size_t v = 0; v < values.size(); ++v)
    if (values[v].wanted) need(v);
  while (!open.empty()) {
    const std::size_t w = open.back();
    open.pop_back();
    operations += work[w].operations;
    for (const std::size_t v : work[w].needs) need(v);
  }
  return operations;
}

} // namespace broadloom::grad
