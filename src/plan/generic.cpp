// See generic.hpp.
#include "plan/generic.hpp"

#include <fmt/format.h>

namespace broadloom::plan {

Request make_generic(Request request) {
  Fillers fillers;
  const std::size_t axes = request.spec.axes.size();
  for (std::size_t k = 0; k < 2 * axes; ++k) {
    (k < axes ? fillers.kept : fillers.folded)
        .push_back({std::uint32_t(request.resolved.classes.size())});
    request.resolved.classes.push_back({fmt::format("one{}", k + 1), 1, std::nullopt});
  }
  request.generic = std::move(fillers);
  return request;
}

namespace {

// [node]: whether it reads the result of a fold.
std::vector<bool> reads_folds(const expr::Graph &graph) {
  std::vector<bool> reads(graph.size());
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    for (const expr::NodeId arg : graph.operands(expr::NodeId{n}))
      if (reads[arg.index] || graph[arg].kind == expr::NodeKind::Fold) reads[n] = true;
  return reads;
}

} // namespace

bool has_generic(const spec::TypedSpec &spec) {
  if (!spec.wishes.empty() || !spec.pairings.empty()) return false;
  const std::vector<bool> reads = reads_folds(spec.graph);
  for (const expr::NodeId id : spec.graph.ids()) {
    const expr::Node &node = spec.graph[id];
    switch (node.kind) {
    case expr::NodeKind::Scan:
    case expr::NodeKind::Index: return false;
    case expr::NodeKind::Fold:
      if (!spec.graph.recipe(id).has_combine()) return false;
      if (reads[id.index] && (node.folded.size() > 1 || node.like.given())) return false;
      break;
    case expr::NodeKind::Input:
    case expr::NodeKind::Literal:
    case expr::NodeKind::Op:
    case expr::NodeKind::Cast:
    case expr::NodeKind::Expand:
    case expr::NodeKind::Extent: break;
    }
  }
  return true;
}

} // namespace broadloom::plan
