// OpenCV: images as arguments, and results as images.
//
//   cv::Mat image = cv::imread("a.png");
//       rows, columns, three channels of u8
//   kernel.run({{"x", bl::view_of_opencv(image)}}, ..);            x : u8[row, column, channel]
//   cv::Mat z = bl::to_opencv<cv::Mat>(r["z"], channels);
//       of the result, while that is there
//
// No header is included: these are templates over whatever has the members of cv::Mat.
#pragma once

#include <broadloom/array.hpp>
#include <broadloom/error.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace broadloom {

namespace detail {
// By OpenCV's CV_8U, CV_8S, .. CV_16F, which count from 0.
inline constexpr std::array<DType, 8> opencv_depths{DType::U8,  DType::I8,  DType::U16, DType::I16,
                                                    DType::I32, DType::F32, DType::F64, DType::F16};
} // namespace detail

// One dim for each dim of the image, and one for the channels where there are several. Throws
// DTypeError E0211 for a depth that is none of these eight, ShapeError E0115 for rows whose
// distance is no whole number of elements.
template <class Mat> AnyView view_of_opencv(const Mat &image) {
  const int depth = image.depth(), channels = image.channels();
  if (depth < 0 || depth >= int(detail::opencv_depths.size()))
    throw DTypeError("E0211", "an image of OpenCV has depth " + std::to_string(depth), {},
                     "convert it to one that bl::DType has");
  const DType dtype = detail::opencv_depths[std::size_t(depth)];
  std::vector<std::int64_t> shape, bytes;
  for (int d = 0; d < image.dims; ++d) {
    shape.push_back(image.size[d]);
    bytes.push_back(std::int64_t(image.step[d]));
  }
  if (channels > 1) {
    shape.push_back(channels);
    bytes.push_back(std::int64_t(size_of(dtype)));
  }
  return AnyView::of(dtype, static_cast<void *>(image.data),
                     byte_strided_layout(shape, bytes, size_of(dtype)));
}

// Takes an array whose last dims lie as OpenCV has them, as those of a result that is asked for in
// C order do. With `channels` the last dim is the channels. Throws DTypeError E0211 for a dtype
// that OpenCV does not have, ShapeError E0117 for another order.
template <class Mat> Mat to_opencv(const Array &array, bool channels = false) {
  int depth = 0;
  while (depth < int(detail::opencv_depths.size()) &&
         detail::opencv_depths[std::size_t(depth)] != array.dtype())
    ++depth;
  if (depth == int(detail::opencv_depths.size()))
    throw DTypeError("E0211", "OpenCV has no images of " + std::string(name(array.dtype())), {},
                     "cast the output to one that it has");
  const int dims = array.rank() - (channels ? 1 : 0);
  std::int64_t inner = channels && array.rank() > 0 ? array.shape()[std::size_t(dims)] : 1;
  bool in_order = dims >= 1 && (!channels || inner == 1 || array.strides()[std::size_t(dims)] == 1);
  std::vector<int> sizes;
  std::vector<std::size_t> steps; // of all dims but the last, in bytes
  for (int d = 0; d < dims; ++d) {
    const std::int64_t extent = array.shape()[std::size_t(d)],
                       stride = array.strides()[std::size_t(d)];
    sizes.push_back(int(extent));
    if (d + 1 < dims) steps.push_back(std::size_t(stride) * size_of(array.dtype()));
    in_order = in_order && stride >= 0 && (d + 1 < dims || extent == 1 || stride == inner);
  }
  if (!in_order)
    throw ShapeError("E0117", "an image lies row by row, and the array does not", {},
                     "ask for results in C order: kernel(.., bl::Order::c), or copy the array");
  const int type = depth + int(inner - 1) * 8; // CV_MAKETYPE
  return Mat(dims, sizes.data(), type, array.raw(), steps.data());
}

} // namespace broadloom
