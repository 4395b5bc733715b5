// Questions about layouts that loading, saving and printing share. The public part is array.hpp.
#pragma once

#include <broadloom/array.hpp>

#include <span>
#include <string>
#include <vector>

namespace broadloom::array {

std::vector<Layout> layouts_of(std::span<const AnyView> views);

// The last dim varies slowest. The same checks as `contiguous_layout`.
Layout fortran_layout(std::span<const std::int64_t> shape);

// Dims of extent 1 do not matter, and an array without elements is contiguous in both ways.
bool is_c_contiguous(const Layout &layout);
bool is_f_contiguous(const Layout &layout);

// Whether a dim has extent 0. Of any extents: the product of those that nobody has checked may
// overflow.
bool has_no_elements(const Layout &layout);

// "(3, 4)", "(3,)", "()": Python's form, which .npy headers need and messages use.
std::string shape_text(std::span<const std::int64_t> shape);

} // namespace broadloom::array
