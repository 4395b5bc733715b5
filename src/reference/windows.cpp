// See windows.hpp. The engines solve for extents and make strided views (kernel/windows.hpp); here
// each corner of what a window reads is looked at, and extents are found by trial.
#include "reference/windows.hpp"

#include "array/layout.hpp"
#include "ops/ops.hpp"

#include <fmt/format.h>

namespace broadloom::reference {
namespace {

using spec::TypedWindow;

constexpr std::int64_t unknown = -1;
using Wide = __int128; // positions that elements say: multiples of 64 bits

// The extent of a dim with what is added to it.
std::int64_t padded_count(const TypedWindow &window, std::size_t dim, const Layout &of) {
  std::int64_t count = of.extents[dim];
  for (const TypedWindow::Pad &pad : window.pads)
    if (std::size_t(pad.dim) == dim) count += pad.before + pad.after;
  return count;
}

class Finder {
public:
  Finder(const spec::TypedSpec &spec, std::span<const Layout> inputs)
      : spec_(spec), inputs_(inputs), extents_(spec.axes.size(), unknown) {
    for (std::size_t w = spec.given_inputs();
         w < spec.inputs.size() && !spec.inputs[w].window->derived; ++w)
      for (std::size_t dim = 0; dim < spec.inputs[w].window->forms.size(); ++dim)
        if (spec.inputs[w].window->forms[dim].indices.empty()) reads_.push_back({w, dim});
  }

  std::vector<std::int64_t> run() {
    for (std::size_t w = spec_.given_inputs(); w < spec_.inputs.size(); ++w)
      for (const TypedWindow::Pad &pad : spec_.inputs[w].window->pads)
        if (pad.mode != PadMode::Constant && pad.before + pad.after > 0 &&
            inputs_[spec_.inputs[w].window->of].extents[std::size_t(pad.dim)] == 0)
          throw ShapeError("E0143", "nothing is there to pad " + spec_.inputs[w].name + " with",
                           spec_.inputs[w].where, "pad with a number");
    for (std::size_t i = 0; i < spec_.given_inputs(); ++i)
      for (std::size_t dim = 0; dim < spec_.inputs[i].axis_of_dim.size(); ++dim) {
        std::int64_t &extent = extents_[std::size_t(spec_.inputs[i].axis_of_dim[dim])];
        if (spec_.inputs[i].labelled && !spec_.inputs[i].may_stretch[dim] && extent == unknown)
          extent = inputs_[i].extents[dim];
      }
    for (const Read &read : reads_)
      if (const int axis = label_of(read); axis >= 0) {
        std::int64_t &extent = extents_[std::size_t(axis)];
        if (extent != unknown && extent != count(read))
          throw ShapeError("E0102",
                           spec_.inputs[read.window].name + " gives an axis another extent",
                           spec_.inputs[read.window].where, "read arrays of one extent");
        extent = count(read);
      }
    while (true) {
      const int axis = next();
      if (axis < 0) break;
      extents_[std::size_t(axis)] = longest(axis);
    }
    for (const Read &read : reads_)
      if (!is_empty(read) && !is_inside(read))
        throw ShapeError("E0142", "a read of " + spec_.inputs[read.window].name + " is outside",
                         spec_.inputs[read.window].where, "read less of it");
    for (std::int64_t &extent : extents_)
      if (extent == unknown) extent = 1;
    return extents_;
  }

private:
  struct Read { // along one dim
    std::size_t window, dim;
  };
  const TypedWindow::Form &form(const Read &read) const {
    return spec_.inputs[read.window].window->forms[read.dim];
  }
  std::int64_t count(const Read &read) const {
    const TypedWindow &window = *spec_.inputs[read.window].window;
    return padded_count(window, read.dim, inputs_[window.of]);
  }
  bool has(const Read &read, int axis) const {
    for (const TypedWindow::Term &term : form(read).terms)
      if (term.axis == axis) return true;
    return false;
  }
  bool is_of_let(const Read &read) const {
    return spec_.inputs[spec_.inputs[read.window].window->of].materialised;
  }
  // The axis that stands alone here and alone everywhere, at positions of no let, or -1.
  int label_of(const Read &read) const {
    if (!form(read).is_axis()) return -1;
    const int axis = form(read).terms[0].axis;
    for (const Read &other : reads_)
      if (has(other, axis) && (!form(other).is_axis() || is_of_let(other))) return -1;
    return axis;
  }
  // Whether all other axes of the form are known.
  bool is_alone(const Read &read, int axis) const {
    for (const TypedWindow::Term &term : form(read).terms)
      if (term.axis != axis && extents_[std::size_t(term.axis)] == unknown) return false;
    return true;
  }

  int next() const {
    int partly = -1;
    bool left = false;
    const Read *unclear = nullptr;
    for (int axis = 0; axis < int(extents_.size()); ++axis) {
      if (extents_[std::size_t(axis)] != unknown) continue;
      int alone = 0, together = 0;
      for (const Read &read : reads_) {
        if (!has(read, axis)) continue;
        ++(is_alone(read, axis) ? alone : together);
        if (!is_alone(read, axis)) unclear = &read;
      }
      if (alone > 0 && together == 0) return axis;
      if (alone > 0 && partly < 0) partly = axis;
      left = left || together > 0;
    }
    if (partly < 0 && left)
      throw ShapeError("E0141", "nothing gives the axes of " + spec_.inputs[unclear->window].name,
                       spec_.inputs[unclear->window].where,
                       "let an input have one of them as a label");
    return partly;
  }

  bool is_empty(const Read &read) const {
    for (const int axis : spec_.inputs[read.window].axis_of_dim)
      if (extents_[std::size_t(axis)] == 0) return true;
    return false;
  }

  // Each corner: every axis at its first or its last index.
  bool is_inside(const Read &read) const {
    const TypedWindow::Form &positions = form(read);
    for (std::uint64_t corner = 0; corner < std::uint64_t(1) << positions.terms.size(); ++corner) {
      long double at = static_cast<long double>(positions.start);
      if (positions.from_end) at += static_cast<long double>(count(read));
      for (const TypedWindow::Count &c : positions.counts)
        at += static_cast<long double>(c.times) *
              static_cast<long double>(inputs_[c.input].extents[std::size_t(c.dim)]);
      for (std::size_t k = 0; k < positions.terms.size(); ++k) {
        const std::int64_t extent = extents_[std::size_t(positions.terms[k].axis)];
        if (corner >> k & 1 && extent > 1)
          at += static_cast<long double>(positions.terms[k].times) *
                static_cast<long double>(extent - 1);
      }
      if (at < 0 || at >= static_cast<long double>(count(read))) return false;
    }
    return true;
  }

  // The greatest extent with which all reads that tell are inside: by bisection, as a longer axis
  // reads all that a shorter one does.
  std::int64_t longest(int axis) {
    std::int64_t most = -1;
    for (const Read &read : reads_) {
      if (!has(read, axis) || !is_alone(read, axis)) continue;
      std::int64_t &extent = extents_[std::size_t(axis)];
      std::int64_t inside = 0, outside = count(read) + 1;
      extent = 1;
      if (count(read) > 0 && !is_inside(read))
        throw ShapeError("E0142", "a read of " + spec_.inputs[read.window].name + " is outside",
                         spec_.inputs[read.window].where, "read less of it");
      while (count(read) > 0 && outside - inside > 1) {
        extent = inside + (outside - inside) / 2;
        (is_inside(read) ? inside : outside) = extent;
      }
      extent = unknown;
      if (most < 0 || inside < most) most = inside;
    }
    return most;
  }

  const spec::TypedSpec &spec_;
  std::span<const Layout> inputs_;
  std::vector<Read> reads_;
  std::vector<std::int64_t> extents_;
};

} // namespace

std::vector<std::int64_t> said_shape(const spec::TypedInput &said, std::span<const Layout> given) {
  std::vector<std::int64_t> shape;
  for (const TypedWindow::Form &form : said.said) {
    Wide extent = form.start;
    for (const TypedWindow::Count &count : form.counts)
      extent += Wide(count.times) * given[count.input].extents[std::size_t(count.dim)];
    if (extent < 0)
      throw ShapeError("E0144", said.name + " says an extent below 0", said.where,
                       "say one of 0 or more");
    shape.push_back(std::int64_t(extent));
  }
  return shape;
}

std::vector<std::int64_t> window_extents(const spec::TypedSpec &spec,
                                         std::span<const Layout> inputs) {
  return Finder(spec, inputs).run();
}

namespace {

// The index of the element of `count` that stands at position `at` where they are repeated to both
// sides.
std::int64_t repeated(PadMode mode, std::int64_t at, std::int64_t count) {
  const auto remainder = [](std::int64_t a, std::int64_t b) {
    return a - b * (a / b - (a % b < 0));
  };
  switch (mode) {
  case PadMode::Constant: break;
  case PadMode::Edge: return at < 0 ? 0 : std::min(at, count - 1);
  case PadMode::Wrap: return remainder(at, count);
  case PadMode::Reflect: // a mirror at each end, so that one image is there and back
    if (count == 1) return 0;
    at = remainder(at, 2 * count - 2);
    return at < count ? at : 2 * count - 2 - at;
  }
  return at;
}

// The element of an integer input that a window reads there; 0 where a derived one reads none.
Wide element_at(const spec::TypedSpec &spec, std::size_t window, std::span<const AnyView> inputs,
                const std::vector<std::int64_t> &indices) {
  const AnyView &of = inputs[spec.inputs[window].window->of];
  const Read read = read_by(spec, window, inputs, indices);
  const auto &at = read.position;
  std::int64_t offset = 0;
  for (std::size_t d = 0; at && d < at->size(); ++d) offset += (*at)[d] * of.layout.strides[d];
  const ops::Scalar value =
      at ? ops::load(static_cast<const char *>(of.data) + offset * std::int64_t(size_of(of.dtype)),
                     of.dtype)
         : read.number;
  if (is_unsigned_integer(of.dtype)) return value.bits;
  return ops::as_i64(ops::convert(value, of.dtype, DType::I64));
}

// Where a position that elements say is brought to; -1 where that is an error.
std::int64_t brought_inside(Wide at, std::int64_t extent, Outside outside) {
  if (at >= 0 && at < extent) return std::int64_t(at);
  if (extent == 0 || outside == Outside::Fails) return -1;
  if (outside == Outside::Clips) return at < 0 ? 0 : extent - 1;
  return std::int64_t((at % extent + extent) % extent);
}

} // namespace

Read read_by(const spec::TypedSpec &spec, std::size_t number, std::span<const AnyView> inputs,
             const std::vector<std::int64_t> &indices) {
  const TypedWindow &window = *spec.inputs[number].window;
  std::vector<std::int64_t> positions;
  const Layout &of = inputs[window.of].layout;
  for (std::size_t dim = 0; dim < window.forms.size(); ++dim) {
    const TypedWindow::Form &form = window.forms[dim];
    const std::int64_t count = padded_count(window, dim, of);
    std::int64_t at = form.start;
    if (form.from_end) at += count;
    for (const TypedWindow::Term &term : form.terms)
      at += term.times * indices[std::size_t(term.axis)];
    for (const TypedWindow::Count &c : form.counts)
      at += c.times * inputs[c.input].layout.extents[std::size_t(c.dim)];
    if (form.stretches && of.extents[dim] == 1) at = 0;
    if (at % form.divisor != 0) return {};
    at /= form.divisor;
    if (!form.indices.empty()) {
      Wide sum = at;
      for (const TypedWindow::Index &index : form.indices)
        sum += index.times * element_at(spec, index.input, inputs, indices);
      at = brought_inside(sum, count, form.outside);
      if (at < 0 && window.derived) return {}; // the window that it is derived from tells
      if (at < 0)
        throw DataError(
            "E0315",
            fmt::format("{} reads position {} of axis {} of '{}', which has {} elements",
                        spec.inputs[number].name, sum, dim, spec.inputs[window.of].name, count),
            spec.inputs[number].where, "give it positions that are inside");
    }
    if (form.may_leave && (at < 0 || at >= count)) return {};
    positions.push_back(at);
  }
  // pad(pad(x, ..), ..): the outer one, which is the last, is asked first.
  for (std::size_t k = window.pads.size(); k-- > 0;) {
    const TypedWindow::Pad &pad = window.pads[k];
    std::int64_t &at = positions[std::size_t(pad.dim)];
    const std::int64_t count = of.extents[std::size_t(pad.dim)];
    at -= pad.before;
    if (at >= 0 && at < count) continue;
    if (pad.mode == PadMode::Constant) return {std::nullopt, pad.value};
    at = repeated(pad.mode, at, count);
  }
  return {std::move(positions), {}};
}

void add_said(const spec::TypedSpec &spec, std::vector<Layout> &layouts) {
  for (const spec::TypedInput &input : spec.given())
    if (!input.said.empty()) layouts.push_back(contiguous_layout(said_shape(input, layouts)));
}

std::vector<AnyView> with_said(const spec::TypedSpec &spec, std::vector<AnyView> given) {
  std::vector<Layout> layouts = array::layouts_of(given);
  add_said(spec, layouts);
  for (std::size_t k = given.size(); k < layouts.size(); ++k)
    given.push_back({spec.inputs[k].dtype, nullptr, false, layouts[k]});
  return given;
}

} // namespace broadloom::reference
