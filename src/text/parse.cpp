// Kernels and statements: the outer grammar of docs/language.md, one function for each kind.
#include "text/parser.hpp"

#include "spec/definition.hpp"
#include "spec/words.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"
#include "text/hints.hpp"
#include "text/mistakes.hpp"

#include <array>

namespace broadloom::text {

namespace {

class Parser {
public:
  explicit Parser(const Source &source, Recovery *recovery = nullptr)
      : source_(source), cursor_(source), recovery_(recovery) {}

  std::vector<LoopSpec> run() {
    while (skip_breaks(), !cursor_.is(Tok::End)) {
      const std::size_t first = cursor_.at();
      try {
        definition();
      } catch (const Error &error) {
        if (!recovery_) throw;
        recovery_->recover(cursor_, first, error, true);
      }
    }
    return std::move(kernels_.all);
  }

private:
  void definition() {
    if (cursor_.is_word("accumulator")) return accumulator();
    if (cursor_.is_word("def")) {
      parse_function(cursor_, definitions_);
      if (!cursor_.is(Tok::Break) && !cursor_.is(Tok::End))
        cursor_.unexpected("the end of the definition");
      return;
    }
    if (!cursor_.is_word("kernel")) outside_of_kernel();
    if (!kernels_.add(kernel()))
      cursor_.fail("E0004", "kernel '" + std::string(cursor_.word(name_)) + "' is defined twice",
                   name_, "give it another name");
  }

  [[noreturn]] void outside_of_kernel() {
    const Token &token = cursor_.peek();
    constexpr std::array words{"in",   "param",    "state",    "let",     "call",
                               "out",  "update",   "order",    "stretch", "set",
                               "fuse", "separate", "schedule", "axis"};
    for (const char *word : words)
      if (cursor_.is_word(word))
        cursor_.fail("E0002",
                     "'" + std::string(word) + "' stands in a kernel, and this is outside of one",
                     token, "write kernel NAME { in x : f32[:]; out z = x + 1 }");
    cursor_.unexpected("'kernel', 'accumulator' or 'def'");
  }

  void skip_breaks() {
    while (cursor_.accept(Tok::Break)) {
    }
  }

  void accumulator() {
    AccumulatorDef definition = parse_accumulator(cursor_, definitions_);
    spec::check_definition(definition, source_.text.get());
    const std::string name = definition.name;
    const Place where = definition.where;
    if (definitions_.defined(name))
      support::fail("E0004", "'" + name + "' is defined twice",
                    support::with_text(where, source_.text.get()),
                    "functions and accumulators share one set of names; choose another");
    definitions_.accumulators.emplace(
        name, Accumulator(std::make_shared<const AccumulatorDef>(std::move(definition))));
  }

  LoopSpec kernel() {
    cursor_.next();
    // `kernel` itself is the name that the API gives to a spec that was given none.
    name_ = cursor_.is_word("kernel") ? cursor_.next() : cursor_.expect_new_name("a kernel");
    untils_ = {};
    const std::size_t body = cursor_.at();
    while (statements() && untils_.read_again(*data_, cursor_)) cursor_.go_to(body);
    parts_.finish(symbols_, *data_);
    warn_of_misread_names(cursor_, symbols_, *data_);
    data_->inputs.insert(data_->inputs.end(), symbols_.windows.begin(), symbols_.windows.end());
    data_->axes = symbols_.axes;
    return LoopSpec(std::shared_ptr<const SpecData>(std::move(data_)));
  }

  // Whether all are sound.
  bool statements() {
    bool all = true;
    data_ = std::make_shared<SpecData>();
    data_->name = cursor_.word(name_);
    data_->source = source_.text;
    data_->where = source_.place(name_);
    symbols_ = {};
    symbols_.definitions = &definitions_;
    has_schedule_ = false;
    parts_ = {};
    skip_breaks();
    const Token brace = cursor_.expect(Tok::LeftBrace, "'{'");
    look_ahead();
    while (true) {
      skip_breaks();
      if (cursor_.accept(Tok::RightBrace)) break;
      if (cursor_.is(Tok::End))
        cursor_.fail("E0007", "kernel '" + data_->name + "' is never closed", brace,
                     "add the missing '}'");
      const std::size_t first = cursor_.at(), outputs = data_->outputs.size(),
                        lets = data_->lets.size();
      try {
        statement();
        list_positions(lets);
        if (!cursor_.is(Tok::Break) && !cursor_.is(Tok::RightBrace) && !cursor_.is(Tok::End))
          cursor_.unexpected("the end of the statement");
      } catch (const Error &error) {
        if (!recovery_) throw;
        all = false;
        recovery_->recover(cursor_, first, error, false);
        symbols_.ahead.erase(symbols_.in_let);
        symbols_.in_let.clear();
        symbols_.lets.clear();
        symbols_.in_position = 0;
        // What the statement has added so far, which would be checked.
        const std::string name(source_.word(source_.tokens[first + 1]));
        parts_.lose(name);
        if (!parts_.has(name))
          data_->outputs.erase(data_->outputs.begin() + std::ptrdiff_t(outputs),
                               data_->outputs.end());
      }
    }
    return all;
  }

  // The lets that hold positions of a statement, before its own.
  void list_positions(std::size_t before) {
    for (const Expr &let : symbols_.lets) symbols_[let.node()->name] = {Symbol::Kind::Let, let};
    data_->lets.insert(data_->lets.begin() + std::ptrdiff_t(before), symbols_.lets.begin(),
                       symbols_.lets.end());
    symbols_.lets.clear();
  }

  // The lets of this kernel.
  void look_ahead() {
    int open = 1;
    bool begins = true; // a statement
    for (std::size_t at = 0; open > 0 && cursor_.peek(at).kind != Tok::End; ++at) {
      const Token &token = cursor_.peek(at);
      open += (token.kind == Tok::LeftBrace) - (token.kind == Tok::RightBrace);
      if (begins && token.kind == Tok::Name && cursor_.word(token) == "let" &&
          cursor_.peek(at + 1).kind == Tok::Name) {
        const std::string name(cursor_.word(cursor_.peek(at + 1)));
        const bool lists_dims = cursor_.peek(at + 2).kind == Tok::LeftBracket;
        symbols_.ahead.emplace(name, lists_dims);
        if (lists_dims && goes_until(at + 2))
          symbols_.ahead.emplace(Untils::name_of_end(name), true);
      }
      begins = token.kind == Tok::Break;
    }
  }
  // `[t < 100 until ..`
  bool goes_until(std::size_t at) const {
    for (; cursor_.peek(at).kind != Tok::End && cursor_.peek(at).kind != Tok::RightBracket; ++at)
      if (cursor_.peek(at).kind == Tok::Name && cursor_.word(cursor_.peek(at)) == "until" &&
          cursor_.peek(at - 1).kind != Tok::Comma && cursor_.peek(at - 1).kind != Tok::LeftBracket)
        return true;
    return false;
  }

  void statement() {
    const Token &token = cursor_.peek();
    std::string_view word = token.kind == Tok::Name ? cursor_.word(token) : "";
    if (word == "in") return parse_input(cursor_, symbols_, *data_, InputRole::plain);
    if (word == "param") return parse_input(cursor_, symbols_, *data_, InputRole::parameter);
    if (word == "state") return parse_input(cursor_, symbols_, *data_, InputRole::state);
    if (word == "let") return let_statement();
    if (word == "call") return parse_call(cursor_, symbols_, definitions_, kernels_, *data_);
    if (word == "out") return out_statement();
    if (word == "update") return update_statement();
    if (word == "order") return order_statement();
    if (word == "stretch") return stretch_statement();
    if (word == "set") return parse_set(cursor_, *data_);
    if (word == "fuse" || word == "separate") return parse_pairing(cursor_, *data_);
    if (word == "schedule") return schedule_statement();
    if (word == "axis" && cursor_.peek(1).kind == Tok::Name) return parse_axes(cursor_, symbols_);
    const bool assigned = cursor_.peek(1).kind == Tok::Assign;
    if (const std::string hint = assigned ? "write let NAME = .., or out NAME = .. for a result"
                                          : hint_for_statement(word);
        !hint.empty())
      cursor_.fail("E0002", "expected a statement, found " + cursor_.shown(token), token, hint);
    cursor_.unexpected("a statement (order, stretch, set, fuse, separate, schedule, in, param, "
                       "state, let, call, out or update)");
  }

  void schedule_statement() {
    const bool of_let = cursor_.peek(1).kind == Tok::Name; // check_schedule counts those
    if (has_schedule_ && !of_let)
      cursor_.fail("E0018", "kernel '" + data_->name + "' has a second schedule", cursor_.peek(),
                   "write all clauses into one");
    has_schedule_ = has_schedule_ || !of_let;
    parse_schedule(cursor_, *data_);
  }

  void order_statement() {
    cursor_.next();
    data_->order_given = true;
    if (cursor_.is_word("c"))
      data_->order = Order::c;
    else if (cursor_.is_word("f"))
      data_->order = Order::f;
    else if (cursor_.is_word("none"))
      data_->order = Order::none;
    else
      cursor_.unexpected("c, f or none");
    cursor_.next();
  }

  void stretch_statement() {
    cursor_.next();
    if (cursor_.is_word("on"))
      data_->stretch = true;
    else if (cursor_.is_word("off"))
      data_->stretch = false;
    else
      cursor_.unexpected("on or off");
    cursor_.next();
  }

  void let_statement() {
    cursor_.next();
    const Token name = expect_new_value(cursor_, symbols_, "a let");
    ListedDims listed;
    std::vector<AxisRef> &axes = listed.axes;
    LetLoop loop;
    if (cursor_.accept(Tok::LeftBracket)) {
      listed = parse_listed_dims(cursor_, symbols_, std::string(cursor_.word(name)));
      say(loop, listed.said, axes);
    }
    const Place where = source_.place(name, cursor_.previous());
    const Token in = cursor_.peek();
    loop.store = store();
    cursor_.expect(Tok::Assign, "'='");
    std::string word(cursor_.word(name));
    if (loop.store != Order::none && (axes.empty() || at_join(cursor_)))
      cursor_.fail("E0035",
                   "let '" + word +
                       "' is no array that is computed by itself, and is to lie in some order",
                   in,
                   axes.empty() ? "list its dims: let " + word + "[i, j] in f = .."
                                : "leave it out: its parts lie where the whole has them");
    if (at_join(cursor_)) {
      if (listed.until) fail_until(word, name);
      if (loop.said)
        cursor_.fail("E0033", "'" + word + "' is made up of parts, and has their extents", name,
                     "leave the extents out, or say them of the parts");
      Expr let =
          parse_join(cursor_, symbols_, definitions_, {word, std::move(axes), where, data_->lets});
      data_->lets.push_back(let);
      symbols_[word] = {Symbol::Kind::Let, std::move(let)};
      symbols_.ahead.erase(word);
      return;
    }
    symbols_.in_let = word;
    Expr value = parse_expression(cursor_, symbols_, definitions_);
    if (cursor_.is_word("from")) {
      cursor_.next();
      loop.start = parse_expression(cursor_, symbols_, definitions_);
    }
    symbols_.in_let.clear();
    symbols_.ahead.erase(word);
    if (is_padded_whole(value)) { // `let p = pad(x, i: (1, 1))` is another name of it
      if (listed.until) fail_until(word, name);
      symbols_[word] = {Symbol::Kind::Input, std::move(value)};
      return;
    }
    add_let(
        make_let(word, untils_.held(word, axes, std::move(value)), where, axes, std::move(loop)));
    if (listed.until) add_let(untils_.end_of(cursor_, symbols_, definitions_, name, listed));
  }
  void add_let(const Expr &let) {
    data_->lets.push_back(let);
    symbols_[let.node()->name] = {Symbol::Kind::Let, let};
  }
  [[noreturn]] void fail_until(const std::string &what, const Token &name) {
    cursor_.fail("E0028",
                 "'" + what +
                     "' reads no earlier step of itself, and is to go until a condition holds",
                 name,
                 "only a let that goes step by step can: let " + what + "[t < 100 until ..] = .. " +
                     what + "[t - 1] ..");
  }

  void out_statement() {
    cursor_.next();
    if (is_part()) {
      const Token name = cursor_.next();
      return parts_.add(cursor_, symbols_, definitions_, name, *data_);
    }
    const Token name = expect_new_value(cursor_, symbols_, "an output");
    OutputDecl output;
    output.name = cursor_.word(name);
    if (cursor_.is(Tok::LeftBracket) && has_index(cursor_)) {
      output.at = parse_positions_of_output(cursor_, symbols_, name);
    } else if (cursor_.accept(Tok::LeftBracket)) {
      output.has_axes = true;
      if (!cursor_.accept(Tok::RightBracket)) {
        ListedDims listed = parse_listed_dims(cursor_, symbols_, output.name);
        if (listed.until) fail_until(output.name, name);
        output.axes = std::move(listed.axes);
        output.said = std::move(listed.said);
      }
    }
    output.where = source_.place_with_line(name, cursor_.previous());
    if (cursor_.accept(Tok::Colon)) output.dtype = parse_dtype(cursor_);
    output.store = store();
    output.add = cursor_.is(Tok::AddAssign);
    if (!output.add && !cursor_.is(Tok::Assign)) cursor_.unexpected("'=' or '+='");
    cursor_.next();
    if (output.at && !output.add)
      cursor_.fail("E0027",
                   "'" + output.name + "' is set at positions, of which several may be one", name,
                   "write += to add what comes together");
    mode(output.mode);
    if (output.at && output.mode.kind != ModeKind::plain)
      cursor_.fail("E0027", "'" + output.name + "' is written at positions, and has a mode", name,
                   "leave the mode out: what the positions lack is summed");
    const bool whole = output.mode.kind == ModeKind::plain && !output.at && at_join(cursor_);
    if (whole && output.said)
      cursor_.fail("E0033", "'" + output.name + "' is made up of parts, and has their extents",
                   name, "leave the extents out, or say them of the parts");
    if (whole)
      join_into(output);
    else
      output.value = parse_expression(cursor_, symbols_, definitions_);
    if (output.at) {
      FoldUse use;
      use.like = {output.at->name};
      output.value = make_fold(use, {output.value}, {}, output.value.node()->where);
    }
    data_->outputs.push_back(std::move(output));
    symbols_[std::string(cursor_.word(name))] = {Symbol::Kind::Output, {}};
  }

  // `out z[i] = concat(i, x, y)`
  void join_into(OutputDecl &output) {
    const Joined into{name_of_whole(output, symbols_), output.axes, output.where, data_->lets};
    const Expr let = parse_join(cursor_, symbols_, definitions_, into);
    store_whole(output, let, symbols_, data_->lets);
  }

  // Whether a statement writes a part of an output: at positions, or of one that is there and of
  // which this or that says an extent.
  bool is_part() const {
    if (!cursor_.is(Tok::Name) || cursor_.peek(1).kind != Tok::LeftBracket) return false;
    if (goes_until(1)) return false; // which is told
    const std::string word(cursor_.word(cursor_.peek()));
    const auto symbol = symbols_.find(word);
    const bool is_there = symbol != symbols_.end();
    if (is_there && symbol->second.kind != Symbol::Kind::Output) return false;
    Cursor behind = cursor_;
    behind.next();
    if (has_index(behind)) return false;
    if (parts_.has(word)) return true;
    bool says = OutputParts::is_next(behind);
    for (std::size_t at = 0;
         is_there && behind.peek(at).kind != Tok::Break && behind.peek(at).kind != Tok::End &&
         behind.peek(at).kind != Tok::Assign;
         ++at)
      says = says || behind.peek(at).kind == Tok::Less;
    for (const OutputDecl &output : data_->outputs)
      says = says || (is_there && output.name == word && output.said);
    return says;
  }

  // The count of the steps of a loop, where that is what one extent says.
  static void say(LetLoop &loop, const std::shared_ptr<const InputDecl> &said,
                  const std::vector<AxisRef> &axes) {
    loop.said = said;
    if (!said || said->dims.size() != 1 || said->dims[0].extent < 0) return;
    loop.count = said->dims[0].extent;
    for (std::size_t dim = 0; dim < axes.size(); ++dim)
      if (const auto *label = std::get_if<std::string>(&axes[dim].value());
          label != nullptr && *label == said->dims[0].label)
        loop.counted_dim = dim;
  }

  // `in f`, or nothing.
  Order store() {
    if (!cursor_.is_word("in")) return Order::none;
    cursor_.next();
    if (!cursor_.is_word("c") && !cursor_.is_word("f")) cursor_.unexpected("c or f: how it lies");
    return cursor_.word(cursor_.next()) == "c" ? Order::c : Order::f;
  }

  // Whether the brackets that come next hold others, or what is a value: out h[k[i]], out
  // h[i32(v)], out h[k % 3].
  static bool has_index(const Cursor &cursor) {
    for (std::size_t at = 1;; ++at) {
      const Token &token = cursor.peek(at);
      switch (token.kind) {
      case Tok::RightBracket:
      case Tok::End: return false;
      case Tok::LeftBracket:
      case Tok::Percent:
      case Tok::Slash:
      case Tok::SlashSlash:
      case Tok::Caret:
      case Tok::And:
      case Tok::Or:
      case Tok::ShiftLeft:
      case Tok::ShiftRight:
      case Tok::Question: return true;
      case Tok::Name:
        if (cursor.peek(at + 1).kind == Tok::LeftParen && cursor.word(token) != "extent")
          return true;
        break;
      default: break;
      }
    }
  }

  // Whether there is such a state, and once, the analysis asks, as of kernels that were not read.
  void update_statement() {
    cursor_.next();
    const Token name = cursor_.expect(Tok::Name, "a state");
    OutputDecl output;
    output.name = cursor_.word(name);
    output.update = true;
    output.where = source_.place_with_line(name, name);
    cursor_.expect(Tok::Assign, "'='");
    mode(output.mode);
    output.value = parse_expression(cursor_, symbols_, definitions_);
    data_->outputs.push_back(std::move(output));
  }

  void mode(Mode &mode) {
    if (cursor_.is_word("broadcast")) {
      cursor_.next();
      mode.kind = ModeKind::broadcast;
      bool like = cursor_.is(Tok::LeftParen) && cursor_.peek(1).kind == Tok::Name &&
                  cursor_.word(cursor_.peek(1)) == "like" && cursor_.peek(2).kind == Tok::Assign;
      if (!like) return;
      cursor_.next();
      mode.use.like = parse_inputs_option(cursor_, symbols_);
      cursor_.expect(Tok::RightParen, "')'");
      return;
    }
    bool accumulate = cursor_.is_word("accumulate");
    if (!accumulate && !cursor_.is_word("reduce")) return;
    mode.kind = accumulate ? ModeKind::accumulate : ModeKind::reduce;
    cursor_.next();
    cursor_.expect(Tok::LeftParen, "'(' and an accumulator");
    const Token folded = cursor_.peek();
    const std::string word(cursor_.word(folded));
    if (folded.kind == Tok::Name && symbols_.contains(word) &&
        !find_accumulator(word, definitions_))
      cursor_.fail("E0008", "there is no accumulator '" + word + "'", folded,
                   "name one, and '" + word + "' behind the parenthesis: " +
                       (accumulate ? "accumulate" : "reduce") + "(sum) " + word);
    mode.use.accumulator = parse_accumulator_name(cursor_, definitions_);
    while (cursor_.accept(Tok::Comma)) parse_mode_option(cursor_, symbols_, definitions_, mode);
    cursor_.expect(Tok::RightParen, "',' or ')'");
  }

  const Source &source_;
  Cursor cursor_;
  Recovery *recovery_; // null: the first mistake is thrown
  Definitions definitions_;
  Kernels kernels_;
  Symbols symbols_;
  Token name_; // of the kernel
  std::shared_ptr<SpecData> data_;
  bool has_schedule_ = false;
  OutputParts parts_; // of the outputs that several statements write
  Untils untils_;
};

} // namespace

} // namespace broadloom::text

namespace broadloom {

std::vector<LoopSpec> text::parse_on(const Source &source, Recovery &recovery) {
  return Parser(source, &recovery).run();
}

std::vector<LoopSpec> parse_all(std::string_view text, std::string_view file) try {
  const support::FloatWorld world;
  text::Source source = text::lex(text, file);
  return text::Parser(source).run();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

LoopSpec parse(std::string_view text, std::string_view kernel, std::string_view file) try {
  std::vector<LoopSpec> kernels = parse_all(text, file);
  Place nowhere;
  std::vector<std::string> names;
  for (const LoopSpec &spec : kernels) names.push_back(spec.data().name);
  if (kernels.empty())
    support::fail("E0010", "there is no kernel in " + std::string(file), nowhere,
                  "write one: kernel name { in x : f32[:]; out z = x + 1 }");
  if (kernel.empty() && kernels.size() > 1)
    support::fail("E0010",
                  std::string(file) + " has several kernels: " + support::quoted_list(names),
                  nowhere, "say which one is meant");
  if (kernel.empty()) return kernels[0];
  for (LoopSpec &spec : kernels)
    if (spec.data().name == kernel) return spec;
  support::fail("E0010", "there is no kernel '" + std::string(kernel) + "' in " + std::string(file),
                nowhere, "it has " + support::quoted_list(names));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
