// Loop programs for the tests: those of tests/nests that many need, and a builder for what is drawn
// up in a loop.
#pragma once

#include "tests/unit/nests.hpp"

#include "loop/loop.hpp"

#include <string>
#include <vector>

namespace broadloom::loop::test {

// A program under construction: ids come back as things are added.
struct Builder {
  Program p;

  AxisId axis(std::string name) {
    p.axes.push_back({std::move(name), {}});
    return {std::uint32_t(p.axes.size() - 1)};
  }
  BufferId buffer(std::string name, Role role, std::uint32_t operand, DType dtype,
                  std::vector<Walk> walks) {
    p.buffers.push_back({std::move(name), role, operand, dtype, std::move(walks), false});
    return {std::uint32_t(p.buffers.size() - 1)};
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
};

inline Stmt let(ValueId v) { return Stmt::let(v); }
inline Stmt set(BufferId b, ValueId v) { return Stmt::set(b, v); }
inline Stmt run(LoopId l) { return Stmt::run(l); }

// z[i, j] = i + j * extent(j), with the vector along j
inline Program positions() { return nest("positions.loop"); }

// z[i] = f32(sum_j f64(x[i, j])) * y[i]
inline Program row_sums() { return nest("rows.loop"); }

// One fold of x over i, either in one loop or in chunks whose results a second phase joins.
inline Program whole_fold(Fold fold, DType dtype, int ways, std::int64_t leaf, bool chunked) {
  std::string how = ways > 1 ? ", " + std::to_string(ways) + " ways" : "";
  if (leaf > 0) how += ", leaves of " + std::to_string(leaf);
  return nest(chunked ? "chunked_fold.loop" : "whole_fold.loop",
              "fold=" + std::string(ops::info(fold).name) + "; T=" + std::string(name(dtype)) +
                  "; how=" + how);
}

} // namespace broadloom::loop::test
