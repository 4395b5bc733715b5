// Loop programs built by hand, for the tests of the printer, the verifier and the interpreter.
#pragma once

#include "loop/loop.hpp"

#include <string>
#include <vector>

namespace broadloom::loop::test {

// A program under construction: ids come back as things are added.
struct Builder {
  Program p;

  AxisId axis(std::string name, std::optional<AxisId> chunks_of = {}) {
    p.axes.push_back({std::move(name), chunks_of});
    return {std::uint32_t(p.axes.size() - 1)};
  }
  BufferId buffer(std::string name, Role role, std::uint32_t operand, DType dtype,
                  std::vector<Walk> walks) {
    p.buffers.push_back({std::move(name), role, operand, dtype, std::move(walks), false});
    return {std::uint32_t(p.buffers.size() - 1)};
  }
  AccId acc(Fold fold, DType dtype) { return acc(ops::recipe_of(fold, dtype)); }
  AccId acc(const ops::Recipe &recipe) {
    p.recipes.push_back(recipe);
    p.accs.push_back({std::uint32_t(p.recipes.size() - 1), {}});
    return {std::uint32_t(p.accs.size() - 1)};
  }
  LoopId loop(Loop l) {
    p.loops.push_back(std::move(l));
    return {std::uint32_t(p.loops.size() - 1)};
  }
  ValueId value(Value v) {
    p.values.push_back(v);
    return {std::uint32_t(p.values.size() - 1)};
  }
  ValueId load(BufferId b) {
    Value v;
    v.kind = ValueKind::Load;
    v.dtype = p[b].dtype;
    v.buffer = b;
    return value(v);
  }
  ValueId literal(double x, DType dtype) {
    Value v;
    v.dtype = dtype;
    v.literal = ops::convert(ops::scalar_from(x), DType::F64, dtype);
    return value(v);
  }
  ValueId cast(ValueId x, DType dtype) {
    Value v;
    v.kind = ValueKind::Cast;
    v.dtype = dtype;
    v.compute = p[x].dtype;
    v.args[0] = x;
    v.arg_count = 1;
    return value(v);
  }
  ValueId op(ops::Op op, std::vector<ValueId> args) {
    Value v;
    v.kind = ValueKind::Op;
    v.op = op;
    std::vector<DType> types;
    for (ValueId a : args) {
      v.args[v.arg_count++] = a;
      types.push_back(p[a].dtype);
    }
    const ops::Typing typing = ops::type_of(op, types);
    v.compute = typing.compute;
    v.dtype = typing.result;
    return value(v);
  }
  // Extent or Index.
  ValueId along(ValueKind kind, AxisId axis) {
    Value v;
    v.kind = kind;
    v.dtype = DType::I64;
    v.axis = axis;
    return value(v);
  }
  ValueId result(AccId a, std::uint32_t state = 0) { return state_of(ValueKind::Result, a, state); }
  ValueId running(AccId a, std::uint32_t state) { return state_of(ValueKind::Running, a, state); }
  ValueId state_of(ValueKind kind, AccId a, std::uint32_t state) {
    Value v;
    v.kind = kind;
    v.dtype = p.recipe(a).states[state];
    v.acc = a;
    v.state = state;
    return value(v);
  }
};

inline Stmt let(ValueId v) { return Stmt::let(v); }
inline Stmt set(BufferId b, ValueId v) { return Stmt::set(b, v); }
inline Stmt step(AccId a, ValueId v) { return Stmt::step(a, {v}); }
inline Stmt run(LoopId l) { return Stmt::run(l); }

// z[i, j] = i + j * extent(j), with the vector along j
inline Program positions() {
  Builder b;
  b.p.name = "positions";
  const AxisId i = b.axis("i"), j = b.axis("j");
  const BufferId z =
      b.buffer("z", Role::Output, 0, DType::I64, {{i, StrideClass::Other}, {j, StrideClass::Unit}});
  const ValueId n = b.along(ValueKind::Extent, j);
  const ValueId at_i = b.along(ValueKind::Index, i), at_j = b.along(ValueKind::Index, j);
  const ValueId product = b.op(ops::Op::Mul, {at_j, n}), sum = b.op(ops::Op::Add, {at_i, product});
  Loop inner;
  inner.axis = j;
  inner.parallel = inner.vector = true;
  inner.body = {let(at_j), let(product), let(sum), set(z, sum)};
  const LoopId inner_id = b.loop(inner);
  Loop outer;
  outer.axis = i;
  outer.parallel = true;
  outer.body = {let(at_i), run(inner_id)};
  const LoopId outer_id = b.loop(outer);
  b.p.phases.push_back({{let(n), run(outer_id)}, {i, j}, 2});
  return b.p;
}

// z[i] = f32(sum_j f64(x[i, j])) * y[i]
inline Program row_sums() {
  Builder b;
  b.p.name = "rows";
  const AxisId i = b.axis("i"), j = b.axis("j");
  const BufferId x =
      b.buffer("x", Role::Input, 0, DType::F32, {{i, StrideClass::Other}, {j, StrideClass::Unit}});
  const BufferId y = b.buffer("y", Role::Input, 1, DType::F32, {{i, StrideClass::Unit}});
  const BufferId z = b.buffer("z", Role::Output, 0, DType::F32, {{i, StrideClass::Unit}});
  const AccId a = b.acc(Fold::Sum, DType::F64);
  const ValueId xv = b.load(x), wide = b.cast(xv, DType::F64);
  Loop inner;
  inner.axis = j;
  inner.vector = true;
  inner.accs = {a};
  inner.lanes = 32;
  inner.leaf = 4096;
  inner.body = {let(xv), let(wide), step(a, wide)};
  const LoopId inner_id = b.loop(inner);
  const ValueId s = b.result(a), narrow = b.cast(s, DType::F32), yv = b.load(y);
  const ValueId product = b.op(ops::Op::Mul, {narrow, yv});
  Loop outer;
  outer.axis = i;
  outer.parallel = true;
  outer.body = {run(inner_id), let(s), let(narrow), let(yv), let(product), set(z, product)};
  const LoopId outer_id = b.loop(outer);
  b.p.phases.push_back({{run(outer_id)}, {i}, 2});
  return b.p;
}

// One fold of x over i, either in one loop or in chunks whose results a second phase joins.
inline Program whole_fold(Fold fold, DType dtype, int lanes, std::int64_t leaf, bool chunked) {
  Builder b;
  b.p.name = "fold";
  const AxisId i = b.axis("i"), c = b.axis("i.chunk", i);
  const BufferId x = b.buffer("x", Role::Input, 0, dtype, {{i, StrideClass::Unit}});
  const BufferId z = b.buffer("z", Role::Output, 0, dtype, {});
  const AccId a = b.acc(fold, dtype);
  const ValueId xv = b.load(x);
  Loop inner;
  inner.axis = i;
  inner.vector = true;
  inner.accs = {a};
  inner.lanes = lanes;
  inner.leaf = leaf;
  inner.body = {let(xv), step(a, xv)};
  if (chunked) inner.within = c;
  const LoopId inner_id = b.loop(inner);
  const ValueId s = b.result(a);
  if (!chunked) {
    b.p.phases.push_back({{run(inner_id), let(s), set(z, s)}, {}, 1});
    return b.p;
  }
  const BufferId part = b.buffer("s0", Role::Scratch, 0, dtype, {{c, StrideClass::Unit}});
  b.p.scratch_count = 1;
  Loop outer;
  outer.axis = c;
  outer.parallel = true;
  outer.body = {run(inner_id), let(s), set(part, s)};
  const LoopId outer_id = b.loop(outer);
  b.p.phases.push_back({{run(outer_id)}, {c}, 1});

  const AccId join = b.acc(fold, dtype);
  const ValueId pv = b.load(part);
  Loop joining;
  joining.axis = c;
  joining.accs = {join};
  joining.leaf = 1;
  joining.body = {let(pv), step(join, pv)};
  const LoopId joining_id = b.loop(joining);
  const ValueId total = b.result(join);
  b.p.phases.push_back({{run(joining_id), let(total), set(z, total)}, {}, 1});
  return b.p;
}

} // namespace broadloom::loop::test
