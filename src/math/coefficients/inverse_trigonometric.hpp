// Constants and minimax polynomials of the vector math, lowest power first.
// Printed by inverse_trigonometric.py (Remez exchange, 60 digits); not edited by hand.
#pragma once

namespace broadloom::math {

// (atan(u) - u) / u^3 in z = u^2 for |u| <= 1/4, relative to atan; error 2^-61.4.
inline constexpr double atan_tail[] = {
    -0x1.5555555555553p-2, 0x1.9999999998d85p-3,  -0x1.24924923ea754p-3,
    0x1.c71c713818248p-4,  -0x1.745cf4becb787p-4, 0x1.3b0ea4b76d893p-4,
    -0x1.109c04530d211p-4, 0x1.d4f835496655fp-5,  -0x1.47a3a99a2114fp-5,
};

// the same for |u| <= 1, relative to atan; error 2^-39.2.
inline constexpr double atan_short_tail[] = {
    -0x1.5555554e4c444p-2,  0x1.999995155f7e0p-3, -0x1.2491c6a64046ap-3, 0x1.c70d7d0e756bdp-4,
    -0x1.73da36b07c84fp-4,  0x1.3827f23849a1dp-4, -0x1.0587bbfd1ebe8p-4, 0x1.a0544b35dd35ap-5,
    -0x1.24e98309b75f6p-5,  0x1.4de322d1b169cp-6, -0x1.168890952a5fap-7, 0x1.270b27782e151p-9,
    -0x1.258e0fcb24bcdp-12,
};

// (asin(u) - u) / u^3 in z = u^2 for |u| <= 1/2, relative to asin; error 2^-59.4.
inline constexpr double asin_tail[] = {
    0x1.5555555555577p-3, 0x1.333333332e109p-4, 0x1.6db6db7214330p-5, 0x1.f1c71a94481ffp-6,
    0x1.6e8bdef336b00p-6, 0x1.1c49ef0291921p-6, 0x1.ca1fae86ed363p-7, 0x1.75847502dd7b8p-7,
    0x1.6142bda6820acp-7, 0x1.e595e43da5d5ep-9, 0x1.63ba2be0e8aa2p-6, -0x1.5828741949747p-6,
    0x1.0b5475165beeap-5,
};

// the same for f32, relative to asin; error 2^-31.8.
inline constexpr double asin_short_tail[] = {
    0x1.55554c5f7a1e2p-3, 0x1.33387ce8fd7cep-4, 0x1.6caec15a3d14fp-5,
    0x1.0492504a20ae3p-5, 0x1.d9138c36be92cp-7, 0x1.335a886ae5dc5p-5,
};

// The angle that atan u is added to: atan of 0, 1/2, 1 (index 0, 1, 2), subtracted from pi/2 where
// the ratio was turned over (+ 4), and from pi where x is negative (+ 8).
inline constexpr double atan_base_1[16] = {0x0.0p+0,
                                           0x1.dac670561bb4fp-2,
                                           0x1.921fb54442d18p-1,
                                           0x1.921fb54442d18p-1,
                                           0x1.921fb54442d18p+0,
                                           0x1.1b6e192ebbe44p+0,
                                           0x1.921fb54442d18p-1,
                                           0x1.921fb54442d18p-1,
                                           0x1.921fb54442d18p+1,
                                           0x1.56c6e7397f5aep+1,
                                           0x1.2d97c7f3321d2p+1,
                                           0x1.2d97c7f3321d2p+1,
                                           0x1.921fb54442d18p+0,
                                           0x1.0468a8ace4df6p+1,
                                           0x1.2d97c7f3321d2p+1,
                                           0x1.2d97c7f3321d2p+1};
inline constexpr double atan_base_2[16] = {0x0.0p+0,
                                           0x1.a2b7f222f65e2p-56,
                                           0x1.1a62633145c07p-55,
                                           0x1.1a62633145c07p-55,
                                           0x1.1a62633145c07p-54,
                                           0x1.b1b466a88828ep-54,
                                           0x1.1a62633145c07p-55,
                                           0x1.1a62633145c07p-55,
                                           0x1.1a62633145c07p-53,
                                           0x1.660b64ece6f4bp-53,
                                           0x1.a79394c9e8a0ap-54,
                                           0x1.a79394c9e8a0ap-54,
                                           0x1.1a62633145c07p-54,
                                           0x1.0620bf7406affp-55,
                                           0x1.a79394c9e8a0ap-54,
                                           0x1.a79394c9e8a0ap-54};

} // namespace broadloom::math
