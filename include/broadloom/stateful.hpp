// Kernels with states: arrays that a kernel keeps from call to call, such as the weights of a model
// in training.
//
//   kernel step {
//     state w : f32[c, p]
//     in    d : f32[c, p]
//     update w = w - 0.1 * d
//   }
//
//   bl::StatefulKernel step(bl::parse(text));
//   step.set("w", initial);
//   step({{"d", d}});
//   step.save("weights.npz");
//
// A call computes all outputs and updates from the states as they were before it. Either all of a
// call is done or nothing: where it throws, every state is what it was.
#pragma once

#include <broadloom/kernel.hpp>

#include <memory>

namespace broadloom {

// (bl::Function is a user's own function in expressions: function.hpp.)
//
// A StatefulKernel may be moved, not copied. Calls from several threads are made one after another.
class StatefulKernel {
public:
  // States whose extents are all declared begin as zeros; `set` or `load` gives the others their
  // arrays. Throws what `compile` throws; E0044 (SpecError) for a kernel without states.
  explicit StatefulKernel(const LoopSpec &spec, const Options &options = {});
  explicit StatefulKernel(Kernel kernel);
  StatefulKernel(StatefulKernel &&) noexcept;
  StatefulKernel &operator=(StatefulKernel &&) noexcept;
  ~StatefulKernel();

  // Copies an array into a state; where the shape is another one than before, the state has it from
  // now on. Throws DataError E0314 for an unknown state, and what `Kernel::run` throws for a wrong
  // dtype, rank or extent. The state is then as it was.
  void set(std::string_view state, const AnyView &value);
  // A copy of a state, in C order. Throws DataError E0314 for an unknown state or one that has no
  // array yet.
  Array get(std::string_view state) const;
  std::vector<std::string> states() const; // in declared order

  // One call: inputs that are no states, outputs that are no updates; by name, as Kernel::run and
  // Kernel::operator(). Throws what they throw, DataError E0314 where a state has no array yet, and
  // ShapeError E0120 where an update has another shape than its state. Outputs on the caller's
  // memory are unspecified after CancelledError, the states are not.
  void run(std::initializer_list<NamedView> inputs, std::initializer_list<NamedView> outputs,
           Kernel::Line line = Kernel::Line::current()) {
    run_named({inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()}, line);
  }
  void run_named(std::span<const NamedView> inputs, std::span<const NamedView> outputs,
                 Kernel::Line line = Kernel::Line::current());
  Results operator()(std::initializer_list<NamedView> inputs,
                     Kernel::Line line = Kernel::Line::current()) {
    return call({inputs.begin(), inputs.size()}, line);
  }
  Results call(std::span<const NamedView> inputs, Kernel::Line line = Kernel::Line::current());

  // All states as a .npz file, and back; files of numpy.savez have the same form. `load` takes an
  // array for each state. If one is missing or unknown it throws DataError E0314, and else what
  // `set` throws; then no state has changed.
  void save(const std::string &path) const;
  void load(const std::string &path);

  const Kernel &
  kernel() const; // with states as inputs, and updates as outputs of the states' names

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace broadloom
