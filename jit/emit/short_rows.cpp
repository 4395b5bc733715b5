// Folds of a few known turns inside a vector loop: rows of 8, of which the vector loop takes 16 at
// once.
//
// Problem: the tree of loop.hpp has 32 ways, of which a row of 8 fills 8; lanes along the row would
// run mostly idle, and join five times for each row.
// Method: the lanes of the vector are rows. Each lane of the tree is a vector of states of its own,
// with every 32nd step, and the joins are joins of whole vectors. Lanes without a step hold the
// identity; joins with it are made where they may change a bit (ops::identity_is_neutral). The
// copies of the body come in the order in which the tree needs them, so that few states wait; a
// heavy body has one copy, with the lanes in memory.
// Example: 3 turns of a sum: lanes 0 1 2; lane 0 meets 16, 8, 4 (nothing), then 2; lane 1 nothing;
// then 0 and 1: ((0 + x0) + (0 + x2)) + (0 + x1), as 0 + ((x0 + x2) + x1).
#include "jit/emit/folds.hpp"

#include "jit/emit/phase.hpp"
#include "support/check.hpp"

#include <bit>

namespace broadloom::jit {

using namespace loop;

namespace {

// A sum of floats from 0. Each way would add its first element to 0, which changes -0 alone. 0 that
// is added once, to the result, does so, too. Added to -0 an element stays as it is, without code.
bool sums_from_zero(const ops::Recipe &recipe) {
  return ops::only_op(recipe) == ops::Op::Add && ops::step_is_join(recipe) &&
         size_of(recipe.states[0]) >= sizeof(float) && is_float(recipe.states[0]) &&
         recipe.start[0].bits == 0;
}

} // namespace

void Folds::short_loop(const Place &around, const block::Run &run) {
  const Loop &loop = program_[run.loop];
  support::check(around.group.loop != nullptr && around.group.loop != &loop,
                 "a short row outside of a vector loop");
  const bool copied = run.whole().dims[0].as == block::As::Copies;
  context_.took(copied ? Path::ShortCopied : Path::ShortLooped);
  Registers loaded = memory_.columns(around, run, false, !copied);
  Registers awaited = memory_.columns(around, run, true, !copied);
  Place here = around;
  for (auto &[buffer, elements] : loaded) here.loaded[buffer] = &elements;
  for (auto &[buffer, elements] : awaited) here.awaited[buffer] = &elements;
  accs_.set_running(loop, copied ? unrolled(here, run) : on_stack(here, run));
  memory_.store_columns(around, awaited);
}

AllStates Folds::unrolled(const Place &here, const block::Run &run) {
  const Loop &loop = program_[run.loop];
  if (loop.ways > 1) {
    context_.took(Path::ShortTree);
    if (loop.turns > loop.ways) context_.took(Path::ShortRounds);
    AllStates tree = *lane_tree(here, run, 0, 1);
    for (std::size_t k = 0; k < tree.size(); ++k)
      if (sums_from_zero(program_.recipe(loop.accs[k])))
        tree[k][0] = ir_.CreateFAdd(llvm::ConstantFP::get(tree[k][0]->getType(), 0.0), tree[k][0]);
    return tree;
  }
  accs_.set_running(loop, start(here, loop, true));
  for (int p = 0; p < loop.turns; ++p) walk_.turn(here, run.whole(), run.loop, ir_.getInt64(0), p);
  return accs_.running(loop);
}

// The steps of each leaf, one after the other, and the leaves joined pairwise: the tree of
// cascade.cpp, without a loop. A range of joins has leaves of one step.
void Folds::unrolled_fold(const Place &here, const block::Run &run) {
  const Loop &loop = program_[run.loop];
  const std::int64_t positions = run.whole().positions(),
                     size = loop.leaf > 0 ? std::min(loop.leaf, positions) : positions;
  context_.took(Path::FoldUnrolled);
  Blocks leaves;
  for (std::int64_t first = 0; first < positions; first += size) {
    Blocks now{start(here, loop, loop.leaf == 0)};
    const std::int64_t steps = std::min(size, positions - first);
    const auto counted = [&](std::int64_t taken) {
      if (loop.leaf > 0) accs_.set_counts(loop, now, context_.number(taken));
    };
    for (std::int64_t k = 0; k < steps; ++k) {
      counted(k);
      accs_.set_running(loop, now.front());
      walk_.turn(here, run.whole(), run.loop, ir_.getInt64(0), first + k);
      now.front() = accs_.running(loop);
    }
    counted(steps);
    leaves.push_back(std::move(now.front()));
  }
  while (leaves.size() > 1) {
    Blocks joined;
    for (std::size_t k = 0; k + 1 < leaves.size(); k += 2)
      joined.push_back(accs_.join(loop, leaves[k], leaves[k + 1]));
    if (leaves.size() % 2 == 1) joined.push_back(std::move(leaves.back()));
    leaves = std::move(joined);
  }
  accs_.set_running(loop, leaves.front());
}

// The join of the lanes `lane`, `lane` + `apart`, `lane` + 2 `apart` ..; nothing where none of them
// has a step.
std::optional<AllStates> Folds::lane_tree(const Place &here, const block::Run &run, int lane,
                                          int apart) {
  const Loop &loop = program_[run.loop];
  if (lane >= loop.turns) return std::nullopt;
  if (apart == loop.ways) {
    AllStates first = start(here, loop, false);
    for (std::size_t k = 0; k < first.size(); ++k)
      if (sums_from_zero(program_.recipe(loop.accs[k])))
        first[k][0] = llvm::ConstantFP::get(first[k][0]->getType(), -0.0);
    accs_.set_running(loop, first);
    for (int p = lane; p < loop.turns; p += loop.ways)
      walk_.turn(here, run.whole(), run.loop, ir_.getInt64(0), p);
    return accs_.running(loop);
  }
  AllStates left = *lane_tree(here, run, lane, 2 * apart);
  const std::optional<AllStates> right = lane_tree(here, run, lane + apart, 2 * apart);
  for (std::size_t k = 0; k < loop.accs.size(); ++k)
    left[k] = right ? accs_.join(loop.accs[k], left[k], (*right)[k])
                    : accs_.join_identities(loop.accs[k], left[k], loop.ways / (2 * apart));
  return left;
}

//   for p: slot[p % 32] = step(identity or what is there, ..)
//   for half = lanes / 2, .. 1, while `used` lanes are in use:
//     for l + half < used: slot[l] = join(slot[l], slot[l + half])
//     for other l < half, used: slot[l] = join(slot[l], identity)
//         mostly folded away, as that is known
AllStates Folds::on_stack(const Place &here, const block::Run &run) {
  const Loop &loop = program_[run.loop];
  llvm::Value *none = ir_.getInt64(0), *turns = context_.number(loop.turns);
  if (loop.ways == 1)
    return steps(here, run, run.whole(), {none, turns}, 1, {start(here, loop, true)}, 0, {}, false)
        .front();
  context_.took(Path::ShortInMemory);
  const AllStates first = start(here, loop, false);
  const Accumulators::Slots slots = accs_.slots(flat(first), fold_ways);
  llvm::Value *lanes = context_.number(std::min(loop.turns, fold_ways));
  context_.each({none, lanes}, 1, [&](llvm::Value *lane) {
    accs_.store(slots, lane,
                flat(steps(here, run, run.whole(), {lane, turns}, loop.ways, {first}, 0, {}, false)
                         .front()));
  });
  return join_on_stack(loop, slots);
}

AllStates Folds::join_on_stack(const Loop &loop, const Accumulators::Slots &slots) {
  const auto states_at = [&](llvm::Value *lane) { return accs_.load(loop, slots, lane).front(); };
  const auto for_lanes = [&](llvm::Value *from, llvm::Value *to, auto joined) {
    context_.each({from, to}, 1,
                  [&](llvm::Value *lane) { accs_.store(slots, lane, flat(joined(lane))); });
  };
  llvm::Value *none = ir_.getInt64(0), *one = ir_.getInt64(1);
  lanes_.counted_loop(
      none, context_.number(std::countr_zero(unsigned(fold_ways))), 1,
      {ir_.getInt64(fold_ways / 2), context_.number(std::min(loop.turns, fold_ways))},
      [&](llvm::Value *, Values now) {
        llvm::Value *half = now[0], *used = now[1];
        llvm::Value *pairs = context_.greatest(none, ir_.CreateSub(used, half));
        llvm::Value *left = context_.least(half, used);
        for_lanes(none, pairs, [&](llvm::Value *lane) {
          return accs_.join(loop, states_at(lane), states_at(ir_.CreateAdd(lane, half)));
        });
        for_lanes(pairs, left, [&](llvm::Value *lane) {
          AllStates block = states_at(lane);
          for (std::size_t k = 0; k < block.size(); ++k)
            block[k] = accs_.join_identities(loop.accs[k], block[k], 1);
          return block;
        });
        return Values{ir_.CreateLShr(half, one), left};
      });
  return states_at(none);
}

} // namespace broadloom::jit
