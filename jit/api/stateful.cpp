// Kernels that own arrays. Each state that is updated has two: calls read the one and write the
// other, and when all is computed the two change places. So nothing that ends a call early leaves
// anything behind.
#include "array/copy.hpp"
#include "spec/spec.hpp"
#include "support/fail.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"
#include "support/undivided.hpp"

#include <broadloom/stateful.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace broadloom {

using support::fail;

namespace {

struct OwnedState {
  InputInfo info;
  bool updated = false;
  bool has_value = false;
  Array now, next; // next: of updated states, as large as now
};

// One that an array of this dtype and shape can stand in.
void check_value(const InputInfo &state, const AnyView &value) {
  if (value.dtype != state.dtype)
    fail("E0203",
         fmt::format("state '{}' is {}, the array given is {}", state.name, name(state.dtype),
                     name(value.dtype)),
         state.where, "nothing is converted on the way in: pass an array of that dtype");
  if (value.layout.rank != state.rank())
    fail("E0101",
         fmt::format("state '{}' has {}, the array given has {}", state.name,
                     support::count(state.rank(), "dim"), value.layout.rank),
         state.where, "pass an array of that rank");
  for (int d = 0; d < state.rank(); ++d) {
    const std::int64_t declared = state.extents[std::size_t(d)];
    if (declared >= 0 && declared != value.layout.extents[std::size_t(d)])
      fail("E0102",
           fmt::format("axis {} of state '{}' is declared to have {}, the array given has {}", d,
                       state.name, support::count(declared, "element"),
                       value.layout.extents[std::size_t(d)]),
           state.where, "pass an array of that shape");
  }
  if (value.data == nullptr && element_count(value.layout) > 0)
    fail("E0306", fmt::format("the array for state '{}' has a null pointer", state.name),
         state.where, "pass memory");
}

} // namespace

struct StatefulKernel::Impl {
  explicit Impl(Kernel k) : kernel(std::move(k)) {
    outputs = kernel.outputs();
    for (InputInfo &input : kernel.inputs())
      if (input.role == InputRole::state)
        states.push_back({std::move(input), false, false, {}, {}});
    for (OwnedState &state : states) {
      state.updated = std::ranges::any_of(outputs, [&](const OutputInfo &output) {
        return output.update && output.name == state.info.name;
      });
      if (std::ranges::all_of(state.info.extents, [](std::int64_t n) { return n >= 0; }))
        put(state, Array(state.info.dtype, state.info.extents));
    }
    if (states.empty())
      fail("E0044", "kernel '" + kernel.spec().data().name + "' has no state",
           kernel.spec().data().where, "declare one: state w : f32[i]; or call it as a bl::Kernel");
  }

  OwnedState &at(std::string_view name) {
    for (OwnedState &state : states)
      if (state.info.name == name) return state;
    fail("E0314", fmt::format("there is no state '{}'", name), {},
         "the states are " + support::quoted_list(names()));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const OwnedState &state : states) names.push_back(state.info.name);
    return names;
  }

  // Both arrays are had before either is given up.
  static void put(OwnedState &state, Array value) {
    if (state.updated && !std::ranges::equal(state.next.shape(), value.shape()))
      state.next = Array::to_be_written(value.dtype(), value.layout());
    else if (state.updated && !state.has_value)
      state.next = Array::to_be_written(value.dtype(), value.layout());
    state.now = std::move(value);
    state.has_value = true;
  }

  // What is asked of the kernel: the caller's arrays, and those of the states.
  void run(std::span<const NamedView> inputs, std::span<const NamedView> wanted,
           Kernel::Line line) {
    std::vector<NamedView> reads(inputs.begin(), inputs.end()),
        writes(wanted.begin(), wanted.end());
    for (const auto *given : {&reads, &writes})
      for (const NamedView &view : *given)
        for (const OwnedState &state : states)
          if (view.name == state.info.name)
            fail("E0314", fmt::format("'{}' is a state, which a call is not given", view.name),
                 state.info.where, "give it an array by `set`, and see it by `get`");
    for (const OwnedState &state : states) {
      if (!state.has_value)
        fail("E0314", fmt::format("state '{}' has no array yet", state.info.name), state.info.where,
             "give it one by `set` or `load` before the first call");
      reads.push_back({state.info.name, state.now});
      if (state.updated) writes.push_back({state.info.name, state.next});
    }
    kernel.run_named(reads, writes, line);
    const support::Undivided here;
    for (OwnedState &state : states)
      if (state.updated) std::swap(state.now, state.next);
  }

  // Held by a call. One that another thread was in when this process was forked has changed no
  // state, and never ends here.
  std::mutex &calls() const {
    const std::lock_guard lock(renewing);
    if (made_after != support::forks()) {
      (void)mutex.release(); // it stays locked
      mutex = std::make_unique<std::mutex>();
      made_after = support::forks();
    }
    return *mutex;
  }

  Kernel kernel;
  std::vector<OutputInfo> outputs;
  std::vector<OwnedState> states;

private:
  mutable support::Mutex renewing; // guards the two below
  mutable std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>(); // guards the arrays
  mutable unsigned made_after = support::forks();
};

StatefulKernel::StatefulKernel(Kernel kernel) try
    : impl_(std::make_unique<Impl>(std::move(kernel))) {
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}
StatefulKernel::StatefulKernel(const LoopSpec &spec, const Options &options)
    : StatefulKernel(compile(spec, options)) {}
StatefulKernel::StatefulKernel(StatefulKernel &&) noexcept = default;
StatefulKernel &StatefulKernel::operator=(StatefulKernel &&) noexcept = default;
StatefulKernel::~StatefulKernel() = default;

void StatefulKernel::set(std::string_view name, const AnyView &value) try {
  const std::lock_guard lock(impl_->calls());
  OwnedState &state = impl_->at(name);
  check_value(state.info, value);
  Array copy = array::dense_copy(value);
  const support::Undivided here;
  Impl::put(state, std::move(copy));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Array StatefulKernel::get(std::string_view name) const try {
  const std::lock_guard lock(impl_->calls());
  const OwnedState &state = impl_->at(name);
  if (!state.has_value)
    fail("E0314", fmt::format("state '{}' has no array yet", name), state.info.where,
         "give it one by `set` or `load`");
  return state.now.copy();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::vector<std::string> StatefulKernel::states() const { return impl_->names(); }
const Kernel &StatefulKernel::kernel() const { return impl_->kernel; }

void StatefulKernel::run_named(std::span<const NamedView> inputs,
                               std::span<const NamedView> outputs, Kernel::Line line) try {
  const std::lock_guard lock(impl_->calls());
  impl_->run(inputs, outputs, line);
} catch (Error &error) {
  error.note_call(kernel().spec().data().name, place_of(line));
  throw;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Results StatefulKernel::call(std::span<const NamedView> inputs, Kernel::Line line) try {
  const std::lock_guard lock(impl_->calls());
  std::vector<NamedView> reads(inputs.begin(), inputs.end());
  for (const OwnedState &state : impl_->states)
    if (state.has_value) reads.push_back({state.info.name, state.now});
  std::vector<std::pair<std::string, Array>> results;
  std::vector<NamedView> writes;
  const std::vector<OutputInfo> &infos = impl_->outputs;
  if (std::ranges::any_of(infos, [](const OutputInfo &output) { return !output.update; }) &&
      std::ranges::all_of(impl_->states, [](const OwnedState &state) { return state.has_value; })) {
    const std::vector<Signature> signatures = impl_->kernel.infer_named(reads);
    for (std::size_t o = 0; o < infos.size(); ++o)
      if (!infos[o].update)
        results.emplace_back(infos[o].name, Array(signatures[o].dtype, signatures[o].shape));
  }
  for (const auto &[name, array] : results) writes.push_back({name, array});
  impl_->run(inputs, writes, line);
  return Results(std::move(results));
} catch (Error &error) {
  error.note_call(kernel().spec().data().name, place_of(line));
  throw;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void StatefulKernel::save(const std::string &path) const try {
  const std::lock_guard lock(impl_->calls());
  NamedArrays arrays;
  for (const OwnedState &state : impl_->states) {
    if (!state.has_value)
      fail("E0314", fmt::format("state '{}' has no array yet", state.info.name), state.info.where,
           "give it one by `set` or `load` before it is saved");
    arrays.emplace_back(state.info.name, state.now);
  }
  save_npz(path, arrays);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void StatefulKernel::load(const std::string &path) try {
  NamedArrays arrays = load_npz(path);
  const std::lock_guard lock(impl_->calls());
  for (OwnedState &state : impl_->states)
    if (std::ranges::find(arrays, state.info.name, [](auto &a) { return a.first; }) == arrays.end())
      fail("E0314", fmt::format("'{}' has no array for state '{}'", path, state.info.name),
           state.info.where, "the file must hold an array for each state");
  std::vector<std::pair<OwnedState *, Array>> read;
  for (const auto &[name, array] : arrays) {
    OwnedState &state = impl_->at(name);
    check_value(state.info, array);
    read.emplace_back(&state, array.copy());
  }
  const support::Undivided here;
  for (auto &[state, array] : read) Impl::put(*state, std::move(array));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
