// See graph_page.hpp.
#include "text/graph_boxes.hpp"
#include "text/graph_layout.hpp"

#include "support/text.hpp"

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

constexpr const char *style = R"(html, body { height: 100%; margin: 0; font: 13px monospace }
body { display: flex; flex-direction: column; overflow: hidden }
p { margin: 0.6em 1em } button { font: inherit; min-width: 2.6em; min-height: 2em }
svg { flex: 1; min-height: 0; width: 100%; cursor: grab; touch-action: none }
#tip { position: fixed; left: 0; bottom: 0; max-width: 100%; box-sizing: border-box; margin: 0;
  padding: 0.6em 1em;
  background: #fffbebf0; border: 1px solid #d97706; white-space: pre-wrap; pointer-events: none }
#tip:empty { display: none }
text { text-anchor: middle; font: 12px monospace }
text.type { fill: #555 }
.frame text { text-anchor: start; fill: #555 } .frame text.name { fill: #000; font-weight: bold }
path { fill: none; stroke: #888; marker-end: url(#head) }
path.on { stroke: #d97706; stroke-width: 2 }
rect { fill: #fff; stroke: #666 } g[id]:hover > rect { stroke: #d97706; stroke-width: 2 }
.frame rect { fill: #fafafa; stroke: #bbb }
.input rect { fill: #dbeafe } .output rect { fill: #dcfce7 }
.fold rect { fill: #fef3c7 } .number rect { fill: #f1f5f9 }
)";

// It begins as wide as the window, but no smaller than one can read. Drag to move; turn the wheel,
// spread two fingers or press the buttons to come nearer; point at a box for what it is, what it
// reads and what reads it.
constexpr const char *script = R"(<script>
const svg = document.querySelector('svg'), tip = document.getElementById('tip');
const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
let view = [0, 0, width, height];
const show = () => svg.setAttribute('viewBox', view.join(' '));
const scale = () => view[2] / svg.clientWidth;
function look(zoom) {
  const w = svg.clientWidth / zoom, h = svg.clientHeight / zoom;
  view = [Math.min(0, (width - w) / 2), Math.min(0, (height - h) / 3), w, h];
  show();
}
const start = () => look(Math.min(Math.max(svg.clientWidth / width, 0.75), 1.6));
const all = () => look(Math.min(svg.clientWidth / width, svg.clientHeight / height, 1.6));
function near(by, clientX, clientY) {
  const box = svg.getBoundingClientRect(), s = scale();
  const x = (clientX - box.left) * s, y = (clientY - box.top) * s;
  view = [view[0] + x * (1 - by), view[1] + y * (1 - by), view[2] * by, view[3] * by];
  show();
}
function middle(by) {
  const b = svg.getBoundingClientRect();
  near(by, b.left + b.width / 2, b.top + b.height / 2);
}
for (const [id, does] of [['all', all], ['in', () => middle(1 / 1.3)], ['out', () => middle(1.3)]])
  document.getElementById(id).addEventListener('click', does);
svg.addEventListener('wheel', event => {
  event.preventDefault();
  near(event.deltaY > 0 ? 1.2 : 1 / 1.2, event.clientX, event.clientY);
}, {passive: false});
const fingers = new Map();
svg.addEventListener('pointerdown', event => fingers.set(event.pointerId, event));
for (const end of ['pointerup', 'pointercancel', 'pointerleave'])
  svg.addEventListener(end, event => fingers.delete(event.pointerId));
svg.addEventListener('pointermove', event => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  fingers.set(event.pointerId, event);
  const s = scale(), other = [...fingers.values()].find(one => one.pointerId !== event.pointerId);
  if (other) {
    const apart = one => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
    near(apart(before) / apart(event), other.clientX, other.clientY);
  } else {
    view[0] -= (event.clientX - before.clientX) * s;
    view[1] -= (event.clientY - before.clientY) * s;
    show();
  }
});
for (const box of document.querySelectorAll('g[id]')) {
  const title = box.querySelector('title'), says = title.textContent;
  title.remove(); // shown at once, and to fingers, too
  box.setAttribute('aria-label', says);
  for (const [name, on] of [['pointerenter', true], ['pointerleave', false]])
    box.addEventListener(name, () => {
      tip.textContent = on ? says : '';
      for (const edge of document.getElementsByClassName(box.id)) edge.classList.toggle('on', on);
    });
}
addEventListener('resize', start);
start();
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
  GraphDrawing drawing = graph_boxes(parts), ours = drawing;
  lay_out(ours);
  drawing.across = ours.across;
  const GraphLayout *layout = LayoutBy::now();
  if (layout == nullptr || !take_layout(drawing, (*layout)(graphviz_request(drawing))))
    drawing = std::move(ours);
  const std::string name = escaped_markup(kernel_name(parts));
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>" +
      name + "</title>\n<style>\n" + style + "</style></head><body>\n<p>The graph of kernel " +
      name +
      ": what each value is made of. All that a frame holds is computed in its loops; "
      "what goes from frame to frame is an array. <button id=\"in\">+</button> "
      "<button id=\"out\">-</button> <button id=\"all\">all</button></p>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
      number(drawing.width) + " " + number(drawing.height) +
      "\" preserveAspectRatio=\"xMidYMin meet\">\n"
      "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
      "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">"
      "<path d=\"M0 0 L8 4 L0 8 z\" style=\"fill: #888; stroke: none; marker-end: none\"/>"
      "</marker></defs>\n";
  for (const GraphFrame &frame : drawing.frames) text += drawn(frame);
  for (const GraphEdge &edge : drawing.edges) text += drawn(edge);
  for (std::size_t b = 0; b < drawing.boxes.size(); ++b) text += drawn(drawing.boxes[b], b);
  return text + "</svg>\n<pre id=\"tip\"></pre>\n" + script + "</body></html>\n";
}

} // namespace broadloom::text
