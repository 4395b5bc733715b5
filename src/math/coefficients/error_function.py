#!/usr/bin/env python3
"""Prints error_function.hpp: the polynomials of erf, erfc and gelu (see remez.py)."""
import mpmath as mp

from remez import (relative, remez, series, show_constant, show_end, show_opening, show_polynomial, split)

two_over_root_pi = 2 / mp.sqrt(mp.pi)


def erf_quotient(z):
    """erf(x) / x in z = x^2."""
    x = mp.sqrt(z)
    return mp.erf(x) / x if x > mp.mpf("1e-20") else two_over_root_pi


def show_pieces():
    """erf around 16 centres; the table of each coefficient holds its value for all of them."""
    width = mp.mpf(49) / 128
    terms = 13
    rows = [[] for _ in range(3 + terms)]
    for k in range(16):
        centre = k * width
        value = split(mp.erf(centre), 2)
        slope = float(two_over_root_pi * mp.exp(-centre**2))

        def quotient(d):
            if abs(d) < mp.mpf("1e-15"):
                return two_over_root_pi * mp.exp(-centre**2) - mp.mpf(slope)
            return (mp.erf(centre + d) - mp.erf(centre)) / d - mp.mpf(slope)

        def weight(d):
            return 1 if k == 0 else (abs(d) + mp.mpf("1e-3")) / mp.erf(centre + d)

        half = width / 2 * mp.mpf("1.0001")
        coefficients = remez(quotient, weight, list(range(terms)), -half, half, rounds=4)
        for row, c in zip(rows, value + [slope] + coefficients):
            row.append(float(c))
    show_constant("erf_pieces_per_unit", 1 / width)
    show_constant("erf_piece", width)
    print("\n// erf(c + d) = value_1 + slope d + (value_2 + d rest(d)) for the centres c = 0, 1, .. 15 pieces:")
    print("// one row for each coefficient, rest lowest power first.")
    names = ["value_1", "value_2", "slope"] + [f"rest_{i}" for i in range(terms)]
    for name, row in zip(names[:3], rows):
        print(f"inline constexpr double erf_{name}[16] = {{")
        print("    " + ", ".join(c.hex() for c in row) + "};")
    print(f"inline constexpr double erf_rest[{terms}][16] = {{")
    for row in rows[3:]:
        print("    {" + ", ".join(c.hex() for c in row) + "},")
    print("};")


def main():
    show_opening("error_function.py")
    show_pieces()
    middle = mp.mpf("7.75")
    shifted = lambda t: erf_quotient(t + middle)
    show_polynomial(
        "erf_short", "erf(x) / x in x^2 - 7.75 on |x| <= 3.94, relative to erf",
        shifted, relative(shifted), 21, -middle, middle)
    show_end()


main()
