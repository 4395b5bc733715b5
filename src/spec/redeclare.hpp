// A kernel over other declarations of its inputs: all that reads these reads the new ones, itself
// or through a window.
//
//   in x : f32[:, :]      in x : f32[i0, i1]
//   out s = sum(x, 0)     out s = sum(x, i0)
#pragma once

#include "spec/spec.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::spec {

using Decls = std::unordered_map<std::string, std::shared_ptr<const InputDecl>>; // by name

// `data` has all inputs declared; `changed` are some of them, no windows. `labels`: what the axes
// are called that values name by number; empty where these stay.
SpecData redeclared(const SpecData &data, const Decls &changed,
                    const std::vector<std::string> &labels = {});

} // namespace broadloom::spec
