// Arrays in one, element by element: see spec::Join.
#pragma once

#include "spec/materialise.hpp"

#include <broadloom/array.hpp>

#include <functional>
#include <span>
#include <vector>

namespace broadloom::reference {

// `extent_of(array, dim)`: of an input of the call, or a let behind them.
using ExtentOfArray = std::function<std::int64_t(std::uint32_t, std::size_t)>;

// The shape of the whole. Throws ShapeError E0102 where two parts differ in another dim, E0142
// where one lies before the first position.
std::vector<std::int64_t> shape_of_join(const spec::Materialised &let,
                                        std::span<const Layout> parts,
                                        const ExtentOfArray &extent_of);
// Throws ShapeError E0145 where two parts lie at one position, E0146 where none does.
Array joined(const spec::Materialised &let, std::span<const AnyView> parts,
             const ExtentOfArray &extent_of);

} // namespace broadloom::reference
