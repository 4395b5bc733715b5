// See number.hpp.
#include "tools/broadloom/data/number.hpp"

#include <charconv>
#include <utility>

namespace broadloom::cli {

std::optional<ReadNumber> number_of(std::string_view word) {
  const char *at = word.data(), *const last = at + word.size();
  double parts[2] = {0, 0};
  ReadNumber number;
  const auto read = [&](double &part) {
    const auto [end, error] = std::from_chars(at, last, part);
    at = end;
    number.in_range = number.in_range && error == std::errc{};
    return error != std::errc::invalid_argument;
  };
  if (!read(parts[0])) return std::nullopt;
  if (at != last && *at == 'j') {
    std::swap(parts[0], parts[1]);
  } else if (at != last && (*at == '+' || *at == '-')) {
    if (*at == '+') ++at;
    if (!read(parts[1]) || at == last || *at != 'j') return std::nullopt;
  }
  if (at != last && *at == 'j') ++at;
  if (at != last) return std::nullopt;
  number.value = {parts[0], parts[1]};
  return number;
}

} // namespace broadloom::cli
