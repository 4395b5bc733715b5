// `--stage graph`: the lines of one kernel, or a drawing of a kernel with those of its lets.
#include "jit/shown.hpp"
#include "support/text.hpp"
#include "text/graph_page.hpp"

#include <algorithm>

namespace broadloom {

std::string KernelImpl::show_graph(ShowFormat::Graph format) const {
  switch (format) {
  case ShowFormat::Graph::text: return spec::print_graph(setup_.whole());
  case ShowFormat::Graph::dot: return spec::print_dot(graph_parts());
  case ShowFormat::Graph::html: return spec::print_html(graph_parts());
  }
  return {};
}

// Those of lets, then itself. Sizes and loops are those of the latest call.
std::vector<spec::GraphPart> KernelImpl::graph_parts() const {
  std::vector<spec::GraphPart> parts;
  for (std::size_t k = 0; k < lets_.kernels().size(); ++k) {
    const spec::Materialised &let = *lets_.specs()[k];
    const std::string name = "let " + let.typed.outputs[0].name;
    if (let.join)
      parts.push_back({name, nullptr, {}, {}, let.join->parts});
    else
      parts.push_back(lets_.kernels()[k]->graph_part(name + ", an array"));
    if (let.recurrence)
      parts.back().name +=
          ", step by step along " + let.typed.axes[std::size_t(let.recurrence->axis)].name;
  }
  parts.push_back(graph_part("kernel " + setup_.typed.name));
  return parts;
}

spec::GraphPart KernelImpl::graph_part(std::string name) const {
  spec::GraphPart part{std::move(name), &setup_.whole(), {}, {}, {}};
  if (!layout_cache_.latest()) return part;
  const Shown shown = what_to_show();
  part.extents.assign(setup_.typed.axes.size(), 1);
  const auto take = [&](const std::vector<int> &axes, const Layout &layout) {
    for (std::size_t d = 0; d < axes.size(); ++d)
      part.extents[std::size_t(axes[d])] =
          std::max(part.extents[std::size_t(axes[d])], layout.extents[d]);
  };
  for (std::size_t i = 0; i < setup_.typed.inputs.size(); ++i)
    if (!setup_.typed.inputs[i].in_windows_only)
      take(setup_.typed.inputs[i].axis_of_dim, shown.layouts.inputs[i]);
  for (std::size_t o = 0; o < setup_.typed.outputs.size(); ++o)
    if (shown.layouts.wanted[o]) take(setup_.typed.outputs[o].axes, shown.layouts.outputs[o]);
  std::vector<std::string> fused;
  for (const spec::NamedValue &let : setup_.typed.lets) fused.push_back(let.let);
  if (!fused.empty())
    part.notes.push_back("computed where it is read: " + support::quoted_list(fused));
  for (const Decision &decision : shown.why)
    if (decision.topic == "phase" || decision.topic == "scratch" || decision.topic == "row")
      part.notes.push_back(decision.topic + ": " + decision.text);
  return part;
}

} // namespace broadloom
