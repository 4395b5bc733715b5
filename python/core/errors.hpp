// Errors of Broadloom as exceptions of Python: the classes of broadloom/errors.py.
#pragma once

#include "lock.hpp"

#include <broadloom/error.hpp>

#include <nanobind/nanobind.h>

#include <cxxabi.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::python {

namespace nb = nanobind;

// The number or the names of arguments are wrong: a TypeError, too.
struct ArgumentError : DataError {
  using DataError::DataError;
};

// Sets Python's error for what is being handled. Called within a catch block.
void set_python_error() noexcept;

// What `body` returns; null with Python's error set where it throws.
template <class Body> PyObject *guarded(Body &&body) noexcept {
  try {
    return body();
  } catch (abi::__forced_unwind &) { // Python has ended, see lock.hpp
    stay();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// str(object), where what is no text in UTF-8 becomes question marks.
std::string words_of(PyObject *object);

// The text of a str. Throws SpecError E0014 where it has halves of characters, which UTF-8 lacks.
std::string utf8_of(PyObject *text);

// "did you mean 'alpha'? " where one of the known words is near, else nothing.
std::string suggestion(std::string_view word, const std::vector<std::string> &known);

// "'a', 'b' and 'c'"
std::string quoted_list(const std::vector<std::string> &words);

} // namespace broadloom::python
