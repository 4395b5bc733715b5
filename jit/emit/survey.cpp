// What the emitter must know about a phase before it makes code: see Survey in phase.hpp.
#include "jit/emit/phase.hpp"

#include <algorithm>

namespace broadloom::jit {
namespace {

using namespace loop;

class Surveyor {
public:
  Surveyor(const Program &program, Survey &facts) : program_(program), facts_(facts) {}

  void body(const std::vector<Stmt> &statements) {
    for (const Stmt &s : statements) {
      switch (s.kind) {
      case StmtKind::Let: let(s.value); break;
      case StmtKind::Set: set(s); break;
      case StmtKind::Step:
        if (varies(s.value)) facts_.acc_varies[s.acc.index] = true;
        break;
      case StmtKind::Loop: enter(s.loop); break;
      }
    }
  }

private:
  bool varies(ValueId id) const {
    const Value &value = program_[id];
    if (value.kind == ValueKind::Result) return facts_.acc_varies[value.acc.index];
    return facts_.value_varies[id.index];
  }

  bool walks_vector_axis(BufferId id) const {
    if (vector_ == nullptr) return false;
    const std::vector<Walk> &walks = program_[id].walks;
    return std::any_of(walks.begin(), walks.end(),
                       [&](const Walk &w) { return w.axis == vector_->axis; });
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
      const int bytes = static_cast<int>(size_of(dtype));
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
    case ValueKind::Result: varying = facts_.acc_varies[value.acc.index]; break;
    case ValueKind::Load:
      touch(value.buffer);
      varying = walks_vector_axis(value.buffer);
      break;
    case ValueKind::Op:
    case ValueKind::Cast:
      for (int k = 0; k < value.arg_count; ++k) varying = varying || varies(value.args[k]);
      break;
    }
    facts_.value_varies[id.index] = varying;
    if (varying) note_type(value.dtype);
    if (value.kind == ValueKind::Op && is_costly(value)) {
      for (const LoopId loop : around_) facts_.loops[loop.index].costly = true;
    }
  }

  static bool is_costly(const Value &value) {
    const ops::Math math = ops::info(value.op).math;
    if (math == ops::Math::Vector || math == ops::Math::Libm) return true;
    return value.op == ops::Op::FloorDiv || value.op == ops::Op::Mod;
  }

  void set(const Stmt &s) {
    touch(s.buffer);
    if (walks_vector_axis(s.buffer)) note_type(program_[s.buffer].dtype);
  }

  void enter(LoopId id) {
    const Loop &loop = program_[id];
    for (const LoopId outer : around_) {
      Survey::LoopFacts &facts = facts_.loops[outer.index];
      facts.inner_loops = true;
      facts.inner_folds = facts.inner_folds || !loop.accs.empty();
      for (const AccId acc : loop.accs) {
        facts.acc_bytes += static_cast<int>(size_of(program_[acc].dtype));
      }
    }
    around_.push_back(id);
    const Loop *outer_vector = vector_;
    const bool as_vector = runs_as_vector(program_, loop);
    if (as_vector) vector_ = &loop;
    body(loop.body);
    if (as_vector) { // its own accumulators have been joined over the lanes
      for (const AccId acc : loop.accs) {
        note_type(program_[acc].dtype);
        facts_.acc_varies[acc.index] = false;
      }
    }
    vector_ = outer_vector;
    around_.pop_back();
  }

  const Program &program_;
  Survey &facts_;
  std::vector<LoopId> around_;
  const Loop *vector_ = nullptr;
};

} // namespace

bool runs_as_vector(const Program &program, const Loop &loop) {
  if (!loop.vector || loop.accs.empty() || loop.lanes > 1) return loop.vector;
  return std::all_of(loop.accs.begin(), loop.accs.end(),
                     [&](AccId id) { return ops::is_exact(program[id].fold, program[id].dtype); });
}

Survey survey(const Program &program, const Phase &phase) {
  Survey facts;
  facts.value_varies.resize(program.values.size());
  facts.acc_varies.resize(program.accs.size());
  facts.loops.resize(program.loops.size());
  Surveyor(program, facts).body(phase.body);
  return facts;
}

} // namespace broadloom::jit
