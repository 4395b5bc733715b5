// Kernels that are made of a kernel: with parameters built in, for fewer threads, and by pickle in
// another process.
//
// Pickle is told what a frozen kernel was compiled from and the values that were frozen, as its own
// text has values that were computed of them.
#include "call.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>

namespace broadloom::python {
namespace {

// Values of parameters, by a dict and by name.
struct Parameters {
  Parameters(const char *what, const std::vector<Slot> &known, const nb::object &values,
             const nb::kwargs &named) {
    if (!values.is_none() && !nb::isinstance<nb::dict>(values))
      throw ArgumentError("E0308",
                          std::string(what) + " takes a dict of parameters, this is of class " +
                              words_of(values.type().attr("__name__").ptr()),
                          {}, std::string("as in k.") + what + "({'w': w})");
    const nb::dict by_dict = values.is_none() ? nb::dict() : nb::borrow<nb::dict>(values);
    numbers.resize(by_dict.size() + named.size());
    names.reserve(numbers.size()); // views of names are given away
    for (const auto &[name, object] : by_dict) add(known, name, object);
    for (const auto &[name, object] : named) add(known, name, object);
  }

  // What is no parameter is left to the library, which says so.
  void add(const std::vector<Slot> &known, const nb::handle &name, const nb::handle &object) {
    const std::string &word = names.emplace_back(words_of(name.ptr()));
    NamedView &view = given.emplace_back(word, AnyView());
    const auto slot = std::ranges::find(known, word, &Slot::name);
    if (slot == known.end()) return;
    read_operand(object.ptr(), *slot, view.view, numbers[names.size() - 1], keep);
    slots.push_back(*slot);
  }

  std::vector<Frozen> copies() const {
    std::vector<Frozen> made;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      const AnyView &view = given[k].view;
      made.push_back({slots[k], Array(nullptr, view.dtype, view.data, view.layout).copy()});
    }
    return made;
  }

  std::vector<std::string> names;
  std::vector<Number> numbers;
  std::vector<nb::object> keep;
  std::vector<NamedView> given;
  std::vector<Slot> slots; // of those that are known
};

std::vector<Slot> slots_of(const std::vector<Frozen> &frozen) {
  std::vector<Slot> slots;
  for (const Frozen &one : frozen) slots.push_back(one.slot);
  return slots;
}

} // namespace

std::vector<NamedView> views_of(const std::vector<Frozen> &frozen) {
  std::vector<NamedView> views;
  for (const Frozen &one : frozen) views.emplace_back(one.slot.name, AnyView(one.value));
  return views;
}

std::shared_ptr<State> freeze(State &state, const nb::object &values, const nb::kwargs &named) {
  const Parameters parameters("freeze", state.inputs, values, named);
  std::shared_ptr<State> made =
      state.changed(state.choices, [&](const Kernel &k) { return k.freeze(parameters.given); });
  made->frozen = state.frozen;
  std::ranges::move(parameters.copies(), std::back_inserter(made->frozen));
  return made;
}

std::shared_ptr<State> refreeze(State &state, const nb::object &values, const nb::kwargs &named) {
  const Parameters parameters("refreeze", slots_of(state.frozen), values, named);
  std::shared_ptr<State> made =
      state.changed(state.choices, [&](const Kernel &k) { return k.refreeze(parameters.given); });
  made->frozen = parameters.copies();
  return made;
}

nb::dict frozen_values(const State &state) {
  nb::dict values;
  for (const Frozen &one : state.frozen) values[one.slot.name.c_str()] = to_numpy(one.value.copy());
  return values;
}

std::shared_ptr<State> with_threads(State &state, int most) {
  Choices choices = state.choices;
  choices.most_threads = most;
  std::shared_ptr<State> made =
      state.changed(choices, [&](const Kernel &k) { return k.with_threads(most); });
  made->frozen = state.frozen;
  return made;
}

nb::tuple pickled(const State &state) {
  std::vector<std::string> ones;
  for (std::size_t i = 0; i < state.inputs.size(); ++i)
    if (state.defaults_to_one[i]) ones.push_back(state.inputs[i].name);
  const Choices &how = state.choices;
  return nb::make_tuple(print(state.spec()), how.threads, how.target, how.engine, how.debug,
                        how.most_threads, ones, frozen_values(state), how.device);
}

std::shared_ptr<State> unpickled(const nb::tuple &pickle) {
  if (pickle.size() != 9)
    throw ArgumentError("E0308", "this is no kernel that this version of broadloom has pickled", {},
                        "pickle it again");
  const auto word = [&](std::size_t k) { return nb::cast<std::string>(pickle[k]); };
  const auto words = [&](std::size_t k) { return nb::cast<std::vector<std::string>>(pickle[k]); };
  Choices how{nb::cast<int>(pickle[1]), word(2), word(3), words(4), 0, word(8)};
  std::shared_ptr<State> made = std::make_shared<State>(parse(word(0)), how);
  made->default_to_one(words(6));
  nb::dict values;
  // What another process sent may lie at any address: then it is copied.
  for (const auto &[name, array] : nb::cast<nb::dict>(pickle[7]))
    values[name] = call(imported("numpy").attr("require"), array, nb::none(), "CA");
  if (nb::len(values) > 0) made = freeze(*made, values, nb::kwargs());
  return with_threads(*made, nb::cast<int>(pickle[5]));
}

} // namespace broadloom::python
