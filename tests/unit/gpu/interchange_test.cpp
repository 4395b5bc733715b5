// Arrays of a device that go to other libraries and come from them.
#include <broadloom/broadloom.hpp>
#include <broadloom/interop/dlpack.hpp>

#include <doctest/doctest.h>

namespace broadloom {
namespace {

TEST_CASE("an array of a device goes through DLPack with its place, and no host takes it: E0318") {
  const Device device("played");
  Array x(DType::F32, {3, 4});
  for (int k = 0; k < 12; ++k) x.data<float>()[k] = float(k);
  auto *tensor = to_dlpack(device.to_device(x), device);
  CHECK(tensor->dl_tensor.device.device_type == dlpack::kDLExtDev);
  try {
    view_of_dlpack(tensor->dl_tensor);
    FAIL("it was taken");
  } catch (const DataError &error) {
    CHECK(error.code() == "E0318");
  }
  tensor->dl_tensor.device = {dlpack::kDLCUDA, 0};
  try {
    view_of_dlpack(tensor->dl_tensor, device);
    FAIL("it was taken");
  } catch (const DataError &error) {
    CHECK(error.code() == "E0322");
  }
  tensor->dl_tensor.device = {dlpack::kDLExtDev, 0};
  const Array there = from_dlpack(tensor, device);
  const Results made = compile(parse("kernel k { in x : f32[i, j]; out s[i] = sum(x, j) }"),
                               {.device = "played"})({{"x", there}});
  CHECK(device.to_host(made["s"]).at<float>(2) == 38);
}

} // namespace
} // namespace broadloom
