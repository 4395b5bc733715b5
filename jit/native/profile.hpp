// Telling profilers and debuggers where the functions of a kernel lie. Off unless somebody asks.
//
// Every tool shows a function by the same name:
//
//   broadloom.softmax.phase_0.5e0ff1c2      kernel softmax, its first phase, and the pattern of
//                                           layouts
//   broadloom.softmax.bl_lgamma.5e0ff1c2    a function that its code calls
//
// The pattern is a hash of all that the code depends on, and so the same in every run.
#pragma once

#include <broadloom/options.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::jit {

constexpr bool has(Profile set, Profile one) { return (unsigned(set) & unsigned(one)) != 0; }

// The words of BROADLOOM_PROFILE: "perf,gdb". Those that name no tool are added to `unknown`.
Profile parse_profile(std::string_view words, std::vector<std::string> &unknown);

// `wanted` and what BROADLOOM_PROFILE names. The variable is read once; a word in it that names no
// tool is a warning.
Profile find_profile(Profile wanted);

// "broadloom.softmax.phase_0.5e0ff1c2". A character of the kernel's name that is neither a letter,
// a digit nor `_` becomes `_`.
std::string profile_name(std::string_view kernel, std::string_view function, std::uint64_t pattern);

// "phase_0": the function of a phase where nobody is told of it.
std::string phase_name(std::size_t phase);

} // namespace broadloom::jit
