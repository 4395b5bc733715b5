// A part of a text that must be there: both are shown where it is not.
#pragma once

#include <doctest/doctest.h>

#include <string>

namespace broadloom::tests {

inline bool contains(const std::string &text, const std::string &part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != text.npos;
  CHECK(found);
  return found;
}

} // namespace broadloom::tests
