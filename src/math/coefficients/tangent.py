#!/usr/bin/env python3
"""Prints tangent.hpp: the polynomials of tan (see remez.py)."""
import mpmath as mp

from remez import series, show_end, show_opening, show_polynomial


def main():
    show_opening("tangent.py")
    near_zero = mp.mpf("1e-4")
    quarter_turn = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
    sin_rest = lambda z: series(z, lambda i: (-1) ** (i + 1) / mp.factorial(2 * i + 3), 1)
    cos_rest = lambda z: series(z, lambda i: (-1) ** (i + 1) / mp.factorial(2 * i + 2), 1)
    show_polynomial(
        "tan_short_sin", "(sin(r) - r) / r^3 in z = r^2 on |r| <= pi/4, relative to sin",
        sin_rest, lambda z: (z + near_zero) / mp.sin(mp.sqrt(z)) * mp.sqrt(z) if z > 0 else near_zero,
        4, 0, quarter_turn)
    show_polynomial(
        "tan_short_cos", "(cos(r) - 1) / r^2 in z = r^2 on |r| <= pi/4, relative to cos",
        cos_rest, lambda z: (z + near_zero) / mp.cos(mp.sqrt(z)), 5, 0, quarter_turn)
    show_end()


main()
