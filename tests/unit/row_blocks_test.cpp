// Rows of a product in one group of lanes: native code against the interpreter, byte for byte.
#include "loop_programs.hpp"
#include "native_runs.hpp"

#include "jit/emit/emit.hpp"

#include <broadloom/broadloom.hpp>

namespace broadloom::jit {
namespace {

using namespace loop;
using namespace loop::test;
using jit::test::Runs;
using jit::test::targets_here;

// c[i, j] = fold_k a[i, k] * b[k, j], plus x[j] * y[i]
Program product(Fold fold, DType dtype, DType acc, StrideClass b_class) {
  Builder b;
  b.p.name = "product";
  constexpr auto unit = StrideClass::Unit, other = StrideClass::Other;
  const AxisId i = b.axis("i"), j = b.axis("j"), k = b.axis("k");
  const BufferId left = b.buffer("a", Role::Input, 0, dtype, {{i, other}, {k, unit}});
  const BufferId right = b.buffer("b", Role::Input, 1, dtype, {{k, other}, {j, b_class}});
  b.p.buffers[right.index].reread = true;
  const BufferId x = b.buffer("x", Role::Input, 2, acc, {{j, unit}});
  const BufferId y = b.buffer("y", Role::Input, 3, acc, {{i, unit}});
  const BufferId c = b.buffer("c", Role::Output, 0, acc, {{i, other}, {j, unit}});
  const AccId a = b.acc(fold, acc);
  const ValueId l = b.load(left), r = b.load(right), both = b.op(ops::Op::Mul, {l, r});
  const ValueId wide = b.cast(both, acc);
  Loop inner;
  inner.axis = k;
  inner.accs = {a};
  inner.leaf = 128;
  inner.body = {let(l), let(r), let(both), let(wide), step(a, wide)};
  const LoopId inner_id = b.loop(inner);
  const ValueId xv = b.load(x), yv = b.load(y), outer_product = b.op(ops::Op::Mul, {xv, yv});
  const ValueId result = b.result(a), sum = b.op(ops::Op::Add, {result, outer_product});
  Loop lanes;
  lanes.axis = j;
  lanes.parallel = lanes.vector = true;
  lanes.body = {run(inner_id), let(xv),  let(yv),    let(outer_product),
                let(result),   let(sum), set(c, sum)};
  const LoopId lanes_id = b.loop(lanes);
  Loop rows;
  rows.axis = i;
  rows.parallel = true;
  rows.body = {run(lanes_id)};
  const LoopId rows_id = b.loop(rows);
  b.p.phases.push_back({{run(rows_id)}, {i, j}, 1});
  return b.p;
}

TEST_CASE("a product of matrices runs in blocks of rows") {
  for (const std::string &target : targets_here()) {
    const Program p = product(Fold::Sum, DType::F32, DType::F64, StrideClass::Unit);
    const std::vector<LoopWidth> widths = loop_widths(p, find_target(target));
    REQUIRE(widths.size() == 1);
    CHECK(widths[0].shape == LoopWidth::Shape::RowBlock);
    CHECK(widths[0].rows == 4);
  }
}

TEST_CASE("blocks of rows give the interpreter's bytes, whatever is left over beside them") {
  for (const std::string &target : targets_here()) {
    for (const auto &[fold, dtype, acc] : {std::tuple(Fold::Sum, DType::F32, DType::F64),
                                           {Fold::Sum, DType::F64, DType::F64},
                                           {Fold::Max, DType::F32, DType::F32},
                                           {Fold::Sum, DType::I16, DType::I64}}) {
      for (const auto b_class : {StrideClass::Unit, StrideClass::Other}) {
        Runs runs(product(fold, dtype, acc, b_class), target);
        for (const std::int64_t rows : {0, 1, 3, 4, 5, 9}) {
          for (const std::int64_t columns : {1, 8, 31, 32, 33, 64, 65, 130}) {
            for (const std::int64_t steps : {0, 1, 7, 129}) {
              runs.extents = {rows, columns, steps};
              runs.parts = runs.at_end = (rows + columns + steps) % 2 == 0;
              runs.reversed = columns % 3 == 0;
              runs.agree();
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a large product has the interpreter's bits on any number of threads") {
  const std::int64_t rows = 7, columns = 530, steps = 520; // b is larger than 1 MB
  std::vector<float> a(std::size_t(rows * steps)), b(std::size_t(steps * columns));
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = float(k % 251) / 251;
  for (std::size_t k = 0; k < b.size(); ++k) b[k] = float(k % 241) / 241 - 0.5f;
  const LoopSpec spec = broadloom::parse("kernel k { in a : f32[i, k]; in b : f32[k, j]\n"
                              "  out c[i, j] = sum(a * b, k) }");
  const auto run = [&](Engine engine, int threads) {
    Options options;
    options.engine = engine;
    options.threads = threads;
    const Results r =
        compile(spec, options)({{"a", View<const float>(a.data(), {rows, steps})},
                                {"b", View<const float>(b.data(), {steps, columns})}});
    const float *c = r["c"].data<float>();
    return std::vector<float>(c, c + rows * columns);
  };
  const std::vector<float> told = run(Engine::Interpreter, 1);
  CHECK(run(Engine::Auto, 1) == told);
  CHECK(run(Engine::Auto, 2) == told);
}

} // namespace
} // namespace broadloom::jit
