// `--stage graph` as a drawing: in Graphviz's language, or as an HTML page with an SVG inside.
//
// The page needs no Graphviz: nodes stand in layers, each below all that it reads, in the order of the middles of what
// they read; edges are curves from box to box. That is no optimal drawing, but the same one each time.
#include "support/text.hpp"
#include "text/print_typed.hpp"

#include <algorithm>
#include <cstdio>

namespace broadloom::spec {
namespace {

using expr::NodeId;
using expr::NodeKind;

struct Box {
  std::string title, type;
  std::string kind;               // of its colour
  std::vector<std::size_t> reads; // boxes
  std::size_t layer = 0;
  double x = 0, y = 0, width = 0;
};

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

// The nodes, then the outputs.
std::vector<Box> boxes_of(const TypedSpec &spec) {
  std::vector<Box> boxes;
  for (std::uint32_t n = 0; n < spec.graph.size(); ++n) {
    const NodeId id{n};
    Box box;
    box.title = "n" + std::to_string(n) + "  " + node_label(spec, id);
    box.type = node_type(spec, id);
    box.kind = kind_of(spec.graph[id].kind);
    for (NodeId arg : spec.graph.args(id)) box.reads.push_back(arg.index);
    boxes.push_back(std::move(box));
  }
  for (const TypedOutput &out : spec.outputs) {
    Box box;
    box.title = "out " + out.name + (out.add ? " +=" : "");
    box.type = name(out.dtype);
    box.kind = "output";
    box.reads.push_back(out.add ? out.addend.index : out.value.index);
    boxes.push_back(std::move(box));
  }
  for (Box &box : boxes) // what is read comes before its reader
    for (std::size_t read : box.reads) box.layer = std::max(box.layer, boxes[read].layer + 1);
  return boxes;
}

constexpr double letter = 7.3, line_height = 16, box_height = 42, layer_gap = 44, box_gap = 18,
                 margin = 20, detour = 130;

// Gives every box its place; returns width and height of the drawing.
std::pair<double, double> lay_out(std::vector<Box> &boxes) {
  std::vector<std::vector<std::size_t>> layers;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    boxes[b].width = letter * double(std::max(boxes[b].title.size(), boxes[b].type.size())) + 16;
    if (layers.size() <= boxes[b].layer) layers.resize(boxes[b].layer + 1);
    layers[boxes[b].layer].push_back(b);
  }
  double widest = 0;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto middle = [&](std::size_t b) { // of what it reads
      double sum = 0;
      for (std::size_t read : boxes[b].reads) sum += boxes[read].x + boxes[read].width / 2;
      return boxes[b].reads.empty() ? 0 : sum / double(boxes[b].reads.size());
    };
    std::sort(layers[k].begin(), layers[k].end(), [&](std::size_t a, std::size_t b) {
      return std::pair(middle(a), a) < std::pair(middle(b), b);
    });
    double width = -box_gap, first = 0;
    for (std::size_t b : layers[k]) width += boxes[b].width + box_gap;
    // The layer as a whole under the middle of what it reads.
    if (k > 0) {
      for (std::size_t b : layers[k]) first += middle(b);
      first = std::max(margin, first / double(layers[k].size()) - width / 2);
    } else {
      first = margin;
    }
    for (std::size_t b : layers[k]) {
      boxes[b].x = first;
      boxes[b].y = margin + double(k) * (box_height + layer_gap);
      first += boxes[b].width + box_gap;
      widest = std::max(widest, first);
    }
  }
  return {widest + margin + detour / 2,
          2 * margin + double(layers.size()) * (box_height + layer_gap) - layer_gap};
}

std::string number(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.1f", value);
  return digits;
}

std::string edge(const Box &from, const Box &to) {
  const double x0 = from.x + from.width / 2, y0 = from.y + box_height;
  const double x1 = to.x + to.width / 2, y1 = to.y, half = (y1 - y0) / 2;
  const double aside = to.layer - from.layer > 1 ? detour : 0; // around what lies between
  return "<path d=\"M" + number(x0) + " " + number(y0) + " C" + number(x0 + aside) + " " +
         number(y0 + half) + " " + number(x1 + aside) + " " + number(y1 - half) + " " + number(x1) +
         " " + number(y1) + "\"/>\n";
}

std::string drawn(const Box &box) {
  const std::string middle = number(box.x + box.width / 2);
  const auto line = [&](double y, const std::string &text, const char *more) {
    return "<text x=\"" + middle + "\" y=\"" + number(y) + "\"" + more + ">" +
           support::escaped_markup(text) + "</text>";
  };
  return "<g class=\"" + box.kind + "\"><rect x=\"" + number(box.x) + "\" y=\"" + number(box.y) +
         "\" width=\"" + number(box.width) + "\" height=\"" + number(box_height) + "\" rx=\"4\"/>" +
         line(box.y + line_height, box.title, "") +
         line(box.y + 2 * line_height, box.type, " class=\"type\"") + "</g>\n";
}

constexpr const char *style = "body { font: 13px monospace; margin: 1em }\n"
                              "text { text-anchor: middle; font: 12px monospace }\n"
                              "text.type { fill: #555 }\n"
                              "path { fill: none; stroke: #888 }\n"
                              "rect { fill: #fff; stroke: #666 }\n"
                              ".input rect { fill: #dbeafe } .output rect { fill: #dcfce7 }\n"
                              ".fold rect { fill: #fef3c7 } .number rect { fill: #f1f5f9 }\n";

} // namespace

std::string print_dot(const TypedSpec &spec) {
  const auto quoted = [](const std::string &text) {
    std::string result;
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  };
  std::string text = "digraph \"" + quoted(spec.name) + "\" {\n  node [shape=box]\n";
  const std::vector<Box> boxes = boxes_of(spec);
  const auto name = [&](std::size_t b) {
    const std::size_t nodes = spec.graph.size();
    return b < nodes ? "n" + std::to_string(b) : "out" + std::to_string(b - nodes);
  };
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    text += "  " + name(b) + " [label=\"" + quoted(boxes[b].title) + "\\n" + quoted(boxes[b].type) +
            "\"]\n";
    for (std::size_t read : boxes[b].reads) text += "  " + name(read) + " -> " + name(b) + "\n";
  }
  return text + "}\n";
}

std::string print_html(const TypedSpec &spec) {
  std::vector<Box> boxes = boxes_of(spec);
  const auto [width, height] = lay_out(boxes);
  std::string text = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                     support::escaped_markup(spec.name) + "</title>\n<style>\n" + style +
                     "</style></head><body>\n<p>The graph of kernel " +
                     support::escaped_markup(spec.name) +
                     ": what each value is made of, with its type and axes.</p>\n"
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                     number(width) + "\" height=\"" + number(height) + "\">\n";
  for (const Box &box : boxes)
    for (std::size_t read : box.reads) text += edge(boxes[read], box);
  for (const Box &box : boxes) text += drawn(box);
  return text + "</svg>\n</body></html>\n";
}

} // namespace broadloom::spec
