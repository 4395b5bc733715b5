// See device.hpp.
#include "device.hpp"

#include "errors.hpp"
#include "lock.hpp"

#include <broadloom/interop/dlpack.hpp>
#include <broadloom/streams.hpp>

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace broadloom::python {
namespace {

// As NumPy's array interface writes them. bf16 has none there.
constexpr std::array<std::pair<const char *, DType>, 14> type_words{{{"|b1", DType::Bool},
                                                                     {"|i1", DType::I8},
                                                                     {"<i2", DType::I16},
                                                                     {"<i4", DType::I32},
                                                                     {"<i8", DType::I64},
                                                                     {"|u1", DType::U8},
                                                                     {"<u2", DType::U16},
                                                                     {"<u4", DType::U32},
                                                                     {"<u8", DType::U64},
                                                                     {"<f2", DType::F16},
                                                                     {"<f4", DType::F32},
                                                                     {"<f8", DType::F64},
                                                                     {"<c8", DType::C64},
                                                                     {"<c16", DType::C128}}};

std::optional<DType> dtype_of(const std::string &word) {
  const auto found =
      std::ranges::find_if(type_words, [&](const auto &t) { return t.first == word; });
  return found == type_words.end() ? std::nullopt : std::optional(found->second);
}

std::string word_of(DType dtype) {
  const auto found =
      std::ranges::find_if(type_words, [&](const auto &t) { return t.second == dtype; });
  if (found == type_words.end())
    throw DTypeError("E0203", "arrays of bf16 are handed to no other library of a device", {},
                     "store as f32: `out z : f32 = ..`");
  return found->first;
}

// Streams as Python's protocols number them: 1 is the default one, None and -1 ask for nothing.
void *stream_numbered(std::intptr_t number) {
  return number <= 1 ? nullptr : reinterpret_cast<void *>(number);
}
std::intptr_t number_of(void *stream) {
  return stream == nullptr ? 1 : reinterpret_cast<std::intptr_t>(stream);
}

// What somebody else has begun on a stream comes first.
void wait_for(const std::string &device, std::intptr_t number) {
  const Device gpu(device);
  if (number > 0 && stream_numbered(number) != stream_of(gpu))
    wait_for_stream(gpu, stream_numbered(number));
}

void read_interface(const nb::object &interface, const Slot &slot, AnyView &view) {
  const auto told = nb::cast<nb::dict>(interface);
  if (told.contains("mask") && !told["mask"].is_none())
    throw DataError("E0310", described(slot) + " is an array of a device with a mask", {},
                    "fill it first, or pass the mask as an input of its own");
  const auto word = nb::cast<std::string>(told["typestr"]);
  const std::optional<DType> dtype = dtype_of(word);
  if (dtype != slot.dtype)
    throw DTypeError("E0203",
                     described(slot) + " is " + std::string(name(slot.dtype)) +
                         ", the argument is an array of " +
                         (dtype ? std::string(name(*dtype)) : "'" + word + "'") + " on a device",
                     {}, "change the dtype there or in the kernel: nothing is converted");
  const std::vector<std::int64_t> shape = extents_of(told["shape"]);
  if (shape.size() > std::size_t(max_rank))
    throw ShapeError("E0110", described(slot) + " has more than 16 dims", {},
                     "merge dims with reshape");
  const auto data = nb::cast<nb::tuple>(told["data"]);
  view.dtype = *dtype;
  view.data = reinterpret_cast<void *>(nb::cast<std::uintptr_t>(data[0]));
  view.writable = !nb::cast<bool>(data[1]);
  view.layout = contiguous_layout(shape);
  const nb::object stream = told.contains("stream") ? nb::object(told["stream"]) : nb::none();
  if (!stream.is_none()) wait_for(slot.device, nb::cast<std::intptr_t>(stream));
  const nb::object strides = told.contains("strides") ? nb::object(told["strides"]) : nb::none();
  if (strides.is_none()) return;
  const std::vector<std::int64_t> bytes = extents_of(strides);
  if (bytes.size() != shape.size()) throw nb::cast_error();
  const auto size = std::int64_t(size_of(*dtype));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (bytes[d] % size != 0 && shape[d] > 1)
      fail_uneven(slot, d, bytes[d], "copy it, so that its elements lie side by side");
    view.layout.strides[d] = bytes[d] / size;
  }
}

nb::dict interface_of(const DeviceArrayObject &made) {
  nb::dict told;
  nb::list shape, strides;
  const auto size = std::int64_t(size_of(made.array.dtype()));
  for (const std::int64_t extent : made.array.shape()) shape.append(extent);
  for (const std::int64_t step : made.array.strides()) strides.append(step * size);
  told["shape"] = nb::tuple(shape);
  told["strides"] = nb::tuple(strides);
  told["typestr"] = word_of(made.array.dtype());
  told["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(made.array.raw()), false);
  told["version"] = 3;
  told["stream"] = number_of(stream_of(Device(made.device))); // that has what is still to be done
  return told;
}

constexpr const char *new_tensor = "dltensor", *used_tensor = "used_dltensor";

// An array for others, whose stream waits for what is still to be done.
nb::object to_capsule(const DeviceArrayObject &made, const nb::object &stream) {
  const Device device(made.device);
  const std::intptr_t number = stream.is_none() ? 1 : nb::cast<std::intptr_t>(stream);
  if (number >= 0 && stream_numbered(number) != stream_of(device))
    let_stream_wait(device, stream_numbered(number));
  dlpack::ManagedTensor *tensor = to_dlpack(made.array, device);
  PyObject *capsule = PyCapsule_New(tensor, new_tensor, [](PyObject *held) {
    if (PyCapsule_IsValid(held, new_tensor) == 0) return; // somebody has taken it
    auto *kept = static_cast<dlpack::ManagedTensor *>(PyCapsule_GetPointer(held, new_tensor));
    kept->deleter(kept);
  });
  if (capsule == nullptr) {
    tensor->deleter(tensor);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

nb::tuple dlpack_device(const std::string &name) {
  const dlpack::Device device = dlpack::device_of(Device(name));
  return nb::make_tuple(device.device_type, device.device_id);
}

// What lies on the device and has DLPack alone. It is told our stream, which then waits for it.
bool read_capsule(nb::handle object, const Slot &slot, AnyView &view,
                  std::vector<nb::object> &keep) {
  if (!nb::hasattr(object, "__dlpack_device__")) return false;
  const Device device(slot.device);
  const nb::object lies = object.attr("__dlpack_device__")();
  if (nb::cast<int>(nb::int_(lies[0])) != nb::cast<int>(dlpack_device(slot.device)[0]) ||
      nb::cast<int>(nb::int_(lies[1])) != nb::cast<int>(dlpack_device(slot.device)[1]))
    return false;
  const nb::object capsule =
      object.attr("__dlpack__")(nb::arg("stream") = number_of(stream_of(device)));
  auto *tensor =
      static_cast<dlpack::ManagedTensor *>(PyCapsule_GetPointer(capsule.ptr(), new_tensor));
  if (tensor == nullptr) throw nb::python_error();
  auto array = std::make_unique<Array>(from_dlpack(tensor, device));
  PyCapsule_SetName(capsule.ptr(), used_tensor);
  if (array->dtype() != slot.dtype)
    throw DTypeError("E0203",
                     described(slot) + " is " + std::string(name(slot.dtype)) +
                         ", the argument is an array of " + std::string(name(array->dtype())) +
                         " on a device",
                     {}, "change the dtype there or in the kernel: nothing is converted");
  view = *array;
  keep.push_back(
      nb::capsule(array.release(), [](void *held) noexcept { delete static_cast<Array *>(held); }));
  return true;
}

nb::object to_host(const DeviceArrayObject &made) {
  Array array = [&] {
    const Unlocked others_run;
    return Device(made.device).to_host(made.array);
  }();
  return to_numpy(std::move(array));
}

class StreamObject {
public:
  StreamObject(std::string device, std::intptr_t number)
      : device(std::move(device)), number(number) {}
  StreamObject(StreamObject &&) = default;

  std::string device;
  std::intptr_t number;
  std::vector<std::unique_ptr<OnStream>> entered;
};

DeviceArrayObject to_device(const Device &device, const nb::object &given) {
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(given);
  const Slot slot{"x", numpy_dtype(array), nb::cast<int>(array.attr("ndim")), false};
  AnyView view;
  Number number;
  std::vector<nb::object> keep;
  read_operand(array.ptr(), slot, view, number, keep);
  const Unlocked others_run;
  return {device.name(), device.to_device(view)};
}

} // namespace

void read_device_operand(PyObject *object, const Slot &slot, AnyView &view,
                         std::vector<nb::object> &keep) {
  const nb::handle handle(object);
  if (nb::hasattr(handle, "__cuda_array_interface__")) {
    const nb::object told = handle.attr("__cuda_array_interface__");
    try {
      return read_interface(told, slot, view);
    } catch (const std::bad_cast &) {
    } catch (const nb::python_error &error) {
      if (!error.matches(PyExc_KeyError) && !error.matches(PyExc_TypeError)) throw;
    }
    throw DataError("E0310",
                    described(slot) + ": __cuda_array_interface__ of " +
                        words_of((PyObject *)Py_TYPE(object)) + " says no array",
                    {}, "it has shape, typestr and data, and strides for each dim or none");
  }
  if (read_capsule(handle, slot, view, keep)) return;
  if (slot.rank == 0 && !slot.output && is_number(object)) {
    Number number;
    write_number(object, slot, number);
    view = {slot.dtype, number.bytes, false, {}};
    return take_to_device(slot, view, keep);
  }
  throw DataError("E0322",
                  described(slot) + " does not lie on the device '" + slot.device +
                      "', where the kernel runs: it is a " + words_of((PyObject *)Py_TYPE(object)),
                  {}, "take it there first: bl.Device('" + slot.device + "').to_device(x)");
}

void take_to_device(const Slot &slot, AnyView &view, std::vector<nb::object> &keep) {
  auto there = std::make_unique<Array>(Device(slot.device).to_device(view));
  view = *there;
  keep.push_back(
      nb::capsule(there.release(), [](void *held) noexcept { delete static_cast<Array *>(held); }));
}

nb::object to_device_array(const std::string &device, Array array) {
  return nb::cast(DeviceArrayObject{device, std::move(array)});
}

void define_devices(nb::module_ &module) {
  nb::class_<DeviceArrayObject>(
      module, "DeviceArray", nb::is_final(),
      "An array of a device. CuPy, PyTorch and others share its memory by "
      "`__cuda_array_interface__` and DLPack.")
      .def_prop_ro("shape",
                   [](const DeviceArrayObject &a) {
                     nb::list shape;
                     for (const std::int64_t extent : a.array.shape()) shape.append(extent);
                     return nb::tuple(shape);
                   })
      .def_prop_ro("dtype",
                   [](const DeviceArrayObject &a) {
                     return nb::module_::import_("numpy").attr("dtype")(word_of(a.array.dtype()));
                   })
      .def_prop_ro("device", [](const DeviceArrayObject &a) { return a.device; })
      .def_prop_ro("__cuda_array_interface__", interface_of)
      .def(
          "__dlpack__",
          [](const DeviceArrayObject &a, const nb::object &stream, const nb::object &,
             const nb::object &, const nb::object &) { return to_capsule(a, stream); },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
          "The array for another library, whose stream waits for what is still to be done.")
      .def("__dlpack_device__", [](const DeviceArrayObject &a) { return dlpack_device(a.device); })
      .def("to_host", to_host, "A NumPy array with its elements, once all work on it is done.")
      .def("__repr__", [](const DeviceArrayObject &a) {
        std::string shape;
        for (const std::int64_t extent : a.array.shape())
          shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
        return "<broadloom.DeviceArray " + std::string(name(a.array.dtype())) + "[" + shape +
               "] on " + a.device + ">";
      });
  nb::class_<StreamObject>(module, "Stream", nb::is_final(),
                           "While it is entered, calls and copies of this thread go to a stream.")
      .def("__enter__",
           [](StreamObject &self) {
             self.entered.emplace_back(
                 std::make_unique<OnStream>(Device(self.device), stream_numbered(self.number)));
           })
      .def(
          "__exit__",
          [](StreamObject &self, const nb::object &, const nb::object &, const nb::object &) {
            self.entered.pop_back();
          },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none());
  nb::class_<Device>(
      module, "Device", nb::is_final(),
      "A GPU that kernels run on: \"cuda\", \"cuda:1\" .., or \"played\", which is this "
      "processor doing as a GPU would, for tests.")
      .def(
          "__init__", [](Device *self, const std::string &name) { new (self) Device(name); },
          nb::arg("name"))
      .def_prop_ro("name", &Device::name)
      .def_prop_ro("description", &Device::description)
      .def("to_device", to_device, nb::arg("x"), "A copy of an array there.")
      .def(
          "on_stream",
          [](const Device &device, std::intptr_t stream) {
            return StreamObject(device.name(), stream);
          },
          nb::arg("stream"),
          "For `with`: calls and copies go to this stream, a number as CuPy (`stream.ptr`) and "
          "PyTorch (`stream.cuda_stream`) have it; 0 and 1 are the default one.")
      .def_prop_ro(
          "stream", [](const Device &device) { return number_of(stream_of(device)); },
          "The number of the stream that calls of this thread go to; 1 is the default one.")
      .def(
          "wait",
          [](const Device &device) {
            const Unlocked others_run;
            device.wait();
          },
          "Comes back once all work of the device is done.")
      .def("__repr__",
           [](const Device &device) { return "<broadloom.Device " + device.description() + ">"; });
}

} // namespace broadloom::python
