// See windows.hpp.
#include "kernel/windows.hpp"

#include "kernel/check.hpp"
#include "kernel/interior.hpp"
#include "kernel/overlap.hpp"
#include "kernel/said.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::kernel {
namespace {

class WindowChooser {
public:
  WindowChooser(const spec::TypedSpec &spec, Operands given, const Overlaps &overlaps,
                const WindowRules &rules)
      : spec_(spec), overlaps_(overlaps), rules_(rules), count_(spec.given_inputs()),
        inputs_(layouts_of(given.first(count_))), viewer_(spec, inputs_),
        operands_(given.begin(), given.begin() + std::ptrdiff_t(count_)) {
    windows_.reserve(spec.inputs.size() - count_); // their addresses are kept
    const bool sees = sees_copies(spec);
    for (std::size_t i = count_; i < spec.inputs.size(); ++i) {
      seen_.push_back(viewer_.see(i));
      if (sees) lies_.push_back(seen_.back().lies);
      operands_.push_back(
          &windows_.emplace_back(spec.inputs[i].dtype, nullptr, false, seen_.back().layout));
    }
    operands_.insert(operands_.end(), given.begin() + std::ptrdiff_t(count_), given.end());
  }

  WindowChoice run() {
    if (!split()) made_.parts.push_back({{}, {}, seen_, wanted(operands_), lies_});
    made_.fills_output = !made_.split && rules_.may_fill && is_filled();
    made_.layouts.inputs = inputs_;
    for (const Seen &seen : seen_) made_.layouts.inputs.push_back(seen.layout);
    return std::move(made_);
  }

private:
  std::vector<bool> wanted(Operands operands) const {
    std::vector<bool> made;
    for (const AnyView *output : operands.subspan(spec_.inputs.size()))
      made.push_back(output != nullptr);
    return made;
  }

  // The parts that the interior and the borders are, where the call is better made so; before them
  // what is left as a whole.
  bool split() {
    if (!may_split()) return false;
    const std::size_t inputs = spec_.inputs.size();
    std::vector<const AnyView *> rest(operands_);
    for (std::size_t g = 0; g < rules_.by_parts.size(); ++g) {
      const ByParts &group = rules_.by_parts[g];
      std::vector<const AnyView *> operands(operands_);
      for (std::size_t o = 0; o < spec_.outputs.size(); ++o)
        if (std::ranges::count(group.outputs, o) == 0) operands[inputs + o] = nullptr;
      if (std::ranges::none_of(group.outputs,
                               [&](std::size_t o) { return operands[inputs + o] != nullptr; }))
        continue;
      if (!add_parts(operands, &group, g)) continue;
      for (const std::size_t o : group.outputs) rest[inputs + o] = nullptr;
    }
    if (made_.parts.empty())
      add_parts(operands_, nullptr, 0);
    else if (const std::vector<bool> left = wanted(rest); std::ranges::count(left, true) > 0)
      made_.parts.insert(made_.parts.begin(), {{}, {}, seen_, left, lies_});
    return made_.split = !made_.parts.empty();
  }

  // A part that is written must not be what another part reads, and mistakes are told of the whole.
  // A step of a loop over time writes another row than it reads.
  bool may_split() const {
    if (spec_.time) return true;
    const bool has_classes = std::ranges::any_of(
        rules_.by_parts, [](const ByParts &group) { return !group.residues.empty(); });
    for (std::size_t i = 0; i < count_; ++i)
      if (!has_classes && overlaps_.is_written(i)) return false;
    for (const AnyView *output : std::span(operands_).subspan(spec_.inputs.size()))
      if (output != nullptr && overlaps_itself(output->layout)) return false;
    return overlaps_.may_be_parts;
  }

  bool add_parts(Operands operands, const ByParts *by_parts, std::size_t group) {
    const Split split =
        interior_and_borders(spec_, viewer_, operands, rules_.split_from_bytes, by_parts);
    if (split.parts.empty()) return false;
    if (made_.parts.empty()) copy_what_is_written();
    made_.whole = split.whole;
    for (const auto &[box, kind] : split.parts) {
      WindowChoice::Part &part =
          made_.parts.emplace_back(PartId{kind, group}, box, std::vector<Seen>(), wanted(operands));
      for (std::size_t i = count_; i < spec_.inputs.size(); ++i) {
        part.seen.push_back(viewer_.see(i, &box));
        if (!lies_.empty()) part.lies.push_back(part.seen.back().lies);
      }
    }
    return true;
  }

  // Classes are taken for themselves wherever the arrays lie: what one writes is not what another
  // reads.
  void copy_what_is_written() {
    const auto is_read = [&](std::size_t given) {
      for (std::size_t i = count_; i < spec_.inputs.size(); ++i)
        if (spec_.inputs[i].window->of == given && viewer_.is_read(i)) return true;
      return viewer_.is_read(given);
    };
    for (std::size_t i = 0; i < count_ && !spec_.time; ++i)
      if (overlaps_.is_written(i) && is_read(i)) made_.own_inputs.push_back(i);
  }

  // Whether the output is what a gather reads, element for element, and nothing else is to be done:
  // as of `out y = x[k[i], j]` where y lies in C order and shares no memory with an input.
  bool is_filled() const {
    const std::size_t window = spec_.inputs.size() - 1;
    const spec::TypedInput &input = spec_.inputs[window];
    if (spec_.outputs.size() != 1 || !input.window->is_gather() || input.window->sum ||
        !viewer_.needs_elements(window))
      return false;
    const spec::TypedOutput &output = spec_.outputs[0];
    const expr::Node &value = spec_.graph[output.value];
    const AnyView *view = operands_.back();
    const Layout &layout = seen_.back().layout;
    const bool is_all = value.kind == expr::NodeKind::Input && value.payload == window &&
                        !output.add && output.dtype == input.dtype &&
                        output.axes == input.axis_of_dim;
    if (!is_all || view == nullptr || view->dtype != output.dtype || element_count(layout) == 0 ||
        !std::ranges::equal(view->layout.shape(), layout.shape()) || !overlaps_.may_be_filled)
      return false;
    const Layout dense = contiguous_layout(layout.shape());
    for (int d = 0; d < dense.rank; ++d)
      if (dense.extents[d] > 1 && dense.strides[d] != view->layout.strides[d]) return false;
    return true;
  }

  const spec::TypedSpec &spec_;
  const Overlaps &overlaps_;
  const WindowRules &rules_;
  const std::size_t count_; // of the inputs that are no windows
  const std::vector<Layout> inputs_;
  Viewer viewer_;
  std::vector<AnyView> windows_;
  std::vector<const AnyView *> operands_; // with windows
  std::vector<Seen> seen_;                // [window]: of all positions
  std::vector<Layout> lies_;
  WindowChoice made_;
};

} // namespace

Overlaps overlaps_of(const spec::TypedSpec &spec, Operands call) {
  Overlaps made;
  const std::size_t inputs = spec.callers_inputs();
  for (std::size_t o = inputs; o < call.size(); ++o) {
    if (call[o] == nullptr) continue;
    const Span output = memory_of(*call[o]);
    for (std::size_t i = 0; i < inputs; ++i)
      if (meet(memory_of(*call[i]), output)) {
        made.written.resize(inputs);
        made.written[i] = true;
      }
    if (!has_memory(*call[o])) made.may_be_parts = false;
  }
  const AnyView *last = call.empty() ? nullptr : call.back();
  made.may_be_filled =
      last != nullptr && last->writable && has_memory(*last) && made.written.empty();
  return made;
}

WindowChoice choose_windows(const spec::TypedSpec &spec, Operands given, const Overlaps &overlaps,
                            const WindowRules &rules) {
  const std::size_t count = spec.given_inputs();
  WindowChoice made;
  if (count < spec.inputs.size())
    made = WindowChooser(spec, given, overlaps, rules).run();
  else
    for (const AnyView *input : given.first(count)) made.layouts.inputs.push_back(input->layout);
  for (const AnyView *output : given.subspan(count)) {
    made.layouts.wanted.push_back(output != nullptr);
    made.layouts.outputs.push_back(output != nullptr ? output->layout : Layout());
  }
  if (made.parts.empty()) // most kernels have no windows
    made.parts.push_back({{}, {}, {}, made.layouts.wanted, {}});
  return made;
}

void take_one_position(const spec::TypedSpec &spec, std::size_t input, Layout &layout) {
  const std::vector<int> &axes = spec.inputs[input].axis_of_dim;
  for (std::size_t dim = 0; spec.time && dim < axes.size(); ++dim)
    if (axes[dim] == *spec.time) layout.extents[dim] = 1;
}

void fail_lent(const spec::TypedSpec &spec, const spec::TypedInput &shape) {
  support::fail(
      "E0316",
      fmt::format("output '{}' has the extents of the array that is given for it, and none is",
                  spec.outputs[*shape.of_output].name),
      shape.where,
      "pass one to run or bind; out h = sum(.., like=x[..]) has the extents of an input x");
}

LentOperands::LentOperands(const spec::TypedSpec &spec, Operands named) {
  std::size_t count = spec.given_inputs();
  while (count > 0 && spec.inputs[count - 1].is_lent()) --count;
  operands_.assign(named.begin(), named.begin() + std::ptrdiff_t(count));
  shapes_.reserve(spec.given_inputs() - count);
  for (std::size_t i = count; i < spec.given_inputs(); ++i) {
    const spec::TypedInput &shape = spec.inputs[i];
    if (!shape.said.empty()) {
      const Layout layout = said_layout(shape, operands_);
      operands_.push_back(&shapes_.emplace_back(shape.dtype, nullptr, false, layout));
      continue;
    }
    const AnyView *output = named[count + *shape.of_output];
    if (output == nullptr) fail_lent(spec, shape);
    operands_.push_back(&shapes_.emplace_back(shape.dtype, nullptr, false, output->layout));
  }
  operands_.insert(operands_.end(), named.begin() + std::ptrdiff_t(count), named.end());
}

std::vector<Layout> add_windows(const spec::TypedSpec &spec, std::vector<Layout> &inputs) {
  std::vector<Layout> lies;
  if (spec.given_inputs() == spec.inputs.size()) return lies;
  const std::vector<Layout> given = inputs;
  Viewer viewer(spec, given);
  for (std::size_t i = spec.given_inputs(); i < spec.inputs.size(); ++i) {
    const Seen seen = viewer.see(i);
    inputs.push_back(seen.layout);
    lies.push_back(seen.lies);
  }
  if (!sees_copies(spec)) lies.clear();
  return lies;
}

std::vector<PartId> last_parts(const WindowChoice &choice) {
  const auto is_whole = [](const PartId &part) { return part.kind == PartKind::Whole; };
  std::vector<PartId> latest;
  for (const WindowChoice::Part &part : choice.parts) {
    const bool goes_on = !latest.empty() && latest.back().group == part.id.group &&
                         is_whole(latest.back()) == is_whole(part.id);
    if (!goes_on)
      latest.push_back(part.id);
    else if (latest.back().kind != PartKind::Interior)
      latest.back() = part.id;
  }
  return latest;
}

} // namespace broadloom::kernel
