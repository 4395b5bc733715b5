#!/usr/bin/env python3
"""Prints inverse_trigonometric.hpp: the polynomials of atan, asin and acos (see remez.py)."""
import mpmath as mp

from remez import series, show_constant, show_end, show_opening, show_polynomial, show_split, split


def show_table(name, values):
    print(f"inline constexpr double {name}[16] = {{" + ", ".join(float(v).hex() for v in values) + "};")


def main():
    show_opening("inverse_trigonometric.py")
    stretch = mp.mpf("1.0001")
    near_zero = mp.mpf("1e-5")

    atan_rest = lambda z: series(z, lambda i: mp.mpf((-1) ** (i + 1)) / (2 * i + 3), 1, 120)
    atan_weight = lambda z: (z + near_zero) * (mp.sqrt(z) / mp.atan(mp.sqrt(z)) if z > 0 else 1)
    show_polynomial(
        "atan_tail", "(atan(u) - u) / u^3 in z = u^2 for |u| <= 1/4, relative to atan",
        atan_rest, atan_weight, 9, 0, mp.mpf(1) / 16 * stretch)
    show_polynomial(
        "atan_short_tail", "the same for |u| <= 1, relative to atan",
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-6 else atan_rest(z),
        atan_weight, 13, 0, stretch)

    # asin(u) = sum of binomial(2 i, i) u^(2 i + 1) / (4^i (2 i + 1))
    term = lambda i: mp.binomial(2 * i + 2, i + 1) / (mp.mpf(4) ** (i + 1) * (2 * i + 3))
    asin_rest = lambda z: series(z, term, 1, 120)
    asin_weight = lambda z: (z + near_zero) * (mp.sqrt(z) / mp.asin(mp.sqrt(z)) if z > 0 else 1)
    show_polynomial(
        "asin_tail", "(asin(u) - u) / u^3 in z = u^2 for |u| <= 1/2, relative to asin",
        asin_rest, asin_weight, 13, 0, mp.mpf(1) / 4 * stretch)
    show_polynomial(
        "asin_short_tail", "the same for f32, relative to asin",
        asin_rest, asin_weight, 6, 0, mp.mpf(1) / 4 * stretch)

    print("\n// The angle that atan u is added to: atan of 0, 1/2, 1 (index 0, 1, 2), subtracted from pi/2 where the")
    print("// ratio was turned over (+ 4), and from pi where x is negative (+ 8).")
    angles = []
    for i in range(16):
        a = mp.atan(mp.mpf(min(i % 4, 2)) / 2)
        a = mp.pi / 2 - a if i & 4 else a
        angles.append(mp.pi - a if i & 8 else a)
    show_table("atan_base_1", [split(a, 2)[0] for a in angles])
    show_table("atan_base_2", [split(a, 2)[1] for a in angles])
    show_end()


main()
