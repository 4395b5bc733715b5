// See survey.hpp.
#include "block/survey.hpp"

#include "ops/complex.hpp"

#include <algorithm>

namespace broadloom::block {
namespace {

using namespace loop;

constexpr int long_tree = 16; // turns

class Surveyor {
public:
  Surveyor(const loop::Program &program, const Weights &weights, Survey &facts)
      : program_(program), weights_(weights), facts_(facts) {}

  void body(const std::vector<Stmt> &statements) {
    for (const Stmt &s : statements) {
      switch (s.kind) {
      case StmtKind::Let: let(s.value); break;
      case StmtKind::Set: set(s); break;
      case StmtKind::Step: step(s); break;
      case StmtKind::Loop: enter(s.loop); break;
      }
    }
  }

private:
  bool varies(ValueId id) const {
    const Value &value = program_[id];
    if (value.kind == ValueKind::Result || value.kind == ValueKind::Running)
      return facts_.acc_varies[value.acc.index];
    return facts_.value_varies[id.index];
  }

  bool walks_vector_axis(BufferId id) const {
    return vector_ != nullptr && walk(program_, id, vector_->axis) != nullptr;
  }

  void touch(BufferId id) {
    const auto add = [&](std::vector<BufferId> &list) {
      if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
    };
    add(facts_.buffers);
    for (const LoopId loop : around_) add(facts_.loops[loop.index].buffers);
  }

  void note_type(DType dtype) {
    for (const LoopId loop : around_) {
      Survey::LoopFacts &facts = facts_.loops[loop.index];
      const int bytes = static_cast<int>(size_of(real_dtype(dtype)));
      facts.widest = std::max(facts.widest, bytes);
      if (dtype != DType::Bool) facts.narrowest = std::min(facts.narrowest, bytes);
    }
  }

  void let(ValueId id) {
    const Value &value = program_[id];
    bool varying = false;
    switch (value.kind) {
    case ValueKind::Literal:
    case ValueKind::Extent: break;
    case ValueKind::Index: varying = vector_ != nullptr && vector_->axis == value.axis; break;
    case ValueKind::Result:
    case ValueKind::Running: varying = facts_.acc_varies[value.acc.index]; break;
    case ValueKind::Load:
      touch(value.buffer);
      // A row that the lanes do not walk is one for each of them.
      varying = vector_ != nullptr &&
                (program_[value.buffer].role == Role::Row || walks_vector_axis(value.buffer));
      break;
    case ValueKind::Op:
    case ValueKind::Cast:
      for (int k = 0; k < value.arg_count; ++k) varying = varying || varies(value.args[k]);
      break;
    }
    facts_.value_varies[id.index] = varying;
    if (varying) note_type(value.dtype);
    if (value.kind == ValueKind::Op && is_costly(value.op, value.compute))
      mark_costly(is_function(value) ? weights_.values[id.index] : not_copied);
    if (varying && value.compute == DType::C64 && ops::complex::is_function(value.op))
      for (const LoopId loop : around_) facts_.loops[loop.index].doubles = true;
  }

  static constexpr std::int64_t not_copied = 1'000'000;
  void mark_costly(std::int64_t weight) {
    for (const LoopId loop : around_) {
      facts_.loops[loop.index].costly = true;
      facts_.loops[loop.index].functions += weight;
    }
  }

  // That has lanes.
  static bool is_function(const Value &value) {
    return !is_complex(value.compute) && ops::info(value.op).math == ops::Math::Vector;
  }

  static bool is_costly(ops::Op op, DType compute) {
    using ops::Op;
    if (is_complex(compute) && (op == Op::Sqrt || op == Op::Abs || op == Op::Sign)) return true;
    return ops::info(op).is_function() || op == Op::FloorDiv || op == Op::Mod;
  }

  void step(const Stmt &s) {
    const ops::Recipe &recipe = program_.recipe(s.acc);
    bool varying = false;
    for (const ValueId arg : s.args) varying = varying || varies(arg);
    for (const ValueId start : program_[s.acc].start) varying = varying || varies(start);
    if (varying) facts_.acc_varies[s.acc.index] = true;
    constexpr std::size_t lines_worth_copying = 12;
    if (recipe.step.lines.size() > lines_worth_copying) mark_costly(not_copied);
    for (const ops::Code::Line &line : recipe.step.lines)
      if (line.kind == ops::Code::Line::Kind::Op && is_costly(line.op, line.compute))
        mark_costly(not_copied);
  }

  void set(const Stmt &s) {
    touch(s.buffer);
    if (walks_vector_axis(s.buffer)) note_type(program_[s.buffer].dtype);
  }

  // A turn for each chunk of a fold: few, and the code of their tree is long.
  static bool joins_chunks(const Loop &loop) { return loop.leaf == 1; }

  // Few steps are few instructions.
  static bool is_tree(const Loop &loop) { return loop.turns >= long_tree && loop.ways > 1; }

  void enter(LoopId id) {
    const Loop &loop = program_[id];
    for (const LoopId outer : around_) {
      Survey::LoopFacts &facts = facts_.loops[outer.index];
      facts.inner_loops = true;
      facts.inner_folds =
          facts.inner_folds || (!loop.accs.empty() && loop.turns == 0 && !joins_chunks(loop));
      facts.inner_trees = facts.inner_trees || is_tree(loop);
    }
    around_.push_back(id);
    for (const BufferId buffer : loop.handed) touch(buffer);
    const Loop *outer_vector = vector_;
    const bool as_vector = runs_as_vector(program_, loop);
    if (as_vector) vector_ = &loop;
    if (as_vector && loop.scan)
      for (const AccId acc : loop.accs) facts_.acc_varies[acc.index] = true;
    // A running state varies if a later step makes it so: again until nothing new is found.
    std::vector<bool> before;
    do {
      before = facts_.acc_varies;
      facts_.loops[id.index].acc_bytes = 0;
      body(loop.body);
    } while (!loop.accs.empty() && facts_.acc_varies != before);
    if (as_vector) { // its own accumulators have been joined over the lanes
      for (const AccId acc : loop.accs) {
        for (const DType state : program_.recipe(acc).states) note_type(state);
        facts_.acc_varies[acc.index] = false;
      }
    }
    vector_ = outer_vector;
    around_.pop_back();
    // The states of a fold around another one step once for a whole fold inside: they may wait in
    // memory meanwhile.
    constexpr int waiting = 4; // of a tree of six states at most, as half of the registers is free
    int states = 0;
    for (const AccId acc : loop.accs)
      for (const DType state : program_.recipe(acc).states)
        states += static_cast<int>(size_of(state)) * (is_tree(loop) ? waiting : 1);
    if (!around_.empty())
      facts_.loops[around_.back().index].acc_bytes +=
          std::max(states, facts_.loops[id.index].acc_bytes);
  }

  const loop::Program &program_;
  const Weights &weights_;
  Survey &facts_;
  std::vector<LoopId> around_;
  const Loop *vector_ = nullptr;
};

} // namespace

bool runs_as_vector(const loop::Program &program, const Loop &loop) {
  return loop.vector && (loop.ways > 1 || folds_in_any_order(program, loop));
}

bool folds_in_any_order(const loop::Program &program, const Loop &loop) {
  return std::ranges::all_of(loop.accs, [&](AccId acc) { return program.recipe(acc).exact; });
}

Survey survey(const loop::Program &program, std::size_t phase, const Weights &weights) {
  Survey facts;
  facts.value_varies.resize(program.values.size());
  facts.acc_varies.resize(program.accs.size());
  facts.loops.resize(program.loops.size());
  Surveyor(program, weights, facts).body(program.phases[phase].body);
  for (std::size_t k = 0; weights.split[phase] && k < program.loops.size(); ++k)
    if (weights.loops[k] > most_copied_weight) {
      facts.loops[k].costly = true;
      facts.loops[k].functions = weights.loops[k];
    }
  return facts;
}

} // namespace broadloom::block
