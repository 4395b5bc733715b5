// See joins.hpp.
#include "ops/joins.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace broadloom::ops {
namespace {

using Scalars = std::vector<Scalar>;

constexpr int most_elements = 5, draws = 3;

bool is_real(DType dtype) { return is_float(dtype) || is_complex(dtype); }

// Below 1 in the first draw, above it in the others; in the last one they fall.
Scalar element(DType dtype, int draw, int position, std::size_t arg) {
  if (draw == 2) position = most_elements - 1 - position;
  if (dtype == DType::Bool) return scalar_from((position + int(arg) + draw) % 2 == 0);
  if (is_integer(dtype)) return scalar_from(std::int64_t(draw + (1 + draw) * position));
  const double step = 0.03125 * double(arg) + double(position);
  return convert(scalar_from(draw == 0 ? 0.0625 + 0.15625 * step : 1.25 + 1.5 * step), DType::F64,
                 dtype);
}

// The parts of a number, in f64.
std::array<double, 2> parts(Scalar value, DType dtype) {
  const auto part = [&](Op op) {
    const Scalar real = is_complex(dtype) ? evaluate(op, dtype, std::array{value}) : value;
    return as_f64(convert(real, real_dtype(dtype), DType::F64));
  };
  return {part(Op::Real), is_complex(dtype) ? part(Op::Imag) : 0};
}

bool is_finite(Scalar value, DType dtype) {
  if (!is_real(dtype)) return true;
  const auto [re, im] = parts(value, dtype);
  return std::isfinite(re) && std::isfinite(im);
}

bool is_nan(Scalar value, DType dtype) {
  if (!is_real(dtype)) return false;
  const auto [re, im] = parts(value, dtype);
  return std::isnan(re) || std::isnan(im);
}

bool is_wide(DType dtype) { return dtype == DType::F64 || dtype == DType::C128; }

bool is_near(Scalar a, Scalar b, DType dtype, double relative, double absolute) {
  if (a == b) return true;
  if (!is_real(dtype)) return false;
  const auto x = parts(a, dtype), y = parts(b, dtype);
  for (std::size_t k = 0; k < 2; ++k) {
    const double size = std::max(std::fabs(x[k]), std::fabs(y[k]));
    const bool near = x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k])) ||
                      (std::isfinite(size) && std::fabs(x[k] - y[k]) <= relative * size + absolute);
    if (!near) return false;
  }
  return true;
}
// But for rounding.
bool is_same(Scalar a, Scalar b, DType dtype) {
  return is_near(a, b, dtype, is_wide(dtype) ? 1e-12 : 1e-5, 0);
}
// But for the error of another order, also where something cancels.
bool agrees(Scalar a, Scalar b, DType dtype) {
  const double tolerance = is_wide(dtype) ? 1e-6 : 1e-3;
  return is_near(a, b, dtype, tolerance, tolerance);
}

class Trial {
public:
  Trial(const Recipe &recipe, int draw) : recipe_(recipe), draw_(draw) {}

  Scalars element(int position) const {
    Scalars args;
    for (std::size_t k = 0; k < recipe_.args.size(); ++k)
      args.push_back(ops::element(recipe_.args[k], draw_, position, k));
    return args;
  }
  Scalars stepped(int first, int count) {
    Scalars states = recipe_.start;
    for (int p = first; p < first + count; ++p) states = run(recipe_.step, states, element(p));
    return states;
  }
  Scalars joined(const Scalars &earlier, const Scalars &later) {
    return run(recipe_.combine, earlier, later);
  }
  Scalar result(const Code &code, const Scalars &states) { return run(code, states, {})[0]; }

private:
  Scalars run(const Code &code, Scalars inputs, const Scalars &more) {
    inputs.insert(inputs.end(), more.begin(), more.end());
    ops::run(code, inputs, work_);
    Scalars results;
    for (const std::uint32_t value : code.results) results.push_back(work_[value]);
    return results;
  }

  const Recipe &recipe_;
  const int draw_;
  Scalars work_;
};

// `is_right`: something was compared, and all agrees.
std::optional<WrongJoin> wrong_join(const Recipe &recipe, const Code &result, DType type, int draw,
                                    bool &is_right) {
  Trial trial(recipe, draw);
  std::optional<WrongJoin> wrong;
  bool any = false;
  const auto look = [&](const std::vector<std::size_t> &blocks, const Scalars &joined) {
    std::size_t count = 0;
    for (const std::size_t block : blocks) count += block;
    const Scalars stepped = trial.stepped(0, int(count));
    const Scalar wanted = trial.result(result, stepped), got = trial.result(result, joined);
    if (!is_finite(wanted, type)) return;
    any = true;
    if (wrong || agrees(wanted, got, type)) return;
    wrong = WrongJoin{{}, blocks, {}, wanted, got};
    for (std::size_t p = 0; p < count; ++p) wrong->elements.push_back(trial.element(int(p)));
    for (std::size_t k = 0; k < stepped.size() && !wrong->state; ++k)
      if (!agrees(stepped[k], joined[k], recipe.states[k])) {
        wrong->state = k;
        wrong->stepped = stepped[k], wrong->joined = joined[k];
      }
  };
  const Scalars one = trial.stepped(0, 1), three = trial.stepped(0, 3),
                second = trial.stepped(1, 1), next = trial.stepped(1, 2),
                last = trial.stepped(3, 2);
  look({1, 1}, trial.joined(one, second));
  look({3, 2}, trial.joined(three, last));
  look({1, 2, 2}, trial.joined(trial.joined(one, next), last));
  look({1, 2, 2}, trial.joined(one, trial.joined(next, last)));
  is_right = is_right || (any && !wrong);
  return wrong;
}

} // namespace

std::optional<Unlike> start_is_no_identity(const Recipe &recipe) {
  const Scalars &none = recipe.start;
  const auto differs = [&](const Scalars &alone, const Scalars &joined, bool earlier,
                           bool later) -> std::optional<Unlike> {
    for (std::size_t k = 0; k < alone.size(); ++k)
      if (is_nan(alone[k], recipe.states[k])) return std::nullopt;
    for (std::size_t k = 0; k < alone.size(); ++k)
      if (!is_same(alone[k], joined[k], recipe.states[k]))
        return Unlike{k, earlier, later, alone[k], joined[k]};
    return std::nullopt;
  };
  for (int draw = 0; draw < draws; ++draw) {
    Trial trial(recipe, draw);
    if (auto found = differs(none, trial.joined(none, none), false, false)) return found;
    for (const int count : {1, 3}) {
      const Scalars some = trial.stepped(0, count);
      if (auto found = differs(some, trial.joined(none, some), false, true)) return found;
      if (auto found = differs(some, trial.joined(some, none), true, false)) return found;
    }
  }
  return std::nullopt;
}

// Behind the states of each block stands its number of steps.
Recipe counting(const Recipe &recipe) {
  using Line = Code::Line;
  const auto states = std::uint32_t(recipe.states.size());
  const auto add = [](Code &code, Line line) {
    code.lines.push_back(line);
    return std::uint32_t(code.inputs) + std::uint32_t(code.lines.size()) - 1;
  };
  const auto number = [&](Code &code, double value) {
    return add(code,
               {Line::Kind::Literal, Op::Add, DType::F64, DType::F64, {}, 0, scalar_from(value)});
  };
  // With one input more at each of these places.
  const auto widened = [](Code code, std::vector<std::uint32_t> places) {
    const auto now = [&](std::uint32_t value) {
      return value + std::uint32_t(std::ranges::count_if(
                         places, [&](std::uint32_t place) { return place <= value; }));
    };
    for (Line &line : code.lines)
      for (int k = 0; k < line.arg_count; ++k) line.args[k] = now(line.args[k]);
    for (std::uint32_t &result : code.results) result = now(result);
    code.inputs += int(places.size());
    return code;
  };
  Recipe made = recipe;
  made.states.push_back(DType::F64);
  made.start.push_back(scalar_from(0.0));

  made.step = widened(recipe.step, {states});
  const std::uint32_t one = number(made.step, 1);
  made.step.results.push_back(
      add(made.step, {Line::Kind::Op, Op::Add, DType::F64, DType::F64, {states, one, 0}, 2, {}}));

  Code &join = made.combine = widened(recipe.combine, {states, 2 * states});
  const std::uint32_t later = states + 1, count = states, later_count = 2 * states + 1;
  const std::uint32_t zero = number(join, 0);
  const auto is_none = [&](std::uint32_t steps) {
    return add(join, {Line::Kind::Op, Op::Eq, DType::F64, DType::Bool, {steps, zero, 0}, 2, {}});
  };
  const std::uint32_t none = is_none(count), none_later = is_none(later_count);
  for (std::uint32_t k = 0; k < states; ++k) {
    const DType type = recipe.states[k];
    const auto choose = [&](std::uint32_t condition, std::uint32_t a, std::uint32_t b) {
      return add(join, {Line::Kind::Op, Op::Where, type, type, {condition, a, b}, 3, {}});
    };
    join.results[k] = choose(none, later + k, choose(none_later, k, join.results[k]));
  }
  join.results.push_back(
      add(join, {Line::Kind::Op, Op::Add, DType::F64, DType::F64, {count, later_count, 0}, 2, {}}));
  return made;
}

std::optional<WrongJoin> joins_wrongly(const Recipe &recipe, const Code &result, DType type) {
  bool is_right = false;
  std::optional<WrongJoin> first;
  for (int draw = 0; draw < draws; ++draw) {
    std::optional<WrongJoin> wrong = wrong_join(recipe, result, type, draw, is_right);
    if (!first) first = std::move(wrong);
  }
  return is_right ? std::nullopt : first;
}

} // namespace broadloom::ops
