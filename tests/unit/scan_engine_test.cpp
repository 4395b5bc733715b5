// Accumulators of several states, ordered folds and scans: native code against the interpreter.
#include "loop_programs.hpp"
#include "native_runs.hpp"

namespace broadloom::jit {
namespace {

using namespace loop;
using namespace loop::test;
using jit::test::Runs;
using jit::test::targets_here;
using ops::Code;
using ops::Op;
using ops::Recipe;

constexpr auto unit = StrideClass::Unit;
constexpr auto other = StrideClass::Other;

Code::Line line(Op op, DType compute, DType dtype, std::uint32_t a, std::uint32_t b,
                std::uint32_t c = 0) {
  return {Code::Line::Kind::Op, op, compute, dtype, {a, b, c}, ops::info(op).arity, {}};
}
Code::Line number(double x, DType dtype) {
  const auto value = ops::convert(ops::scalar_from(x), DType::F64, dtype);
  return {Code::Line::Kind::Literal, Op::Add, dtype, dtype, {}, 0, value};
}

// The greatest value and where it was first seen: (v, i), started from (-inf, -1).
Recipe greatest() {
  Recipe r;
  r.name = "greatest";
  r.states = r.args = {DType::F64, DType::I64};
  r.start = {ops::scalar_from(-std::numeric_limits<double>::infinity()),
             ops::scalar_from(std::int64_t(-1))};
  Code take; // v i x at
  take.inputs = 4;
  take.lines = {line(Op::Gt, DType::F64, DType::Bool, 2, 0),
                line(Op::Where, DType::F64, DType::F64, 4, 2, 0),
                line(Op::Where, DType::I64, DType::I64, 4, 3, 1)};
  take.results = {5, 6};
  r.step = r.combine = take;
  return r;
}

// The mean of what was seen: (n, m), n counted in i32 so that the states differ in width.
Recipe running_mean() {
  Recipe r;
  r.name = "running_mean";
  r.states = {DType::I32, DType::F64};
  r.args = {DType::F64};
  r.start = {ops::Scalar{}, ops::Scalar{}};
  r.step.inputs = 3; // n m x
  r.step.lines = {number(1, DType::I32),
                  line(Op::Add, DType::I32, DType::I32, 0, 3),
                  {Code::Line::Kind::Cast, Op::Add, DType::I32, DType::F64, {4}, 1, 0},
                  line(Op::Sub, DType::F64, DType::F64, 2, 1),
                  line(Op::Div, DType::F64, DType::F64, 6, 5),
                  line(Op::Add, DType::F64, DType::F64, 1, 7)};
  r.step.results = {4, 8};
  return r;
}

// z[k] = the index of the greatest x[k, i], in 32 lanes and leaves of 64 positions
Program greatest_of_rows() {
  Builder b;
  b.p.name = "greatest";
  const AxisId k = b.axis("k"), i = b.axis("i");
  const BufferId x = b.buffer("x", Role::Input, 0, DType::F64, {{k, other}, {i, unit}});
  const BufferId z = b.buffer("z", Role::Output, 0, DType::I64, {{k, unit}});
  const AccId a = b.acc(greatest());
  const ValueId xv = b.load(x), at = b.along(ValueKind::Index, i);
  Loop inner;
  inner.axis = i;
  inner.vector = true;
  inner.accs = {a};
  inner.lanes = 32;
  inner.leaf = 64;
  inner.body = {let(xv), let(at), Stmt::step(a, {xv, at})};
  const LoopId inner_id = b.loop(inner);
  const ValueId s = b.result(a, 1);
  Loop outer;
  outer.axis = k;
  outer.parallel = true;
  outer.body = {run(inner_id), let(s), set(z, s)};
  const LoopId outer_id = b.loop(outer);
  b.p.phases.push_back({{run(outer_id)}, {k}, 1});
  return b.p;
}

// z[k] = the ordered mean of x[i, j, k] over i and j, with the vector along k: the inner loop goes on
// from the running states of the outer one.
Program ordered_over_two() {
  Builder b;
  b.p.name = "ordered";
  const AxisId i = b.axis("i"), j = b.axis("j"), k = b.axis("k");
  const BufferId x = b.buffer("x", Role::Input, 0, DType::F64, {{i, other}, {j, other}, {k, unit}});
  const BufferId z = b.buffer("z", Role::Output, 0, DType::F64, {{k, unit}});
  Recipe taker = running_mean();
  taker.args = taker.states;
  taker.step = {4, {}, {2, 3}};
  const AccId outer_acc = b.acc(taker);
  std::vector<ValueId> so_far;
  for (std::uint32_t s = 0; s < 2; ++s) so_far.push_back(b.running(outer_acc, s));
  const AccId inner_acc = b.acc(running_mean());
  b.p.accs[inner_acc.index].start = so_far;
  const ValueId xv = b.load(x);
  Loop inner;
  inner.axis = j;
  inner.accs = {inner_acc};
  inner.body = {let(xv), step(inner_acc, xv)};
  const LoopId inner_id = b.loop(inner);
  const ValueId n = b.result(inner_acc, 0), m = b.result(inner_acc, 1);
  Loop outer;
  outer.axis = i;
  outer.accs = {outer_acc};
  outer.body = {let(so_far[0]), let(so_far[1]), run(inner_id),
                let(n),         let(m),         Stmt::step(outer_acc, {n, m})};
  const LoopId outer_id = b.loop(outer);
  const ValueId mean = b.result(outer_acc, 1);
  Loop kept;
  kept.axis = k;
  kept.parallel = kept.vector = true;
  kept.body = {run(outer_id), let(mean), set(z, mean)};
  const LoopId kept_id = b.loop(kept);
  b.p.phases.push_back({{run(kept_id)}, {k}, 1});
  return b.p;
}

struct ScanShape {
  std::int64_t leaf = 0;
  bool exclusive = false, reverse = false, vector = false, given = false;
  bool lanes = false;
};

// z[k, i] = the running sum of x[k, i] along i, from y[k] where `given`
Program running_sums(const ScanShape &shape) {
  Builder b;
  b.p.name = "running";
  const AxisId k = b.axis("k"), i = b.axis("i");
  std::vector<Walk> walks{{k, other}, {i, unit}};
  if (shape.vector) walks = {{i, other}, {k, unit}};
  const BufferId x = b.buffer("x", Role::Input, 0, DType::F32, walks);
  const BufferId y = b.buffer("y", Role::Input, 1, DType::F64, {{k, unit}});
  const BufferId z = b.buffer("z", Role::Output, 0, DType::F64, walks);
  const ValueId first = b.load(y);
  const AccId a = b.acc(Fold::Sum, DType::F64);
  if (shape.given) b.p.accs[a.index].start = {first};
  const ValueId xv = b.load(x), wide = b.cast(xv, DType::F64), now = b.running(a, 0);
  Loop inner;
  inner.axis = i;
  inner.scan = true;
  inner.reverse = shape.reverse;
  inner.accs = {a};
  inner.leaf = shape.leaf;
  if (shape.lanes) {
    inner.vector = true;
    inner.lanes = scan_lanes;
  }
  inner.body = {let(xv), let(wide)};
  if (shape.exclusive) inner.body.push_back(let(now));
  inner.body.push_back(step(a, wide));
  if (!shape.exclusive) inner.body.push_back(let(now));
  inner.body.push_back(set(z, now));
  const LoopId inner_id = b.loop(inner);
  Loop outer;
  outer.axis = k;
  outer.parallel = true;
  outer.vector = shape.vector;
  outer.body = {let(first), run(inner_id)};
  const LoopId outer_id = b.loop(outer);
  b.p.phases.push_back({{run(outer_id)}, {k}, 1});
  return b.p;
}

TEST_CASE("an accumulator of two states runs in lanes and leaves like one of one state") {
  for (const std::string &target : targets_here()) {
    Runs runs(greatest_of_rows(), target);
    for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 63, 64, 65, 128, 200, 1000}) {
      runs.extents = {3, n};
      runs.special = n % 2 == 0;
      runs.at_end = n % 3 != 0;
      runs.agree();
    }
  }
}

TEST_CASE("an ordered fold over two loops goes on from row to row in every lane") {
  for (const std::string &target : targets_here()) {
    Runs runs(ordered_over_two(), target);
    for (const std::int64_t rows : {0, 1, 3}) {
      for (const std::int64_t n : {0, 1, 7, 16, 33, 70}) {
        runs.extents = {rows, 4, n};
        runs.special = n % 2 != 0;
        runs.agree();
      }
    }
  }
}

TEST_CASE("running sums agree in every direction, block length and lane") {
  for (const std::string &target : targets_here()) {
    for (int kind = 0; kind < 32; ++kind) {
      const ScanShape shape{kind & 1 ? 8 : 0, bool(kind & 2), bool(kind & 4), bool(kind & 8),
                            bool(kind & 16)};
      Runs runs(running_sums(shape), target);
      for (const std::int64_t n : {0, 1, 7, 8, 9, 16, 50}) {
        runs.extents = {shape.vector ? 37 : 3, n};
        runs.special = n % 2 != 0;
        runs.agree();
      }
    }
  }
}

TEST_CASE("running sums in groups of lanes agree in every direction and at every length") {
  for (const std::string &target : targets_here()) {
    for (int kind = 0; kind < 16; ++kind) {
      const ScanShape shape{
          kind & 1 ? 32 : 0, bool(kind & 2), bool(kind & 4), false, bool(kind & 8), true};
      Runs runs(running_sums(shape), target);
      for (const std::int64_t n : {0, 1, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100}) {
        runs.extents = {3, n};
        runs.special = n % 2 != 0;
        runs.at_end = n % 3 != 0;
        runs.agree();
      }
    }
  }
}

// y[i] = the greatest of x[0..i], z[i] = where it was first seen
Program greatest_so_far(bool reverse, bool exclusive, StrideClass stride) {
  Builder b;
  b.p.name = "greatest_so_far";
  const AxisId i = b.axis("i");
  const BufferId x = b.buffer("x", Role::Input, 0, DType::F32, {{i, stride}});
  const BufferId z = b.buffer("z", Role::Output, 0, DType::I64, {{i, stride}});
  const BufferId y = b.buffer("y", Role::Output, 1, DType::F64, {{i, stride}});
  const AccId a = b.acc(greatest());
  const ValueId value = b.running(a, 0);
  const ValueId xv = b.load(x), wide = b.cast(xv, DType::F64), at = b.along(ValueKind::Index, i);
  const ValueId now = b.running(a, 1);
  Loop scan;
  scan.axis = i;
  scan.scan = scan.vector = true;
  scan.reverse = reverse;
  scan.lanes = scan_lanes;
  scan.leaf = 64;
  scan.accs = {a};
  scan.body = {let(xv), let(wide), let(at)};
  if (exclusive) scan.body.insert(scan.body.end(), {let(value), let(now)});
  scan.body.push_back(Stmt::step(a, {wide, at}));
  if (!exclusive) scan.body.insert(scan.body.end(), {let(value), let(now)});
  scan.body.push_back(set(y, value));
  scan.body.push_back(set(z, now));
  const LoopId id = b.loop(scan);
  b.p.phases.push_back({{run(id)}, {}, 1});
  return b.p;
}

TEST_CASE("a scan of two states in groups of lanes agrees, and walks any stride") {
  for (const std::string &target : targets_here()) {
    for (int kind = 0; kind < 8; ++kind) {
      Runs runs(greatest_so_far(kind & 1, kind & 2, kind & 4 ? unit : other), target);
      for (const std::int64_t n : {0, 1, 16, 17, 63, 64, 65, 150}) {
        runs.extents = {n};
        runs.reversed = n % 2 == 0;
        runs.special = n % 3 == 0;
        runs.agree();
      }
    }
  }
}

TEST_CASE("a scan hands its states on from box to box in either direction") {
  for (const bool reverse : {false, true}) {
    Builder b;
    b.p.name = "handed";
    const AxisId i = b.axis("i");
    const BufferId x = b.buffer("x", Role::Input, 0, DType::F64, {{i, unit}});
    const BufferId z = b.buffer("z", Role::Output, 0, DType::F64, {{i, unit}});
    const BufferId cell = b.buffer("s0", Role::Scratch, 0, DType::F64, {});
    b.p.scratch_count = 1;
    const AccId a = b.acc(Fold::Sum, DType::F64);
    const ValueId xv = b.load(x), now = b.running(a, 0);
    Loop scan;
    scan.axis = i;
    scan.scan = true;
    scan.reverse = reverse;
    scan.accs = {a};
    scan.handed = {cell};
    scan.body = {let(xv), let(now), set(z, now), step(a, xv)};
    const LoopId id = b.loop(scan);
    b.p.phases.push_back({{run(id)}, {i}, 1});
    verify(b.p);
    const auto code = compile_native(b.p, find_target(""));
    const double in[] = {1, 2, 4, 8, 16};
    const std::vector<double> expected =
        reverse ? std::vector<double>{30, 28, 24, 16, 0} : std::vector<double>{0, 1, 3, 7, 15};
    for (const bool native : {false, true}) {
      double out[5] = {}, state = 99;
      char *buffers[] = {const_cast<char *>(reinterpret_cast<const char *>(in)),
                         reinterpret_cast<char *>(out), reinterpret_cast<char *>(&state)};
      const std::int64_t extents[] = {5}, chunks[] = {0}, strides[] = {1, 1, 0};
      const Frame frame{1, extents, chunks, strides, buffers};
      const auto box = [&](std::int64_t lo, std::int64_t hi) {
        native ? code->phases()[0](&frame, &lo, &hi) : interpret(b.p, 0, frame, &lo, &hi);
      };
      if (reverse) box(3, 5), box(0, 3);
      if (!reverse) box(0, 2), box(2, 5);
      CHECK(std::vector<double>(out, out + 5) == expected);
      CHECK(state == 31);
    }
  }
}

} // namespace
} // namespace broadloom::jit
