// Several rows of a sweep at once, where a fold over rows keeps its states in a row of memory.
//
// Problem: `set s0[j] = s0[j] + f64(x[i, j])` in a loop over j inside one over i loads and stores each state once for every row,
// and reads one row of x at a time, which memory could deliver faster.
// Method: the loop over rows runs four at a time, and each turn of the inner loop has the bodies of all four, in order.
// What the first stores of a state the next one takes from its register; only the last one stores to memory.
// Example: the states step as before, so the bits are the same. Rows left over run one by one.
#include "jit/emit/phase.hpp"

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

namespace {
constexpr int rows_together = 4;
constexpr std::size_t longest_body =
    64; // statements: of longer ones four copies take long to compile
} // namespace

// What a turn of the rows' loop stores must be either an element of its own, or a state that steps from row to row: it is loaded,
// and then stored once, in the turn of each row. All else would be stored by the last of the rows alone.
bool PhaseEmitter::is_stepped(BufferId id, const Loop &inner) const {
  if (program_[id].role != Role::Scratch) return false;
  int loads = 0, stores = 0;
  for (const Stmt &s : inner.body) {
    const bool loaded = s.kind == StmtKind::Let && program_[s.value].kind == ValueKind::Load &&
                        program_[s.value].buffer == id;
    if (loaded && stores == 0) ++loads;
    if (s.kind == StmtKind::Set && s.buffer == id) ++stores;
  }
  return loads == 1 && stores == 1;
}

// The loop inside `id` that can take several rows of it at once: nothing else but values known for the whole row is around it,
// and it runs over the same positions in every row.
std::optional<LoopId> PhaseEmitter::jammed(LoopId id) const {
  const Loop &rows = program_[id];
  const std::optional<LoopId> found = only_loop(rows.body);
  if (!found || vector_ != nullptr || rows.parallel) return std::nullopt;
  const Loop &inner = program_[*found];
  const Survey::LoopFacts &facts = survey_.loops[found->index];
  if (!inner.vector || !inner.accs.empty() || inner.scan || inner.within == rows.axis ||
      facts.inner_loops || facts.costly || inner.body.size() > longest_body ||
      !streams(*found).empty())
    return std::nullopt;
  bool states = false;
  for (const Stmt &s : inner.body) {
    if (s.kind != StmtKind::Set || walk(s.buffer, rows.axis) != nullptr) continue;
    if (!is_stepped(s.buffer, inner)) return std::nullopt;
    states = true;
  }
  return states ? found : std::nullopt;
}

void PhaseEmitter::jammed_loop(LoopId id, LoopId inner, llvm::Value *begin, llvm::Value *end) {
  const Loop &rows = program_[id];
  const Values outer = at_;
  llvm::Value *rest = whole(begin, end, rows_together);
  lanes_.counted_loop(begin, rest, rows_together, {}, [&](llvm::Value *position, Values) {
    took(Path::RowsJammed);
    Jam jam{inner, rows.axis, {}};
    for (int r = 0; r < rows_together; ++r) {
      move(id, outer, position, r);
      for (const Stmt &s : rows.body)
        if (s.kind == StmtKind::Let) values_[s.value.index] = compute(s.value);
      jam.rows.push_back({at_, values_, positions_[rows.axis.index]});
    }
    jam_ = std::move(jam);
    loop(inner);
    jam_.reset();
    return Values{};
  });
  at_ = outer;
  lanes_.counted_loop(rest, end, 1, {}, [&](llvm::Value *position, Values) {
    took(Path::RowsJammedRest);
    turn(id, outer, position);
    return Values{};
  });
}

// One turn of the inner loop: its body for each of the rows.
void PhaseEmitter::jammed_turn(llvm::Value *position) {
  const Jam jam = *std::exchange(jam_, std::nullopt);
  held_.assign(program_.buffers.size(), nullptr);
  held_across_ = jam.across;
  for (std::size_t r = 0; r < jam.rows.size(); ++r) {
    values_ = jam.rows[r].values;
    positions_[jam.across.index] = jam.rows[r].position;
    last_row_ = r + 1 == jam.rows.size();
    turn(jam.inner, jam.rows[r].at, position);
  }
  held_.clear();
  jam_ = jam;
}

// Whether the value of a state waits in its register for the next row.
bool PhaseEmitter::holds(BufferId id, llvm::Value *value) {
  if (held_.empty() || walk(id, held_across_) != nullptr) return false;
  held_[id.index] = value;
  return !last_row_;
}

} // namespace broadloom::jit
