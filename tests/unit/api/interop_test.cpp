// Arrays of other libraries, by stand-ins that have the members of theirs; eigen_test.cpp and
// opencv_test.cpp have the real ones.
#include <broadloom/broadloom.hpp>
#include <broadloom/interop/dlpack.hpp>
#include <broadloom/interop/mdspan.hpp>
#include <broadloom/interop/opencv.hpp>

#include <doctest/doctest.h>

#if __has_include(<mdspan>)
#include <mdspan>
#endif
#include <array>
#include <complex>
#include <vector>

namespace bl = broadloom;

namespace {

const char *const twice = "kernel k { in x : f32[i, j]; out z = x * 2 }";

// DLManagedTensorVersioned, as dlpack.h has it from 1.0 on.
struct Versioned {
  struct {
    std::uint32_t major = 0, minor = 0;
  } version;
  void *manager_ctx = nullptr;
  void (*deleter)(Versioned *self) = nullptr;
  std::uint64_t flags = 0;
  bl::dlpack::Tensor dl_tensor;
};

// The least that std::mdspan with layout_stride has.
template <class T> struct Span {
  using element_type = T;
  using index_type = int;
  struct extents_type {
    explicit extents_type(std::array<int, 2> extents) : extents(extents) {}
    std::array<int, 2> extents;
  };
  struct mapping_type {
    mapping_type(extents_type e, std::array<int, 2> s) : extents(e.extents), strides(s) {}
    std::array<int, 2> extents, strides;
  };
  Span(T *data, mapping_type map) : data(data), map(map) {}
  static constexpr std::size_t rank() { return 2; }
  T *data_handle() const { return data; }
  int extent(std::size_t d) const { return map.extents[d]; }
  int stride(std::size_t d) const { return map.strides[d]; }
  T *data;
  mapping_type map;
};

// The members of cv::Mat that are used.
struct Image {
  Image(int dims, const int *sizes, int type, void *data, const std::size_t *steps)
      : dims(dims), data(static_cast<unsigned char *>(data)), type(type) {
    for (int d = 0; d < dims; ++d) size[std::size_t(d)] = sizes[d];
    for (int d = 0; d + 1 < dims; ++d) step[std::size_t(d)] = steps[d];
    step[std::size_t(dims - 1)] = std::size_t(channels());
  }
  int depth() const { return type % 8; }
  int channels() const { return type / 8 + 1; }
  int dims;
  unsigned char *data;
  std::array<int, 4> size{};
  std::array<std::size_t, 4> step{};
  int type;
};

} // namespace

TEST_CASE("a DLPack tensor becomes an array that calls its deleter with the last copy") {
  static int deleted = 0;
  deleted = 0;
  std::vector<float> data{0, 1, 2, 3, 4, 5, 6};
  std::int64_t shape[] = {3, 2}, strides[] = {1, 3};
  bl::dlpack::ManagedTensor tensor;
  tensor.dl_tensor.data = data.data();
  tensor.dl_tensor.ndim = 2;
  tensor.dl_tensor.shape = shape;
  tensor.dl_tensor.strides = strides;
  tensor.dl_tensor.byte_offset = sizeof(float);
  tensor.deleter = [](bl::dlpack::ManagedTensor *) { ++deleted; };
  {
    const bl::Array x = bl::from_dlpack(&tensor);
    {
      const bl::Array copy = x; // shares it
      CHECK(copy.at(2, 1) == 6.0);
    }
    CHECK(deleted == 0);
    CHECK(bl::compile(bl::parse(twice))({{"x", x}})["z"].to_vector<float>() ==
          std::vector<float>{2, 8, 4, 10, 6, 12});
  }
  CHECK(deleted == 1);

  tensor.dl_tensor.strides = nullptr; // C order
  CHECK(bl::View<const float>(bl::from_dlpack(&tensor)).layout().strides[0] == 2);
  tensor.dl_tensor.dtype = {bl::dlpack::kDLInt, 4, 1};
  CHECK_THROWS_AS(bl::from_dlpack(&tensor), bl::DTypeError);
  tensor.dl_tensor.dtype = {bl::dlpack::kDLFloat, 32, 4};
  CHECK_THROWS_AS(bl::from_dlpack(&tensor), bl::DTypeError);
  tensor.dl_tensor.dtype = {};
  tensor.dl_tensor.device.device_type = 2; // CUDA
  CHECK_THROWS_WITH_AS(bl::from_dlpack(&tensor), doctest::Contains("E0318"), bl::DataError);
  CHECK(deleted == 2); // what could not be taken is the caller's
}

TEST_CASE("an array becomes a DLPack tensor that keeps its memory, of any dtype") {
  for (int k = 0; k < bl::dtype_count; ++k) {
    bl::dlpack::ManagedTensor *tensor = nullptr;
    {
      const bl::Array array(bl::DType(k), {2, 3});
      tensor = bl::to_dlpack(array.transposed());
    }
    const bl::AnyView view = bl::view_of_dlpack(tensor->dl_tensor);
    CHECK(view.dtype == bl::DType(k));
    CHECK(view.layout.extents[0] == 3);
    CHECK(view.layout.strides[1] == 3);
    CHECK(*static_cast<const char *>(view.data) == 0);
    tensor->deleter(tensor);
  }
  Versioned *versioned = bl::to_dlpack<Versioned>(bl::Array(bl::f64, {4}));
  CHECK(versioned->version.major == 1);
  CHECK(bl::from_dlpack(versioned).size() == 4); // and deletes it
}

TEST_CASE("an mdspan is a view, and an array an mdspan") {
  std::vector<float> data{1, 2, 3, 4, 5, 6};
  using F = Span<const float>;
  const F x(data.data(), {F::extents_type({2, 3}), {1, 2}});
  CHECK(!bl::AnyView(bl::view_of_mdspan(x)).writable);
  const bl::Results r = bl::compile(bl::parse(twice))({{"x", bl::view_of_mdspan(x)}});
  const auto z = bl::to_mdspan<Span<float>>(r["z"]);
  CHECK(z.extent(1) == 3);
  CHECK(z.stride(0) == 1);
  CHECK(z.data_handle()[z.stride(1)] == 6.0f);
  CHECK_THROWS_AS(bl::to_mdspan<Span<double>>(r["z"]), bl::DTypeError);
  CHECK_THROWS_AS(bl::to_mdspan<Span<float>>(bl::Array(bl::f32, {3})), bl::ShapeError);
  const bl::Array backwards({}, bl::f32, data.data() + 5,
                            bl::strided_layout(bl::ExtentList{2, 3}, bl::ExtentList{-3, -1}));
  CHECK_THROWS_WITH_AS(bl::to_mdspan<Span<float>>(backwards), doctest::Contains("E0117"),
                       bl::ShapeError);
}

#ifdef __cpp_lib_mdspan
TEST_CASE("std::mdspan is one of them") {
  std::vector<float> data{1, 2, 3, 4, 5, 6};
  const std::mdspan<float, std::dextents<int, 2>, std::layout_left> x(data.data(), 2, 3);
  const bl::Results r = bl::compile(bl::parse(twice))({{"x", bl::view_of_mdspan(x)}});
  using Strided = std::mdspan<float, std::dextents<std::int64_t, 2>, std::layout_stride>;
  const auto z = bl::to_mdspan<Strided>(r["z"]);
  CHECK(z[1, 2] == 12.0f);
}
#endif

TEST_CASE("an image has its channels as the last dim, and results become images") {
  std::vector<std::uint8_t> pixels{1, 2, 3, 4,  5,  6,  0, 0,
                                   7, 8, 9, 10, 11, 12, 0, 0}; // 2 rows of 2, padded
  const int sizes[] = {2, 2};
  const std::size_t steps[] = {8};
  Image image(2, sizes, 16, pixels.data(), steps); // CV_8UC3
  image.step[1] = 3;
  const bl::AnyView view = bl::view_of_opencv(image);
  CHECK(view.layout.rank == 3);
  CHECK(view.layout.strides[0] == 8);
  const bl::Kernel kernel = bl::compile(
      bl::parse("kernel k { in x : u8[r, c, k]; out z = x + u8(1); out g : f32 = mean(x, k) }"));
  const bl::Results r = kernel({{"x", view}}, bl::Order::c);
  CHECK(r["z"].at(1, 0, 2) == 10.0);
  const Image z = bl::to_opencv<Image>(r["z"], true), g = bl::to_opencv<Image>(r["g"]);
  CHECK(z.channels() == 3);
  CHECK(z.step[0] == 6);
  CHECK(z.data[8] == 10);
  CHECK(g.depth() == 5); // CV_32F
  CHECK(g.channels() == 1);
  CHECK_THROWS_AS(bl::to_opencv<Image>(r["z"].transposed(), true), bl::ShapeError);
  CHECK_THROWS_AS(bl::to_opencv<Image>(bl::Array(bl::i64, {2, 2})), bl::DTypeError);
  image.type = 7 + 8; // CV_16FC2
  image.step[1] = 4;
  CHECK(bl::view_of_opencv(image).dtype == bl::f16);
}
