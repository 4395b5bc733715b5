// See block.hpp: the tree's own functions.
#include "block/block.hpp"

#include "support/check.hpp"

#include <algorithm>
#include <random>

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

int Box::apiece() const {
  return dims.size() == 2 && dims[0].as == As::Lanes && dims[1].as == As::Copies ? dims[1].count
                                                                                 : 1;
}

const Access *Box::find(BufferId buffer, bool store) const {
  const auto found = std::ranges::find_if(
      accesses, [&](const Access &a) { return a.buffer == buffer && a.store == store; });
  return found == accesses.end() ? nullptr : &*found;
}

const Access &Box::access(BufferId buffer, bool store) const {
  const Access *found = find(buffer, store);
  support::check(found != nullptr, "a box does not say how a buffer moves");
  return *found;
}

LoopId Run::body_of(const Box &box) const {
  return shape >= Shape::RowTile && box.dims.size() > 1 ? inner : loop; // a rest is single rows
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

Sizes random_sizes(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto one_of = [&](std::initializer_list<int> values) {
    return values.begin()[random() % values.size()];
  };
  Sizes sizes;
  sizes.columns = one_of({1, 2, 4, 8});
  sizes.leaves = one_of({1, 2, 4, 8});
  sizes.leaf_registers = one_of({2, 8, 32});
  sizes.scan_totals = one_of({1, 2, 4});
  sizes.jammed_rows = one_of({2, 4, 8});
  sizes.tile_rows = one_of({2, 4, 8});
  sizes.tile_folds = one_of({1, 2, 4, 6, 12});
  sizes.transposed = one_of({0, 1, 2, 3});
  sizes.narrower = one_of({1, 1, 2});
  sizes.copied_body = std::size_t(one_of({0, 4, 16, 64}));
  sizes.short_statements = std::size_t(one_of({0, 32, 512}));
  sizes.transposed_body = std::size_t(one_of({4, 12, 32}));
  sizes.least_leaf = one_of({2, 64, 128});
  sizes.bytes_of_thread = one_of({1, 8, 16, 16});
  sizes.asks_ahead = one_of({0, 1, 1}) > 0;
  sizes.copied_functions = one_of({0, 12, 40});
  return sizes;
}

} // namespace broadloom::block
