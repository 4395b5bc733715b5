// The bitcode of our vector math, inside the program.
//
// Problem: a native kernel inlines our math functions, whose source is compiled when Broadloom is
// built, not when the kernel is.
// Method: kernels.cpp is compiled to one bitcode module for each ISA level, which split.cpp takes
// apart into one for each function; embed.S takes both files into read-only data.
// Example: jit::bitcode("v4", "bl_exp_f32x16") starts with the bytes 'B' 'C'.
#pragma once

#include <span>
#include <string_view>

namespace broadloom::jit {

// A module of this function and all that it needs; empty where there is none of that name. The
// levels of x86-64: "v3" (AVX2 and FMA: f32x8 and f64x4) and "v4" (AVX-512: f32x16 and f64x8 too);
// that of aarch64: "neon" (f32x4 and f64x2). Of both: "one" (f32x1 and f64x1, as scalars).
std::span<const unsigned char> bitcode(std::string_view level, std::string_view function);

} // namespace broadloom::jit
