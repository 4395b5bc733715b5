// GPUs that kernels run on, and arrays that lie there.
//
//   bl::Device gpu("cuda");                              // or "cuda:1"
//   bl::Kernel k = bl::compile(spec, {.device = gpu.name()});
//   bl::Array x = gpu.to_device(host_x);
//   bl::Results r = k({{"x", x}});                       // outputs lie on the device, too
//   bl::Array y = gpu.to_host(r["y"]);
//
// The elements of such an array are not this process's to read: no function but these and kernels
// of the device may look at them. Kernels of a device take any memory of it: that of CuPy, PyTorch
// or JAX, by a view of its address. A call begins its work on the device's default stream and comes
// back; to_host waits.
#pragma once

#include <broadloom/array.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace broadloom {

class Device {
public:
  // "cuda", "cuda:1", or "played", which is this processor doing as a GPU would, for tests. Throws
  // CompileError E0505 where there is no such device, no driver, or too old a one. Takes some 100
  // ms at first.
  explicit Device(std::string_view name);

  const std::string &name() const; // "cuda:0", for Options::device
  std::string description() const; // "cuda:0 NVIDIA H200, sm_90"

  // A copy there, of the same layout where its elements lie without gaps, else in C order. Throws
  // DataError E0305 where the device has no memory left.
  Array to_device(const AnyView &array) const;
  // A copy of an array of the device, once all work on it is done. Throws DataError E0322 where it
  // is not one, and CompileError E0505 where the device has failed.
  Array to_host(const AnyView &array) const;
  // One whose elements are not set.
  Array allocate(DType dtype, const ExtentList &shape) const;
  // Until all work is done. Throws CompileError E0505 where some of it has failed.
  void wait() const;

private:
  std::shared_ptr<void> impl_;
};

} // namespace broadloom
