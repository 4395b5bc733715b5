// The inputs of the reference with the lets that are arrays behind them, each as it evaluates it.
#pragma once

#include "reference/loops.hpp"
#include "reference/time_loop.hpp"

#include <deque>
#include <span>
#include <vector>

namespace broadloom::reference {

class WithLets {
public:
  WithLets(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
           const EvaluateOne &evaluate);
  std::span<const AnyView> views() const { return views_; }

private:
  std::deque<Array> arrays_;
  std::vector<AnyView> views_;
};

// [let]: how the lets of a kernel lie, for the inputs of its caller.
std::vector<Layout> layouts_of_lets(const spec::TypedSpec &spec, std::span<const Layout> inputs);

// The inputs of a call and behind them the lets that this kernel reads, each lying in C order; with
// all of them, as they are.
std::vector<Layout> with_lets(const spec::TypedSpec &spec, std::span<const Layout> inputs);

// The shapes of the outputs, without computing them.
std::vector<std::vector<std::int64_t>> output_shapes(const spec::TypedSpec &spec,
                                                     std::span<const Layout> inputs);

} // namespace broadloom::reference
