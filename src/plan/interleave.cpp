// See interleave.hpp.
#include "plan/interleave.hpp"

#include "plan/cost.hpp"
#include "plan/tasks.hpp"
#include "plan/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

namespace broadloom::plan {
namespace {

using loop::AxisId;
using loop::BufferId;
using loop::Role;
using loop::Stmt;
using loop::StmtKind;
using loop::ValueKind;

class Finder {
public:
  Finder(const loop::Program &program, const Binding &binding, const BlocksOfInput &sizes)
      : program_(program), binding_(binding), sizes_(sizes),
        bytes_(bytes_of_inputs(program, binding)) {
    for (std::size_t p = 0; p < program.phases.size(); ++p) phases_.push_back(look_at(p));
  }

  std::vector<Interleaving> run() const {
    std::vector<Interleaving> found;
    std::vector<bool> taken(phases_.size());
    for (std::size_t first = 0; first < phases_.size(); ++first) {
      if (taken[first] || !phases_[first].may) continue;
      Interleaving together{{first}, 0, 0, {}};
      double bytes = 0;
      std::set<std::uint32_t> stored = phases_[first].stored; // by it, and by all after it
      for (std::size_t p = first + 1; p < phases_.size() && p <= first + most_phases_passed; ++p) {
        const std::optional<std::uint32_t> input =
            taken[p] || needs(p, stored) ? std::nullopt : shared(first, p);
        stored.insert(phases_[p].stored.begin(), phases_[p].stored.end());
        if (!input) continue;
        if (bytes_.at(*input) > bytes) together.input = *input;
        bytes = std::max(bytes, bytes_.at(*input));
        together.phases.push_back(p);
      }
      together.blocks = together.phases.size() > 1 ? blocks(together, bytes) : 0;
      if (together.blocks == 0) continue;
      for (const std::size_t p : together.phases) {
        taken[p] = true;
        together.granules.push_back(phases_[p].granule);
      }
      found.push_back(together);
    }
    return found;
  }

private:
  struct Looked {
    bool may = false;                       // cut along its outermost axis
    std::int64_t extent = 0;                // of that axis
    std::int64_t granule = 1;               // positions of it
    std::set<std::uint32_t> loaded, stored; // scratch arrays
    std::set<std::uint32_t>
        inputs; // gone through from the first part to the last: the blocks are parts of them
  };

  Looked look_at(std::size_t p) const {
    const loop::Phase &phase = program_.phases[p];
    Looked looked;
    std::vector<BufferId> loads;
    follow(phase.body, looked, loads);
    if (phase.parallel.empty() || loop::handing_loop(program_, phase) != nullptr ||
        pipeline_with(program_, p))
      return looked;
    if (p < binding_.cuts.size() && !binding_.cuts[p].empty())
      return looked; // as the schedule asks
    const AxisId outer = phase.parallel.front();
    looked.extent = binding_.extents[outer.index];
    looked.granule = granule_of(0, phase.parallel.size(), vector_axis_of(program_, phase),
                                vector_granule_of(program_, phase));
    looked.may = looked.extent > 0;
    std::set<std::uint32_t> others;
    for (const BufferId id : loads) {
      if (program_[id].role != Role::Input) continue;
      const double step = step_along(id, outer);
      const bool forward = step > 0 && span_inside(id, outer) <= step;
      (forward ? looked.inputs : others).insert(program_[id].operand);
    }
    for (const std::uint32_t other : others) looked.inputs.erase(other);
    return looked;
  }

  void follow(const std::vector<Stmt> &body, Looked &looked, std::vector<BufferId> &loads) const {
    for (const Stmt &s : body) {
      if (s.kind == StmtKind::Loop) follow(program_[s.loop].body, looked, loads);
      if (s.kind == StmtKind::Set && program_[s.buffer].role == Role::Scratch)
        looked.stored.insert(program_[s.buffer].operand);
      if (s.kind != StmtKind::Let || program_[s.value].kind != ValueKind::Load) continue;
      const BufferId id = program_[s.value].buffer;
      loads.push_back(id);
      if (program_[id].role == Role::Scratch) looked.loaded.insert(program_[id].operand);
    }
  }

  std::int64_t stride(BufferId id, AxisId axis) const {
    return binding_.strides[id.index * program_.axes.size() + axis.index];
  }

  // In elements, from one position of the outermost axis to the next. An input does not walk
  // chunks: it walks what they are of.
  double step_along(BufferId id, AxisId outer) const {
    const std::optional<AxisId> whole = program_[outer].chunks_of;
    if (!whole) return double(stride(id, outer));
    return double(stride(id, *whole)) * double(binding_.chunks[whole->index]);
  }

  // From the first to the last element that one position of the outermost axis reaches.
  double span_inside(BufferId id, AxisId outer) const {
    double span = 0;
    for (const loop::Walk &walk : program_[id].walks) {
      if (walk.axis == outer) continue;
      const bool cut = program_[outer].chunks_of == walk.axis;
      const std::int64_t positions =
          cut ? binding_.chunks[walk.axis.index] : binding_.extents[walk.axis.index];
      span += std::abs(double(stride(id, walk.axis))) *
              double(std::max<std::int64_t>(positions - 1, 0));
    }
    return span;
  }

  bool needs(std::size_t p, const std::set<std::uint32_t> &stored) const {
    return std::ranges::any_of(phases_[p].loaded,
                               [&](std::uint32_t array) { return stored.contains(array); });
  }

  // The largest input that both phases may go through.
  std::optional<std::uint32_t> shared(std::size_t first, std::size_t p) const {
    if (!phases_[p].may) return std::nullopt;
    std::optional<std::uint32_t> largest;
    double bytes = 0;
    for (const std::uint32_t input : phases_[p].inputs) {
      if (!phases_[first].inputs.contains(input)) continue;
      const double own = bytes_.at(input);
      if (own < sizes_.least_input || own <= bytes) continue;
      largest = input;
      bytes = own;
    }
    return largest;
  }

  // 0: they are not worth it, or too few for the threads, or too large for the caches.
  std::int64_t blocks(const Interleaving &together, double bytes) const {
    std::int64_t most = 0;
    for (const std::size_t p : together.phases) {
      const std::int64_t own = phases_[p].extent / phases_[p].granule;
      most = p == together.phases.front() ? own : std::min(most, own);
    }
    const std::int64_t count =
        std::min(most, std::max(sizes_.fewest, std::int64_t(std::ceil(bytes / sizes_.block))));
    return count < sizes_.fewest || bytes / double(count) > sizes_.most_block ? 0 : count;
  }

  const loop::Program &program_;
  const Binding &binding_;
  const BlocksOfInput &sizes_;
  const std::map<std::uint32_t, double> bytes_; // of the inputs
  std::vector<Looked> phases_;
};

} // namespace

BlocksOfInput blocks_of_input(const Machine &machine) {
  const auto own = double(machine.own_caches), all = double(machine.last_level_cache);
  const std::int64_t threads = std::max(machine.threads, 1);
  return {own, own / 2, std::max(own / 2, all / 4 / double(threads)),
          threads == 1 ? 2 : threads * tasks_per_thread};
}

std::vector<Interleaving> find_interleavings(const loop::Program &program, const Binding &binding,
                                             const BlocksOfInput &sizes) {
  return Finder(program, binding, sizes).run();
}

} // namespace broadloom::plan
