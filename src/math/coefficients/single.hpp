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

// The first part has 8 zero bits at the end: its product with an exponent is exact.
inline constexpr float single_ln2_short_1 = 0x1.62e400p-1f;
inline constexpr float single_ln2_short_2 = 0x1.7f7d1cp-20f;

// (log(1 + f) - f + f^2/2) / f^3, relative to log; error 2^-27.0.
inline constexpr float single_log_tail[] = {
    0x1.55554ap-2f, -0x1.00022cp-2f, 0x1.99a5a0p-3f, -0x1.54752cp-3f,
    0x1.226ba4p-3f, -0x1.0d0200p-3f, 0x1.07f05cp-3f, -0x1.4177e4p-4f,
};

// tanh on 16 intervals: a centre c, tanh c, and the coefficients of (tanh(c + h) - tanh c) / h;
// on the first tanh(h) / h - 1. Relative to tanh; error 2^-27.8.
inline constexpr float tanh_center[] = {
    0x1.9fff10p+0f, 0x1.0fffa6p+1f, 0x1.4fff60p+1f, 0x1.9005b6p+1f, 0x1.effefap+1f, 0x1.37ffb6p+2f,
    0x1.77f75cp+2f, 0x1.b7f062p+2f, 0x1.0942d2p+3f, 0x0.0p+0f,      0x1.800092p-3f, 0x1.400148p-2f,
    0x1.ffffd8p-2f, 0x1.7ffcb6p-1f, 0x1.000d0ep+0f, 0x1.400036p+0f,
};
inline constexpr float tanh_base[] = {
    0x1.d9c6b6p-1f, 0x1.f1993ap-1f, 0x1.faa786p-1f, 0x1.fe0718p-1f, 0x1.ff8f20p-1f, 0x1.fff0b8p-1f,
    0x1.fffdeep-1f, 0x1.ffffb8p-1f, 0x1.fffffcp-1f, 0x0.0p+0f,      0x1.7b9086p-3f, 0x1.35fab4p-2f,
    0x1.d9351ep-2f, 0x1.453048p-1f, 0x1.85faa2p-1f, 0x1.b2525ap-1f,
};
inline constexpr float tanh_tail_0[] = {
    0x1.26602ap-3f,  0x1.c65d86p-5f,  0x1.54554cp-6f,  0x1.f7ef12p-8f,
    0x1.c35036p-10f, 0x1.e8fae8p-13f, 0x1.090076p-15f, 0x1.1f2940p-18f,
    0x1.0f2018p-22f, 0x1.a571f0p-34f, 0x1.ee69d6p-1f,  0x1.d1151ap-1f,
    0x1.92a956p-1f,  0x1.317630p-1f,  0x1.adec5ap-2f,  0x1.1f24acp-2f,
};
inline constexpr float tanh_tail_1[] = {
    -0x1.106612p-3f,  -0x1.b995bap-5f,  -0x1.50c7a4p-6f,  -0x1.f5fe1cp-8f,
    -0x1.c2ec42p-10f, -0x1.e8ebe4p-13f, -0x1.08ff1cp-15f, -0x1.1f28bcp-18f,
    -0x1.0f1b04p-22f, -0x1.dbebc0p-25f, -0x1.6e86e6p-3f,  -0x1.1992f8p-2f,
    -0x1.742738p-2f,  -0x1.8404a8p-2f,  -0x1.477688p-2f,  -0x1.e7288ap-3f,
};
inline constexpr float tanh_tail_2[] = {
    0x1.33e9a0p-4f,  0x1.15b79ep-5f,  0x1.b7a0c4p-7f,  0x1.4c10bap-8f,
    0x1.2bd088p-10f, 0x1.458c88p-13f, 0x1.60f724p-16f, 0x1.7e7eccp-19f,
    0x1.6525ecp-23f, -0x1.5553f8p-2f, -0x1.27a4c2p-2f, -0x1.c1a312p-3f,
    -0x1.81dfaep-4f, 0x1.56627ep-5f,  0x1.a873c6p-4f,  0x1.bba4dap-4f,
};
inline constexpr float tanh_tail_3[] = {
    -0x1.9d4790p-6f,  -0x1.eadd08p-7f,  -0x1.a50fbcp-8f,  -0x1.46ee54p-9f,
    -0x1.2ad27ap-11f, -0x1.456e2ap-14f, -0x1.60fdc6p-17f, -0x1.7e8e7cp-20f,
    -0x1.6554aep-24f, -0x1.756ad4p-13f, 0x1.cf8394p-4f,   0x1.43d396p-3f,
    0x1.514428p-3f,   0x1.98a504p-4f,   0x1.c552fep-6f,   -0x1.9c7bf6p-7f,
};
inline constexpr float tanh_tail_4[] = {
    0x1.314b9cp-10f, 0x1.24071ep-8f,  0x1.350f84p-9f,  0x1.fef04ep-11f,
    0x1.ede524p-13f, 0x1.0efd02p-15f, 0x1.263b0ap-18f, 0x1.3ee914p-21f,
    0x1.4a2024p-25f, 0x1.16baa8p-3f,  0x1.8b6368p-4f,  0x1.74c530p-5f,
    -0x1.b1b692p-6f, -0x1.03f278p-4f, -0x1.7aa1a0p-5f, -0x1.3c806ep-6f,
};
inline constexpr float tanh_tail_5[] = {
    0x1.15d834p-8f,   -0x1.165792p-11f, -0x1.4d89fap-11f, -0x1.3e379ap-12f,
    -0x1.43963ep-14f, -0x1.67ead8p-17f, -0x1.871c86p-20f, -0x1.a7ada4p-23f,
    -0x1.b757bcp-27f, -0x1.455a9ap-6f,  -0x1.e41262p-5f,  -0x1.28727cp-4f,
    -0x1.9d7674p-5f,  -0x1.887a6ap-10f, 0x1.32111cp-6f,   0x1.f12e7ep-7f,
};

} // namespace broadloom::math
