// See waves.hpp.
#include "plan/waves.hpp"

#include <algorithm>
#include <utility>

namespace broadloom::plan {

using expr::NodeId;

bool Holds::waits(std::size_t use, NodeId value) const {
  return std::any_of(values.begin(), values.end(),
                     [&](const Held &held) { return held.value == value && held.waits[use]; });
}

double LoopCount::positions() const {
  double all = 1;
  for (const ClassId c : classes_) all *= double(resolved_[c].extent);
  return all;
}

double LoopCount::turns(const std::vector<Group> &loops) const {
  double all = 1, result = 1;
  for (const Group &group : loops) {
    all *= double(group_extent(resolved_, group));
    const bool moves = std::any_of(group.begin(), group.end(), [&](ClassId c) {
      return std::count(classes_.begin(), classes_.end(), c) > 0;
    });
    if (moves) result = all;
  }
  return result;
}

int Waves::of(std::span<const NodeId> roots, const std::vector<Group> &loops) {
  std::vector<int> &known = known_.try_emplace(loops, graph_.size(), -1).first->second;
  std::vector<NodeId> work(roots.begin(), roots.end());
  while (!work.empty()) {
    const NodeId id = work.back();
    if (known[id.index] >= 0) {
      work.pop_back();
      continue;
    }
    int wave = 0;
    bool ready = true;
    if (trees_.is_fold(id)) {
      wave = uses_[holds_.use_of_fold.at(id)].wave + (ends_inside(id, loops) ? 0 : 1);
    } else {
      for (const NodeId arg : graph_.operands(id)) {
        wave = std::max(wave, known[arg.index]);
        if (known[arg.index] < 0) work.push_back(arg), ready = false;
      }
    }
    if (!ready) continue;
    known[id.index] = wave;
    work.pop_back();
  }
  int wave = 0;
  for (const NodeId root : roots) wave = std::max(wave, known[root.index]);
  return wave;
}

// The loops in which the fold is kept are the outermost ones of its reader.
bool Waves::ends_inside(NodeId fold, const std::vector<Group> &loops) const {
  const std::vector<Group> &kept = trees_.tree_of(fold).kept;
  return !kept.empty() && kept.size() <= loops.size() &&
         std::equal(kept.begin(), kept.end(), loops.begin());
}

void find_waits(Holds &holds, const std::vector<Use> &uses, const Request &request,
                const Trees &trees, Waves &waves) {
  std::vector<int> held_at(request.spec.graph.size(), -1);
  std::vector<int> wave_of;
  for (std::size_t k = 0; k < holds.values.size(); ++k) {
    Held &held = holds.values[k];
    held_at[held.value.index] = int(k);
    held.waits.assign(uses.size(), false);
    const std::vector<Group> loops =
        trees.kept_groups(trees.component_of(held.value), trees.classes_of(held.value));
    wave_of.push_back(waves.of({&held.value, 1}, loops));
  }
  std::vector<std::size_t> seen_by(request.spec.graph.size(), uses.size());
  for (std::size_t u = 0; u < uses.size(); ++u) {
    std::vector<NodeId> work = uses[u].roots;
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      if (std::exchange(seen_by[id.index], u) == u || trees.is_fold(id)) continue;
      if (const int k = held_at[id.index]; k >= 0) {
        Held &held = holds.values[std::size_t(k)];
        const LoopCount count(request, trees, id);
        held.waits[u] = wave_of[std::size_t(k)] < uses[u].wave ||
                        count.turns(uses[u].loops) > count.positions();
        if (held.waits[u]) continue;
      }
      for (NodeId arg : request.spec.graph.operands(id)) work.push_back(arg);
    }
  }
}

} // namespace broadloom::plan
