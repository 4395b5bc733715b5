// Whether each `update` is one of a state of the kernel, and the only one.
#pragma once

#include "spec/spec.hpp"

#include <memory>
#include <vector>

namespace broadloom::spec {

// Throws SpecError E0041 (no state), E0042 (twice). What the update's value is, `analyse` sees.
void check_updates(const SpecData &data,
                   const std::vector<std::shared_ptr<const InputDecl>> &declared);

} // namespace broadloom::spec
