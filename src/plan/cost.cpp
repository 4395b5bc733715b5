// See cost.hpp.
#include "plan/cost.hpp"

#include "plan/nest.hpp"

#include <algorithm>
#include <map>

namespace broadloom::plan {
namespace {

using loop::Stmt;
using loop::StmtKind;
using loop::Value;
using loop::ValueKind;

constexpr double store_cost = 4; // as the table of operations counts

class Counter {
public:
  Counter(const loop::Program &program, const Binding &binding)
      : program_(program), binding_(binding), bodies_(program.loops.size()) {}

  std::vector<BodyCost> run() {
    for (std::size_t p = 0; p < program_.phases.size(); ++p) {
      BodyCost root{1, 0, 0, int(p)};
      count(program_.phases[p].body, root);
    }
    return std::move(bodies_);
  }

private:
  void count(const std::vector<Stmt> &body, BodyCost &cost) {
    for (const Stmt &s : body) {
      switch (s.kind) {
      case StmtKind::Let: count(program_[s.value], cost); break;
      case StmtKind::Set: cost.cycles += cost.turns * store_cost / cost_per_cycle; break;
      case StmtKind::Step:
        for (const ops::Code::Line &line : program_.recipe(s.acc).step.lines)
          if (line.kind == ops::Code::Line::Kind::Op) count(line.op, cost);
        break;
      case StmtKind::Loop: {
        BodyCost &inner = bodies_[s.loop.index];
        inner = {cost.turns * turns(program_[s.loop]), 0, 0, cost.phase};
        count(program_[s.loop].body, inner);
        break;
      }
      }
    }
  }

  void count(const Value &value, BodyCost &cost) {
    if (value.kind == ValueKind::Op) count(value.op, cost);
    if (value.kind == ValueKind::Cast || value.kind == ValueKind::Load)
      cost.cycles += cost.turns * load_cost / cost_per_cycle;
  }

  void count(ops::Op op, BodyCost &cost) {
    cost.flops += cost.turns;
    cost.cycles += cost.turns * ops::info(op).cost / cost_per_cycle;
  }

  // Within a chunk: on average.
  double turns(const loop::Loop &loop) const {
    const double extent = double(binding_.extents[loop.axis.index]);
    if (!loop.within) return extent;
    return extent / std::max(1.0, double(binding_.extents[loop.within->index]));
  }

  const loop::Program &program_;
  const Binding &binding_;
  std::vector<BodyCost> bodies_;
};

double positions(const Plan &plan, const loop::Buffer &buffer) {
  double n = 1;
  for (const loop::Walk &walk : buffer.walks) n *= double(plan.binding.extents[walk.axis.index]);
  return n;
}

// Bytes loaded and stored, by operand: its buffers are views of the same memory.
struct Traffic {
  std::map<std::pair<loop::Role, std::uint32_t>, double> loaded, stored;

  static void add(std::map<std::pair<loop::Role, std::uint32_t>, double> &bytes, const Plan &plan,
                  loop::BufferId id) {
    const loop::Buffer &buffer = plan.program[id];
    if (buffer.role == loop::Role::Row) return;
    double &most = bytes[{buffer.role, buffer.operand}];
    most = std::max(most, positions(plan, buffer) * double(size_of(buffer.dtype)));
  }

  void follow(const Plan &plan, const std::vector<Stmt> &body) {
    for (const Stmt &s : body) {
      if (s.kind == StmtKind::Set) add(stored, plan, s.buffer);
      if (s.kind == StmtKind::Loop) follow(plan, plan.program[s.loop].body);
      if (s.kind == StmtKind::Let && plan.program[s.value].kind == ValueKind::Load)
        add(loaded, plan, plan.program[s.value].buffer);
    }
  }
};

} // namespace

std::vector<BodyCost> loop_costs(const loop::Program &program, const Binding &binding) {
  return Counter(program, binding).run();
}

Cost phase_cost(const Plan &plan, std::size_t phase) {
  Traffic traffic;
  traffic.follow(plan, plan.program.phases[phase].body);
  double bytes = 0, flops = 0;
  for (const auto &[operand, loaded] : traffic.loaded) bytes += loaded;
  for (const auto &[operand, stored] : traffic.stored) bytes += stored;
  for (const BodyCost &body : loop_costs(plan.program, plan.binding))
    if (body.phase == int(phase)) flops += body.flops;
  return {bytes, flops, plan.binding.phase_work[phase]};
}

double operand_bytes(const Plan &plan, loop::Role role, std::uint32_t operand) {
  double most = 0;
  for (const loop::Buffer &buffer : plan.program.buffers)
    if (buffer.role == role && buffer.operand == operand)
      most = std::max(most, positions(plan, buffer) * double(size_of(buffer.dtype)));
  return most;
}

} // namespace broadloom::plan
