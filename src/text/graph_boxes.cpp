// See graph_boxes.hpp.
#include "text/graph_boxes.hpp"

#include "support/size_text.hpp"
#include "text/print_typed.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>
#include <utility>

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
  double elements(const std::vector<int> &axes) const { // 1 where no extents are known
    double count = 1;
    for (const int axis : axes) count *= known() ? double(part_.extents[std::size_t(axis)]) : 1;
    return count;
  }

private:
  const GraphPart &part_;
  const spec::TypedSpec &spec_;
};

std::string place_text(const Place &place) {
  if (!place.known()) return {};
  return "\nwritten at " + (place.file.empty() ? "line " : place.file + ":") +
         std::to_string(place.line) + ":" + std::to_string(place.column);
}

// What is drawn of one part: casts, numbers and extents stand in the labels of what reads them, and
// a sum that is divided by its number of elements is a mean.
class Nodes {
public:
  explicit Nodes(const GraphPart &part)
      : part_(part), spec_(*part.spec), graph_(spec_.graph), values_(part),
        in_label_(graph_.size()), readers_(graph_.size()), box_of_(graph_.size()) {
    for (const spec::NamedValue &named : spec_.lets) lets_.emplace(named.value.index, named.let);
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      for (const NodeId arg : graph_.args(NodeId{n})) ++readers_[arg.index];
      const NodeKind kind = graph_[NodeId{n}].kind;
      in_label_[n] = kind == NodeKind::Literal || kind == NodeKind::Extent;
      // Of casts of casts every other one, so that no label grows.
      if (kind == NodeKind::Cast && !lets_.contains(n)) {
        const NodeId arg = graph_.args(NodeId{n})[0];
        in_label_[n] = graph_[arg].kind != NodeKind::Cast || !in_label_[arg.index];
      }
    }
    for (const spec::TypedOutput &out : spec_.outputs) ++readers_[value_of(out).index];
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      if (const auto sum = sum_of_mean(NodeId{n})) means_.emplace(n, *sum);
    for (const auto &[n, sum] : means_) in_label_[sum.index] = true;
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      all_work_ += in_label_[n] ? 0 : work(NodeId{n});
  }

  void add(GraphDrawing &drawing, GraphFrame &frame) {
    const auto put = [&](GraphBox box) {
      frame.boxes.push_back(drawing.boxes.size());
      drawing.boxes.push_back(std::move(box));
    };
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      if (in_label_[n]) continue;
      box_of_[n] = drawing.boxes.size();
      put(box(NodeId{n}));
    }
    for (const spec::TypedOutput &out : spec_.outputs) put(box(out));
  }

private:
  static NodeId value_of(const spec::TypedOutput &out) { return out.add ? out.addend : out.value; }

  NodeId behind_casts(NodeId id) const {
    while (graph_[id].kind == NodeKind::Cast && in_label_[id.index]) id = graph_.args(id)[0];
    return id;
  }

  std::optional<NodeId> sum_of_mean(NodeId id) const {
    const expr::Node &node = graph_[id];
    if (node.kind != NodeKind::Op || node.op != ops::Op::Div) return std::nullopt;
    const NodeId sum = behind_casts(graph_.args(id)[0]), count = behind_casts(graph_.args(id)[1]);
    const expr::Node &fold = graph_[sum], &extent = graph_[count];
    const bool is_mean = fold.kind == NodeKind::Fold && graph_.recipe(sum).name == "sum" &&
                         extent.kind == NodeKind::Extent && extent.folded == fold.folded &&
                         extent.like == fold.like && readers_[sum.index] == 1 &&
                         !lets_.contains(sum.index);
    return is_mean ? std::optional(sum) : std::nullopt;
  }

  // How a label calls a value: n5, x, f32(n5), 1e-05
  std::string word(NodeId id) const {
    const expr::Node &node = graph_[id];
    if (node.kind == NodeKind::Literal)
      return node_label(spec_, id).substr(std::string_view("literal ").size());
    if (node.kind == NodeKind::Extent) return "extent(" + names(node.folded) + ")";
    if (in_label_[id.index])
      return std::string(broadloom::name(node.dtype)) + "(" + word(graph_.args(id)[0]) + ")";
    if (node.kind == NodeKind::Input) return spec_.inputs[node.payload].name;
    const auto let = lets_.find(id.index);
    return let == lets_.end() ? "n" + std::to_string(id.index) : let->second;
  }

  std::string names(expr::AxisSet axes) const {
    std::string text;
    for (const int axis : axes)
      text += (text.empty() ? "" : ", ") + spec_.axes[std::size_t(axis)].name;
    return text;
  }

  std::string listed(NodeId id) const {
    std::string text;
    for (const NodeId arg : graph_.args(id)) text += (text.empty() ? "" : ", ") + word(arg);
    return text;
  }

  std::string title(NodeId id) const {
    const expr::Node &node = graph_[id];
    if (const auto mean = means_.find(id.index); mean != means_.end())
      return "mean of " + listed(mean->second) + " over " + names(graph_[mean->second].folded);
    if (node.kind == NodeKind::Op) {
      const ops::OpInfo &op = ops::info(node.op);
      const std::string spelling(op.spelling);
      if (op.form == ops::Form::Infix)
        return word(graph_.args(id)[0]) + " " + spelling + " " + word(graph_.args(id)[1]);
      if (op.form == ops::Form::Prefix) return spelling + word(graph_.args(id)[0]);
      return (op.form == ops::Form::Ternary ? "where" : spelling) + "(" + listed(id) + ")";
    }
    if (node.kind == NodeKind::Cast)
      return std::string(broadloom::name(node.dtype)) + "(" + listed(id) + ")";
    if (node.kind == NodeKind::Index) return "iota(" + names(node.axes) + ")";
    if (node.kind == NodeKind::Expand) return "repeat " + listed(id);
    if (node.kind == NodeKind::Fold && !node.like.given() && graph_.recipe(id).states.size() == 1)
      return graph_.recipe(id).name + " of " + listed(id) + " over " + names(node.folded);
    return node_label(spec_, id) + " of " + listed(id);
  }

  // Operations, by their rough costs.
  double work(NodeId id) const {
    const expr::Node &node = graph_[id];
    if (means_.contains(id.index)) return work(means_.at(id.index));
    if (node.kind == NodeKind::Op)
      return ops::info(node.op).cost * values_.elements(node.axes.list());
    if (node.kind != NodeKind::Fold && node.kind != NodeKind::Scan) return 0;
    return values_.elements((node.axes | node.folded).list());
  }

  GraphBox box(NodeId id) const {
    const expr::Node &node = graph_[id];
    const bool is_input = node.kind == NodeKind::Input;
    const std::vector<int> axes =
        is_input ? spec_.inputs[node.payload].axis_of_dim : node.axes.list();
    GraphBox box;
    box.title = is_input ? "in " + spec_.inputs[node.payload].name : word(id) + " = " + title(id);
    box.type = values_.type(node.dtype, axes);
    box.hint = box.title;
    if (values_.known())
      box.hint += "\n" + values_.size(node.dtype, axes) + (is_input ? "" : ", if it were an array");
    if (const double done = work(id); values_.known() && done > 0 && all_work_ > 0)
      box.hint += "\n" + time_text(done / all_work_);
    box.hint += place_text(spec_.where(id));
    if (is_input && values_.known()) box.type += "  " + values_.bytes(node.dtype, axes);
    box.kind = means_.contains(id.index) ? "fold" : kind_of(node.kind);
    if (is_input && spec_.inputs[spec_.array_of(node.payload)].materialised)
      box.array = spec_.inputs[spec_.array_of(node.payload)].name;
    const auto mean = means_.find(id.index);
    for (const NodeId arg : graph_.args(mean == means_.end() ? id : mean->second)) read(arg, box);
    return box;
  }

  GraphBox box(const spec::TypedOutput &out) const {
    const NodeId value = value_of(out);
    GraphBox box;
    box.title = "out " + out.name + (out.add ? " += " : " = ") + word(value);
    box.type = values_.type(out.dtype, out.axes);
    box.hint = box.title + (values_.known() ? "\n" + values_.size(out.dtype, out.axes) : "") +
               place_text(out.where);
    if (values_.known()) box.type += "  " + values_.bytes(out.dtype, out.axes);
    box.kind = "output";
    box.array = out.name;
    read(value, box);
    return box;
  }

  void read(NodeId id, GraphBox &box) const {
    id = behind_casts(id);
    if (!in_label_[id.index]) box.reads.push_back(box_of_[id.index]);
  }

  std::string time_text(double share) const {
    char text[64];
    std::snprintf(text, sizeof text, "%.0f %% of the operations", 100 * share);
    if (part_.ns <= 0) return text;
    return std::string(text) + ", some " + support::time_text(share * part_.ns);
  }

  const GraphPart &part_;
  const spec::TypedSpec &spec_;
  const expr::Graph &graph_;
  const Values values_;
  std::vector<char> in_label_; // [node]
  std::vector<int> readers_;
  std::vector<std::size_t> box_of_;
  std::unordered_map<std::uint32_t, std::string> lets_;
  std::unordered_map<std::uint32_t, NodeId> means_; // their sums
  double all_work_ = 0;
};

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
      Nodes(part).add(drawing, frame);
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

// The boxes of one frame, below `top`; what they read of other frames has its place. Along a layer
// stand its boxes, and layers follow each other.
void lay_out(GraphDrawing &drawing, GraphFrame &frame, double top) {
  std::vector<GraphBox> &boxes = drawing.boxes;
  std::vector<std::vector<std::size_t>> layers;
  for (const std::size_t b : frame.boxes) { // what is read comes before its reader
    boxes[b].layer = 0;
    for (const std::size_t read : boxes[b].reads)
      if (read >= frame.boxes[0]) boxes[b].layer = std::max(boxes[b].layer, boxes[read].layer + 1);
    if (layers.size() <= boxes[b].layer) layers.resize(boxes[b].layer + 1);
    layers[boxes[b].layer].push_back(b);
  }
  const bool across = drawing.across;
  const double left = margin + padding;
  const double first_line = top + padding + graph_line_height * double(frame.lines.size());
  const double start = across ? first_line : left; // of a layer
  const auto length = [&](const GraphBox &box) { return across ? graph_box_height : box.width; };
  const auto place = [&](GraphBox &box) -> double & { return across ? box.y : box.x; };
  double right = left, bottom = first_line;
  for (const std::string &line : frame.lines)
    right = std::max(right, left + graph_letter_width * double(line.size()));
  const auto middle = [&](std::size_t b) { // of what it reads
    double sum = 0;
    for (const std::size_t read : boxes[b].reads)
      sum += place(boxes[read]) + length(boxes[read]) / 2;
    return boxes[b].reads.empty() ? 0 : sum / double(boxes[b].reads.size());
  };
  double depth = across ? left : first_line; // of the layer
  for (std::size_t k = 0; k < layers.size(); ++k) {
    std::sort(layers[k].begin(), layers[k].end(), [&](std::size_t a, std::size_t b) {
      return std::pair(middle(a), a) < std::pair(middle(b), b);
    });
    double whole = -box_gap, first = start, thickest = 0;
    for (const std::size_t b : layers[k]) whole += length(boxes[b]) + box_gap;
    if (k > 0) { // the layer as a whole beside the middle of what it reads
      double sum = 0;
      for (const std::size_t b : layers[k]) sum += middle(b);
      first = std::max(start, sum / double(layers[k].size()) - whole / 2);
    }
    for (const std::size_t b : layers[k]) {
      place(boxes[b]) = first;
      (across ? boxes[b].x : boxes[b].y) = depth;
      first += length(boxes[b]) + box_gap;
      thickest = std::max(thickest, across ? boxes[b].width : graph_box_height);
      right = std::max(right, boxes[b].x + boxes[b].width);
      bottom = std::max(bottom, boxes[b].y + graph_box_height);
    }
    depth += thickest + layer_gap;
  }
  frame.x = margin;
  frame.y = top;
  frame.width = right + padding - margin;
  frame.height = bottom - top + padding;
}

// From the side of a box to that of its reader, around what lies between.
std::vector<GraphPoint> curve(const GraphBox &from, const GraphBox &to, bool across) {
  const bool is_across = across && from.x + from.width < to.x; // else to a frame below
  const auto ends = [&](double start, double end, double from_middle, double to_middle, double size,
                        double swerve) {
    const double half = (end - start) / 2, far = end - start > 3 * size ? swerve : 0;
    std::vector<GraphPoint> points{{from_middle, start},
                                   {from_middle + far, start + half},
                                   {to_middle + far, end - half},
                                   {to_middle, end}};
    for (GraphPoint &point : points)
      if (is_across) std::swap(point.x, point.y);
    return points;
  };
  if (is_across)
    return ends(from.x + from.width, to.x, from.y + graph_box_height / 2,
                to.y + graph_box_height / 2, 80, graph_box_height);
  return ends(from.y + graph_box_height, to.y, from.x + from.width / 2, to.x + to.width / 2,
              graph_box_height, 170);
}

void lay_out_frames(GraphDrawing &drawing, bool across) {
  drawing.across = across;
  drawing.width = 0;
  double top = margin;
  for (GraphFrame &frame : drawing.frames) {
    lay_out(drawing, frame, top);
    top += frame.height + layer_gap / 2;
    drawing.width = std::max(drawing.width, frame.x + frame.width + margin);
  }
  for (GraphFrame &frame : drawing.frames) frame.width = drawing.width - 2 * margin;
  drawing.height = top + margin - layer_gap / 2;
}

// How large it is in a usual window.
double scale_of(const GraphDrawing &drawing) {
  return std::min(1600 / drawing.width, 850 / drawing.height);
}

} // namespace

void lay_out(GraphDrawing &drawing) {
  lay_out_frames(drawing, false);
  const double down = scale_of(drawing);
  lay_out_frames(drawing, true);
  if (scale_of(drawing) < down) lay_out_frames(drawing, false);
  double right = 0, bottom = 0; // of where curves swerve to
  for (GraphEdge &edge : drawing.edges) {
    edge.points = curve(drawing.boxes[edge.from], drawing.boxes[edge.to], drawing.across);
    const std::vector<GraphPoint> &p = edge.points;
    right = std::max(right, (p[0].x + 3 * p[1].x + 3 * p[2].x + p[3].x) / 8);
    bottom = std::max(bottom, (p[0].y + 3 * p[1].y + 3 * p[2].y + p[3].y) / 8);
  }
  drawing.width = std::max(drawing.width, right + padding + margin);
  drawing.height = std::max(drawing.height, bottom + padding + margin);
  for (GraphFrame &frame : drawing.frames) frame.width = drawing.width - 2 * margin;
}

} // namespace broadloom::text
