// See states.hpp.
#include "tools/broadloom/cli/states.hpp"

#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::cli {
namespace {

const Array *array_called(const NamedArrays &arrays, const std::string &name) {
  for (const auto &[known, array] : arrays)
    if (known == name) return &array;
  return nullptr;
}

} // namespace

NamedArrays load_states(const std::string &path, const std::vector<InputInfo> &infos,
                        const std::vector<std::string> &given) {
  NamedArrays states;
  if (path.empty()) return states;
  for (auto &[name, array] : load_npz(path)) {
    const bool is_state = std::ranges::any_of(infos, [&](const InputInfo &info) {
      return info.role == InputRole::state && info.name == name;
    });
    if (!is_state)
      support::fail(
          "E0314",
          fmt::format("'{}' has an array '{}', and the kernel has no such state", path, name), {},
          "load what --save-state has written for this kernel");
    const bool is_given = std::ranges::any_of(
        given, [&](const std::string &text) { return text.starts_with(name + "="); });
    if (!is_given) states.emplace_back(name, std::move(array));
  }
  return states;
}

std::vector<InputInfo> without(const std::vector<InputInfo> &infos, const NamedArrays &states) {
  std::vector<InputInfo> rest;
  for (const InputInfo &info : infos)
    if (array_called(states, info.name) == nullptr) rest.push_back(info);
  return rest;
}

std::vector<Array> with_states(const std::vector<InputInfo> &infos, std::vector<Array> given,
                               const NamedArrays &states) {
  std::vector<Array> all;
  auto next = given.begin();
  for (const InputInfo &info : infos)
    if (const Array *state = array_called(states, info.name))
      all.push_back(*state);
    else
      all.push_back(std::move(*next++));
  return all;
}

std::vector<Destination> with_updates(std::vector<Destination> destinations,
                                      const std::vector<InputInfo> &inputs,
                                      const std::vector<OutputInfo> &outputs) {
  if (std::ranges::none_of(inputs,
                           [](const InputInfo &info) { return info.role == InputRole::state; }))
    support::fail("E0314", "the kernel has no states to save", {},
                  "declare them as such: state w : f32[c]");
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const auto at = std::ranges::find_if(
        destinations, [&](const Destination &destination) { return destination.index >= o; });
    const bool is_there = at != destinations.end() && at->index == o;
    if (!outputs[o].update) continue;
    if (is_there)
      at->is_shown = false;
    else
      destinations.insert(at, {o, {}, false});
  }
  return destinations;
}

void save_states(const std::string &path, const std::vector<InputInfo> &infos,
                 const std::vector<Array> &inputs, const Outputs &outputs) {
  const std::vector<std::string> names = outputs.names();
  NamedArrays states;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].role != InputRole::state) continue;
    const auto updated = std::ranges::find(names, infos[i].name) - names.begin();
    states.emplace_back(infos[i].name, std::size_t(updated) < names.size()
                                           ? outputs.arrays()[std::size_t(updated)]
                                           : inputs[i]);
  }
  save_npz(path, states);
}

} // namespace broadloom::cli
