// The head of a loop program as text: its name, axes, buffers and accumulators.
//
//   program rows
//     accuracy exact
//     axes i, j, i.chunk (chunks of i)
//     in x : f32[i other, j unit], operand 0, read ahead, read often
//     out z : f32[i unit], streamed
//     scratch s0 : f64
//     scratch count 2
//     accumulator r0 : sum f64
//
// An operand that is not said is the next one of its role, a scratch count the number of scratch
// arrays in use.
#include "loop/parse_lines.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <array>

namespace broadloom::loop {
namespace {

constexpr std::size_t most_axes = 1000; // far more than plans have; tables are buffers times axes
constexpr std::size_t most_buffers = 20000;

template <class Id>
Id find(Cursor &cursor, const std::unordered_map<std::string, Id> &names, const char *what) {
  const Cursor::Name name = cursor.name(what);
  const auto found = names.find(name.key);
  if (found == names.end())
    cursor.fail(name.token,
                "there is no " + std::string(what).substr(std::string_view(what).find(' ') + 1) +
                    " '" + name.name + "'",
                "the lines before the phases declare all of them");
  return found->second;
}

class HeaderParser {
public:
  HeaderParser(Lines &lines, Program &program, Names &names)
      : lines_(lines), p_(program), names_(names) {}

  void run() {
    if (lines_.end())
      fail_at(lines_.source, 1, 0, 0, "E0801", "a text without a program",
              "its first line is: program NAME");
    Cursor title(lines_.source, lines_.peek());
    if (lines_.peek().depth != 0 || !title.accept("program")) title.unexpected("'program NAME'");
    p_.name = title.name("a name").name;
    title.expect_end();
    for (++lines_.at; lines_.at_depth(1);) {
      Cursor cursor(lines_.source, lines_.peek());
      if (cursor.is("literal")) break;
      line(cursor);
    }
    const std::uint32_t used = used_scratch();
    if (scratch_line_ == nullptr)
      p_.scratch_count = used;
    else if (p_.scratch_count < used)
      Cursor(lines_.source, *scratch_line_)
          .fail(scratch_line_->tokens[0], "there are more scratch arrays than that",
                "they are " + std::to_string(used) + " at least");
  }

private:
  void line(Cursor &cursor) {
    const Token &first = cursor.word("a line of the head");
    const std::string_view word = first.text;
    if (word == "accumulator") {
      const Token &name = cursor.word("a name like r0");
      if (number_behind(cursor, name, 'r') != std::uint32_t(p_.recipes.size()))
        cursor.fail(name, "accumulators are r0, r1, .. in this order",
                    "call this one r" + std::to_string(p_.recipes.size()));
      p_.recipes.push_back(parse_recipe(cursor, lines_));
      return;
    }
    if (word == "axes") {
      axes(cursor);
    } else if (word == "accuracy") {
      accuracy(cursor);
    } else if (word == "scratch" && cursor.is("count") && cursor.peek(1).text != ":") {
      cursor.next();
      p_.scratch_count = std::uint32_t(cursor.integer("a number", UINT32_MAX));
      scratch_line_ = &lines_.peek();
    } else {
      buffer(cursor, first);
    }
    cursor.expect_end();
    ++lines_.at;
  }

  void accuracy(Cursor &cursor) {
    if (cursor.accept("high")) {
      p_.accuracy = Accuracy::high;
    } else if (cursor.accept("exact")) {
      p_.accuracy = Accuracy::exact;
    } else {
      cursor.expect("fast");
      p_.accuracy = Accuracy::fast;
    }
  }

  // Behind the name of an axis: (chunks of i), (copies 2), (tile 4), (positions 3), (tall).
  void clause(Cursor &cursor, Axis &axis) {
    constexpr std::uint64_t most = 8;
    if (cursor.accept("copies")) {
      axis.copies = int(cursor.integer("a number", most));
    } else if (cursor.accept("tile")) {
      axis.tile = int(cursor.integer("a number", most));
    } else if (cursor.accept("tall")) {
      axis.tall = true;
    } else if (cursor.accept("positions")) {
      axis.positions = int(cursor.integer("a number", fold_ways));
    } else {
      cursor.expect("chunks");
      cursor.expect("of");
      axis.chunks_of = read_axis(cursor, names_);
    }
  }

  void axes(Cursor &cursor) {
    do {
      const Cursor::Name name = cursor.name("a name of an axis");
      const AxisId id{std::uint32_t(p_.axes.size())};
      if (p_.axes.size() == most_axes)
        cursor.fail(name.token, "more than 1000 axes", "there is no such program");
      if (!names_.axes.emplace(name.key, id).second)
        cursor.fail(name.token, "there are two axes '" + name.name + "'",
                    "tell them apart, as in i@0 and i@1");
      p_.axes.push_back({name.name, {}});
      while (cursor.accept("(")) {
        clause(cursor, p_.axes.back());
        cursor.expect(")");
      }
    } while (cursor.accept(","));
  }

  void buffer(Cursor &cursor, const Token &role) {
    constexpr std::array<std::string_view, 4> roles{"in", "out", "scratch", "row"};
    const auto found = std::find(roles.begin(), roles.end(), role.text);
    if (found == roles.end())
      cursor.fail(role, "unexpected '" + std::string(role.text) + "'",
                  "lines here begin with accuracy, axes, in, out, scratch, row or accumulator");
    Buffer buffer;
    buffer.role = Role(found - roles.begin());
    const Cursor::Name name = cursor.name("a name of a buffer");
    buffer.name = name.name;
    if (p_.buffers.size() == most_buffers)
      cursor.fail(name.token, "more than 20000 buffers", "there is no such program");
    if (!names_.buffers.emplace(name.key, BufferId{std::uint32_t(p_.buffers.size())}).second)
      cursor.fail(name.token, "there are two buffers '" + name.name + "'",
                  "tell them apart, as in x@0 and x@1");
    cursor.expect(":");
    buffer.dtype = read_dtype(cursor);
    if (cursor.accept("[")) {
      do walk(cursor, buffer);
      while (cursor.accept(","));
      cursor.expect("]");
    }
    std::uint32_t &next = next_operand_[std::size_t(buffer.role)];
    buffer.operand = next;
    while (cursor.accept(",")) mark(cursor, buffer);
    next = buffer.operand + 1;
    p_.buffers.push_back(std::move(buffer));
  }

  void walk(Cursor &cursor, Buffer &buffer) {
    const Token at = cursor.peek();
    Walk walk{read_axis(cursor, names_), StrideClass::Other};
    if (cursor.accept("unit")) {
      walk.stride = StrideClass::Unit;
    } else if (cursor.accept("reversed")) {
      walk.stride = StrideClass::Reversed;
    } else if (cursor.accept("step")) {
      const Token step = cursor.peek();
      walk.stride = stride_class(std::int64_t(cursor.integer("a step", 1'000'000)));
      if (step_of(walk.stride) < 2)
        cursor.fail(step, "a step that is none of 2, 3 and 4",
                    "1 is `unit`, -1 `reversed`, any other `other`");
    } else {
      cursor.expect("other");
    }
    for (const Walk &before : buffer.walks)
      if (before.axis == walk.axis)
        cursor.fail(at, "a buffer that walks one axis twice", "its strides are one by axis");
    buffer.walks.push_back(walk);
  }

  void mark(Cursor &cursor, Buffer &buffer) {
    if (cursor.accept("operand")) {
      buffer.operand = std::uint32_t(cursor.integer("a number", 1'000'000));
    } else if (cursor.accept("streamed")) {
      buffer.stream = true;
    } else if (cursor.accept("like")) {
      const BufferId of = read_buffer(cursor, names_);
      cursor.expect("at");
      const AxisId axis = read_axis(cursor, names_);
      const bool before = cursor.accept("-");
      if (!before) cursor.expect("+");
      const int by = int(cursor.integer("a number of positions", 1'000'000));
      buffer.shift = {of, axis, before ? -by : by};
    } else {
      cursor.expect("read");
      if (cursor.accept("ahead")) {
        buffer.stream = true;
      } else {
        cursor.expect("often");
        buffer.reread = true;
      }
    }
  }

  std::uint32_t used_scratch() const {
    std::uint32_t used = 0;
    for (const Buffer &b : p_.buffers)
      if (b.role == Role::Scratch) used = std::max(used, b.operand + 1);
    return used;
  }

  Lines &lines_;
  Program &p_;
  Names &names_;
  std::array<std::uint32_t, 4> next_operand_{}; // [role]
  const Line *scratch_line_ = nullptr;
};

} // namespace

bool Lines::at_depth(int depth) const {
  if (end() || peek().depth < depth) return false;
  if (peek().depth > depth)
    Cursor(source, peek())
        .fail(peek().tokens[0], "this line is indented too far",
              "it stands " + std::to_string(2 * depth) + " spaces in, or less");
  return true;
}

AxisId read_axis(Cursor &cursor, const Names &names) { return find(cursor, names.axes, "an axis"); }

BufferId read_buffer(Cursor &cursor, const Names &names) {
  return find(cursor, names.buffers, "a buffer");
}

std::optional<std::uint32_t> number_behind(const Cursor &cursor, const Token &token, char letter) {
  const std::string_view digits = token.text.substr(1);
  if (token.text[0] != letter || digits.empty() ||
      digits.find_first_not_of("0123456789") != digits.npos)
    return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : digits) {
    number = number * 10 + std::uint64_t(c - '0');
    if (number > UINT32_MAX)
      cursor.fail(token, "'" + std::string(token.text) + "' is too large here",
                  "tables have fewer rows");
  }
  return std::uint32_t(number);
}

void parse_header(Lines &lines, Program &program, Names &names) {
  HeaderParser(lines, program, names).run();
}

} // namespace broadloom::loop
