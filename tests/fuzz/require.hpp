// What a fuzz target demands. libFuzzer keeps the input of a target that aborts; an exception that
// leaves the target aborts too, so a target catches broadloom::Error where a user's mistake may
// surface and nothing else: an InternalError is a find.
#pragma once

#include <broadloom/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace broadloom::fuzz {

inline void require(bool holds, const std::string &what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

// An error that a person can act on: a code, one line that says what, what to do, and a form.
inline void require_helpful(const Error &error) {
  const std::string shown = error.render();
  require(error.code().size() == 5 && error.code()[0] == 'E', "an error without a code: " + shown);
  require(!error.message().empty(), "an error without a message: " + shown);
  require(!error.help().empty(), "an error without help: " + shown);
}

// The same with a place inside of the text.
inline void require_place(const Error &error, std::string_view text) {
  require_helpful(error);
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  const Place &where = error.where();
  require(where.known() && where.line <= lines && where.column >= 1 && where.length >= 1,
          "a place outside the text: " + error.render());
}

} // namespace broadloom::fuzz
