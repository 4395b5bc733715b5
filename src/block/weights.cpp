// The table of weights, and the choice of what is called: see weights.hpp.
#include "block/weights.hpp"

#include "ops/complex.hpp"
#include "ops/others.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace broadloom::block {
namespace {

using namespace loop;
using ops::Op;

constexpr std::int64_t call_weight = 3;        // with the values that wait on the stack meanwhile
constexpr std::int64_t least_called = 4;       // lighter operations are never called
constexpr std::int64_t inlined_budget = 1'000; // of all operations that could be called
constexpr std::int64_t split_from = 1'500;     // of a phase
constexpr std::int64_t loop_weight = 20;

// Of a function of real numbers, inlined; measured with sums of 20 calls.
std::int64_t function_weight(Op op, bool single) {
  const auto pick = [&](int f32, int f64) { return single ? f32 : f64; };
  switch (op) {
  case Op::Exp: return pick(6, 11);
  case Op::Log: return pick(20, 19);
  case Op::Sin:
  case Op::Cos: return pick(18, 35);
  case Op::Tanh: return pick(7, 18);
  case Op::Rsqrt: return pick(3, 8);
  case Op::Sigmoid: return pick(10, 20);
  case Op::Silu: return pick(11, 27);
  case Op::GeluTanh: return pick(14, 38);
  case Op::Softplus: return pick(13, 29);
  case Op::LogAddExp: return pick(45, 50);
  case Op::Exp2: return pick(5, 13);
  case Op::Expm1: return pick(12, 14);
  case Op::Log2:
  case Op::Log10: return pick(20, 13);
  case Op::Log1p: return pick(17, 15);
  case Op::Tan: return pick(27, 37);
  case Op::Asin:
  case Op::Acos: return pick(10, 15);
  case Op::Atan: return pick(13, 18);
  case Op::Sinh:
  case Op::Cosh: return pick(14, 12);
  case Op::Asinh:
  case Op::Acosh: return 19;
  case Op::Atanh: return 14;
  case Op::Cbrt: return pick(14, 10);
  case Op::Erf: return pick(6, 18);
  case Op::Erfc: return pick(10, 55);
  case Op::Gelu: return pick(13, 68);
  case Op::Lgamma: return pick(170, 137);
  case Op::Digamma: return pick(136, 105);
  case Op::Hypot: return 10;
  case Op::Atan2: return pick(27, 25);
  case Op::Pow: return pick(290, 41);
  case Op::Polygamma:
  case Op::Fmod: return 7; // a loop over the lanes
#define BL_OP BL_NOT_OF_MATH
#include "ops/ops.def"
    if (op == Op::FloorDiv || op == Op::Mod) return pick(10, 7);
    return op == Op::Maximum || op == Op::Minimum || op == Op::Fmax || op == Op::Fmin ? 2 : 1;
  }
  return 1;
}

// 64-bit ones run one lane at a time, or, by a constant, are multiplications of 128 bits; others
// are those of floats.
std::int64_t integer_weight(Op op, DType compute, bool by_constant) {
  const bool wide = size_of(compute) == 8;
  if (op == Op::FloorDiv || op == Op::Mod || op == Op::Fmod)
    return by_constant ? (wide ? 25 : 7) : wide ? 11 : 5;
  return op == Op::Pow ? 12 : 1;
}

// Inlined.
std::int64_t weight(Op op, DType compute, bool by_constant) {
  if (compute == DType::Bool) return 1;
  if (is_integer(compute)) return integer_weight(op, compute, by_constant);
  if (!is_complex(compute)) return function_weight(op, compute == DType::F32);
  if (!ops::complex_form(op)) return 2;
  const bool single = compute == DType::C64 && !ops::complex::is_function(op);
  std::int64_t sum = 1;
  for (const Op part : ops::complex::made_of(op)) sum += function_weight(part, single);
  return sum;
}

std::int64_t cast_weight(DType from, DType to) {
  if (is_complex(from) || is_complex(to)) return 2;
  if (to == DType::BF16) return from == DType::F32 ? 5 : 12;
  if (to == DType::F16) return size_of(from) <= 4 ? 2 : 9;
  if (is_float(from) && is_integer(to)) return size_of(to) == 8 ? 10 : 6;
  return 1;
}

// Whether a function of the same arguments can be made of it.
bool can_be_called(Op op, DType compute) {
  return compute != DType::Bool && op != Op::Where && op != Op::And && op != Op::Or &&
         op != Op::Not &&
         (!is_complex(compute) ||
          (ops::complex_form(op) && *ops::complex_form(op) != ops::ComplexForm::Truth));
}

struct Use { // of one operation or cast, in all of a program
  std::int64_t weight = 0, count = 0;
};

class Weigher {
public:
  explicit Weigher(const loop::Program &program) : program_(program) {}

  Weights run() {
    choose_called();
    weights_.loops.assign(program_.loops.size(), 0);
    for (const Value &value : program_.values) weights_.values.push_back(of(value));
    for (const Phase &phase : program_.phases) {
      const std::int64_t weight = body(phase.body);
      weights_.split.push_back(weight > split_from);
      weights_.phases.push_back(weight);
      weights_.total += weight;
    }
    for (const auto &[key, use] : ops_)
      if (weights_.called.ops.contains(key)) weights_.total += use.weight;
    return std::move(weights_);
  }

private:
  void note(Op op, DType compute, bool by_constant, std::int64_t copies) {
    const std::int64_t own = weight(op, compute, by_constant);
    if (own < least_called || !can_be_called(op, compute)) return;
    Use &use = ops_[{op, compute}];
    use.weight = std::max(use.weight, own);
    use.count += copies;
  }
  void note_cast(DType from, DType to, std::int64_t copies) {
    const std::int64_t own = cast_weight(from, to);
    if (own < least_called) return;
    Use &use = casts_[{from, to}];
    use.weight = own;
    use.count += copies;
  }

  bool has_constant_divisor(const Value &value) const {
    return value.arg_count == 2 && program_[value.args[1]].kind == ValueKind::Literal;
  }

  // The heaviest ones first, until what is left is within the budget.
  void choose_called() {
    for (const Value &value : program_.values)
      if (value.kind == ValueKind::Op)
        note(value.op, value.compute, has_constant_divisor(value), 1);
      else if (value.kind == ValueKind::Cast)
        note_cast(value.compute, value.dtype, 1);
    constexpr std::int64_t copies_of_steps = 4;
    for (const loop::Acc &acc : program_.accs)
      for (const ops::Code *code :
           {&program_.recipes[acc.recipe].step, &program_.recipes[acc.recipe].combine})
        for (const ops::Code::Line &line : code->lines)
          if (line.kind == ops::Code::Line::Kind::Op)
            note(line.op, line.compute, false, copies_of_steps);
          else if (line.kind == ops::Code::Line::Kind::Cast)
            note_cast(line.compute, line.dtype, copies_of_steps);
    std::int64_t inlined = 0;
    for (const auto &[key, use] : ops_) inlined += use.weight * use.count;
    for (const auto &[key, use] : casts_) inlined += use.weight * use.count;
    while (inlined > inlined_budget) {
      std::int64_t heaviest = 0;
      std::optional<std::pair<Op, DType>> op;
      std::optional<std::pair<DType, DType>> cast;
      const auto is_heaviest = [&](const Use &use, bool is_called) {
        if (is_called || use.count <= 1 || use.weight * use.count <= heaviest) return false;
        heaviest = use.weight * use.count;
        return true;
      };
      for (const auto &[key, use] : ops_)
        if (is_heaviest(use, weights_.called.ops.contains(key))) op = key;
      for (const auto &[key, use] : casts_)
        if (is_heaviest(use, weights_.called.casts.contains(key))) {
          op.reset();
          cast = key;
        }
      if (op)
        weights_.called.ops.insert(*op);
      else if (cast)
        weights_.called.casts.insert(*cast);
      else
        break; // each of them is there once
      inlined -= heaviest;
    }
  }

  std::int64_t of(const Value &value) const {
    if (value.kind == ValueKind::Cast)
      return weights_.called.has_cast(value.compute, value.dtype)
                 ? call_weight
                 : cast_weight(value.compute, value.dtype);
    if (value.kind != ValueKind::Op) return value.kind == ValueKind::Literal ? 0 : 1;
    return weights_.called.has(value.op, value.compute)
               ? call_weight
               : weight(value.op, value.compute, has_constant_divisor(value));
  }

  // Its code stands in several places.
  std::int64_t of(const loop::Acc &acc) const {
    std::int64_t sum = 0;
    for (const ops::Code *code :
         {&program_.recipes[acc.recipe].step, &program_.recipes[acc.recipe].combine})
      for (const ops::Code::Line &line : code->lines) {
        const std::int64_t own = weights_.of(line);
        sum += own > 2 ? 4 * own : 8;
      }
    return sum;
  }

  std::int64_t body(const std::vector<Stmt> &statements) {
    std::int64_t sum = 0;
    for (const Stmt &s : statements) {
      if (s.kind == StmtKind::Loop) {
        std::int64_t &own = weights_.loops[s.loop.index];
        own = loop_weight + body(program_[s.loop].body);
        for (const AccId acc : program_[s.loop].accs) own += of(program_[acc]);
      }
      sum += s.kind == StmtKind::Step
                 ? 0
                 : weights_.of(program_, s); // the loop that carries it counts steps
    }
    return sum;
  }

  const loop::Program &program_;
  Weights weights_;
  std::map<std::pair<Op, DType>, Use> ops_;
  std::map<std::pair<DType, DType>, Use> casts_;
};

} // namespace

std::int64_t Weights::of(const loop::Program &program, const Stmt &statement) const {
  switch (statement.kind) {
  case StmtKind::Let: return values[statement.value.index];
  case StmtKind::Set: return 1;
  case StmtKind::Step: {
    std::int64_t sum = 0;
    for (const ops::Code::Line &line : program.recipe(statement.acc).step.lines) sum += of(line);
    return sum;
  }
  case StmtKind::Loop: return loops[statement.loop.index];
  }
  return 0;
}

std::int64_t Weights::of(const ops::Code::Line &line) const {
  switch (line.kind) {
  case ops::Code::Line::Kind::Literal: return 0;
  case ops::Code::Line::Kind::Cast:
    return called.has_cast(line.compute, line.dtype) ? call_weight
                                                     : cast_weight(line.compute, line.dtype);
  case ops::Code::Line::Kind::Op:
    return called.has(line.op, line.compute) ? call_weight : weight(line.op, line.compute, false);
  }
  return 0;
}

Weights weigh(const loop::Program &program) { return Weigher(program).run(); }

} // namespace broadloom::block
