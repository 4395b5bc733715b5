// Inside the parser of loop programs: its parts.
#pragma once

#include "loop/loop.hpp"
#include "loop/nest_expression.hpp"
#include "loop/nest_text.hpp"

#include <unordered_map>

namespace broadloom::loop {

// The lines still to be read.
struct Lines {
  const NestText &source;
  std::size_t at = 0;

  bool end() const { return at == source.lines.size(); }
  const Line &peek() const { return source.lines[at]; }
  // Whether the next line belongs to what has this depth; one that is deeper is an error.
  bool at_depth(int depth) const;
};

// What the names of a program stand for: see Cursor::Name for the keys.
struct Names {
  std::unordered_map<std::string, AxisId> axes;
  std::unordered_map<std::string, BufferId> buffers;
  std::unordered_map<std::string, std::uint32_t> values; // by the order in which they are made
};
AxisId read_axis(Cursor &cursor, const Names &names);
BufferId read_buffer(Cursor &cursor, const Names &names);

// "v12" of the letter v: 12. Empty for any other word; an error for a number beyond 2^32 - 1.
std::optional<std::uint32_t> number_behind(const Cursor &cursor, const Token &token, char letter);

// What stands before the phases: parse_header.cpp. Leaves the lines at the literals or the first
// phase.
void parse_header(Lines &lines, Program &program, Names &names);

// An accumulator, the cursor behind `accumulator rN`; leaves the lines behind its code:
// parse_recipe.cpp.
ops::Recipe parse_recipe(Cursor &cursor, Lines &lines);
// `sum f64`: one of the built-in accumulators of a single operation.
ops::Recipe parse_built_in(Cursor &cursor);

} // namespace broadloom::loop
