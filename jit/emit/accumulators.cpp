// See accumulators.hpp.
#include "jit/emit/accumulators.hpp"

#include "loop/tree.hpp"

namespace broadloom::jit {

using namespace loop;

Values flat(const AllStates &block) { return flat(Blocks{block}); }

Values flat(const Blocks &blocks) {
  Values values;
  for (const AllStates &block : blocks)
    for (const States &states : block) values.insert(values.end(), states.begin(), states.end());
  return values;
}

// Whether each step adds 1 to this state, which is 0 before the first.
static bool counts_steps(const ops::Recipe &recipe, std::size_t state) {
  const ops::Code &step = recipe.step;
  const auto line = [&](std::uint32_t value) {
    return value < std::uint32_t(step.inputs) ? nullptr : &step.lines[value - step.inputs];
  };
  const auto is_one = [&](std::uint32_t value) {
    const ops::Code::Line *literal = line(value);
    return literal != nullptr && literal->kind == ops::Code::Line::Kind::Literal &&
           literal->literal == ops::scalar_from(1.0);
  };
  if (recipe.states[state] != DType::F64 || recipe.start[state] != ops::scalar_from(0.0))
    return false;
  const ops::Code::Line *next = line(step.results[state]);
  return next != nullptr && next->kind == ops::Code::Line::Kind::Op && next->op == ops::Op::Add &&
         next->args[0] == state && is_one(next->args[1]);
}

Accumulators::Accumulators(Context &context)
    : program_(context.program), ir_(context.ir), lanes_(context.lanes),
      all_(context.program.accs.size()) {
  for (const Loop &loop : program_.loops)
    for (const AccId acc : loop.accs)
      all_[acc.index].takes_blocks = takes_blocks(program_, loop, acc);
}

States Accumulators::identity(AccId acc, int width) {
  const ops::Recipe &recipe = program_.recipe(acc);
  States states;
  for (std::size_t k = 0; k < recipe.states.size(); ++k)
    states.push_back(lanes_.literal(recipe.states[k], recipe.start[k], width));
  return states;
}

States Accumulators::join(AccId acc, const States &left, const States &right) {
  States inputs = left;
  inputs.insert(inputs.end(), right.begin(), right.end());
  return lanes_.run(program_.recipe(acc).combine, inputs);
}

AllStates Accumulators::join(const Loop &loop, const AllStates &left, const AllStates &right) {
  AllStates both;
  for (std::size_t k = 0; k < loop.accs.size(); ++k)
    both.push_back(join(loop.accs[k], left[k], right[k]));
  return both;
}

States Accumulators::join_vectors(AccId acc, std::vector<States> lanes) {
  tree::halve(int(lanes.size()), [&](int into, int from) {
    lanes[std::size_t(into)] = join(acc, lanes[std::size_t(into)], lanes[std::size_t(from)]);
  });
  return std::move(lanes.front());
}

States Accumulators::join_lanes(AccId acc, std::vector<States> lanes) {
  States states = join_vectors(acc, std::move(lanes));
  if (lanes_.are_threads()) { // as above, one state in each thread, and all have what comes of it
    for (unsigned half = unsigned(fold_ways) / 2; half >= 1; half /= 2)
      states = join(acc, states, of_later_thread(states, half));
    return of_thread(states, ir_.getInt32(0));
  }
  const auto part = [&](int first, int count) {
    States out;
    for (llvm::Value *state : states) out.push_back(lanes_.some_lanes(state, first, count));
    return out;
  };
  for (int half = Lanes::width(states[0]) / 2; half >= 1; half /= 2)
    states = join(acc, part(0, half), part(half, half));
  return states;
}

// Where a vector has all lanes of some folds, its first halves, and those of the next vector, are
// the lanes of one, and so are the later halves. With 2 folds of 4 lanes, of which ab is a + b:
//
//   a0 a1 a2 a3 | b0 b1 b2 b3    ->   a0 a1 b0 b1 + a2 a3 b2 b3   ->   a02 b02 + a13 b13
std::vector<States> Accumulators::join_lanes(AccId acc, std::vector<std::vector<States>> folds) {
  const std::size_t count = folds.size();
  if (count == 1) return {join_lanes(acc, std::move(folds[0]))};
  std::vector<States> vectors;
  for (std::vector<States> &lanes : folds) vectors.push_back(join_vectors(acc, std::move(lanes)));
  int in_vector = 1; // folds
  const auto halves = [&](const States &a, const States &b, int folds_of_both, int first,
                          int half) {
    std::vector<int> sources;
    for (int fold = 0; fold < folds_of_both; ++fold)
      for (int lane = 0; lane < half; ++lane) sources.push_back(fold * 2 * half + first + lane);
    States taken;
    for (std::size_t s = 0; s < a.size(); ++s) taken.push_back(lanes_.shuffle(a[s], b[s], sources));
    return taken;
  };
  for (int half = Lanes::width(vectors[0][0]) / 2; half >= 1; half /= 2) {
    if (vectors.size() % 2 == 1) vectors.push_back(vectors.back()); // which nobody looks at
    std::vector<States> next;
    for (std::size_t k = 0; k < vectors.size(); k += 2) {
      const States &a = vectors[k], &b = vectors[k + 1];
      next.push_back(
          join(acc, halves(a, b, 2 * in_vector, 0, half), halves(a, b, 2 * in_vector, half, half)));
    }
    in_vector *= 2;
    vectors = std::move(next);
  }
  std::vector<States> joined;
  for (std::size_t k = 0; k < count; ++k) {
    States &states = joined.emplace_back();
    for (llvm::Value *state : vectors[k / std::size_t(in_vector)])
      states.push_back(lanes_.some_lanes(state, int(k) % in_vector, 1));
  }
  return joined;
}

States Accumulators::of_thread(const States &states, llvm::Value *number) {
  States taken;
  for (llvm::Value *state : states) taken.push_back(lanes_.of_thread(state, number));
  return taken;
}

States Accumulators::of_later_thread(const States &states, unsigned apart) {
  return of_thread(states, ir_.CreateAdd(lanes_.thread(), ir_.getInt32(apart)));
}

// One state in each thread; those that have no partner join what nobody looks at. In the end all
// have what the first one has.
States Accumulators::join_neighbours(AccId acc, States states) {
  for (unsigned apart = 1; apart < unsigned(fold_ways); apart *= 2)
    states = join(acc, states, of_later_thread(states, apart));
  return of_thread(states, ir_.getInt32(0));
}

States Accumulators::join_identities(AccId acc, const States &states, int count) {
  const ops::Recipe &recipe = program_.recipe(acc);
  if (ops::identity_is_neutral(recipe)) return states;
  std::vector<ops::Scalar> none = recipe.start, work;
  for (; count > 1; count /= 2) { // joined among themselves
    std::vector<ops::Scalar> both = none;
    both.insert(both.end(), none.begin(), none.end());
    ops::run(recipe.combine, both, work, program_.accuracy);
    for (std::size_t k = 0; k < none.size(); ++k) none[k] = work[recipe.combine.results[k]];
  }
  States right;
  for (std::size_t k = 0; k < none.size(); ++k)
    right.push_back(lanes_.literal(recipe.states[k], none[k], Lanes::width(states[k])));
  return join(acc, states, right);
}

void Accumulators::set_counts(const Loop &loop, Blocks &blocks, llvm::Value *steps) {
  for (std::size_t k = 0; k < loop.accs.size(); ++k) {
    const ops::Recipe &recipe = program_.recipe(loop.accs[k]);
    for (std::size_t s = 0; s < recipe.states.size(); ++s) {
      if (!counts_steps(recipe, s) || all_[loop.accs[k].index].takes_blocks) continue;
      llvm::Value *count = ir_.CreateSIToFP(steps, ir_.getDoubleTy());
      for (AllStates &block : blocks) block[k][s] = lanes_.splat(count, Lanes::width(block[k][s]));
    }
  }
}

AllStates Accumulators::running(const Loop &loop) const {
  AllStates block;
  for (const AccId acc : loop.accs) block.push_back(all_[acc.index].now);
  return block;
}

void Accumulators::set_running(const Loop &loop, const AllStates &states) {
  for (std::size_t k = 0; k < loop.accs.size(); ++k) all_[loop.accs[k].index].now = states[k];
}

AllStates Accumulators::shaped(const Loop &loop, const Values &values) const {
  return blocks(loop, values).front();
}

Blocks Accumulators::blocks(const Loop &loop, const Values &values) const {
  if (loop.accs.empty()) return {AllStates{}}; // of a loop that has none
  Blocks blocks;
  for (auto next = values.begin(); next != values.end();) {
    AllStates &block = blocks.emplace_back();
    for (const AccId acc : loop.accs) {
      const auto count = static_cast<std::ptrdiff_t>(program_.recipe(acc).states.size());
      block.emplace_back(next, next + count);
      next += count;
    }
  }
  return blocks;
}

Blocks Accumulators::counted_loop(const Loop &loop, Range range, std::int64_t step,
                                  const Blocks &start,
                                  llvm::function_ref<void(llvm::Value *, Blocks &)> turn) {
  const auto next = [&](llvm::Value *position, const Values &now) {
    Blocks states = blocks(loop, now);
    turn(position, states);
    return flat(states);
  };
  return blocks(loop, lanes_.counted_loop(range.begin, range.end, step, flat(start), next));
}

Accumulators::Slots Accumulators::slots(const Values &states, int count) {
  Slots slots;
  for (llvm::Value *state : states)
    slots.push_back(lanes_.room(state->getType(), static_cast<std::uint64_t>(count)));
  return slots;
}

Blocks Accumulators::load(const Loop &loop, const Slots &slots, llvm::Value *index) {
  Values states;
  for (llvm::AllocaInst *slot : slots) {
    llvm::Type *type = slot->getAllocatedType();
    states.push_back(ir_.CreateLoad(type, ir_.CreateGEP(type, slot, index)));
  }
  return blocks(loop, states);
}

void Accumulators::store(const Slots &slots, llvm::Value *index, const Values &states) {
  for (std::size_t k = 0; k < states.size(); ++k)
    ir_.CreateStore(states[k], ir_.CreateGEP(states[k]->getType(), slots[k], index));
}

} // namespace broadloom::jit
