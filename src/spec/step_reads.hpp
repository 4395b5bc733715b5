// What a step of a loop over time reads of the lets of its loop: which one, how many steps back,
// and where (recurrence.hpp).
#pragma once

#include "spec/materialise.hpp"

#include <optional>

namespace broadloom::spec {

class StepReads {
public:
  StepReads(LetKernels lets, std::size_t first)
      : lets_(lets), first_(first), end_(first + lets[first]->recurrence->count) {}

  struct Read {
    std::size_t let = 0;
    std::int64_t back = 0;
    friend bool operator==(const Read &, const Read &) = default;
  };
  std::size_t first() const { return first_; }
  std::size_t end() const { return end_; }
  const TypedSpec &typed(std::size_t k) const { return lets_[k]->typed; }
  const Recurrence &recurrence(std::size_t k) const { return *lets_[k]->recurrence; }

  // Which let of the loop is read through this window of let k; none where it is no let of the
  // loop, or the window has the step elsewhere.
  std::optional<Read> through(std::size_t k, const TypedWindow &window) const;
  // The same where a node of let k is an element of that let, which has no axes but that of the
  // steps and those of let k, and its own ones at this very position.
  std::optional<Read> element(std::size_t k, expr::NodeId id) const;
  bool has_time(std::size_t k, const TypedWindow::Form &form) const;
  bool is_of_loop(std::size_t k, std::uint32_t array) const;

private:
  LetKernels lets_;
  std::size_t first_, end_;
};

} // namespace broadloom::spec
