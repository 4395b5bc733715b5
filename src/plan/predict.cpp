// See predict.hpp.
#include "plan/predict.hpp"

#include "plan/cost.hpp"

#include <algorithm>
#include <cmath>

namespace broadloom::plan {
namespace {

struct FunctionCost {
  ops::Op op;
  double f32, f64;
};
// Tenths of a ns for 512 bits on Zen 4.
constexpr FunctionCost function_costs[] = {
    {ops::Op::Exp, 32, 63},        {ops::Op::Log, 42, 93},     {ops::Op::Sin, 67, 85},
    {ops::Op::Cos, 76, 85},        {ops::Op::Tanh, 45, 128},   {ops::Op::Rsqrt, 136, 70},
    {ops::Op::Sigmoid, 84, 133},   {ops::Op::Silu, 97, 153},   {ops::Op::GeluTanh, 134, 215},
    {ops::Op::Softplus, 120, 222}, {ops::Op::Tan, 126, 124},   {ops::Op::Asin, 70, 89},
    {ops::Op::Acos, 75, 92},       {ops::Op::Atan, 138, 104},  {ops::Op::Erf, 40, 110},
    {ops::Op::Erfc, 80, 288},      {ops::Op::Gelu, 110, 353},  {ops::Op::Lgamma, 1036, 490},
    {ops::Op::Digamma, 821, 425},  {ops::Op::Pow, 187, 322},   {ops::Op::LogAddExp, 232, 310},
    {ops::Op::Exp2, 30, 41},       {ops::Op::Expm1, 87, 68},   {ops::Op::Log2, 48, 97},
    {ops::Op::Log10, 50, 99},      {ops::Op::Log1p, 72, 99},   {ops::Op::Sinh, 104, 82},
    {ops::Op::Cosh, 99, 76},       {ops::Op::Asinh, 179, 184}, {ops::Op::Acosh, 187, 172},
    {ops::Op::Atanh, 130, 114},    {ops::Op::Cbrt, 107, 84},   {ops::Op::Hypot, 54, 54},
    {ops::Op::Atan2, 195, 115},
};

using loop::Stmt;
using loop::StmtKind;
using loop::Value;
using loop::ValueKind;

constexpr double overlap = 0.75; // of the lesser of memory and arithmetic that costs nothing
constexpr double near_bytes =
    256 << 10;                     // of operands that another phase has just left in the caches
constexpr double heavy_inline = 8; // cost from which an operation without a function is a division

// Instructions of a cast: types of less than four bytes go through wider ones.
double cast_cost(DType from, DType to) {
  return size_of(real_dtype(from)) < 4 || size_of(real_dtype(to)) < 4 ? 3 : 1;
}

class Predictor {
public:
  Predictor(const loop::Program &program, const Binding &binding, std::span<const BodyRun> loops,
            const support::Rates &rates)
      : program_(program), loops_(loops), rates_(rates), costs_(loop_costs(program, binding)) {}

  // On one thread.
  double arithmetic_ns(std::size_t phase) const {
    return body_ns(program_.phases[phase].body, 1, {});
  }

private:
  double body_ns(const std::vector<Stmt> &body, double turns, const BodyRun &run) const {
    double ns = 0, inside = 0;
    for (const Stmt &s : body) {
      switch (s.kind) {
      case StmtKind::Let: ns += value_ns(program_[s.value], run); break;
      case StmtKind::Set:
        ns += run.store * rates_.simple_ns * vectors(program_[s.buffer].dtype, run.lanes);
        break;
      case StmtKind::Step:
        for (const ops::Code::Line &line : program_.recipe(s.acc).step.lines) {
          if (line.kind == ops::Code::Line::Kind::Op)
            ns += op_ns(line.op, line.compute, run) * run.joins;
          if (line.kind == ops::Code::Line::Kind::Cast)
            ns += rates_.simple_ns * vectors(line.dtype, run.lanes);
        }
        break;
      case StmtKind::Loop:
        inside += body_ns(program_[s.loop].body, costs_[s.loop.index].turns, loops_[s.loop.index]);
        break;
      }
    }
    return ns * run.waits * turns + inside;
  }

  double value_ns(const Value &value, const BodyRun &run) const {
    switch (value.kind) {
    case ValueKind::Op: return op_ns(value.op, value.compute, run);
    case ValueKind::Cast:
      return rates_.simple_ns * cast_cost(value.compute, value.dtype) *
             std::max(vectors(value.compute, run.lanes), vectors(value.dtype, run.lanes));
    case ValueKind::Load: return run.load * rates_.simple_ns * vectors(value.dtype, run.lanes);
    case ValueKind::Literal:
    case ValueKind::Result:
    case ValueKind::Running:
    case ValueKind::Extent:
    case ValueKind::Index: return 0;
    }
    return 0;
  }

  double op_ns(ops::Op op, DType compute, const BodyRun &run) const {
    const ops::OpInfo &info = ops::info(op);
    if (info.math == ops::Math::Vector)
      return rates_.function_ns * function_cost(op, compute) * vectors(compute, run.lanes);
    const double unit = info.cost >= heavy_inline ? rates_.division_ns : rates_.simple_ns;
    const double lane_by_lane = info.math == ops::Math::Libm ? run.lanes : 1;
    return unit * info.cost * lane_by_lane * vectors(compute, run.lanes);
  }

  // Vectors for one position.
  double vectors(DType dtype, int lanes) const {
    const double bytes = double(size_of(dtype)) * lanes;
    return std::max(1.0, std::ceil(bytes * 8 / rates_.vector_bits)) / lanes;
  }

  const loop::Program &program_;
  std::span<const BodyRun> loops_;
  const support::Rates &rates_;
  const std::vector<BodyCost> costs_;
};

// x[i], x[i + 1] and x[i + 2] are read from memory once.
std::vector<Moved> read_once(const std::vector<Moved> &moved, std::span<const InputMemory> inputs) {
  std::vector<Moved> made;
  std::map<std::uint32_t, std::size_t> known; // [array]: which of those
  for (const Moved &m : moved) {
    if (m.stored || m.role != loop::Role::Input || m.operand >= inputs.size()) {
      made.push_back(m);
      continue;
    }
    const auto [at, is_new] = known.emplace(inputs[m.operand].array, made.size());
    if (is_new) made.push_back({m.role, at->first, false, 0});
    made[at->second].bytes += m.bytes;
  }
  for (const auto &[array, at] : known) {
    double bytes = 0;
    for (const InputMemory &input : inputs)
      if (input.array == array) bytes = std::max(bytes, input.bytes);
    made[at].bytes = std::min(made[at].bytes, bytes);
  }
  return made;
}

} // namespace

double function_cost(ops::Op op, DType compute) {
  const auto row = std::ranges::find(function_costs, op, &FunctionCost::op);
  if (row == std::end(function_costs)) return 10.0 * ops::info(op).cost / 8;
  const bool single = size_of(real_dtype(compute)) <= 4;
  return (single ? row->f32 : row->f64) * (is_complex(compute) ? 4 : 1);
}

std::vector<double> predict(const loop::Program &program, const Binding &binding,
                            std::span<const PhaseRun> phases, std::span<const BodyRun> loops,
                            const OperandMemory &memory, const support::Rates &rates) {
  const Predictor predictor(program, binding, loops, rates);
  std::vector<std::vector<Moved>> moved;
  std::map<std::pair<loop::Role, std::uint32_t>, double> operands;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    moved.push_back(read_once(bytes_moved(program, binding, p), memory.inputs));
    for (const Moved &m : moved.back()) {
      double &most = operands[{m.role, m.operand}];
      most = std::max(most, m.bytes);
    }
  }
  const auto is_near = [&](loop::Role role, std::uint32_t operand) {
    if (role == loop::Role::Output) return memory.near_outputs;
    return role == loop::Role::Input && operand < memory.inputs.size() &&
           memory.inputs[operand].near;
  };
  double all_bytes = 0; // a call finds in the caches what the call before has left there
  for (const auto &[operand, bytes] : operands)
    all_bytes += is_near(operand.first, operand.second) ? 0 : bytes;

  std::vector<double> result;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    const int threads = std::max(1, phases[p].threads);
    const double bytes = phases[p].cached ? std::min(near_bytes, all_bytes) : all_bytes;
    double moving = 0;
    for (const Moved &m : moved[p])
      if (is_near(m.role, m.operand)) // in the caches of each thread
        moving +=
            m.bytes / threads /
            (m.stored ? rates.write_rate(near_bytes, false) : rates.read_rate(near_bytes, false));
      else
        moving += m.bytes / (m.stored ? rates.write_rate(bytes, threads > 1)
                                      : rates.read_rate(bytes, threads > 1));
    const double arithmetic = predictor.arithmetic_ns(p) / threads;
    result.push_back(std::max(moving, arithmetic) + (1 - overlap) * std::min(moving, arithmetic) +
                     (threads > 1 ? rates.share_ns : 0));
  }
  return result;
}

} // namespace broadloom::plan
