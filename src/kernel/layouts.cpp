// See layouts.hpp.
#include "kernel/layouts.hpp"

#include "kernel/positions.hpp"
#include "spec/inputs_of.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace broadloom::kernel {
namespace {

// The dims of an output as `input` lies.
std::vector<int> slowest_first(const spec::TypedOutput &output, const spec::TypedInput &input,
                               const Layout &layout) {
  std::vector<std::int64_t> strides;
  for (const int axis : output.axes) {
    const auto &axes = input.axis_of_dim;
    const auto d = std::find(axes.begin(), axes.end(), axis) - axes.begin();
    strides.push_back(layout.extents[d] > 1 ? layout.strides[d] : 0);
  }
  return kernel::slowest_first(strides);
}

} // namespace

std::vector<int> slowest_first(std::span<const std::int64_t> strides) {
  std::vector<int> order;
  for (std::size_t dim = 0; dim < strides.size(); ++dim) {
    std::size_t place = order.size();
    for (std::size_t k = order.size(); k-- > 0;) {
      const std::int64_t other = strides[std::size_t(order[k])];
      if (other == 0 || strides[dim] == 0) continue;
      if (std::abs(other) >= std::abs(strides[dim])) break;
      place = k;
    }
    order.insert(order.begin() + std::ptrdiff_t(place), int(dim));
  }
  return order;
}

std::vector<std::vector<bool>> inputs_read(const spec::TypedSpec &spec) {
  std::vector<std::vector<bool>> result;
  for (const spec::TypedOutput &output : spec.outputs) {
    spec::InputsOf inputs = spec::inputs_of(spec, {&output.value, 1});
    for (std::size_t i = 0; i < inputs.read.size(); ++i)
      inputs.read[i] = inputs.read[i] || inputs.like[i];
    result.push_back(std::move(inputs.read));
  }
  return result;
}

namespace {

// How much of an input that lies so is read across its rows where the output is written in this
// order: all of it where another axis moves fastest, an eighth for all pairs of axes that are the
// other way round.
double share_against(const std::vector<int> &order, const spec::TypedOutput &output,
                     const spec::TypedInput &input, const Layout &layout) {
  const auto stride = [&](int dim) -> std::int64_t {
    const auto &axes = input.axis_of_dim;
    const auto d = std::find(axes.begin(), axes.end(), output.axes[dim]) - axes.begin();
    return d < std::ssize(axes) && layout.extents[d] > 1 ? std::abs(layout.strides[d]) : 0;
  };
  std::vector<std::int64_t> strides; // of the axes that it steps along, the output's slowest first
  for (const int dim : order)
    if (stride(dim) != 0) strides.push_back(stride(dim));
  double inverted = 0, pairs = 0;
  for (std::size_t slow = 0; slow < strides.size(); ++slow)
    for (std::size_t fast = slow + 1; fast < strides.size(); ++fast, ++pairs)
      inverted += strides[slow] < strides[fast];
  if (inverted == 0) return 0;
  const bool across = strides.back() != *std::min_element(strides.begin(), strides.end());
  return (across ? 1 : 0) + inverted / pairs / 8;
}

} // namespace

static Layout fortran_layout(std::span<const std::int64_t> shape) {
  std::vector<int> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return dense_in_order(contiguous_layout(shape), order); // throws where it is too large
}

// Of the orders in which the inputs with all axes of the output lie, that in which the fewest bytes
// are read against their own order: what is written first in the text is no reason. Of two that are
// as good C order, if it is one of them.
Layout output_layout(const spec::TypedSpec &spec, std::size_t output,
                     const std::vector<bool> &reads, std::span<const std::int64_t> shape,
                     std::span<const Layout> inputs) {
  const spec::TypedOutput &out = spec.outputs[output];
  if (out.store == Order::c) return contiguous_layout(shape);
  if (out.store == Order::f) return fortran_layout(shape);
  std::vector<std::vector<int>> orders;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<int> &own = spec.inputs[i].axis_of_dim;
    const bool full = std::all_of(out.axes.begin(), out.axes.end(), [&](int axis) {
      return std::find(own.begin(), own.end(), axis) != own.end();
    });
    if (!reads[i] || !full) continue;
    std::vector<int> order = slowest_first(out, spec.inputs[i], inputs[i]);
    if (std::find(orders.begin(), orders.end(), order) == orders.end())
      orders.push_back(std::move(order));
  }
  Layout layout = contiguous_layout(shape);
  if (orders.empty()) return layout;
  const auto cost = [&](const std::vector<int> &order) {
    double bytes = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (reads[i])
        bytes += share_against(order, out, spec.inputs[i], inputs[i]) *
                 double(element_count(inputs[i])) * double(size_of(spec.inputs[i].dtype));
    return bytes;
  };
  std::ranges::stable_partition(orders,
                                [](const auto &order) { return std::ranges::is_sorted(order); });
  const std::vector<int> &order =
      orders.size() == 1 ? orders[0] : std::ranges::min(orders, {}, cost);
  return dense_in_order(layout, order);
}

std::int64_t room_for_windows(const spec::TypedSpec &spec, std::size_t input, std::size_t dim,
                              std::span<const std::int64_t> extents) {
  // No array is so large, and positions may be any numbers.
  constexpr double most = 1e12;
  double room = 0;
  for (const spec::TypedInput &other : spec.inputs) {
    if (!other.window || other.window->derived || other.window->of != input ||
        dim >= other.window->forms.size())
      continue;
    const spec::TypedWindow::Form &form = other.window->forms[dim];
    if (!form.indices.empty()) continue; // whatever its elements say
    double reach = std::abs(double(form.start)) + (form.from_end ? 0 : 1);
    for (const spec::TypedWindow::Term &term : form.terms)
      reach += std::abs(double(term.times)) * double(extents[std::size_t(term.axis)] - 1);
    for (const spec::TypedWindow::Count &count : form.counts) {
      const int axis = spec.inputs[count.input].axis_of_dim[std::size_t(count.dim)];
      reach += 2 * std::abs(double(count.times)) * double(extents[std::size_t(axis)]);
    }
    if (const auto *pad = other.window->pad_of(int(dim)))
      reach = std::max(reach - double(pad->before) - double(pad->after), 1.0);
    room = std::max(room, reach);
  }
  return std::int64_t(std::min(room, most));
}

// A dim of 100 elements holds x[2*i + u] for fewer i: axes without an extent of their own are as
// short as this window has them.
static void stay_inside(const spec::TypedSpec &spec, const spec::TypedWindow &window,
                        const std::vector<bool> &known, std::vector<std::int64_t> &extents) {
  for (std::size_t d = 0; d < window.forms.size(); ++d) {
    const spec::TypedWindow::Form &form = window.forms[d];
    std::int64_t elements = spec.inputs[window.of].extents[d];
    if (elements < 0 || form.outside != Outside::Fails || !form.indices.empty() ||
        !form.counts.empty())
      continue;
    if (const auto *pad = window.pad_of(int(d))) elements += pad->before + pad->after;
    const double first = double(form.start) + (form.from_end ? double(elements) : 0);
    for (const spec::TypedWindow::Term &term : form.terms) {
      if (term.times == 0 || known[std::size_t(term.axis)]) continue;
      double room = term.times > 0 ? double(elements - 1) - first : first;
      for (const spec::TypedWindow::Term &other : form.terms)
        if (other.axis != term.axis && (other.times > 0) == (term.times > 0))
          room -= std::abs(double(other.times)) * double(extents[std::size_t(other.axis)] - 1);
      std::int64_t &extent = extents[std::size_t(term.axis)];
      const double most = std::max(std::floor(room / std::abs(double(term.times))), 0.0) + 1;
      extent = std::int64_t(std::min(double(extent), most));
    }
  }
}

std::vector<Layout> typical_inputs(const spec::TypedSpec &spec) {
  // Large enough that a pattern looks as it does at work, small enough that no product overflows.
  const std::size_t count = spec.axes.size(), given = spec.given_inputs();
  const std::int64_t base = count <= 4 ? 1000 : count <= 8 ? 100 : 2;
  std::vector<std::int64_t> extents(count);
  for (std::size_t axis = 0; axis < count; ++axis)
    extents[axis] = base + std::int64_t(axis) % (count <= 8 ? 8 : 4);
  // Derived windows take what the others give.
  std::size_t end = given;
  while (end < spec.inputs.size() && !spec.inputs[end].window->derived) ++end;
  for (std::size_t i = given; i < end; ++i)
    for (const spec::TypedWindow::Form &form : spec.inputs[i].window->forms)
      for (std::size_t k = 1; k < form.terms.size(); ++k) // what moves within a window
        extents[std::size_t(form.terms[k].axis)] = 3;
  std::vector<bool> known(count); // by a declaration
  for (std::size_t i = 0; i < given; ++i)
    for (std::size_t d = 0; d < spec.inputs[i].extents.size(); ++d)
      if (spec.inputs[i].extents[d] >= 0 && spec.inputs[i].extents[d] != 1) {
        extents[std::size_t(spec.inputs[i].axis_of_dim[d])] = spec.inputs[i].extents[d];
        known[std::size_t(spec.inputs[i].axis_of_dim[d])] = true;
      }
  for (std::size_t i = given; i < end; ++i) { // x[i] of n elements: i is as long as n
    const spec::TypedWindow &window = *spec.inputs[i].window;
    for (std::size_t d = 0; d < window.forms.size(); ++d)
      if (spec.inputs[window.of].extents[d] >= 0 && window.forms[d].is_axis())
        extents[std::size_t(window.forms[d].terms[0].axis)] = spec.inputs[window.of].extents[d];
  }
  for (const spec::TypedInput &input : spec.given()) // what is said of the extents so far
    for (std::size_t d = 0; d < input.said.size(); ++d) {
      std::int64_t &extent = extents[std::size_t(input.axis_of_dim[d])];
      if (input.said[d].counts.empty()) continue;
      extent = input.said[d].start;
      for (const spec::TypedWindow::Count &count : input.said[d].counts)
        extent +=
            std::clamp<std::int64_t>(count.times, -base, base) *
            extents[std::size_t(spec.inputs[count.input].axis_of_dim[std::size_t(count.dim)])];
      extent = std::max<std::int64_t>(extent, 0);
      known[std::size_t(input.axis_of_dim[d])] = true;
    }
  for (std::size_t i = given; i < end; ++i)
    stay_inside(spec, *spec.inputs[i].window, known, extents);
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t i = 0; i < given; ++i) {
    const spec::TypedInput &input = spec.inputs[i];
    std::vector<std::int64_t> &shape = shapes.emplace_back();
    for (std::size_t d = 0; d < input.extents.size(); ++d)
      shape.push_back(input.extents[d] >= 0 ? input.extents[d]
                                            : extents[std::size_t(input.axis_of_dim[d])]);
  }
  for (std::size_t i = 0; i < given; ++i)
    for (std::size_t d = 0; d < shapes[i].size(); ++d)
      if (spec.inputs[i].extents[d] < 0)
        shapes[i][d] = std::max(shapes[i][d], room_for_windows(spec, i, d, extents));
  // Dims of one label stay equal: where one array is read at positions, the others get the room,
  // too.
  std::vector<std::int64_t> longest(count);
  const auto for_each_label = [&](const auto &visit) {
    for (std::size_t i = 0; i < given; ++i)
      for (std::size_t d = 0; d < shapes[i].size(); ++d)
        if (spec.inputs[i].labelled && spec.inputs[i].extents[d] < 0)
          visit(longest[std::size_t(spec.inputs[i].axis_of_dim[d])], shapes[i][d]);
  };
  for_each_label([](std::int64_t &most, std::int64_t extent) { most = std::max(most, extent); });
  for_each_label([](std::int64_t most, std::int64_t &extent) { extent = most; });
  // A dim at whose position a label stands alone is as long as the label says.
  expr::AxisSet labels;
  for (const spec::TypedInput &input : spec.given())
    if (input.labelled && !input.in_windows_only) labels = labels | input.axes();
  labels = labels - spec.free_axes();
  for (std::size_t i = given; i < end; ++i) {
    const spec::TypedWindow &window = *spec.inputs[i].window;
    for (std::size_t d = 0; d < window.forms.size(); ++d)
      if (spec.inputs[window.of].in_windows_only && spec.inputs[window.of].extents[d] < 0 &&
          window.forms[d].is_axis() && labels.has(window.forms[d].terms[0].axis))
        shapes[window.of][d] = extents[std::size_t(window.forms[d].terms[0].axis)];
  }
  std::vector<Layout> layouts;
  for (const std::vector<std::int64_t> &shape : shapes) layouts.push_back(contiguous_layout(shape));
  // Those with windows may be longer by now than was thought.
  for (std::size_t i = 0; i < given; ++i)
    for (std::size_t d = 0; d < spec.inputs[i].said.size(); ++d) {
      const auto said =
          start_of(spec.inputs[i].said[d], 0, [&](std::uint32_t input, std::size_t dim) {
            return layouts[input].extents[dim];
          });
      layouts[i].extents[d] = std::int64_t(std::clamp<__int128>(said, 0, 1 << 20));
    }
  return layouts;
}

Array allocate(const spec::TypedOutput &output, const Layout &layout) {
  if (!output.add) return Array::to_be_written(output.dtype, layout);
  auto storage = std::make_shared<Array>(output.dtype, layout.shape());
  void *data = storage->raw();
  return Array(std::move(storage), output.dtype, data, layout);
}

} // namespace broadloom::kernel
