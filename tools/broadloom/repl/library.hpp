// What a session has been told: kernels, functions and accumulators, each with its own text.
//
// A kernel is parsed together with the definitions that it uses, each of which may have been typed
// long before; errors then speak of the text in which the mistake stands. What is defined again
// replaces the old one. Kernels keep the definitions that they were made with.
#pragma once

#include "spec/spec.hpp"
#include "support/fail.hpp"

#include <broadloom/spec.hpp>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::cli {

// Whole lines of a text: `line` is the number of the first one in `file`.
struct Chunk {
  std::string file;
  int line = 1;
  std::string text;
};

// Chunks as one text, and the way back from its lines to theirs.
class Composed {
public:
  void add(const Chunk &chunk);
  const std::string &text() const { return text_; }
  Place place(Place place) const; // in the chunk, for one in the text; others stay as they are

  static constexpr const char *file = "<input>"; // under which the text is to be parsed

private:
  struct Part {
    int first = 1; // line in the text
    std::string file;
    int line = 1;
  };
  std::vector<Part> parts_;
  std::string text_;
  int lines_ = 0;
};

struct DefinedKernel {
  Composed text;
  LoopSpec spec;
  spec::TypedSpec typed;
  std::vector<Chunk> own; // without the definitions before it
};

class Library {
public:
  enum class Kind { Kernel, Function, Accumulator };
  struct Name {
    Kind kind;
    std::string name;
  };

  // Adds all definitions of a text, or none where one is wrong. Returns them in order. Throws what
  // `parse_all` and `check` throw, with places in the text.
  std::vector<Name> define(const Chunk &text);

  // Statements outside of any kernel (`in x : f32[i]`, `out z = x`) make up the kernel `scratch`,
  // which is defined once it has an output. A statement takes the place of an earlier one that
  // defines the same. True where the text begins with such a statement.
  static bool is_statement(std::string_view text);
  std::vector<Name> state(const Chunk &text);
  void forget_statements() { statements_.clear(); }
  std::vector<std::string> statement_names() const; // what they define

  // Appends lines to the function that was defined last: its `derivative` clauses, which may be
  // typed later. False where the last definition was none.
  bool extend_function(const Chunk &lines);

  const std::map<std::string, std::shared_ptr<const DefinedKernel>> &kernels() const {
    return kernels_;
  }
  const std::string &latest() const { return latest_; } // kernel; empty where there is none

  void set_latest(const std::string &kernel) { latest_ = kernel; }

  struct Definition {
    Kind kind;
    Chunk chunk;
  };
  const std::map<std::string, Definition> &definitions() const {
    return definitions_;
  } // no kernels

private:
  struct Item;
  struct Statement {
    std::string key; // what it defines or sets
    Chunk chunk;
  };
  void add(const Item &item, bool keep = true); // else only reads it
  std::span<const Chunk> chunks_of(const std::string &word, bool is_called) const;
  void add_needed(const std::string &text, const std::string &self, std::vector<std::string> &seen,
                  Composed &composed) const;

  std::map<std::string, std::shared_ptr<const DefinedKernel>> kernels_;
  std::map<std::string, Definition> definitions_;
  std::vector<Statement> statements_;
  std::string latest_, last_function_;
};

// Runs `work` and lets errors out with their places in the chunks of `text`.
template <class Work> auto with_places(const Composed &text, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error &error) {
    if (error.where().file != Composed::file) throw;
    support::fail(error.code(), error.message(), text.place(error.where()), error.help());
  }
}

} // namespace broadloom::cli
