// The table of `--stage axes`: how operands lie along the axes, for the layouts of a call.
//
//   lies    i             j
//   x       100 step 200  200 unit        100 rows, 200 elements apart; side by side along j
//   y       stretched     200 unit        of extent 1 where others have more
//   b       -             200 same        not there; one element for all 200 positions (stride 0)
#include "text/print_typed.hpp"

#include <algorithm>

namespace broadloom::text {
namespace {

struct Row {
  std::string name;
  std::vector<std::string> cells; // [axis]
};

// [axis]: the greatest extent that an operand has along it.
using Extents = std::vector<std::int64_t>;

std::string cell(std::int64_t extent, std::int64_t stride, std::int64_t greatest) {
  if (extent == 1) return greatest > 1 ? "stretched" : "1";
  const std::string count = std::to_string(extent);
  if (stride == 0) return count + " same";
  if (stride == 1) return count + " unit";
  return count + " step " + std::to_string(stride);
}

Row row_of(std::string name, const std::vector<int> &axes, const Layout &layout,
           const Extents &greatest) {
  Row row{std::move(name), std::vector<std::string>(greatest.size(), "-")};
  for (std::size_t dim = 0; dim < axes.size(); ++dim) {
    const auto axis = std::size_t(axes[dim]);
    row.cells[axis] = cell(layout.extents[dim], layout.strides[dim], greatest[axis]);
  }
  return row;
}

void note_extents(const std::vector<int> &axes, const Layout &layout, Extents &greatest) {
  for (std::size_t dim = 0; dim < axes.size(); ++dim) {
    std::int64_t &most = greatest[std::size_t(axes[dim])];
    most = std::max(most, layout.extents[dim]);
  }
}

std::string padded(const std::string &text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

} // namespace

std::string print_axis_table(const spec::TypedSpec &spec, std::span<const Layout> inputs,
                             std::span<const Layout> outputs, const std::vector<bool> &wanted) {
  if (spec.axes.empty()) return {};
  Extents greatest(spec.axes.size(), 0);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!spec.inputs[i].in_windows_only)
      note_extents(spec.inputs[i].axis_of_dim, inputs[i], greatest);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (wanted[o]) note_extents(spec.outputs[o].axes, outputs[o], greatest);

  std::vector<Row> rows{{"lies", {}}};
  for (const spec::Axis &axis : spec.axes) rows[0].cells.push_back(axis.name);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!spec.inputs[i].in_windows_only)
      rows.push_back(row_of(spec.inputs[i].name, spec.inputs[i].axis_of_dim, inputs[i], greatest));
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (wanted[o])
      rows.push_back(row_of(spec.outputs[o].name, spec.outputs[o].axes, outputs[o], greatest));

  const expr::AxisSet shown = spec.shown_axes();
  std::size_t first = 0;
  std::vector<std::size_t> widths(spec.axes.size(), 0);
  for (const Row &row : rows) {
    first = std::max(first, row.name.size());
    for (std::size_t axis = 0; axis < widths.size(); ++axis)
      widths[axis] = std::max(widths[axis], row.cells[axis].size());
  }
  std::string text;
  for (const Row &row : rows) {
    std::string line = "  " + padded(row.name, first);
    for (std::size_t axis = 0; axis < widths.size(); ++axis)
      if (shown.has(int(axis))) line += "  " + padded(row.cells[axis], widths[axis]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

} // namespace broadloom::text
