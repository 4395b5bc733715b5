// From the layouts of a call to its Specialisation.
#pragma once

#include "jit/nest/setup.hpp"
#include "jit/nest/specialisation.hpp"

namespace broadloom::jit {

class PatternCache;

// The axes and shapes of operands with these layouts. Throws what check_outputs does, and E0102.
plan::Resolved resolve(const Setup &setup, kernel::Operands operands, kernel::Layouts &layouts);

// A plan that verifies. Throws InternalError.
plan::Plan make_plan(const Setup &setup, const kernel::Layouts &layouts,
                     const plan::Resolved &resolved, int threads, bool explain,
                     plan::Generality generality);

// `beside` is of the one whose place this one takes, or null.
std::shared_ptr<const Specialisation> specialise(const Setup &setup, PatternCache &patterns,
                                                 kernel::Operands operands, kernel::Lies lies,
                                                 std::uint64_t hash, Use use, CodeBeside *beside);

} // namespace broadloom::jit
