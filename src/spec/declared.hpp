// The inputs of a kernel in declared order: what positions in a call, the iteration space and the
// printed text go by.
//
//   auto price = bl::input("price", bl::f64, {"i"}), vol = bl::input("vol", bl::f64, {"i"});
//   spec.out("z", vol * price)       // declared: price, vol, however the expressions read them
#pragma once

#include "spec/spec.hpp"

#include <memory>
#include <vector>

namespace broadloom::spec {

// Those that `in` declares, in its order; then those that are only read, in the order in which
// bl::input made them; then the windows of all these, in the order in which they are read. Of
// several that have one name, the first.
std::vector<std::shared_ptr<const InputDecl>> declared_inputs(const SpecData &data);

} // namespace broadloom::spec
