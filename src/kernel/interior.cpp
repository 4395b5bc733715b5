// See interior.hpp.
#include "kernel/interior.hpp"

#include <algorithm>

namespace broadloom::kernel {
namespace {

using expr::AxisSet;
using spec::TypedWindow;
using Wide = __int128;

// The axes along which the kernel itself computes a part as it does the whole: it asks for no
// position, and no extent is declared.
AxisSet unasked_axes(const spec::TypedSpec &spec) {
  AxisSet axes = separable_axes(spec);
  for (const expr::Node &node : spec.graph.nodes()) {
    if (node.kind == expr::NodeKind::Index) axes = axes - node.axes;
    if (node.kind == expr::NodeKind::Extent) axes = axes - node.folded;
  }
  for (const spec::TypedInput &input : spec.inputs)
    for (std::size_t d = 0; d < input.extents.size(); ++d)
      if (input.extents[d] >= 0 && !input.window) axes = axes - AxisSet::of(input.axis_of_dim[d]);
  return axes;
}

bool is_seen_through_windows_only(const spec::TypedSpec &spec, std::size_t operand) {
  return operand < spec.inputs.size() && spec.inputs[operand].in_windows_only;
}

const std::vector<int> &axes_of(const spec::TypedSpec &spec, std::size_t operand) {
  return operand < spec.inputs.size() ? spec.inputs[operand].axis_of_dim
                                      : spec.outputs[operand - spec.inputs.size()].axes;
}

class Splitter {
public:
  Splitter(const spec::TypedSpec &spec, Viewer &viewer, Operands operands, const ByParts *by_parts)
      : spec_(spec), viewer_(viewer), operands_(operands), by_parts_(by_parts),
        axes_(by_parts != nullptr ? by_parts->axes : unasked_axes(spec)) {}

  Split run(std::int64_t least_bytes) {
    const bool has_classes = by_parts_ != nullptr && !by_parts_->residues.empty();
    const bool copies_much = bytes_of_copies() >= least_bytes;
    if ((by_parts_ == nullptr && !copies_much) || !find_extents()) return {};
    const bool is_large = copies_much || masked_points() >= least_bytes;
    if (!has_classes && !is_large) return {};
    Split split{whole_, {}};
    for_each_class([&] {
      if (is_large && find_interior() && add_boxes(split)) return;
      if (has_classes) split.parts.push_back({class_, PartKind::Border});
    });
    return split;
  }

private:
  bool reads_borders(std::size_t input) const {
    return viewer_.is_read(input) && is_guarded(*spec_.inputs[input].window);
  }

  std::int64_t bytes_of_copies() const {
    std::vector<std::uint32_t> arrays;
    std::int64_t bytes = 0;
    for (std::size_t i = spec_.given_inputs(); i < spec_.inputs.size(); ++i) {
      const std::uint32_t of = spec_.inputs[i].window->of;
      if (!reads_borders(i) || std::ranges::count(arrays, of) != 0) continue;
      arrays.push_back(of);
      const AnyView &array = *operands_[of];
      bytes = std::max(bytes, element_count(array.layout) * std::int64_t(size_of(array.dtype)));
    }
    return bytes;
  }

  std::int64_t masked_points() const {
    Wide most = 0;
    for (std::size_t k = 0; by_parts_ != nullptr && k < by_parts_->masked.size(); ++k) {
      Wide points = 1;
      for (std::size_t axis = 0; axis < whole_.size(); ++axis)
        if (by_parts_->masked[k].has(int(axis)))
          points =
              std::min<Wide>(points * std::max<std::int64_t>(whole_[axis].count, 1), INT64_MAX);
      most = std::max(most, points);
    }
    return std::int64_t(most);
  }

  // The axes along which parts may differ from the whole.
  AxisSet axes_that_matter() const {
    AxisSet matter;
    for (std::size_t i = spec_.given_inputs(); i < spec_.inputs.size(); ++i) {
      if (!reads_borders(i)) continue;
      for (const TypedWindow::Form &form : spec_.inputs[i].window->forms)
        for (const TypedWindow::Term &term : form.terms) matter = matter | AxisSet::of(term.axis);
    }
    matter = matter & axes_;
    if (by_parts_ == nullptr) return matter;
    const auto add = [&](const Condition &condition) {
      for (const auto *terms : {&condition.value.positions, &condition.value.counts})
        for (const Affine::Term &term : *terms) matter = matter | AxisSet::of(term.axis);
    };
    for (const ByParts::Residue &residue : by_parts_->residues) add(residue.condition);
    for (const Condition &condition : by_parts_->conditions) add(condition);
    for (const ByParts::Number &number : by_parts_->numbers)
      matter = matter | AxisSet::of(number.axis);
    return matter;
  }

  // Of all axes; false where operands disagree about one that matters, and a 1 may be repeated or a
  // mistake is to be told, or where there are no positions.
  bool find_extents() {
    const AxisSet matter = axes_that_matter();
    whole_.assign(spec_.axes.size(), {0, 1});
    std::vector<bool> known(spec_.axes.size());
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (operands_[k] == nullptr || is_seen_through_windows_only(spec_, k)) continue;
      const Layout &layout = operands_[k]->layout;
      const std::vector<int> &axes = axes_of(spec_, k);
      if (axes.size() != std::size_t(layout.rank)) return false;
      for (std::size_t d = 0; d < axes.size(); ++d) {
        const auto axis = std::size_t(axes[d]);
        const std::int64_t extent = layout.extents[d];
        const bool differs = known[axis] && extent != whole_[axis].count;
        if (extent < 1 || (differs && matter.has(axes[d]))) return false;
        whole_[axis].count = differs ? -1 : extent;
        known[axis] = true;
      }
    }
    for (std::size_t n = 0; by_parts_ != nullptr && n < by_parts_->numbers.size(); ++n)
      if (!known[std::size_t(by_parts_->numbers[n].axis)]) return false;
    return true;
  }

  // Calls visit() for each residue class that has positions, with class_ as what there is of it.
  template <class Visit> void for_each_class(Visit visit) {
    class_ = whole_;
    if (by_parts_ == nullptr || by_parts_->residues.empty()) return visit();
    std::vector<std::size_t> split;
    for (std::size_t axis = 0; axis < whole_.size(); ++axis)
      if (axes_.has(int(axis)) && by_parts_->steps[axis] > 1) split.push_back(axis);
    std::vector<std::int64_t> residues(split.size());
    while (true) {
      class_ = whole_;
      bool has_positions = true;
      for (std::size_t k = 0; k < split.size(); ++k) {
        take_every(split[k], residues[k]);
        has_positions = has_positions && class_[split[k]].count > 0;
      }
      for (const ByParts::Residue &residue : by_parts_->residues) take_residue(residue);
      if (has_positions) visit();
      std::size_t k = split.size();
      while (k > 0 && ++residues[k - 1] == by_parts_->steps[split[k - 1]]) residues[--k] = 0;
      if (k == 0) return;
    }
  }

  void take_every(std::size_t axis, std::int64_t first) {
    const std::int64_t step = by_parts_->steps[axis], count = whole_[axis].count;
    class_[axis] = {first, first < count ? (count - first + step - 1) / step : 0, step};
  }

  // Of what is folded, the positions that meet those of the class.
  void take_residue(const ByParts::Residue &residue) {
    const std::int64_t divisor = residue.condition.divisor;
    const Affine &value = residue.condition.value;
    Wide rest = value.constant;
    for (const Affine::Term &count : value.counts)
      rest += Wide(count.times) * whole_[std::size_t(count.axis)].count;
    rest += Wide(value.times(residue.of)) * class_[std::size_t(residue.of)].first;
    const Wide times = value.times(residue.folded);
    std::int64_t first = 0;
    while ((rest + times * first) % divisor != 0) ++first; // times has an inverse
    take_every(std::size_t(residue.folded), first);
  }

  // Where nothing that is read lies in a border and all conditions hold. False where no box is so.
  bool find_interior() {
    inside_.clear();
    for (const Range &range : class_) {
      if (range.count == 0) return false;
      inside_.push_back({0, range.count});
    }
    for (std::size_t i = spec_.given_inputs(); i < spec_.inputs.size(); ++i)
      if (!take_window(i)) return false;
    if (by_parts_ != nullptr) {
      if (!by_parts_->has_interior) return false;
      for (const Condition &condition : by_parts_->conditions)
        if (!take_condition(condition)) return false;
    }
    align();
    return leave_no_single();
  }

  // A number at all positions of the class: `least` to `most`, of which `along` is by how much it
  // grows along each axis.
  struct Line {
    Wide least = 0, most = 0;
    std::vector<std::pair<int, Wide>> along;
  };

  // first <= line <= last for all that the axes say that are not split; or, of the equation line =
  // 0, for none of them.
  bool narrow(const Line &line, Wide first, Wide last, bool equation = false) {
    int axis = -1;
    Wide times = 0;
    for (const auto &[one, by] : line.along) {
      if (!axes_.has(one) || by == 0) continue;
      if (axis >= 0) return false; // a slope, and no box
      axis = one;
      times = by;
    }
    if (axis < 0)
      return equation ? line.least > 0 || line.most < 0 : line.least >= first && line.most <= last;
    Range &range = inside_[std::size_t(axis)];
    const Wide reach = times * (class_[std::size_t(axis)].count - 1);
    const Wide least = line.least - std::min<Wide>(reach, 0); // of the others
    const Wide most = line.most - std::max<Wide>(reach, 0);
    if (equation) {
      leave_out(range, times, least, most);
      return true;
    }
    const auto divided = [](Wide a, Wide b, bool up) { // b > 0
      const Wide quotient = a / b, rest = a % b;
      return quotient + (up ? rest > 0 : 0) - (!up && rest < 0);
    };
    const Wide begin =
        times > 0 ? divided(first - least, times, true) : divided(most - last, -times, true);
    const Wide end = times > 0 ? divided(last - most, times, false) + 1
                               : divided(least - first, -times, false) + 1;
    const Wide from = std::clamp<Wide>(begin, range.first, range.first + range.count);
    const Wide to = std::clamp<Wide>(end, from, range.first + range.count);
    range = {std::int64_t(from), std::int64_t(to - from)};
    return true;
  }

  // The longer side of the positions k where times * k + least <= 0 <= times * k + most.
  static void leave_out(Range &range, Wide times, Wide least, Wide most) {
    const Wide from = times > 0 ? -most : least, to = times > 0 ? -least : most;
    const Wide by = times > 0 ? times : -times;
    const Wide begin = from <= 0 ? 0 : (from + by - 1) / by, end = to < 0 ? 0 : to / by + 1;
    if (begin >= end) return;
    const Wide first = range.first, behind = first + range.count;
    const Wide before = std::clamp<Wide>(begin, first, behind) - first;
    const Wide after = behind - std::clamp<Wide>(end, first, behind);
    range = before >= after ? Range{range.first, std::int64_t(before)}
                            : Range{std::int64_t(behind - after), std::int64_t(after)};
  }

  bool take_window(std::size_t i) {
    const TypedWindow &window = *spec_.inputs[i].window;
    if (window.is_gather() || window.sum) return false;
    if (!reads_borders(i) || (by_parts_ != nullptr && !by_parts_->read_inside[i])) return true;
    const std::vector<Padding::Dim> positions = viewer_.positions(i, &class_);
    for (std::size_t dim = 0; dim < window.forms.size(); ++dim)
      if (is_guarded(window, dim) && !take_dim(window, dim, positions[dim])) return false;
    return true;
  }

  bool take_dim(const TypedWindow &window, std::size_t dim, const Padding::Dim &positions) {
    const TypedWindow::Form &form = window.forms[dim];
    if (positions.divisor != 1) return false;
    const TypedWindow::Pad *pad = window.pad_of(int(dim));
    const Wide first = pad == nullptr ? 0 : pad->before;
    const Wide last = first + operands_[window.of]->layout.extents[dim] - 1;
    Line line{positions.first, positions.last, {}};
    for (const TypedWindow::Term &term : form.terms)
      if (!form.stretches)
        line.along.emplace_back(term.axis, Wide(term.times) * class_[std::size_t(term.axis)].step /
                                               form.divisor);
    return narrow(line, first, last);
  }

  bool take_condition(const Condition &condition) {
    constexpr Wide far = Wide(1) << 62;
    Line line{condition.value.constant, condition.value.constant, {}};
    const auto shift = [&](Wide by) { line.least += by, line.most += by; };
    for (const Affine::Term &count : condition.value.counts)
      shift(Wide(count.times) * whole_[std::size_t(count.axis)].count);
    for (const Affine::Term &term : condition.value.positions) {
      const Range &range = class_[std::size_t(term.axis)];
      const Wide by = Wide(term.times) * range.step;
      shift(Wide(term.times) * range.first);
      (by > 0 ? line.most : line.least) += by * (range.count - 1);
      line.along.emplace_back(term.axis, by);
    }
    if (line.least < -far || line.most > far) return false; // i64 would wrap around
    if (condition.other) {
      std::vector<std::int64_t> extents;
      for (const Range &range : whole_) extents.push_back(range.count);
      const auto other = bounds_of(by_parts_->graph, *condition.other, extents);
      if (!other || other->first < -far || other->second > far) return false;
      line.least -= other->second;
      line.most -= other->first;
    }
    return narrow(line, 0, far, condition.kind == Condition::Kind::Equal);
  }

  // A row of the interior begins where the vectors of an output do.
  void align() {
    for (std::size_t k = spec_.inputs.size(); k < operands_.size(); ++k) {
      if (operands_[k] == nullptr) continue;
      const std::vector<int> &axes = axes_of(spec_, k);
      for (std::size_t d = 0; d < axes.size(); ++d) {
        Range &range = inside_[std::size_t(axes[d])];
        const auto vector = std::int64_t(64 / size_of(operands_[k]->dtype));
        const std::int64_t skipped = (vector - range.first % vector) % vector;
        if (operands_[k]->layout.strides[d] == 1 && class_[std::size_t(axes[d])].step == 1 &&
            range.count > 16 * vector)
          range = {range.first + skipped, range.count - skipped};
      }
    }
  }

  // An axis of one position is none (interior.hpp).
  bool leave_no_single() {
    for (std::size_t a = 0; a < class_.size(); ++a) {
      const std::int64_t count = class_[a].count;
      if (count == 1 || count == -1) continue;
      Range &range = inside_[a];
      if (range.first == 1) range = {2, range.count - 1};
      if (range.first + range.count == count - 1) --range.count;
      if (range.count < 2) return false;
    }
    return true;
  }

  // Of the borders, those before and behind the interior along one axis after the other. False
  // where the interior is too small.
  bool add_boxes(Split &split) const {
    double share = 1;
    for (std::size_t a = 0; a < class_.size(); ++a)
      share *= double(inside_[a].count) / double(class_[a].count);
    if (share < 0.5) return false;
    const auto part = [&](std::size_t a, const Range &range) {
      const Range &all = class_[a];
      return Range{all.first + range.first * all.step, range.count, all.step};
    };
    const PartKind border = by_parts_ != nullptr ? PartKind::Border : PartKind::Whole;
    Box rest = class_;
    for (std::size_t a = 0; a < class_.size(); ++a) {
      const Range inside = inside_[a];
      const std::int64_t behind = inside.first + inside.count;
      for (const Range range : {Range{0, inside.first}, Range{behind, class_[a].count - behind}}) {
        if (range.count == 0) continue;
        rest[a] = part(a, range);
        split.parts.push_back({rest, border});
      }
      rest[a] = part(a, inside);
    }
    const bool asks = by_parts_ != nullptr && !by_parts_->conditions.empty();
    split.parts.push_back({rest, asks ? PartKind::Interior : border});
    return true;
  }

  const spec::TypedSpec &spec_;
  Viewer &viewer_;
  const Operands operands_;
  const ByParts *by_parts_;
  const AxisSet axes_;
  Box whole_, class_;
  Box inside_; // counted from the first of the class
};

} // namespace

Split interior_and_borders(const spec::TypedSpec &spec, Viewer &viewer, Operands operands,
                           std::int64_t least_bytes, const ByParts *by_parts) {
  return Splitter(spec, viewer, operands, by_parts).run(least_bytes);
}

AnyView part_of(const spec::TypedSpec &spec, std::size_t index, const AnyView &operand,
                const Box &whole, const Box &box) {
  AnyView part = operand;
  const std::vector<int> &axes = axes_of(spec, index);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const Range &range = box[std::size_t(axes[d])];
    if (operand.layout.extents[d] != whole[std::size_t(axes[d])].count) continue;
    part.layout.extents[d] = range.count;
    if (range.count > 0) offset += range.first * operand.layout.strides[d];
    part.layout.strides[d] *= range.step;
  }
  if (part.data != nullptr)
    part.data = static_cast<char *>(part.data) + offset * std::int64_t(size_of(part.dtype));
  return part;
}

} // namespace broadloom::kernel
