// Tiles with operands that lie across: native code against the interpreter.
#include "loop_programs.hpp"
#include "native_runs.hpp"

namespace broadloom::jit {
namespace {

using namespace loop;
using namespace loop::test;
using jit::test::Runs;
using jit::test::targets_here;

constexpr auto unit = StrideClass::Unit;
constexpr auto other = StrideClass::Other;

// z[i, j] = f(a[i, j]) + (i + b[j, i] * c[j, i] or so), in tiles; the types are those of b and of all else.
Program tiled(DType across, DType rest, int blocks, bool stream) {
  Builder b;
  b.p.name = "tiled";
  const AxisId i = b.axis("i"), ic = b.axis("i.chunk", i), j = b.axis("j"),
               jc = b.axis("j.chunk", j);
  const BufferId a = b.buffer("a", Role::Input, 0, rest, {{i, other}, {j, unit}});
  const BufferId r = b.buffer("r", Role::Input, 1, rest, {{i, unit}});
  const BufferId z = b.buffer("z", Role::Output, 0, rest, {{i, other}, {j, unit}});
  b.p.buffers[z.index].stream = stream;
  const ValueId row = b.load(r), av = b.load(a);
  Loop lanes;
  lanes.axis = j;
  lanes.within = jc;
  lanes.vector = true;
  lanes.body = {let(av)};
  ValueId sum = b.op(ops::Op::Add, {av, row});
  lanes.body.push_back(let(sum));
  for (int k = 0; k < blocks; ++k) {
    const BufferId x = b.buffer("x" + std::to_string(k), Role::Input, std::uint32_t(2 + k), across,
                                {{j, other}, {i, unit}});
    const ValueId xv = b.load(x), cast = b.cast(xv, rest);
    sum = b.op(ops::Op::Add, {sum, cast});
    for (const ValueId v : {xv, cast, sum}) lanes.body.push_back(let(v));
  }
  lanes.body.push_back(set(z, sum));
  Loop rows;
  rows.axis = i;
  rows.within = ic;
  rows.body = {let(row), run(b.loop(lanes))};
  Loop columns;
  columns.axis = jc;
  columns.parallel = true;
  columns.body = {run(b.loop(rows))};
  Loop outer;
  outer.axis = ic;
  outer.parallel = true;
  outer.body = {run(b.loop(columns))};
  const LoopId id = b.loop(outer);
  b.p.phases.push_back({{run(id)}, {ic, jc}, 1});
  return b.p;
}

TEST_CASE("operands that lie across are the same in blocks, beside them and below") {
  const std::pair<DType, DType> types[] = {{DType::F32, DType::F32}, {DType::F64, DType::F64},
                                           {DType::I32, DType::F32}, {DType::F32, DType::F64},
                                           {DType::F64, DType::F32}, {DType::I64, DType::I64},
                                           {DType::I16, DType::I16}, {DType::C64, DType::C64}};
  for (const std::string &target : targets_here()) {
    for (const auto &[across, rest] : types) {
      for (const int blocks : {1, 2, 3}) {
        Runs runs(tiled(across, rest, blocks, blocks == 1), target);
        for (const auto &[rows, columns] : {std::pair{0, 20},
                                            {1, 17},
                                            {16, 16},
                                            {15, 33},
                                            {17, 8},
                                            {31, 32},
                                            {32, 31},
                                            {40, 70},
                                            {66, 64}}) {
          runs.extents = {rows, (rows + 31) / 32, columns, (columns + 31) / 32};
          runs.chunks = {32, 0, 32, 0};
          runs.at_end = (rows + columns) % 2 == 0;
          runs.special = rows % 3 == 0;
          runs.agree();
        }
      }
    }
  }
}

TEST_CASE("operands that lie across may run backwards") {
  for (const std::string &target : targets_here()) {
    Runs runs(tiled(DType::F32, DType::F32, 1, false), target);
    runs.extents = {40, 2, 50, 2};
    runs.chunks = {32, 0, 32, 0};
    runs.reversed = true;
    runs.agree();
  }
}

} // namespace
} // namespace broadloom::jit
