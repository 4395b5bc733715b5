// See recorded.hpp.
#include "kernel/recorded.hpp"

namespace broadloom::kernel {

calls::Operand recorded(const spec::TypedSpec &spec, const std::vector<int> &axes,
                        const AnyView &view) {
  calls::Operand made{view, {}};
  for (const int axis : axes)
    made.axes.push_back(axis == spec.time ? "" : spec.axes[std::size_t(axis)].name);
  return made;
}

void record_run(const spec::TypedSpec &spec, std::string_view kernel, Operands operands) {
  calls::Recorder *recorder = calls::Recorder::here();
  if (recorder == nullptr) [[likely]]
    return;
  calls::Event event{.kernel = std::string(kernel)};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k] == nullptr) continue;
    const bool is_output = k >= spec.inputs.size();
    const std::vector<int> &axes =
        is_output ? spec.outputs[k - spec.inputs.size()].axes : spec.inputs[k].axis_of_dim;
    (is_output ? event.to : event.from).push_back(recorded(spec, axes, *operands[k]));
  }
  recorder->add(std::move(event));
}

void record_pad(const Padding &padding, const AnyView &from, const AnyView &to,
                const AnyView *row_from, const AnyView *row_to) {
  calls::Recorder *recorder = calls::Recorder::here();
  if (recorder == nullptr) [[likely]]
    return;
  calls::Event event{calls::Step::Kind::Pad, {}, {{from}}, {{to}}};
  if (row_from != nullptr) event.from.push_back({*row_from});
  if (row_to != nullptr) event.to.push_back({*row_to});
  for (const spec::TypedWindow::Pad &pad : padding.pads)
    event.borders.push_back({pad.dim, pad.before, pad.after});
  for (const Padding::Dim &dim : padding.dims)
    event.reach.push_back({dim.first, dim.last, dim.divisor});
  recorder->add(std::move(event));
}

} // namespace broadloom::kernel
