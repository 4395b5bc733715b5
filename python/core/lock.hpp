// Python's lock, let go and taken.
//
// Problem: where Python has ended, CPython up to 3.13 ends a thread that asks for its lock, by
// pthread_exit. That unwinds the stack, through destructors and functions that let nothing pass,
// and so aborts the process.
// Method: such a thread stays where it has asked until the process has ended, as CPython 3.14 has
// it.
// Example: const Unlocked others_run;   kernel.run(inputs, outputs);
#pragma once

#include <nanobind/nanobind.h>

#include <unistd.h>

#include <type_traits>
#include <utility>

namespace broadloom::python {

[[noreturn]] inline void stay() {
  for (;;) pause();
}

// What `body` returns: calls of Python's C functions, which throw nothing. Not by a handler, as one
// error may be in hand already, and the C++ library ends the process where it is joined by what is
// no exception.
template <class Body> auto outlasting_python(Body &&body) {
  struct Stay {
    bool is_back = false;
    ~Stay() {
      if (!is_back) stay();
    }
  } unwinding;
  if constexpr (std::is_void_v<decltype(body())>) {
    body();
    unwinding.is_back = true;
  } else {
    const auto result = body();
    unwinding.is_back = true;
    return result;
  }
}

// What may be written in Python, where other threads get the lock now and then: modules that are
// imported, and what is called.
inline nanobind::object imported(const char *name) {
  PyObject *module = outlasting_python([&] { return PyImport_ImportModule(name); });
  if (module == nullptr) throw nanobind::python_error();
  return nanobind::steal(module);
}

template <class... Values> nanobind::object call(nanobind::handle function, Values &&...values) {
  const nanobind::tuple arguments = nanobind::make_tuple(std::forward<Values>(values)...);
  PyObject *result =
      outlasting_python([&] { return PyObject_CallObject(function.ptr(), arguments.ptr()); });
  if (result == nullptr) throw nanobind::python_error();
  return nanobind::steal(result);
}

class Unlocked {
public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked &) = delete;
  ~Unlocked() {
    outlasting_python([&] { PyEval_RestoreThread(state_); });
  }

private:
  PyThreadState *state_;
};

class Locked { // on any thread
public:
  Locked() : state_(outlasting_python([] { return PyGILState_Ensure(); })) {}
  Locked(const Locked &) = delete;
  ~Locked() { PyGILState_Release(state_); }

private:
  PyGILState_STATE state_;
};

} // namespace broadloom::python
