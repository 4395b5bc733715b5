// Numbers of Python as inputs of no dims. They are weak, as in NumPy 2: the declaration says their
// type.
#pragma once

#include <broadloom/array.hpp>

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>

namespace broadloom::python {

// An operand as a kernel declares it.
struct Slot {
  std::string name;
  DType dtype = DType::F32;
  int rank = 0;
  bool output = false;
  std::string device = {}; // where its arrays lie; empty: on the host
};

// Memory for a number that is given in place of an array.
struct Number {
  alignas(16) std::byte bytes[16] = {};
};

// Whether it is a bool, an int, a float or a complex, not a number of NumPy, which has a type.
bool is_number(PyObject *object);

// Throws DTypeError E0203 where the kind does not fit, as a float for an integer, E0202 where the
// value does not.
void write_number(PyObject *object, const Slot &slot, Number &number);

} // namespace broadloom::python
