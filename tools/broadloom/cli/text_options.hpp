// What every command is given: where it reads and writes, and which kernel is meant.
#pragma once

#include <iosfwd>
#include <string>

namespace broadloom::cli {

struct Streams {
  std::istream &in;
  std::ostream &out;
  std::ostream &err;
};

// How far a command has come: the same ShapeError is the spec's fault before there is data, and the
// data's fault afterwards.
enum class Phase { Spec, Data };

struct TextOptions {
  std::string file; // "-": standard input; empty: `text` is the text
  std::string text;
  std::string kernel; // empty: the only one
};

} // namespace broadloom::cli
