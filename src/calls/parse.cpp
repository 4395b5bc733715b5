// The text of print(), read back: see call.hpp.
#include "calls/call.hpp"

#include "loop/nest_text.hpp"

namespace broadloom::calls {
namespace {

using loop::Cursor;
using loop::NestText;
using loop::Tok;

constexpr std::uint64_t most = INT64_MAX;

std::int64_t integer(Cursor &line, const char *what) {
  const bool negative = line.accept("-");
  const auto number = std::int64_t(line.integer(what, most));
  return negative ? -number : number;
}

class Parser {
public:
  explicit Parser(const NestText &source) : source_(source) {}

  Call run() {
    if (source_.lines.empty())
      loop::fail_at(source_, 1, 0, 0, "E0801", "a text without a call",
                    "it begins with: call NAME");
    Cursor line = next(0);
    line.expect("call");
    call_.name = line.name("the name of the kernel").name;
    line.expect_end();
    while (at_ < source_.lines.size() && is_array()) array();
    call_.steps = steps(1);
    if (at_ < source_.lines.size())
      Cursor(source_, source_.lines[at_]).unexpected("an indentation of two spaces a level");
    return std::move(call_);
  }

private:
  Cursor next(int depth) {
    Cursor line(source_, source_.lines[at_]);
    if (source_.lines[at_].depth != depth)
      line.unexpected("an indentation of " + std::to_string(2 * depth) + " spaces");
    ++at_;
    return line;
  }

  // `in x : ..`, and no step.
  bool is_array() const {
    Cursor line(source_, source_.lines[at_]);
    return line.peek(2).text == ":" && line.peek(0).kind == Tok::Word &&
           line.peek(1).kind != Tok::Sign && line.peek(0).text != "for";
  }

  void array() {
    Cursor line = next(1);
    int owner = 0;
    while (owner <= int(Array::Owner::Copy) && !line.accept(word_of(Array::Owner(owner)))) ++owner;
    if (owner > int(Array::Owner::Copy)) line.unexpected("in, out, temp or copy");
    Array array{.owner = Array::Owner(owner), .name = name(line, "an array")};
    if (call_.find(array.name) != nullptr)
      line.fail(line.peek(), "there are two arrays '" + array.name + "'", "give each its own name");
    line.expect(":");
    const std::string dtype(line.word("a dtype").text);
    const auto known = dtype_from_name(dtype);
    if (!known) line.unexpected("a dtype before");
    array.dtype = *known;
    line.expect("[");
    while (!line.accept("]")) {
      if (!array.extents.empty()) line.expect(",");
      array.extents.push_back(std::int64_t(line.integer("an extent", most)));
    }
    if (line.accept("along")) {
      array.rows = Array::Rows{};
      array.rows->dim = line.integer("a dim", 255);
      if (array.rows->dim >= array.extents.size()) line.unexpected("a dim of the array");
      line.expect("from");
      array.rows->from = integer(line, "the number of the first row");
      if (line.accept("behind"))
        array.rows->behind = std::int64_t(line.integer("a number of rows", most));
      array.rows->in_tiles = line.accept("tile");
      if (array.rows->in_tiles || line.accept("ring"))
        array.rows->kept = std::int64_t(line.integer("rows", most));
    }
    if (line.accept(",")) {
      array.place = Array::Place{};
      array.place->bytes = std::int64_t(line.integer("bytes", most));
      line.expect("bytes");
      line.expect("at");
      array.place->at = std::int64_t(line.integer("a place", most));
    }
    line.expect_end();
    call_.arrays.push_back(std::move(array));
  }

  std::string name(Cursor &line, const char *what) { return line.name(what).name; }

  std::vector<Step> steps(int depth) {
    std::vector<Step> made;
    while (at_ < source_.lines.size() && source_.lines[at_].depth >= depth) {
      Cursor line = next(depth);
      made.push_back(step(line));
      made.back().line = line.line();
      line.expect_end();
      if (made.back().kind == Step::Kind::For) made.back().body = steps(depth + 1);
    }
    return made;
  }

  Step step(Cursor &line) {
    Step made;
    if (line.accept("for")) {
      made.kind = Step::Kind::For;
      made.over.push_back(range(line));
      made.down = line.accept("down");
      if (line.accept("until")) {
        made.from.push_back(ref(line));
      } else if (line.accept("rests")) {
        line.expect("after");
        made.each = std::int64_t(line.integer("a number of steps", most));
        line.expect("of");
        made.from.push_back(ref(line));
      }
      line.expect(":");
      return made;
    }
    if (line.peek().text == "again" && line.peek(1).text != "=" && line.peek(1).text != "[" &&
        line.accept("again")) {
      made.kind = Step::Kind::Again;
      do made.to.push_back(ref(line));
      while (line.accept(","));
      line.expect("each");
      made.each = std::int64_t(line.integer("a number of steps", most));
      return made;
    }
    do made.to.push_back(ref(line));
    while (line.accept(","));
    line.expect("=");
    kind(line, made);
    if (made.kind == Step::Kind::Run) {
      made.kernel = name(line, "a kernel");
      line.expect("(");
      while (!line.accept(")")) {
        if (!made.from.empty()) line.expect(",");
        made.from.push_back(ref(line));
      }
    } else if (made.kind != Step::Kind::Count && !zero(line)) {
      do made.from.push_back(ref(line));
      while (line.accept(","));
    }
    if (line.accept("each")) made.each = std::int64_t(line.integer("a number of steps", most));
    if (line.accept("by")) do
        made.borders.push_back(border(line));
      while (line.accept(","));
    if (line.accept("at")) do
        made.reach.push_back(reach(line));
      while (line.accept(","));
    if (line.accept("over")) do
        made.over.push_back(range(line));
      while (line.accept(","));
    return made;
  }

  static bool zero(Cursor &line) { return line.peek().text == "0" && line.next().text == "0"; }

  static void kind(Cursor &line, Step &made) {
    for (int k = 0; k < int(Step::Kind::For); ++k)
      if (Step::Kind(k) != Step::Kind::Again && line.accept(word_of(Step::Kind(k)))) {
        made.kind = Step::Kind(k);
        return;
      }
    line.unexpected("run, gather, scatter, start, count, pad, copy, view or save");
  }

  Range range(Cursor &line) {
    Range made{.axis = name(line, "an axis")};
    line.expect("[");
    Affine first;
    sum(line, first);
    if (!first.indices.empty()) line.unexpected("a position that no element says");
    made.first = first.constant;
    made.moves = std::move(first.terms);
    line.expect(",");
    if (!made.moves.empty()) {
      line.expect("+");
      made.count = std::int64_t(line.integer("a number of positions", most));
      line.expect(")");
      return made;
    }
    const std::int64_t end = integer(line, "a position");
    line.expect(")");
    if (line.accept("by")) made.step = std::int64_t(line.integer("a step", most));
    if (made.step == 0) line.unexpected("a step of 1 or more before");
    made.count = end <= made.first ? 0 : (end - 1 - made.first) / made.step + 1;
    return made;
  }

  static Border border(Cursor &line) {
    Border made{.dim = int(line.integer("a dim", 255))};
    line.expect(":");
    line.expect("(");
    made.before = std::int64_t(line.integer("a number of elements", most));
    line.expect(",");
    made.after = std::int64_t(line.integer("a number of elements", most));
    line.expect(")");
    if (!line.accept("(")) {
      made.mode = mode(line);
      return made;
    }
    made.mode = "(" + mode(line);
    line.expect(",");
    made.mode += ", " + mode(line) + ")";
    line.expect(")");
    return made;
  }
  static std::string mode(Cursor &line) {
    const std::string sign = line.accept("-") ? "-" : "";
    return sign + std::string(line.next().text);
  }

  static Step::Reach reach(Cursor &line) {
    Step::Reach made;
    line.expect("[");
    made.first = integer(line, "a position");
    line.expect(",");
    made.last = integer(line, "a position");
    line.expect("]");
    if (line.accept("by")) made.divisor = std::int64_t(line.integer("a divisor", most));
    return made;
  }

  Ref ref(Cursor &line) {
    if (++depth_ > 64) line.unexpected("fewer elements that say positions within one another");
    Ref made{.array = name(line, "an array")};
    if (line.accept("[") && !line.accept("]")) {
      do made.at.push_back(position(line));
      while (line.accept(","));
      line.expect("]");
    }
    --depth_;
    return made;
  }

  Affine position(Cursor &line) {
    Affine made;
    made.all = line.accept(":");
    if (made.all) return made;
    for (const char *word : {"clip", "wrap", "zero"})
      if (line.peek(1).text == "(" && line.accept(word)) made.outside = word;
    if (!made.outside.empty()) line.expect("(");
    // (2*i + 1) / 2
    const bool divided = line.accept("(");
    sum(line, made);
    if (divided) {
      line.expect(")");
      line.expect("/");
      made.divisor = std::int64_t(line.integer("a divisor", most));
      if (made.divisor == 0) line.unexpected("a divisor of 1 or more before");
      if (line.peek().text == "+" || line.peek().text == "-") elements(line, made);
    }
    if (!made.outside.empty()) line.expect(")");
    return made;
  }

  void elements(Cursor &line, Affine &made) { // behind a quotient
    Affine behind;
    sum(line, behind, false);
    if (!behind.terms.empty() || behind.constant != 0)
      line.unexpected("only elements behind a quotient");
    made.indices = std::move(behind.indices);
  }

  void sum(Cursor &line, Affine &made, bool first = true) {
    for (;; first = false) {
      const bool minus = line.accept("-");
      if (!first && !minus && !line.accept("+")) return;
      std::int64_t times = minus ? -1 : 1;
      if (line.peek().kind == Tok::Integer) {
        times *= std::int64_t(line.integer("a number", most));
        if (!line.accept("*")) {
          made.constant = std::int64_t(std::uint64_t(made.constant) + std::uint64_t(times));
          continue;
        }
      }
      if (line.peek(1).text == "[") {
        made.indices.push_back({times, std::make_shared<const Ref>(ref(line))});
        continue;
      }
      made.terms.push_back({name(line, "an axis"), times});
      if (line.accept("<"))
        made.terms.back().count = std::int64_t(line.integer("a number of positions", most));
    }
  }

  const NestText &source_;
  Call call_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

} // namespace

Call parse(std::string_view text, std::string_view file) {
  const NestText source = loop::read_lines(text, file);
  return Parser(source).run();
}

} // namespace broadloom::calls
