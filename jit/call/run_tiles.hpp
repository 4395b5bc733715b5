// Running lets in tiles (choose_tiles.hpp): tasks on threads, each with memory for the rows that it
// keeps.
#pragma once

#include "jit/call/call_plan.hpp"

#include <functional>

namespace broadloom::jit {

// Told of each piece that is run, with what it reads and writes. Tasks then run one after the
// other, and lets keep all their rows.
struct TileWatch {
  std::function<void(const std::string &let, const AnyView &whole)> let;
  std::function<void(const act::Run &run, const std::vector<const AnyView *> &operands)> piece;
  std::function<void(const Tiles::Border &border, const AnyView &of, const AnyView &copy,
                     const Tiles::PaddedRows &rows)>
      pad;
};

// `arrays`: where those of the call begin. `watch` may be null.
// Of the memory of each task, where rows make room for others.
std::size_t bytes_of_task(const Tiles &tiles);

void run_tiles(const Setup &setup, const Tiles &tiles, std::span<char *const> arrays,
               const TileWatch *watch);

} // namespace broadloom::jit
