// Inside the drawings of graphs: boxes, the frames around them, and where they stand.
//
// Nodes stand in layers, each below all that it reads, in the order of the middles of what they read, and frames below each other. That is no
// optimal drawing, but the same one each time.
#pragma once

#include "text/graph_page.hpp"

namespace broadloom::spec {

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

struct GraphDrawing {
  std::vector<GraphBox> boxes;
  std::vector<GraphFrame> frames;
  double width = 0, height = 0;
};

inline constexpr double graph_line_height = 16, graph_box_height = 42;

// All but the places.
GraphDrawing graph_boxes(std::span<const GraphPart> parts);
void lay_out(GraphDrawing &drawing);

} // namespace broadloom::spec
