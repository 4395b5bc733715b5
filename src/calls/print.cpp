// See call.hpp.
#include "calls/call.hpp"

#include "loop/nest_text.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <array>

namespace broadloom::calls {
namespace {

constexpr std::array<std::string_view, std::size_t(Step::Kind::For) + 1> words{
    "run", "gather", "scatter", "start", "count", "pad", "copy", "view", "save", "again", "for"};
constexpr std::array<std::string_view, std::size_t(Array::Owner::Copy) + 1> owners{"in", "out",
                                                                                   "temp", "copy"};

void add_terms(std::string &text, const std::vector<Affine::Term> &terms) {
  for (const Affine::Term &term : terms)
    support::add_term(text, term.times,
                      loop::quoted(term.axis) +
                          (term.count > 0 ? fmt::format("<{}", term.count) : ""));
}

std::string text_of(const Affine &position) {
  if (position.all) return ":";
  std::string text;
  add_terms(text, position.terms);
  const auto add_constant = [&] {
    if (position.constant != 0 || text.empty()) support::add_term(text, position.constant);
  };
  if (position.divisor != 1) {
    add_constant();
    text = fmt::format("({}) / {}", text, position.divisor);
  }
  for (const Affine::Index &index : position.indices)
    support::add_term(text, index.times,
                      print(*index.element) + (index.element->at.empty() ? "[]" : ""));
  if (position.divisor == 1) add_constant();
  return position.outside.empty() ? text : fmt::format("{}({})", position.outside, text);
}

std::string text_of(const Range &range) {
  if (!range.moves.empty()) {
    std::string first;
    add_terms(first, range.moves);
    if (range.first != 0) support::add_term(first, range.first);
    return fmt::format("{} [{}, +{})", loop::quoted(range.axis), first, range.count);
  }
  const std::int64_t end = range.first + std::max<std::int64_t>(range.count - 1, 0) * range.step +
                           (range.count > 0 ? 1 : 0);
  return fmt::format("{} [{}, {}){}", loop::quoted(range.axis), range.first, end,
                     range.step == 1 ? "" : fmt::format(" by {}", range.step));
}

std::string refs(const std::vector<Ref> &list) {
  return support::joined(list, [](const Ref &ref) { return print(ref); });
}

std::string ranges(const std::vector<Range> &list) {
  return support::joined(list, [](const Range &range) { return text_of(range); });
}

std::string line_of(const Array &array) {
  std::string text =
      fmt::format("{:<4} {} : {}[{}]", word_of(array.owner), loop::quoted(array.name),
                  broadloom::name(array.dtype),
                  support::joined(array.extents, [](std::int64_t n) { return std::to_string(n); }));
  if (array.rows) {
    text += fmt::format(" along {} from {}", array.rows->dim, array.rows->from);
    if (array.rows->behind > 0) text += fmt::format(" behind {}", array.rows->behind);
    if (array.rows->kept > 0)
      text += fmt::format(" {} {}", array.rows->in_tiles ? "tile" : "ring", array.rows->kept);
  }
  if (array.place) text += fmt::format(", {} bytes at {}", array.place->bytes, array.place->at);
  return text;
}

std::string line_of(const Step &step) {
  switch (step.kind) {
  case Step::Kind::For:
    return fmt::format("for {}{}{}:", ranges(step.over), step.down ? " down" : "",
                       step.from.empty() ? ""
                       : step.each > 0
                           ? fmt::format(" rests after {} of {}", step.each, refs(step.from))
                           : " until " + refs(step.from));
  case Step::Kind::Again: return fmt::format("again {} each {}", refs(step.to), step.each);
  default: break;
  }
  std::string text = fmt::format("{} = {}", refs(step.to), word_of(step.kind));
  if (step.kind == Step::Kind::Run)
    text += fmt::format(" {}({})", loop::quoted(step.kernel), refs(step.from));
  else if (step.kind != Step::Kind::Count)
    text += step.from.empty() ? " 0" : " " + refs(step.from);
  if (step.each > 0) text += fmt::format(" each {}", step.each);
  if (!step.borders.empty())
    text += " by " + support::joined(step.borders, [](const Border &border) {
              return fmt::format("{}: ({}, {}) {}", border.dim, border.before, border.after,
                                 border.mode);
            });
  if (!step.reach.empty())
    text += " at " + support::joined(step.reach, [](const Step::Reach &reach) {
              return fmt::format("[{}, {}]{}", reach.first, reach.last,
                                 reach.divisor == 1 ? "" : fmt::format(" by {}", reach.divisor));
            });
  if (!step.over.empty()) text += " over " + ranges(step.over);
  return text;
}

void print(const std::vector<Step> &steps, std::size_t depth, std::string &text) {
  for (const Step &step : steps) {
    text += std::string(2 * depth, ' ') + line_of(step);
    text += (step.note.empty() ? "" : "    # " + step.note) + "\n";
    print(step.body, depth + 1, text);
  }
}

} // namespace

std::string_view word_of(Step::Kind kind) { return words[std::size_t(kind)]; }
std::string_view word_of(Array::Owner owner) { return owners[std::size_t(owner)]; }

std::string print(const Ref &ref) {
  std::string text = loop::quoted(ref.array);
  if (!ref.at.empty())
    text += "[" +
            support::joined(ref.at, [](const Affine &position) { return text_of(position); }) + "]";
  return text;
}

std::string print(const Call &call) {
  std::string text = "call " + loop::quoted(call.name) + "\n";
  for (const Array &array : call.arrays)
    text += "  " + line_of(array) + (array.note.empty() ? "" : "    # " + array.note) + "\n";
  print(call.steps, 1, text);
  return text;
}

} // namespace broadloom::calls
