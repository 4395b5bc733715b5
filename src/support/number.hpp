// A number as text.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace broadloom::support {

// The number that all of a text says, as C++ writes it; none where it says no number, or one that
// does not fit.
template <class T, class... Base> std::optional<T> number_of(std::string_view text, Base... base) {
  T value{};
  const char *first = text.data(), *last = first + text.size();
  const auto [end, error] = std::from_chars(first, last, value, base...);
  return error == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

// As few digits as say the number.
template <class T> std::string shortest(T number) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

} // namespace broadloom::support
