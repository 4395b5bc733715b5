// Random schedules: clauses of a legal form, met or not. None may change a bit of any result.
#pragma once

#include "random.hpp"

#include <cstdint>
#include <string>

namespace broadloom::differential {

enum class Scheduled : std::uint8_t { All, LetsAlone };

// "schedule { vector 1; copies 0 4 }" for a kernel with this text, and a line `schedule h { .. }`
// for some of its lets that are arrays; empty where no clause fits it.
std::string random_schedule(Random &random, const std::string &text,
                            Scheduled what = Scheduled::All);

// The text with the schedule as the last lines of its kernel.
std::string with_schedule(const std::string &text, const std::string &schedule);

} // namespace broadloom::differential
