// How long a call is going to take: how loops and phases run, for plan::predict.
#pragma once

#include "block/block.hpp"
#include "plan/predict.hpp"
#include "support/rates.hpp"

#include <broadloom/kernel.hpp>

namespace broadloom::jit {

class Nest;

// Of a call: its nests, and what is copied around them. Only nests have phases.
Prediction predict(const detail::KernelImpl &kernel);
// Of the kernel's own nest alone, without lets and copies.
Prediction predict_nest(const Nest &nest);

Prediction predict(const loop::Program &program, const block::Program &blocks,
                   const plan::Binding &binding, const plan::OperandMemory &memory,
                   const support::Machine &machine, const support::Rates &rates);

} // namespace broadloom::jit
