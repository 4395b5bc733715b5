// Constants and minimax polynomials of the vector math, lowest power first.
// Printed by inverse_hyperbolic.py (Remez exchange, 60 digits); not edited by hand.
#pragma once

namespace broadloom::math {

inline constexpr double two_over_ln2_1 = 0x1.71547652b82fep+1;
inline constexpr double two_over_ln2_2 = 0x1.777d0ffda0d24p-55;
inline constexpr double two_over_ln10_1 = 0x1.bcb7b1526e50ep-1;
inline constexpr double two_over_ln10_2 = 0x1.95355baaafad3p-56;
// The first parts have 11 zero bits at the end: their products with an exponent are exact.
inline constexpr double exponent_ln2_1 = 0x1.62e42fefa3800p-1;
inline constexpr double exponent_ln2_2 = 0x1.ef35793c76730p-45;
inline constexpr double exponent_log10_1 = 0x1.34413509f7800p-2;
inline constexpr double exponent_log10_2 = 0x1.fef311f12b358p-46;

// For f32; the first part of log10(2) has 8 zero bits at the end.
inline constexpr float single_over_ln2_1 = 0x1.715476p+0f;
inline constexpr float single_over_ln2_2 = 0x1.4ae0c0p-26f;
inline constexpr float single_over_ln10_1 = 0x1.bcb7b2p-2f;
inline constexpr float single_over_ln10_2 = -0x1.5b235ep-27f;
inline constexpr float single_exponent_log10_1 = 0x1.344000p-2f;
inline constexpr float single_exponent_log10_2 = 0x1.3509f8p-18f;

// (log2(1 + f) - f log2(e)) / f^2, relative to log2; error 2^-26.8.
inline constexpr float single_log2_tail[] = {
    -0x1.715478p-1f, 0x1.ec7022p-2f,  -0x1.715298p-2f, 0x1.27a02ep-2f,  -0x1.ed1b56p-3f,
    0x1.9d9286p-3f,  -0x1.64fcf4p-3f, 0x1.9e6228p-3f,  -0x1.88b368p-3f,
};

// (log10(1 + f) - f log10(e)) / f^2, relative to log10; error 2^-28.4.
inline constexpr float single_log10_tail[] = {
    -0x1.bcb7acp-3f, 0x1.287a68p-3f,  -0x1.bcbea8p-4f, 0x1.63d3d4p-4f,  -0x1.277a16p-4f,
    0x1.f7e068p-5f,  -0x1.d6293ep-5f, 0x1.cee63ep-5f,  -0x1.15fb0ap-5f,
};

// (atanh(s) - s) / s^3 in z = s^2, relative to atanh; error 2^-37.6.
inline constexpr double atanh_short_tail[] = {
    0x1.555554ff47323p-2,
    0x1.999a78479144bp-3,
    0x1.24394e69e761cp-3,
    0x1.e2e735a0148a4p-4,
};

// (atanh(s) - s) / s^3 in z = s^2, relative to atanh, for f64; error 2^-58.9.
inline constexpr double atanh_tail[] = {
    0x1.555555555558fp-2, 0x1.9999999980d20p-3, 0x1.249249413b15ep-3, 0x1.c71c528a2b1c3p-4,
    0x1.746627479919bp-4, 0x1.39a3e5e40fa44p-4, 0x1.2ef139b9442e5p-4,
};

// (atanh(s) - s) / s^3 in z = s^2, relative to atanh, |s| < 0.201; error 2^-35.3.
inline constexpr double atanh_wide_short_tail[] = {
    0x1.5555541d0c98bp-2,
    0x1.999be4f967451p-3,
    0x1.23e7a0c217c55p-3,
    0x1.edcb8a18d0fa8p-4,
};

// (atanh(s) - s) / s^3 in z = s^2, relative to atanh, |s| < 0.201, for f64; error 2^-61.5.
inline constexpr double atanh_wide_tail[] = {
    0x1.555555555554fp-2, 0x1.999999999c1b2p-3, 0x1.24924921dc1bbp-3, 0x1.c71c749986841p-4,
    0x1.745c482ef3448p-4, 0x1.3b3620e322b50p-4, 0x1.0dc4dbb829d06p-4, 0x1.1bb139d72548cp-4,
};

} // namespace broadloom::math
