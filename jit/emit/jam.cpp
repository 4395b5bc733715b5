// Unroll-and-jam: several rows of a sweep are copies of the inner loop's body.
//
// Each turn of the inner loop has the bodies of all rows, in order. What the first stores of a state the next one takes from its
// register; only the last one stores to memory. The states step as before, so the bits are the same. Rows left over run one by one.
#include "jit/emit/phase.hpp"

namespace broadloom::jit {

using namespace loop;

void PhaseEmitter::jammed_loop(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const Loop &rows = program_[run.loop];
  const block::Box &box = run.whole(), *around = box_;
  const int count = box.positions();
  const Values outer = at_;
  llvm::Value *rest = whole(begin, end, count);
  lanes_.counted_loop(begin, rest, count, {}, [&](llvm::Value *position, Values) {
    took(Path::RowsJammed);
    box_ = &box;
    Jam jam{run.inner, rows.axis, {}};
    for (int r = 0; r < count; ++r) {
      move(run.loop, outer, position, r);
      for (const Stmt &s : rows.body)
        if (s.kind == StmtKind::Let) values_[s.value.index] = compute(s.value);
      jam.rows.push_back({at_, values_, positions_[rows.axis.index]});
    }
    jam_ = std::move(jam);
    loop(block::run_of(box, run.inner));
    jam_.reset();
    box_ = around;
    return Values{};
  });
  at_ = outer;
  lanes_.counted_loop(rest, end, 1, {}, [&](llvm::Value *position, Values) {
    took(Path::RowsJammedRest);
    turn(run.rest(), run.loop, outer, position);
    return Values{};
  });
}

// One turn of the inner loop: its body for each of the rows.
void PhaseEmitter::jammed_turn(const block::Box &box, llvm::Value *position) {
  const Jam jam = *std::exchange(jam_, std::nullopt);
  held_.assign(program_.buffers.size(), nullptr);
  for (std::size_t r = 0; r < jam.rows.size(); ++r) {
    values_ = jam.rows[r].values;
    positions_[jam.across.index] = jam.rows[r].position;
    last_row_ = r + 1 == jam.rows.size();
    turn(box, jam.inner, jam.rows[r].at, position);
  }
  held_.clear();
  jam_ = jam;
}

} // namespace broadloom::jit
