// Whether every axis that windows walk gets an extent at a call, whatever the shapes.
#pragma once

#include "spec/spec.hpp"

namespace broadloom::spec {

// Throws ShapeError E0141 where nothing gives an axis its extent: x[i + u] alone is inside for more
// than one choice.
void check_windows(const TypedSpec &spec);

} // namespace broadloom::spec
