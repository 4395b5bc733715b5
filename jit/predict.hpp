// How long a call is going to take: how loops and phases run, for plan::predict.
#pragma once

#include "block/block.hpp"
#include "plan/predict.hpp"
#include "support/rates.hpp"

#include <broadloom/kernel.hpp>

namespace broadloom::jit {

Prediction predict(const detail::KernelImpl &kernel);

Prediction predict(const loop::Program &program, const block::Program &blocks,
                   const plan::Binding &binding, std::span<const plan::InputMemory> inputs,
                   const support::Machine &machine, const support::Rates &rates);

} // namespace broadloom::jit
