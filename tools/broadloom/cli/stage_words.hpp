// What the stages of the compiler are called on the command line and at the prompt.
#pragma once

#include <broadloom/options.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace broadloom::cli {

inline constexpr std::array<std::pair<std::string_view, Stage>, 11> stage_words{
    {{"spec", Stage::spec},
     {"folded", Stage::folded},
     {"axes", Stage::axes},
     {"graph", Stage::graph},
     {"call", Stage::call},
     {"plan", Stage::plan},
     {"loop", Stage::loop},
     {"block", Stage::block},
     {"llvm", Stage::llvm},
     {"asm", Stage::assembly},
     {"why", Stage::why}}};

} // namespace broadloom::cli
