// Eigen: matrices, vectors, maps and blocks of them as arguments, and results as maps.
//
//   Eigen::MatrixXf x(3, 4);                                    column by column, as Eigen has it
//   bl::Results r = kernel({{"x", bl::view_of_eigen(x)}});      x[i, j] is x(i, j)
//   auto z = bl::to_eigen<float>(r["z"]);
//       an Eigen::Map of the result, while that is there
//
// Needs Eigen 3.3 or later.
#pragma once

#include <broadloom/array.hpp>
#include <broadloom/error.hpp>

#include <Eigen/Core>

#include <cstdint>
#include <string>
#include <type_traits>

namespace broadloom {

namespace detail {
template <class Derived, class Data> auto view_of_eigen(const Derived &x, Data *data) {
  if constexpr (Derived::IsVectorAtCompileTime)
    return View<Data>(data, {std::int64_t(x.size())}, {std::int64_t(x.innerStride())});
  else
    return View<Data>(data, {std::int64_t(x.rows()), std::int64_t(x.cols())},
                      {std::int64_t(x.rowStride()), std::int64_t(x.colStride())});
}
} // namespace detail

// The memory of a Matrix, Array, Map, Ref, Block, .. A vector at compile time has one dim, all else
// two. The writable ones are no temporary matrices.
template <class Derived>
View<typename Derived::Scalar> view_of_eigen(Eigen::DenseBase<Derived> &x) {
  return detail::view_of_eigen(x.derived(), x.derived().data());
}
template <class Derived>
View<const typename Derived::Scalar> view_of_eigen(const Eigen::DenseBase<Derived> &x) {
  const typename Derived::Scalar *data = x.derived().data();
  return detail::view_of_eigen(x.derived(), data);
}

template <class T>
using EigenMap = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, Eigen::Unaligned,
                            Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;

// Takes an array of two dims, or of one as a column. Throws ShapeError E0101 for another rank,
// E0117 for strides below 0, DTypeError E0210 for another element type.
template <class T> EigenMap<T> to_eigen(const Array &array) {
  if (array.rank() != 1 && array.rank() != 2)
    throw ShapeError("E0101", "an array of " + std::to_string(array.rank()) + " dims is no matrix",
                     {}, "take an array of one dim or two");
  for (const std::int64_t stride : array.strides())
    if (stride < 0)
      throw ShapeError("E0117", "a map of Eigen has no strides below 0, and the array has", {},
                       "copy the array: copy() lies in C order");
  const bool matrix = array.rank() == 2;
  const Eigen::Index columns = matrix ? Eigen::Index(array.shape()[1]) : 1,
                     outer = matrix ? Eigen::Index(array.strides()[1]) : 1;
  return {array.data<T>(), Eigen::Index(array.shape()[0]), columns,
          Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(outer, Eigen::Index(array.strides()[0]))};
}

} // namespace broadloom
