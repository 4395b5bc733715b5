#include "number.hpp"

#include "errors.hpp"

#include <broadloom/float16.hpp>

#include <complex>
#include <cstring>
#include <limits>

namespace broadloom::python {
namespace {

template <class T> void put(T value, Number &number) {
  std::memcpy(number.bytes, &value, sizeof(T));
}

[[noreturn]] void unfit(PyObject *object, const Slot &slot) {
  const std::string value = nb::repr(nb::handle(object)).c_str();
  throw DTypeError("E0202",
                   value + " does not fit input '" + slot.name + "', which is " +
                       std::string(name(slot.dtype)),
                   {}, "pass a number within the type, or declare a wider one");
}

[[noreturn]] void too_large(const Slot &slot) {
  throw DTypeError("E0202",
                   "an integer is too large for input '" + slot.name + "', which is " +
                       std::string(name(slot.dtype)),
                   {}, "pass a number within the type, as float('inf') is");
}

template <class T> void put_integer(PyObject *object, const Slot &slot, Number &number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value == -1 && overflow == 0 && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (std::is_same_v<T, std::uint64_t> && overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred() == nullptr) return put(std::uint64_t(large), number);
    PyErr_Clear();
  }
  const bool below =
      std::is_unsigned_v<T> ? value < 0 : value < (long long)(std::numeric_limits<T>::min());
  const bool above = sizeof(T) < sizeof value && value > (long long)(std::numeric_limits<T>::max());
  if (overflow != 0 || below || above) unfit(object, slot);
  put(T(value), number);
}

std::complex<double> value_of(PyObject *object, const Slot &slot) {
  const double real = PyComplex_RealAsDouble(object);
  if (PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) throw nb::python_error();
    PyErr_Clear(); // of an int: its digits may be more than Python writes
    too_large(slot);
  }
  return {real, PyComplex_ImagAsDouble(object)};
}

} // namespace

bool is_number(PyObject *object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyComplex_CheckExact(object);
}

void write_number(PyObject *object, const Slot &slot, Number &number) {
  const DType dtype = slot.dtype;
  const bool whole = PyLong_Check(object); // a bool, too
  const bool fits = PyBool_Check(object)    ? true
                    : dtype == DType::Bool  ? false
                    : whole                 ? true
                    : PyFloat_Check(object) ? !is_integer(dtype)
                                            : is_complex(dtype);
  if (!fits)
    throw DTypeError("E0203",
                     "input '" + slot.name + "' is " + std::string(name(dtype)) +
                         ", the argument is a " +
                         nb::type_name(nb::handle((PyObject *)Py_TYPE(object))).c_str(),
                     {}, "convert it first: nothing is rounded or dropped on the way in");
  switch (dtype) {
  case DType::Bool: return put(std::uint8_t(object == Py_True), number);
  case DType::I8: return put_integer<std::int8_t>(object, slot, number);
  case DType::I16: return put_integer<std::int16_t>(object, slot, number);
  case DType::I32: return put_integer<std::int32_t>(object, slot, number);
  case DType::I64: return put_integer<std::int64_t>(object, slot, number);
  case DType::U8: return put_integer<std::uint8_t>(object, slot, number);
  case DType::U16: return put_integer<std::uint16_t>(object, slot, number);
  case DType::U32: return put_integer<std::uint32_t>(object, slot, number);
  case DType::U64: return put_integer<std::uint64_t>(object, slot, number);
  case DType::F16: return put(float16(value_of(object, slot).real()), number);
  case DType::BF16: return put(bfloat16(value_of(object, slot).real()), number);
  case DType::F32: return put(float(value_of(object, slot).real()), number);
  case DType::F64: return put(value_of(object, slot).real(), number);
  case DType::C64: return put(std::complex<float>(value_of(object, slot)), number);
  case DType::C128: return put(value_of(object, slot), number);
  }
}

void write_one(DType dtype, Number &number) {
  const nb::object one = nb::steal(PyLong_FromLong(1));
  write_number(one.ptr(), {"", dtype, 0, false}, number);
}

} // namespace broadloom::python
