// Numbers that environment variables set.
#pragma once

#include "support/log.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace broadloom::jit {

// The number that a variable holds, else `usual`.
template <class Number> Number number_in(const char *name, Number usual) {
  const char *variable = std::getenv(name);
  if (variable == nullptr || *variable == '\0') return usual;
  const std::string_view text = variable;
  Number asked = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), asked);
  if (error == std::errc() && end == text.data() + text.size()) return asked;
  support::log().warn("{} is '{}': write a number", name, text);
  return usual;
}

} // namespace broadloom::jit
