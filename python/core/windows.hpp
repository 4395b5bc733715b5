// Blocks of outputs for bl.dask: BlockKernel, Stages and Halos. An array lies as (shape, its dims
// from the slowest on) says, without gaps.
#pragma once

#include "kernel.hpp"

namespace broadloom::python {

nb::list stage_kernels(State &state);
nb::list lets(State &state, const nb::sequence &lies);
nb::list parts(State &state, const nb::sequence &lies);
nb::list halos(State &state, const std::string &axis, const nb::sequence &lies);
void check_halos(State &state, const nb::sequence &lies, const nb::sequence &parts);
nb::list walks(State &state);
nb::dict extents(State &state, const nb::sequence &lies);
nb::list reads(State &state, const nb::sequence &lies, const nb::dict &parts);
nb::tuple block(State &state, const nb::sequence &lies, const nb::dict &parts,
                const nb::sequence &begins, const nb::args &args);

} // namespace broadloom::python
