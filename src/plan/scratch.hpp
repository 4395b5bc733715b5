// When the arrays between phases are used: those that are never used at once share memory.
#pragma once

#include "loop/loop.hpp"
#include "support/lifetimes.hpp"

#include <span>
#include <vector>

namespace broadloom::plan {

// [scratch array] from the first to the last phase that stores, loads or hands on in it. `bytes`
// are how large they are. `runs_at`, [phase]: the phase that it runs together with, which is it or
// an earlier one; an array of it is in use from there on.
std::vector<support::Lifetime> scratch_lifetimes(const loop::Program &program,
                                                 std::span<const std::int64_t> bytes,
                                                 std::span<const std::size_t> runs_at);

} // namespace broadloom::plan
