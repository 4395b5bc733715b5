// Arrays side by side, element by element: see spec::Join.
#pragma once

#include "spec/materialise.hpp"

#include <broadloom/array.hpp>

#include <span>
#include <vector>

namespace broadloom::reference {

// The shape of the whole. Throws ShapeError E0102 where two parts differ in another dim.
std::vector<std::int64_t> shape_of_join(const spec::Materialised &let,
                                        std::span<const Layout> parts);
Array joined(const spec::Materialised &let, std::span<const AnyView> parts);

} // namespace broadloom::reference
