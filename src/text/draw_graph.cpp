// See graph_page.hpp.
#include "text/graph_boxes.hpp"
#include "text/graph_layout.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <cstdio>

namespace broadloom::text {
namespace {

using support::escaped_markup;

std::string number(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.1f", value);
  return digits;
}

std::string drawn(const GraphEdge &edge) {
  std::string text =
      "<path class=\"b" + std::to_string(edge.from) + " b" + std::to_string(edge.to) + "\" d=\"";
  for (std::size_t k = 0; k < edge.points.size(); ++k)
    text += (k == 0   ? "M"
             : k == 1 ? " C"
                      : " ") +
            number(edge.points[k].x) + " " + number(edge.points[k].y);
  return text + "\"/>\n";
}

std::string drawn(const GraphBox &box, std::size_t b) {
  const std::string middle = number(box.x + box.width / 2);
  const auto line = [&](double y, const std::string &text, const char *more) {
    return "<text x=\"" + middle + "\" y=\"" + number(y) + "\"" + more + ">" +
           escaped_markup(text) + "</text>";
  };
  return "<g class=\"" + box.kind + "\" id=\"b" + std::to_string(b) + "\"><title>" +
         escaped_markup(box.hint) + "</title><rect x=\"" + number(box.x) + "\" y=\"" +
         number(box.y) + "\" width=\"" + number(box.width) + "\" height=\"" +
         number(graph_box_height) + "\" rx=\"4\"/>" +
         line(box.y + graph_line_height, box.title, "") +
         line(box.y + 2 * graph_line_height, box.type, " class=\"type\"") + "</g>\n";
}

std::string drawn(const GraphFrame &frame) {
  std::string text = "<g class=\"frame\"><rect x=\"" + number(frame.x) + "\" y=\"" +
                     number(frame.y) + "\" width=\"" + number(frame.width) + "\" height=\"" +
                     number(frame.height) + "\" rx=\"8\"/>";
  for (std::size_t k = 0; k < frame.lines.size(); ++k)
    text += "<text x=\"" + number(frame.x + 16) + "\" y=\"" +
            number(frame.y + graph_line_height * double(k + 1)) + "\"" +
            (k == 0 ? " class=\"name\"" : "") + ">" + escaped_markup(frame.lines[k]) + "</text>";
  return text + "</g>\n";
}

constexpr const char *style =
    "html, body { height: 100%; margin: 0; font: 13px monospace; overflow: hidden }\n"
    "p { margin: 1em 1em 0 }\n"
    "svg { width: 100%; height: calc(100% - 3em); cursor: grab }\n"
    "text { text-anchor: middle; font: 12px monospace }\n"
    "text.type { fill: #555 }\n"
    ".frame text { text-anchor: start; fill: #555 } .frame text.name { fill: #000; font-weight: "
    "bold }\n"
    "path { fill: none; stroke: #888; marker-end: url(#head) }\n"
    "path.on { stroke: #d97706; stroke-width: 2 }\n"
    "rect { fill: #fff; stroke: #666 }\n"
    ".frame rect { fill: #fafafa; stroke: #bbb }\n"
    ".input rect { fill: #dbeafe } .output rect { fill: #dcfce7 }\n"
    ".fold rect { fill: #fef3c7 } .number rect { fill: #f1f5f9 }\n";

// Drag to move, turn the wheel to come nearer, point at a box for what it reads and what reads it.
constexpr const char *script = R"(<script>
const svg = document.querySelector('svg');
const view = svg.getAttribute('viewBox').split(' ').map(Number);
const show = () => svg.setAttribute('viewBox', view.join(' '));
const scale = () => Math.max(view[2] / svg.clientWidth, view[3] / svg.clientHeight);
svg.addEventListener('wheel', event => {
  event.preventDefault();
  const by = event.deltaY > 0 ? 1.2 : 1 / 1.2, box = svg.getBoundingClientRect(), s = scale();
  const x = (event.clientX - box.left) * s, y = (event.clientY - box.top) * s;
  view[0] += x * (1 - by); view[1] += y * (1 - by); view[2] *= by; view[3] *= by;
  show();
}, {passive: false});
svg.addEventListener('pointermove', event => {
  if (!(event.buttons & 1)) return;
  const s = scale();
  view[0] -= event.movementX * s; view[1] -= event.movementY * s;
  show();
});
for (const box of document.querySelectorAll('g[id]'))
  for (const [name, on] of [['pointerenter', true], ['pointerleave', false]])
    box.addEventListener(name, () => {
      for (const edge of document.getElementsByClassName(box.id)) edge.classList.toggle('on', on);
    });
</script>
)";

std::string quoted(const std::string &text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string kernel_name(std::span<const GraphPart> parts) { return parts.back().spec->name; }

} // namespace

std::string print_dot(std::span<const GraphPart> parts) {
  const GraphDrawing drawing = graph_boxes(parts);
  std::string text = "digraph \"" + quoted(kernel_name(parts)) + "\" {\n  node [shape=box]\n";
  const bool framed = parts.size() > 1;
  std::string edges;
  for (std::size_t f = 0; f < drawing.frames.size(); ++f) {
    const GraphFrame &frame = drawing.frames[f];
    const std::string indent = framed ? "    " : "  ";
    if (framed) text += "  subgraph cluster" + std::to_string(f) + " {\n    label=\"";
    for (std::size_t k = 0; framed && k < frame.lines.size(); ++k)
      text += (k > 0 ? "\\n" : "") + quoted(frame.lines[k]);
    if (framed) text += "\"\n";
    for (const std::size_t b : frame.boxes) {
      const GraphBox &box = drawing.boxes[b];
      text += indent + "b" + std::to_string(b) + " [label=\"" + quoted(box.title) + "\\n" +
              quoted(box.type) + "\"]\n";
      for (const std::size_t read : box.reads)
        edges += "  b" + std::to_string(read) + " -> b" + std::to_string(b) + "\n";
    }
    if (framed) text += "  }\n";
  }
  return text + edges + "}\n";
}

std::string print_html(std::span<const GraphPart> parts) {
  GraphDrawing drawing = graph_boxes(parts);
  const GraphLayout *layout = LayoutBy::now();
  if (layout == nullptr || !take_layout(drawing, (*layout)(graphviz_request(drawing))))
    lay_out(drawing);
  const std::string name = escaped_markup(kernel_name(parts));
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + name +
      "</title>\n<style>\n" + style + "</style></head><body>\n<p>The graph of kernel " + name +
      ": what each value is made of. All that a frame holds is computed in its loops; "
      "what goes from frame to frame is an array.</p>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
      number(drawing.width) + " " + number(drawing.height) +
      "\" preserveAspectRatio=\"xMinYMin meet\">\n"
      "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
      "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">"
      "<path d=\"M0 0 L8 4 L0 8 z\" style=\"fill: #888; stroke: none; marker-end: none\"/>"
      "</marker></defs>\n";
  for (const GraphFrame &frame : drawing.frames) text += drawn(frame);
  for (const GraphEdge &edge : drawing.edges) text += drawn(edge);
  for (std::size_t b = 0; b < drawing.boxes.size(); ++b) text += drawn(drawing.boxes[b], b);
  return text + "</svg>\n" + script + "</body></html>\n";
}

} // namespace broadloom::text
