// Lowering, the reasons: what shows once the whole program is there.
#include "plan/lowering.hpp"

#include "plan/explain.hpp"
#include "plan/tasks.hpp"
#include "plan/wishes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::plan {

using support::decide;
using support::Reason;

// "i, j": the loops of a phase, outermost first, down to where it branches.
std::string Lowering::nest_of_phase(std::size_t phase) const {
  std::string names;
  const TreeNode *node = &nests_[nests_.phases[phase].root];
  for (;;) {
    const TreeNode *next = nullptr;
    for (const Entry &entry : node->body)
      if (entry.kind == Entry::Kind::Loop && next == nullptr) next = &nests_[entry.loop];
    if (next == nullptr) return names;
    if (has_positions(next->key.kind))
      names += (names.empty() ? "" : ", ") + group_name(request_.resolved, next->key.group);
    node = next;
  }
}

// One sweep over the data serves all that can share its loops; what cannot pays for another.
void Lowering::explain_sweeps() {
  for (std::size_t i = 0; i < sweeps_.size(); ++i) {
    double bytes = double(size_of(request_.spec.inputs[i].dtype));
    for (const Step &step : request_.walks.own_steps(i))
      bytes *= double(request_.resolved[step.cls].extent);
    for (std::size_t k = 1; k < sweeps_[i].size(); ++k) {
      const std::size_t before = sweeps_[i][k - 1], phase = sweeps_[i][k];
      if (runs_with(phase, before)) {
        plan_.why.push_back(decide(
            Reason::ReadInBlocks,
            fmt::format("{} in phase {}", request_.spec.inputs[i].name, phase),
            "read again from the caches",
            fmt::format("phase {} reads '{}' again, block by block while it is in the caches",
                        phase, request_.spec.inputs[i].name),
            {{"from memory", "its blocks would have left the caches", {.bytes = bytes}}},
            {.bytes = 0}));
        continue;
      }
      bool waits = false;
      for (const Item &item : nests_.items)
        for (ItemId need : item.needs)
          waits = waits || (item.is_in(phase) && nests_[need].place->phase < phase);
      const std::string reason =
          waits
              ? "it needs results of an earlier one"
              : fmt::format("its loops are {} and not {}, and one sweep for both would keep a row "
                            "of partial results for every thread",
                            nest_of_phase(phase), nest_of_phase(before));
      plan_.why.push_back(
          decide(waits ? Reason::WaitsForResults : Reason::LoopsDiffer,
                 fmt::format("{} in phase {}", request_.spec.inputs[i].name, phase), "read again",
                 fmt::format("phase {} reads '{}' again ({:.3g} bytes): {}", phase,
                             request_.spec.inputs[i].name, bytes, reason),
                 {{fmt::format("one sweep with phase {}", before), reason, {.bytes = 0}}},
                 {.bytes = bytes}));
    }
    if (sweeps_[i].size() == 1)
      plan_.why.push_back(decide(Reason::OneSweep, request_.spec.inputs[i].name, "read once",
                                 fmt::format("'{}' is read in phase {} only",
                                             request_.spec.inputs[i].name, sweeps_[i].front()),
                                 {}, {.bytes = bytes}));
  }
}

// Whether each block of a phase runs right after one of an earlier phase, in a pipeline or
// interleaved.
bool Lowering::runs_with(std::size_t phase, std::size_t before) const {
  if (const auto first = pipeline_with(plan_.program, phase)) return *first <= before;
  return std::ranges::any_of(plan_.binding.interleavings, [&](const Interleaving &together) {
    return std::ranges::count(together.phases, before) > 0 &&
           std::ranges::count(together.phases, phase) > 0;
  });
}

void Lowering::explain() {
  if (!request_.generic) explain_sweeps();
  const std::vector<Cost> costs = phase_costs(plan_.program, plan_.binding);
  for (std::size_t p = 0; p < plan_.program.phases.size(); ++p) {
    std::string axes;
    const loop::Phase &phase = plan_.program.phases[p];
    for (AxisId axis : phase.parallel)
      if (loop::handing_loop(plan_.program, phase) == nullptr)
        axes += (axes.empty() ? "" : ", ") + plan_.program[axis].name;
    if (const auto first = pipeline_with(plan_.program, p); first && axes.empty()) {
      plan_.why.push_back(decide(
          Reason::HandsOn, fmt::format("phase {}", p), "in a pipeline",
          fmt::format("{}: each block of {} hands its states on to the next, between its phases {} "
                      "and {}",
                      p, plan_.program[phase.parallel.front()].name, *first, *first + 2),
          {}, costs[p]));
      continue;
    }
    plan_.why.push_back(
        decide(axes.empty() ? Reason::RunsOnce : Reason::ParallelAxes, fmt::format("phase {}", p),
               axes.empty() ? "serial" : "parallel over " + axes,
               fmt::format("{}: {}", p,
                           axes.empty() ? "runs once, on one thread" : "parallel over " + axes),
               {}, costs[p]));
  }
  if (request_.generic) return; // nothing else was chosen
  for (const auto &[input, reason] : reading_)
    plan_.why.push_back(
        explain_reading(request_.spec.inputs[input].name, reason, schedule_.reads[input].bytes));
  for (const loop::Buffer &buffer : plan_.program.buffers)
    if (buffer.role == Role::Output)
      plan_.why.push_back(explain_streaming(buffer, schedule_.stores[buffer.operand].reason,
                                            schedule_.stores[buffer.operand].bytes,
                                            request_.spec.wishes.stores[buffer.operand]));
  for (std::size_t s = 0; s < plan_.binding.scratch_bytes.size(); ++s)
    plan_.why.push_back(decide(
        Reason::BetweenPhases, fmt::format("s{}", s), "scratch memory",
        fmt::format("s{}: {} bytes hold results between phases", s, plan_.binding.scratch_bytes[s]),
        {}, {.bytes = double(plan_.binding.scratch_bytes[s])}));
  explain_wishes(request_, schedule_, plan_.program, group_of_axis_, plan_.why);
}

} // namespace broadloom::plan
