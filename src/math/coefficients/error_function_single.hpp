// Constants and minimax polynomials of the vector math, lowest power first.
// Printed by error_function_single.py (Remez exchange, 60 digits); not edited by hand.
#pragma once

namespace broadloom::math {

// erf(c + h) = value + h slope(h), h + h slope(h) on the first interval, relative; error 2^-26.4.
inline constexpr float erf_single_start = 0x1.600000p+0f;
inline constexpr float erf_single_center[] = {
    0x1.7ffd0ap-1f, 0x1.ffffe2p-1f, 0x1.4001f8p+0f, 0x1.8001c0p+0f, 0x1.bfffa6p+0f, 0x1.ffff20p+0f,
    0x1.2001bap+1f, 0x1.400078p+1f, 0x1.6fff22p+1f, 0x1.b04640p+1f, 0x1.ea8f96p+1f, 0x0.0p+0f,
    0x1.800278p-3f, 0x1.3ffda6p-2f, 0x1.c00812p-2f, 0x1.200160p-1f,
};
inline constexpr float erf_single_value[] = {
    0x1.6c1ab0p-1f, 0x1.af766ep-1f, 0x1.d8874cp-1f, 0x1.eea5c0p-1f, 0x1.f92cfep-1f, 0x1.fd9ad8p-1f,
    0x1.ff4054p-1f, 0x1.ffcaaap-1f, 0x1.fff9bap-1f, 0x1.ffffc4p-1f, 0x1.fffffep-1f, 0x0.0p+0f,
    0x1.ac4894p-3f, 0x1.5da78cp-2f, 0x1.db0fa2p-2f, 0x1.25b9cap-1f,
};
inline constexpr float erf_single_slope[5][16] = {
    {0x1.49311ep-1f, 0x1.a91222p-2f, 0x1.e45be0p-3f, 0x1.e71974p-4f, 0x1.b05742p-5f, 0x1.52a03ep-6f,
     0x1.d3f7d0p-8f, 0x1.1d7de0p-9f, 0x1.30641ap-12f, 0x1.a5e150p-17f, 0x1.f93162p-22f,
     0x1.06eba8p-3f, 0x1.16e2b6p+0f, 0x1.05fda0p+0f, 0x1.dd1332p-1f, 0x1.a50608p-1f},
    {-0x1.edc526p-2f, -0x1.a91228p-2f, -0x1.2ebbdcp-2f, -0x1.6d55cep-3f, -0x1.7a4d08p-4f,
     -0x1.529fc6p-5f, -0x1.073bbap-6f, -0x1.64d904p-8f, -0x1.b4887ep-11f, -0x1.61fa90p-15f,
     -0x1.e1bb96p-20f, 0x1.de9142p-23f, -0x1.a256c0p-3f, -0x1.477a88p-2f, -0x1.a1783ap-2f,
     -0x1.d9a8fcp-2f},
    {0x1.b6924ap-6f, 0x1.1b5ff0p-3f, 0x1.571c76p-3f, 0x1.1c285cp-3f, 0x1.714b9cp-4f, 0x1.8b1084p-5f,
     0x1.63df36p-6f, 0x1.11983ep-7f, 0x1.895e44p-10f, 0x1.7cfc8ap-14f, 0x1.327174p-18f,
     -0x1.812ab6p-2f, -0x1.59b07cp-2f, -0x1.191e40p-2f, -0x1.888f1ep-3f, -0x1.9c3592p-4f},
    {0x1.336e14p-3f, 0x1.1bc908p-4f, -0x1.760e44p-8f, -0x1.69f378p-5f, -0x1.887742p-5f,
     -0x1.1a186cp-5f, -0x1.39a3a0p-6f, -0x1.1c80a4p-7f, -0x1.03b448p-9f, -0x1.40de88p-13f,
     -0x1.24d6d6p-17f, 0x1.0de210p-12f, 0x1.97d13ap-4f, 0x1.3198eep-3f, 0x1.6b9d82p-3f,
     0x1.753a28p-3f},
    {-0x1.adfa7ap-5f, -0x1.199b32p-4f, -0x1.81fc50p-5f, -0x1.ec6556p-7f, 0x1.a60318p-8f,
     0x1.a99cc8p-7f, 0x1.5c9278p-7f, 0x1.91f64ap-8f, 0x1.d1aacap-10f, 0x1.718b9ap-13f,
     0x1.364e40p-17f, 0x1.c7062cp-4f, 0x1.810c2ap-4f, 0x1.0590b6p-4f, 0x1.b3ed10p-6f,
     -0x1.5d063ep-7f},
};

// 2^((i + d) / 8), with a d for which all of them are almost floats: to 0.06 of a last digit.
inline constexpr float tail_powers[] = {
    0x1.16747cp+0f, 0x1.2fa848p+0f, 0x1.4b2404p+0f, 0x1.691c8ap+0f,
    0x1.89cb7cp+0f, 0x1.ad6fb4p+0f, 0x1.d44dbcp+0f, 0x1.feb052p+0f,
};

// The first part is a multiple of 2^-14, the values below are multiples of 2^-17 (but for that of
// erfc at 0): eighths of an integer times the one plus the other is exact below 128.
inline constexpr float tail_ln2_1 = 0x1.62e000p-1f;
inline constexpr float tail_ln2_2 = 0x1.0bfbe8p-15f;

// log(erfc(c + h)) + (c + h)^2 - d log(2) / 8 = value + h slope(h); error 2^-27.9.
inline constexpr float erfc_single_start = 0x1.d00000p+1f;
inline constexpr float erfc_single_center[] = {
    0x1.37f0d8p+2f, 0x1.77fd18p+2f, 0x1.b802e4p+2f, 0x1.f7e4eap+2f, 0x1.1bfdb6p+3f, 0x1.3c0bfap+3f,
    0x0.0p+0f,      0x1.fff78cp-3f, 0x1.400242p-1f, 0x1.200e54p+0f, 0x1.a006eep+0f, 0x1.0fff52p+1f,
    0x1.500594p+1f, 0x1.8fff08p+1f, 0x1.cff490p+1f, 0x1.08012ap+2f,
};
inline constexpr float erfc_single_value[] = {
    -0x1.215540p+1f, -0x1.387680p+1f, -0x1.4c1e40p+1f, -0x1.5d29c0p+1f,
    -0x1.6c4680p+1f, -0x1.79d000p+1f, -0x1.586350p-4f, -0x1.614200p-2f,
    -0x1.56d800p-1f, -0x1.02e580p+0f, -0x1.47d500p+0f, -0x1.800800p+0f,
    -0x1.af2680p+0f, -0x1.d77d00p+0f, -0x1.faab80p+0f, -0x1.0cee00p+1f,
};
inline constexpr float erfc_single_slope[5][16] = {
    {-0x1.941d24p-3f, -0x1.532b10p-3f, -0x1.23e40ep-3f, -0x1.0014f0p-3f, -0x1.c7da7cp-4f,
     -0x1.9a93aap-4f, -0x1.20dd76p+0f, -0x1.edf758p-1f, -0x1.8d8f76p-1f, -0x1.33feeep-1f,
     -0x1.eeb320p-2f, -0x1.99714ap-2f, -0x1.5b44a0p-2f, -0x1.2c7c00p-2f, -0x1.083dc0p-2f,
     -0x1.d6d9eap-3f},
    {0x1.339690p-6f, 0x1.b5caaep-7f, 0x1.465e9ep-7f, 0x1.f89c5ap-8f, 0x1.90fc1ep-8f, 0x1.460428p-8f,
     0x1.741a1ep-2f, 0x1.2c7720p-2f, 0x1.b4ac0ap-3f, 0x1.233242p-3f, 0x1.9241e0p-4f, 0x1.2057fcp-4f,
     0x1.abd294p-5f, 0x1.474356p-5f, 0x1.00feb2p-5f, 0x1.9ca1cep-6f},
    {-0x1.2d8b60p-9f, -0x1.6f6152p-10f, -0x1.dd640ap-11f, -0x1.468d1ap-11f, -0x1.d0b8aap-12f,
     -0x1.55cf94p-12f, -0x1.a4f948p-4f, -0x1.57edf8p-4f, -0x1.e85708p-5f, -0x1.2dc18ap-5f,
     -0x1.78f192p-6f, -0x1.e49ab8p-7f, -0x1.42531ep-7f, -0x1.bbcc58p-8f, -0x1.3b5a3cp-8f,
     -0x1.cccba2p-9f},
    {0x1.43b5e4p-12f, 0x1.54195ep-13f, 0x1.830cccp-14f, 0x1.d612b2p-15f, 0x1.2c3568p-15f,
     0x1.903068p-16f, 0x1.3a9a22p-6f, 0x1.286d00p-6f, 0x1.cf9322p-7f, 0x1.22ca1ap-7f,
     0x1.5a728ap-8f, 0x1.9d5b10p-9f, 0x1.f8a502p-10f, 0x1.3de2eap-10f, 0x1.9dbe94p-11f,
     0x1.159a90p-11f},
    {-0x1.64b43ep-15f, -0x1.46b302p-16f, -0x1.47d6f6p-17f, -0x1.62af20p-18f, -0x1.983f50p-19f,
     -0x1.eebd8ep-20f, -0x1.74e378p-12f, -0x1.a217b4p-10f, -0x1.2e8a5cp-9f, -0x1.d6213ap-10f,
     -0x1.21da2ap-10f, -0x1.4f654ep-11f, -0x1.8260bap-12f, -0x1.c5ade2p-13f, -0x1.11ef9ep-13f,
     -0x1.550e34p-14f},
};

// log(Phi(-c - h)) + (c + h)^2 / 2 - d log(2) / 8 = value + h slope(h); error 2^-27.2.
inline constexpr float gelu_single_start = 0x1.400000p+2f;
inline constexpr float gelu_single_center[] = {
    0x1.c004a6p+1f, 0x1.1ffc4cp+2f, 0x1.600b10p+2f, 0x1.a003c8p+2f, 0x1.dffa96p+2f, 0x1.0fdd58p+3f,
    0x1.3004dep+3f, 0x1.4ff8a4p+3f, 0x1.7fee68p+3f, 0x1.c00cdap+3f, 0x1.fffea0p-3f, 0x1.7ffc86p-1f,
    0x1.3fe8d0p+0f, 0x1.c01116p+0f, 0x1.200248p+1f, 0x1.5fe360p+1f,
};
inline constexpr float gelu_single_value[] = {
    -0x1.299f80p+1f, -0x1.469600p+1f, -0x1.5e8980p+1f, -0x1.72d980p+1f,
    -0x1.847880p+1f, -0x1.93f780p+1f, -0x1.a1f0c0p+1f, -0x1.ae7cc0p+1f,
    -0x1.bf4e40p+1f, -0x1.d2d840p+1f, -0x1.ee8900p-1f, -0x1.498a00p+0f,
    -0x1.8cdf80p+0f, -0x1.c53480p+0f, -0x1.f50900p+0f, -0x1.0f2a40p+1f,
};
inline constexpr float gelu_single_slope[5][16] = {
    {-0x1.016a98p-2f, -0x1.a2770cp-3f, -0x1.5f0282p-3f, -0x1.2da9d0p-3f, -0x1.082252p-3f,
     -0x1.d59abep-4f, -0x1.a6115ep-4f, -0x1.7f59f8p-4f, -0x1.50ced6p-4f, -0x1.21a0aap-4f,
     -0x1.6d570ep-1f, -0x1.285664p-1f, -0x1.ea5ee2p-2f, -0x1.9d6722p-2f, -0x1.62b582p-2f,
     -0x1.351638p-2f},
    {0x1.d25d14p-6f, 0x1.3dfd22p-6f, 0x1.c863ecp-7f, 0x1.557a1ep-7f, 0x1.082068p-7f, 0x1.a411d6p-8f,
     0x1.54e7a4p-8f, 0x1.1a348cp-8f, 0x1.b55220p-9f, 0x1.44793ep-9f, 0x1.3ff3b8p-3f, 0x1.d8f522p-4f,
     0x1.60c3eap-4f, 0x1.0b14d4p-4f, 0x1.9c0a8cp-5f, 0x1.43f158p-5f},
    {-0x1.00ab04p-8f, -0x1.2d63cep-9f, -0x1.787430p-10f, -0x1.f023d6p-11f, -0x1.55c4aep-11f,
     -0x1.e90cd2p-12f, -0x1.67efeap-12f, -0x1.10763cp-12f, -0x1.75b0a8p-13f, -0x1.e007ccp-14f,
     -0x1.02c8a8p-5f, -0x1.798bf0p-6f, -0x1.0d645ep-6f, -0x1.7f3172p-7f, -0x1.130408p-7f,
     -0x1.909f94p-8f},
    {0x1.24a334p-11f, 0x1.2f0770p-12f, 0x1.4e6d72p-13f, 0x1.882184p-14f, 0x1.e484d2p-15f,
     0x1.398480p-15f, 0x1.a41d6ep-16f, 0x1.23a2bap-16f, 0x1.64a7c0p-17f, 0x1.8d5320p-18f,
     0x1.307eb2p-8f, 0x1.f35a30p-9f, 0x1.704ebep-9f, 0x1.02f4a6p-9f, 0x1.6671b2p-10f,
     0x1.f09c04p-11f},
    {-0x1.432cbap-14f, -0x1.2f7222p-15f, -0x1.2d5586p-16f, -0x1.3df774p-17f, -0x1.6327dcp-18f,
     -0x1.a14fd6p-19f, -0x1.004924p-19f, -0x1.472ef8p-20f, -0x1.651a42p-21f, -0x1.5ad914p-22f,
     -0x1.b83d0ep-13f, -0x1.a753e0p-12f, -0x1.8ac858p-12f, -0x1.2d6cc8p-12f, -0x1.a8633cp-13f,
     -0x1.213426p-13f},
};

} // namespace broadloom::math
