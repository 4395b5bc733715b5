#!/usr/bin/env python3
"""Prints error_function.hpp: the polynomials of erf, erfc and gelu in f64 (see remez.py)."""
import mpmath as mp

from remez import (relative, remez, show_constant, show_end, show_opening, show_polynomial,
                   show_split, split)

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


def show_tail(name, what, f, k, low, high):
    """A polynomial in (x - k) / (x + k), its first coefficient in two parts."""
    map_of = lambda x: (mp.mpf(x) - k) / (x + k)
    mapped = lambda t: f(k * (1 + t) / (1 - t))
    terms, a, b = 23, map_of(low), map_of(high)
    coefficients = remez(mapped, relative(mapped), list(range(terms)), a, b, rounds=4)
    first = split(coefficients[0], 2)
    fixed = [mp.mpf(first[0]) + first[1]] + [mp.mpf(float(c)) for c in coefficients[1:]]
    grid = [a + (b - a) * i / 1000 for i in range(1001)]
    worst = max(abs(sum(c * t**p for p, c in enumerate(fixed)) / mapped(t) - 1) for t in grid)
    print(f"\n// {what}; error 2^{float(mp.log(worst, 2)):.1f}.")
    for part, value in zip(("first_1", "first_2"), first):
        print(f"inline constexpr double {name}_{part} = {value.hex()};")
    print(f"inline constexpr double {name}[] = {{ // from the second coefficient on")
    for c in coefficients[1:]:
        print(f"    {float(c).hex()},")
    print("};")


def main():
    show_opening("error_function.py")
    show_pieces()

    # The tail: erfc(x) e^(x^2) is a smooth function between 1 and 1 / (x sqrt(pi)).
    scaled = lambda x: mp.exp(x**2) * mp.erfc(x)
    show_tail("erfc_tail", "(1 + 1.5 x) erfc(x) e^(x^2) in (x - 4) / (x + 4) on 1/2 <= x <= 28, relative",
              lambda x: (1 + mp.mpf("1.5") * x) * scaled(x), 4, mp.mpf("0.5"), 28)
    show_tail("gelu_tail", "(1 + x) erfc(x / sqrt(2)) e^(x^2 / 2) / 2 in (x - 5) / (x + 5) on 1/2 <= x <= 40, relative",
              lambda x: (1 + x) * scaled(x / mp.sqrt(2)) / 2, 5, mp.mpf("0.5"), 40)

    show_split(["two_over_root_pi_1", "two_over_root_pi_2"], two_over_root_pi)
    first = mp.mpf(float(two_over_root_pi))
    rest = lambda z: erf_quotient(z) - first
    show_polynomial(
        "erf_near_zero", "erf(x) / x - two_over_root_pi_1 in x^2 for |x| <= 1/2, relative to erfc",
        rest, lambda z: 1, 11, 0, mp.mpf(1) / 4)
    root = mp.sqrt(2 * mp.pi)
    show_split(["normal_density_1", "normal_density_2"], 1 / root)
    of_normal = lambda z: erf_quotient(z / 2) / (2 * mp.sqrt(2)) - mp.mpf(float(1 / root))
    show_polynomial(
        "normal_near_zero", "(Phi(x) - 1/2) / x - normal_density_1 in x^2 for |x| <= 1/2",
        of_normal, lambda z: 1, 10, 0, mp.mpf(1) / 4)
    show_end()


main()
