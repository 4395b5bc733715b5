// See recipe.hpp.
#include "ops/recipe.hpp"

#include "support/check.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace broadloom::ops {

bool same(const Recipe &a, const Recipe &b) {
  return a.states == b.states && a.start == b.start && a.args == b.args && a.step == b.step &&
         a.combine == b.combine && a.exact == b.exact && a.commutes == b.commutes &&
         a.needs_value == b.needs_value;
}

std::uint32_t intern(std::vector<Recipe> &table, const Recipe &recipe) {
  for (std::size_t k = 0; k < table.size(); ++k)
    if (same(table[k], recipe)) return std::uint32_t(k);
  table.push_back(recipe);
  return std::uint32_t(table.size() - 1);
}

Recipe recipe_of(Fold fold, DType accumulate) {
  const FoldInfo &row = info(fold);
  Code code;
  code.inputs = 2;
  code.lines.push_back({Code::Line::Kind::Op, row.step, accumulate, accumulate, {0, 1, 0}, 2, {}});
  code.results = {2};
  Recipe recipe;
  recipe.name = row.name;
  recipe.states = recipe.args = {accumulate};
  recipe.start = {identity(fold, accumulate)};
  recipe.step = recipe.combine = code;
  recipe.exact = is_exact(fold, accumulate);
  recipe.commutes = true;
  recipe.needs_value = row.needs_identity;
  return recipe;
}

Recipe joining(const Recipe &recipe) {
  support::check(recipe.has_combine(), "an ordered accumulator has no blocks to join");
  Recipe join = recipe;
  join.args = recipe.states;
  join.step = recipe.combine;
  return join;
}

std::optional<Op> only_op(const Recipe &recipe) {
  const Code &step = recipe.step;
  const bool single = step.inputs == 2 && step.lines.size() == 1 && step.results.size() == 1 &&
                      step.results[0] == 2 && step.lines[0].kind == Code::Line::Kind::Op &&
                      step.lines[0].arg_count == 2 && step.lines[0].args[0] == 0 &&
                      step.lines[0].args[1] == 1;
  if (!single) return std::nullopt;
  return step.lines[0].op;
}

Recipe dot_product(DType dtype) {
  Recipe dot = recipe_of(Fold::Sum, dtype);
  dot.name = "dot";
  dot.args = {dtype, dtype};
  dot.step = {};
  dot.step.inputs = 3; // the state, x, y
  dot.step.lines.push_back({Code::Line::Kind::Op, Op::Fma, dtype, dtype, {1, 2, 0}, 3, {}});
  dot.step.results = {3};
  return dot;
}

bool adds_up(const Recipe &recipe) {
  return only_op(recipe) == Op::Add ||
         (recipe.args.size() == 2 && recipe.step == dot_product(recipe.states[0]).step);
}

bool step_is_join(const Recipe &recipe) {
  return recipe.has_combine() && recipe.args == recipe.states && recipe.step == recipe.combine;
}

bool is_scaled_number(const Recipe &recipe) {
  const bool pair = recipe.states.size() == 2 &&
                    (is_float(recipe.states[0]) || is_complex(recipe.states[0])) &&
                    is_integer(recipe.states[1]);
  if (!pair || !step_is_join(recipe)) return false;
  // Which values are made of a mantissa, the first and the third of the inputs.
  std::vector<bool> scaled(std::size_t(recipe.step.inputs) + recipe.step.lines.size());
  scaled[0] = scaled[2] = true;
  for (std::size_t k = 0; k < recipe.step.lines.size(); ++k) {
    const Code::Line &line = recipe.step.lines[k];
    for (int a = 0; a < line.arg_count; ++a)
      if (scaled[line.args[a]]) scaled[std::size_t(recipe.step.inputs) + k] = true;
  }
  return scaled[recipe.step.results[1]];
}

bool identity_is_neutral(const Recipe &recipe) {
  if (recipe.exact) return true;
  const std::optional<Op> op = only_op(recipe);
  if (!op || !step_is_join(recipe)) return false;
  const DType type = recipe.states[0];
  if (*op == Op::Add) return evaluate(Op::Eq, type, std::array{recipe.start[0], Scalar{}}).bits;
  return *op == Op::Mul && !is_complex(type) && is_float(type) &&
         recipe.start[0] == convert(scalar_from(1.0), DType::F64, type);
}

// Numbers the values of both orders in one table: equal lines of equal arguments get equal numbers.
bool is_symmetric(const Code &combine) {
  if (combine.results.empty()) return false;
  std::vector<Code::Line> known;
  const auto results_of = [&](std::vector<std::uint32_t> values) {
    for (Code::Line line : combine.lines) {
      for (int k = 0; k < line.arg_count; ++k) line.args[k] = values[line.args[k]];
      if (line.kind == Code::Line::Kind::Op && commutes(line.op))
        std::sort(line.args, line.args + 2);
      const auto found = std::find(known.begin(), known.end(), line);
      values.push_back(std::uint32_t(combine.inputs + (found - known.begin())));
      if (found == known.end()) known.push_back(line);
    }
    std::vector<std::uint32_t> results;
    for (const std::uint32_t result : combine.results) results.push_back(values[result]);
    return results;
  };
  std::vector<std::uint32_t> earlier_first(combine.inputs), later_first(combine.inputs);
  std::iota(earlier_first.begin(), earlier_first.end(), 0);
  std::rotate_copy(earlier_first.begin(), earlier_first.begin() + combine.inputs / 2,
                   earlier_first.end(), later_first.begin());
  const auto a = results_of(earlier_first), b = results_of(later_first);
  return a == b;
}

void run(const Code &code, std::span<const Scalar> inputs, std::vector<Scalar> &work,
         Accuracy accuracy) {
  work.assign(inputs.begin(), inputs.end());
  work.resize(inputs.size() + code.lines.size());
  for (std::size_t k = 0; k < code.lines.size(); ++k) {
    const Code::Line &line = code.lines[k];
    Scalar &out = work[inputs.size() + k];
    switch (line.kind) {
    case Code::Line::Kind::Literal: out = line.literal; break;
    case Code::Line::Kind::Cast: out = convert(work[line.args[0]], line.compute, line.dtype); break;
    case Code::Line::Kind::Op: {
      const Scalar args[] = {work[line.args[0]], work[line.args[1]], work[line.args[2]]};
      out = evaluate(line.op, line.compute, args, accuracy);
      break;
    }
    }
  }
}

} // namespace broadloom::ops
