// `x[2*i + u - 1, j]`: the positions of a window, each an affine form of axes.
//
//   form   = term { ("+" | "-") term }
//   term   = factor { "*" factor }              at most one of them has axes
//   factor = INT | AXIS | "-" factor | "(" form ")"
#include "expr/window.hpp"
#include "text/parser.hpp"

#include "text/words.hpp"

#include <charconv>

namespace broadloom::spec {
namespace {

class WindowParser {
public:
  explicit WindowParser(Cursor &cursor) : cursor_(cursor) {}

  std::vector<AffineForm> run() {
    std::vector<AffineForm> forms;
    cursor_.expect(Tok::LeftBracket, "'['");
    do {
      if (cursor_.is(Tok::Colon))
        cursor_.fail("E0022", "a position is a number or made of axes, and ':' is neither",
                     cursor_.peek(), "give the axis a label: x[i, j]");
      forms.push_back(form(0));
    } while (cursor_.accept(Tok::Comma));
    cursor_.expect(Tok::RightBracket, "',' or ']'");
    return forms;
  }

private:
  static constexpr int deepest = 64; // parentheses and signs around each other

  AffineForm form(int depth) {
    AffineForm sum = term(depth);
    while (cursor_.is(Tok::Plus) || cursor_.is(Tok::Minus)) {
      const Token sign = cursor_.next();
      add(sum, term(depth), sign.kind == Tok::Minus ? -1 : 1, sign);
    }
    return sum;
  }

  AffineForm term(int depth) {
    AffineForm product = factor(depth);
    while (cursor_.is(Tok::Star)) {
      const Token star = cursor_.next();
      AffineForm other = factor(depth);
      if (!product.terms.empty() && !other.terms.empty())
        not_affine("axes are multiplied with each other", star);
      if (product.terms.empty()) std::swap(product, other);
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

  AffineForm factor(int depth) {
    const Token token = cursor_.peek();
    if (depth == deepest)
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
      if (cursor_.peek(1).kind == Tok::LeftParen || cursor_.peek(1).kind == Tok::LeftBracket)
        not_affine("the value of an expression is no axis", token);
      result.terms.push_back({std::string(cursor_.word(cursor_.expect_new_name("an axis"))), 1});
      return result;
    default: cursor_.unexpected("a position: a sum of integers and multiples of axes");
    }
  }

  void add(AffineForm &sum, const AffineForm &form, std::int64_t times, const Token &at) {
    if (!add_to(sum, form, times)) too_large(at);
    // An array has no more dims, and each further term is looked for among all before it.
    if (sum.terms.size() > std::size_t(max_rank))
      cursor_.fail("E0013", "a position has at most " + std::to_string(max_rank) + " axes", at,
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
};

} // namespace

std::vector<AffineForm> parse_window(Cursor &cursor) { return WindowParser(cursor).run(); }

} // namespace broadloom::spec
