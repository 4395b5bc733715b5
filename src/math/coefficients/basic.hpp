// Constants and minimax polynomials of the vector math, lowest power first.
// Printed by basic.py (Remez exchange, 60 digits); not edited by hand.
#pragma once

#include <cstdint>

namespace broadloom::math {

inline constexpr double inverse_ln2 = 0x1.71547652b82fep+0;
inline constexpr double ln2_1 = 0x1.62e42fefa39efp-1;
inline constexpr double ln2_2 = 0x1.abc9e3b39803fp-56;
inline constexpr double ln2_3 = 0x1.7b57a079a1934p-111;
// The first part has 11 zero bits at the end: its product with an exponent is exact.
inline constexpr double ln2_short_1 = 0x1.62e42fefa3800p-1;
inline constexpr double ln2_short_2 = 0x1.ef35793c76730p-45;
inline constexpr double inverse_pi = 0x1.45f306dc9c883p-2;
inline constexpr double pi_1 = 0x1.921fb54442d18p+1;
inline constexpr double pi_2 = 0x1.1a62633145c07p-53;
inline constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
inline constexpr double half_pi_1 = 0x1.921fb54442d18p+0;
inline constexpr double half_pi_2 = 0x1.1a62633145c07p-54;
inline constexpr double half_pi_3 = -0x1.f1976b7ed8fbcp-110;
inline constexpr double third_1 = 0x1.5555555555555p-2;
inline constexpr double third_2 = 0x1.5555555555555p-56;
inline constexpr double gelu_linear_1 = 0x1.9884533d43651p+0;
inline constexpr double gelu_linear_2 = -0x1.cbc0d30ebfd15p-54;
inline constexpr double gelu_cubic_1 = 0x1.2444f2a4d8b4bp-4;
inline constexpr double gelu_cubic_2 = -0x1.6c843a29d1c70p-61;

// (exp(r) - 1 - r) / r^2 on |r| <= ln2/2, relative to the tail; error 2^-34.2.
inline constexpr double exp_short_tail[] = {
    0x1.00000000049b1p-1,  0x1.555555673f319p-3,  0x1.555555315a034p-5,  0x1.1110c65c277a6p-7,
    0x1.6c16fd6fe1065p-10, 0x1.a15134c8cbcebp-13, 0x1.a06cb7416bc05p-16,
};

// (exp(r) - 1 - r - r^2/2) / r^3 on |r| <= ln2/2, relative to the tail; error 2^-53.0.
inline constexpr double exp_tail[] = {
    0x1.5555555555556p-3,  0x1.5555555555554p-5,  0x1.11111111109b8p-7,  0x1.6c16c16c1811fp-10,
    0x1.a01a01a7c137fp-13, 0x1.a01a0198a7f7dp-16, 0x1.71de0db80e0dfp-19, 0x1.27e502c68d086p-22,
    0x1.af38958dd7746p-26, 0x1.1f2a258494ff1p-29,
};

// 1/n! for n = 1, 2, .. as pairs, and on to 23, whose term is 2^-106 of the first.
inline constexpr double exp_pair_head_1[] = {
    0x1.0000000000000p+0,  0x1.0000000000000p-1,  0x1.5555555555555p-3,  0x1.5555555555555p-5,
    0x1.1111111111111p-7,  0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16,
    0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26,
};
inline constexpr double exp_pair_head_2[] = {
    0x0.0p+0,
    0x0.0p+0,
    0x1.5555555555555p-57,
    0x1.5555555555555p-59,
    0x1.1111111111111p-63,
    -0x1.f49f49f49f49fp-65,
    0x1.a01a01a01a01ap-73,
    0x1.a01a01a01a01ap-76,
    -0x1.c154f8ddc6c00p-73,
    0x1.cbbc05b4fa99ap-76,
    -0x1.c062e06d1f209p-80,
};
inline constexpr double exp_pair_tail[] = {
    0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33, 0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-41,
    0x1.ae7f3e733b81fp-45, 0x1.952c77030ad4ap-49, 0x1.6827863b97d97p-53, 0x1.2f49b46814157p-57,
    0x1.e542ba4020225p-62, 0x1.71b8ef6dcf572p-66, 0x1.0ce396db7f853p-70, 0x1.761b41316381ap-75,
};

// (2 atanh(s) - 2 s) / s^3 in z = s^2, relative to log; error 2^-44.9.
inline constexpr double log_short_tail[] = {
    0x1.5555555611e8bp-1, 0x1.999996c3c545bp-2, 0x1.2494088187c88p-2,
    0x1.c62dd1d4ed2e4p-3, 0x1.90f1acd633141p-3,
};

// the same for f64, relative to log; error 2^-59.3.
inline constexpr double log_tail[] = {
    0x1.555555555558bp-1, 0x1.9999999981c71p-2, 0x1.2492494083e04p-2, 0x1.c71c530d0b069p-3,
    0x1.74660f128a1e3p-3, 0x1.39a622e5c6dc4p-3, 0x1.2edc4596ae4ebp-3,
};

// (atanh(s) - s - s^3/3) / s^5 in z = s^2, relative to log; error 2^-66.3.
inline constexpr double log_pair_tail[] = {
    0x1.9999999999996p-3, 0x1.2492492493033p-3, 0x1.c71c71c580908p-4, 0x1.745d183244dc5p-4,
    0x1.3b1362b8b8e0ap-4, 0x1.1120b557d1ef8p-4, 0x1.de3378bf8f37dp-5, 0x1.eb10f64057ecdp-5,
};

// (sin(r) - r) / r^3 in z = r^2 on |r| <= pi/2, relative to sin; error 2^-43.7.
inline constexpr double sin_short_tail[] = {
    -0x1.5555555547118p-3, 0x1.1111110a54614p-7,   -0x1.a019fd58a7cddp-13,
    0x1.71dcf824c356fp-19, -0x1.ae03f039194d7p-26, 0x1.52db514f727c6p-33,
};

// (sin(r) - r) / r^3 in z = r^2 on |r| <= pi/4, relative to sin; error 2^-56.3.
inline constexpr double sin_tail[] = {
    -0x1.5555555555548p-3, 0x1.111111110f7d2p-7,   -0x1.a01a019bfde92p-13,
    0x1.71de3567ab885p-19, -0x1.ae5e5a5e0392cp-26, 0x1.5d8fbe0da2d68p-33,
};

// (cos(r) - 1 + r^2/2) / r^4 in z = r^2 on |r| <= pi/4, relative to cos; error 2^-59.7.
inline constexpr double cos_tail[] = {
    0x1.555555555554bp-5,   -0x1.6c16c16c14f90p-10, 0x1.a01a019c840c5p-16,
    -0x1.27e4f7ea86cf5p-22, 0x1.1ee9d7833e4dep-29,  -0x1.8fa47d0131873p-37,
};

// 2/pi in fixed point: a word before the binary point (zero), then 64 digits a word.
inline constexpr std::uint64_t two_over_pi_bits[] = {
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
};

// log 2, and 1/n! for n = 2, 3, .. 44: 192 digits after the binary point, the first ones first.
inline constexpr std::uint64_t ln2_bits[] = {0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af,
                                             0x40f343267298b62d};
inline constexpr std::uint64_t inverse_factorial_bits[][3] = {
    {0x8000000000000000, 0x0000000000000000, 0x0000000000000000},
    {0x2aaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa},
    {0x0aaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa},
    {0x0222222222222222, 0x2222222222222222, 0x2222222222222222},
    {0x005b05b05b05b05b, 0x05b05b05b05b05b0, 0x5b05b05b05b05b05},
    {0x000d00d00d00d00d, 0x00d00d00d00d00d0, 0x0d00d00d00d00d00},
    {0x0001a01a01a01a01, 0xa01a01a01a01a01a, 0x01a01a01a01a01a0},
    {0x00002e3bc74aad8e, 0x671f5583911ca002, 0xe3bc74aad8e671f5},
    {0x0000049f93edde27, 0xd71cbbc05b4fa999, 0xe392d8777c170b65},
    {0x0000006b99159fd5, 0x138e3f9d1f92e0df, 0x71c7880adcbc46da},
    {0x00000008f76c77fc, 0x6c4bdaa26d4c3d67, 0xf425f600e7ba5b3c},
    {0x00000000b092309d, 0x43684be51c198e91, 0xd7b4269d9babdfa2},
    {0x000000000c9cba54, 0x603e4e905d6f8a2e, 0xfd1f2754668c46d4},
    {0x0000000000d73f9f, 0x399dc0f88ec32b58, 0x774657f48f5eaf63},
    {0x00000000000d73f9, 0xf399dc0f88ec32b5, 0x8774657f48f5eaf6},
    {0x000000000000ca96, 0x3b81856a53593028, 0xcbbb8d7ff53ba468},
    {0x0000000000000b41, 0x3c31dcbecbbdd802, 0x4435161554bc33cc},
    {0x0000000000000097, 0xa4da340a0ab92650, 0xf61dbdcb3a5abf5b},
    {0x0000000000000007, 0x950ae900808941ea, 0x72b4afe3c2eaeff7},
    {0x0000000000000000, 0x5c6e3bdb73d5c62f, 0xbc51bf3b9b914861},
    {0x0000000000000000, 0x04338e5b6dfe14a5, 0x143242dfcce3b1d5},
    {0x0000000000000000, 0x002ec368262c7033, 0xb2f70e09bafec4f3},
    {0x0000000000000000, 0x0001f2cf01972f57, 0x7cca4b4067ca9d8a},
    {0x0000000000000000, 0x000013f3ccdd165f, 0xa8d4e44a419776f1},
    {0x0000000000000000, 0x000000c4742fe352, 0x72cd1c790285d358},
    {0x0000000000000000, 0x0000000746ac70b7, 0x33a8c82a6863c575},
    {0x0000000000000000, 0x0000000042862898, 0xd42174dcf171470d},
    {0x0000000000000000, 0x00000000024b3f31, 0x686b15af57c61cee},
    {0x0000000000000000, 0x000000000013932c, 0x5047d60e60caded4},
    {0x0000000000000000, 0x000000000000a1a6, 0x973c1fade2170f72},
    {0x0000000000000000, 0x000000000000050d, 0x34b9e0fd6f10b87b},
    {0x0000000000000000, 0x0000000000000027, 0x3024a9ba1aa36a70},
    {0x0000000000000000, 0x0000000000000001, 0x2710231c0fd7a13f},
    {0x0000000000000000, 0x0000000000000000, 0x086e2ce38b6c8f94},
    {0x0000000000000000, 0x0000000000000000, 0x003bf30652185952},
    {0x0000000000000000, 0x0000000000000000, 0x00019ec8d1c94e85},
    {0x0000000000000000, 0x0000000000000000, 0x00000aea565ce061},
    {0x0000000000000000, 0x0000000000000000, 0x00000047a6512692},
    {0x0000000000000000, 0x0000000000000000, 0x00000001ca8ed42a},
    {0x0000000000000000, 0x0000000000000000, 0x000000000b2f30e1},
    {0x0000000000000000, 0x0000000000000000, 0x0000000000442bd4},
    {0x0000000000000000, 0x0000000000000000, 0x00000000000195db},
    {0x0000000000000000, 0x0000000000000000, 0x0000000000000939},
};

} // namespace broadloom::math
