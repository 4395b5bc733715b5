#include "arrays.hpp"

#include "errors.hpp"
#include "log.hpp"
#include "number.hpp"

#include <nanobind/ndarray.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <atomic>
#include <cstring>
#include <optional>

namespace broadloom::python {
namespace {

std::atomic<std::int64_t> alive{0};

std::string numpy_name(DType dtype) {
  switch (dtype) {
  case DType::Bool: return "numpy.bool_";
  case DType::I8: return "numpy.int8";
  case DType::I16: return "numpy.int16";
  case DType::I32: return "numpy.int32";
  case DType::I64: return "numpy.int64";
  case DType::U8: return "numpy.uint8";
  case DType::U16: return "numpy.uint16";
  case DType::U32: return "numpy.uint32";
  case DType::U64: return "numpy.uint64";
  case DType::F16: return "numpy.float16";
  case DType::BF16: return "ml_dtypes.bfloat16";
  case DType::F32: return "numpy.float32";
  case DType::F64: return "numpy.float64";
  case DType::C64: return "numpy.complex64";
  case DType::C128: return "numpy.complex128";
  }
  return {};
}

int type_number(DType dtype) { // of all but bf16, which has none that is fixed
  switch (dtype) {
  case DType::Bool: return NPY_BOOL;
  case DType::I8: return NPY_INT8;
  case DType::I16: return NPY_INT16;
  case DType::I32: return NPY_INT32;
  case DType::I64: return NPY_INT64;
  case DType::U8: return NPY_UINT8;
  case DType::U16: return NPY_UINT16;
  case DType::U32: return NPY_UINT32;
  case DType::U64: return NPY_UINT64;
  case DType::F16: return NPY_HALF;
  case DType::F32: return NPY_FLOAT;
  case DType::F64: return NPY_DOUBLE;
  case DType::C64: return NPY_CFLOAT;
  case DType::C128: return NPY_CDOUBLE;
  case DType::BF16: break;
  }
  return NPY_NOTYPE;
}

bool is_bfloat16(const PyArray_Descr *descr) {
  if (descr->type_num < NPY_USERDEF) return false;
  const nb::object name = nb::handle((PyObject *)descr->typeobj).attr("__name__");
  return PyUnicode_CompareWithASCIIString(name.ptr(), "bfloat16") == 0;
}

std::optional<DType> dtype_of(const PyArray_Descr *descr) {
  switch (descr->type_num) {
  case NPY_BOOL: return DType::Bool;
  case NPY_BYTE: return DType::I8;
  case NPY_UBYTE: return DType::U8;
  case NPY_SHORT: return DType::I16;
  case NPY_USHORT: return DType::U16;
  case NPY_INT: return DType::I32;
  case NPY_UINT: return DType::U32;
  case NPY_LONG: return sizeof(long) == 8 ? DType::I64 : DType::I32;
  case NPY_ULONG: return sizeof(long) == 8 ? DType::U64 : DType::U32;
  case NPY_LONGLONG: return DType::I64;
  case NPY_ULONGLONG: return DType::U64;
  case NPY_HALF: return DType::F16;
  case NPY_FLOAT: return DType::F32;
  case NPY_DOUBLE: return DType::F64;
  case NPY_CFLOAT: return DType::C64;
  case NPY_CDOUBLE: return DType::C128;
  default: return is_bfloat16(descr) ? std::optional(DType::BF16) : std::nullopt;
  }
}

[[noreturn]] void wrong_type(const Slot &slot, const std::string &given, std::string help = {}) {
  if (help.empty())
    help = "pass an array of " + numpy_name(slot.dtype) +
           ", or change the dtype in the kernel: nothing is converted";
  throw DTypeError("E0203",
                   described(slot) + " is " + std::string(name(slot.dtype)) + " (" +
                       numpy_name(slot.dtype) + "), the argument is " + given,
                   {}, help);
}

// Whether elements lie where they can be read: at multiples of what their type asks for, and a
// multiple of their size apart.
bool lies_well(PyArrayObject *array, DType dtype) {
  const auto size = npy_intp(size_of(dtype));
  const auto alignment = std::uintptr_t(is_complex(dtype) ? size / 2 : size);
  const int rank = PyArray_NDIM(array);
  const npy_intp *extents = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
  for (int d = 0; d < rank; ++d)
    if (extents[d] > 1 && strides[d] % size != 0) return false;
  return reinterpret_cast<std::uintptr_t>(PyArray_DATA(array)) % alignment == 0;
}

// A copy in the order in which the elements lie, so that what is folded is folded in that order,
// too.
PyArrayObject *aligned_copy(PyArrayObject *array, const Slot &slot, std::vector<nb::object> &keep) {
  say_once(LogLevel::warn, described(slot) + " does not lie at multiples of its " +
                               std::to_string(size_of(slot.dtype)) +
                               "-byte elements, and each call copies it: "
                               "numpy.require(x, requirements='A') does so once");
  keep.push_back(nb::steal(PyArray_NewCopy(array, NPY_KEEPORDER)));
  if (!keep.back().is_valid()) throw nb::python_error();
  return reinterpret_cast<PyArrayObject *>(keep.back().ptr());
}

// An array that is known to be one of NumPy's.
void read_array(PyArrayObject *array, const Slot &slot, AnyView &view, Unaligned unaligned,
                std::vector<nb::object> &keep) {
  const PyArray_Descr *descr = PyArray_DESCR(array);
  const std::optional<DType> dtype = dtype_of(descr);
  if (dtype != slot.dtype) [[unlikely]]
    wrong_type(slot, "an array of " + words_of((PyObject *)descr) +
                         (dtype ? " (" + std::string(name(*dtype)) + ")" : ""));
  if (!PyArray_ISNOTSWAPPED(array)) [[unlikely]]
    wrong_type(slot, "an array of " + words_of((PyObject *)descr) + " in the other byte order",
               "turn the bytes round: x.astype(x.dtype.newbyteorder('='))");
  const int rank = PyArray_NDIM(array);
  if (rank > max_rank) [[unlikely]]
    throw ShapeError("E0110",
                     described(slot) + " has " + std::to_string(rank) + " dims, the most are 16",
                     {}, "merge dims with reshape");
  if (unaligned == Unaligned::copied && !slot.output && !lies_well(array, *dtype)) [[unlikely]]
    array = aligned_copy(array, slot, keep);
  view.dtype = *dtype;
  view.data = PyArray_DATA(array);
  view.writable = PyArray_ISWRITEABLE(array);
  view.layout.rank = rank;
  const npy_intp *extents = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
  const auto size = std::int64_t(size_of(*dtype));
  for (int d = 0; d < rank; ++d) {
    view.layout.extents[std::size_t(d)] = extents[d];
    if (strides[d] % size != 0 && extents[d] > 1) [[unlikely]]
      fail_uneven(slot, std::size_t(d), strides[d], "copy it: numpy.ascontiguousarray(x)");
    view.layout.strides[std::size_t(d)] = strides[d] / size;
  }
}

std::optional<DType> dtype_of(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1) return std::nullopt;
  const int bits = dtype.bits;
  switch (Code(dtype.code)) {
  case Code::Bool: return bits == 8 ? std::optional(DType::Bool) : std::nullopt;
  case Code::Int:
    return bits == 8    ? std::optional(DType::I8)
           : bits == 16 ? std::optional(DType::I16)
           : bits == 32 ? std::optional(DType::I32)
           : bits == 64 ? std::optional(DType::I64)
                        : std::nullopt;
  case Code::UInt:
    return bits == 8    ? std::optional(DType::U8)
           : bits == 16 ? std::optional(DType::U16)
           : bits == 32 ? std::optional(DType::U32)
           : bits == 64 ? std::optional(DType::U64)
                        : std::nullopt;
  case Code::Float:
    return bits == 16   ? std::optional(DType::F16)
           : bits == 32 ? std::optional(DType::F32)
           : bits == 64 ? std::optional(DType::F64)
                        : std::nullopt;
  case Code::Bfloat: return bits == 16 ? std::optional(DType::BF16) : std::nullopt;
  case Code::Complex:
    return bits == 64    ? std::optional(DType::C64)
           : bits == 128 ? std::optional(DType::C128)
                         : std::nullopt;
  default: return std::nullopt;
  }
}

// Tensors of other libraries. Only memory of the processor is taken.
template <class Tensor>
void read_dlpack(PyObject *object, const Slot &slot, AnyView &view, std::vector<nb::object> &keep) {
  const nb::handle handle(object);
  if (nb::hasattr(handle, "__dlpack_device__")) {
    constexpr int cpu = 1;
    const auto kind = nb::cast<int>(nb::int_(handle.attr("__dlpack_device__")()[0]));
    if (kind != cpu)
      throw DTypeError("E0203",
                       described(slot) + " lies on a device (DLPack's kind " +
                           std::to_string(kind) + "), and Broadloom runs on the processor",
                       {}, "move it to the host first, as x.cpu() or x.get() do");
  }
  Tensor tensor;
  if (!nb::try_cast(handle, tensor, false) || !tensor.is_valid())
    throw DTypeError("E0203",
                     described(slot) + ": __dlpack__ of " + words_of((PyObject *)Py_TYPE(object)) +
                         " gave nothing that can be " + (slot.output ? "written" : "read"),
                     {}, "pass a NumPy array");
  const std::optional<DType> dtype = dtype_of(tensor.dtype());
  if (dtype != slot.dtype)
    wrong_type(slot, "a tensor of " + (dtype ? std::string(name(*dtype))
                                             : "a type that Broadloom does not have"));
  if (tensor.ndim() > std::size_t(max_rank))
    throw ShapeError("E0110", described(slot) + " has more than 16 dims", {},
                     "merge dims with reshape");
  view.dtype = *dtype;
  view.data = const_cast<void *>(static_cast<const void *>(tensor.data()));
  view.writable = slot.output;
  view.layout.rank = int(tensor.ndim());
  for (std::size_t d = 0; d < tensor.ndim(); ++d) {
    view.layout.extents[d] = std::int64_t(tensor.shape(d));
    view.layout.strides[d] = tensor.stride(d);
  }
  keep.push_back(nb::capsule(new Tensor(std::move(tensor)),
                             [](void *held) noexcept { delete static_cast<Tensor *>(held); }));
}

// What exports memory in NumPy's own way becomes an array that shares it.
nb::object shared_array(PyObject *object, const Slot &slot) {
  const nb::handle handle(object);
  const nb::object as_array = nb::module_::import_("numpy").attr("asarray");
  try {
    if (PyObject_CheckBuffer(object)) {
      const nb::object memory = nb::steal(PyMemoryView_FromObject(object));
      if (!memory.is_valid()) throw nb::python_error();
      return as_array(memory);
    }
    if (nb::hasattr(handle, "__array_interface__")) return as_array(handle);
  } catch (const nb::python_error &error) {
    if (!error.matches(PyExc_BufferError) && !error.matches(PyExc_ValueError) &&
        !error.matches(PyExc_TypeError) && !error.matches(PyExc_RuntimeError))
      throw;
    wrong_type(slot, "of class " + words_of((PyObject *)Py_TYPE(object)) +
                         ", which NumPy does not read: " + words_of(error.value().ptr()));
  }
  if (nb::hasattr(handle, "__cuda_array_interface__"))
    wrong_type(slot, "on a GPU", "move it to the host first: Broadloom runs on the processor");
  wrong_type(slot, "of class " + words_of(handle.type().attr("__name__").ptr()),
             "pass an array: what has a buffer, __array_interface__ or __dlpack__ is taken as it "
             "lies; lists and the arrays of pandas, xarray and dask are taken, too");
}

bool is_masked(PyArrayObject *array) {
  return !PyArray_CheckExact(array) && nb::hasattr(nb::handle((PyObject *)array), "_mask");
}

struct Owner {
  Array array;
};

void drop(PyObject *capsule) {
  delete static_cast<Owner *>(PyCapsule_GetPointer(capsule, nullptr));
  alive.fetch_sub(1, std::memory_order_relaxed);
}

PyArray_Descr *descr_of(DType dtype) {
  if (dtype != DType::BF16) return PyArray_DescrFromType(type_number(dtype));
  nb::object type;
  try {
    type = nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (const nb::python_error &) {
    throw DTypeError("E0203", "NumPy has no bf16 of its own, and ml_dtypes is not installed", {},
                     "pip install ml_dtypes, or store as f32: `out z : f32 = ..`");
  }
  PyArray_Descr *descr = nullptr;
  if (PyArray_DescrConverter(type.ptr(), &descr) == 0) throw nb::python_error();
  return descr;
}

} // namespace

std::string described(const Slot &slot) {
  return std::string(slot.output ? "output" : "input") + " '" + slot.name + "'";
}

void fail_uneven(const Slot &slot, std::size_t dim, std::int64_t bytes, const char *help) {
  throw DataError("E0310",
                  described(slot) + " steps by " + std::to_string(bytes) + " bytes along dim " +
                      std::to_string(dim) + ", which is no multiple of its " +
                      std::to_string(size_of(slot.dtype)) + "-byte elements",
                  {}, help);
}

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

void read_operand(PyObject *object, const Slot &slot, AnyView &view, Number &number,
                  std::vector<nb::object> &keep, Unaligned unaligned) {
  if (PyArray_Check(object)) [[likely]] {
    auto *array = reinterpret_cast<PyArrayObject *>(object);
    if (is_masked(array)) [[unlikely]]
      wrong_type(slot, "a masked array",
                 "fill it first (x.filled(..)), or pass the mask as an input of its own");
    return read_array(array, slot, view, unaligned, keep);
  }
  if (slot.rank == 0 && !slot.output && is_number(object)) {
    write_number(object, slot, number);
    view = {slot.dtype, number.bytes, false, {}};
    return;
  }
  // DLPack as it was first does not say what may be written; a buffer does.
  const bool by_dlpack = nb::hasattr(nb::handle(object), "__dlpack__");
  if (by_dlpack && slot.output && PyObject_CheckBuffer(object) == 0)
    return read_dlpack<nb::ndarray<>>(object, slot, view, keep);
  if (by_dlpack && !slot.output) return read_dlpack<nb::ndarray<nb::ro>>(object, slot, view, keep);
  keep.push_back(shared_array(object, slot));
  if (!PyArray_Check(keep.back().ptr()))
    wrong_type(slot, "of class " + words_of((PyObject *)Py_TYPE(object)));
  read_array(reinterpret_cast<PyArrayObject *>(keep.back().ptr()), slot, view, unaligned, keep);
}

DType numpy_dtype(nb::handle array) {
  if (PyArray_Check(array.ptr()))
    if (const auto dtype = dtype_of(PyArray_DESCR(reinterpret_cast<PyArrayObject *>(array.ptr()))))
      return *dtype;
  throw DTypeError("E0203", words_of(array.ptr()) + " is no array of NumPy that Broadloom reads",
                   {}, "pass an array of one of Broadloom's types");
}

nb::object to_numpy(Array array) {
  PyArray_Descr *descr = descr_of(array.dtype());
  npy_intp extents[max_rank], strides[max_rank];
  const int rank = array.rank();
  const auto size = npy_intp(size_of(array.dtype()));
  for (int d = 0; d < rank; ++d) {
    extents[d] = array.layout().extents[std::size_t(d)];
    strides[d] = array.layout().strides[std::size_t(d)] * size;
  }
  void *data = array.raw();
  const nb::object result = nb::steal(PyArray_NewFromDescr(
      &PyArray_Type, descr, rank, extents, strides, data, NPY_ARRAY_WRITEABLE, nullptr));
  if (!result.is_valid()) throw nb::python_error();
  auto owner = std::make_unique<Owner>(Owner{std::move(array)});
  PyObject *capsule = PyCapsule_New(owner.get(), nullptr, drop);
  if (capsule == nullptr) throw nb::python_error();
  owner.release();
  alive.fetch_add(1, std::memory_order_relaxed);
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(result.ptr()), capsule) < 0)
    throw nb::python_error();
  return result;
}

std::int64_t live_arrays() { return alive.load(std::memory_order_relaxed); }

std::vector<std::int64_t> extents_of(const nb::handle &shape) {
  std::vector<std::int64_t> extents;
  for (const nb::handle extent : nb::cast<nb::sequence>(shape))
    extents.push_back(nb::cast<std::int64_t>(extent));
  return extents;
}

} // namespace broadloom::python
