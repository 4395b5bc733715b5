// `x[2*i + u - 1, k[i]]`: the positions of a window, each an affine form of axes and of elements of inputs.
//
//   position = form | ("clip" | "wrap") "(" form ")"
//   form     = term { ("+" | "-") term }
//   term     = factor { "*" factor }            at most one of them has axes or elements
//   factor   = INT | AXIS | "extent" "(" NAME "," dim ")" | INPUT "[" [ position { "," position } ] "]" | "-" factor | "(" form ")"
#include "expr/window.hpp"
#include "support/text.hpp"
#include "text/parser.hpp"

#include "spec/words.hpp"

#include <charconv>

namespace broadloom::text {
namespace {

class WindowParser {
public:
  WindowParser(Cursor &cursor, const Symbols &symbols) : cursor_(cursor), symbols_(symbols) {}

  std::vector<AffineForm> run() { return positions(0); }
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
    if ((!clips && !wraps) || cursor_.peek(1).kind != Tok::LeftParen) return form(depth);
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

  AffineForm form(int depth) {
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
      const std::string_view digits = cursor_.word(cursor_.next());
      if (std::from_chars(digits.data(), digits.data() + digits.size(), result.constant).ec !=
          std::errc())
        too_large(token);
      return result;
    }
    case Tok::Float: not_affine("'" + std::string(cursor_.word(token)) + "' is no integer", token);
    case Tok::Name:
      if (cursor_.peek(1).kind == Tok::LeftBracket || at_pad(cursor_)) return element(depth);
      if (cursor_.is_word("extent") && cursor_.peek(1).kind == Tok::LeftParen) return extent();
      if (cursor_.peek(1).kind == Tok::LeftParen)
        not_affine("the value of an expression is no axis", token);
      result.terms.push_back({std::string(cursor_.word(cursor_.expect_new_name("an axis"))), 1});
      symbols_.walked.emplace(result.terms.back().axis, token);
      return result;
    default: cursor_.unexpected("a position: a sum of integers and multiples of axes");
    }
  }

  // k[i, j]
  AffineForm element(int depth) {
    const Token name = cursor_.peek();
    Expr of;
    if (at_pad(cursor_)) {
      of = parse_pad(cursor_, symbols_);
    } else {
      const auto symbol = symbols_.look_up(std::string(cursor_.word(cursor_.next())));
      if (symbol != symbols_.end() && symbol->second.kind == Symbol::Kind::Input)
        of = symbol->second.expr;
    }
    if (!of.node() || (of.node()->input->window && of.node()->input->window->of->is_let))
      cursor_.fail(
          "E0026",
          "'" + std::string(cursor_.word(name)) +
              "' is no input, and only elements of an input can be positions",
          name,
          "make it an input: compute it in one kernel, as an output of i64, and give it to "
          "this one");
    std::vector<AffineForm> forms = positions(depth + 1);
    const Expr read =
        make_window(of, std::move(forms), cursor_.source().place(name, cursor_.previous()));
    AffineForm result;
    result.indices.push_back({read.node()->input, 1});
    return result;
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

  Cursor &cursor_;
  const Symbols &symbols_;
};

} // namespace

std::vector<AffineForm> parse_window(Cursor &cursor, const Symbols &symbols) {
  return WindowParser(cursor, symbols).run();
}

AffineForm parse_form(Cursor &cursor, const Symbols &symbols) {
  return WindowParser(cursor, symbols).one();
}

} // namespace broadloom::text
