// The inputs of the reference with the lets that are arrays behind them, each as it evaluates it.
#pragma once

#include "reference/loops.hpp"
#include "reference/reference.hpp"
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

} // namespace broadloom::reference
