// Inside call.cpp and blocks.cpp: the arguments of a call, and how it runs.
#pragma once

#include "device.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "kernel.hpp"
#include "small.hpp"

namespace broadloom::python {

inline constexpr double quick_points = 2048;    // some microseconds
inline constexpr double patient_points = 65536; // below, a call ends before anyone presses Ctrl-C

std::vector<std::string> names_of(const std::vector<Slot> &slots);
std::string listed(const State &state); // inputs and outputs, for messages
// Of a gradient: what a cotangent is that is not given.
std::string cotangent(const State &state, const std::string &input);
[[noreturn]] void unknown(const State &state, const char *what, const std::string &word,
                          const std::vector<Slot> &slots);

// Throws DataError E0312 where the parameter of this name is frozen.
void refuse_frozen(const State &state, PyObject *name);

// The arguments of a call by the inputs that they are for, borrowed; and the value of `out=`.
struct Arguments {
  explicit Arguments(State &state) : objects(state.inputs.size()) {}

  void place(const State &state, PyObject *name, PyObject *object) {
    const int found = state.find_input(name);
    if (found < 0) {
      if (PyUnicode_CompareWithASCIIString(name, "out") == 0) { // a reserved word, so no input
        out = object;
        return;
      }
      refuse_frozen(state, name);
      unknown(state, "input", words_of(name), state.inputs);
    }
    PyObject *&place = objects[std::size_t(found)];
    if (place != nullptr)
      throw ArgumentError("E0308",
                          "input '" + state.inputs[std::size_t(found)].name + "' is given twice",
                          {}, "give each input once");
    place = object;
  }

  void place_positional(const State &state, PyObject *const *args, std::size_t count) {
    if (count > objects.size())
      throw ArgumentError("E0308",
                          "kernel '" + state.name + "' takes " + std::to_string(objects.size()) +
                              (objects.size() == 1 ? " input, " : " inputs, ") +
                              std::to_string(count) + (count == 1 ? " was" : " were") + " given",
                          {}, listed(state));
    for (std::size_t k = 0; k < count; ++k) objects[k] = args[k];
  }

  Small<PyObject *> objects;
  PyObject *out = nullptr;
};

// The views of the inputs of a call.
struct Inputs {
  Inputs(const State &state, const Arguments &arguments, Number *numbers,
         std::vector<nb::object> &keep, Unaligned unaligned = Unaligned::copied)
      : views(state.inputs.size()) {
    for (std::size_t i = 0; i < views.size(); ++i) {
      PyObject *object = arguments.objects[i];
      if (object != nullptr)
        read_argument(object, state.inputs[i], views[i], numbers[i], keep, unaligned);
      else if (state.defaults_to_one[i]) {
        write_one(state.inputs[i].dtype, numbers[i]);
        views[i] = {state.inputs[i].dtype, numbers[i].bytes, false, {}};
        if (!state.inputs[i].device.empty()) take_to_device(state.inputs[i], views[i], keep);
      } else
        throw ArgumentError("E0308", "input '" + state.inputs[i].name + "' is not given", {},
                            cotangent(state, state.inputs[i].name) + listed(state));
    }
  }

  std::span<const AnyView> span() { return {views.data(), views.size()}; }

  Small<AnyView, 4> views;
};

// Runs `body` with the lock of Python let go, unless it is quick. Where Ctrl-C stopped it, Python's
// own handler says what is thrown.
template <class Body> void run(const State &state, double points, Body &&body) {
  if (points < quick_points) return body();
  if (points < patient_points || !is_main_thread()) {
    const Unlocked others_run;
    return body();
  }
  struct Reset {
    std::atomic<bool> &flag;
    ~Reset() { flag.store(false); }
  } const reset{*state.cancel()}; // also where something else is thrown
  try {
    const Interruptible listening(*state.cancel());
    const Unlocked others_run;
    body();
  } catch (const CancelledError &error) {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    throw CancelledError(
        error.code(), error.message(), {},
        "SIGINT stopped it, and its handler threw nothing; what arrays of out= hold is of no use");
  }
}

// A call that may compile, or whose size is not known.
inline constexpr double unknown_points = patient_points;

// The arguments of a call by position and by name.
void place_all(Arguments &arguments, const State &state, const nb::args &args,
               const nb::kwargs &kwargs);

// One array as it is, several as Results.
nb::object joined(const State &state, std::vector<nb::object> arrays);
std::vector<nb::object> all_to_python(const State &state, std::vector<Array> &arrays);

} // namespace broadloom::python
