// See viewer.hpp. Extents: an axis that is the label of a declared dim has that dim's; one that
// stands only alone has that of the dim at whose position it stands; any other takes the greatest
// extent for which every read is inside its array (window_extents.hpp).
#include "kernel/viewer.hpp"

#include "array/layout.hpp"
#include "kernel/check.hpp"
#include "kernel/positions.hpp"
#include "kernel/window_extents.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace broadloom::kernel {

using spec::TypedWindow;
using Wide = __int128; // positions: multiples times extents

LookedUp looked_up(const spec::TypedSpec &spec) {
  LookedUp looked;
  looked.elements = elements_read(spec);
  looked.positions = looked.elements;
  const auto look_at = [&](const TypedWindow &window) {
    for (const TypedWindow::Form &form : window.forms)
      for (const TypedWindow::Index &index : form.indices)
        looked.elements[index.input] = looked.positions[index.input] = true;
  };
  for (std::size_t i = spec.inputs.size(); i-- > 0;) {
    if (!spec.inputs[i].window || !looked.positions[i]) continue;
    const TypedWindow &window = *spec.inputs[i].window;
    if (window.sum) look_at(*spec.inputs[*window.sum].window);
    if (window.is_gather() && window.derived) looked.positions[window.derived_from] = true;
    look_at(window);
  }
  return looked;
}

Viewer::Viewer(const spec::TypedSpec &spec, std::span<const Layout> given)
    : spec_(spec), given_(given), looked_up_(looked_up(spec)),
      extents_(window_extents(spec, given)) {}

bool is_guarded(const TypedWindow &window, std::size_t dim) {
  return window.forms[dim].may_leave || window.forms[dim].divisor != 1 ||
         window.pad_of(int(dim)) != nullptr;
}

bool is_guarded(const TypedWindow &window) { return window.needs_zeros() || !window.pads.empty(); }

static bool may_see_copy(const TypedWindow &window) {
  return is_guarded(window) && !window.is_gather() && !window.sum;
}

bool sees_copies(const spec::TypedSpec &spec) {
  return std::ranges::any_of(spec.inputs, [](const spec::TypedInput &input) {
    return input.window && may_see_copy(*input.window);
  });
}

Seen Viewer::see(std::size_t index, const Box *box) {
  index_ = index;
  box_ = box;
  fits_ = true;
  Seen seen = see_array();
  const TypedWindow &window = *spec_.inputs[index].window;
  const bool sees_elements = looked_up_.positions[index] && !array::has_no_elements(seen.layout);
  seen.lies = may_see_copy(window) && sees_elements ? order_of_folds(seen.layout) : seen.layout;
  return seen;
}

Seen Viewer::see_array() {
  Seen seen;
  seen.layout = shape();
  const spec::TypedInput &input = spec_.inputs[index_];
  const TypedWindow &window = *input.window;
  const bool empty = array::has_no_elements(seen.layout);
  Layout of = given_[window.of];
  if (window.is_gather() || window.sum) {
    seen.layout = contiguous_layout(seen.layout.shape());
    if (!window.pads.empty() && !empty && looked_up_.positions[index_])
      seen.padding = {window.of, window.pads, {}};
    return seen;
  }
  std::vector<std::int64_t> first(window.forms.size()); // positions of what it looks at
  if (is_guarded(window)) {
    if (empty || !looked_up_.positions[index_]) return seen; // its extents are all that matters
    const std::vector<Padding::Dim> dims = positions_of(seen.layout);
    if (box_ != nullptr && is_inside(dims)) {
      for (const TypedWindow::Pad &pad : window.pads) first[std::size_t(pad.dim)] = pad.before;
    } else {
      seen.padding = {window.of, window.pads, {}, dim_of_steps()};
      if (window.needs_zeros() || box_ != nullptr) seen.padding->dims = dims;
      for (std::size_t dim = 0; dim < seen.padding->dims.size(); ++dim)
        first[dim] = dims[dim].first;
      of = padded_layout(*seen.padding, of);
    }
  }
  for (std::size_t k = 0; k < input.axis_of_dim.size(); ++k)
    for (std::size_t dim = 0; dim < window.forms.size() && seen.layout.extents[k] > 1;
         ++dim) // else it might be any number
      for (const TypedWindow::Term &term : window.forms[dim].terms)
        if (term.axis == input.axis_of_dim[k] && !stands(dim))
          add(seen.layout.strides[k], whole(times(dim, term)), of.strides[dim]);
  for (std::size_t dim = 0; dim < window.forms.size() && !empty; ++dim)
    add(seen.offset, whole(start(dim) / common_divisor(dim) - first[dim]), of.strides[dim]);
  std::int64_t bytes = 0;
  fits_ = fits_ && !__builtin_mul_overflow(seen.offset, std::int64_t(size_of(input.dtype)), &bytes);
  if (!fits_) fail_size();
  return seen;
}

// The first along which a window walks the axis of a loop over time.
std::optional<int> Viewer::dim_of_steps() const {
  const std::vector<TypedWindow::Form> &forms = spec_.inputs[index_].window->forms;
  for (std::size_t dim = 0; spec_.time && dim < forms.size(); ++dim)
    for (const TypedWindow::Term &term : forms[dim].terms)
      if (term.axis == *spec_.time) return int(dim);
  return std::nullopt;
}

std::vector<Padding::Dim> Viewer::positions(std::size_t window, const Box *box) {
  index_ = window;
  box_ = box;
  fits_ = true;
  return positions_of(shape());
}

Layout Viewer::shape() const {
  const spec::TypedInput &input = spec_.inputs[index_];
  const TypedWindow &window = *input.window;
  Layout layout;
  layout.rank = int(input.axis_of_dim.size());
  for (std::size_t k = 0; k < input.axis_of_dim.size(); ++k) {
    const auto axis = std::size_t(input.axis_of_dim[k]);
    if (window.derived) {
      const TypedWindow::ExtentOf &from = window.extents[k];
      layout.extents[k] = from.number >= 0 ? from.number
                          : from.axis >= 0 ? extents_[std::size_t(from.axis)]
                                           : given_[from.input].extents[std::size_t(from.dim)];
    } else {
      layout.extents[k] = extents_[axis];
    }
    if (box_ != nullptr && (*box_)[axis].count >= 0) layout.extents[k] = (*box_)[axis].count;
  }
  return layout;
}

// The tree of a fold goes by the strides of what it reads, and those of a copy with borders are
// others than those of its array: where rows lie side by side in the one, there may be a border in
// the other. So a window that may see either counts as one of an array with gaps, whose dims lie in
// the order of the array's: no two axes are one, but those of one dim, and a dim behind one that is
// seen as a whole, without a border, and of which the array has the rows side by side.
//
//   pad(x, 1: (1, 1))[n, i + u, c] of x : f32[8, 100, 64] in C order
//       c: 1, i and u: 64, n: 64 * more than u and i reach
Layout Viewer::order_of_folds(const Layout &shape) const {
  constexpr Wide limit = Wide(1) << 61;
  const spec::TypedInput &input = spec_.inputs[index_];
  const TypedWindow &window = *input.window;
  const Layout &array = given_[window.of];
  const auto extent = [&](const TypedWindow::Term &term) {
    return shape.extents[std::size_t(std::ranges::find(input.axis_of_dim, term.axis) -
                                     input.axis_of_dim.begin())];
  };
  const auto reach = [&](std::size_t dim) {
    Wide most = 1;
    for (const TypedWindow::Term &term : window.forms[dim].terms)
      most = std::max(most, Wide(std::abs(std::int64_t(times(dim, term)))) * extent(term));
    return 2 * most + 1;
  };
  const auto lies_behind = [&](std::size_t outer, std::size_t inner) {
    const TypedWindow::Form &form = window.forms[inner];
    return form.is_axis() && !is_guarded(window, inner) &&
           extent(form.terms[0]) == array.extents[inner] &&
           Wide(array.strides[outer]) == Wide(array.strides[inner]) * array.extents[inner];
  };
  std::vector<Wide> steps(window.forms.size()); // [dim]
  std::optional<std::size_t> inner;
  const std::vector<int> dims = dims_in_order(array);
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    const auto outer = std::size_t(*dim);
    if (array.extents[outer] == 1 && !is_guarded(window, outer)) continue;
    steps[outer] = 1;
    if (inner)
      steps[outer] = std::min(limit, steps[*inner] * (lies_behind(outer, *inner)
                                                          ? Wide(array.extents[*inner])
                                                          : std::min(limit, reach(*inner))));
    inner = outer;
  }
  Layout lies = shape;
  for (std::size_t k = 0; k < input.axis_of_dim.size(); ++k) {
    Wide stride = 0;
    for (std::size_t dim = 0; dim < window.forms.size() && shape.extents[k] > 1; ++dim)
      for (const TypedWindow::Term &term : window.forms[dim].terms)
        if (term.axis == input.axis_of_dim[k] && !stands(dim))
          stride = std::clamp(stride + times(dim, term) * steps[dim], -limit, limit);
    lies.strides[k] = std::int64_t(stride);
  }
  return lies;
}

// Whether the dim is a 1 that is read at its only position throughout.
bool Viewer::stands(std::size_t dim) const {
  const TypedWindow &window = *spec_.inputs[index_].window;
  return window.forms[dim].stretches && given_[window.of].extents[dim] == 1;
}

Wide Viewer::start(std::size_t dim) const {
  if (stands(dim)) return 0;
  const TypedWindow &window = *spec_.inputs[index_].window;
  const TypedWindow::Form &form = window.forms[dim];
  Wide start =
      start_of(form, window.padded(int(dim), given_[window.of].extents[dim]),
               [&](std::uint32_t input, std::size_t d) { return given_[input].extents[d]; });
  if (box_ != nullptr)
    for (const TypedWindow::Term &term : form.terms)
      start += Wide(term.times) * (*box_)[std::size_t(term.axis)].first;
  return start;
}

std::int64_t Viewer::step_of(int axis) const {
  return box_ != nullptr ? (*box_)[std::size_t(axis)].step : 1;
}

// Of all positions that a box sees, before they are divided: the divisor of the form where each is
// a multiple of it, else 1.
std::int64_t Viewer::common_divisor(std::size_t dim) const {
  const TypedWindow::Form &form = spec_.inputs[index_].window->forms[dim];
  if (box_ == nullptr || form.divisor == 1 || start(dim) % form.divisor != 0) return 1;
  for (const TypedWindow::Term &term : form.terms)
    if (term.axis == spec_.time || ((*box_)[std::size_t(term.axis)].count != 1 && !stands(dim) &&
                                    Wide(term.times) * step_of(term.axis) % form.divisor != 0))
      return 1;
  return form.divisor;
}

// From one position of the axis to the next.
Wide Viewer::times(std::size_t dim, const TypedWindow::Term &term) const {
  return Wide(term.times) * step_of(term.axis) / common_divisor(dim);
}

// Along the axis of the steps of a loop over time all of the array, as it is brought up to date row
// by row.
std::vector<Padding::Dim> Viewer::positions_of(const Layout &shape) {
  const spec::TypedInput &input = spec_.inputs[index_];
  const TypedWindow &window = *input.window;
  std::vector<Padding::Dim> dims;
  for (std::size_t dim = 0; dim < window.forms.size(); ++dim) {
    const std::int64_t divided = common_divisor(dim);
    Wide least = start(dim) / divided, most = least;
    bool walks_time = false;
    for (const TypedWindow::Term &term : window.forms[dim].terms) {
      walks_time = walks_time || term.axis == spec_.time;
      if (stands(dim)) continue;
      const auto k = std::find(input.axis_of_dim.begin(), input.axis_of_dim.end(), term.axis) -
                     input.axis_of_dim.begin();
      const Wide last = times(dim, term) * (shape.extents[std::size_t(k)] - 1);
      (last > 0 ? most : least) += last;
    }
    if (walks_time) {
      least = 0;
      most = window.padded(int(dim), given_[window.of].extents[dim]) - 1;
    }
    dims.push_back({whole(least), whole(most), window.forms[dim].divisor / divided});
  }
  if (!fits_) fail_size();
  return dims;
}

bool Viewer::is_inside(const std::vector<Padding::Dim> &dims) const {
  const TypedWindow &window = *spec_.inputs[index_].window;
  for (std::size_t dim = 0; dim < dims.size(); ++dim) {
    const TypedWindow::Pad *pad = window.pad_of(int(dim));
    const std::int64_t before = pad == nullptr ? 0 : pad->before;
    if (dims[dim].divisor != 1 || dims[dim].first < before ||
        dims[dim].last >= before + given_[window.of].extents[dim])
      return false;
  }
  return true;
}

std::int64_t Viewer::whole(Wide number) {
  constexpr Wide limit = Wide(1) << 61; // as of extents and strides
  fits_ = fits_ && number > -limit && number < limit;
  return fits_ ? std::int64_t(number) : 0;
}

void Viewer::add(std::int64_t &sum, std::int64_t times, std::int64_t stride) {
  std::int64_t product = 0;
  fits_ = fits_ && !__builtin_mul_overflow(times, stride, &product) &&
          !__builtin_add_overflow(sum, product, &sum);
}

void Viewer::fail_size() const {
  support::fail("E0112",
                fmt::format("the strides of {} leave the range of i64", spec_.inputs[index_].name),
                spec_.inputs[index_].where, "use smaller multiples");
}

} // namespace broadloom::kernel
