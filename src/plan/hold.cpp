// See hold.hpp. Costs are in rough cycles of one core.
#include "plan/hold.hpp"

#include "plan/cost.hpp"
#include "plan/thresholds.hpp"
#include "support/min_cut.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace broadloom::plan {
namespace {

using expr::NodeId;
using expr::NodeKind;
using support::MinCut;

struct HoldChoice {
  std::vector<Held> held;
  double again_cycles = 0; // of what is computed more often than it has positions, nevertheless
  double cut_cycles = 0;   // of the cheapest way
};

class Chooser {
public:
  Chooser(const Request &request, const Trees &trees, const std::vector<Use> &uses,
          const Machine &machine)
      : request_(request), trees_(trees), uses_(uses), machine_(machine),
        positions_(request.spec.graph.size()), turns_(request.spec.graph.size(), 0),
        is_held_(request.spec.graph.size(), false) {}

  // Of many uses a part at a time, in the order of dependence: what one part holds the next ones
  // read.
  HoldChoice run() {
    HoldChoice all;
    for (std::size_t first = 0; first < uses_.size(); first += most_uses_to_cut) {
      HoldChoice part = run(first, std::min(uses_.size(), first + most_uses_to_cut));
      for (Held &held : part.held) {
        is_held_[held.value.index] = true;
        all.held.push_back(std::move(held));
      }
      all.again_cycles += part.again_cycles;
      all.cut_cycles += part.cut_cycles;
    }
    return all;
  }

private:
  enum class Mark { None, Keep, Recompute };

  HoldChoice run(std::size_t first, std::size_t end) {
    follow_uses(first, end);
    if (reached_.size() > most_nodes_to_cut) return {};
    note_marks();
    double all_again = 0;
    for (NodeId id : reached_) all_again += excess(id);
    if (all_again == 0 && request_.spec.marks.empty()) return {};

    const std::size_t source = 2 * reached_.size(), sink = source + 1;
    MinCut graph(sink + 1);
    for (std::size_t k = 0; k < reached_.size(); ++k) {
      const NodeId id = reached_[k];
      const Mark mark = mark_of(id);
      graph.add_edge(needed(k), computed(k), mark == Mark::Keep ? 0 : hold_cost(id, mark));
      graph.add_edge(computed(k), sink, mark == Mark::Keep ? MinCut::uncuttable : excess(id));
      if (is_read_directly_[id.index]) graph.add_edge(source, needed(k), MinCut::uncuttable);
      if (!is_leaf(id))
        for (NodeId arg : request_.spec.graph.operands(id))
          graph.add_edge(computed(k), needed(place_[arg.index]), MinCut::uncuttable);
    }
    const double cost = graph.cut(source, sink);
    const bool pays =
        all_again >= cost * least_gain && all_again - cost >= least_phases_gained * phase_cycles;
    HoldChoice chosen;
    double again = 0;
    for (std::size_t k = 0; k < reached_.size(); ++k) {
      const bool cut = graph.with_source(needed(k)) && !graph.with_source(computed(k));
      const bool wished = mark_of(reached_[k]) == Mark::Keep;
      if (cut && (wished || pays))
        chosen.held.push_back(describe(reached_[k], wished));
      else if (graph.with_source(computed(k)) || !pays)
        again += excess(reached_[k]);
    }
    chosen.again_cycles = again;
    chosen.cut_cycles = cost;
    return chosen;
  }

  static std::size_t needed(std::size_t k) { return 2 * k; }
  static std::size_t computed(std::size_t k) { return 2 * k + 1; }

  bool is_leaf(NodeId id) const { return trees_.is_fold(id) || is_held_[id.index]; }

  // Uses with the same loops in the same wave may well share them, and then their values, too: they
  // count once.
  void follow_uses(std::size_t first, std::size_t end) {
    reached_.clear();
    std::ranges::fill(turns_, 0);
    is_read_directly_.assign(request_.spec.graph.size(), false);
    place_.assign(request_.spec.graph.size(), 0);
    users_.assign(request_.spec.graph.size(), 0);
    std::vector<std::size_t> seen_by(request_.spec.graph.size(), end);
    std::map<std::pair<std::vector<Group>, int>, std::vector<bool>> counted;
    for (std::size_t u = first; u < end; ++u) {
      std::vector<bool> &counts =
          counted.try_emplace({uses_[u].loops, uses_[u].wave}, request_.spec.graph.size(), false)
              .first->second;
      std::vector<NodeId> work = uses_[u].roots;
      for (NodeId root : work) is_read_directly_[root.index] = true;
      while (!work.empty()) {
        const NodeId id = work.back();
        work.pop_back();
        if (std::exchange(seen_by[id.index], u) == u) continue;
        if (!counts[id.index]) {
          counts[id.index] = true;
          turns_[id.index] += LoopCount(request_, trees_, id).turns(uses_[u].loops);
          ++users_[id.index];
        }
        if (is_leaf(id)) continue;
        for (NodeId arg : request_.spec.graph.operands(id)) work.push_back(arg);
      }
    }
    for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n) {
      if (users_[n] == 0) continue;
      place_[n] = reached_.size();
      reached_.push_back(NodeId{n});
      positions_[n] = LoopCount(request_, trees_, NodeId{n}).positions();
    }
  }

  double excess(NodeId id) const {
    const expr::Node &node = request_.spec.graph[id];
    if ((node.kind != NodeKind::Op && node.kind != NodeKind::Cast) || is_held_[id.index]) return 0;
    const double cost = node.kind == NodeKind::Op ? ops::info(node.op).cost : load_cost;
    return cost / cost_per_cycle * std::max(0.0, turns_[id.index] - positions_[id.index]);
  }

  bool can_be_held(NodeId id) const {
    const NodeKind kind = request_.spec.graph[id].kind;
    return (kind == NodeKind::Op || kind == NodeKind::Cast) && !is_held_[id.index] &&
           !trees_.classes_of(id).empty() && positions_[id.index] > 0;
  }

  double bytes(NodeId id) const {
    return positions_[id.index] * double(size_of(request_.spec.graph[id].dtype));
  }

  double hold_cost(NodeId id, Mark mark) const {
    // Never an array beyond the size of what is read and written anyway.
    if (!can_be_held(id) || mark == Mark::Recompute || bytes(id) > largest_operand())
      return MinCut::uncuttable;
    return held_cycles(id);
  }

  double held_cycles(NodeId id) const {
    // In a call that goes in tiles its rows come and go with those of the operands that are near.
    const bool far =
        request_.near == 0 && bytes(id) > double(machine_.last_level_cache) * near_share;
    return phase_cycles + 2 * bytes(id) * (far ? far_cycles_per_byte : cycles_per_byte) +
           turns_[id.index] * load_cost / cost_per_cycle;
  }

  double largest_operand() const {
    double largest = 0;
    const auto consider = [&](const auto &classes, DType dtype) {
      double size = double(size_of(dtype));
      for (const std::optional<ClassId> c : classes)
        if (c) size *= double(request_.resolved[*c].extent);
      largest = std::max(largest, size);
    };
    for (std::size_t i = 0; i < request_.spec.inputs.size(); ++i)
      consider(request_.resolved.input_classes[i], request_.spec.inputs[i].dtype);
    for (std::size_t o = 0; o < request_.spec.outputs.size(); ++o)
      consider(request_.resolved.output_classes[o], request_.spec.outputs[o].dtype);
    return largest;
  }

  void note_marks() {
    for (const spec::Mark &mark : request_.spec.marks)
      if (mark.at) marks_[mark.value.index] = Mark::Recompute; // other loops compute it anew
    for (const spec::Mark &mark : request_.spec.marks)
      // A value that one use reads, once for each position, is at hand there anyway.
      if (mark.keep && !mark.at && can_be_held(mark.value) &&
          (users_[mark.value.index] > 1 || excess(mark.value) > 0))
        marks_[mark.value.index] = Mark::Keep;
    const std::vector<bool> again = computed_again(request_.spec, trees_);
    for (std::uint32_t n = 0; n < again.size(); ++n)
      if (again[n]) marks_.emplace(n, Mark::Recompute);
  }

  Mark mark_of(NodeId id) const {
    const auto found = marks_.find(id.index);
    return found == marks_.end() || is_held_[id.index] ? Mark::None : found->second;
  }

  bool by_schedule(NodeId id) const {
    return std::ranges::any_of(request_.spec.marks, [&](const spec::Mark &mark) {
      return mark.value == id && mark.by_schedule;
    });
  }

  Held describe(NodeId id, bool wished) const {
    Held held{id, {}, Decision()};
    const std::string axes = support::joined(trees_.classes_of(id),
                                             [&](ClassId c) { return request_.resolved[c].name; });
    const std::string text = fmt::format(
        "a value over {} in {} ({:.3g} bytes) is held in memory: {}", axes,
        name(request_.spec.graph[id].dtype), bytes(id),
        wished ? (by_schedule(id) ? "the schedule asks for it" : "keep() says so")
               : fmt::format("it would be computed {:.3g} times, of which {:.3g} are enough",
                             turns_[id.index], positions_[id.index]));
    held.why = support::decide(
        wished ? support::Reason::KeepAsked : support::Reason::ComputedTooOften,
        fmt::format("a value over {}", axes), "held in memory", text,
        {{"computed where it is needed",
          fmt::format("{:.3g} times, of which {:.3g} are enough", turns_[id.index],
                      positions_[id.index]),
          {.cycles = excess(id)}}},
        {.bytes = 2 * bytes(id), .cycles = wished ? std::nullopt : std::optional(held_cycles(id))});
    return held;
  }

  const Request &request_;
  const Trees &trees_;
  const std::vector<Use> &uses_;
  const Machine &machine_;
  std::vector<double> positions_, turns_;         // [node]; turns: of all uses together
  std::vector<int> users_;                        // [node]: uses that reach it
  std::vector<bool> is_read_directly_;            // [node]
  std::vector<std::size_t> place_;                // [node]: in reached_
  std::unordered_map<std::uint32_t, Mark> marks_; // [node]
  std::vector<NodeId> reached_;                   // arguments before their users
  std::vector<bool> is_held_;                     // [node]: by an earlier part
};

// The array lies as its own loops go; loops that merge axes must find them merged in it.
bool can_be_walked(const Held &held, const std::vector<Use> &uses, const Trees &trees) {
  std::vector<ClassId> classes;
  for (const Group &group :
       trees.kept_groups(trees.component_of(held.value), trees.classes_of(held.value)))
    classes.insert(classes.end(), group.begin(), group.end());
  const auto place = [&](ClassId c) { return std::find(classes.begin(), classes.end(), c); };
  for (const Use &use : uses)
    for (const Group &group : use.loops)
      for (std::size_t k = 1; k < group.size(); ++k) {
        const bool outer = place(group[k - 1]) != classes.end(),
                   inner = place(group[k]) != classes.end();
        if (outer != inner || (outer && place(group[k - 1]) + 1 != place(group[k]))) return false;
      }
  return true;
}

Decision explain_again(const Request &request, const HoldChoice &chosen) {
  const bool asked = std::any_of(request.spec.marks.begin(), request.spec.marks.end(),
                                 [](const spec::Mark &mark) { return !mark.keep; });
  return support::decide(
      support::Reason::RecomputeCheaper, "values", "computed where they are needed",
      fmt::format("values are computed again where they are needed, for {:.3g} cycles: {}",
                  chosen.again_cycles,
                  asked ? "recompute() says so, or it is cheaper" : "it is cheaper"),
      {{"held in memory", "traffic and a phase more", {.cycles = chosen.cut_cycles}}},
      {.cycles = chosen.again_cycles});
}

} // namespace

std::vector<bool> computed_again(const spec::TypedSpec &spec, const Trees &trees) {
  std::vector<bool> again(spec.graph.size());
  std::vector<NodeId> work;
  for (const spec::Mark &mark : spec.marks)
    if (!mark.keep) work.push_back(mark.value);
  const auto is_kept = [&](NodeId id) {
    return std::any_of(spec.marks.begin(), spec.marks.end(),
                       [&](const spec::Mark &mark) { return mark.keep && mark.value == id; });
  };
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    if (again[id.index] || trees.is_fold(id) || is_kept(id)) continue;
    again[id.index] = true;
    for (NodeId arg : spec.graph.operands(id)) work.push_back(arg);
  }
  return again;
}

Holds no_holds(const Request &request, const Trees &trees) {
  Holds holds;
  for (const NodeId fold : trees.folds()) holds.use_of_fold.emplace(fold, 0);
  holds.use_of_output.assign(request.spec.outputs.size(), 0);
  return holds;
}

Holds choose_holds(const Request &request, const Trees &trees, const LoopsOfFolds &sweeps,
                   const Machine &machine, Why &why) {
  Holds holds;
  std::vector<Use> uses;
  Waves waves(request, trees, holds, uses);
  for (const NodeId fold : trees.folds()) {
    const auto args = request.spec.graph.args(fold);
    const Trees::Tree &tree = trees.tree_of(fold);
    std::vector<Group> loops = tree.kept;
    loops.insert(loops.end(), tree.folded.begin(), tree.folded.end());
    if (const auto nest = sweeps.find(fold); nest != sweeps.end()) loops = nest->second;
    holds.use_of_fold.emplace(fold, uses.size());
    const int wave = waves.of(args, loops);
    uses.push_back({{args.begin(), args.end()}, std::move(loops), wave});
  }
  for (std::size_t k = 0; k < request.spec.outputs.size(); ++k) {
    holds.use_of_output.push_back(uses.size());
    if (!request.wanted[k]) continue;
    const NodeId value = request.spec.outputs[k].addend;
    std::vector<Group> loops = trees.output_groups(k);
    const int wave = waves.of({&value, 1}, loops);
    uses.push_back({{value}, std::move(loops), wave});
  }
  HoldChoice chosen = Chooser(request, trees, uses, machine).run();
  for (Held &held : chosen.held)
    if (can_be_walked(held, uses, trees)) holds.values.push_back(std::move(held));
  std::ranges::sort(holds.values, {}, &Held::value);
  find_waits(holds, uses, request, trees, waves);
  if (chosen.again_cycles > 0) why.add([&] { return explain_again(request, chosen); });
  return holds;
}

} // namespace broadloom::plan
