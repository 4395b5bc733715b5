// broadloom.Kernel, broadloom.Bound and broadloom.Results.
#pragma once

#include "arrays.hpp"

#include <broadloom/broadloom.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::python {

// What calls with one set of layouts have in common.
struct Memo {
  std::vector<std::int64_t> key; // extents and strides of all inputs
  std::vector<Layout> outputs;   // as a call allocates them; empty before the first that did
  double points = 0;             // of the iteration space, at most
  bool compiled = false;         // a call has run with arrays that were given
};

// How a kernel is compiled, as Python says it.
struct Choices {
  int threads = 0;
  std::string target;
  std::string engine = "auto";
};

class State {
public:
  State(const LoopSpec &spec, const Choices &choices);

  const Kernel &kernel() const { return kernel_; } // of the main thread: Ctrl-C stops it
  // For the calling thread. Ctrl-C in the main thread does not stop what other threads run.
  const Kernel &kernel_here();
  const std::shared_ptr<std::atomic<bool>> &cancel() const { return cancel_; }

  // The entry for these inputs, made where there is none. It stays until the next call of `memo`.
  Memo &memo(const AnyView *views);

  // The input or output of this name, as its position; -1 where there is none.
  int find_input(PyObject *word) const;
  int find_output(PyObject *word) const;

  Choices choices;
  std::string name, text; // the text as it is printed
  std::vector<Slot> inputs, outputs;
  std::vector<bool> adds;              // of outputs: `+=`
  std::vector<bool> defaults_to_one;   // of inputs: the cotangent of an output of no dims
  nb::tuple input_names, output_names; // interned

private:
  bool same_layouts(const Memo &memo, const AnyView *views) const;
  double points(const AnyView *views) const;

  std::shared_ptr<std::atomic<bool>> cancel_;
  Kernel kernel_;
  std::optional<Kernel> other_;
  std::vector<std::vector<int>> axes_; // of the dims of each input
  int axis_count_ = 0;
  std::vector<std::unique_ptr<Memo>> memos_; // the latest first
};

// The function that Python calls comes first in these.
struct KernelObject {
  vectorcallfunc call = nullptr;
  std::shared_ptr<State> state;
};

// A call with its arguments fixed.
struct BoundObject {
  vectorcallfunc call = nullptr;
  std::shared_ptr<State> state;
  std::vector<AnyView> inputs, outputs;
  std::unique_ptr<Number[]> numbers; // views of inputs point into it
  std::vector<nb::object> keep;
  std::optional<BoundCall> bound, other; // of the main thread, of others
  bool quick = false;
  nb::object result;
};

struct ResultsObject {
  nb::tuple names, arrays;
};

KernelObject make_kernel(const LoopSpec &spec, const Choices &choices);

// `k(x, y)`, `k(x=.., out=..)`: Python's vectorcall.
PyObject *call_kernel(PyObject *self, PyObject *const *args, std::size_t nargsf, PyObject *names);
PyObject *call_bound(PyObject *self, PyObject *const *args, std::size_t nargsf, PyObject *names);

BoundObject bind(const std::shared_ptr<State> &state, nb::args args, nb::kwargs kwargs);
void prepare(State &state, nb::args args, nb::kwargs kwargs);
GradientCheck check(State &state, nb::args args, nb::kwargs kwargs,
                    const GradientCheckOptions &options);

// Where the C++ value lies in its Python object; module.cpp sets it.
extern Py_ssize_t kernel_offset, bound_offset;

} // namespace broadloom::python
