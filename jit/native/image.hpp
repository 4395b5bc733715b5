// Linked code that may lie anywhere: what the disk cache keeps, and what a process runs without a
// linker.
//
// Problem: to link an object file takes LLVM's linker, some half a millisecond, most of it for one
// small kernel.
// Method: code of ours refers to itself by distances, so once linked its bytes are the same
// wherever they lie. Only slots that hold addresses are filled in again: those of functions that
// run one value at a time (math/libm.hpp), and tables of places in the code.
// Example: auto image = Image::parse(bytes, phases);
//     const CodePiece piece = place(*image);
#pragma once

#include "jit/native/code_memory.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::jit {

struct Image {
  struct Slot { // eight bytes
    std::uint32_t at = 0;
    std::int64_t addend = 0;
    std::string symbol; // of a function outside; empty: of the first byte
  };
  std::string bytes; // that begin a page
  std::vector<Slot> slots;
  std::vector<std::uint32_t> phases; // where their functions begin

  std::string text() const;
  // Nothing where these are not the bytes of an image of so many phases.
  static std::optional<Image> parse(std::string_view text, std::size_t phases);
};

// Copies the image into memory that may be run. Throws CompileError E0501.
CodePiece place(const Image &image);

} // namespace broadloom::jit
