// See cost.hpp.
#include "plan/cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace broadloom::plan {
namespace {

using loop::Stmt;
using loop::StmtKind;
using loop::Value;
using loop::ValueKind;

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

// An array that goes back at each chunk of an axis that it walks holds one chunk: see repeat.hpp.
double bytes_of(const loop::Program &program, const Binding &binding, loop::BufferId id) {
  const std::vector<loop::Walk> &walks = program[id].walks;
  const auto is_chunks = [&](const loop::Walk &walk, loop::AxisId axis) {
    return program[walk.axis].chunks_of == axis;
  };
  double bytes = double(size_of(program[id].dtype));
  for (const loop::Walk &walk : walks) {
    const bool goes_back = std::any_of(walks.begin(), walks.end(), [&](const loop::Walk &other) {
      return is_chunks(walk, other.axis);
    });
    const bool one_chunk = std::any_of(walks.begin(), walks.end(), [&](const loop::Walk &other) {
      return is_chunks(other, walk.axis);
    });
    const std::vector<std::int64_t> &positions = one_chunk ? binding.chunks : binding.extents;
    if (!goes_back) bytes *= double(positions[walk.axis.index]);
  }
  return bytes;
}

// Bytes loaded and stored, by operand: its buffers are views of the same memory.
class Traffic {
public:
  Traffic(const loop::Program &program, const Binding &binding)
      : program_(program), binding_(binding) {}

  std::vector<Moved> moved(const std::vector<Stmt> &body) {
    lines_ = true;
    follow(body);
    std::vector<Moved> result;
    for (const auto &[key, bytes] : loaded_)
      result.push_back({key.first, key.second, false, bytes});
    for (const auto &[key, bytes] : stored_) result.push_back({key.first, key.second, true, bytes});
    return result;
  }

  double of(const std::vector<Stmt> &body) {
    loaded_.clear();
    stored_.clear();
    follow(body);
    double bytes = 0;
    for (const auto &[operand, most] : loaded_) bytes += most;
    for (const auto &[operand, most] : stored_) bytes += most;
    return bytes;
  }

private:
  using Bytes = std::map<std::pair<loop::Role, std::uint32_t>, double>;

  void add(Bytes &bytes, loop::BufferId id) const {
    const loop::Buffer &buffer = program_[id];
    if (buffer.role == loop::Role::Row) return;
    double &most = bytes[{buffer.role, buffer.operand}];
    most = std::max(most, bytes_of(program_, binding_, id) * (lines_ ? apart(id) : 1));
  }

  // Bytes of memory for one of an element, as lines are moved as a whole.
  double apart(loop::BufferId id) const {
    constexpr double line = 64;
    const double size = double(size_of(program_[id].dtype));
    double least = line / size;
    for (const loop::Walk &walk : program_[id].walks) {
      const std::size_t at = id.index * program_.axes.size() + walk.axis.index;
      const double stride = std::abs(double(binding_.strides[at]));
      if (stride > 0 && binding_.extents[walk.axis.index] > 1) least = std::min(least, stride);
    }
    return std::max(1.0, least);
  }

  void follow(const std::vector<Stmt> &body) {
    for (const Stmt &s : body) {
      if (s.kind == StmtKind::Set) add(stored_, s.buffer);
      if (s.kind == StmtKind::Loop) follow(program_[s.loop].body);
      if (s.kind == StmtKind::Let && program_[s.value].kind == ValueKind::Load)
        add(loaded_, program_[s.value].buffer);
    }
  }

  const loop::Program &program_;
  const Binding &binding_;
  Bytes loaded_, stored_;
  bool lines_ = false;
};

} // namespace

std::vector<BodyCost> loop_costs(const loop::Program &program, const Binding &binding) {
  return Counter(program, binding).run();
}

std::vector<Cost> phase_costs(const loop::Program &program, const Binding &binding) {
  std::vector<double> flops(program.phases.size(), 0);
  for (const BodyCost &body : loop_costs(program, binding))
    flops[std::size_t(body.phase)] += body.flops;
  Traffic traffic(program, binding);
  std::vector<Cost> costs;
  for (std::size_t p = 0; p < program.phases.size(); ++p)
    costs.push_back({traffic.of(program.phases[p].body), flops[p], binding.phase_work[p]});
  return costs;
}

std::vector<Moved> bytes_moved(const loop::Program &program, const Binding &binding,
                               std::size_t phase) {
  return Traffic(program, binding).moved(program.phases[phase].body);
}

double operand_bytes(const loop::Program &program, const Binding &binding, loop::Role role,
                     std::uint32_t operand) {
  double most = 0;
  for (std::uint32_t b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].role == role && program.buffers[b].operand == operand)
      most = std::max(most, bytes_of(program, binding, loop::BufferId{b}));
  return most;
}

std::map<std::uint32_t, double> bytes_of_inputs(const loop::Program &program,
                                                const Binding &binding) {
  std::map<std::uint32_t, double> bytes;
  for (std::uint32_t b = 0; b < program.buffers.size(); ++b)
    if (const loop::Buffer &buffer = program.buffers[b]; buffer.role == loop::Role::Input) {
      double &most = bytes[buffer.operand];
      most = std::max(most, bytes_of(program, binding, loop::BufferId{b}));
    }
  return bytes;
}

} // namespace broadloom::plan
