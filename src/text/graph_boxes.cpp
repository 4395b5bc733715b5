// See graph_boxes.hpp.
#include "text/graph_boxes.hpp"

#include "support/size_text.hpp"
#include "text/print_typed.hpp"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

namespace broadloom::text {
namespace {

using expr::NodeId;
using expr::NodeKind;

std::string kind_of(NodeKind kind) {
  switch (kind) {
  case NodeKind::Input: return "input";
  case NodeKind::Fold:
  case NodeKind::Scan: return "fold";
  case NodeKind::Literal:
  case NodeKind::Extent:
  case NodeKind::Index: return "number";
  case NodeKind::Op:
  case NodeKind::Cast:
  case NodeKind::Expand: return "op";
  }
  return {};
}

// Values of one part, whose axes have extents or not.
class Values {
public:
  explicit Values(const GraphPart &part) : part_(part), spec_(*part.spec) {}

  // "f32 [n=64, q=20]", or "f32 {n q}" where the extents are not known.
  std::string type(DType dtype, const std::vector<int> &axes) const {
    std::string text;
    for (const int axis : axes) {
      text += text.empty() ? "" : known() ? ", " : " ";
      text += spec_.axes[std::size_t(axis)].name;
      if (known()) text += "=" + std::to_string(part_.extents[std::size_t(axis)]);
    }
    return std::string(name(dtype)) + (known() ? " [" + text + "]" : " {" + text + "}");
  }

  // Where the extents are known.
  std::string bytes(DType dtype, const std::vector<int> &axes) const {
    return support::size_text(elements(axes) * double(size_of(dtype)));
  }
  std::string size(DType dtype, const std::vector<int> &axes) const {
    char text[64];
    const double count = elements(axes);
    std::snprintf(text, sizeof text, "%.0f element%s", count, count == 1 ? "" : "s");
    return std::string(text) + ", " + bytes(dtype, axes);
  }
  bool known() const { return !part_.extents.empty(); }

private:
  double elements(const std::vector<int> &axes) const {
    double count = 1;
    for (const int axis : axes) count *= double(part_.extents[std::size_t(axis)]);
    return count;
  }

  const GraphPart &part_;
  const spec::TypedSpec &spec_;
};

std::vector<int> axes_of(expr::AxisSet set) {
  std::vector<int> axes;
  for (int axis = 0; axis < expr::max_axes; ++axis)
    if (set.has(axis)) axes.push_back(axis);
  return axes;
}

std::string place_text(const Place &place) {
  if (!place.known()) return {};
  return "\nwritten at " + (place.file.empty() ? "line " : place.file + ":") +
         std::to_string(place.line) + ":" + std::to_string(place.column);
}

void add_nodes(const GraphPart &part, GraphDrawing &drawing, GraphFrame &frame) {
  const spec::TypedSpec &spec = *part.spec;
  const Values values(part);
  std::unordered_map<std::uint32_t, std::string> lets;
  for (const spec::NamedValue &named : spec.lets) lets.emplace(named.value.index, named.let);
  const std::size_t first = drawing.boxes.size();
  for (std::uint32_t n = 0; n < spec.graph.size(); ++n) {
    const expr::Node &node = spec.graph[NodeId{n}];
    const bool is_input = node.kind == NodeKind::Input;
    const std::vector<int> axes =
        is_input ? spec.inputs[node.payload].axis_of_dim : axes_of(node.axes);
    GraphBox box;
    const auto let = lets.find(n);
    box.title = (let == lets.end() ? "n" + std::to_string(n) : "let " + let->second) + "  " +
                node_label(spec, NodeId{n});
    box.type = values.type(node.dtype, axes);
    box.hint = box.title;
    if (values.known())
      box.hint += "\n" + values.size(node.dtype, axes) + (is_input ? "" : ", if it were an array");
    box.hint += place_text(spec.where(NodeId{n}));
    if (is_input && values.known()) box.type += "  " + values.bytes(node.dtype, axes);
    box.kind = kind_of(node.kind);
    if (is_input && spec.inputs[spec.array_of(node.payload)].materialised)
      box.array = spec.inputs[spec.array_of(node.payload)].name;
    for (const NodeId arg : spec.graph.args(NodeId{n})) box.reads.push_back(first + arg.index);
    frame.boxes.push_back(drawing.boxes.size());
    drawing.boxes.push_back(std::move(box));
  }
  for (const spec::TypedOutput &out : spec.outputs) {
    GraphBox box;
    box.title = "out " + out.name + (out.add ? " +=" : "");
    box.type = values.type(out.dtype, out.axes);
    box.hint = box.title + (values.known() ? "\n" + values.size(out.dtype, out.axes) : "") +
               place_text(out.where);
    if (values.known()) box.type += "  " + values.bytes(out.dtype, out.axes);
    box.kind = "output";
    box.array = out.name;
    box.reads.push_back(first + (out.add ? out.addend.index : out.value.index));
    frame.boxes.push_back(drawing.boxes.size());
    drawing.boxes.push_back(std::move(box));
  }
}

} // namespace

GraphDrawing graph_boxes(std::span<const GraphPart> parts) {
  GraphDrawing drawing;
  std::unordered_map<std::string, std::size_t> made; // lets: the boxes of their outputs
  for (const GraphPart &part : parts) {
    GraphFrame frame;
    const std::size_t first = drawing.boxes.size();
    frame.lines = part.notes;
    frame.lines.insert(frame.lines.begin(), part.name);
    if (part.spec == nullptr) {
      GraphBox box;
      box.title = "out " + part.name.substr(part.name.find(' ') + 1);
      box.type = "made up of its parts, where they lie";
      box.hint = box.title;
      box.kind = "output";
      box.array = part.name.substr(part.name.find(' ') + 1);
      for (const std::string &one : part.parts) box.reads.push_back(made.at(one));
      frame.boxes.push_back(first);
      drawing.boxes.push_back(std::move(box));
    } else {
      add_nodes(part, drawing, frame);
    }
    for (std::size_t b = first; b < drawing.boxes.size(); ++b) {
      GraphBox &box = drawing.boxes[b];
      if (box.kind == "input" && made.contains(box.array)) box.reads.push_back(made.at(box.array));
    }
    for (std::size_t b = first; b < drawing.boxes.size(); ++b)
      if (drawing.boxes[b].kind == "output") made[drawing.boxes[b].array] = b;
    drawing.frames.push_back(std::move(frame));
  }
  for (std::size_t b = 0; b < drawing.boxes.size(); ++b) {
    GraphBox &box = drawing.boxes[b];
    const std::size_t letters = std::max(box.title.size(), box.type.size());
    box.width = graph_letter_width * double(letters) + 16;
    for (const std::size_t read : box.reads) drawing.edges.push_back({read, b, {}});
  }
  return drawing;
}

namespace {

constexpr double margin = graph_margin, layer_gap = 44, box_gap = 18, padding = 16;

// The boxes of one frame, below `top`; what they read of other frames has its place.
void lay_out(GraphDrawing &drawing, GraphFrame &frame, double top) {
  std::vector<GraphBox> &boxes = drawing.boxes;
  std::vector<std::vector<std::size_t>> layers;
  for (const std::size_t b : frame.boxes) { // what is read comes before its reader
    for (const std::size_t read : boxes[b].reads)
      if (read >= frame.boxes[0]) boxes[b].layer = std::max(boxes[b].layer, boxes[read].layer + 1);
    if (layers.size() <= boxes[b].layer) layers.resize(boxes[b].layer + 1);
    layers[boxes[b].layer].push_back(b);
  }
  const double left = margin + padding;
  const double first_line = top + padding + graph_line_height * double(frame.lines.size());
  double widest = 0;
  for (const std::string &line : frame.lines)
    widest = std::max(widest, left + graph_letter_width * double(line.size()));
  const auto middle = [&](std::size_t b) { // of what it reads
    double sum = 0;
    for (const std::size_t read : boxes[b].reads) sum += boxes[read].x + boxes[read].width / 2;
    return boxes[b].reads.empty() ? 0 : sum / double(boxes[b].reads.size());
  };
  for (std::size_t k = 0; k < layers.size(); ++k) {
    std::sort(layers[k].begin(), layers[k].end(), [&](std::size_t a, std::size_t b) {
      return std::pair(middle(a), a) < std::pair(middle(b), b);
    });
    double width = -box_gap, first = left;
    for (const std::size_t b : layers[k]) width += boxes[b].width + box_gap;
    if (k > 0) { // the layer as a whole under the middle of what it reads
      double sum = 0;
      for (const std::size_t b : layers[k]) sum += middle(b);
      first = std::max(left, sum / double(layers[k].size()) - width / 2);
    }
    for (const std::size_t b : layers[k]) {
      boxes[b].x = first;
      boxes[b].y = first_line + double(k) * (graph_box_height + layer_gap);
      first += boxes[b].width + box_gap;
      widest = std::max(widest, first - box_gap);
    }
  }
  frame.x = margin;
  frame.y = top;
  frame.width = widest + padding - margin;
  frame.height = first_line - top + double(layers.size()) * (graph_box_height + layer_gap) -
                 layer_gap + padding;
}

// From the bottom of a box to the top of its reader, around what lies between.
std::vector<GraphPoint> curve(const GraphBox &from, const GraphBox &to) {
  const double x0 = from.x + from.width / 2, y0 = from.y + graph_box_height;
  const double x1 = to.x + to.width / 2, y1 = to.y, half = (y1 - y0) / 2;
  const double far = 3 * graph_box_height;
  const double aside = y1 - y0 > far ? 130 : 0;
  return {{x0, y0}, {x0 + aside, y0 + half}, {x1 + aside, y1 - half}, {x1, y1}};
}

} // namespace

void lay_out(GraphDrawing &drawing) {
  double top = margin;
  for (GraphFrame &frame : drawing.frames) {
    lay_out(drawing, frame, top);
    top += frame.height + layer_gap / 2;
    drawing.width = std::max(drawing.width, frame.x + frame.width + margin);
  }
  for (GraphFrame &frame : drawing.frames) frame.width = drawing.width - 2 * margin;
  drawing.height = top + margin - layer_gap / 2;
  for (GraphEdge &edge : drawing.edges)
    edge.points = curve(drawing.boxes[edge.from], drawing.boxes[edge.to]);
}

} // namespace broadloom::text
