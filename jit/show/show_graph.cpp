// `--stage graph`: a drawing of a kernel with those of its lets.
#include "jit/show/predict.hpp"
#include "jit/show/show.hpp"
#include "jit/show/shown.hpp"
#include "support/size_text.hpp"
#include "support/text.hpp"
#include "text/graph_page.hpp"
#include "text/print_typed.hpp"

#include <algorithm>

namespace broadloom::jit {
namespace {

// With `timed`, what it is predicted to take, for which this machine is measured once.
text::GraphPart graph_part(const Nest &nest, std::string name, bool timed) {
  text::GraphPart part{std::move(name), &nest.setup().whole(), {}, {}, {}, 0};
  if (!nest.latest()) return part;
  const Shown shown = what_to_show(nest);
  part.extents.assign(nest.typed().axes.size(), 1);
  const auto take = [&](const std::vector<int> &axes, const Layout &layout) {
    for (std::size_t d = 0; d < axes.size(); ++d)
      part.extents[std::size_t(axes[d])] =
          std::max(part.extents[std::size_t(axes[d])], layout.extents[d]);
  };
  for (std::size_t i = 0; i < nest.typed().inputs.size(); ++i)
    if (!nest.typed().inputs[i].in_windows_only)
      take(nest.typed().inputs[i].axis_of_dim, shown.layouts.inputs[i]);
  for (std::size_t o = 0; o < nest.typed().outputs.size(); ++o)
    if (shown.layouts.wanted[o]) take(nest.typed().outputs[o].axes, shown.layouts.outputs[o]);
  if (timed && engine_used(nest) == Engine::jit && !fills_output(nest)) {
    part.ns = predict_nest(nest).seconds * 1e9;
    part.notes.push_back(support::time_text(part.ns) + " predicted");
  }
  std::vector<std::string> fused;
  for (const spec::NamedValue &let : nest.typed().lets) fused.push_back(let.let);
  if (!fused.empty())
    part.notes.push_back("computed where it is read: " + support::quoted_list(fused));
  for (const Decision &decision : shown.why)
    if (decision.topic == "phase" || decision.topic == "scratch" || decision.topic == "row")
      part.notes.push_back(decision.topic + ": " + decision.text);
  return part;
}

// Those of lets, then itself. Sizes and loops are those of the latest call.
std::vector<text::GraphPart> graph_parts(const KernelImpl &kernel, bool timed) {
  const Lets &lets = kernel.nests().lets;
  std::vector<text::GraphPart> parts;
  for (std::size_t k = 0; k < lets.nests().size(); ++k) {
    const spec::Materialised &let = *lets.specs()[k];
    const std::string name = "let " + let.typed.outputs[0].name;
    if (let.join)
      parts.push_back({name, nullptr, {}, {}, let.join->parts, 0});
    else
      parts.push_back(graph_part(*lets.nests()[k], name + ", an array", timed));
    if (let.recurrence)
      parts.back().name +=
          ", step by step along " + let.typed.axes[std::size_t(let.recurrence->axis)].name;
  }
  parts.push_back(graph_part(kernel.nests().rest, "kernel " + kernel.typed().name, timed));
  return parts;
}

} // namespace

std::string show_graph(const KernelImpl &kernel, ShowFormat::Graph format) {
  return format == ShowFormat::Graph::dot ? text::print_dot(graph_parts(kernel, false))
                                          : text::print_html(graph_parts(kernel, true));
}

} // namespace broadloom::jit
