// The text of a loop program to the program: see `write` in loop.hpp for the form, and the example
// below.
//
//   program rows
//     axes i, j
//     in x : f32[i other, j unit]
//     in y : f32[i unit]
//     out z : f32[i unit]
//
//   phase 0:
//     parallel for i
//       init a0 : sum f64
//       vector for j, 32 ways, leaves of 4096
//         step a0 with f64(x[i, j])
//       set z[i] = f32(a0) * y[i]
//
// A part of an expression is a value of its own, computed where it stands. Values, loops and
// accumulators take their places in the tables in the order of the text. A text that says all
// places (v7 : f32 = .., `for j, loop 2`) keeps them, so that what `write` gives comes back as the
// very same program.
#include "loop/parse_values.hpp"

#include "loop/verify.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

#include <algorithm>
#include <cmath>

namespace broadloom::loop {
namespace {

constexpr std::size_t most_nested = 100; // loops in each other

class NestParser : NestValues {
public:
  using NestValues::NestValues;

  Program run() {
    parse_header(lines_, p_, names_);
    for (; lines_.at_depth(1); ++lines_.at) {
      Cursor cursor(source_, lines_.peek());
      cursor.expect("literal");
      computed(cursor, nullptr);
    }
    while (!lines_.end()) phase();
    place_values();
    place_accumulators();
    place_loops();
    for (Phase &phase : p_.phases) note_parallel(phase.body, phase.parallel);
    check();
    return std::move(p_);
  }

private:
  // ---- statements
  // -----------------------------------------------------------------------------------

  void phase() {
    const Line &title = lines_.peek();
    Cursor cursor(source_, title);
    if (title.depth != 0) cursor.unexpected("'phase'");
    cursor.expect("phase");
    const Token at = cursor.peek();
    if (cursor.integer("a number", UINT32_MAX) != p_.phases.size())
      cursor.fail(at, "phases are numbered 0, 1, .. in their order",
                  "this one is " + std::to_string(p_.phases.size()));
    Phase phase;
    phase.cost = 1;
    if (cursor.accept(",")) {
      cursor.expect("cost");
      const Number number = read_number(cursor);
      phase.cost = ops::as_f64(scalar_of(cursor, number, DType::F64));
      if (!std::isfinite(phase.cost) || phase.cost < 0)
        cursor.fail(number.first, "a cost that is no number from 0 on", "it is in cycles");
    }
    cursor.expect(":");
    cursor.expect_end();
    ++lines_.at;
    body(1, phase.body);
    p_.phases.push_back(std::move(phase));
  }

  void body(int depth, std::vector<Stmt> &statements) {
    while (lines_.at_depth(depth)) {
      line_ = lines_.at;
      Cursor cursor(source_, lines_.peek());
      const bool named = cursor.peek(1).kind == Tok::Sign && cursor.peek(1).text == ":";
      if (named) {
        computed(cursor, &statements);
      } else if (cursor.accept("set")) {
        set(cursor, statements);
      } else if (cursor.accept("step")) {
        step(cursor, statements);
      } else if (cursor.is("init")) {
        init(cursor, statements);
        const bool goes_on =
            lines_.at + 1 < source_.lines.size() && source_.lines[lines_.at + 1].depth == depth;
        if (!goes_on) fail(lines_.peek(), "an accumulator without a loop", "its loop comes next");
      } else {
        loop(cursor, depth, statements);
        continue;
      }
      ++lines_.at;
    }
    if (!carried_.empty())
      fail(source_.lines[line_], "an accumulator without a loop", "its loop comes next");
  }

  void set(Cursor &cursor, std::vector<Stmt> &statements) {
    no_accumulators(cursor);
    body_ = &statements;
    const BufferId buffer = element(cursor);
    cursor.expect("=");
    const std::uint32_t value = read_value(cursor, *this, p_[buffer].dtype);
    cursor.expect_end();
    push(Stmt::set(buffer, {value}));
  }

  void step(Cursor &cursor, std::vector<Stmt> &statements) {
    no_accumulators(cursor);
    body_ = &statements;
    const Token &token = cursor.word("an accumulator like a0");
    const auto found = accs_.find(accumulator_of(cursor, token));
    if (found == accs_.end() || token.text.find('.') != token.text.npos)
      cursor.fail(token, "there is no accumulator '" + std::string(token.text) + "' here",
                  "`init a0 : ..` before a loop makes one");
    const std::vector<DType> types = p_.recipes[found->second.recipe].args;
    std::vector<ValueId> args;
    if (!types.empty()) cursor.expect("with");
    for (std::size_t k = 0; k < types.size(); ++k) {
      if (k > 0) cursor.expect(",");
      args.push_back({read_value(cursor, *this, types[k])});
    }
    cursor.expect_end();
    push(Stmt::step({std::uint32_t(found->first)}, std::move(args)));
  }

  // init a0 : r1 = START, ..    or    init a0 : sum f64
  void init(Cursor &cursor, std::vector<Stmt> &statements) {
    body_ = &statements;
    cursor.next();
    const Token &name = cursor.word("a name like a0");
    const std::int64_t number = accumulator_of(cursor, name);
    if (number < 0 || name.text.find('.') != name.text.npos)
      cursor.fail(name, "'" + std::string(name.text) + "' is no name of an accumulator",
                  "they are a0, a1, ..");
    if (names_.values.count(std::string(name.text)) > 0 || accs_.count(number) > 0)
      cursor.fail(name, "'" + std::string(name.text) + "' is there already",
                  "take the next number");
    cursor.expect(":");
    Acc acc;
    const Token &recipe = cursor.peek();
    const auto place = recipe.kind == Tok::Word ? number_behind(cursor, recipe, 'r') : std::nullopt;
    if (place) {
      if (*place >= p_.recipes.size())
        cursor.fail(recipe, "there is no accumulator '" + std::string(recipe.text) + "'",
                    "`accumulator r0 ..` before the phases makes one");
      cursor.next();
      acc.recipe = *place;
    } else {
      acc.recipe = ops::intern(p_.recipes, parse_built_in(cursor));
    }
    if (cursor.accept("=")) {
      const std::vector<DType> states = p_.recipes[acc.recipe].states;
      for (std::size_t k = 0; k < states.size(); ++k) {
        if (k > 0) cursor.expect(",");
        acc.start.push_back({read_value(cursor, *this, states[k])});
      }
    }
    cursor.expect_end();
    accs_.emplace(number, std::move(acc));
    carried_.push_back({std::uint32_t(number)});
  }

  void no_accumulators(const Cursor &cursor) const {
    if (!carried_.empty())
      cursor.fail(cursor.peek(), "an accumulator without a loop",
                  "the loop that carries it comes next after `init`");
  }

  void loop(Cursor &cursor, int depth, std::vector<Stmt> &statements) {
    if (open_ == most_nested)
      cursor.fail(cursor.peek(), "more than 100 loops in each other", "there is no such program");
    const LoopId id{std::uint32_t(p_.loops.size())};
    p_.loops.emplace_back();
    loop_numbers_.emplace_back();
    Loop loop;
    loop.accs = std::move(carried_);
    carried_.clear();
    loop.parallel = cursor.accept("parallel");
    loop.vector = cursor.accept("vector");
    loop.scan = cursor.accept("scan");
    loop.reverse = cursor.accept("reverse");
    if (!cursor.accept("for")) cursor.unexpected("a statement");
    loop.axis = read_axis(cursor, names_);
    if (cursor.accept("within")) loop.within = read_axis(cursor, names_);
    while (cursor.accept(",")) mark(cursor, loop, id);
    cursor.expect_end();
    body_ = &statements;
    push(Stmt::run(id));
    ++lines_.at;
    ++open_;
    body(depth + 1, loop.body);
    --open_;
    p_.loops[id.index] = std::move(loop);
  }

  void mark(Cursor &cursor, Loop &loop, LoopId id) {
    constexpr std::uint64_t longest = std::uint64_t(1) << 40;
    if (cursor.accept("loop")) {
      loop_numbers_[id.index] = std::uint32_t(cursor.integer("a number", UINT32_MAX));
    } else if (cursor.is("leaves") || cursor.is("blocks")) {
      const Token word = cursor.next();
      if ((word.text == "blocks") != loop.scan)
        cursor.fail(word, "folds have leaves and scans have blocks", "write the other word");
      cursor.expect("of");
      loop.leaf = std::int64_t(cursor.integer("a number of positions", longest));
    } else if (cursor.accept("from")) {
      for (const char *word : {"box", "to", "box", "in", "("}) cursor.expect(word);
      do loop.handed.push_back(read_buffer(cursor, names_));
      while (cursor.accept(","));
      cursor.expect(")");
    } else {
      const int count = int(cursor.integer("ways, turns, leaves, blocks, 'from' or 'loop'", 1000));
      if (cursor.accept("ways"))
        loop.ways = count;
      else
        cursor.expect("turns"), loop.turns = count;
      if (loop.ways == 0)
        cursor.fail(cursor.peek(), "a loop of no ways", "a loop without ways says nothing of them");
    }
  }

  // ---- places in the tables
  // ---------------------------------------------------------------------------

  // The order in which `numbers` want the rows, or an empty one where none is said.
  std::vector<std::uint32_t> places(const std::vector<std::optional<std::uint32_t>> &numbers,
                                    const char *what) const {
    std::vector<std::uint32_t> place;
    std::vector<bool> taken(numbers.size());
    for (const auto &number : numbers) {
      if (!number || *number >= numbers.size() || taken[*number])
        fail(source_.lines[0],
             "the " + std::string(what) + " of this program are not numbered from 0 to " +
                 std::to_string(numbers.size() - 1),
             "number all of them, or none");
      taken[*number] = true;
      place.push_back(*number);
    }
    return place;
  }

  template <class Each> void each_body(Each each) {
    for (Loop &loop : p_.loops) each(loop.body);
    for (Phase &phase : p_.phases) each(phase.body);
  }

  void place_values() {
    if (!numbered_) return;
    const std::vector<std::uint32_t> place = places(numbers_, "values");
    const auto move = [&](ValueId &id) { id.index = place[id.index]; };
    std::vector<Value> values(p_.values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      for (int a = 0; a < p_.values[k].arg_count; ++a) move(p_.values[k].args[a]);
      values[place[k]] = p_.values[k];
    }
    p_.values = std::move(values);
    each_body([&](std::vector<Stmt> &body) {
      for (Stmt &s : body) {
        if (s.kind == StmtKind::Let || s.kind == StmtKind::Set) move(s.value);
        for (ValueId &arg : s.args) move(arg);
      }
    });
    for (auto &[number, acc] : accs_)
      for (ValueId &start : acc.start) move(start);
  }

  void place_accumulators() {
    for (auto &[number, acc] : accs_) {
      if (number != std::int64_t(p_.accs.size()))
        fail(source_.lines[0],
             "there is no accumulator a" + std::to_string(p_.accs.size()) + ", but a later one",
             "number them from 0 on");
      p_.accs.push_back(std::move(acc));
    }
  }

  void place_loops() {
    if (std::none_of(loop_numbers_.begin(), loop_numbers_.end(),
                     [](const auto &number) { return number.has_value(); }))
      return;
    const std::vector<std::uint32_t> place = places(loop_numbers_, "loops");
    std::vector<Loop> loops(p_.loops.size());
    for (std::size_t k = 0; k < loops.size(); ++k) loops[place[k]] = std::move(p_.loops[k]);
    p_.loops = std::move(loops);
    each_body([&](std::vector<Stmt> &body) {
      for (Stmt &s : body)
        if (s.kind == StmtKind::Loop) s.loop.index = place[s.loop.index];
    });
  }

  // The axes along which a phase is cut into boxes follow from its loops.
  void note_parallel(const std::vector<Stmt> &body, std::vector<AxisId> &axes) const {
    for (const Stmt &s : body) {
      if (s.kind != StmtKind::Loop) continue;
      const Loop &loop = p_[s.loop];
      if (loop.parallel || !loop.handed.empty()) axes.push_back(loop.axis);
      note_parallel(loop.body, axes);
    }
  }

  // ---- the rules
  // ------------------------------------------------------------------------------------

  void check() const {
    try {
      check_rules(p_);
    } catch (const BrokenRule &broken) {
      std::size_t count = 0;
      const Line *line = &source_.lines[0];
      for (const Phase &phase : p_.phases)
        if (find(phase.body, broken.where, count)) line = &source_.lines[line_of_statement_[count]];
      const std::size_t first = line->tokens[0].offset, end = line->tokens.back().offset;
      fail_at(source_, line->number, first, end - first, "E0802", broken.what,
              "src/loop/loop.hpp has the rules of loop programs");
    }
  }

  // Counts the statements before that one, in the order of the text.
  bool find(const std::vector<Stmt> &body, const Stmt *wanted, std::size_t &count) const {
    for (const Stmt &s : body) {
      if (&s == wanted) return true;
      ++count;
      if (s.kind == StmtKind::Loop && find(p_[s.loop].body, wanted, count)) return true;
    }
    return false;
  }

  [[noreturn]] void fail(const Line &line, std::string message, std::string help) const {
    Cursor(source_, line).fail(line.tokens[0], std::move(message), std::move(help));
  }

  std::vector<AccId> carried_; // by the loop that comes next
  std::size_t open_ = 0;       // loops
  // [loop] in the order of the text: the place that is said
  std::vector<std::optional<std::uint32_t>> loop_numbers_;
};

} // namespace

Program parse(std::string_view text, std::string_view file) {
  const support::FloatWorld world;
  const NestText source = read_lines(text, file);
  return NestParser(source).run();
}

} // namespace broadloom::loop
