// What a machine was measured to do. Predictions go by it, and nothing else does: choices depend on
// support::Machine alone, so that two runs of one program never differ for what was measured.
//
//   std::string text = to_text(rates);       one number after the other, with a word for what they
//                                            are
//   std::optional<Rates> again = rates_of(text);   nothing where a number is missing, or is none
//                                                  that a machine has
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace broadloom::support {

struct Rates {
  // Of loops over operands of so many bytes together, in bytes for a nanosecond.
  struct Level {
    double bytes = 0;
    double read_one = 0, read_all = 0; // on one thread, on all
    double write_one = 0, write_all = 0;
  };
  static constexpr std::array<double, 7> sizes = {16 << 10, 128 << 10, 768 << 10, 4 << 20,
                                                  12 << 20, 24 << 20,  64 << 20};
  std::array<Level, sizes.size()> levels = {};

  // Of one thread, for a vector of vector_bits and a unit of cost as the table of operations has
  // it.
  double vector_bits = 512;
  double simple_ns = 0;   // operations that are an instruction or a few
  double division_ns = 0; // and square roots
  double function_ns = 0;

  double call_ns = 0;  // of a bound call without work
  double share_ns = 0; // of handing a phase to the threads, and waiting for them

  // Of operands of so many bytes together: between the sizes that were measured.
  double read_rate(double bytes, bool all) const;
  double write_rate(double bytes, bool all) const;
};

std::string to_text(const Rates &rates);
std::optional<Rates> rates_of(std::string_view text);

} // namespace broadloom::support
