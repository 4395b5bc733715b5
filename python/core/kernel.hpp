// broadloom.Kernel, broadloom.Bound and broadloom.Results.
#pragma once

#include "arrays.hpp"

#include <broadloom/block_kernel.hpp>
#include <broadloom/broadloom.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::python {

// What calls with one set of layouts have in common. It does not change: what is learnt makes
// another one.
struct Memo {
  std::vector<std::int64_t> key; // extents and strides of all inputs
  std::vector<Layout> outputs;   // as a call allocates them; empty before the first that did
  double points = 0;             // of the iteration space, at most
  bool compiled = false;         // a call has run with arrays that were given
};
using MemoPtr = std::shared_ptr<const Memo>;

// How a kernel is compiled, as Python says it.
struct Choices {
  int threads = 0;
  std::string target;
  std::string engine = "auto";
  std::vector<std::string> debug; // what is checked of each call: "nan", ..
  int most_threads = 0;           // of a call, by `with_threads`; 0: as compiled
  std::string device = {};        // that runs it; empty: this process
};

struct BoundObject;

// A parameter that calls are not given, and its value: a copy, as it is compiled in again for other
// threads and processes.
struct Frozen {
  Slot slot;
  Array value;
};

// Threads share it. Where Python has a lock of its own, that one guards what changes; free-threaded
// Python has `mutex_` for it, which is nothing elsewhere and never held while Python is called.
class State {
public:
  State(const LoopSpec &spec, const Choices &choices);

  const Kernel &kernel() const { return kernel_; } // of the main thread: Ctrl-C stops it
  // For the calling thread. Ctrl-C in the main thread does not stop what other threads run.
  const Kernel &kernel_here();
  Counters counters() const; // of all threads' calls
  const std::shared_ptr<std::atomic<bool>> &cancel() const { return cancel_; }

  // Blocks of its outputs, with the parameters that are frozen by now among its inputs; for the
  // calling thread, and made when first asked for.
  BlockKernel blocks_here();
  // It as several kernels, one for each let that is an array.
  Stages stages();
  Halos halos();

  // The text that was compiled: with the parameters that are frozen by now, and nothing built in.
  const LoopSpec &spec() const { return spec_; }

  // What `change` makes of this kernel, in the main thread and in others; `frozen` is left to the
  // caller. Compiled code is shared as far as `change` shares it.
  using Change = std::function<Kernel(const Kernel &)>;
  std::shared_ptr<State> changed(const Choices &how, const Change &change);

  // The entry for these inputs, made where there is none. Throws ShapeError E0101 for another rank
  // than the declared one.
  MemoPtr memo(const AnyView *views);
  // For calls with the same layouts from now on.
  void know_outputs(const AnyView *views, std::vector<Layout> outputs);
  void know_compiled(const AnyView *views);

  // The bound kernel for other threads than the main one, made where there is none.
  BoundCall bound_here(BoundObject &bound);

  // The input or output of this name, as its position; -1 where there is none.
  int find_input(PyObject *word) const;
  int find_output(PyObject *word) const;

  // These inputs are 1 where they are left out.
  void default_to_one(const std::vector<std::string> &names);

  Choices choices;
  std::string name, text; // the text as it is printed
  std::vector<Slot> inputs, outputs;
  std::vector<Frozen> frozen;
  std::vector<bool> adds;              // of outputs: `+=`
  std::vector<bool> defaults_to_one;   // of inputs: the cotangent of an output of no dims
  nb::tuple input_names, output_names; // interned

private:
  State(const LoopSpec &spec, const Choices &choices, std::shared_ptr<std::atomic<bool>> cancel,
        Kernel kernel);
  bool same_layouts(const Memo &memo, const AnyView *views) const;
  void change(const AnyView *views, const std::function<void(Memo &)> &how);
  template <class Made> Made made_once(std::optional<Made> &known);
  std::optional<Kernel> other() const;
  double points(const AnyView *views) const;

  LoopSpec spec_;
  std::shared_ptr<std::atomic<bool>> cancel_;
  Kernel kernel_;
  std::vector<std::vector<int>> axes_; // of the dims of each input
  int axis_count_ = 0;
  mutable nb::ft_mutex mutex_;  // guards all below, and `other` of bound calls
  std::optional<Kernel> other_; // stays once it is set
  std::optional<BlockKernel> blocks_, other_blocks_;
  std::optional<Stages> stages_;
  std::optional<Halos> halos_;
  std::vector<MemoPtr> memos_; // the latest first
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
KernelObject kernel_of(std::shared_ptr<State> state);

// `k(x, y)`, `k(x=.., out=..)`: Python's vectorcall.
PyObject *call_kernel(PyObject *self, PyObject *const *args, std::size_t nargsf, PyObject *names);
PyObject *call_bound(PyObject *self, PyObject *const *args, std::size_t nargsf, PyObject *names);

BoundObject bind(const std::shared_ptr<State> &state, nb::args args, nb::kwargs kwargs);

// Parameters built in, by a dict and by name.
std::shared_ptr<State> freeze(State &state, const nb::object &values, const nb::kwargs &named);
std::shared_ptr<State> refreeze(State &state, const nb::object &values, const nb::kwargs &named);
nb::dict frozen_values(const State &state); // copies
std::vector<NamedView> views_of(const std::vector<Frozen> &frozen);
std::shared_ptr<State> with_threads(State &state, int most);

// What pickle is told, and what it calls with that.
nb::tuple pickled(const State &state);
std::shared_ptr<State> unpickled(const nb::tuple &pickle);

void prepare(State &state, nb::args args, nb::kwargs kwargs);
GradientCheck check(State &state, nb::args args, nb::kwargs kwargs,
                    const GradientCheckOptions &options);

// Where the C++ value lies in its Python object; module.cpp sets it.
extern Py_ssize_t kernel_offset, bound_offset;

} // namespace broadloom::python
