// Constants and minimax polynomials of the vector math, lowest power first.
// Printed by tangent.py (Remez exchange, 60 digits); not edited by hand.
#pragma once

namespace broadloom::math {

// (sin(r) - r) / r^3 in z = r^2 on |r| <= pi/4, relative to sin; error 2^-37.5.
inline constexpr double tan_short_sin[] = {
    -0x1.5555554c71f83p-3,
    0x1.1111086a0cb83p-7,
    -0x1.a00f7eb3b5858p-13,
    0x1.6cd1cf6dfb44cp-19,
};

// (cos(r) - 1) / r^2 in z = r^2 on |r| <= pi/4, relative to cos; error 2^-43.6.
inline constexpr double tan_short_cos[] = {
    -0x1.ffffffffe98cbp-2, 0x1.55555545c4d9ep-5,   -0x1.6c16b3481ffb9p-10,
    0x1.a00eb93523c84p-16, -0x1.23c9634c70117p-22,
};

} // namespace broadloom::math
