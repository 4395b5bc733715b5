// Inside the drawings of graphs: boxes, the frames around them, and where they stand.
//
// Casts, numbers and extents have no boxes: they stand in the labels of what reads them.
//
// By ourselves boxes stand in layers, each below or to the right of all that it reads, whichever a
// wide window shows larger. They are in the order of the middles of what they read, and frames are
// below each other. Such a drawing is not optimal, but the same one each time. Graphviz finds a
// better one where it is at hand.
#pragma once

#include "text/graph_page.hpp"

namespace broadloom::text {

struct GraphBox {
  std::string title, type, hint;
  std::string kind;               // of its colour
  std::vector<std::size_t> reads; // boxes
  std::string array;              // an input: the let that it is; an output: its name
  std::size_t layer = 0;
  double x = 0, y = 0, width = 0;
};

struct GraphFrame {
  std::vector<std::string> lines; // what it is, and how it runs
  std::vector<std::size_t> boxes; // of all of them
  double x = 0, y = 0, width = 0, height = 0;
};

struct GraphPoint {
  double x = 0, y = 0;
};

// From a box that is read to its reader: a point, and three more for each cubic Bezier curve.
struct GraphEdge {
  std::size_t from = 0, to = 0;
  std::vector<GraphPoint> points;
};

struct GraphDrawing {
  std::vector<GraphBox> boxes;
  std::vector<GraphFrame> frames;
  std::vector<GraphEdge> edges;
  double width = 0, height = 0;
  bool across = false; // what is read stands to the left of its reader, and else above
};

inline constexpr double graph_line_height = 16, graph_box_height = 42, graph_letter_width = 7.3,
                        graph_margin = 20;

// All but the places: with the sizes of boxes.
GraphDrawing graph_boxes(std::span<const GraphPart> parts);
void lay_out(GraphDrawing &drawing);

// The boxes in Graphviz's language, with their sizes and nothing that a user has written; and the
// layout that `dot -Tplain -Tdot` made of that. False where the answer is no such text: the drawing
// is then as it was.
std::string graphviz_request(const GraphDrawing &drawing);
bool take_layout(GraphDrawing &drawing, std::string_view answer);

} // namespace broadloom::text
