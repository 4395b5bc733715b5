// Inside the gradient stage: the kernel of directional derivatives of a kernel without lets that are arrays.
#pragma once

#include "spec/spec.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::grad {

struct JvpRequest {
  std::vector<std::string> wrt, of;
  bool value = false;
  // What the tangents of inputs and outputs are called.
  std::unordered_map<std::string, std::string> names;
  bool plain = false; // outputs become lets, and have no modes
};

// Throws as `jvp` does.
SpecData directional(const SpecData &data, const JvpRequest &request);

// The tangent of an input: it has its shape and dtype.
std::shared_ptr<const InputDecl> tangent_of(const InputDecl &input, const std::string &name);

} // namespace broadloom::grad
