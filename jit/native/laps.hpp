// The time since the last lap, in milliseconds.
#pragma once

#include <chrono>

namespace broadloom::jit {

class Laps {
public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

} // namespace broadloom::jit
