#!/usr/bin/env python3
"""Prints hyperbolic.hpp: the polynomials of exp2, expm1, sinh and cosh (see remez.py)."""
import mpmath as mp

from polish import show_polished
from remez import relative, series, show_end, show_opening, show_polynomial


def main():
    show_opening("hyperbolic.py")

    ln2 = mp.log(2)

    # Stretched a little for arguments that the reduction leaves just outside.
    stretch = mp.mpf("1.0001")
    near_zero = mp.mpf("1e-4")
    half_ln2 = ln2 / 2 * stretch
    exp2_quotient = lambda r: series(r, lambda i: ln2 ** (i + 1) / mp.factorial(i + 1), 1)
    show_polished(
        "exp2_quotient", "(2^r - 1) / r on |r| <= 1/2, relative to 2^r",
        exp2_quotient, lambda r: (abs(r) + near_zero) / mp.mpf(2) ** r, 11, -stretch / 2, stretch / 2)

    show_polished(
        "exp2_eighth_quotient", "(2^r - 1) / r on |r| <= 1/16, relative to 2^r",
        exp2_quotient, lambda r: abs(r) + near_zero, 4, -stretch / 16, stretch / 16, single=True)
    square_quotient = lambda r: series(r, lambda i: 1 / mp.factorial(i + 2), 1)
    show_polynomial(
        "expm1_short_tail", "(exp(r) - 1 - r) / r^2 on |r| <= ln2/2, relative to the tail",
        square_quotient, relative(square_quotient), 7, -half_ln2, half_ln2)
    cube_quotient = lambda r: series(r, lambda i: 1 / mp.factorial(i + 3), 1)
    show_polynomial(
        "expm1_tail", "(exp(r) - 1 - r - r^2/2) / r^3 on |r| <= ln2/2, relative to the tail",
        cube_quotient, relative(cube_quotient), 10, -half_ln2, half_ln2)

    z_max = half_ln2**2
    sinh_rest = lambda z: series(z, lambda i: 1 / mp.factorial(2 * i + 3), 1)
    cosh_rest = lambda z: series(z, lambda i: 1 / mp.factorial(2 * i + 4), 1)
    for name, terms, what in (("short_tail", (3, 2), ""), ("tail", (5, 4), ", for f64")):
        show_polynomial(
            f"sinh_{name}", f"(sinh(r) - r) / r^3 in z = r^2 on |r| <= ln2/2, relative to sinh{what}",
            sinh_rest, lambda z: z + near_zero, terms[0], 0, z_max)
        show_polynomial(
            f"cosh_{name}", f"(cosh(r) - 1 - r^2/2) / r^4 in z = r^2, relative to cosh{what}",
            cosh_rest, lambda z: (z + near_zero) ** 2, terms[1], 0, z_max)
    show_end()


main()
