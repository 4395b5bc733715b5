// Counts stores by going through the loops as they run, without computing anything: see loop.hpp.
//
// Loops depend on no data, so the addresses of all stores follow from the numbers alone. Only loops
// with stores to the output are walked.
#include "loop/loop.hpp"
#include "support/check.hpp"

#include <algorithm>

namespace broadloom::loop {
namespace {

class Counter {
public:
  Counter(const Program &program, const Numbers &numbers, std::uint32_t output)
      : p_(program), numbers_(numbers), output_(output), positions_(p_.axes.size(), 0) {
    std::int64_t low = 0, high = 0; // of the offsets that its walks can reach
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (!is_output({std::uint32_t(b)})) continue;
      std::int64_t from = 0, to = 0;
      for (const Walk &w : p_.buffers[b].walks) {
        const std::int64_t last = numbers_.extents[w.axis.index] - 1;
        const std::int64_t reach = std::max<std::int64_t>(last, 0) * stride(b, w.axis);
        (reach < 0 ? from : to) += reach;
      }
      low = std::min(low, from);
      high = std::max(high, to);
    }
    low_ = low;
    counts_.assign(std::size_t(high - low + 1), 0);
  }

  void run() {
    for (const Phase &phase : p_.phases) body(phase.body);
  }

  std::uint8_t at(std::int64_t offset) const {
    const std::int64_t place = offset - low_;
    return place >= 0 && place < std::int64_t(counts_.size()) ? counts_[std::size_t(place)] : 0;
  }

  std::int64_t all() const { return stores_; }

private:
  bool is_output(BufferId id) const {
    return p_[id].role == Role::Output && p_[id].operand == output_;
  }
  std::int64_t stride(std::size_t buffer, AxisId axis) const {
    return numbers_.strides[buffer * p_.axes.size() + axis.index];
  }

  bool stores(const std::vector<Stmt> &statements) const {
    return std::any_of(statements.begin(), statements.end(), [&](const Stmt &s) {
      return s.kind == StmtKind::Loop  ? stores(p_[s.loop].body)
             : s.kind == StmtKind::Set ? is_output(s.buffer)
                                       : false;
    });
  }

  void body(const std::vector<Stmt> &statements) {
    for (const Stmt &s : statements) {
      if (s.kind == StmtKind::Set && is_output(s.buffer)) {
        std::int64_t offset = -low_;
        for (const Walk &w : p_[s.buffer].walks)
          offset += positions_[w.axis.index] * stride(s.buffer.index, w.axis);
        support::check(offset >= 0 && offset < std::int64_t(counts_.size()),
                       "a store outside of an output");
        std::uint8_t &count = counts_[std::size_t(offset)];
        count = std::uint8_t(std::min(count + 1, 2));
        ++stores_;
      } else if (s.kind == StmtKind::Loop && stores(p_[s.loop].body)) {
        loop(p_[s.loop]);
      }
    }
  }

  void loop(const Loop &l) {
    std::int64_t begin = 0, end = numbers_.extents[l.axis.index];
    if (l.within) {
      const std::int64_t chunk = numbers_.chunks[l.axis.index];
      begin = positions_[l.within->index] * chunk;
      end = std::min(end, begin + chunk);
    }
    for (std::int64_t p = begin; p < end; ++p) {
      positions_[l.axis.index] = p;
      body(l.body);
    }
  }

  const Program &p_;
  const Numbers &numbers_;
  const std::uint32_t output_;
  std::int64_t low_ = 0;
  std::vector<std::int64_t> positions_; // [axis]
  std::vector<std::uint8_t> counts_;    // [offset - low_]
  std::int64_t stores_ = 0;
};

} // namespace

Writes count_writes(const Program &program, const Numbers &numbers, std::uint32_t output,
                    const Layout &layout) {
  Counter counter(program, numbers, output);
  counter.run();
  Writes writes;
  std::vector<std::int64_t> place(std::size_t(layout.rank), 0);
  const std::int64_t elements = element_count(layout);
  for (std::int64_t k = 0; k < elements; ++k) {
    std::int64_t offset = 0, rest = k;
    for (int d = layout.rank; d-- > 0;) {
      const auto dim = std::size_t(d);
      offset += rest % layout.extents[dim] * layout.strides[dim];
      rest /= layout.extents[dim];
    }
    const int count = counter.at(offset);
    if (count != 1 && writes.first < 0) writes.first = k;
    writes.never += count == 0;
    writes.again += count == 2;
  }
  writes.elements = elements;
  writes.stores = counter.all();
  return writes;
}

} // namespace broadloom::loop
