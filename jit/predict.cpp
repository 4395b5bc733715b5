// See predict.hpp.
#include "jit/predict.hpp"

#include "jit/calibrate.hpp"
#include "jit/shown.hpp"
#include "kernel/overlap.hpp"
#include "plan/predict.hpp"
#include "plan/tasks.hpp"
#include "support/float_control.hpp"

#include <algorithm>
#include <numeric>

namespace broadloom::jit {
namespace {

// Instructions for one that would move a vector of neighbours.
double instructions(block::Move move, int lanes) {
  switch (move) {
  case block::Move::Scalar:
  case block::Move::Row:
  case block::Move::Streamed:
  case block::Move::Stack:
  case block::Move::Slots: return 1;
  case block::Move::Held: return 0;
  case block::Move::Window: return 4;
  case block::Move::Gather:
  case block::Move::Single: return 2 * lanes;
  case block::Move::Transposed: return 5; // a load, and a shuffle for each round
  }
  return 1;
}

class Bodies {
public:
  Bodies(const loop::Program &program, const plan::Binding &binding)
      : program_(program), binding_(binding), runs_(program.loops.size()) {}

  // Of the boxes that take most: those for whole groups.
  void visit(const block::Box &box, int lanes) {
    for (const block::Run &run : box.runs) {
      const block::Box &whole = run.whole();
      const auto extent = binding_.extents[program_[run.loop].axis.index];
      const auto lanes_of = whole.count(block::As::Lanes);
      // Of few positions some lanes hold nothing.
      const int own = lanes_of == 1 || run.takes_inner()
                          ? std::max(lanes, lanes_of)
                          : int(std::clamp<std::int64_t>(extent, 1, lanes_of));
      plan::BodyRun &body = runs_[whole.dims.empty() ? run.loop.index : run.body_of(whole).index];
      body.lanes = own;
      if (run.shape == block::Shape::GroupScan) body.joins = 8; // four distances, by shuffles
      double loads = 0, stores = 0, loaded = 0, stored = 0;
      for (const block::Access &access : whole.accesses) {
        (access.store ? stores : loads) += instructions(access.move, own);
        (access.store ? stored : loaded) += 1;
      }
      if (loaded > 0) body.load = loads / loaded;
      if (stored > 0) body.store = stores / stored;
      visit(whole, own);
    }
  }

  std::vector<plan::BodyRun> take() && { return std::move(runs_); }

private:
  const loop::Program &program_;
  const plan::Binding &binding_;
  std::vector<plan::BodyRun> runs_;
};

std::vector<plan::PhaseRun> phase_runs(const loop::Program &program, const plan::Binding &binding,
                                       const support::Machine &machine) {
  std::vector<plan::PhaseRun> runs(program.phases.size());
  for (std::size_t p = 0; p < runs.size(); ++p) {
    const plan::Grid grid = plan::grid_of(program, p, binding, machine);
    runs[p].threads = int(std::clamp<std::int64_t>(grid.blocks, 1, machine.threads));
    if (const auto pipeline = plan::pipeline_of(program, p, binding, grid)) {
      const int threads = pipeline->on_threads ? machine.threads : 1;
      for (std::size_t k = 0; k < 3; ++k) runs[p + k] = {threads, k > 0};
      p += 2;
    }
  }
  for (const plan::Interleaving &together : binding.interleavings)
    for (std::size_t k = 1; k < together.phases.size(); ++k) runs[together.phases[k]].cached = true;
  return runs;
}

} // namespace

Prediction predict(const loop::Program &program, const block::Program &blocks,
                   const plan::Binding &binding, std::span<const plan::InputMemory> inputs,
                   const support::Machine &machine, const support::Rates &rates) {
  Bodies bodies(program, binding);
  for (const block::Box &phase : blocks.phases) bodies.visit(phase, 1);
  const std::vector<plan::BodyRun> loops = std::move(bodies).take();
  Prediction prediction;
  for (const double ns :
       plan::predict(program, binding, phase_runs(program, binding, machine), loops, inputs, rates))
    prediction.phases.push_back(ns * 1e-9);
  prediction.seconds = rates.call_ns * 1e-9 +
                       std::accumulate(prediction.phases.begin(), prediction.phases.end(), 0.0);
  return prediction;
}

// A window lies in its array, but for copies of what a gather reads.
static std::vector<plan::InputMemory> memory_of(const spec::TypedSpec &typed,
                                                const kernel::Layouts &layouts) {
  std::vector<plan::InputMemory> made;
  for (std::uint32_t i = 0; i < layouts.inputs.size(); ++i) {
    const auto &window = typed.inputs[i].window;
    const bool is_copy = window && (window->is_gather() || window->sum);
    const kernel::Reach reach = kernel::reach_of(layouts.inputs[i], typed.inputs[i].dtype);
    made.push_back(
        {is_copy ? i : std::uint32_t(typed.array_of(i)), double(reach.high - reach.low)});
  }
  return made;
}

static void add(Prediction &all, const Prediction &one) {
  all.seconds += one.seconds;
  all.phases.insert(all.phases.end(), one.phases.begin(), one.phases.end());
}

static Prediction predict_own(const KernelImpl &kernel) {
  const support::FloatWorld world;
  if (fills_output(kernel)) return {};
  const Setup &setup = kernel.setup();
  const Shown shown = native_to_show(kernel);
  Prediction all;
  for (const auto &let : kernel.subs().lets().kernels())
    if (let) add(all, predict(*let));
  add(all, predict(shown.program, shown.pattern->code->blocks(), shown.binding,
                   memory_of(kernel.typed(), shown.layouts), setup.machine(shown.threads),
                   rates_here(*setup.target, setup.threads, setup.options.cache_dir)));
  return all;
}

Prediction predict(const KernelImpl &kernel) {
  if (const auto kernels = latest_kernels(kernel); kernels.back() != &kernel) {
    Prediction all;
    for (const KernelImpl *part : kernels)
      add(all, part == &kernel ? predict_own(kernel) : predict(*part));
    return all;
  }
  return predict_own(kernel);
}

} // namespace broadloom::jit
