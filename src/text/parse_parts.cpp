// The parts of expressions: numbers, axes, names of inputs.
#include "spec/words.hpp"
#include "text/parser.hpp"

#include <algorithm>
#include <charconv>

namespace broadloom::text {

namespace {

// Of a number beyond f64: is it too large, or too small? The power of ten of its first digit tells.
bool is_huge(std::string_view word) {
  const std::size_t e = word.find_first_of("eE");
  const std::string_view mantissa = word.substr(0, e);
  const auto point = std::int64_t(std::min(mantissa.find('.'), mantissa.size()));
  const auto first = std::int64_t(mantissa.find_first_of("123456789"));
  std::int64_t exponent = 0;
  if (e != word.npos) {
    std::string_view digits = word.substr(e + 1);
    if (digits.front() == '+') digits.remove_prefix(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc())
      return digits.front() != '-';
  }
  return exponent > first - point; // the sum of all three might not fit
}

std::string parse_input_name(Cursor &cursor, const Symbols &symbols, const std::string &option) {
  const Token token = cursor.peek();
  Expr of;
  if (at_pad(cursor)) {
    of = parse_pad(cursor, symbols);
  } else {
    cursor.expect(Tok::Name, "the name of an input");
    const std::string name(cursor.word(token));
    const auto it = symbols.look_up(name);
    const bool is_let = it != symbols.end() && is_let_of_kernel(it->second);
    if (it == symbols.end() || (it->second.kind != Symbol::Kind::Input && !is_let) ||
        (is_let && !cursor.is(Tok::LeftBracket)))
      cursor.fail("E0003", option + "= names an input, and '" + name + "' is none", token,
                  "declare the input before this line");
    of = it->second.expr;
  }
  const bool is_whole = is_padded_whole(of);
  if (!cursor.is(Tok::LeftBracket) && !is_whole) return of.node()->input->name;
  if (!cursor.is(Tok::LeftBracket))
    cursor.fail("E0025", "a padded input is read at positions, and none are given", token,
                cursor.previous(),
                "write one position for each dim, as in pad(x, 0: (1, 1))[i + u]");
  std::vector<AffineForm> forms = parse_window(cursor, symbols);
  const Expr window =
      make_window(of, std::move(forms), cursor.source().place(token, cursor.previous()));
  symbols.windows.push_back(window.node()->input);
  return window.node()->input->name;
}
} // namespace

Number read_number(const Cursor &cursor, const Token &token) {
  Number number;
  std::string_view word = cursor.word(token);
  if (token.kind == Tok::Imaginary) word.remove_suffix(1); // the j
  const char *end = word.data() + word.size();
  if (token.kind == Tok::Int) {
    number.too_large = std::from_chars(word.data(), end, number.integer).ec != std::errc();
  } else {
    number.kind = token.kind == Tok::Imaginary ? Number::Kind::Imaginary : Number::Kind::Float;
    if (std::from_chars(word.data(), end, number.real).ec == std::errc::result_out_of_range) {
      if (is_huge(word))
        cursor.fail("E0006", "'" + std::string(word) + "' is too large for f64", token,
                    token.kind == Tok::Imaginary ? "write a smaller one" : "write inf");
      number.real = 0;
    }
  }
  return number;
}

std::string parse_input_option(Cursor &cursor, const Symbols &symbols) {
  const std::string option(cursor.word(cursor.next()));
  cursor.next();
  return parse_input_name(cursor, symbols, option);
}

std::vector<std::string> parse_inputs_option(Cursor &cursor, const Symbols &symbols) {
  if (cursor.peek(2).kind != Tok::LeftParen) return {parse_input_option(cursor, symbols)};
  const std::string option(cursor.word(cursor.next()));
  cursor.next();
  cursor.next();
  std::vector<std::string> names;
  do names.push_back(parse_input_name(cursor, symbols, option));
  while (cursor.accept(Tok::Comma));
  cursor.expect(Tok::RightParen, "')'");
  return names;
}

std::shared_ptr<const InputDecl> parse_positions_of_output(Cursor &cursor, const Symbols &symbols,
                                                           const Token &name) {
  std::vector<AffineForm> forms = parse_window(cursor, symbols);
  const Place where = cursor.source().place(name, cursor.previous());
  auto decl = std::make_shared<InputDecl>();
  decl->name = cursor.word(name);
  decl->dims.resize(forms.size());
  decl->where = where;
  decl->is_output = true;
  const Expr window = make_window(make_input(std::move(decl), where), std::move(forms), where);
  symbols.windows.push_back(window.node()->input);
  return window.node()->input;
}

AxisRef parse_axis(Cursor &cursor) {
  if (cursor.is(Tok::Name)) {
    const Token &token = cursor.next();
    std::string word(cursor.word(token));
    if (spec::is_reserved(word))
      cursor.fail("E0005", "'" + word + "' is a reserved word, not an axis", token,
                  "axes have names or positions");
    return AxisRef(std::move(word));
  }
  return AxisRef(cursor.expect_int("an axis"));
}

} // namespace broadloom::text
