// What computes a kernel, one of its lets or parts, from operands that are all there: for each
// layouts of them a loop nest.
#pragma once

#include "jit/nest/executor.hpp"
#include "jit/nest/layout_cache.hpp"
#include "jit/nest/patterns.hpp"
#include "jit/nest/setup.hpp"

#include <memory>
#include <vector>

namespace broadloom::jit {

class Nest {
public:
  // `ms` is the time that was taken so far.
  Nest(const LoopSpec &spec, spec::TypedSpec typed, const MadeFor &made_for, double ms = 0);

  // Operands are inputs with their windows, then outputs; their number is right.
  void run(kernel::Operands operands, kernel::Lies lies = {}) const;
  // Looks at layouts only.
  std::shared_ptr<const Specialisation> bind(kernel::Operands operands, kernel::Lies lies,
                                             Use use) const;

  // The layouts of a run with these inputs, those of a call and then lets, that allocates its
  // outputs; they may be without memory.
  kernel::Layouts allocated_layouts(kernel::Operands inputs) const;
  // The same of all inputs, what is lent too.
  kernel::Layouts layouts_of_given(kernel::Operands inputs) const;

  // What computes the values of sums through gathers; null where there are none.
  const Nest *before() const { return before_.get(); }
  // What computes parts of this kind: the nest, or one that is made when first asked for.
  const Nest &of_part(const kernel::PartId &id) const;

  // What the latest call chose for its windows; null before any. Calls note it for those who tell.
  void note_windows(std::shared_ptr<const kernel::WindowChoice> choice) const;
  std::shared_ptr<const kernel::WindowChoice> latest_windows() const;

  const Setup &setup() const { return setup_; }
  const spec::TypedSpec &typed() const { return setup_.typed; }
  const Executor &executor() const { return executor_; }
  PatternCache &patterns() const { return patterns_; }
  // What the latest call ran; null before any.
  std::shared_ptr<const Specialisation> latest() const { return layout_cache_.latest(); }
  Counters counters() const; // with those of its parts, and of what comes before it

private:
  bool run_again(const Specialisation *special, kernel::Operands operands, kernel::Lies lies) const;

  const Setup setup_;
  const Executor executor_;
  mutable LayoutCache layout_cache_;
  mutable PatternCache patterns_;
  const std::shared_ptr<const Nest> before_;
  struct Parts { // null until they are needed
    std::shared_ptr<const Nest> border, interior;
  };
  mutable support::Mutex mutex_;     // guards all below
  mutable std::vector<Parts> parts_; // [group]
  mutable std::shared_ptr<const kernel::WindowChoice> latest_windows_;
};

void add(Counters &sum, const Counters &more);

} // namespace broadloom::jit
