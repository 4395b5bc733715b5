// Constants and minimax polynomials of the vector math, lowest power first.
// Printed by error_function.py (Remez exchange, 60 digits); not edited by hand.
#pragma once

namespace broadloom::math {

inline constexpr double erf_pieces_per_unit = 0x1.4e5e0a72f0539p+1;
inline constexpr double erf_piece = 0x1.8800000000000p-2;

// erf(c + d) = value_1 + slope d + (value_2 + d rest(d)) for the centres c = 0, 1, .. 15 pieces:
// one row for each coefficient, rest lowest power first.
inline constexpr double erf_value_1[16] = {0x0.0p+0,
                                           0x1.a5a2aca209394p-2,
                                           0x1.7131e5f496a5ap-1,
                                           0x1.ca930e0e2a825p-1,
                                           0x1.f0762fde45ee6p-1,
                                           0x1.fc85cf56ecd38p-1,
                                           0x1.ff67d08401202p-1,
                                           0x1.ffec39ff380b9p-1,
                                           0x1.fffe0e0140857p-1,
                                           0x1.ffffdb01e8546p-1,
                                           0x1.fffffdedf37edp-1,
                                           0x1.ffffffe9aeb97p-1,
                                           0x1.ffffffff4b453p-1,
                                           0x1.fffffffffbb58p-1,
                                           0x1.ffffffffffec7p-1,
                                           0x1.ffffffffffffcp-1};
inline constexpr double erf_value_2[16] = {0x0.0p+0,
                                           0x1.c60a2661b73e3p-56,
                                           0x1.a197c13b2f9c0p-55,
                                           -0x1.9267759ff1e94p-55,
                                           0x1.9c3551b59fc73p-55,
                                           -0x1.8e42754f44dcep-56,
                                           0x1.ad3a5de487c30p-56,
                                           -0x1.f155729c2fc81p-55,
                                           -0x1.6aa36f86c14ddp-57,
                                           -0x1.cd621cd201e54p-57,
                                           0x1.c96955451d4a7p-55,
                                           0x1.fef47634853b2p-57,
                                           0x1.59b25048a5adap-55,
                                           0x1.df18cd5245226p-55,
                                           0x1.1e84eafe7e3a3p-57,
                                           -0x1.678f61b2c1e05p-56};
inline constexpr double erf_slope[16] = {
    0x1.20dd750429b6dp+0,  0x1.f2fa4c16c0019p-1,  0x1.417a0c4049fd0p-1,  0x1.35005285227f1p-2,
    0x1.bb1c972f23e50p-4,  0x1.da0005e5f28dfp-6,  0x1.7a3ade6c8b3e5p-8,  0x1.c245d4b99847ap-11,
    0x1.8fdc1b2dcf7b9p-14, 0x1.08e1badf0fcedp-17, 0x1.05c803e4831c1p-21, 0x1.81fb7df06136ep-26,
    0x1.a887bd2b4404dp-31, 0x1.5c4e8e37bc7d0p-36, 0x1.aa577251ae485p-42, 0x1.85487ee3ea735p-48};
inline constexpr double erf_rest[13][16] = {
    {0x1.17f49753ee6cfp-56, 0x1.f6ba172a3b722p-57, 0x1.a41bcb57c8b7cp-55, -0x1.4d2a4c1fa811ep-56,
     0x1.cfc122f44df94p-58, 0x1.b4c63c164b7f5p-60, -0x1.3519fed175da7p-61, -0x1.42d7874549225p-64,
     0x1.2b8e4c23ddfe5p-66, -0x1.388fc6b4165fbp-74, -0x1.6c0ff93c50438p-70, -0x1.a0eb0b4873ccap-74,
     0x1.9a30691c33006p-75, 0x1.75db132073791p-77, 0x1.21112c3a47eb0p-80, 0x1.0109c5bb3c5aap-84},
    {0x1.4141446bc5870p-201, -0x1.7e07a2416b007p-2, -0x1.ec42e2c2714c0p-2, -0x1.62de5ec4e59e1p-2,
     -0x1.5341e3c0177acp-3, -0x1.c5a205a511223p-5, -0x1.b25f9b70a7eb8p-7, -0x1.2da5c8025581ap-9,
     -0x1.322484cf12d3ap-12, -0x1.c84cdaea425cep-16, -0x1.f510d7736395fp-20, -0x1.965641148d66bp-24,
     -0x1.e78be33f9d525p-29, -0x1.b157bbeffef67p-34, -0x1.1d9d9514d9c02p-39,
     -0x1.176ac9116edd4p-45},
    {-0x1.812746b0379dfp-2, -0x1.d64f2aa246cefp-3, 0x1.278631edc40efp-5, 0x1.51644a1a1347ap-3,
     0x1.107929f6e751cp-3, 0x1.f3dabe384ec30p-5, 0x1.2d0c4b23dfa0ep-6, 0x1.f55bacea096c2p-9,
     0x1.27dc1bc6cfe5bp-11, 0x1.f5f573d671656p-15, 0x1.34c8694cc40c3p-18, 0x1.1522a10d16510p-22,
     0x1.6c6ef0b67fde3p-27, 0x1.602b774052ea7p-32, 0x1.f55bb147e3232p-38, 0x1.075b1bc65e34bp-43},
    {-0x1.0a33e97f03133p-191, 0x1.58b4e8a9fe3ddp-3, 0x1.2be43f650c719p-3, 0x1.56bd4507b0b8ep-6,
     -0x1.7e1b362eb4cb9p-5, -0x1.472a562a32451p-5, -0x1.1156d9b86a196p-6, -0x1.1d989e56682e4p-8,
     -0x1.9202f465f28cfp-11, -0x1.8a5382b29da97p-14, -0x1.12a319217e46ap-17, -0x1.12d1b1d554a35p-21,
     -0x1.8e36e9a93047ap-26, -0x1.a417c175939dep-31, -0x1.43f85c9d65d06p-36,
     -0x1.6e6ad807b44c0p-42},
    {0x1.ce2f21a03f78bp-4, 0x1.613cfe414fd4bp-5, -0x1.c806430989af5p-5, -0x1.e397d1fa4b280p-5,
     -0x1.73b61e4850638p-7, 0x1.921e5d374cacdp-7, 0x1.41a1cfc6ef85ap-7, 0x1.cdd6df8fcb0a5p-9,
     0x1.93b4c9747305cp-11, 0x1.d42311f14aa7ap-14, 0x1.76387b7c9d154p-17, 0x1.a5540293e7cecp-21,
     0x1.5286ee3662bd9p-25, 0x1.87b5fbf926988p-30, 0x1.48745fc01cc3ap-35, 0x1.910e45055163ap-41},
    {0x1.c242926c6e188p-184, -0x1.9cc304d986bc9p-5, -0x1.97019956b86a2p-6, 0x1.16da90bd6f450p-6,
     0x1.2aa7641e920c8p-6, 0x1.71aa581c27a8ap-9, -0x1.91dfde067a66cp-9, -0x1.0435de2a4bc36p-9,
     -0x1.30e9e60f24c82p-11, -0x1.b078f099b39d3p-14, -0x1.9448d91ef3982p-17, -0x1.030e2247d51f5p-20,
     -0x1.d14637a446dbfp-25, -0x1.28e3ad305ce3cp-29, -0x1.0fc97c290a1b6p-34,
     -0x1.6765031f509d5p-40},
    {-0x1.b82ce30a28a5cp-6, -0x1.37ab10369da90p-8, 0x1.322fe7307849ep-6, 0x1.1591284c659bcp-7,
     -0x1.59a38b7191446p-8, -0x1.2490c085b6e11p-8, -0x1.54b0678157003p-12, 0x1.650c23867e230p-11,
     0x1.555b9d554bb3dp-12, 0x1.3a40fc53e2a85p-14, 0x1.611609f4a7d80p-17, 0x1.058487319e88ep-20,
     0x1.0909112f2db99p-24, 0x1.7781e1a15daa7p-29, 0x1.79127f9f6ed2fp-34, 0x1.0ef18fd25002bp-39},
    {-0x1.1e5b678029477p-177, 0x1.70b59ecdfa13fp-7, 0x1.c9c0bb4c9de79p-10, -0x1.8e66d0ef3b635p-8,
     -0x1.eeb27ab750a61p-10, 0x1.918f822b561e0p-10, 0x1.ba477294b834ep-11, -0x1.0280c41ec27a3p-15,
     -0x1.05598a2d1429fp-13, -0x1.640183e025ddap-15, -0x1.f690519c6e1cbp-18, -0x1.b79807a4588c0p-21,
     -0x1.fd0dbf773ccf7p-25, -0x1.9391df2b85756p-29, -0x1.befd8a0cd673cp-34,
     -0x1.5e77064775136p-39},
    {0x1.565bc2d7b90b6p-8, -0x1.1082cc9c91596p-15, -0x1.019dace83561ap-8, -0x1.911db431113a2p-14,
     0x1.b52a2407eb210p-10, 0x1.c5fcad6b7919bp-13, -0x1.813f87578f745p-12, -0x1.de70a98e8381ep-14,
     0x1.68e6f04878a2dp-16, 0x1.2cb6efdf66d9ap-16, 0x1.22378bb72582cp-18, 0x1.35a788d328a04p-21,
     0x1.a096a1a25c988p-25, 0x1.754a989e23a36p-29, 0x1.cb075b212c7f7p-34, 0x1.8a8494f785226p-39},
    {0x1.27ce6f21232e6p-172, -0x1.05d67d778d20ap-9, 0x1.317e32e3c797ap-12, 0x1.210d853236cc8p-10,
     -0x1.6f4e9fbf85c50p-13, -0x1.74768b67c6561p-12, 0x1.3b348b32affadp-16, 0x1.1769e6cf8e26bp-14,
     0x1.2d5ac3ff01feap-17, -0x1.42904a8c36da0p-18, -0x1.09ba94fceb91cp-19, -0x1.6d41c86b7eb4dp-22,
     -0x1.2427cee5d5cf9p-25, -0x1.2b9703627ba4ap-29, -0x1.9c0a5e10e2f40p-34,
     -0x1.85fba75c96e2fp-39},
    {-0x1.c020e8855342bp-11, 0x1.2e3cfa421f0f4p-13, 0x1.3bf6f7b447a0fp-11, -0x1.c1e7dfce5965ep-13,
     -0x1.d601b52382ea5p-13, 0x1.71d26c62c77a3p-14, 0x1.b683367e4154fp-15, -0x1.cea1ad420436cp-17,
     -0x1.1deb5239f0e16p-17, 0x1.4cf8ba85a29d4p-24, 0x1.67e15f6885b98p-21, 0x1.64a8a5c735c6bp-23,
     0x1.5fc7603d38ca7p-26, 0x1.a423c38df3ac3p-30, 0x1.468d6f67bfc90p-34, 0x1.56d0cf48f89aap-39},
    {-0x1.a7146978a8934p-169, 0x1.2ef29ff773b2dp-12, -0x1.ef57f2c155ef3p-14, -0x1.061d5f5e3cad2p-13,
     0x1.580ea3f813d6ep-14, 0x1.b3370e742d4d3p-16, -0x1.799734a3f4922p-16, -0x1.0f222d48ba05cp-18,
     0x1.8be0efb03a3a5p-19, 0x1.755257665ea8cp-21, -0x1.0aadfff426066p-23, -0x1.18a4e7f27504fp-24,
     -0x1.709a4cf33b317p-27, -0x1.0a037fc1a3aa2p-30, -0x1.df5caec73a8c1p-35,
     -0x1.1cfb94cc85357p-39},
    {0x1.f1ad922cb0443p-14, -0x1.2587379be5a3ap-15, -0x1.266f93a9ecfb0p-14, 0x1.aede9b9fbc9a4p-15,
     0x1.95b5c7b07eda4p-17, -0x1.4ad904f2881b6p-16, 0x1.328be97624e5cp-21, 0x1.dbf1a2c055c05p-19,
     -0x1.8cd1d9d67706dp-23, -0x1.9043ef20ac742p-22, -0x1.68e754a416d72p-26, 0x1.3f1bdaf769618p-26,
     0x1.3cd0498cb8eabp-28, 0x1.1ba88ad8a55ffp-31, 0x1.29af814d387fep-35, 0x1.8f792c74fc48ap-40},
};

// (1 + 1.5 x) erfc(x) e^(x^2) in (x - 4) / (x + 4) on 1/2 <= x <= 28, relative; error 2^-57.3.
inline constexpr double erfc_tail_first_1 = 0x1.eb018ce4f8a53p-1;
inline constexpr double erfc_tail_first_2 = 0x1.d2cd62b0d53d8p-55;
inline constexpr double erfc_tail[] = {
    // from the second coefficient on
    -0x1.5b19d309b1b77p-3,  0x1.0f371a2170063p-4,   0x1.47f4030365c37p-7,   -0x1.8da09f8ab12f0p-5,
    0x1.bea654d2c34fdp-5,   -0x1.576eecbc4ffe6p-5,  0x1.941b0a6ebb531p-6,   -0x1.6cd057568cfc2p-7,
    0x1.d47a1c36d87acp-9,   -0x1.2cd2281ce3743p-11, -0x1.0ffe808a82ee0p-13, 0x1.c229aab8d329ap-14,
    -0x1.3afb62383f83ep-16, -0x1.01b3eebaf0cb5p-17, 0x1.185dd9f4b3e24p-18,  0x1.3fbba2e42c8c4p-23,
    -0x1.3d26b5668bdcbp-21, 0x1.0dc7888fe8e9dp-24,  0x1.3cf258c2452d2p-24,  -0x1.ec7e06a828d0ep-27,
    -0x1.d85f446f9bb3fp-28, 0x1.9fd06836620f5p-30,
};

// (1 + x) erfc(x / sqrt(2)) e^(x^2 / 2) / 2 in (x - 5) / (x + 5) on 1/2 <= x <= 40, relative; error
// 2^-56.3.
inline constexpr double gelu_tail_first_1 = 0x1.d8979b0f2b39dp-2;
inline constexpr double gelu_tail_first_2 = 0x1.c4e18acd62402p-56;
inline constexpr double gelu_tail[] = {
    // from the second coefficient on
    -0x1.76ff86859eb15p-4, 0x1.fc66cc64a140bp-6,   0x1.47c1d03054e6ap-7,   -0x1.b08e0007b5815p-6,
    0x1.92037bab3ff25p-6,  -0x1.f11aab02e5fd8p-7,  0x1.ab6d038f6390fp-8,   -0x1.b75f4f8f50c4bp-10,
    0x1.0571779a3a627p-17, 0x1.7e61e46497a84p-13,  -0x1.c1b185e98b263p-15, -0x1.4c0eca6c0214cp-17,
    0x1.2fffa85b6f90cp-17, -0x1.2dae1bb37b74ep-24, -0x1.5ee47507e29cap-20, 0x1.11ca84df13018p-23,
    0x1.a35aed60391e8p-23, -0x1.b8c828ddebdf5p-26, -0x1.f90332a646bcdp-26, 0x1.ab674eb8c1e07p-29,
    0x1.b6f6da9bdcfdbp-29, -0x1.df4d9acb97628p-34,
};
inline constexpr double two_over_root_pi_1 = 0x1.20dd750429b6dp+0;
inline constexpr double two_over_root_pi_2 = 0x1.1ae3a914fed80p-56;

// erf(x) / x - two_over_root_pi_1 in x^2 for |x| <= 1/2, relative to erfc; error 2^-57.9.
inline constexpr double erf_near_zero[] = {
    0x1.1ae3127a4c3c3p-56, -0x1.812746b0379e7p-2,  0x1.ce2f21a042be0p-4,  -0x1.b82ce312889f4p-6,
    0x1.565bcd0e5f662p-8,  -0x1.c02db3f9dc701p-11, 0x1.f9a324a4c3492p-14, -0x1.f4d1d03b2850cp-17,
    0x1.b9d1a7167131dp-20, -0x1.5d76fa882da9cp-23, 0x1.c610b01236aafp-27,
};
inline constexpr double normal_density_1 = 0x1.9884533d43651p-2;
inline constexpr double normal_density_2 = -0x1.cbc0d30ebfd15p-56;

// (Phi(x) - 1/2) / x - normal_density_1 in x^2 for |x| <= 1/2; error 2^-59.4.
inline constexpr double normal_near_zero[] = {
    -0x1.cbc0ddad647dap-56, -0x1.1058377e2cee0p-4,  0x1.46d04297691dap-7,  -0x1.37403f6ba1025p-10,
    0x1.e42b0d5200a33p-14,  -0x1.3ce8fab6ebbf3p-17, 0x1.658a1b84c3db7p-21, -0x1.6220510abfbb1p-25,
    0x1.3805f60080866p-29,  -0x1.d5c0c218588e6p-34,
};

} // namespace broadloom::math
