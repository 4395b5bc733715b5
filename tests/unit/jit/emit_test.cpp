// Every operation and conversion as native code against ops::evaluate, at all pairs of special
// values, as vectors and as scalars.
#include "tests/unit/loop_programs.hpp"
#include "tests/unit/native_runs.hpp"

#include <string_view>

namespace broadloom::jit {
namespace {

using namespace loop;
using namespace loop::test;
using jit::targets_here;
using jit::test::native_runs;

constexpr DType dtypes[] = {DType::Bool, DType::I8,  DType::I16,  DType::I32, DType::I64,
                            DType::U8,   DType::U16, DType::U32,  DType::U64, DType::F32,
                            DType::F64,  DType::F16, DType::BF16, DType::C64, DType::C128};

// One phase with vectors, one without: z = make(x, y).
template <class Make> Program both_ways(std::string name, DType dtype, Make make) {
  Builder b;
  b.p.name = std::move(name);
  const AxisId i = b.axis("i");
  const BufferId x = b.buffer("x", Role::Input, 0, dtype, {{i, StrideClass::Unit}});
  const BufferId y = b.buffer("y", Role::Input, 1, dtype, {{i, StrideClass::Unit}});
  for (const bool vector : {true, false}) {
    const ValueId xv = b.load(x), yv = b.load(y);
    const auto first = std::uint32_t(b.p.values.size());
    const ValueId made = make(b, xv, yv);
    const BufferId z = b.buffer(vector ? "vectors" : "scalars", Role::Output, vector ? 0 : 1,
                                b.p[made].dtype, {{i, StrideClass::Unit}});
    Loop l;
    l.axis = i;
    l.parallel = true;
    l.vector = vector;
    l.body = {let(xv), let(yv)};
    for (std::uint32_t v = first; v < b.p.values.size(); ++v) l.body.push_back(let({v}));
    l.body.push_back(set(z, made));
    const LoopId id = b.loop(l);
    b.p.phases.push_back({{run(id)}, {i}, 1});
  }
  return b.p;
}

void agree_everywhere(const Program &program, DType dtype) {
  for (const std::string &target : targets_here()) {
    loop::test::Runs runs = native_runs(program, target);
    const auto n = std::int64_t(loop::test::special_values(dtype).size());
    runs.extents = {n * n + 37};
    runs.agree();
  }
}

TEST_CASE("every operation has the bits of its definition on every type") {
  for (int k = 0; k < ops::op_count(); ++k) {
    const auto op = ops::Op(k);
    const ops::OpInfo &facts = ops::info(op);
    if (facts.math == ops::Math::Sugar || op == ops::Op::Where) continue;
    for (const DType dtype : dtypes) {
      const std::vector<DType> args(std::size_t(facts.arity), dtype);
      const ops::Typing typing = ops::type_of(op, args);
      if (!typing.error.empty() || typing.compute != dtype) continue;
      const auto make = [&](Builder &b, ValueId x, ValueId y) {
        return facts.arity == 1   ? b.op(op, {x})
               : facts.arity == 2 ? b.op(op, {x, y})
                                  : b.op(op, {x, y, x});
      };
      agree_everywhere(
          both_ways(std::string(facts.enumerator) + " " + std::string(name(dtype)), dtype, make),
          dtype);
    }
  }
}

TEST_CASE("where takes either branch in each lane") {
  for (const DType dtype :
       {DType::Bool, DType::I8, DType::F32, DType::F64, DType::C64, DType::C128}) {
    agree_everywhere(both_ways("where", dtype,
                               [](Builder &b, ValueId x, ValueId y) {
                                 const ValueId less = b.op(ops::Op::Lt, {b.op(ops::Op::Real, {x}),
                                                                         b.op(ops::Op::Real, {y})});
                                 return b.op(ops::Op::Where, {less, y, x});
                               }),
                     dtype);
  }
}

TEST_CASE("every conversion has the bits of its definition") {
  for (const DType from : dtypes) {
    for (const DType to : dtypes) {
      if (from == to || (is_complex(from) && !is_complex(to) && to != DType::Bool)) continue;
      agree_everywhere(both_ways(std::string(name(from)) + " to " + std::string(name(to)), from,
                                 [&](Builder &b, ValueId x, ValueId) { return b.cast(x, to); }),
                       from);
    }
  }
}

TEST_CASE("division by a constant is as total as any other") {
  for (const DType dtype : {DType::I8, DType::I32, DType::U16, DType::I64, DType::U64}) {
    for (const double divisor : {0., 1., 2., 3., 7., 100.}) {
      for (const ops::Op op : {ops::Op::FloorDiv, ops::Op::Mod}) {
        agree_everywhere(both_ways("constant divisor", dtype,
                                   [&](Builder &b, ValueId x, ValueId) {
                                     return b.op(op, {x, b.literal(divisor, dtype)});
                                   }),
                         dtype);
      }
    }
  }
}

TEST_CASE("maximum and minimum with a constant have the bits of any other") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const double constant : {0., -0., 1., -3., 255., inf, -inf, std::nan("")}) {
      for (const ops::Op op : {ops::Op::Maximum, ops::Op::Minimum, ops::Op::Fmax, ops::Op::Fmin}) {
        agree_everywhere(both_ways("constant limit", dtype,
                                   [&](Builder &b, ValueId x, ValueId y) {
                                     return b.op(ops::Op::Add,
                                                 {b.op(op, {x, b.literal(constant, dtype)}),
                                                  b.op(op, {b.literal(constant, dtype), y})});
                                   }),
                         dtype);
        agree_everywhere(both_ways("constant limit, its sign", dtype,
                                   [&](Builder &b, ValueId x, ValueId) {
                                     return b.op(op, {x, b.literal(constant, dtype)});
                                   }),
                         dtype);
      }
    }
  }
}

} // namespace
} // namespace broadloom::jit
