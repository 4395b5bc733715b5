// Folds block by block.
#pragma once

#include "kernel.hpp"

namespace broadloom::python {

std::int64_t unit(State &state, const std::string &axis, nb::args args, nb::kwargs kwargs);
// The same for C-contiguous arrays of these shapes.
std::int64_t unit_of_shapes(State &state, const std::string &axis, const nb::sequence &shapes);
int rounds(const State &state, const std::string &axis);
nb::object partial(State &state, const nb::object &before, std::int64_t offset, nb::args args,
                   nb::kwargs kwargs);
nb::object join(State &state, const nb::handle &blocks);
nb::object combine(State &state, const nb::handle &blocks, nb::args offset, nb::kwargs kwargs);

} // namespace broadloom::python
