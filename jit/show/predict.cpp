// See predict.hpp.
#include "jit/show/predict.hpp"

#include "jit/call/call_plan.hpp"
#include "jit/show/calibrate.hpp"
#include "jit/show/shown.hpp"
#include "kernel/overlap.hpp"
#include "plan/predict.hpp"
#include "plan/tasks.hpp"
#include "support/float_control.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace broadloom::jit {
namespace {

// Instructions for one that would move a vector of neighbours.
double instructions(block::Move move, int lanes) {
  switch (move) {
  case block::Move::Scalar:
  case block::Move::Row:
  case block::Move::Streamed:
  case block::Move::Stack:
  case block::Move::Slots:
  case block::Move::Wide: return 1;
  case block::Move::Held: return 0;
  case block::Move::Strided: return 4;
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
                   const plan::Binding &binding, const plan::OperandMemory &memory,
                   const support::Machine &machine, const support::Rates &rates) {
  Bodies bodies(program, binding);
  for (const block::Box &phase : blocks.phases) bodies.visit(phase, 1);
  const std::vector<plan::BodyRun> loops = std::move(bodies).take();
  Prediction prediction;
  for (const double ns :
       plan::predict(program, binding, phase_runs(program, binding, machine), loops, memory, rates))
    prediction.phases.push_back(ns * 1e-9);
  prediction.seconds = rates.call_ns * 1e-9 +
                       std::accumulate(prediction.phases.begin(), prediction.phases.end(), 0.0);
  return prediction;
}

namespace {

// A window lies in its array, but for copies of what a gather reads.
std::vector<plan::InputMemory> memory_of(const spec::TypedSpec &typed,
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

void add(Prediction &all, const Prediction &one, double times = 1) {
  all.seconds += times * one.seconds;
  for (const double phase : one.phases) all.phases.push_back(times * phase);
}

// The steps of a call, as the plan has them.
class StepPredictor {
public:
  StepPredictor(const Setup &setup, const CallPlan &plan)
      : setup_(setup), plan_(plan),
        rates_(rates_here(*setup_.target, setup_.threads, setup_.options.cache_dir)) {}

  Prediction of(const std::vector<Action> &actions, std::int64_t turns = 1) const {
    Prediction all;
    for (const Action &action : actions)
      add(all, std::visit([&](const auto &step) { return of(step, turns); }, action));
    return all;
  }

private:
  template <class Other> Prediction of(const Other &, std::int64_t) const { return {}; }

  Prediction of(const act::Run &run, std::int64_t) const { return of_nest(run, {}); }

  Prediction of_nest(const act::Run &run, const std::vector<bool> &near,
                     bool near_output = false) const {
    std::vector<AnyView> views;
    for (const MemRef &operand : run.operands) views.push_back(operand.view);
    const std::shared_ptr<const Specialisation> special =
        run.nest->bind(pointers_to(run.operands, views), {run.lies}, Use::Ready);
    if (special->pattern == nullptr || !special->pattern->code)
      fail_without_code(*run.nest, special->engine,
                        special->pattern == nullptr ? special->failure : special->pattern->no_code);
    std::vector<plan::InputMemory> inputs = memory_of(run.nest->typed(), special->layouts);
    for (std::size_t i = 0; i < inputs.size() && i < near.size(); ++i) inputs[i].near = near[i];
    return predict(special->pattern->program, special->pattern->code->blocks(), special->binding,
                   {inputs, near_output}, run.nest->setup().machine(special->threads), rates_);
  }

  // Rows of lets stay near. Tiles that overlap compute some of them more than once.
  Prediction of(const act::InTiles &in_tiles, std::int64_t) const {
    const Tiles &tiles = plan_.tiles[in_tiles.number];
    std::set<std::int32_t> near;
    for (const Tiles::Array &array : tiles.arrays) {
      near.insert(std::int32_t(array.number));
      if (array.border) near.insert(array.border->copy.array);
    }
    struct Rows {
      std::int64_t computed = 0, first = std::numeric_limits<std::int64_t>::max(), end = 0;
    };
    std::vector<Rows> rows(tiles.nests.size());
    for (const std::vector<Tiles::Piece> &task : tiles.tasks)
      for (const Tiles::Piece &piece : task)
        if (!piece.is_border) {
          Rows &own = rows[piece.nest];
          own.computed += piece.end - piece.begin;
          own.first = std::min(own.first, piece.begin);
          own.end = std::max(own.end, piece.end);
        }
    Prediction all;
    for (std::size_t n = 0; n < tiles.nests.size(); ++n) {
      const Tiles::Nest &nest = tiles.nests[n];
      std::vector<bool> is_near;
      for (const MemRef &operand : nest.run.operands)
        is_near.push_back(near.contains(operand.array));
      if (rows[n].computed > 0)
        add(all, of_nest(nest.run, is_near, nest.array.has_value()),
            double(rows[n].computed) / double(rows[n].end - rows[n].first));
    }
    return all;
  }

  Prediction of(const act::For &step, std::int64_t) const {
    const TimeLoop &loop = plan_.loops[step.loop];
    Prediction all;
    add(all, of(loop.body, std::max<std::int64_t>(loop.steps, 1)), double(loop.steps));
    return all;
  }
  // The segments that are computed again in the course of the turns of another loop.
  Prediction of(const act::Again &step, std::int64_t turns) const {
    const TimeLoop &loop = plan_.loops[step.loop];
    const Segments &segments = loop.segments;
    if (segments.steps == 0) return {};
    const std::int64_t again = segments_again(segments.count(loop.steps), segments.places);
    Prediction all;
    add(all, of(loop.body, std::max<std::int64_t>(loop.steps, 1)),
        double(again * segments.steps) / double(turns));
    return all;
  }

  Prediction of(const act::Pad &pad, std::int64_t) const {
    if (pad.comes_later) return {};
    const Layout &layout = pad.to.view.layout;
    const double rows = pad.row ? double(layout.extents[pad.row->dim]) : 1;
    return moved(pad.to.view, rows, 1);
  }
  Prediction of(const act::Gather &gather, std::int64_t) const {
    return gather.what == act::Gather::What::Look ? Prediction{} : moved(gather.to.view, 1, 1);
  }
  Prediction of(const act::Scatter &scatter, std::int64_t) const {
    return moved(scatter.values.view, 1, 2);
  }
  Prediction of(const act::Copy &copy, std::int64_t) const { return moved(copy.to.view, 1, 1); }

  // So many reads of each element for a write of it, in one of so many parts.
  Prediction moved(const AnyView &view, double parts, double reads) const {
    const double bytes = double(element_count(view.layout)) * double(size_of(view.dtype)) / parts;
    return {(reads * bytes / rates_.read_rate(2 * bytes, false) +
             bytes / rates_.write_rate(2 * bytes, false)) *
                1e-9,
            {}};
  }

  const Setup &setup_;
  const CallPlan &plan_;
  const support::Rates rates_;
};

} // namespace

Prediction predict_nest(const Nest &nest) {
  const support::FloatWorld world;
  const Setup &setup = nest.setup();
  const Shown shown = native_to_show(nest);
  return predict(shown.program, shown.pattern->code->blocks(), shown.binding,
                 {memory_of(nest.typed(), shown.layouts), false}, setup.machine(shown.threads),
                 rates_here(*setup.target, setup.threads, setup.options.cache_dir));
}

Prediction predict(const KernelImpl &kernel) {
  if (kernel.setup().is_plain || kernel.setup().device || !kernel.setup().target)
    return predict_nest(kernel.nests().rest);
  const support::FloatWorld world;
  const std::shared_ptr<const CallPlan> plan = plan_to_show(kernel);
  return StepPredictor(kernel.setup(), *plan).of(plan->actions);
}

} // namespace broadloom::jit
