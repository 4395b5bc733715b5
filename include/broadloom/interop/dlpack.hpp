// DLPack: arrays that come from other libraries and go to them, without a copy.
//
//   bl::Array x = bl::from_dlpack(tensor);
//       takes over a DLManagedTensor *: its deleter is called with the last copy of x
//   DLManagedTensor *t = bl::to_dlpack<DLManagedTensor>(z);
//       keeps the memory of z until its deleter is called
//   bl::AnyView v = bl::view_of_dlpack(t->dl_tensor);         a view, while the tensor is there
//
// All three take a bl::Device, too, of tensors that lie there: bl::from_dlpack(tensor, gpu).
// Nothing is waited for: see streams.hpp.
//
// No header of DLPack is needed: these are templates over the struct that the other side has,
// DLManagedTensor or DLManagedTensorVersioned. Who has none takes bl::dlpack::ManagedTensor, which
// lies in memory as DLManagedTensor does.
#pragma once

#include <broadloom/array.hpp>
#include <broadloom/device.hpp>
#include <broadloom/error.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace broadloom {
namespace dlpack {

// The interface of DLPack 0.8, dmlc/dlpack, by the names of its members.
enum DeviceType : std::int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLROCMHost = 11,
  kDLExtDev = 12 // here "played"
};
enum TypeCode : std::uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6
};
struct Device {
  std::int32_t device_type = kDLCPU;
  std::int32_t device_id = 0;
};
struct DataType {
  std::uint8_t code = kDLFloat;
  std::uint8_t bits = 32;
  std::uint16_t lanes = 1;
};
struct Tensor {
  void *data = nullptr;
  Device device;
  std::int32_t ndim = 0;
  DataType dtype;
  std::int64_t *shape = nullptr;
  std::int64_t *strides = nullptr; // in elements; null: C order
  std::uint64_t byte_offset = 0;
};
struct ManagedTensor {
  Tensor dl_tensor;
  void *manager_ctx = nullptr;
  void (*deleter)(ManagedTensor *self) = nullptr;
};

// Throws DTypeError E0211 for a type that Broadloom does not have.
inline DType dtype_of(int code, int bits, int lanes) {
  struct Row {
    int code, bits;
    DType dtype;
  };
  constexpr Row rows[] = {
      {kDLBool, 8, DType::Bool},  {kDLInt, 8, DType::I8},       {kDLInt, 16, DType::I16},
      {kDLInt, 32, DType::I32},   {kDLInt, 64, DType::I64},     {kDLUInt, 8, DType::U8},
      {kDLUInt, 16, DType::U16},  {kDLUInt, 32, DType::U32},    {kDLUInt, 64, DType::U64},
      {kDLFloat, 16, DType::F16}, {kDLBfloat, 16, DType::BF16}, {kDLFloat, 32, DType::F32},
      {kDLFloat, 64, DType::F64}, {kDLComplex, 64, DType::C64}, {kDLComplex, 128, DType::C128},
  };
  for (const Row &row : rows)
    if (row.code == code && row.bits == bits && lanes == 1) return row.dtype;
  throw DTypeError("E0211",
                   "a DLPack tensor has elements of code " + std::to_string(code) + ", " +
                       std::to_string(bits) + " bits and " + std::to_string(lanes) + " lanes",
                   {}, "convert them to a type that bl::DType has");
}

inline DataType type_of(DType dtype) {
  const TypeCode code = dtype == DType::Bool         ? kDLBool
                        : dtype == DType::BF16       ? kDLBfloat
                        : is_signed_integer(dtype)   ? kDLInt
                        : is_unsigned_integer(dtype) ? kDLUInt
                        : is_complex(dtype)          ? kDLComplex
                                                     : kDLFloat;
  return {code, std::uint8_t(8 * size_of(dtype)), 1};
}

// A device of ours, as DLPack names it: kDLCUDA and its number, or kDLExtDev.
inline Device device_of(const broadloom::Device &device) {
  const std::string &name = device.name(); // "cuda:1"
  if (!name.starts_with("cuda:")) return {kDLExtDev, 0};
  return {kDLCUDA, std::int32_t(std::stoi(name.substr(5)))};
}

template <class Tensor> AnyView view_of(const Tensor &tensor) {
  const DType dtype =
      dtype_of(int(tensor.dtype.code), int(tensor.dtype.bits), int(tensor.dtype.lanes));
  const std::span<const std::int64_t> shape(tensor.shape, std::size_t(tensor.ndim));
  const Layout layout = tensor.strides ? strided_layout(shape, {tensor.strides, shape.size()})
                                       : contiguous_layout(shape);
  char *data = static_cast<char *>(tensor.data);
  return AnyView::of(dtype, static_cast<void *>(data ? data + tensor.byte_offset : data), layout);
}

template <class Managed> Array taken_over(Managed *managed, const AnyView &view) {
  const std::shared_ptr<void> owner(managed, [](void *tensor) {
    auto *self = static_cast<Managed *>(tensor);
    if (self->deleter) self->deleter(self);
  });
  return Array(owner, view.dtype, view.data, view.layout);
}

} // namespace dlpack

// As a view. Throws DTypeError E0211, DataError E0318 where it is not in the memory of the
// processor, and what `strided_layout` throws.
template <class Tensor> AnyView view_of_dlpack(const Tensor &tensor) {
  const auto device = std::int32_t(tensor.device.device_type);
  if (device != dlpack::kDLCPU && device != dlpack::kDLCUDAHost && device != dlpack::kDLROCMHost)
    throw DataError("E0318",
                    "a DLPack tensor lies on a device of kind " + std::to_string(device) +
                        ", and kernels read the memory of the processor",
                    {}, "copy it there first, or take it for a kernel of its bl::Device");
  return dlpack::view_of(tensor);
}

// A view of a tensor that lies on the device. Throws DataError E0322 where it does not.
template <class Tensor> AnyView view_of_dlpack(const Tensor &tensor, const Device &device) {
  const dlpack::Device expected = dlpack::device_of(device);
  if (std::int32_t(tensor.device.device_type) != expected.device_type ||
      std::int32_t(tensor.device.device_id) != expected.device_id)
    throw DataError("E0322",
                    "a DLPack tensor does not lie on the device '" + device.name() +
                        "': it is of kind " +
                        std::to_string(std::int32_t(tensor.device.device_type)) + ", number " +
                        std::to_string(std::int32_t(tensor.device.device_id)),
                    {}, "copy it there first");
  return dlpack::view_of(tensor);
}

// Throws what `view_of_dlpack` throws; the tensor is then still the caller's.
template <class Managed> Array from_dlpack(Managed *managed) {
  return dlpack::taken_over(managed, view_of_dlpack(managed->dl_tensor));
}
template <class Managed> Array from_dlpack(Managed *managed, const Device &device) {
  return dlpack::taken_over(managed, view_of_dlpack(managed->dl_tensor, device));
}

// The caller, or whom it is given to, calls its deleter once.
template <class Managed = dlpack::ManagedTensor>
Managed *to_dlpack(const Array &array, dlpack::Device device = {}) {
  struct Kept {
    Managed managed{};
    Array array;
    Layout layout;
  };
  auto kept = std::make_unique<Kept>();
  kept->array = array;
  kept->layout = array.layout();
  auto &tensor = kept->managed.dl_tensor;
  using Kind = decltype(tensor.device.device_type);
  using Code = decltype(tensor.dtype.code);
  const dlpack::DataType type = dlpack::type_of(array.dtype());
  tensor.data = array.raw();
  tensor.device.device_type = Kind(device.device_type);
  tensor.device.device_id = device.device_id;
  tensor.ndim = array.rank();
  tensor.dtype.code = Code(type.code);
  tensor.dtype.bits = type.bits;
  tensor.dtype.lanes = type.lanes;
  tensor.shape = kept->layout.extents.data();
  tensor.strides = kept->layout.strides.data();
  tensor.byte_offset = 0;
  if constexpr (requires { kept->managed.version.major; }) { // DLManagedTensorVersioned
    kept->managed.version.major = 1;
    kept->managed.version.minor = 0;
  }
  kept->managed.manager_ctx = kept.get();
  kept->managed.deleter = [](Managed *self) { delete static_cast<Kept *>(self->manager_ctx); };
  return &kept.release()->managed;
}
template <class Managed = dlpack::ManagedTensor>
Managed *to_dlpack(const Array &array, const Device &device) {
  return to_dlpack<Managed>(array, dlpack::device_of(device));
}

} // namespace broadloom
