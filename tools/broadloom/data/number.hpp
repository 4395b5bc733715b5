// Numbers as a SOURCE has them.
#pragma once

#include <complex>
#include <optional>
#include <string_view>

namespace broadloom::cli {

struct ReadNumber {
  std::complex<double> value;
  bool in_range = true;
};

// 2.5, -inf, 2j or 1-2j; none for any other word.
std::optional<ReadNumber> number_of(std::string_view word);

} // namespace broadloom::cli
