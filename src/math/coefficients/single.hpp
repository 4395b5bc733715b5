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

// 1 / d on [1, 2], relative; error 2^-9.2.
inline constexpr float reciprocal_guess[] = {
    0x1.6a09c2p+1f,
    -0x1.783c56p+1f,
    0x1.54bde4p+0f,
    -0x1.c65286p-3f,
};

// the same for 1 + f in [3/4, 3/2]; error 2^-27.3.
inline constexpr float single_half_tail[] = {
    0x1.5555a2p-2f, -0x1.000082p-2f, 0x1.996ae6p-3f, -0x1.54dd26p-3f,
    0x1.284c44p-3f, -0x1.0e1122p-3f, 0x1.b179b0p-4f, -0x1.7a378ep-5f,
};

// log(1 + f) / f for 1 + f in [3/4, 3/2], for f32 in f64; error 2^-30.5.
inline constexpr double log1p_brief[] = {
    0x1.fffffffd8535cp-1, -0x1.fffffec0ef54cp-2, 0x1.55555d7bc068cp-2, -0x1.0000d3dc1fe0fp-2,
    0x1.99972c1c3d8f6p-3, -0x1.550654e823c33p-3, 0x1.244c7d6b8f368p-3, -0x1.0542836c1de06p-3,
    0x1.e1c049e2917acp-4, -0x1.753cb209c7fc8p-4, 0x1.30244742e5ddap-5,
};

// (exp(r) - 1 - r) / r^2 on |r| <= ln2/2, for f32 in f64; error 2^-28.2.
inline constexpr double exp_brief_tail[] = {
    0x1.0000005215113p-1, 0x1.55548e4e53280p-3,  0x1.55545d4fad8e1p-5,
    0x1.123bd05a17096p-7, 0x1.6db4aac46a1a3p-10,
};

// (sin(r) - r) / r^3 in z = r^2 on |r| <= pi/2, for f32 in f64; error 2^-27.3.
inline constexpr double sin_brief_tail[] = {
    -0x1.55554bb49762ep-3,
    0x1.110ed00d3ac87p-7,
    -0x1.9f6f514c098e0p-13,
    0x1.5db3c4b53aa62p-19,
};

// The first part has 4 zero bits at the end: a sum from it up to 16 loses none of its bits.
inline constexpr float single_gelu_linear_1 = 0x1.988440p+0f;
inline constexpr float single_gelu_linear_2 = 0x1.33d436p-20f;
inline constexpr float single_gelu_cubic_1 = 0x1.2444f2p-4f;
inline constexpr float single_gelu_cubic_2 = 0x1.49b16ap-29f;

// c for 16 intervals of [3/4, 3/2], and -log2 c. c m - 1 lies in [-0.0312, 0.0625].
inline constexpr float log2_center[] = {
    0x1.4e5cc8p+0f, 0x1.4144e2p+0f, 0x1.35296ap+0f, 0x1.29efc6p+0f, 0x1.1f8746p+0f, 0x1.15b03cp+0f,
    0x1.0c9510p+0f, 0x1.000000p+0f, 0x1.000000p+0f, 0x1.d41bfap-1f, 0x1.bab976p-1f, 0x1.a418b6p-1f,
    0x1.8f9758p-1f, 0x1.7d0532p-1f, 0x1.6c281ep-1f, 0x1.5c9c3cp-1f,
};
inline constexpr float log2_whole[] = {
    -0x1.8a83f0p-2f, -0x1.4f806ap-2f, -0x1.16c05ap-2f, -0x1.c03a86p-3f,
    -0x1.572a12p-3f, -0x1.e08e46p-4f, -0x1.1b86bcp-4f, 0x0.0p+0f,
    0x0.0p+0f,       0x1.08cd9ep-3f,  0x1.ad8968p-3f,  0x1.2445eap-2f,
    0x1.6e33b0p-2f,  0x1.b481b0p-2f,  0x1.f761e6p-2f,  0x1.1beb2ep-1f,
};

// log2(1 + f) / f there, relative; error 2^-34.4.
inline constexpr double log2_brief[] = {
    0x1.715476529a06cp+0,  -0x1.715476108ebdbp-1, 0x1.ec70ac6a25a3dp-2,
    -0x1.715afd0aa28a6p-2, 0x1.276bd63fe677ap-2,  -0x1.c7f16e43f04fep-3,
};

// (2^r - 1) / r on |r| <= 1/16, relative to 2^r; error 2^-30.6.
inline constexpr float exp2_eighth[] = {
    0x1.62e430p-1f,
    0x1.ebfbe0p-3f,
    0x1.c6bd4ep-5f,
    0x1.3b32e0p-7f,
};

// tanh on 16 intervals: a centre c, tanh c, and the coefficients of (tanh(c + h) - tanh c) / h;
// on the first tanh(h) / h - 1. Relative to tanh; error 2^-27.8.
inline constexpr float tanh_center[] = {
    0x1.9fff10p+0f, 0x1.0fffa6p+1f, 0x1.4fff60p+1f, 0x1.9005b6p+1f, 0x1.effefap+1f, 0x1.37ffb6p+2f,
    0x1.77f75cp+2f, 0x1.b7e892p+2f, 0x1.094aa2p+3f, 0x0.0p+0f,      0x1.800092p-3f, 0x1.400148p-2f,
    0x1.ffffd8p-2f, 0x1.7ffcb6p-1f, 0x1.000d0ep+0f, 0x1.400036p+0f,
};
inline constexpr float tanh_base[] = {
    0x1.d9c6b6p-1f, 0x1.f1993ap-1f, 0x1.faa786p-1f, 0x1.fe0718p-1f, 0x1.ff8f20p-1f, 0x1.fff0b8p-1f,
    0x1.fffdeep-1f, 0x1.ffffb8p-1f, 0x1.fffffcp-1f, 0x0.0p+0f,      0x1.7b9086p-3f, 0x1.35fab4p-2f,
    0x1.d9351ep-2f, 0x1.453048p-1f, 0x1.85faa2p-1f, 0x1.b2525ap-1f,
};
inline constexpr float tanh_tail_0[] = {
    0x1.26602ap-3f,  0x1.c65d86p-5f,  0x1.54554cp-6f,  0x1.f7ef12p-8f,
    0x1.c35036p-10f, 0x1.e8fae8p-13f, 0x1.090076p-15f, 0x1.1f6f64p-18f,
    0x1.0e9bbep-22f, 0x1.a571f0p-34f, 0x1.ee69d6p-1f,  0x1.d1151ap-1f,
    0x1.92a956p-1f,  0x1.317630p-1f,  0x1.adec5ap-2f,  0x1.1f24acp-2f,
};
inline constexpr float tanh_tail_1[] = {
    -0x1.106612p-3f,  -0x1.b995bap-5f,  -0x1.50c7a4p-6f,  -0x1.f5fe1cp-8f,
    -0x1.c2ec42p-10f, -0x1.e8ebe4p-13f, -0x1.08ff1cp-15f, -0x1.1f6ed2p-18f,
    -0x1.0e9804p-22f, -0x1.dbebc0p-25f, -0x1.6e86e6p-3f,  -0x1.1992f8p-2f,
    -0x1.742738p-2f,  -0x1.8404a8p-2f,  -0x1.477688p-2f,  -0x1.e7288ap-3f,
};
inline constexpr float tanh_tail_2[] = {
    0x1.33e9a0p-4f,  0x1.15b79ep-5f,  0x1.b7a0c4p-7f,  0x1.4c10bap-8f,
    0x1.2bd088p-10f, 0x1.458c88p-13f, 0x1.60f724p-16f, 0x1.7edc2ap-19f,
    0x1.647874p-23f, -0x1.5553f8p-2f, -0x1.27a4c2p-2f, -0x1.c1a312p-3f,
    -0x1.81dfaep-4f, 0x1.56627ep-5f,  0x1.a873c6p-4f,  0x1.bba4dap-4f,
};
inline constexpr float tanh_tail_3[] = {
    -0x1.9d4790p-6f,  -0x1.eadd08p-7f,  -0x1.a50fbcp-8f,  -0x1.46ee54p-9f,
    -0x1.2ad27ap-11f, -0x1.456e2ap-14f, -0x1.60fdc6p-17f, -0x1.7eef78p-20f,
    -0x1.648e10p-24f, -0x1.756ad4p-13f, 0x1.cf8394p-4f,   0x1.43d396p-3f,
    0x1.514428p-3f,   0x1.98a504p-4f,   0x1.c552fep-6f,   -0x1.9c7bf6p-7f,
};
inline constexpr float tanh_tail_4[] = {
    0x1.314b9cp-10f, 0x1.24071ep-8f,  0x1.350f84p-9f,  0x1.fef04ep-11f,
    0x1.ede524p-13f, 0x1.0efd02p-15f, 0x1.263b0ap-18f, 0x1.3f3790p-21f,
    0x1.497c6cp-25f, 0x1.16baa8p-3f,  0x1.8b6368p-4f,  0x1.74c530p-5f,
    -0x1.b1b692p-6f, -0x1.03f278p-4f, -0x1.7aa1a0p-5f, -0x1.3c806ep-6f,
};
inline constexpr float tanh_tail_5[] = {
    0x1.15d834p-8f,   -0x1.165792p-11f, -0x1.4d89fap-11f, -0x1.3e379ap-12f,
    -0x1.43963ep-14f, -0x1.67ead8p-17f, -0x1.871c86p-20f, -0x1.a7b3f4p-23f,
    -0x1.b74ad8p-27f, -0x1.455a9ap-6f,  -0x1.e41262p-5f,  -0x1.28727cp-4f,
    -0x1.9d7674p-5f,  -0x1.887a6ap-10f, 0x1.32111cp-6f,   0x1.f12e7ep-7f,
};

} // namespace broadloom::math
