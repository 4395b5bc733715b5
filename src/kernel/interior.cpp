// See interior.hpp.
#include "kernel/interior.hpp"

#include <algorithm>
#include <optional>

namespace broadloom::kernel {
namespace {

using expr::AxisSet;
using spec::TypedWindow;
using Wide = __int128;

// The axes along which a part of the outputs is computed as it is in the whole.
AxisSet separable_axes(const spec::TypedSpec &spec) {
  AxisSet axes = expr::every_axis;
  const auto drop = [&](AxisSet some) { axes = axes - some; };
  for (const spec::TypedOutput &output : spec.outputs) {
    AxisSet has;
    for (const int axis : output.axes) has = has | AxisSet::of(axis);
    drop(axes - has);
  }
  for (std::uint32_t id = 0; id < spec.graph.size(); ++id) {
    const expr::Node &node = spec.graph[expr::NodeId{id}];
    switch (node.kind) {
    case expr::NodeKind::Fold:
    case expr::NodeKind::Scan:
    case expr::NodeKind::Extent:
      if (node.like != expr::no_input) return {}; // which axes these are depends on extents
      drop(node.folded);
      break;
    case expr::NodeKind::Index: drop(node.axes); break;
    case expr::NodeKind::Input:
    case expr::NodeKind::Literal:
    case expr::NodeKind::Op:
    case expr::NodeKind::Cast:
    case expr::NodeKind::Expand: break;
    }
  }
  if (spec.time) drop(AxisSet::of(*spec.time));
  for (const spec::TypedInput &input : spec.inputs)
    for (std::size_t d = 0; d < input.extents.size(); ++d)
      if (input.extents[d] >= 0 && !input.window) drop(AxisSet::of(input.axis_of_dim[d]));
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
  Splitter(const spec::TypedSpec &spec, Viewer &viewer, Operands operands)
      : spec_(spec), viewer_(viewer), operands_(operands) {}

  Split run(std::int64_t least_bytes) {
    if (bytes_of_copies() < least_bytes || !find_extents()) return {};
    axes_ = separable_axes(spec_);
    for (const Range &range : whole_) inside_.push_back({0, range.count});
    for (std::size_t i = spec_.given_inputs(); i < spec_.inputs.size(); ++i)
      if (!take_window(i)) return {};
    align();
    return {whole_, boxes()};
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

  // Of all axes; false where operands disagree, and a 1 may be repeated or a mistake is to be told.
  bool find_extents() {
    whole_.assign(spec_.axes.size(), {0, -1});
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (operands_[k] == nullptr || is_seen_through_windows_only(spec_, k)) continue;
      const Layout &layout = operands_[k]->layout;
      const std::vector<int> &axes = axes_of(spec_, k);
      if (axes.size() != std::size_t(layout.rank)) return false;
      for (std::size_t d = 0; d < axes.size(); ++d) {
        std::int64_t &count = whole_[std::size_t(axes[d])].count;
        if (layout.extents[d] < 1 || (count >= 0 && layout.extents[d] != count)) return false;
        count = layout.extents[d];
      }
    }
    for (Range &range : whole_) range.count = std::max<std::int64_t>(range.count, 1);
    return true;
  }

  // Where all that it reads is inside. False where no split makes it so.
  bool take_window(std::size_t i) {
    const TypedWindow &window = *spec_.inputs[i].window;
    if (window.is_gather() || window.sum) return false;
    if (!reads_borders(i)) return true;
    const std::vector<Padding::Dim> positions = viewer_.positions(i, &whole_);
    for (std::size_t dim = 0; dim < window.forms.size(); ++dim)
      if (is_guarded(window, dim) && !take_dim(window, dim, positions[dim])) return false;
    return true;
  }

  // first <= times * at + other <= last for all that the other axes say.
  bool take_dim(const TypedWindow &window, std::size_t dim, const Padding::Dim &positions) {
    const TypedWindow::Form &form = window.forms[dim];
    if (form.divisor != 1) return false;
    const TypedWindow::Pad *pad = window.pad_of(int(dim));
    const Wide first = pad == nullptr ? 0 : pad->before;
    const Wide last = first + operands_[window.of]->layout.extents[dim] - 1;
    const TypedWindow::Term *along = nullptr;
    for (const TypedWindow::Term &term : form.terms) {
      if (!axes_.has(term.axis)) continue;
      if (along != nullptr) return false; // a slope, and no box
      along = &term;
    }
    if (along == nullptr || form.stretches)
      return positions.first >= first && positions.last <= last;
    Range &range = inside_[std::size_t(along->axis)];
    const Wide times = along->times;
    const Wide reach = times * (whole_[std::size_t(along->axis)].count - 1);
    const Wide least = positions.first - std::min<Wide>(reach, 0); // of the others
    const Wide most = positions.last - std::max<Wide>(reach, 0);
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

  // A row of the interior begins where the vectors of an output do.
  void align() {
    for (std::size_t k = spec_.inputs.size(); k < operands_.size(); ++k) {
      if (operands_[k] == nullptr) continue;
      const std::vector<int> &axes = axes_of(spec_, k);
      for (std::size_t d = 0; d < axes.size(); ++d) {
        Range &range = inside_[std::size_t(axes[d])];
        const auto vector = std::int64_t(64 / size_of(operands_[k]->dtype));
        const std::int64_t skipped = (vector - range.first % vector) % vector;
        if (operands_[k]->layout.strides[d] == 1 && range.count > 16 * vector)
          range = {range.first + skipped, range.count - skipped};
      }
    }
  }

  // Of the borders, those before and behind the interior along one axis after the other.
  std::vector<Box> boxes() const {
    double share = 1;
    for (std::size_t a = 0; a < whole_.size(); ++a)
      share *= double(inside_[a].count) / double(whole_[a].count);
    if (share < 0.5) return {};
    std::vector<Box> result;
    Box rest = whole_;
    for (std::size_t a = 0; a < whole_.size(); ++a) {
      const Range all = rest[a], inside = inside_[a];
      const std::int64_t behind = inside.first + inside.count;
      for (const Range border : {Range{0, inside.first}, Range{behind, all.count - behind}}) {
        if (border.count == 0) continue;
        rest[a] = border;
        result.push_back(rest);
      }
      rest[a] = inside;
    }
    result.push_back(inside_);
    return result;
  }

  const spec::TypedSpec &spec_;
  Viewer &viewer_;
  const Operands operands_;
  AxisSet axes_;
  Box whole_, inside_;
};

} // namespace

Split interior_and_borders(const spec::TypedSpec &spec, Viewer &viewer, Operands operands,
                           std::int64_t least_bytes) {
  return Splitter(spec, viewer, operands).run(least_bytes);
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
    offset += range.first * operand.layout.strides[d];
  }
  if (part.data != nullptr)
    part.data = static_cast<char *>(part.data) + offset * std::int64_t(size_of(part.dtype));
  return part;
}

} // namespace broadloom::kernel
