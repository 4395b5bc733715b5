// Arrays from Python and to Python. Nothing is copied on the way, but for inputs that are not
// aligned.
#pragma once

#include "number.hpp"

#include <broadloom/array.hpp>

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace broadloom::python {

namespace nb = nanobind;

// Fills the table of NumPy's functions. Throws nb::python_error where there is no NumPy.
void import_numpy();

// "input 'x'".
std::string described(const Slot &slot);

// That neighbours along a dim lie apart by no whole elements: DataError E0310.
[[noreturn]] void fail_uneven(const Slot &slot, std::size_t dim, std::int64_t bytes,
                              const char *help);

// A shape, a sequence of numbers. Throws what nanobind throws for other objects.
std::vector<std::int64_t> extents_of(const nb::handle &shape);

// What becomes of an input whose elements are not aligned: outputs and what is bound must lie where
// the caller has them.
enum class Unaligned { copied, refused };

// The elements of `object`, which is a NumPy array, exports a buffer, has `__array_interface__` or
// `__dlpack__`, or, for an input of no dims, is a number of Python, which goes into `number`. What
// must live as long as the view, beside `object` itself, is put into `keep`. Throws DTypeError and
// DataError; ranks and extents are left to the kernel.
void read_operand(PyObject *object, const Slot &slot, AnyView &view, Number &number,
                  std::vector<nb::object> &keep, Unaligned unaligned = Unaligned::copied);

// Writes 1 as a number of this type.
void write_one(DType dtype, Number &number);

// The type of the elements of a NumPy array. Throws DTypeError for what is no array or of a type
// that Broadloom does not have.
DType numpy_dtype(nb::handle array);

// A NumPy array that shares the storage of `array` and keeps it alive.
nb::object to_numpy(Array array);

// How many arrays of Broadloom are kept alive by NumPy arrays, for tests.
std::int64_t live_arrays();

} // namespace broadloom::python
