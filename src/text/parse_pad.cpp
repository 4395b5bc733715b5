// `pad(x, i: (1, 2), edge)`: an input with more elements around, which is read at positions.
//
//   pad    = "pad" "(" ( NAME | pad ) "," dim ":" amounts { "," dim ":" amounts } [ "," mode ] ")"
//   dim    = AXIS | [ "-" ] INT                 of an input without labels its number
//   amounts = "(" INT "," INT ")"
//   mode   = "zero" | "edge" | "wrap" | "reflect" | number
#include "expr/window.hpp"
#include "support/number.hpp"
#include "support/text.hpp"
#include "text/parser.hpp"

#include <array>

namespace broadloom::text {
namespace {

class PadParser {
public:
  PadParser(Cursor &cursor, const Symbols &symbols) : cursor_(cursor), symbols_(symbols) {}

  // The inner ones of pad(pad(x, ..), ..) are read first, without recursion: texts may be deep.
  Expr run() {
    const Token first = cursor_.peek();
    std::size_t open = 0;
    for (; at_pad(cursor_); ++open) {
      cursor_.next();
      cursor_.next();
    }
    const Token &name = cursor_.expect(Tok::Name, "the name of an input");
    const std::string word(cursor_.word(name));
    const auto found = symbols_.look_up(word);
    const bool is_ahead = found == symbols_.end() && symbols_.may_read_ahead(word);
    if (found == symbols_.end() && !is_ahead)
      cursor_.fail("E0003", "'" + word + "' is not defined", name,
                   "pad takes an input, which is declared before");
    const Symbol symbol =
        is_ahead ? Symbol{Symbol::Kind::Input, make_ahead(word, cursor_.source().place(name))}
                 : found->second;
    const bool is_let = is_let_of_kernel(symbol);
    if (!is_let && symbol.kind != Symbol::Kind::Input)
      cursor_.fail("E0023", "'" + word + "' is no input and no let, and only these are padded",
                   name, "pad an input or a let of the kernel");
    const auto read = is_let ? declaration_of(symbol.expr) : symbol.expr.node()->input;
    const InputDecl &of = read->window ? *read->window->of : *read;
    std::vector<DimPad> pads;
    if (read->window) pads = read->window->pads;
    for (; open > 0; --open) add_pads(of, pads);
    return make_padded(symbol.expr, std::move(pads),
                       cursor_.source().place(first, cursor_.previous()));
  }

private:
  void add_pads(const InputDecl &of, std::vector<DimPad> &pads) {
    struct Read {
      AxisRef dim;
      DimPad pad;
      Token first, last;
    };
    std::vector<Read> read;
    while (cursor_.accept(Tok::Comma)) {
      if (!at_dim()) {
        fill(read.empty() ? nullptr : &filling_);
        break;
      }
      const Token first = cursor_.peek();
      AxisRef dim = parse_axis(cursor_);
      cursor_.expect(Tok::Colon, "':' and how many elements are added");
      DimPad pad;
      cursor_.expect(Tok::LeftParen, "'(' and the numbers of elements before and after");
      pad.before = amount();
      cursor_.expect(Tok::Comma, "',' and the number of elements after");
      pad.after = amount();
      cursor_.expect(Tok::RightParen, "')'");
      read.push_back({std::move(dim), std::move(pad), first, cursor_.previous()});
    }
    if (read.empty()) cursor_.unexpected("',' and the padding of a dim, such as i: (1, 1)");
    cursor_.expect(Tok::RightParen, "',' or ')'");
    for (Read &one : read) {
      one.pad.mode = filling_.mode;
      one.pad.value = filling_.value;
      add_pad(pads, of, one.dim, one.pad, [&] {
        return support::with_text(cursor_.source().place(one.first, one.last),
                                  cursor_.source().text.get());
      });
    }
    filling_ = {};
  }

  // `i:`, `0:` or `-1:`
  bool at_dim() const {
    const std::size_t sign = cursor_.is(Tok::Minus) ? 1 : 0;
    const Tok kind = cursor_.peek(sign).kind;
    return (kind == Tok::Int || (kind == Tok::Name && sign == 0)) &&
           cursor_.peek(sign + 1).kind == Tok::Colon;
  }

  void fill(DimPad *filling) {
    if (filling == nullptr) cursor_.unexpected("the padding of a dim, such as i: (1, 1)");
    constexpr std::array<std::pair<std::string_view, PadMode>, 4> words{
        {{"zero", PadMode::Constant},
         {"edge", PadMode::Edge},
         {"wrap", PadMode::Wrap},
         {"reflect", PadMode::Reflect}}};
    for (const auto &[word, mode] : words)
      if (cursor_.is(Tok::Name) && cursor_.word(cursor_.peek()) == word) {
        filling->mode = mode;
        cursor_.next();
        return;
      }
    const Tok kind = cursor_.peek().kind;
    const bool is_number = kind == Tok::Int || kind == Tok::Float || kind == Tok::Minus ||
                           cursor_.is_word("inf") || cursor_.is_word("nan") ||
                           cursor_.is_word("true") || cursor_.is_word("false");
    if (!is_number) cursor_.unexpected("zero, edge, wrap, reflect, a number or a dim");
    filling->value = parse_number(cursor_).node()->number;
  }

  std::int64_t amount() {
    const bool minus = cursor_.accept(Tok::Minus);
    const Token &token = cursor_.expect(Tok::Int, "a number of elements");
    const auto value = support::number_of<std::int64_t>(cursor_.word(token));
    if (!value) cursor_.fail("E0006", "the padding is too large", token, "2^40 are the limit");
    return minus ? -*value : *value;
  }

  Cursor &cursor_;
  const Symbols &symbols_;
  DimPad filling_;
};

} // namespace

bool at_pad(const Cursor &cursor) {
  return cursor.is(Tok::Name) && cursor.word(cursor.peek()) == "pad" &&
         cursor.peek(1).kind == Tok::LeftParen;
}

Expr parse_pad(Cursor &cursor, const Symbols &symbols) { return PadParser(cursor, symbols).run(); }

} // namespace broadloom::text
