// The accumulators of a loop program as text.
//
//   accumulator r0 : sum f64
//   accumulator r1 greatest, exact
//     states f64 = -inf, i64 = -1
//     takes f64, i64
//     step
//       u0 : bool = x0 > s0
//       results where(u0, x0, s0), where(u0, x1, s1)
//     combine
//       u0 : bool = s0_other > s0
//       results where(u0, s0_other, s0), where(u0, s1_other, s1)
//
// Without `combine` the fold is ordered. A line of code has a name for later lines; what stands in
// no line of its own is computed where it is used.
#include "loop/nest_expression.hpp"
#include "loop/parse_lines.hpp"

#include <unordered_map>

namespace broadloom::loop {
namespace {

using ops::Code;

constexpr std::size_t most_states = 17; // and arguments: as in the language, and a count of steps

class CodeTarget : public ExpressionTarget {
public:
  void input(const std::string &name, DType dtype) {
    names_[name] = std::uint32_t(types_.size());
    types_.push_back(dtype);
    ++code.inputs;
  }
  bool give_name(const std::string &name, std::uint32_t value) {
    return names_.emplace(name, value).second;
  }
  std::size_t size() const { return types_.size(); }

  DType dtype_of(std::uint32_t value) const override { return types_[value]; }
  std::uint32_t literal(DType dtype, ops::Scalar literal) override {
    return add({Code::Line::Kind::Literal, ops::Op::Add, dtype, dtype, {}, 0, literal});
  }
  std::uint32_t cast(DType to, std::uint32_t value) override {
    return add({Code::Line::Kind::Cast, ops::Op::Add, types_[value], to, {value}, 1, {}});
  }
  std::uint32_t operation(ops::Op op, DType compute, DType dtype,
                          std::span<const std::uint32_t> args) override {
    Code::Line line{Code::Line::Kind::Op, op, compute, dtype, {}, int(args.size()), {}};
    std::copy(args.begin(), args.end(), line.args);
    return add(line);
  }
  std::uint32_t named(Cursor &cursor) override {
    const Token &token = cursor.word("a value");
    const auto found = names_.find(std::string(token.text));
    if (found == names_.end())
      cursor.fail(token, "there is no value '" + std::string(token.text) + "' here",
                  "states are s0, s1, .., those of the later block s0_other, .., arguments x0, ..");
    return found->second;
  }

  Code code;

private:
  std::uint32_t add(const Code::Line &line) {
    code.lines.push_back(line);
    types_.push_back(line.dtype);
    return std::uint32_t(types_.size() - 1);
  }

  std::vector<DType> types_; // of the inputs, then of the lines
  std::unordered_map<std::string, std::uint32_t> names_;
};

void read_results(Cursor &cursor, CodeTarget &target, const ops::Recipe &recipe) {
  const Token first = cursor.next();
  do {
    const std::size_t k = target.code.results.size();
    if (k == recipe.states.size()) break;
    const Token at = cursor.peek();
    target.code.results.push_back(read_value(cursor, target, recipe.states[k]));
    if (target.dtype_of(target.code.results.back()) != recipe.states[k])
      cursor.fail(at, "a result of another type than its state", "cast it: f64(u0)");
  } while (cursor.accept(","));
  if (target.code.results.size() != recipe.states.size() || !cursor.ends())
    cursor.fail(first, "results of another number than the states", "give each state one");
}

Code read_code(Lines &lines, CodeTarget target, const ops::Recipe &recipe) {
  const Line &title = lines.peek();
  for (++lines.at; lines.at_depth(3); ++lines.at) {
    Cursor cursor(lines.source, lines.peek());
    if (!target.code.results.empty()) cursor.unexpected("the end of the code");
    if (cursor.is("results")) {
      read_results(cursor, target, recipe);
      continue;
    }
    const Token &name = cursor.word("a name or 'results'");
    cursor.expect(":");
    const DType dtype = read_dtype(cursor);
    cursor.expect("=");
    const std::size_t before = target.size();
    const std::uint32_t value = read_value(cursor, target, dtype);
    cursor.expect_end();
    if (value < before) cursor.fail(name, "a second name of one value", "use the first");
    if (target.dtype_of(value) != dtype)
      cursor.fail(name, "a value of another type than it says", "cast it: f64(u0)");
    if (!target.give_name(std::string(name.text), value))
      cursor.fail(name, "'" + std::string(name.text) + "' is there already", "take another name");
  }
  if (target.code.results.empty())
    fail_at(lines.source, title.number, title.tokens[0].offset, title.tokens[0].text.size(),
            "E0801", "code without results", "its last line is: results u0");
  return std::move(target.code);
}

template <class Each> void read_list(Cursor &cursor, Each each) {
  const Token &first = cursor.next();
  std::size_t count = 0;
  do {
    if (++count > most_states)
      cursor.fail(first, "more than 17 states or arguments", "there is no such accumulator");
    each();
  } while (cursor.accept(","));
  cursor.expect_end();
}

void read_marks(Cursor &cursor, ops::Recipe &recipe) {
  while (cursor.accept(",")) {
    if (cursor.accept("exact")) {
      recipe.exact = true;
    } else if (cursor.accept("commutes")) {
      recipe.commutes = true;
    } else if (cursor.accept("needs")) {
      cursor.expect("a");
      cursor.expect("value");
      recipe.needs_value = true;
    } else {
      cursor.unexpected("'exact', 'commutes' or 'needs a value'");
    }
  }
  cursor.expect_end();
}

} // namespace

ops::Recipe parse_built_in(Cursor &cursor) {
  const Token &word = cursor.word("an accumulator");
  const std::optional<Fold> fold = ops::find_fold(word.text);
  if (!fold || ops::info(*fold).kind != ops::FoldKind::Operation)
    cursor.fail(word, "'" + std::string(word.text) + "' is no accumulator of one operation",
                "they are sum, prod, min, max, any and all; write out any other");
  const Token at = cursor.peek();
  const DType dtype = read_dtype(cursor);
  const ops::Op op = ops::info(*fold).step;
  const DType args[] = {dtype, dtype};
  const ops::Typing typing = ops::type_of(op, args);
  if (!typing.error.empty() || typing.compute != dtype || typing.result != dtype)
    cursor.fail(
        at, "'" + std::string(word.text) + "' does not accumulate in " + std::string(name(dtype)),
        "it may in f64 or i64");
  return ops::recipe_of(*fold, dtype);
}

ops::Recipe parse_recipe(Cursor &cursor, Lines &lines) {
  ops::Recipe recipe;
  if (cursor.accept(":")) {
    recipe = parse_built_in(cursor);
    cursor.expect_end();
    ++lines.at;
    return recipe;
  }
  recipe.name = cursor.name("a name, or ':' and a built-in accumulator").name;
  read_marks(cursor, recipe);
  for (++lines.at; lines.at_depth(2);) {
    Cursor part(lines.source, lines.peek());
    if (part.is("states") && recipe.states.empty()) {
      read_list(part, [&] {
        recipe.states.push_back(read_dtype(part));
        part.expect("=");
        if (!begins_number(part)) part.unexpected("a number");
        const Number number = read_number(part);
        recipe.start.push_back(scalar_of(part, number, recipe.states.back()));
      });
      ++lines.at;
    } else if (part.is("takes") && recipe.args.empty() && recipe.step.results.empty()) {
      read_list(part, [&] { recipe.args.push_back(read_dtype(part)); });
      ++lines.at;
    } else if ((part.is("step") && recipe.step.results.empty()) ||
               (part.is("combine") && recipe.combine.results.empty())) {
      const bool step = part.is("step");
      part.next();
      part.expect_end();
      CodeTarget target;
      for (std::size_t k = 0; k < recipe.states.size(); ++k)
        target.input("s" + std::to_string(k), recipe.states[k]);
      for (std::size_t k = 0; k < recipe.states.size() && !step; ++k)
        target.input("s" + std::to_string(k) + "_other", recipe.states[k]);
      for (std::size_t k = 0; k < recipe.args.size() && step; ++k)
        target.input("x" + std::to_string(k), recipe.args[k]);
      (step ? recipe.step : recipe.combine) = read_code(lines, std::move(target), recipe);
    } else {
      part.unexpected("'states', 'takes', 'step' or 'combine', each once");
    }
  }
  if (recipe.states.empty() || recipe.step.results.empty())
    cursor.fail(cursor.peek(), "an accumulator without states or without a step",
                "both have lines of their own below this one");
  return recipe;
}

} // namespace broadloom::loop
