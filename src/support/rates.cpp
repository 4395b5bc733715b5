// See rates.hpp.
#include "support/rates.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

namespace broadloom::support {
namespace {

constexpr std::string_view title = "broadloom rates 1";

std::vector<double *> numbers_of(Rates &rates) {
  std::vector<double *> numbers = {&rates.vector_bits, &rates.simple_ns, &rates.division_ns,
                                   &rates.function_ns, &rates.call_ns,   &rates.share_ns};
  for (Rates::Level &level : rates.levels)
    for (double *number :
         {&level.bytes, &level.read_one, &level.read_all, &level.write_one, &level.write_all})
      numbers.push_back(number);
  return numbers;
}

// By the logarithm of the size, and of the rate.
double between(const std::array<Rates::Level, Rates::sizes.size()> &levels, double bytes,
               double Rates::Level::*rate) {
  if (bytes <= levels.front().bytes) return levels.front().*rate;
  for (std::size_t k = 1; k < levels.size(); ++k) {
    const Rates::Level &low = levels[k - 1], &high = levels[k];
    if (bytes > high.bytes) continue;
    const double share = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
    return low.*rate * std::pow(high.*rate / (low.*rate), share);
  }
  return levels.back().*rate;
}

} // namespace

double Rates::read_rate(double bytes, bool all) const {
  return between(levels, bytes, all ? &Level::read_all : &Level::read_one);
}

double Rates::write_rate(double bytes, bool all) const {
  return between(levels, bytes, all ? &Level::write_all : &Level::write_one);
}

std::string to_text(const Rates &rates) {
  Rates copy = rates;
  std::string text(title);
  for (const double *number : numbers_of(copy)) text += fmt::format("\n{}", *number);
  return text + "\n";
}

std::optional<Rates> rates_of(std::string_view text) {
  if (!text.starts_with(title)) return std::nullopt;
  text.remove_prefix(title.size());
  Rates rates;
  for (double *number : numbers_of(rates)) {
    if (text.empty() || text.front() != '\n') return std::nullopt;
    text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    constexpr double least = 1e-6, most = 1e12; // a machine's numbers are between
    if (error != std::errc() || !(*number > least && *number < most)) return std::nullopt;
    text.remove_prefix(std::size_t(end - text.data()));
  }
  if (text != "\n") return std::nullopt;
  for (std::size_t k = 0; k < rates.levels.size(); ++k)
    if (rates.levels[k].bytes != Rates::sizes[k]) return std::nullopt;
  return rates;
}

} // namespace broadloom::support
