// Constants and minimax polynomials of the vector math, lowest power first.
// Printed by hyperbolic.py (Remez exchange, 60 digits); not edited by hand.
#pragma once

namespace broadloom::math {

// (2^r - 1) / r on |r| <= 1/2, relative to 2^r; error 2^-56.5.
inline constexpr double exp2_quotient[] = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c5a3p-3,  0x1.c6b08d704a007p-5,  0x1.3b2ab6fba0186p-7,
    0x1.5d87fe78cd7c1p-10, 0x1.4309130edbb8ep-13, 0x1.ffcbfba966790p-17, 0x1.62bfc79539e67p-20,
    0x1.b5267d0378415p-24, 0x1.e61b5ebda5368p-28, 0x1.e79b9f88bf42dp-32,
};

// (2^r - 1) / r on |r| <= 1/16, relative to 2^r; error 2^-32.2.
inline constexpr float exp2_eighth_quotient[] = {
    0x1.62e430p-1f,
    0x1.ebfbe0p-3f,
    0x1.c6b8c0p-5f,
    0x1.3b2f46p-7f,
};

// (exp(r) - 1 - r) / r^2 on |r| <= ln2/2, relative to the tail; error 2^-34.2.
inline constexpr double expm1_short_tail[] = {
    0x1.00000000049b1p-1,  0x1.555555673f319p-3,  0x1.555555315a034p-5,  0x1.1110c65c277a6p-7,
    0x1.6c16fd6fe1065p-10, 0x1.a15134c8cbcebp-13, 0x1.a06cb7416bc05p-16,
};

// (exp(r) - 1 - r - r^2/2) / r^3 on |r| <= ln2/2, relative to the tail; error 2^-53.0.
inline constexpr double expm1_tail[] = {
    0x1.5555555555556p-3,  0x1.5555555555554p-5,  0x1.11111111109b8p-7,  0x1.6c16c16c1811fp-10,
    0x1.a01a01a7c137fp-13, 0x1.a01a0198a7f7dp-16, 0x1.71de0db80e0dfp-19, 0x1.27e502c68d086p-22,
    0x1.af38958dd7746p-26, 0x1.1f2a258494ff1p-29,
};

// (sinh(r) - r) / r^3 in z = r^2 on |r| <= ln2/2, relative to sinh; error 2^-37.5.
inline constexpr double sinh_short_tail[] = {
    0x1.5555557373ce6p-3,
    0x1.1110b1e142f12p-7,
    0x1.a16fc866b0131p-13,
};

// (cosh(r) - 1 - r^2/2) / r^4 in z = r^2, relative to cosh; error 2^-33.2.
inline constexpr double cosh_short_tail[] = {
    0x1.5554e62a799c5p-5,
    0x1.6d4ed800f9717p-10,
};

// (sinh(r) - r) / r^3 in z = r^2 on |r| <= ln2/2, relative to sinh, for f64; error 2^-60.5.
inline constexpr double sinh_tail[] = {
    0x1.5555555555559p-3,  0x1.111111110f6cbp-7,  0x1.a01a01afdb313p-13,
    0x1.71ddf86a42028p-19, 0x1.af5e9ac03e280p-26,
};

// (cosh(r) - 1 - r^2/2) / r^4 in z = r^2, relative to cosh, for f64; error 2^-57.3.
inline constexpr double cosh_tail[] = {
    0x1.5555555553180p-5,
    0x1.6c16c17cee3d1p-10,
    0x1.a019aaa64ebffp-16,
    0x1.28a00fb1257f3p-22,
};

} // namespace broadloom::math
