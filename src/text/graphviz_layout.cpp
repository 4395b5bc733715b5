// See graph_boxes.hpp: a layout by Graphviz. What it prints in inches and points goes upwards; the
// page's pixels, one for each point, go downwards.
//
//   graph 1 5.6 4.6                                         the size
//   node b0 2.3 3.4 1.5 0.58 "" solid box black lightgrey   the middle
//   edge b0 b1 4 2.2 3.1 2.2 2.9 2.2 2.7 2.2 2.6 solid black
//   stop
//   digraph {
//     subgraph cluster0 {
//       graph [bb="8,130,324,322",
#include "text/graph_boxes.hpp"

#include "support/number.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

namespace broadloom::text {
namespace {

constexpr double points_per_inch = 72;

std::string decimal(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.4f", value);
  return digits;
}

// A text word by word. What is asked for and not there makes it bad, and stays 0.
class Reading {
public:
  explicit Reading(std::string_view text) : rest_(text) {}

  std::string_view word() {
    const std::size_t begin = std::min(rest_.find_first_not_of(" \n\r,"), rest_.size());
    const std::size_t end = std::min(rest_.find_first_of(" \n\r,\"", begin), rest_.size());
    const std::string_view found = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return found;
  }
  double number() {
    const std::optional<double> value = support::number_of<double>(word());
    constexpr double most = 1e7; // where nothing is to be seen of it
    good_ = good_ && value && std::abs(*value) < most;
    return good_ ? *value : 0;
  }
  // b12 of fewer than `count`.
  std::size_t index(std::size_t count) {
    const std::string_view text = word();
    const std::optional<std::size_t> value =
        text.starts_with('b') ? support::number_of<std::size_t>(text.substr(1)) : std::nullopt;
    good_ = good_ && value && *value < count;
    return good_ ? *value : 0;
  }
  void end_line() { rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size())); }
  void skip_behind(std::string_view text) {
    const std::size_t at = rest_.find(text);
    good_ = good_ && at != rest_.npos;
    rest_.remove_prefix(good_ ? at + text.size() : rest_.size());
  }
  bool good() const { return good_; }
  bool more() const { return good_ && !rest_.empty(); }

private:
  std::string_view rest_;
  bool good_ = true;
};

class LayoutReader {
public:
  explicit LayoutReader(const GraphDrawing &drawing) : made_(drawing) {
    for (std::size_t e = 0; e < made_.edges.size(); ++e)
      edges_.emplace(std::pair(made_.edges[e].from, made_.edges[e].to), e);
  }

  std::optional<GraphDrawing> read(std::string_view answer) {
    Reading in(answer);
    if (in.word() != "graph") return std::nullopt;
    in.number(); // the scale, which is 1 where no size was asked for
    made_.width = in.number() * points_per_inch + 2 * graph_margin;
    height_ = in.number() * points_per_inch;
    made_.height = height_ + 2 * graph_margin;
    std::size_t boxes = 0, edges = 0;
    for (in.end_line(); in.more(); in.end_line()) {
      const std::string_view kind = in.word();
      if (kind == "stop") break;
      if (kind == "node" && ++boxes) read_box(in);
      if (kind == "edge" && ++edges) read_edge(in);
    }
    for (std::size_t f = 0; f < made_.frames.size(); ++f) read_frame(in, f);
    const bool all = boxes == made_.boxes.size() && edges == made_.edges.size() && edges_.empty();
    return in.good() && all ? std::optional(std::move(made_)) : std::nullopt;
  }

private:
  GraphPoint at(double x, double y) const { return {graph_margin + x, graph_margin + height_ - y}; }
  GraphPoint point(Reading &in) const {
    const double x = in.number(), y = in.number();
    return at(x * points_per_inch, y * points_per_inch);
  }

  void read_box(Reading &in) {
    const std::size_t b = in.index(made_.boxes.size());
    if (!in.good()) return;
    GraphBox &box = made_.boxes[b];
    const GraphPoint middle = point(in);
    box.x = middle.x - box.width / 2;
    box.y = middle.y - graph_box_height / 2;
  }

  // Of several from the same box to the same reader each takes one.
  void read_edge(Reading &in) {
    const std::size_t from = in.index(made_.boxes.size()), to = in.index(made_.boxes.size());
    const double count = in.number();
    const auto edge = edges_.find({from, to});
    if (!in.good() || edge == edges_.end() || count < 4) return;
    for (double k = 0; k < count && in.good(); ++k)
      made_.edges[edge->second].points.push_back(point(in));
    edges_.erase(edge);
  }

  void read_frame(Reading &in, std::size_t f) {
    in.skip_behind("subgraph cluster" + std::to_string(f) + " {");
    in.skip_behind("bb=\"");
    const double left = in.number(), low = in.number(), right = in.number(), high = in.number();
    const GraphPoint corner = at(left, high);
    GraphFrame &frame = made_.frames[f];
    frame.x = corner.x;
    frame.y = corner.y;
    frame.width = right - left;
    frame.height = high - low;
  }

  GraphDrawing made_;
  std::multimap<std::pair<std::size_t, std::size_t>, std::size_t> edges_; // those without a place
  double height_ = 0;
};

} // namespace

std::string graphviz_request(const GraphDrawing &drawing) {
  std::string text = std::string("digraph {\n") + (drawing.across ? "  rankdir=LR\n" : "") +
                     "  node [shape=box, fixedsize=true, label=\"\"]\n"
                     "  edge [dir=none]\n";
  for (std::size_t f = 0; f < drawing.frames.size(); ++f) {
    const GraphFrame &frame = drawing.frames[f];
    std::size_t longest = 0;
    for (const std::string &line : frame.lines) longest = std::max(longest, line.size());
    // Of a table the size is known without any font.
    text += "  subgraph cluster" + std::to_string(f) +
            " { margin=16 labeljust=l label=<<table border=\"0\" fixedsize=\"true\" width=\"" +
            std::to_string(int(graph_letter_width * double(longest)) + 16) + "\" height=\"" +
            std::to_string(int(graph_line_height) * int(frame.lines.size())) +
            "\"><tr><td></td></tr></table>>\n";
    for (const std::size_t b : frame.boxes)
      text += "    b" + std::to_string(b) +
              " [width=" + decimal(drawing.boxes[b].width / points_per_inch) +
              ", height=" + decimal(graph_box_height / points_per_inch) + "]\n";
    text += "  }\n";
  }
  for (const GraphEdge &edge : drawing.edges)
    text += "  b" + std::to_string(edge.from) + " -> b" + std::to_string(edge.to) + "\n";
  return text + "}\n";
}

bool take_layout(GraphDrawing &drawing, std::string_view answer) {
  std::optional<GraphDrawing> made = LayoutReader(drawing).read(answer);
  if (made) drawing = std::move(*made);
  return made.has_value();
}

} // namespace broadloom::text
