// Random schedules: clauses of a legal form, met or not. None may change a bit of any result.
#pragma once

#include "random.hpp"

#include <string>

namespace broadloom::differential {

// "schedule { vector 1; copies 0 4 }" for a kernel with this text; empty where no clause fits it.
std::string random_schedule(Random &random, const std::string &text);

// The text with the schedule as the last line of its kernel.
std::string with_schedule(const std::string &text, const std::string &schedule);

} // namespace broadloom::differential
