// `x[2*i + u - 1, k[i]]`: the positions of a window, each an affine form of axes and of elements of
// inputs.
//
//   position = form | ("clip" | "wrap") "(" form ")"
//   form     = term { ("+" | "-") term }
//   term     = factor { "*" factor }            at most one of them has axes or elements
//   factor   = value | INT | AXIS | "extent" "(" NAME "," dim ")" | ARRAY "[" [ position { ","
//            position } ] "]" | "-" factor | "(" form ")"
//
// What is no such form and reads arrays is a value, x[(k[i] + 1) % 7], of which a let holds the
// elements (expr/position_value.hpp).
#include "expr/held_lets.hpp"
#include "expr/position_value.hpp"
#include "expr/stretch.hpp"
#include "expr/walk.hpp"
#include "expr/window.hpp"
#include "support/free_name.hpp"
#include "support/number.hpp"
#include "support/text.hpp"
#include "text/parser.hpp"

namespace broadloom::text {
namespace {

class WindowParser {
public:
  // Where a part lies, and an extent, are no values: u of `out z[u + 1 < 3]` is an axis, whatever
  // input is called so.
  enum class Values { Are, Not };
  WindowParser(Cursor &cursor, const Symbols &symbols, Values values)
      : cursor_(cursor), symbols_(symbols), array_(cursor.previous()),
        may_be_value_(values == Values::Are && symbols.definitions != nullptr) {}

  std::vector<AffineForm> run() { return positions(0); }
  const std::vector<Expr> &lets() const { return lets_; }
  AffineForm one() { return form(0); }

private:
  static constexpr int deepest = 64; // parentheses, signs and brackets around each other

  std::vector<AffineForm> positions(int depth) {
    std::vector<AffineForm> forms;
    cursor_.expect(Tok::LeftBracket, "'['");
    if (cursor_.accept(Tok::RightBracket)) return forms; // of an input without dims
    do {
      if (cursor_.is(Tok::Colon))
        cursor_.fail("E0022", "a position is a number or made of axes, and ':' is neither",
                     cursor_.peek(), "give the axis a label: x[i, j]");
      forms.push_back(position(depth));
    } while (cursor_.accept(Tok::Comma));
    if (cursor_.is(Tok::Colon))
      cursor_.fail("E0002", "expected ',' or ']', found ':'", cursor_.peek(),
                   "a part of an array is read at positions, out z[i < 3] = x[i + 2], or is a view "
                   "that the call is given");
    cursor_.expect(Tok::RightBracket, "',' or ']'");
    return forms;
  }

  AffineForm position(int depth) {
    const bool clips = cursor_.is_word("clip"), wraps = cursor_.is_word("wrap");
    if ((!clips && !wraps) || cursor_.peek(1).kind != Tok::LeftParen || has_several_arguments())
      return form(depth);
    const Token word = cursor_.next();
    cursor_.next();
    AffineForm inner = form(depth);
    cursor_.expect(Tok::RightParen, "')' or an operator");
    if (inner.indices.empty())
      cursor_.fail("E0026",
                   "'" + std::string(cursor_.word(word)) +
                       "' is for positions that the elements of an input say, and there is none",
                   word, "write such as x[clip(k[i])]; other positions must be inside");
    inner.outside = clips ? Outside::Clips : Outside::Wraps;
    return inner;
  }

  // clip(i32(v[i]), 0, 9) is a value.
  bool has_several_arguments() const {
    int open = 0;
    for (std::size_t at = 1;; ++at) {
      const Tok kind = cursor_.peek(at).kind;
      open += (kind == Tok::LeftParen || kind == Tok::LeftBracket) -
              (kind == Tok::RightParen || kind == Tok::RightBracket);
      if (open == 0 || kind == Tok::End || kind == Tok::Break) return false;
      if (open == 1 && kind == Tok::Comma) return true;
    }
  }

  // What stands before the end of a form or of a term, outside of brackets.
  struct Seen {
    bool arrays = false; // elements, calls, names of inputs and lets
    bool looser = false; // operators that bind less than +
    bool divides = false;
    int factors = 0; // that hold a name
    bool is_value_of_form() const { return arrays && looser; }
    bool is_value_of_term() const { return arrays && (divides || factors > 1); }
  };
  static bool is_any(Tok kind, std::initializer_list<Tok> of) {
    return std::ranges::find(of, kind) != of.end();
  }
  static bool is_looser(Tok kind) {
    return is_any(kind, {Tok::OrOr, Tok::AndAnd, Tok::Or, Tok::And, Tok::Equal, Tok::NotEqual,
                         Tok::Less, Tok::LessEqual, Tok::Greater, Tok::GreaterEqual, Tok::ShiftLeft,
                         Tok::ShiftRight, Tok::Question});
  }

  Seen look_ahead(bool of_term) const {
    Seen seen;
    int parens = 0, brackets = 0;
    bool named = false; // the factor so far
    for (std::size_t at = 0;; ++at) {
      const Token &token = cursor_.peek(at);
      const Tok kind = token.kind;
      const bool is_outside = parens == 0 && brackets == 0;
      if (is_any(kind, {Tok::End, Tok::Break, Tok::LeftBrace, Tok::RightBrace})) break;
      if (is_outside && is_any(kind, {Tok::Comma, Tok::RightParen, Tok::RightBracket})) break;
      const bool is_behind =
          at > 0 && is_any(cursor_.peek(at - 1).kind,
                           {Tok::Name, Tok::Int, Tok::Float, Tok::RightParen, Tok::RightBracket});
      if (is_outside && is_behind && kind == Tok::Name && cursor_.word(token) == "until")
        break; // t < 100 until ..
      if (of_term && is_outside &&
          (is_looser(kind) || (is_behind && is_any(kind, {Tok::Plus, Tok::Minus}))))
        break;
      parens += (kind == Tok::LeftParen) - (kind == Tok::RightParen);
      brackets += (kind == Tok::LeftBracket) - (kind == Tok::RightBracket);
      if (parens + brackets > deepest) break; // an error
      seen.looser = seen.looser || (is_outside && is_looser(kind));
      seen.divides =
          seen.divides ||
          (is_outside && is_any(kind, {Tok::Slash, Tok::SlashSlash, Tok::Percent, Tok::Caret}));
      if (is_outside && kind == Tok::Star) {
        seen.factors += named;
        named = false;
      }
      if (kind != Tok::Name || brackets > 0) continue;
      named = true;
      const Tok next = cursor_.peek(at + 1).kind;
      if (next == Tok::LeftParen && cursor_.word(token) == "extent") {
        while (!is_any(cursor_.peek(at + 1).kind, {Tok::RightParen, Tok::Break, Tok::End})) ++at;
        ++parens; // it closes behind this
        continue;
      }
      const auto symbol = symbols_.find(std::string(cursor_.word(token)));
      seen.arrays = seen.arrays || next == Tok::LeftBracket || next == Tok::LeftParen ||
                    (symbol != symbols_.end() && symbol->second.expr.node() != nullptr);
    }
    seen.factors += named;
    return seen;
  }

  // Of what `read` parses: the element of a let that holds it.
  template <class Read> AffineForm value(Read read) {
    const Token first = cursor_.peek();
    if (symbols_.in_position >= most_values)
      cursor_.fail("E0013",
                   "more than " + std::to_string(most_values) +
                       " positions that are computed stand in each other",
                   first, "compute the inner ones in lets");
    ++symbols_.in_position;
    const Expr made =
        with_lengths(read(), [&](const std::string &label) { return labelled(label); });
    --symbols_.in_position;
    const Place place = cursor_.source().place(first, cursor_.previous());
    bool reads = false;
    expr::Walker().walk(
        made.node(), [&](const ExprNode &node) { reads = reads || node.kind == ExprKind::Input; });
    if (!reads) not_affine("the value of an expression is no axis", first);
    const Expr element = element_of_value(
        fresh_name(), made, [&] { return support::with_text(place, cursor_.source().text.get()); });
    for (const Expr &let : element.node()->args)
      if (let.node() != made.node()) symbols_.lets.push_back(let);
    return index(element);
  }

  // The first input that has the label of the axis; none where its extent is said, too.
  std::optional<std::string> labelled(const std::string &label) const {
    for (const auto &said : symbols_.axes)
      if (said->dims[0].label == label) return std::nullopt;
    const InputDecl *first = nullptr;
    const auto place = [](const InputDecl &decl) {
      return std::pair(decl.where.line, decl.where.column);
    };
    for (const auto &[name, symbol] : symbols_) {
      if (symbol.kind != Symbol::Kind::Input || symbol.expr.node() == nullptr) continue;
      const InputDecl &decl = *symbol.expr.node()->input;
      for (const Dim &dim : decl.dims)
        if (!decl.window && dim.label == label && !expr::is_one_of_more(dim) &&
            (first == nullptr || place(decl) < place(*first)))
          first = &decl;
    }
    return first != nullptr ? std::optional(first->name) : std::nullopt;
  }

  AffineForm index(const Expr &element) {
    lets_.insert(lets_.end(), element.node()->args.begin(), element.node()->args.end());
    AffineForm result;
    result.indices.push_back({element.node()->input, 1});
    return result;
  }

  // Of a let that holds positions in this array; it is there before what follows is named.
  std::string fresh_name() {
    if (symbols_.words.empty())
      for (const Token &token : cursor_.source().tokens)
        if (token.kind == Tok::Name) symbols_.words.emplace(cursor_.word(token));
    const std::string array(array_.kind == Tok::Name ? cursor_.word(array_) : "array");
    return support::fresh_name(array + "_at", symbols_.words);
  }

  AffineForm form(int depth) {
    if (may_be_value_ && look_ahead(false).is_value_of_form())
      return value([&] { return parse_expression(cursor_, symbols_, *symbols_.definitions); });
    AffineForm sum = term(depth);
    while (cursor_.is(Tok::Plus) || cursor_.is(Tok::Minus)) {
      const Token sign = cursor_.next();
      const AffineForm more = term(depth);
      add(sum, more, sign.kind == Tok::Minus ? -1 : 1, sign);
      if (is_number(more) && more.constant == 0) sum.stays_inside = true; // `i + 0`
    }
    return sum;
  }

  AffineForm term(int depth) {
    if (may_be_value_ && look_ahead(true).is_value_of_term())
      return value(
          [&] { return parse_within(cursor_, symbols_, *symbols_.definitions, Precedence::Term); });
    AffineForm product = factor(depth);
    while (cursor_.is(Tok::Star)) {
      const Token star = cursor_.next();
      AffineForm other = factor(depth);
      if (is_number(product)) std::swap(product, other);
      if (!is_number(other)) not_affine("axes are multiplied with each other", star);
      AffineForm scaled;
      add(scaled, product, other.constant, star);
      product = std::move(scaled);
    }
    for (const Tok other : {Tok::Slash, Tok::SlashSlash, Tok::Percent, Tok::Caret})
      if (cursor_.is(other))
        not_affine("'" + std::string(cursor_.word(cursor_.peek())) + "' is none of + - *",
                   cursor_.peek());
    return product;
  }

  static bool is_number(const AffineForm &form) {
    return form.terms.empty() && form.indices.empty() && form.extents.empty();
  }

  AffineForm factor(int depth) {
    const Token token = cursor_.peek();
    if (depth >= deepest)
      cursor_.fail("E0013", "more than 64 parentheses and signs are open in this position", token,
                   "write the position as a sum of multiples of axes");
    AffineForm result;
    switch (token.kind) {
    case Tok::Minus: {
      cursor_.next();
      const AffineForm negated = factor(depth + 1);
      add(result, negated, -1, token);
      return result;
    }
    case Tok::LeftParen:
      cursor_.next();
      result = form(depth + 1);
      cursor_.expect(Tok::RightParen, "')' or an operator");
      return result;
    case Tok::Int: {
      const auto number = support::number_of<std::int64_t>(cursor_.word(cursor_.next()));
      if (!number) too_large(token);
      result.constant = *number;
      return result;
    }
    case Tok::Float: not_affine("'" + std::string(cursor_.word(token)) + "' is no integer", token);
    case Tok::Name:
      if (cursor_.peek(1).kind == Tok::LeftBracket || at_pad(cursor_)) return element(depth);
      if (cursor_.is_word("extent") && cursor_.peek(1).kind == Tok::LeftParen) return extent();
      if (cursor_.peek(1).kind == Tok::LeftParen && may_be_value_)
        return value([&] {
          return parse_within(cursor_, symbols_, *symbols_.definitions, Precedence::Primary);
        });
      if (cursor_.peek(1).kind == Tok::LeftParen)
        not_affine("the value of an expression is no axis", token);
      result.terms.push_back({std::string(cursor_.word(cursor_.expect_new_name("an axis"))), 1});
      symbols_.walked.emplace(result.terms.back().axis, token);
      return result;
    default: cursor_.unexpected("a position: a sum of integers and multiples of axes");
    }
  }

  // k[i, j], of an input or a let
  AffineForm element(int depth) {
    const Token name = cursor_.peek();
    const std::string word(cursor_.word(name));
    const Token around = array_;
    std::vector<Expr> lets;
    lets.swap(lets_);
    array_ = name;
    Expr of;
    if (at_pad(cursor_)) {
      of = parse_pad(cursor_, symbols_);
    } else {
      cursor_.next();
      const auto symbol = symbols_.look_up(word);
      const bool is_array =
          symbol != symbols_.end() &&
          (symbol->second.kind == Symbol::Kind::Input || is_let_of_kernel(symbol->second));
      if (is_array) of = symbol->second.expr;
    }
    if (!of.node() && symbols_.may_read_ahead(word))
      cursor_.fail("E0026",
                   "'" + word +
                       "' is computed step by step with this, and its elements are no "
                       "positions before all of them are there",
                   name, "compute the positions in a let before the loop");
    if (!of.node())
      cursor_.fail("E0026",
                   "'" + word +
                       "' is no input and no let, and only elements of these can be positions",
                   name, "declare it with `in`, or compute it with `let`");
    std::vector<AffineForm> forms = positions(depth + 1);
    array_ = around;
    lets.swap(lets_);
    return index(holding(
        make_window(of, std::move(forms), cursor_.source().place(name, cursor_.previous())), lets));
  }

  // extent(x, 0), or by the label of its dim
  AffineForm extent() {
    cursor_.next();
    cursor_.next();
    const Token name = cursor_.peek();
    const std::string word(
        cursor_.word(cursor_.expect(Tok::Name, "the name of an input or a let")));
    const auto symbol = symbols_.look_up(word);
    const Expr of = symbol == symbols_.end() ? Expr() : symbol->second.expr;
    const bool is_array =
        of.node() && (of.node()->kind == ExprKind::Let ||
                      (of.node()->kind == ExprKind::Input && !of.node()->input->window));
    if (!is_array)
      cursor_.fail("E0003",
                   "'" + word + "' is no input and no let, and a position has the extents of these",
                   name, "name one that is defined above: x[i + extent(y, 0)]");
    cursor_.expect(Tok::Comma, "',' and a dim: its number, or its label");
    const Token dim = cursor_.peek();
    const AxisRef ref = parse_axis(cursor_);
    const Place place = cursor_.source().place(dim, cursor_.previous());
    AffineForm result = extent_form(
        of, ref, [&] { return support::with_text(place, cursor_.source().text.get()); });
    cursor_.expect(Tok::RightParen, "')'");
    return result;
  }

  void add(AffineForm &sum, const AffineForm &form, std::int64_t times, const Token &at) {
    if (!add_to(sum, form, times)) too_large(at);
    // An array has no more dims, and each further term is looked for among all before it.
    if (sum.terms.size() + sum.indices.size() + sum.extents.size() > std::size_t(max_rank))
      cursor_.fail("E0013",
                   "a position has at most " + std::to_string(max_rank) + " axes and extents", at,
                   "join axes that are always walked together");
  }

  [[noreturn]] void too_large(const Token &at) {
    cursor_.fail("E0006", "the numbers of this position leave the range of i64", at,
                 "use smaller numbers");
  }
  [[noreturn]] void not_affine(const std::string &why, const Token &at) {
    cursor_.fail("E0022", "this position is no sum of integers and multiples of axes: " + why, at,
                 "positions are such as 2*i + u - 1");
  }

  static constexpr int most_values = 32;

  Cursor &cursor_;
  const Symbols &symbols_;
  Token array_; // what is read, or the parenthesis behind it
  const bool may_be_value_;
  std::vector<Expr> lets_; // whose elements are positions
};

} // namespace

std::vector<AffineForm> parse_window(Cursor &cursor, const Symbols &symbols) {
  return WindowParser(cursor, symbols, WindowParser::Values::Are).run();
}

Expr parse_read(const Expr &of, Cursor &cursor, const Symbols &symbols, const Token &name) {
  WindowParser parser(cursor, symbols, WindowParser::Values::Are);
  std::vector<AffineForm> forms = parser.run();
  const Place where = cursor.source().place(name, cursor.previous());
  return holding(make_window(of, std::move(forms), where), parser.lets());
}

AffineForm parse_form(Cursor &cursor, const Symbols &symbols) {
  return WindowParser(cursor, symbols, WindowParser::Values::Not).one();
}

} // namespace broadloom::text
