#include "errors.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <new>
#include <stdexcept>

namespace broadloom::python {
namespace {

const char *class_name(const Error &error) {
  if (dynamic_cast<const ArgumentError *>(&error) != nullptr) return "ArgumentError";
  if (dynamic_cast<const SpecError *>(&error) != nullptr) return "SpecError";
  if (dynamic_cast<const ShapeError *>(&error) != nullptr) return "ShapeError";
  if (dynamic_cast<const DTypeError *>(&error) != nullptr) return "DTypeError";
  if (dynamic_cast<const DataError *>(&error) != nullptr) return "DataError";
  if (dynamic_cast<const CompileError *>(&error) != nullptr) return "CompileError";
  if (dynamic_cast<const CancelledError *>(&error) != nullptr) return "CancelledError";
  if (dynamic_cast<const InternalError *>(&error) != nullptr) return "InternalError";
  return "Error";
}

// Texts of users may hold what is not UTF-8.
nb::object text(const std::string &words) {
  return nb::steal(PyUnicode_DecodeUTF8(words.data(), Py_ssize_t(words.size()), "replace"));
}

void set_error(const Error &error) {
  const nb::object type = imported("broadloom.errors").attr(class_name(error));
  const Place &place = error.where();
  nb::object where = nb::none();
  if (place.known())
    where =
        nb::make_tuple(text(place.file), place.line, place.column, place.length, text(place.text));
  const auto *bug = dynamic_cast<const InternalError *>(&error);
  const std::string message = bug != nullptr ? bug->what() : error.message();
  const nb::object value = call(type, error.code(), text(message), where, text(error.help()));
  PyErr_SetObject(type.ptr(), value.ptr());
}

// The number of letters that are changed, left out, added, or swapped with the next one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last.back();
}

} // namespace

void set_python_error() noexcept {
  try {
    try {
      throw;
    } catch (nb::python_error &error) {
      error.restore();
    } catch (const Error &error) {
      set_error(error);
    } catch (const std::bad_alloc &) {
      PyErr_NoMemory();
    } catch (const nb::builtin_exception &error) {
      PyErr_SetString(PyExc_TypeError, error.what());
    } catch (const std::exception &error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
  } catch (nb::python_error &error) { // the error could not be made
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

std::string words_of(PyObject *object) {
  const nb::object text = nb::steal(PyObject_Str(object));
  if (!text.is_valid()) throw nb::python_error();
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "replace"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AsString(bytes.ptr()), std::size_t(PyBytes_Size(bytes.ptr()))};
}

std::string utf8_of(PyObject *text) {
  Py_ssize_t size = 0;
  const char *words = PyUnicode_AsUTF8AndSize(text, &size);
  if (words != nullptr) return {words, std::size_t(size)};
  if (PyErr_ExceptionMatches(PyExc_UnicodeError) == 0) throw nb::python_error();
  PyErr_Clear();
  throw SpecError("E0014", "'" + words_of(text) + "' is no text in UTF-8", {},
                  "it has halves of characters (surrogates): decode it from its bytes as UTF-8");
}

std::string suggestion(std::string_view word, const std::vector<std::string> &known) {
  const std::string *best = nullptr;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string &other : known)
    if (const std::size_t apart = distance(word, other);
        apart < least && apart < std::max(word.size(), other.size())) {
      least = apart;
      best = &other;
    }
  return best != nullptr ? "did you mean '" + *best + "'? " : "";
}

std::string quoted_list(const std::vector<std::string> &words) {
  std::string list;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (k > 0) list += k + 1 == words.size() ? " and " : ", ";
    list += "'" + words[k] + "'";
  }
  return list;
}

} // namespace broadloom::python
