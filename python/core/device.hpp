// Devices and their arrays in Python.
#pragma once

#include "arrays.hpp"

#include <broadloom/device.hpp>

namespace broadloom::python {

// An array of a device, as Python has it.
struct DeviceArrayObject {
  std::string device;
  Array array;
};

// The view of an operand of a kernel that runs on a device: what has `__cuda_array_interface__`, or
// of an input of no dims a number, which is taken there. Throws DataError E0322 for arrays of the
// host, DTypeError and DataError as read_operand does.
void read_device_operand(PyObject *object, const Slot &slot, AnyView &view,
                         std::vector<nb::object> &keep);

// In place of a view of a number: that of a copy on the device.
void take_to_device(const Slot &slot, AnyView &view, std::vector<nb::object> &keep);

// An operand, wherever its kernel runs.
inline void read_argument(PyObject *object, const Slot &slot, AnyView &view, Number &number,
                          std::vector<nb::object> &keep, Unaligned unaligned = Unaligned::copied) {
  if (slot.device.empty()) [[likely]]
    return read_operand(object, slot, view, number, keep, unaligned);
  read_device_operand(object, slot, view, keep);
}

nb::object to_device_array(const std::string &device, Array array);

// Device and DeviceArray.
void define_devices(nb::module_ &module);

} // namespace broadloom::python
