// What a typed value reads.
#pragma once

#include "spec/spec.hpp"

#include <span>

namespace broadloom::spec {

// [input], windows among them: those whose elements the values hold, and those whose shape they
// have or ask for, as u of `sum(e, like=u[i + 1])` and of `iota(i, of=u)`. An input may be both.
struct InputsOf {
  std::vector<bool> read, like;
};
InputsOf inputs_of(const TypedSpec &spec, std::span<const expr::NodeId> values);

// [given input]: those whose elements say positions of what it reads, or of what it has the shape
// of.
std::vector<bool> positions_needed(const TypedSpec &spec, expr::NodeId value);

// [given input]: those of which the value needs elements, through windows, as an index of a gather
// or as they are.
std::vector<bool> arrays_needed(const TypedSpec &spec, expr::NodeId value);

} // namespace broadloom::spec
