// std::mdspan, and those of Kokkos that are like it.
//
//   kernel.run({{"x", bl::view_of_mdspan(x)}}, {{"z", bl::view_of_mdspan(z)}});
//   auto m = bl::to_mdspan<std::mdspan<float, std::dextents<std::int64_t, 2>,
//                                   std::layout_stride>>(r["z"]);
//
// No header is included: these are templates over whatever has the members of std::mdspan.
#pragma once

#include <broadloom/array.hpp>
#include <broadloom/error.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace broadloom {

// Any type with a pointer, extents and strides in elements, as all layouts of the standard have.
template <class Span>
concept StridedSpan = requires(const Span &span) {
  typename Span::element_type;
  { span.data_handle() } -> std::convertible_to<typename Span::element_type *>;
  { Span::rank() } -> std::convertible_to<std::size_t>;
  span.extent(0);
  span.stride(0);
};

// Const elements can only be read.
template <StridedSpan Span> View<typename Span::element_type> view_of_mdspan(const Span &span) {
  constexpr std::size_t rank = Span::rank();
  std::array<std::int64_t, rank> shape{}, strides{};
  for (std::size_t d = 0; d < rank; ++d) {
    shape[d] = std::int64_t(span.extent(d));
    strides[d] = std::int64_t(span.stride(d));
  }
  return {span.data_handle(), shape, strides};
}

// A view with the layout `layout_stride` and extents that are not fixed, while the array is there.
// Throws ShapeError E0101 for another rank, DTypeError E0210 for another element type, ShapeError
// E0117 for strides below 0, which no mdspan has.
template <StridedSpan Span> Span to_mdspan(const Array &array) {
  constexpr std::size_t rank = Span::rank();
  if (std::size_t(array.rank()) != rank)
    throw ShapeError("E0101",
                     "an array of " + std::to_string(array.rank()) + " dims as an mdspan of " +
                         std::to_string(rank),
                     {}, "name a type of the array's rank");
  using Index = typename Span::index_type;
  std::array<Index, rank> extents{}, strides{};
  for (std::size_t d = 0; d < rank; ++d) {
    if (array.strides()[d] < 0)
      throw ShapeError("E0117", "an mdspan has no strides below 0, and the array has", {},
                       "copy the array: copy() lies in C order");
    extents[d] = Index(array.shape()[d]);
    strides[d] = Index(array.strides()[d]);
  }
  using Elements = typename Span::element_type;
  return Span(array.data<Elements>(),
              typename Span::mapping_type(typename Span::extents_type(extents), strides));
}

} // namespace broadloom
