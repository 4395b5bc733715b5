// See block.hpp: the tree's own functions.
#include "block/block.hpp"

#include "block/chooser.hpp"
#include "support/check.hpp"

#include <algorithm>

namespace broadloom::block {

using namespace loop;

int Box::count(As as) const {
  int all = 1;
  for (const Dim &dim : dims)
    if (dim.as == as) all *= dim.count;
  return all;
}

int Box::positions() const {
  int all = 1;
  for (const Dim &dim : dims)
    if (dim.axis == dims.back().axis) all *= dim.count;
  return all;
}

const Access &Box::access(BufferId buffer, bool store) const {
  const auto found = std::ranges::find_if(
      accesses, [&](const Access &a) { return a.buffer == buffer && a.store == store; });
  support::check(found != accesses.end(), "a box does not say how a buffer moves");
  return *found;
}

const Run &run_of(const Box &box, LoopId loop) {
  const auto found =
      std::ranges::find_if(box.runs, [&](const Run &run) { return run.loop.index == loop.index; });
  support::check(found != box.runs.end(), "a box does not say how a loop in it is run");
  return *found;
}

std::vector<BufferId> streams(const loop::Program &program, LoopId id) {
  const Loop &loop = program[id];
  std::vector<BufferId> result;
  for (const Stmt &s : loop.body) {
    if (s.kind != StmtKind::Set || !program[s.buffer].stream) continue;
    const Walk *w = walk(program, s.buffer, loop.axis);
    if (w != nullptr && w->stride == StrideClass::Unit) result.push_back(s.buffer);
  }
  return result;
}

namespace {

void number(Box &box, int &next) {
  box.id = next++;
  for (Run &run : box.runs)
    for (Box &inner : run.boxes) number(inner, next);
}

} // namespace

Program choose(const loop::Program &program, const Weights &weights, const Machine &machine) {
  Program blocks;
  blocks.machine = machine;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    blocks.surveys.push_back(survey(program, p, weights));
    const Chooser chooser(program, blocks.surveys.back(), blocks.machine);
    blocks.phases.push_back(chooser.box({}, program.phases[p].body, {}));
    number(blocks.phases.back(), blocks.boxes);
  }
  verify(program, blocks);
  return blocks;
}

} // namespace broadloom::block
