// Numbers of Python as inputs of no dims. They are weak, as in NumPy 2: the declaration says their type.
#pragma once

#include "arrays.hpp"

namespace broadloom::python {

// Whether it is a bool, an int, a float or a complex, not a number of NumPy, which has a type.
bool is_number(PyObject *object);

// Throws DTypeError E0203 where the kind does not fit, as a float for an integer, E0202 where the value does not.
void write_number(PyObject *object, const Slot &slot, Number &number);

} // namespace broadloom::python
