// The module broadloom._core: classes and functions as Python sees them.
#include "blocks.hpp"
#include "derive.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "kernel.hpp"
#include "log.hpp"
#include "records.hpp"
#include "small.hpp"
#include "windows.hpp"

#include <nanobind/stl/string.h>

#include <new>

namespace broadloom::python {
namespace {

const std::vector<std::string> stages = {"spec", "folded", "axes", "graph", "call", "plan",
                                         "loop", "block",  "llvm", "asm",   "why"};

Stage stage_from(const std::string &word) {
  for (std::size_t k = 0; k < stages.size(); ++k)
    if (stages[k] == word) return Stage(k);
  throw ArgumentError("E0401", "there is no stage '" + word + "'", {},
                      suggestion(word, stages) + "the stages are " + quoted_list(stages));
}

std::string show(const KernelObject &kernel, const std::string &stage, const std::string &graph,
                 bool whole, bool json) {
  ShowFormat format;
  if (graph == "dot")
    format.graph = ShowFormat::Graph::dot;
  else if (graph == "html")
    format.graph = ShowFormat::Graph::html;
  else if (graph != "text")
    throw ArgumentError("E0401", "there is no form of graphs called '" + graph + "'", {},
                        suggestion(graph, {"text", "dot", "html"}) +
                            "the forms are 'text', 'dot' and 'html'");
  format.whole = whole;
  format.json = json;
  const Stage wanted = stage_from(stage);
  const Unlocked others_run;
  return kernel.state->kernel().show(wanted, format);
}

// The shapes of the outputs, for those of the inputs in declared order.
nb::list infer(const KernelObject &kernel, const nb::sequence &shapes) {
  const State &state = *kernel.state;
  std::vector<AnyView> views;
  for (const nb::handle shape : shapes) {
    const std::vector<std::int64_t> extents = extents_of(shape);
    if (views.size() == state.inputs.size()) break;
    views.push_back({state.inputs[views.size()].dtype, nullptr, false, contiguous_layout(extents)});
  }
  nb::list result;
  for (const Signature &output : state.kernel().infer(views)) {
    nb::list extents;
    for (const std::int64_t extent : output.shape) extents.append(extent);
    result.append(nb::tuple(extents));
  }
  return result;
}

void set_level(const std::string &word) {
  static const std::vector<std::string> levels = {"trace", "debug",    "info", "warn",
                                                  "error", "critical", "off"};
  for (std::size_t k = 0; k < levels.size(); ++k)
    if (levels[k] == word) return set_log_level(LogLevel(k));
  throw ArgumentError("E0401", "there is no level of messages called '" + word + "'", {},
                      suggestion(word, levels) + "the levels are " + quoted_list(levels));
}

// --- kernels from text
// ----------------------------------------------------------------------------

// True, False, one name of a check, or several.
std::vector<std::string> debug_from(const nb::object &debug) {
  if (debug.is(nb::bool_(true))) return {"all"};
  if (debug.is(nb::bool_(false)) || (PySequence_Check(debug.ptr()) && nb::len(debug) == 0))
    return {};
  return names_from(debug, "debug", "debug=True, debug='nan' or debug=['nan', 'infinity']");
}

KernelObject compile_text(nb::str text, const nb::object &name, int threads, std::string target,
                          std::string engine, const nb::object &debug, const std::string &file,
                          std::string device) {
  const std::string words = utf8_of(text.ptr());
  const std::string kernel = name.is_none() ? "" : utf8_of(name.ptr());
  return make_kernel(parse(words, kernel, file), {threads, std::move(target), std::move(engine),
                                                  debug_from(debug), 0, std::move(device)});
}

// --- results
// --------------------------------------------------------------------------------------

nb::object result_at(const ResultsObject &results, const nb::object &index) {
  if (!nb::isinstance<nb::str>(index))
    return nb::steal(PyObject_GetItem(results.arrays.ptr(), index.ptr()));
  std::vector<std::string> names;
  for (std::size_t o = 0; o < results.names.size(); ++o) {
    if (results.names[o].equal(index)) return results.arrays[o];
    names.push_back(nb::cast<std::string>(results.names[o]));
  }
  const std::string word = utf8_of(index.ptr());
  throw ArgumentError("E0304", "there is no result called '" + word + "'", {},
                      suggestion(word, names) + "the results are " + quoted_list(names));
}

nb::object result_attribute(const ResultsObject &results, const std::string &name) {
  std::vector<std::string> names;
  for (std::size_t o = 0; o < results.names.size(); ++o) {
    names.push_back(nb::cast<std::string>(results.names[o]));
    if (names.back() == name) return results.arrays[o];
  }
  const std::string message = "there is no result called '" + name +
                              "': " + suggestion(name, names) + "the results are " +
                              quoted_list(names);
  PyErr_SetString(PyExc_AttributeError, message.c_str());
  throw nb::python_error();
}

nb::dict as_dict(const ResultsObject &results) {
  nb::dict dict;
  for (std::size_t o = 0; o < results.names.size(); ++o) dict[results.names[o]] = results.arrays[o];
  return dict;
}

// --- slots
// ----------------------------------------------------------------------------------------

// Python's collector of cycles. It also has objects that are not constructed come as zeros, whose
// calls are refused.
int visit_kernel(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int visit_bound(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto *bound = nb::inst_ptr<BoundObject>(self);
  for (const nb::object &object : bound->keep) Py_VISIT(object.ptr());
  Py_VISIT(bound->result.ptr());
  return 0;
}

int clear_bound(PyObject *self) {
  if (!nb::inst_ready(self)) return 0;
  auto *bound = nb::inst_ptr<BoundObject>(self);
  bound->bound.reset(); // whose memory goes
  bound->other.reset();
  bound->keep.clear();
  bound->result.reset();
  return 0;
}

int visit_results(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto *results = nb::inst_ptr<ResultsObject>(self);
  Py_VISIT(results->names.ptr());
  Py_VISIT(results->arrays.ptr());
  return 0;
}

int clear_results(PyObject *self) {
  if (!nb::inst_ready(self)) return 0;
  auto *results = nb::inst_ptr<ResultsObject>(self);
  results->arrays = nb::tuple();
  return 0;
}

// The stable ABI of Python does not let classes that nanobind makes say that they take vectorcalls:
// a tuple and a dict come, which costs some 0.1 us.
#ifdef Py_LIMITED_API
template <class T> PyObject *call_with_tuple(PyObject *self, PyObject *args, PyObject *named) {
  const vectorcallfunc call = nb::inst_ptr<T>(self)->call;
  if (call == nullptr) {
    PyErr_SetString(PyExc_TypeError, "this object was not constructed, so it cannot be called");
    return nullptr;
  }
  const Py_ssize_t positional = PyTuple_Size(args);
  const Py_ssize_t by_name = named != nullptr ? PyDict_Size(named) : 0;
  Small<PyObject *> objects(std::size_t(positional + by_name));
  for (Py_ssize_t k = 0; k < positional; ++k) objects[std::size_t(k)] = NB_TUPLE_GET_ITEM(args, k);
  nb::object names;
  if (by_name > 0) {
    names = nb::steal(PyTuple_New(by_name));
    if (!names.is_valid()) return nullptr;
    PyObject *name = nullptr, *object = nullptr;
    Py_ssize_t at = 0, k = 0;
    for (; PyDict_Next(named, &at, &name, &object) != 0; ++k) {
      if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "keywords must be strings");
        return nullptr;
      }
      NB_TUPLE_SET_ITEM(names.ptr(), k, Py_NewRef(name));
      objects[std::size_t(positional + k)] = object;
    }
  }
  return call(self, objects.data(), std::size_t(positional), names.ptr());
}
void *const tp_call_kernel = (void *)call_with_tuple<KernelObject>;
void *const tp_call_bound = (void *)call_with_tuple<BoundObject>;
#else
void *const tp_call_kernel = (void *)PyVectorcall_Call;
void *const tp_call_bound = (void *)PyVectorcall_Call;
#endif

PyType_Slot kernel_slots[] = {
    {Py_tp_traverse, (void *)visit_kernel}, {Py_tp_call, tp_call_kernel}, {0, nullptr}};
PyType_Slot bound_slots[] = {{Py_tp_traverse, (void *)visit_bound},
                             {Py_tp_clear, (void *)clear_bound},
                             {Py_tp_call, tp_call_bound},
                             {0, nullptr}};
PyType_Slot results_slots[] = {
    {Py_tp_traverse, (void *)visit_results}, {Py_tp_clear, (void *)clear_results}, {0, nullptr}};

// Has instances called without a tuple of arguments. Where in an instance the C++ value lies, a
// first one tells.
template <class T> Py_ssize_t enable_vectorcall(const nb::object &type) {
  const nb::object probe = nb::inst_alloc(type);
  const Py_ssize_t offset =
      reinterpret_cast<char *>(nb::inst_ptr<T>(probe)) - reinterpret_cast<char *>(probe.ptr());
#ifndef Py_LIMITED_API
  auto *object = reinterpret_cast<PyTypeObject *>(type.ptr());
  object->tp_vectorcall_offset = offset; // `call` is the first member
  object->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(object);
#endif
  return offset;
}

void define_kernel(nb::module_ &module) {
  nb::class_<KernelObject> type(module, "Kernel", nb::is_final(), nb::type_slots(kernel_slots),
                                "A compiled kernel: call it with arrays, by position or by name.");
  type.def_prop_ro(
          "name", [](const KernelObject &k) { return k.state->name; }, "The name in the text.")
      .def_prop_ro(
          "text", [](const KernelObject &k) { return k.state->text; },
          "The kernel as Broadloom prints it; compiles to the same kernel, but for values that are "
          "frozen.")
      .def_prop_ro(
          "inputs", [](const KernelObject &k) { return records_of(k.state->kernel().inputs()); },
          "The inputs in declared order: tuples of name, dtype, axes, extents, where and role.")
      .def_prop_ro(
          "outputs", [](const KernelObject &k) { return records_of(k.state->kernel().outputs()); },
          "The outputs in declared order: tuples of name, dtype, axes, mode, add and where.")
      .def_prop_ro(
          "threads", [](const KernelObject &k) { return k.state->kernel().threads(); },
          "The greatest number of threads of a call.")
      .def_prop_ro(
          "engine",
          [](const KernelObject &k) { return std::string(name(k.state->kernel().engine())); },
          "What runs calls with the latest layouts: 'jit', 'interpreter' or 'reference'.")
      .def_prop_ro(
          "device", [](const KernelObject &k) { return k.state->choices.device; },
          "The GPU that runs calls, as \"cuda:0\"; empty: the processor.")
      .def_prop_ro(
          "counters", [](const KernelObject &k) { return record_of(k.state->counters()); },
          "How often code was made, and how long that took.")
      .def("show", show, nb::arg("stage") = "loop", nb::kw_only(), nb::arg("graph") = "text",
           nb::arg("whole") = false, nb::arg("json") = false,
           "The text of a stage of the compiler, for the layouts of the latest call: 'spec', "
           "'axes', 'graph', 'call', 'plan', "
           "'loop', 'block', 'llvm', 'asm' or 'why'.")
      .def(
          "why", [](const KernelObject &k) { return records_of(k.state->kernel().why()); },
          "What the compiler decided, and why: a list of tuples, of which pandas.DataFrame makes a "
          "table.")
      .def(
          "bind",
          [](const KernelObject &k, nb::args args, nb::kwargs kwargs) {
            return bind(k.state, args, kwargs);
          },
          "The same call again and again: arguments as of a call, `out=` too. What comes back is "
          "called without any.")
      .def(
          "prepare",
          [](const KernelObject &k, nb::args args, nb::kwargs kwargs) {
            prepare(*k.state, args, kwargs);
          },
          "Compiles ahead for arrays like these.")
      .def("grad", grad, nb::arg("wrt") = nb::none(), nb::kw_only(), nb::arg("of") = nb::none(),
           nb::arg("value") = false, nb::arg("add") = false, nb::arg("policy") = "auto",
           nb::arg("carry") = false,
           "The kernel of the derivatives by these inputs (by all of real and complex numbers). It "
           "takes the inputs and, "
           "for each output, a cotangent d_OUTPUT, which is 1 where it is left out and the output "
           "has no dims. With policy='save' it also takes what `saving_forward` gives beside the "
           "outputs.")
      .def("saving_forward", saving, nb::arg("wrt") = nb::none(), nb::kw_only(),
           nb::arg("of") = nb::none(),
           "The kernel with further outputs saved_0, saved_1, ..: the values that its gradient "
           "needs, and that the kernel which `grad` makes of the same arguments and "
           "policy='save' takes as inputs.")
      .def(
          "value_and_grad",
          [](const KernelObject &k, const nb::object &wrt, const nb::object &of, bool add,
             const std::string &policy,
             bool carry) { return grad(k, wrt, of, true, add, policy, carry); },
          nb::arg("wrt") = nb::none(), nb::kw_only(), nb::arg("of") = nb::none(),
          nb::arg("add") = false, nb::arg("policy") = "auto", nb::arg("carry") = false,
          "As `grad`, with the outputs of the kernel before the derivatives.")
      .def("jvp", forward, nb::arg("wrt") = nb::none(), nb::kw_only(), nb::arg("of") = nb::none(),
           nb::arg("value") = false,
           "The kernel of directional derivatives: it takes the inputs and, for each in `wrt` (all "
           "of "
           "real and complex "
           "numbers), a tangent t_INPUT, what that moves by, and gives for each output what that "
           "moves by, t_OUTPUT.")
      .def(
          "jacobian", jacobian_of, nb::arg("of"), nb::arg("wrt"),
          "The kernel of a Jacobian: it takes the inputs and gives d_OF_d_WRT, how each element of "
          "that output moves with each of that input, with the axes of the one and then those of "
          "the other.")
      .def("hessian", hessian_of, nb::arg("of"), nb::arg("wrt"),
           "The kernel of a Hessian, d2_OF_d_WRT, of an output that is a single number.")
      .def("batch", batch_of, nb::arg("inputs") = nb::none(), nb::kw_only(), nb::arg("axis") = "b",
           "The kernel that does for all elements of a batch what this one does for one: these "
           "inputs (all that have dims) have one dim more, the first, and so has each output that "
           "depends on them.")
      .def(
          "freeze",
          [](const KernelObject &k, const nb::object &values, const nb::kwargs &named) {
            return kernel_of(freeze(*k.state, values, named));
          },
          nb::arg("values") = nb::none(), nb::arg("named"),
          "This kernel with the values of some parameters (`param` in the text) built in, given as "
          "a dict or by name: "
          "calls are given the other inputs only. What depends on such parameters alone is "
          "computed "
          "here, once, where no "
          "bit of any output changes by that.")
      .def(
          "refreeze",
          [](const KernelObject &k, const nb::object &values, const nb::kwargs &named) {
            return kernel_of(refreeze(*k.state, values, named));
          },
          nb::arg("values") = nb::none(), nb::arg("named"),
          "A frozen kernel with other values of all of its frozen parameters, of the same shapes; "
          "nothing is compiled again.")
      .def_prop_ro(
          "frozen", [](const KernelObject &k) { return frozen_values(*k.state); },
          "Copies of the values that parameters are frozen with, by their names.")
      .def(
          "with_threads",
          [](const KernelObject &k, int most) { return kernel_of(with_threads(*k.state, most)); },
          nb::arg("most"),
          "The same kernel, with the same code, of which each call runs on at most so many "
          "threads; 0 takes the limit back.")
      .def("_infer", infer, nb::arg("shapes"))
      .def(
          "unit",
          [](const KernelObject &k, const std::string &axis, nb::args args, nb::kwargs kwargs) {
            return unit(*k.state, axis, args, kwargs);
          },
          "At multiples of what positions along an axis blocks of these arrays begin, for "
          "`partial`.")
      .def("_unit",
           [](const KernelObject &k, const std::string &axis, const nb::sequence &shapes) {
             return unit_of_shapes(*k.state, axis, shapes);
           })
      .def(
          "partial",
          [](const KernelObject &k, const nb::object &before, std::int64_t offset, nb::args args,
             nb::kwargs kwargs) { return partial(*k.state, before, offset, args, kwargs); },
          "What the folds along an axis come to over a block of the data that begins at this "
          "offset: takes the inputs of a call. In a later round, what `join` made of all blocks of "
          "the round before comes in place of the axis.")
      .def(
          "rounds",
          [](const KernelObject &k, const std::string &axis) { return rounds(*k.state, axis); },
          "How often the data has to be gone through along an axis, by `partial`.")
      .def(
          "join",
          [](const KernelObject &k, const nb::object &blocks) { return join(*k.state, blocks); },
          "Blocks that follow each other as one.")
      .def(
          "combine",
          [](const KernelObject &k, const nb::object &blocks, nb::args offset, nb::kwargs kwargs) {
            return combine(*k.state, blocks, offset, kwargs);
          },
          "The outputs, of all blocks that `partial` gave, with the bits of one call. Inputs "
          "without the axis go by their names. Of outputs that have it, those of a block: then "
          "its part of the inputs is given, too, and for scans and iota where it begins, behind "
          "the blocks.")
      .def("_predict",
           [](const KernelObject &k) {
             const Unlocked others_run;
             return k.state->kernel().predict().seconds;
           })
      .def("_why_no_map",
           [](const KernelObject &k, const std::string &axis) {
             return k.state->kernel().why_no_map(axis);
           })
      .def("_stages", [](const KernelObject &k) { return stage_kernels(*k.state); })
      .def("_lets",
           [](const KernelObject &k, const nb::sequence &lies) { return lets(*k.state, lies); })
      .def("_parts",
           [](const KernelObject &k, const nb::sequence &lies) { return parts(*k.state, lies); })
      .def("_halos", [](const KernelObject &k, const std::string &axis,
                        const nb::sequence &lies) { return halos(*k.state, axis, lies); })
      .def("_check_halos", [](const KernelObject &k, const nb::sequence &lies,
                              const nb::sequence &parts) { check_halos(*k.state, lies, parts); })
      .def("_walks", [](const KernelObject &k) { return walks(*k.state); })
      .def("_why_no_blocks",
           [](const KernelObject &k, const std::string &axis) {
             return k.state->blocks_here().why_not(axis);
           })
      .def("_adds_up", [](const KernelObject &k,
                          const std::string &axis) { return k.state->blocks_here().adds_up(axis); })
      .def("_folds", [](const KernelObject &k) { return k.state->blocks_here().folds(); })
      .def("_extents",
           [](const KernelObject &k, const nb::sequence &lies) { return extents(*k.state, lies); })
      .def("_reads", [](const KernelObject &k, const nb::sequence &lies,
                        const nb::dict &parts) { return reads(*k.state, lies, parts); })
      .def("_block", [](const KernelObject &k, const nb::sequence &lies, const nb::dict &parts,
                        const nb::sequence &begins,
                        nb::args args) { return block(*k.state, lies, parts, begins, args); })
      .def("check", check_gradients,
           "Holds derived gradients against measured slopes, at these inputs. Options: wrt=, of=, "
           "directions=2, seed=1, "
           "tolerance=1e-6.")
      .def("__repr__",
           [](const KernelObject &k) {
             return "<broadloom.Kernel " + signature(k.state->kernel(), k.state->name) + ">";
           })
      .def("_repr_html_",
           [](const nb::object &self) {
             return nb::module_::import_("broadloom.notebook").attr("html_of")(self);
           })
      .def("__reduce__",
           [](const KernelObject &k) {
             return nb::make_tuple(nb::module_::import_("broadloom").attr("_restore"),
                                   pickled(*k.state));
           })
      .def("__copy__", [](const nb::object &self) { return self; })
      .def("__deepcopy__", [](const nb::object &self, const nb::object &) { return self; });
  kernel_offset = enable_vectorcall<KernelObject>(type);
}

void define_bound(nb::module_ &module) {
  nb::class_<BoundObject> type(module, "Bound", nb::is_final(), nb::type_slots(bound_slots),
                               "A call with its arrays fixed, as Kernel.bind makes it.");
  type.def_prop_ro(
          "result", [](const BoundObject &b) { return b.result; },
          "What a call returns: always the same arrays.")
      .def("__repr__", [](const BoundObject &b) {
        return "<broadloom.Bound " + signature(b.state->kernel(), b.state->name) + ">";
      });
  bound_offset = enable_vectorcall<BoundObject>(type);
}

void define_results(nb::module_ &module) {
  nb::class_<ResultsObject>(module, "Results", nb::is_final(), nb::type_slots(results_slots),
                            "The outputs of a call: by attribute, by [\"name\"], by [index], or "
                            "unpacked in declared order.")
      .def(
          "__init__",
          [](ResultsObject *self, const nb::tuple &names, const nb::tuple &arrays) {
            if (names.size() != arrays.size())
              throw ArgumentError("E0304", "names and arrays differ in number", {},
                                  "give one name for each");
            new (self) ResultsObject{names, arrays};
          },
          nb::arg("names"), nb::arg("arrays"))
      .def("__len__", [](const ResultsObject &r) { return r.arrays.size(); })
      .def("__iter__", [](const ResultsObject &r) { return r.arrays.attr("__iter__")(); })
      .def("__getitem__", result_at, nb::arg("index"))
      .def("__getattr__", result_attribute, nb::arg("name"))
      .def("__dir__", [](const ResultsObject &r) { return nb::list(r.names); })
      .def("_asdict", as_dict, "A dict of the outputs by their names.")
      .def("__repr__",
           [](const ResultsObject &r) {
             std::string words;
             for (std::size_t o = 0; o < r.names.size(); ++o)
               words += (o > 0 ? ",\n  " : "\n  ") + nb::cast<std::string>(r.names[o]) + "=" +
                        nb::cast<std::string>(nb::repr(r.arrays[o]));
             return "Results(" + words + ")";
           })
      .def("__reduce__", [](const nb::object &self) {
        const auto &r = nb::cast<const ResultsObject &>(self);
        return nb::make_tuple(self.type(), nb::make_tuple(r.names, r.arrays));
      });
}

} // namespace
} // namespace broadloom::python

NB_MODULE(_core, module) {
  using namespace broadloom::python;
  module.doc() = "The compiled part of broadloom.";
  import_numpy();
  note_main_thread();
  send_messages_to_python();
  nb::register_exception_translator([](const std::exception_ptr &error, void *) {
    try {
      std::rethrow_exception(error);
    } catch (const broadloom::Error &) {
      set_python_error();
    }
  });
  define_results(module);
  define_bound(module);
  define_kernel(module);
  define_devices(module);
  module.def("_compile", compile_text, nb::arg("text"), nb::arg("name").none(), nb::arg("threads"),
             nb::arg("target"), nb::arg("engine"), nb::arg("debug").none(), nb::arg("file"),
             nb::arg("device") = "");
  module.def("_restore", [](const nb::args &pickle) {
    return kernel_of(unpickled(nb::borrow<nb::tuple>(pickle)));
  });
  module.def("_live_arrays", live_arrays);
  module.def("_set_log_level", set_level, nb::arg("level"));
  module.def("_send_messages_to_stderr", send_messages_to_stderr);
  module.def("release_kept_memory", broadloom::release_kept_memory,
             "Gives the memory that is kept for the next outputs back to the system.");
}
