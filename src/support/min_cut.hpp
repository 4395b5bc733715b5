// The cheapest set of edges that separates two vertices of a directed graph.
//
// Dinic's algorithm (E. A. Dinic, Soviet Math. Doklady 11, 1970): shortest augmenting paths, all of
// one length in one pass. No recursion.
#pragma once

#include <cstdint>
#include <vector>

namespace broadloom::support {

class MinCut {
public:
  explicit MinCut(std::size_t vertices) : edges_of_(vertices) {}

  static constexpr double uncuttable = 1e300;
  void add_edge(std::size_t from, std::size_t to, double cost);

  // Cuts `source` off from `sink`. Gives the cost; then `with_source` tells the sides.
  double cut(std::size_t source, std::size_t sink);
  bool with_source(std::size_t vertex) const { return distance_[vertex] >= 0; }

private:
  struct Edge {
    std::size_t to;
    double room; // its twin, the edge back, is at index ^ 1
  };
  void measure(std::size_t source);
  double push(std::size_t source, std::size_t sink);

  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<int> distance_;      // from the source along edges with room; -1: not reached
  std::vector<std::size_t> tried_; // [vertex]: edges that lead nowhere in this pass
};

} // namespace broadloom::support
