// The parts of a call with windows: see interior.hpp and by_parts.hpp for which, windows.hpp for what they are given.
#include "kernel/windows.hpp"

#include "kernel/check.hpp"
#include "kernel/interior.hpp"
#include "kernel/overlap.hpp"
#include "kernel/recorded.hpp"

#include <algorithm>
#include <utility>

namespace broadloom::kernel {

// The parts that the interior and the borders are, where the call is better made so; before them what is left as a whole.
bool WindowedOperands::split(Viewer &viewer, const How &how) {
  if (!may_split(how)) return false;
  const std::size_t inputs = spec_.inputs.size();
  std::vector<const AnyView *> rest(operands_);
  const auto is_wanted = [&](std::size_t output) { return operands_[inputs + output] != nullptr; };
  bool copied = false;
  const auto add = [&](Operands operands, const Split &split, std::size_t group) {
    if (split.parts.empty()) return;
    if (!std::exchange(copied, true)) copy_what_is_written(viewer, how);
    add_parts(viewer, operands, split, how, group);
  };
  for (std::size_t g = 0; g < how.by_parts.size(); ++g) {
    const ByParts &group = how.by_parts[g];
    std::vector<const AnyView *> operands(operands_);
    for (std::size_t o = 0; o < spec_.outputs.size(); ++o)
      if (std::ranges::count(group.outputs, o) == 0) operands[inputs + o] = nullptr;
    if (std::ranges::none_of(group.outputs, is_wanted)) continue;
    const std::size_t before = parts_.size();
    add(operands, interior_and_borders(spec_, viewer, operands, how.split_from_bytes, &group), g);
    for (const std::size_t o : group.outputs)
      if (parts_.size() > before) rest[inputs + o] = nullptr;
  }
  if (parts_.empty())
    add(operands_, interior_and_borders(spec_, viewer, operands_, how.split_from_bytes, nullptr),
        0);
  else if (std::any_of(rest.begin() + std::ptrdiff_t(inputs), rest.end(),
                       [](const AnyView *output) { return output != nullptr; }))
    add_rest(viewer, rest);
  return !parts_.empty();
}

void WindowedOperands::add_parts(Viewer &viewer, Operands operands, const Split &split,
                                 const How &how, std::size_t group) {
  const std::size_t inputs = spec_.inputs.size();
  for (const auto &[box, kind] : split.parts) {
    Part &part = parts_.emplace_back();
    part.id = {kind, group};
    part.box = box;
    std::vector<bool> wanted;
    const auto add = [&](const AnyView *whole, const AnyView &view) {
      part.views.push_back(view);
      wanted.push_back(whole != nullptr);
    };
    for (std::size_t k = 0; k < inputs; ++k) {
      if (!spec_.inputs[k].window) {
        add(operands[k], part_of(spec_, k, *operands[k], split.whole, box));
        continue;
      }
      const Seen &seen = part.seen.emplace_back(viewer.see(k, &box));
      add(operands[k], seen_by(given_[spec_.inputs[k].window->of], seen));
      if (!lies_.empty()) part.lies.push_back(seen.lies);
    }
    if (kind != PartKind::Whole) {
      add_numbers(how.by_parts[group], split.whole, box, part.views);
      wanted.resize(part.views.size(), true);
    }
    for (std::size_t o = 0; o < spec_.outputs.size(); ++o) {
      const AnyView *output = operands[inputs + o];
      part.wanted.push_back(output != nullptr);
      if (kind != PartKind::Whole && std::ranges::count(how.by_parts[group].outputs, o) == 0)
        continue;
      add(output,
          output == nullptr ? AnyView() : part_of(spec_, inputs + o, *output, split.whole, box));
    }
    for (std::size_t k = 0; k < part.views.size(); ++k)
      part.operands.push_back(wanted[k] ? &part.views[k] : nullptr);
  }
}

// Outputs that are computed as a whole, before all parts.
void WindowedOperands::add_rest(Viewer &viewer, Operands operands) {
  Part &part = *parts_.emplace(parts_.begin());
  part.lies = lies_;
  part.seen = seen_;
  for (std::size_t o = spec_.inputs.size(); o < operands.size(); ++o)
    part.wanted.push_back(operands[o] != nullptr);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool is_window = k < spec_.inputs.size() && spec_.inputs[k].window;
    part.views.push_back(operands[k] == nullptr ? AnyView()
                         : is_window ? seen_by(given_[spec_.inputs[k].window->of], viewer.see(k))
                                     : *operands[k]);
  }
  for (std::size_t k = 0; k < operands.size(); ++k)
    part.operands.push_back(operands[k] == nullptr ? nullptr : &part.views[k]);
}

// Where the part begins, and how long the whole is.
void WindowedOperands::add_numbers(const ByParts &by_parts, const Box &whole, const Box &box,
                                   std::vector<AnyView> &views) {
  for (const ByParts::Number &number : by_parts.numbers) {
    const auto axis = std::size_t(number.axis);
    const bool first = number.kind == ByParts::Number::Kind::First;
    numbers_.push_back(first ? box[axis].first : whole[axis].count);
    views.emplace_back(DType::I64, &numbers_.back(), false, Layout());
  }
}

// A part that is written must not be what another part reads, and mistakes are told of the whole. A step of a loop over time writes
// another row than it reads.
bool WindowedOperands::may_split(const How &how) const {
  if (!is_there(how.elements) || spec_.time) return true;
  const bool has_classes = std::ranges::any_of(
      how.by_parts, [](const ByParts &group) { return !group.residues.empty(); });
  for (std::size_t i = 0; i < given_.size(); ++i)
    if (!has_classes && is_written(i)) return false;
  for (std::size_t k = spec_.inputs.size(); k < operands_.size(); ++k)
    if (operands_[k] != nullptr &&
        (!has_memory(*operands_[k]) || overlaps_itself(operands_[k]->layout)))
      return false;
  return true;
}

bool WindowedOperands::is_written(std::size_t given) const {
  for (std::size_t k = spec_.inputs.size(); k < operands_.size(); ++k)
    if (operands_[k] != nullptr && meet(memory_of(given_[given]), memory_of(*operands_[k])))
      return true;
  return false;
}

bool WindowedOperands::is_read(std::size_t given, const Viewer &viewer) const {
  for (std::size_t i = given_.size(); i < spec_.inputs.size(); ++i)
    if (spec_.inputs[i].window->of == given && viewer.is_read(i)) return true;
  return viewer.is_read(given);
}

// Classes are taken for themselves wherever the arrays lie: what one writes is not what another reads.
void WindowedOperands::copy_what_is_written(const Viewer &viewer, const How &how) {
  if (!is_there(how.elements) || spec_.time) return;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (!is_written(i) || !is_read(i, viewer)) continue;
    OperandCopy &copy =
        own_inputs_.emplace_back(given_[i], reach_of(given_[i].layout, given_[i].dtype));
    copy.load();
    record(calls::Step::Kind::Copy, given_[i], copy.view());
    given_[i] = copy.view();
    own_.push_back(i);
  }
}

WindowChoice WindowedOperands::choice() const {
  WindowChoice made{.split = !parts_.empty(), .fills_output = filled_, .own_inputs = own_};
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    const bool is_output = k >= spec_.inputs.size();
    if (is_output) made.layouts.wanted.push_back(operands_[k] != nullptr);
    (is_output ? made.layouts.outputs : made.layouts.inputs)
        .push_back(operands_[k] != nullptr ? operands_[k]->layout : Layout());
  }
  for (const Part &part : parts_) made.parts.push_back({part.id, part.box, part.seen, part.wanted});
  if (parts_.empty()) made.parts.push_back({PartId(), {}, seen_, made.layouts.wanted});
  return made;
}

static bool are_same(const Layout &a, const Layout &b) {
  return std::ranges::equal(a.shape(), b.shape()) && std::ranges::equal(a.steps(), b.steps());
}

bool WindowedOperands::has(const WindowChoice &choice) const {
  const std::size_t inputs = spec_.inputs.size();
  if (choice.split != !parts_.empty() || choice.fills_output != filled_ ||
      choice.own_inputs != own_ || (choice.split && choice.parts.size() != parts_.size()))
    return false;
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (parts_[p].id != choice.parts[p].id || parts_[p].wanted != choice.parts[p].wanted)
      return false;
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    const bool is_output = k >= inputs;
    if (is_output && choice.layouts.wanted[k - inputs] != (operands_[k] != nullptr)) return false;
    const Layout &known = is_output ? choice.layouts.outputs[k - inputs] : choice.layouts.inputs[k];
    if (operands_[k] != nullptr && !are_same(operands_[k]->layout, known)) return false;
  }
  return true;
}

} // namespace broadloom::kernel
