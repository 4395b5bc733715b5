// Runs a loop program one position at a time: the meaning of the IR, and the engine without LLVM.
//
// A phase is first turned into flat instructions with ready byte increments, then run; nothing is
// allocated per position. Addresses are integers, since a position one past the end of a reversed
// view lies before its memory. The folds follow loop.hpp to the letter: lanes, halving, pairwise
// leaves.
#include "loop/interpret_fold.hpp"
#include "loop/loop.hpp"
#include "support/check.hpp"

#include <algorithm>

namespace broadloom::loop {
namespace {

using interpreted::compute;
using interpreted::is_ready;
using interpreted::ready;
using interpreted::States;
using ops::Scalar;

struct Instruction {
  enum class Kind : std::uint8_t { Compute, Load, Result, Running, Index, Set, Step, Loop } kind;
  const Value *value = nullptr;    // Compute
  DType to = DType::F32;           // Load, Set
  std::uint32_t target = 0;        // value computed
  std::uint32_t args[3] = {};      // values read
  std::uint32_t index = 0;         // buffer, accumulator, axis or loop
  std::uint32_t state = 0;         // Result, Running
  std::vector<std::uint32_t> more; // Step: the values it takes
};

struct Move { // a buffer that walks the loop's axis
  std::uint32_t buffer;
  std::int64_t bytes;
};

struct Nest { // a loop made ready
  std::int64_t begin = 0, end = 0;
  std::int64_t chunk = 0; // positions per chunk of a loop within `chunk_axis`
  std::uint32_t chunk_axis = 0;
  bool within = false;
  std::uint32_t axis = 0;
  std::vector<Move> moves;
  std::vector<std::uint32_t> folds;
  std::int64_t ways = 1, leaf = 0;
  bool scan = false, reverse = false;
  std::vector<BufferId> handed;
  std::int64_t extent = 0;
  std::vector<Instruction> body;
};

class Interpreter {
  using Fold = interpreted::Fold;

public:
  Interpreter(const Program &program, std::size_t phase, const Frame &frame, const std::int64_t *lo,
              const std::int64_t *hi)
      : p_(program), frame_(frame), values_(p_.values.size()), positions_(p_.axes.size()),
        folds_(p_.accs.size()), nests_(p_.loops.size()) {
    for (std::size_t v = 0; v < p_.values.size(); ++v)
      if (is_ready(p_.values[v])) values_[v] = ready(p_.values[v], frame);
    for (std::size_t b = 0; b < p_.buffers.size(); ++b)
      addresses_.push_back(reinterpret_cast<std::uintptr_t>(frame.buffers[b]));
    const Phase &ph = p_.phases.at(phase);
    std::vector<bool> touched(p_.buffers.size(), false);
    body_ = prepare(ph.body, touched);
    for (std::size_t k = 0; k < ph.parallel.size(); ++k) {
      for (std::size_t l = 0; l < p_.loops.size(); ++l) {
        const bool boxed = p_.loops[l].parallel || !p_.loops[l].handed.empty();
        if (!boxed || p_.loops[l].axis != ph.parallel[k]) continue;
        nests_[l].begin = lo[k];
        nests_[l].end = hi[k];
      }
    }
  }

  void run() { run(body_); }

private:
  // ---- once for each phase; `touched` gathers the buffers that the statements read or write
  // --------

  std::vector<Instruction> prepare(const std::vector<Stmt> &statements,
                                   std::vector<bool> &touched) {
    std::vector<Instruction> out;
    for (const Stmt &s : statements) {
      Instruction i{};
      switch (s.kind) {
      case StmtKind::Let:
        if (is_ready(p_[s.value])) continue;
        i = computation(s.value, touched);
        break;
      case StmtKind::Set:
        i.kind = Instruction::Kind::Set;
        i.args[0] = s.value.index;
        i.index = s.buffer.index;
        i.to = p_[s.buffer].dtype;
        touched[s.buffer.index] = true;
        break;
      case StmtKind::Step:
        i.kind = Instruction::Kind::Step;
        for (ValueId arg : s.args) i.more.push_back(arg.index);
        i.index = s.acc.index;
        break;
      case StmtKind::Loop:
        i.kind = Instruction::Kind::Loop;
        i.index = s.loop.index;
        prepare_loop(s.loop, touched);
        break;
      }
      out.push_back(i);
    }
    return out;
  }

  Instruction computation(ValueId id, std::vector<bool> &touched) const {
    const Value &v = p_[id];
    Instruction i{};
    i.target = id.index;
    i.to = v.dtype;
    for (int a = 0; a < v.arg_count; ++a) i.args[a] = v.args[a].index;
    switch (v.kind) {
    case ValueKind::Literal:
    case ValueKind::Extent: break;
    case ValueKind::Index:
      i.kind = Instruction::Kind::Index;
      i.index = v.axis.index;
      break;
    case ValueKind::Op:
    case ValueKind::Cast:
      i.kind = Instruction::Kind::Compute;
      i.value = &v;
      break;
    case ValueKind::Load:
      i.kind = Instruction::Kind::Load;
      i.index = v.buffer.index;
      touched[v.buffer.index] = true;
      break;
    case ValueKind::Result:
      i.kind = Instruction::Kind::Result;
      i.index = v.acc.index;
      i.state = v.state;
      break;
    case ValueKind::Running:
      i.kind = Instruction::Kind::Running;
      i.index = v.acc.index;
      i.state = v.state;
      break;
    }
    return i;
  }

  void prepare_loop(LoopId id, std::vector<bool> &touched) {
    const Loop &l = p_[id];
    Nest nest;
    std::vector<bool> inside(p_.buffers.size(), false);
    nest.body = prepare(l.body, inside);
    nest.axis = l.axis.index;
    nest.end = frame_.extents[l.axis.index];
    support::check(l.turns == 0 || l.turns == nest.end,
                   "a loop with other turns than it is made for");
    if (l.within) {
      nest.within = true;
      nest.chunk_axis = l.within->index;
      nest.chunk = frame_.chunks[l.axis.index];
      support::check(l.leaf == 0 || nest.chunk % l.leaf == 0, "a chunk that is not whole leaves");
    }
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (!inside[b]) continue;
      touched[b] = true;
      for (const Walk &w : p_.buffers[b].walks) {
        if (w.axis != l.axis) continue;
        const std::int64_t stride = frame_.strides[b * p_.axes.size() + l.axis.index];
        nest.moves.push_back(
            {std::uint32_t(b), stride * std::int64_t(size_of(p_.buffers[b].dtype))});
      }
    }
    nest.ways = l.ways;
    nest.leaf = l.leaf;
    nest.scan = l.scan;
    nest.reverse = l.reverse;
    nest.handed = l.handed;
    nest.extent = nest.end;
    for (AccId a : l.accs) {
      Fold &fold = folds_[a.index];
      fold.code = {&p_.recipe(a), p_.accuracy, {}, {}};
      fold.start = fold.code.recipe->start;
      for (ValueId start : p_[a].start) fold.start_values.push_back(start.index);
      fold.grouped = l.scan && l.ways > 1;
      fold.takes_blocks = takes_blocks(p_, l, a);
      fold.ways.resize(std::size_t(fold.grouped ? 1 : l.ways));
      nest.folds.push_back(a.index);
    }
    nests_[id.index] = std::move(nest);
  }

  // ---- at every position
  // -------------------------------------------------------------------------

  void run(const std::vector<Instruction> &body) {
    for (const Instruction &i : body) {
      switch (i.kind) {
      case Instruction::Kind::Compute: {
        const Scalar args[] = {values_[i.args[0]], values_[i.args[1]], values_[i.args[2]]};
        values_[i.target] = compute(*i.value, args, p_.accuracy);
        break;
      }
      case Instruction::Kind::Load:
        values_[i.target] = ops::load(reinterpret_cast<const void *>(addresses_[i.index]), i.to);
        break;
      case Instruction::Kind::Result: values_[i.target] = folds_[i.index].result[i.state]; break;
      case Instruction::Kind::Running: values_[i.target] = running(folds_[i.index], i.state); break;
      case Instruction::Kind::Index:
        values_[i.target] = ops::scalar_from(positions_[i.index]);
        break;
      case Instruction::Kind::Set:
        ops::store(reinterpret_cast<void *>(addresses_[i.index]), i.to, values_[i.args[0]]);
        break;
      case Instruction::Kind::Step: {
        Fold &fold = folds_[i.index];
        if (fold.takes_blocks) {
          for (std::size_t k = 0; k < i.more.size(); ++k) fold.ways[0][k] = values_[i.more[k]];
          break;
        }
        States &inputs = fold.code.inputs;
        inputs = fold.grouped ? fold.code.recipe->start : fold.ways[lane_];
        for (std::uint32_t arg : i.more) inputs.push_back(values_[arg]);
        if (fold.grouped)
          fold.step_in_group(lane_);
        else
          fold.code.take(fold.code.recipe->step, fold.ways[lane_]);
        break;
      }
      case Instruction::Kind::Loop: run(nests_[i.index]); break;
      }
    }
  }

  void run(const Nest &nest) {
    std::int64_t begin = nest.begin, end = nest.end;
    if (nest.within) {
      begin = positions_[nest.chunk_axis] * nest.chunk;
      end = std::min(end, begin + nest.chunk);
    }
    for (std::uint32_t f : nest.folds) {
      Fold &fold = folds_[f];
      for (std::size_t k = 0; k < fold.start_values.size(); ++k)
        fold.start[k] = values_[fold.start_values[k]];
      fold.begin();
    }
    if (nest.scan || nest.reverse) return run_in_order(nest, begin, end);
    if (begin < end) {
      for (const Move &m : nest.moves) addresses_[m.buffer] += std::uintptr_t(begin * m.bytes);
      const std::int64_t leaf = nest.leaf > 0 ? nest.leaf : end - begin;
      for (std::int64_t p = begin; p < end;) {
        const std::int64_t stop = std::min(end, p + leaf);
        run_leaf(nest, p, stop);
        p = stop;
      }
      for (const Move &m : nest.moves) addresses_[m.buffer] -= std::uintptr_t(end * m.bytes);
    }
    for (std::uint32_t f : nest.folds) folds_[f].end();
  }

  void run_leaf(const Nest &nest, std::int64_t begin, std::int64_t end) {
    for (std::uint32_t f : nest.folds) folds_[f].begin_leaf(nest.leaf == 0);
    for (std::int64_t p = begin; p < end; ++p) {
      positions_[nest.axis] = p;
      run_turn(nest, std::size_t((p - begin) & (nest.ways - 1)));
      for (const Move &m : nest.moves) addresses_[m.buffer] += std::uintptr_t(m.bytes);
    }
    for (std::uint32_t f : nest.folds) folds_[f].end_leaf();
  }

  Scalar running(Fold &fold, std::uint32_t state) {
    States now = fold.ways[0];
    if (!fold.carried.empty()) fold.join(fold.carried, now, now);
    if (!fold.joined.empty()) fold.join(now, fold.joined, now);
    return now[state];
  }

  // A scan, or an ordered fold from the end: block by block, each in the direction of the loop.
  void run_in_order(const Nest &nest, std::int64_t begin, std::int64_t end) {
    const std::int64_t count = end > begin ? end - begin : 0;
    const std::int64_t leaf = nest.leaf > 0 ? nest.leaf : std::max<std::int64_t>(count, 1);
    const std::int64_t blocks = (count + leaf - 1) / leaf;
    const bool goes_on = nest.reverse ? end < nest.extent : begin > 0;
    if (goes_on)
      for_each_handed(nest, [](Fold &fold, std::size_t state, void *memory, DType dtype) {
        fold.start[state] = ops::load(memory, dtype);
      });
    for (std::uint32_t f : nest.folds) {
      Fold &fold = folds_[f];
      if (nest.leaf > 0) fold.carried = fold.start; // else the steps themselves begin there
      fold.result = fold.start;
    }
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t first = begin + (nest.reverse ? blocks - 1 - b : b) * leaf;
      run_block(nest, first, std::min(end, first + leaf));
    }
    for_each_handed(nest, [](Fold &fold, std::size_t state, void *memory, DType dtype) {
      ops::store(memory, dtype, fold.result[state]);
    });
  }

  template <class Visit> void for_each_handed(const Nest &nest, Visit visit) {
    std::size_t next = 0;
    for (std::uint32_t f : nest.folds)
      for (std::size_t k = 0; next < nest.handed.size() && k < folds_[f].start.size(); ++k) {
        const BufferId id = nest.handed[next++];
        visit(folds_[f], k, reinterpret_cast<void *>(addresses_[id.index]), p_[id].dtype);
      }
  }

  void run_block(const Nest &nest, std::int64_t begin, std::int64_t end) {
    for (std::uint32_t f : nest.folds) folds_[f].begin_leaf(nest.leaf == 0);
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t p = nest.reverse ? end - 1 - (k - begin) : k;
      positions_[nest.axis] = p;
      for (const Move &m : nest.moves) addresses_[m.buffer] += std::uintptr_t(p * m.bytes);
      nest.ways > 1 ? run_in_group(nest, p - begin, k + 1 == end) : run_turn(nest, 0);
      for (const Move &m : nest.moves) addresses_[m.buffer] -= std::uintptr_t(p * m.bytes);
    }
    for (std::uint32_t f : nest.folds) {
      Fold &fold = folds_[f];
      if (fold.carried.empty())
        fold.result = fold.ways[0];
      else
        fold.join(fold.carried, fold.ways[0], fold.carried), fold.result = fold.carried;
    }
  }

  // `offset` is the distance from the begin of the block, where the groups begin, too.
  void run_in_group(const Nest &nest, std::int64_t offset, bool last_of_block) {
    const std::int64_t lane = offset & (nest.ways - 1);
    const std::int64_t place = nest.reverse ? nest.ways - 1 - lane : lane;
    run_turn(nest, std::size_t(place));
    if (place != nest.ways - 1 && !last_of_block) return;
    for (std::uint32_t f : nest.folds) {
      folds_[f].end_group();
      folds_[f].begin_group();
    }
  }

  // The steps of a body belong to its own loop; loops within it come and go with other lanes.
  void run_turn(const Nest &nest, std::size_t lane) {
    const std::size_t outer = lane_;
    lane_ = lane;
    run(nest.body);
    lane_ = outer;
  }

  const Program &p_;
  const Frame &frame_;
  std::vector<Scalar> values_;
  std::vector<std::int64_t> positions_;   // [axis]
  std::vector<Fold> folds_;               // [accumulator]
  std::vector<Nest> nests_;               // [loop]
  std::vector<std::uintptr_t> addresses_; // [buffer]: of the element at the current position
  std::vector<Instruction> body_;
  std::size_t lane_ = 0;
};

} // namespace

void interpret(const Program &program, std::size_t phase, const Frame &frame,
               const std::int64_t *lo, const std::int64_t *hi) {
  Interpreter(program, phase, frame, lo, hi).run();
}

} // namespace broadloom::loop
