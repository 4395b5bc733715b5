#include "records.hpp"

#include "arrays.hpp"
#include "lock.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace broadloom::python {
namespace {

template <class... Values> nb::object record(const char *name, Values &&...values) {
  return call(imported("broadloom.records").attr(name), std::forward<Values>(values)...);
}

nb::tuple words(const std::vector<std::string> &list) {
  nb::list result;
  for (const std::string &word : list) result.append(word);
  return nb::tuple(result);
}

std::string word(DType dtype) { return std::string(name(dtype)); }

std::string word(ModeKind mode) {
  switch (mode) {
  case ModeKind::plain: return "plain";
  case ModeKind::broadcast: return "broadcast";
  case ModeKind::accumulate: return "accumulate";
  case ModeKind::reduce: return "reduce";
  }
  return {};
}

std::string word(InputRole role) {
  switch (role) {
  case InputRole::plain: return "in";
  case InputRole::parameter: return "param";
  case InputRole::state: return "state";
  }
  return {};
}

std::string word(Slope slope) {
  switch (slope) {
  case Slope::agrees: return "agrees";
  case Slope::differs: return "differs";
  case Slope::not_smooth: return "not smooth";
  case Slope::no_gradient: return "no gradient";
  }
  return {};
}

nb::object record_of(const Cost &cost) {
  return record("Cost", cost.bytes, cost.flops, cost.cycles);
}

template <class Info> std::string declaration(const Info &info) {
  std::string text = info.name + ": " + word(info.dtype);
  for (std::size_t d = 0; d < info.axes.size(); ++d) text += (d == 0 ? "[" : ", ") + info.axes[d];
  return info.axes.empty() ? text : text + "]";
}

} // namespace

nb::object record_of(const Place &place) {
  if (!place.known()) return nb::none();
  return record("Place", place.file, place.line, place.column, place.length, place.text);
}

nb::object record_of(const Counters &counters) {
  return record("Counters", counters.compiles, counters.patterns, counters.interpreted,
                counters.compile_ms);
}

nb::object record_of(const GradientCheck &check) {
  nb::list slopes;
  for (const SlopeCheck &slope : check.slopes)
    slopes.append(record("Slope", slope.output, slope.input, word(slope.slope), slope.measured,
                         slope.derived, slope.difference, slope.tolerance, slope.compared,
                         slope.left_out, slope.reason, describe(slope)));
  return record("GradientCheck", check.passed(), nb::tuple(slopes));
}

nb::object record_of(const Partial &block) {
  const auto records = [](const std::vector<Partial::Piece> &pieces) {
    nb::list made;
    for (const Partial::Piece &piece : pieces) {
      nb::list states, leaves, scans;
      for (const Array &state : piece.states) states.append(to_numpy(state));
      for (const std::int64_t leaf : piece.leaves) leaves.append(leaf);
      for (const Array &scan : piece.scans) scans.append(to_numpy(scan));
      made.append(
          record("Piece", piece.extent, nb::tuple(states), nb::tuple(leaves), nb::tuple(scans)));
    }
    return nb::tuple(made);
  };
  return record("Partial", block.axis, block.offset, block.extent, block.unit,
                records(block.pieces), records(block.before));
}

nb::list records_of(const std::vector<InputInfo> &inputs) {
  nb::list list;
  for (const InputInfo &input : inputs) {
    nb::list extents;
    for (const std::int64_t extent : input.extents)
      extents.append(extent < 0 ? nb::object(nb::none()) : nb::object(nb::int_(extent)));
    list.append(record("Input", input.name, word(input.dtype), words(input.axes),
                       nb::tuple(extents), record_of(input.where), word(input.role)));
  }
  return list;
}

nb::list records_of(const std::vector<OutputInfo> &outputs) {
  nb::list list;
  for (const OutputInfo &output : outputs)
    list.append(record("Output", output.name, word(output.dtype), words(output.axes),
                       word(output.mode), output.add, record_of(output.where)));
  return list;
}

nb::list records_of(const std::vector<Decision> &decisions) {
  nb::list list;
  for (const Decision &decision : decisions) {
    nb::list alternatives;
    for (const Alternative &other : decision.alternatives)
      alternatives.append(
          record("Alternative", other.choice, other.why_not, record_of(other.cost)));
    list.append(record("Decision", decision.topic, decision.code, decision.subject, decision.choice,
                       decision.text, record_of(decision.cost), nb::tuple(alternatives)));
  }
  return list;
}

std::string signature(const Kernel &kernel, const std::string &name) {
  std::string text = name + "(";
  const std::vector<InputInfo> inputs = kernel.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    text += (i > 0 ? ", " : "") + declaration(inputs[i]);
  text += ") -> ";
  const std::vector<OutputInfo> outputs = kernel.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o)
    text += (o > 0 ? ", " : "") + declaration(outputs[o]);
  return text;
}

} // namespace broadloom::python
