// Constants and minimax polynomials of the vector math, lowest power first.
// Printed by single.py (Remez exchange, 60 digits); not edited by hand.
#pragma once

namespace broadloom::math {

inline constexpr float single_inverse_ln2 = 0x1.715476p+0f;
inline constexpr float single_ln2_1 = 0x1.62e430p-1f;
inline constexpr float single_ln2_2 = -0x1.05c610p-29f;

// 2^(i/8), and what its rounding left.
inline constexpr float eighth_powers[] = {
    0x1.000000p+0f, 0x1.172b84p+0f, 0x1.306fe0p+0f, 0x1.4bfdaep+0f,
    0x1.6a09e6p+0f, 0x1.8ace54p+0f, 0x1.ae89fap+0f, 0x1.d5818ep+0f,
};
inline constexpr float eighth_powers_rest[] = {
    0x0.0p+0f,       -0x1.c15742p-27f, 0x1.4636e2p-25f,  -0x1.593abcp-25f,
    0x1.9fcef4p-26f, 0x1.15506ep-27f,  -0x1.a94b14p-26f, -0x1.822dbcp-27f,
};

// (exp(r) - 1 - r) / r^2 on |r| <= ln2/16, relative to exp; error 2^-32.4.
inline constexpr float eighth_tail[] = {
    0x1.000000p-1f,
    0x1.555c7ap-3f,
    0x1.555db2p-5f,
};

} // namespace broadloom::math
