// See min_cut.hpp.
#include "support/min_cut.hpp"

#include <algorithm>

namespace broadloom::support {
namespace {
constexpr double nothing = 1e-9; // rounding of sums of costs
}

void MinCut::add_edge(std::size_t from, std::size_t to, double cost) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, cost});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

double MinCut::cut(std::size_t source, std::size_t sink) {
  double total = 0;
  for (;;) {
    measure(source);
    if (distance_[sink] < 0) return total;
    tried_.assign(edges_of_.size(), 0);
    while (const double pushed = push(source, sink)) total += pushed;
  }
}

void MinCut::measure(std::size_t source) {
  distance_.assign(edges_of_.size(), -1);
  distance_[source] = 0;
  std::vector<std::size_t> reached{source};
  for (std::size_t k = 0; k < reached.size(); ++k)
    for (std::size_t e : edges_of_[reached[k]]) {
      const Edge &edge = edges_[e];
      if (edge.room <= nothing || distance_[edge.to] >= 0) continue;
      distance_[edge.to] = distance_[reached[k]] + 1;
      reached.push_back(edge.to);
    }
}

// One path of shortest length from source to sink, filled as far as it goes; 0 where there is none
// left.
double MinCut::push(std::size_t source, std::size_t sink) {
  std::vector<std::size_t> path;
  std::size_t at = source;
  while (at != sink) {
    bool stepped = false;
    for (; tried_[at] < edges_of_[at].size(); ++tried_[at]) {
      const std::size_t e = edges_of_[at][tried_[at]];
      if (edges_[e].room <= nothing || distance_[edges_[e].to] != distance_[at] + 1) continue;
      path.push_back(e);
      at = edges_[e].to;
      stepped = true;
      break;
    }
    if (stepped) continue;
    if (path.empty()) return 0;
    at = edges_[path.back() ^ 1].to; // a dead end: back, and never again
    path.pop_back();
    ++tried_[at];
  }
  double most = uncuttable;
  for (std::size_t e : path) most = std::min(most, edges_[e].room);
  for (std::size_t e : path) {
    edges_[e].room -= most;
    edges_[e ^ 1].room += most;
  }
  return most;
}

} // namespace broadloom::support
