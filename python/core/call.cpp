// Calls from Python.
//
// The way of a repeated call is kept short: names are compared by address, views are read off
// NumPy's own structs, and the layouts of the outputs are remembered. Calls of few points keep
// Python's lock and are not made to listen for Ctrl-C, as both would take longer than the work.
#include "call.hpp"

#include "device.hpp"

#include <cstring>

namespace broadloom::python {

Py_ssize_t kernel_offset = 0, bound_offset = 0;

std::vector<std::string> names_of(const std::vector<Slot> &slots) {
  std::vector<std::string> names;
  for (const Slot &slot : slots) names.push_back(slot.name);
  return names;
}

std::string listed(const State &state) {
  return "the inputs are " + quoted_list(names_of(state.inputs)) + ", the outputs " +
         quoted_list(names_of(state.outputs));
}

std::string cotangent(const State &state, const std::string &input) {
  if (!state.name.ends_with("_grad") || !input.starts_with("d_")) return "";
  return input + " is how much a loss changes with each element of '" + input.substr(2) +
         "', all ones for its sum; ";
}

void unknown(const State &state, const char *what, const std::string &word,
             const std::vector<Slot> &slots) {
  throw ArgumentError("E0308",
                      "kernel '" + state.name + "' has no " + what + " called '" + word + "'", {},
                      suggestion(word, names_of(slots)) + listed(state));
}

void refuse_frozen(const State &state, PyObject *name) {
  for (const Frozen &frozen : state.frozen)
    if (words_of(name) == frozen.slot.name)
      throw ArgumentError(
          "E0312", "parameter '" + frozen.slot.name + "' is frozen, and calls are not given it", {},
          "leave it out, or give it other values by k.refreeze");
}

void place_all(Arguments &arguments, const State &state, const nb::args &args,
               const nb::kwargs &kwargs) {
  Small<PyObject *> objects(args.size());
  for (std::size_t k = 0; k < args.size(); ++k) objects[k] = args[k].ptr();
  arguments.place_positional(state, objects.data(), args.size());
  for (const auto &[name, object] : kwargs) arguments.place(state, name.ptr(), object.ptr());
}

nb::object joined(const State &state, std::vector<nb::object> arrays) {
  if (arrays.size() == 1) return std::move(arrays[0]);
  const nb::object tuple = nb::steal(PyTuple_New(Py_ssize_t(arrays.size())));
  if (!tuple.is_valid()) throw nb::python_error();
  for (std::size_t o = 0; o < arrays.size(); ++o)
    NB_TUPLE_SET_ITEM(tuple.ptr(), Py_ssize_t(o), arrays[o].release().ptr());
  return nb::cast(ResultsObject{state.output_names, nb::borrow<nb::tuple>(tuple)});
}

// What a call has made, as Python has it.
static nb::object to_python(const State &state, Array array) {
  return state.choices.device.empty() ? to_numpy(std::move(array))
                                      : to_device_array(state.choices.device, std::move(array));
}

std::vector<nb::object> all_to_python(const State &state, std::vector<Array> &arrays) {
  std::vector<nb::object> objects;
  for (Array &array : arrays) objects.push_back(to_python(state, std::move(array)));
  return objects;
}

namespace {

// The arrays given as outputs, in declared order; empty where none is given, null where one is not.
std::vector<PyObject *> given_outputs(const State &state, PyObject *out) {
  if (out == nullptr || out == Py_None) return {};
  const std::size_t count = state.outputs.size();
  std::vector<PyObject *> objects(count, nullptr);
  const nb::handle handle(out);
  if (PyDict_Check(out)) {
    PyObject *name = nullptr, *object = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(out, &position, &name, &object) != 0) {
      const int found = state.find_output(name);
      if (found < 0) unknown(state, "output", words_of(name), state.outputs);
      if (object != Py_None) objects[std::size_t(found)] = object;
    }
    return objects;
  }
  if (nb::isinstance<ResultsObject>(handle))
    out = nb::cast<const ResultsObject &>(handle).arrays.ptr();
  if (PyTuple_Check(out) || PyList_Check(out)) {
    const bool is_tuple = PyTuple_Check(out);
    const auto given = std::size_t(Py_SIZE(out));
    if (given != count)
      throw ArgumentError("E0308",
                          "out= has " + std::to_string(given) + " arrays for " +
                              std::to_string(count) + " outputs",
                          {}, "give one for each, or a dict: " + listed(state));
    for (std::size_t o = 0; o < count; ++o) {
      PyObject *object =
          is_tuple ? NB_TUPLE_GET_ITEM(out, Py_ssize_t(o)) : NB_LIST_GET_ITEM(out, Py_ssize_t(o));
      if (object != Py_None) objects[o] = object;
    }
    return objects;
  }
  if (count != 1)
    throw ArgumentError("E0308", "out= is one array for " + std::to_string(count) + " outputs", {},
                        "pass a tuple or a dict: " + listed(state));
  objects[0] = out;
  return objects;
}

Array allocate(const State &state, std::size_t o, const Layout &layout) {
  Array array = Array::to_be_written(state.outputs[o].dtype, layout);
  if (state.adds[o])
    std::memset(array.raw(), 0, std::size_t(array.size()) * size_of(array.dtype()));
  return array;
}

// The first call with some layouts: the library says how the outputs lie.
nb::object call_first(State &state, std::span<const AnyView> inputs) {
  std::vector<NamedView> named;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    named.push_back({state.inputs[i].name, inputs[i]});
  const Kernel kernel = state.kernel_here();
  std::vector<Array> arrays;
  run(state, unknown_points, [&] {
    for (const auto &[name, array] : kernel.call(named)) arrays.push_back(array);
  });
  std::vector<Layout> layouts;
  for (const Array &array : arrays) layouts.push_back(array.layout());
  state.know_outputs(inputs.data(), std::move(layouts));
  return joined(state, all_to_python(state, arrays));
}

nb::object call_repeated(State &state, const Memo &memo, std::span<const AnyView> inputs) {
  const std::size_t count = state.outputs.size();
  const double points = memo.points;
  const Kernel &kernel = state.kernel_here();
  if (count == 1) {
    Array array = allocate(state, 0, memo.outputs[0]);
    const AnyView view = array;
    run(state, points, [&] { kernel.run(inputs, {&view, 1}); });
    return to_numpy(std::move(array));
  }
  std::vector<Array> arrays;
  std::vector<AnyView> views;
  for (std::size_t o = 0; o < count; ++o) {
    arrays.push_back(allocate(state, o, memo.outputs[o]));
    views.push_back(arrays.back());
  }
  run(state, points, [&] { kernel.run(inputs, views); });
  return joined(state, all_to_python(state, arrays));
}

// Reads the outputs that are given, and makes the others. What is returned for each is in
// `objects`.
std::vector<AnyView> read_outputs(State &state, std::span<const AnyView> inputs,
                                  const std::vector<PyObject *> &given,
                                  std::vector<nb::object> &objects, std::vector<nb::object> &keep) {
  std::vector<AnyView> views(state.outputs.size());
  Number unused;
  std::vector<Signature> signatures;
  for (std::size_t o = 0; o < views.size(); ++o) {
    if (!given.empty() && given[o] != nullptr) {
      read_argument(given[o], state.outputs[o], views[o], unused, keep);
      objects.push_back(nb::borrow(given[o]));
      continue;
    }
    if (signatures.empty()) signatures = state.kernel().infer(inputs);
    const std::string &device = state.choices.device;
    Array array(signatures[o].dtype, signatures[o].shape); // zeros, as `+=` begins with them
    if (!device.empty()) array = Device(device).to_device(array);
    views[o] = array;
    objects.push_back(to_python(state, std::move(array)));
  }
  return views;
}

nb::object call_into(State &state, Inputs &inputs, const Memo &memo,
                     const std::vector<PyObject *> &given, std::vector<nb::object> &keep) {
  std::vector<nb::object> objects;
  const std::vector<AnyView> outputs = read_outputs(state, inputs.span(), given, objects, keep);
  const Kernel &kernel = state.kernel_here();
  run(state, memo.compiled ? memo.points : unknown_points,
      [&] { kernel.run(inputs.span(), outputs); });
  if (!memo.compiled) state.know_compiled(inputs.views.data());
  return joined(state, std::move(objects));
}

template <class T> T &payload(PyObject *self, Py_ssize_t offset) {
  return *reinterpret_cast<T *>(reinterpret_cast<char *>(self) + offset);
}

// What python/broadloom/others.py makes of arguments that are no arrays; null where it has nothing
// to make of them.
PyObject *call_with_others(PyObject *self, PyObject *const *args, std::size_t positional,
                           PyObject *names) {
  nb::list given;
  for (std::size_t k = 0; k < positional; ++k) given.append(nb::handle(args[k]));
  nb::dict named;
  for (Py_ssize_t k = 0; names != nullptr && k < NB_TUPLE_GET_SIZE(names); ++k)
    named[nb::handle(NB_TUPLE_GET_ITEM(names, k))] = nb::handle(args[positional + std::size_t(k)]);
  nb::object made = nb::module_::import_("broadloom.others")
                        .attr("call")(nb::handle(self), nb::tuple(given), named);
  return made.is(nb::handle(Py_NotImplemented)) ? nullptr : made.release().ptr();
}

nb::object call_with_arrays(State &state, PyObject *const *args, std::size_t positional,
                            PyObject *names) {
  Arguments arguments(state);
  arguments.place_positional(state, args, positional);
  if (names != nullptr)
    for (Py_ssize_t k = 0; k < NB_TUPLE_GET_SIZE(names); ++k)
      arguments.place(state, NB_TUPLE_GET_ITEM(names, k), args[positional + std::size_t(k)]);

  std::vector<nb::object> keep;
  Small<Number> numbers(state.inputs.size());
  Inputs inputs(state, arguments, numbers.data(), keep);
  const MemoPtr kept = state.memo(inputs.views.data());
  const Memo &memo = *kept;
  const std::vector<PyObject *> given = given_outputs(state, arguments.out);
  if (!given.empty()) return call_into(state, inputs, memo, given, keep);
  if (memo.outputs.empty() || !state.choices.device.empty()) [[unlikely]]
    return call_first(state, inputs.span());
  return call_repeated(state, memo, inputs.span());
}

} // namespace

PyObject *call_kernel(PyObject *self, PyObject *const *args, std::size_t nargsf, PyObject *names) {
  return guarded([&] {
    const auto positional = std::size_t(PyVectorcall_NARGS(nargsf));
    State &state = *payload<KernelObject>(self, kernel_offset).state;
    try {
      return call_with_arrays(state, args, positional, names).release().ptr();
    } catch (const DTypeError &) {
      if (PyObject *made = call_with_others(self, args, positional, names)) return made;
      throw;
    }
  });
}

BoundObject bind(const std::shared_ptr<State> &state, nb::args args, nb::kwargs kwargs) {
  BoundObject made;
  made.call = call_bound;
  made.state = state;
  Arguments arguments(*state);
  place_all(arguments, *state, args, kwargs);
  made.numbers = std::make_unique<Number[]>(state->inputs.size());
  Inputs inputs(*state, arguments, made.numbers.get(), made.keep, Unaligned::refused);
  for (PyObject *object : arguments.objects)
    if (object != nullptr) made.keep.push_back(nb::borrow(object));
  made.quick = state->memo(inputs.views.data())->points < quick_points;
  made.inputs.assign(inputs.views.begin(), inputs.views.end());
  std::vector<nb::object> objects;
  made.outputs =
      read_outputs(*state, made.inputs, given_outputs(*state, arguments.out), objects, made.keep);
  for (const nb::object &object : objects) made.keep.push_back(object);
  made.result = joined(*state, std::move(objects));
  run(*state, unknown_points,
      [&] { made.bound = state->kernel().bind(made.inputs, made.outputs); });
  return made;
}

PyObject *call_bound(PyObject *self, PyObject *const *, std::size_t nargsf, PyObject *names) {
  return guarded([&] {
    if (PyVectorcall_NARGS(nargsf) != 0 || (names != nullptr && NB_TUPLE_GET_SIZE(names) != 0))
      throw ArgumentError(
          "E0308", "a bound call takes no arguments", {},
          "its arrays are those that it was bound to: write into them, or bind others");
    BoundObject &made = payload<BoundObject>(self, bound_offset);
    const BoundCall call = made.state->bound_here(made);
    run(*made.state, made.quick ? 0 : patient_points, [&] { call(); });
    return nb::object(made.result).release().ptr();
  });
}

void prepare(State &state, nb::args args, nb::kwargs kwargs) {
  Arguments arguments(state);
  place_all(arguments, state, args, kwargs);
  std::vector<nb::object> keep;
  Small<Number> numbers(state.inputs.size());
  Inputs inputs(state, arguments, numbers.data(), keep);
  run(state, unknown_points, [&] { state.kernel().prepare(inputs.span()); });
}

GradientCheck check(State &state, nb::args args, nb::kwargs kwargs,
                    const GradientCheckOptions &wanted) {
  if (!state.choices.device.empty())
    throw CompileError("E0506",
                       "derivatives of kernel '" + state.name +
                           "' are not checked on the device '" + state.choices.device + "'",
                       {}, "check it without device=: the bits are the same");
  Arguments arguments(state);
  place_all(arguments, state, args, kwargs);
  std::vector<nb::object> keep;
  Small<Number> numbers(state.inputs.size());
  Inputs inputs(state, arguments, numbers.data(), keep);
  std::vector<NamedView> named;
  for (std::size_t i = 0; i < state.inputs.size(); ++i)
    named.push_back({state.inputs[i].name, inputs.views[i]});
  const std::vector<NamedView> frozen = views_of(state.frozen);
  named.insert(named.end(), frozen.begin(), frozen.end());
  GradientCheckOptions options = wanted;
  if (is_main_thread()) options.cancel = state.cancel();
  GradientCheck result;
  run(state, unknown_points, [&] { result = check_gradient(state.spec(), named, options); });
  return result;
}

} // namespace broadloom::python
