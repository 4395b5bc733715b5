// See increasing.hpp.
#include "ops/increasing.hpp"

#include <optional>
#include <utility>

namespace broadloom::ops {

namespace {

using Line = Code::Line;

// One walk over the lines: each becomes a truth that is known, another value, or a line.
class Simplifier {
public:
  Simplifier(const Recipe &recipe, std::size_t arg)
      : recipe_(recipe), at_(std::uint32_t(recipe.states.size() + arg)) {}

  Code run() {
    const Code &step = recipe_.step;
    for (int k = 0; k < step.inputs; ++k) values_.push_back({std::uint32_t(k), {}});
    for (const Line &line : step.lines) values_.push_back(value_of(line));
    for (const std::uint32_t result : step.results) code_.results.push_back(number_of(result));
    code_.inputs = step.inputs;
    drop_unread();
    return std::move(code_);
  }

private:
  struct Value { // a number in the new code, or a truth that has none yet
    std::uint32_t number = 0;
    std::optional<bool> known;
  };

  Value value_of(const Line &line) {
    if (line.kind == Line::Kind::Op) {
      if (const std::optional<bool> truth = compared(line)) return {0, truth};
      const Value &a = values_[line.args[0]], &b = values_[line.args[1]];
      if (line.op == Op::And || line.op == Op::Or) {
        const bool decides = line.op == Op::Or;
        for (const auto &[one, other] : {std::pair(a, b), std::pair(b, a)})
          if (one.known) return *one.known == decides ? Value{0, decides} : other;
      }
      if (line.op == Op::Where && a.known) return values_[line.args[*a.known ? 1 : 2]];
    }
    Line kept = line;
    for (int k = 0; k < line.arg_count; ++k) kept.args[k] = number_of(line.args[k]);
    return {add(kept), {}};
  }

  // What is seen of the argument beside a state that is from before.
  std::optional<bool> compared(const Line &line) const {
    if (line.arg_count != 2) return std::nullopt;
    const std::uint32_t a = line.args[0], b = line.args[1];
    const bool at_first = a == at_ && is_from_before(b), at_last = b == at_ && is_from_before(a);
    if (!at_first && !at_last) return std::nullopt;
    switch (line.op) {
    case Op::Lt:
    case Op::Le: return at_last;
    case Op::Gt:
    case Op::Ge: return at_first;
    case Op::Eq: return false;
    case Op::Ne: return true;
    default: return std::nullopt;
    }
  }

  // A state that starts below zero, and takes nothing but the argument.
  bool is_from_before(std::uint32_t state) const {
    return state < recipe_.states.size() && recipe_.states[state] == DType::I64 &&
           recipe_.args[at_ - recipe_.states.size()] == DType::I64 &&
           std::int64_t(recipe_.start[state].bits) < 0 &&
           takes_argument(state, recipe_.step.results[state]);
  }

  bool takes_argument(std::uint32_t state, std::uint32_t value) const {
    if (value == state || value == at_) return true;
    if (value < std::uint32_t(recipe_.step.inputs)) return false;
    const Line &line = recipe_.step.lines[value - std::uint32_t(recipe_.step.inputs)];
    return line.kind == Line::Kind::Op && line.op == Op::Where &&
           takes_argument(state, line.args[1]) && takes_argument(state, line.args[2]);
  }

  std::uint32_t number_of(std::uint32_t value) {
    Value &found = values_[value];
    if (found.known) {
      const Line truth{Line::Kind::Literal,      Op::Add, DType::Bool, DType::Bool, {}, 0,
                       scalar_from(*found.known)};
      found = {add(truth), {}};
    }
    return found.number;
  }

  std::uint32_t add(const Line &line) {
    code_.lines.push_back(line);
    return std::uint32_t(recipe_.step.inputs) + std::uint32_t(code_.lines.size()) - 1;
  }

  void drop_unread() {
    const auto inputs = std::uint32_t(code_.inputs);
    std::vector<bool> read(inputs + code_.lines.size());
    for (const std::uint32_t result : code_.results) read[result] = true;
    for (std::size_t k = code_.lines.size(); k-- > 0;)
      for (int a = 0; read[inputs + k] && a < code_.lines[k].arg_count; ++a)
        read[code_.lines[k].args[a]] = true;
    std::vector<std::uint32_t> number(read.size());
    std::vector<Line> lines;
    for (std::uint32_t v = 0; v < read.size(); ++v) {
      number[v] = v < inputs ? v : inputs + std::uint32_t(lines.size());
      if (v < inputs || !read[v]) continue;
      lines.push_back(code_.lines[v - inputs]);
      for (int a = 0; a < lines.back().arg_count; ++a)
        lines.back().args[a] = number[lines.back().args[a]];
    }
    for (std::uint32_t &result : code_.results) result = number[result];
    code_.lines = std::move(lines);
  }

  const Recipe &recipe_;
  const std::uint32_t at_; // the argument, as a value
  std::vector<Value> values_;
  Code code_;
};

} // namespace

Recipe with_increasing(const Recipe &recipe, std::size_t arg) {
  Recipe simpler = recipe;
  simpler.step = Simplifier(recipe, arg).run();
  return simpler;
}

} // namespace broadloom::ops
