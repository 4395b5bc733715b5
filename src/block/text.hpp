// Inside the text form of blocks: the words that print() writes and parse() reads.
#pragma once

#include "block/block.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace broadloom::block {

inline constexpr const char *prefetch_lines = "prefetch 1 and 8 KiB ahead";
inline constexpr const char *prefetch_steps = "prefetch 4 steps ahead";
inline constexpr const char *prefetch_block = "prefetch the next block";
inline constexpr const char *shared_rows = "rows shared";

const char *name(Shape shape);
const char *name(Move move, bool store);
std::optional<Shape> shape_called(std::string_view words);
std::optional<Move> move_called(std::string_view words, bool store);
std::string all_shapes();
std::string all_moves(bool store);

// "x", or "x@3" where other buffers have the name, too; and the buffer of such a name.
std::string unique_name(const loop::Program &program, loop::BufferId buffer);
std::optional<loop::BufferId> buffer_called(const loop::Program &program, std::string_view key);

// A rule of block.hpp that a box breaks, thrown by `check_rules`.
struct BrokenRule {
  std::string what;
  int box;
};
void check_rules(const loop::Program &program, const Program &blocks);

} // namespace broadloom::block
