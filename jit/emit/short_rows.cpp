// Folds of a few known turns inside a vector loop: rows of 8, of which the vector loop takes 16 at once.
//
// Problem: the tree of loop.hpp has 32 lanes, of which a row of 8 fills 8; lanes along the row would run mostly idle,
// and join five times for each row.
// Method: the lanes of the vector are rows. Each lane of the tree is a vector of states of its own, with one step or
// none, and the joins are joins of whole vectors. Lanes without a step hold the identity; joins with it are made where they may
// change a bit (ops::identity_is_neutral). The copies of the body come in the order in which the tree needs them, so that few
// states wait; a heavy body has one copy, with the lanes in memory.
// Example: 3 turns of a sum: lanes 0 1 2; lane 0 meets 16, 8, 4 (nothing), then 2; lane 1 nothing; then 0 and 1:
// ((0 + x0) + (0 + x2)) + (0 + x1).
#include "jit/emit/phase.hpp"

#include "support/check.hpp"

#include <algorithm>
#include <bit>

namespace broadloom::jit {

using namespace loop;

void PhaseEmitter::short_loop(const block::Run &run) {
  const Loop &loop = program_[run.loop];
  support::check(vector_ != nullptr && vector_ != &loop, "a short row outside of a vector loop");
  const bool copied = run.whole().dims[0].as == block::As::Copies;
  took(copied ? Path::ShortCopied : Path::ShortLooped);
  const std::vector<Columns> columns = columns_, awaited = awaited_;
  const Values outer = at_;
  load_columns(run, !copied);
  await_columns(run, !copied);
  if (loop.accs.empty())
    short_map(run, copied);
  else
    set_running(loop, copied ? unrolled(run) : through_memory(run));
  at_ = outer;
  store_columns();
  columns_ = columns;
  awaited_ = awaited;
}

void PhaseEmitter::short_map(const block::Run &run, bool copied) {
  const Values outer = at_;
  const int turns = program_[run.loop].turns;
  for (int p = 0; copied && p < turns; ++p) turn(run.whole(), run.loop, outer, ir_.getInt64(0), p);
  if (copied) return;
  lanes_.counted_loop(ir_.getInt64(0), ir_.getInt64(static_cast<std::uint64_t>(turns)), 1, {},
                      [&](llvm::Value *position, Values) {
                        turn(run.whole(), run.loop, outer, position);
                        return Values{};
                      });
}

PhaseEmitter::AllStates PhaseEmitter::unrolled(const block::Run &run) {
  const Loop &loop = program_[run.loop];
  const Values outer = at_;
  AllStates result;
  if (loop.lanes > 1) {
    took(Path::ShortTree);
    result = *lane_tree(run, outer, 0, 1);
  } else {
    set_running(loop, start(loop, true));
    for (int p = 0; p < loop.turns; ++p) turn(run.whole(), run.loop, outer, ir_.getInt64(0), p);
    result = running(loop);
  }
  at_ = outer;
  return result;
}

// The join of the lanes `lane`, `lane` + `apart`, `lane` + 2 `apart` ..; nothing where none of them has a step.
std::optional<PhaseEmitter::AllStates>
PhaseEmitter::lane_tree(const block::Run &run, const Values &outer, int lane, int apart) {
  const Loop &loop = program_[run.loop];
  if (lane >= loop.turns) return std::nullopt;
  if (apart == loop.lanes) {
    set_running(loop, start(loop, false));
    turn(run.whole(), run.loop, outer, ir_.getInt64(0), lane);
    return running(loop);
  }
  AllStates left = *lane_tree(run, outer, lane, 2 * apart);
  const std::optional<AllStates> right = lane_tree(run, outer, lane + apart, 2 * apart);
  for (std::size_t k = 0; k < loop.accs.size(); ++k)
    left[k] = right ? join(loop.accs[k], left[k], (*right)[k])
                    : joined_with_identity(loop.accs[k], left[k], loop.lanes / (2 * apart));
  return left;
}

// Of `count` lanes that have had no step.
std::vector<ops::Scalar> PhaseEmitter::joined_identities(AccId acc, int count) const {
  const ops::Recipe &recipe = program_.recipe(acc);
  std::vector<ops::Scalar> none = recipe.start, work;
  for (; count > 1; count /= 2) {
    std::vector<ops::Scalar> both = none;
    both.insert(both.end(), none.begin(), none.end());
    ops::run(recipe.combine, both, work, program_.accuracy);
    for (std::size_t k = 0; k < none.size(); ++k) none[k] = work[recipe.combine.results[k]];
  }
  return none;
}

PhaseEmitter::States PhaseEmitter::joined_with_identity(AccId acc, const States &states,
                                                        int count) {
  const ops::Recipe &recipe = program_.recipe(acc);
  if (ops::identity_is_neutral(recipe)) return states;
  const std::vector<ops::Scalar> none = joined_identities(acc, count);
  States right;
  for (std::size_t k = 0; k < none.size(); ++k)
    right.push_back(lanes_.literal(recipe.states[k], none[k], Lanes::width(states[k])));
  return join(acc, states, right);
}

//   for p: room[p] = step(identity, ..)
//   for half = lanes / 2, .. 1, while `used` lanes are in use:
//     for l + half < used: room[l] = join(room[l], room[l + half])
//     for other l < half, used: room[l] = join(room[l], identity)      mostly folded away, as that is known
PhaseEmitter::AllStates PhaseEmitter::through_memory(const block::Run &run) {
  const Loop &loop = program_[run.loop];
  const Values outer = at_;
  llvm::Value *none = ir_.getInt64(0),
              *turns = ir_.getInt64(static_cast<std::uint64_t>(loop.turns));
  if (loop.lanes == 1) {
    const Values stepped = lanes_.counted_loop(none, turns, 1, flat(start(loop, true)),
                                               [&](auto *position, Values now) {
                                                 set_running(loop, shaped(loop, now));
                                                 turn(run.whole(), run.loop, outer, position);
                                                 return flat(running(loop));
                                               });
    at_ = outer;
    return shaped(loop, stepped);
  }
  took(Path::ShortInMemory);
  const Values first = flat(start(loop, false));
  std::vector<llvm::AllocaInst *> rooms;
  for (llvm::Value *state : first) rooms.push_back(lanes_.room(state->getType(), fold_lanes));
  lanes_.counted_loop(none, turns, 1, {}, [&](llvm::Value *position, Values) {
    set_running(loop, shaped(loop, first));
    turn(run.whole(), run.loop, outer, position);
    put(rooms, position, flat(running(loop)));
    return Values{};
  });
  at_ = outer;
  return join_in_memory(loop, rooms);
}

PhaseEmitter::AllStates PhaseEmitter::join_in_memory(const Loop &loop,
                                                     const std::vector<llvm::AllocaInst *> &rooms) {
  const auto states_at = [&](llvm::Value *lane) { return shaped(loop, waiting(rooms, lane)); };
  const auto for_lanes = [&](llvm::Value *from, llvm::Value *to, auto joined) {
    lanes_.counted_loop(from, to, 1, {}, [&](llvm::Value *lane, Values) {
      put(rooms, lane, flat(joined(lane)));
      return Values{};
    });
  };
  const auto least = [&](llvm::Value *a, llvm::Value *b) {
    return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  };
  llvm::Value *none = ir_.getInt64(0), *one = ir_.getInt64(1);
  llvm::Value *turns = ir_.getInt64(static_cast<std::uint64_t>(loop.turns));
  llvm::Value *levels = ir_.getInt64(std::countr_zero(unsigned(fold_lanes)));
  lanes_.counted_loop(
      none, levels, 1, {ir_.getInt64(fold_lanes / 2), turns}, [&](llvm::Value *, Values now) {
        llvm::Value *half = now[0], *used = now[1];
        llvm::Value *pairs =
            ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, none, ir_.CreateSub(used, half));
        llvm::Value *left = least(half, used);
        for_lanes(none, pairs, [&](llvm::Value *lane) {
          return join_blocks(loop, states_at(lane), states_at(ir_.CreateAdd(lane, half)));
        });
        for_lanes(pairs, left, [&](llvm::Value *lane) {
          AllStates block = states_at(lane);
          for (std::size_t k = 0; k < block.size(); ++k)
            block[k] = joined_with_identity(loop.accs[k], block[k], 1);
          return block;
        });
        return Values{ir_.CreateLShr(half, one), left};
      });
  return states_at(none);
}

} // namespace broadloom::jit
