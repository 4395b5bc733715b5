// See time_loop.hpp.
#include "reference/time_loop.hpp"

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "reference/windows.hpp"

#include <algorithm>

namespace broadloom::reference {

std::vector<std::vector<std::int64_t>> loop_shapes(spec::LetKernels lets, std::size_t first,
                                                   std::span<const Layout> inputs,
                                                   std::span<const Layout> before) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Layout &layout : before)
    shapes.emplace_back(layout.shape().begin(), layout.shape().end());
  spec::find_loop_shapes(lets, first, inputs, shapes, window_extents);
  return {shapes.begin() + std::ptrdiff_t(first), shapes.end()};
}

// Step after step from the definition: what is read of earlier steps stands in arrays with the
// start before or behind them.
std::vector<Array> run_loop(spec::LetKernels lets, std::size_t first,
                            std::span<const AnyView> inputs, std::span<const AnyView> before,
                            const EvaluateOne &evaluate) {
  const auto shapes =
      loop_shapes(lets, first, array::layouts_of(inputs), array::layouts_of(before));
  const spec::Recurrence &any = *lets[first]->recurrence;
  const std::int64_t steps = shapes[0][any.dim];
  Array positions(DType::I64, {steps});
  for (std::int64_t t = 0; t < steps; ++t) positions.data<std::int64_t>()[t] = t;
  std::vector<Array> arrays; // with the start
  for (std::size_t m = 0; m < any.count; ++m) {
    const spec::Recurrence &loop = *lets[first + m]->recurrence;
    std::vector<std::int64_t> shape = shapes[m];
    shape[loop.dim] += loop.lag;
    arrays.emplace_back(lets[first + m]->typed.outputs[0].dtype, shape); // zeros
    for (std::int64_t c = 0; loop.start && c < loop.lag; ++c) {
      const AnyView to = array::rows_of(arrays[m], loop.dim, loop.backwards ? steps + c : c, 1);
      AnyView from = before[*loop.start];
      const Layout start = from.layout;
      from.layout = to.layout;
      from.layout.strides = {};
      for (std::size_t d = 0; d < loop.start_dims.size(); ++d)
        from.layout.strides[loop.start_dims[d]] = start.strides[d];
      array::copy_elements(from, to.data, to.layout);
    }
  }
  for (std::int64_t n = 0; n < steps; ++n) {
    const std::int64_t t = any.backwards ? steps - 1 - n : n;
    for (std::size_t m = 0; m < any.count; ++m) {
      const spec::TypedSpec &typed = lets[first + m]->typed;
      const spec::Recurrence &loop = *lets[first + m]->recurrence;
      std::vector<AnyView> views(inputs.begin(), inputs.end());
      for (std::uint32_t i = std::uint32_t(inputs.size()); i < typed.given_inputs(); ++i) {
        const auto read = std::ranges::find(loop.reads, i, &spec::Recurrence::Read::input);
        if (loop.positions == i) {
          views.push_back(positions);
        } else if (read != loop.reads.end()) {
          const spec::Recurrence &of = *lets[read->let]->recurrence;
          views.push_back(array::rows_of(arrays[read->let - first], of.dim, 0, steps + read->more));
        } else {
          for (std::size_t k = 0; k < first; ++k)
            if (lets[k]->typed.outputs[0].name == typed.inputs[i].name) views.push_back(before[k]);
        }
      }
      const Array made = evaluate(typed, with_said(typed, std::move(views)), Pin{*typed.time, t});
      const AnyView to = array::rows_of(arrays[m], loop.dim, loop.backwards ? t : t + loop.lag, 1);
      array::copy_elements(made, to.data, to.layout);
    }
  }
  return arrays;
}

Array steps_alone(const spec::Recurrence &loop, const AnyView &with_start) {
  const AnyView from = array::rows_of(with_start, loop.dim, loop.backwards ? 0 : loop.lag,
                                      with_start.layout.extents[loop.dim] - loop.lag);
  Array result = Array::to_be_written(from.dtype, contiguous_layout(from.layout.shape()));
  array::copy_elements(from, result.raw(), result.layout());
  return result;
}

} // namespace broadloom::reference
