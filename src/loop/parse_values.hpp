// Inside the parser of loop programs: the values of a nest.
#pragma once

#include "loop/parse_lines.hpp"

#include <map>

namespace broadloom::loop {

// A program under construction, and what expressions may name in it. A part of an expression is a
// value of its own, with a `let` before the statement that is read.
class NestValues : public ExpressionTarget {
public:
  explicit NestValues(const NestText &source) : source_(source), lines_{source} {}

  DType dtype_of(std::uint32_t value) const override { return p_.values[value].dtype; }
  std::uint32_t literal(DType dtype, ops::Scalar literal) override;
  std::uint32_t cast(DType to, std::uint32_t value) override;
  std::uint32_t operation(ops::Op op, DType compute, DType dtype,
                          std::span<const std::uint32_t> args) override;
  // t0, v3, x[i, j], a0.1, running a0, extent(i), index(i), i
  std::uint32_t named(Cursor &cursor) override;

protected:
  // NAME : DTYPE = EXPRESSION, in a body or, with null, before the phases.
  void computed(Cursor &cursor, std::vector<Stmt> *body);
  // x[i, j]: the brackets say the axes that x walks.
  BufferId element(Cursor &cursor);
  // The N of aN and of aN.S, or what no accumulator has.
  static std::int64_t accumulator_of(const Cursor &cursor, const Token &token);
  void push(Stmt statement);

  const NestText &source_;
  Lines lines_;
  Program p_;
  Names names_;
  std::map<std::int64_t, Acc> accs_; // by number
  // [value] in the order of the text: the place that is said
  std::vector<std::optional<std::uint32_t>> numbers_;
  bool numbered_ = false;
  std::vector<Stmt> *body_ = nullptr; // of the statement that is read; null before the phases
  std::size_t line_ = 0;              // of that statement, in source_.lines
  std::vector<std::size_t> line_of_statement_; // in the order of the text

private:
  std::uint32_t add(const Value &value);
  Value load(Cursor &cursor);
  Value state(Cursor &cursor, ValueKind kind);
  void give_name(Cursor &cursor, const Token &name, std::size_t before, std::uint32_t value);
};

} // namespace broadloom::loop
