// Reading on behind a mistake, statement by statement, so that all mistakes of a text are told at
// once.
//
//   let t = expp(x)     noted; `t` is not known to be anything
//   out y = t * 2       follows from it: not noted
//   out z = x +         noted
#pragma once

#include "text/parser.hpp"

#include <string>
#include <unordered_set>
#include <vector>

namespace broadloom::text {

class Recovery {
public:
  // Those of the lexer are there already.
  Recovery(const Source &source, std::vector<Error> &mistakes)
      : source_(source), mistakes_(mistakes), of_lexer_(mistakes) {}

  // Notes the mistake of the statement that begins at token `first`, unless it follows from others,
  // and moves behind the statement; with `whole` to the next definition or kernel.
  void recover(Cursor &cursor, std::size_t first, const Error &error, bool whole);

  // Whether a statement was left out that says how others are meant.
  bool lost_setting() const { return lost_setting_; }

private:
  bool follows(const Error &error, std::size_t first, std::size_t end) const;

  const Source &source_;
  std::vector<Error> &mistakes_;
  const std::vector<Error> of_lexer_;
  std::unordered_set<std::string> lost_; // names that statements with mistakes were to define
  bool lost_setting_ = false;
};

// parse_all, reading on behind mistakes: kernels of the statements that are right.
std::vector<LoopSpec> parse_on(const Source &source, Recovery &recovery);

} // namespace broadloom::text
