// See windows.hpp.
#include "windows.hpp"

#include "call.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>

namespace broadloom::python {
namespace {

std::vector<Layout> layouts_from(const nb::sequence &lies) {
  std::vector<Layout> layouts;
  for (const nb::handle one : lies) {
    const std::vector<std::int64_t> shape = extents_of(one[nb::int_(0)]),
                                    order = extents_of(one[nb::int_(1)]);
    Layout layout = contiguous_layout(shape); // too large a shape is told
    std::int64_t step = 1;
    for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
      layout.strides[std::size_t(*dim)] = step;
      step *= std::max<std::int64_t>(layout.extents[std::size_t(*dim)], 1);
    }
    layouts.push_back(layout);
  }
  return layouts;
}

nb::tuple lies_of(const Layout &layout) {
  std::vector<int> order(std::size_t(layout.rank));
  std::iota(order.begin(), order.end(), 0);
  const auto step = [&](int dim) {
    return layout.extents[std::size_t(dim)] > 1 ? layout.strides[std::size_t(dim)] : INT64_MAX;
  };
  std::ranges::stable_sort(order, std::greater(), step);
  return nb::make_tuple(
      nb::cast(std::vector<std::int64_t>(layout.shape().begin(), layout.shape().end())),
      nb::cast(order));
}

std::vector<BlockKernel::Interval> parts_from(const nb::dict &parts) {
  std::vector<BlockKernel::Interval> made;
  for (const auto &[axis, range] : parts) {
    const auto [begin, end] = nb::cast<std::pair<std::int64_t, std::int64_t>>(range);
    made.push_back({nb::cast<std::string>(axis), begin, end});
  }
  return made;
}

} // namespace

nb::list stage_kernels(State &state) {
  nb::list made;
  const Stages all = state.stages();
  for (const LoopSpec &spec : all.kernels()) made.append(make_kernel(spec, state.choices));
  return made;
}

nb::list lets(State &state, const nb::sequence &lies) {
  nb::list made;
  for (const Layout &layout : state.stages().lets(layouts_from(lies))) made.append(lies_of(layout));
  return made;
}

nb::list parts(State &state, const nb::sequence &lies) {
  nb::list lets;
  for (const auto &parts : state.stages().parts(layouts_from(lies))) {
    nb::list made;
    for (const Stages::Part &part : parts) {
      nb::list dims;
      for (const auto &[first, times, own] : part.dims)
        dims.append(nb::make_tuple(first, times, own));
      made.append(nb::make_tuple(part.let, dims));
    }
    lets.append(made);
  }
  return lets;
}

nb::list halos(State &state, const std::string &axis, const nb::sequence &lies) {
  nb::list made;
  for (const auto &[dim, before, after, is_read] : state.halos().along(axis, layouts_from(lies)))
    made.append(nb::make_tuple(dim, before, after, is_read));
  return made;
}

void check_halos(State &state, const nb::sequence &lies, const nb::sequence &parts) {
  state.halos().check(layouts_from(lies), layouts_from(parts));
}

nb::list walks(State &state) {
  nb::list inputs;
  for (const auto &dims : state.blocks_here().dims()) {
    nb::list made;
    for (const BlockKernel::Dim &dim : dims) {
      nb::list of_dim;
      for (const BlockKernel::Walk &walk : dim.walks)
        of_dim.append(nb::make_tuple(walk.axis, walk.times));
      made.append(nb::make_tuple(of_dim, dim.looked_up, dim.is_plain, dim.is_counted));
    }
    inputs.append(made);
  }
  return inputs;
}

nb::dict extents(State &state, const nb::sequence &lies) {
  nb::dict made;
  for (const auto &[axis, extent] : state.blocks_here().extents(layouts_from(lies)))
    made[nb::cast(axis)] = nb::cast(extent);
  return made;
}

nb::list reads(State &state, const nb::sequence &lies, const nb::dict &parts) {
  nb::list inputs;
  for (const auto &dims : state.blocks_here().reads(layouts_from(lies), parts_from(parts))) {
    nb::list made;
    for (const auto &[begin, end] : dims) made.append(nb::make_tuple(begin, end));
    inputs.append(made);
  }
  return inputs;
}

nb::tuple block(State &state, const nb::sequence &lies, const nb::dict &parts,
                const nb::sequence &begins, const nb::args &args) {
  Arguments arguments(state);
  place_all(arguments, state, args, nb::kwargs());
  Small<Number> numbers(state.inputs.size());
  std::vector<nb::object> keep;
  Inputs inputs(state, arguments, numbers.data(), keep);
  std::vector<BlockKernel::Slice> slices;
  for (const nb::handle begin : begins) {
    if (slices.size() == state.inputs.size()) break;
    slices.push_back({inputs.views[slices.size()], extents_of(begin)});
  }
  const std::vector<Layout> layouts = layouts_from(lies);
  const std::vector<BlockKernel::Interval> where = parts_from(parts);
  const BlockKernel blocks = state.blocks_here();
  std::vector<Array> arrays;
  run(state, unknown_points, [&] {
    for (const auto &[name, array] : blocks.run(layouts, where, slices)) arrays.push_back(array);
  });
  nb::list made;
  for (const nb::object &array : all_to_python(state, arrays)) made.append(array);
  return nb::tuple(made);
}

} // namespace broadloom::python
