#!/usr/bin/env python3
"""Prints gamma.hpp: the polynomials of lgamma and digamma (see remez.py)."""
import mpmath as mp

from remez import remez, show_constant, show_end, show_opening, show_polynomial, show_split, split

pieces = 16


def in_hex(values):
    return ", ".join(float(v).hex() for v in values)


def show_rows(name, columns):
    print(f"inline constexpr double {name}[{len(columns[0])}][{pieces}] = {{")
    for row in zip(*columns):
        print("    {" + in_hex(row) + "},")
    print("};")


def show_pieces(name, f, derivative, centres, terms):
    """f around the centres: three Taylor coefficients in two parts each, then a minimax
    polynomial."""
    heads, rests, worst = [], [], 0
    for i, centre in enumerate(centres):
        centre = mp.mpf(centre)
        taylor = [f(centre)] + [derivative(n, centre) / mp.factorial(n) for n in range(1, 4)]
        head = [split(c, 2) if c != 0 else [0.0, 0.0] for c in taylor[:3]]
        low, high = (1 + mp.mpf(i) / 2 + s * mp.mpf("0.25") - centre for s in (-1, 1))

        def rest(d):
            if abs(d) < mp.mpf("1e-15"):
                return taylor[3]
            return (f(centre + d) - taylor[0] - d * (taylor[1] + d * taylor[2])) / d**3

        def weight(d):
            return (abs(d) + mp.mpf("1e-2")) ** 3 / (abs(f(centre + d)) + mp.mpf("1e-3"))

        coefficients = [float(c) for c in remez(rest, weight, list(range(terms)), low, high, rounds=4)]
        for k in range(201):
            d = low + (high - low) * k / 200
            error = abs(sum(c * d**p for p, c in enumerate(coefficients)) - rest(d)) * weight(d)
            worst = max(worst, error)
        heads.append([part for pair in head for part in pair])
        rests.append(coefficients)
    bits = float(mp.log(worst, 2))
    print(f"\n// {name}(c + d) = value + d (slope + d (bend + d rest(d))) around 16 centres c, half a unit")
    print(f"// apart: one row for each coefficient, rest lowest power first; error 2^{bits:.1f}.")
    print("// The head has value, slope and bend, each in two parts.")
    show_rows(f"{name}_head", heads)
    show_rows(f"{name}_rest", rests)


def zeta_series(first, ratio):
    """sum over k >= first of zeta(2 k) ratio(k) z^(k - first)."""
    factors = [mp.zeta(2 * k) * ratio(k) for k in range(first, 120)]
    return lambda z: mp.polyval(factors[::-1], z)


def stirling(f, power):
    """f times v^power, in q = 1 / v^2."""
    return lambda q: f(1 / mp.sqrt(q)) * mp.sqrt(q) ** -power


def main():
    mp.mp.dps = 60
    show_opening("gamma.py")
    centres = [1 + mp.mpf(i) / 2 for i in range(pieces)]
    show_pieces("lgamma", mp.loggamma, lambda n, c: mp.psi(n - 1, c), centres, 18)

    root = mp.findroot(lambda x: mp.psi(0, x), mp.mpf("1.4616321449683623"))
    centres[1] = mp.mpf(float(root))
    print("\n// The second piece has digamma's root for its centre.")
    print(f"inline constexpr double digamma_centre[{pieces}] = {{{in_hex(centres)}}};")
    show_pieces("digamma", lambda x: mp.psi(0, x), mp.psi, centres, 20)

    # Reflection: both have poles that are taken off, and power series in the square of the fraction
    # f.
    quarter = mp.mpf(1) / 4
    show_split(["lgamma_reflected_1", "lgamma_reflected_2"], mp.zeta(2))
    show_polynomial(
        "lgamma_reflected", "(-log(sin(pi f) / (pi f)) / z - lgamma_reflected_1) / z in z = f^2, |f| <= 1/2",
        zeta_series(2, lambda k: mp.mpf(1) / k), lambda z: 1, 15, 0, quarter)
    show_split(["digamma_reflected_1", "digamma_reflected_2"], 2 * mp.zeta(2))
    show_polynomial(
        "digamma_reflected", "((1/f - pi cot(pi f)) / f - digamma_reflected_1) / z in z = f^2, |f| <= 1/2",
        zeta_series(2, lambda k: 2), lambda z: 1, 16, 0, quarter)

    # Stirling's series from 7.75 on.
    first, most = mp.mpf("1e-8"), 1 / mp.mpf("7.75") ** 2
    constant = mp.log(2 * mp.pi) / 2
    largest = mp.mpf(2) ** 1024 * (1 - mp.mpf(2) ** -54)
    scale = mp.mpf(10) ** 305
    last = scale * mp.findroot(lambda y: mp.loggamma(y * scale) / largest - 1, mp.mpf("2.56"))
    print("\n// The largest argument of lgamma whose result is finite.")
    show_constant("lgamma_last", last * (1 - mp.mpf(2) ** -54))
    print()
    show_split(["stirling_constant_1", "stirling_constant_2"], constant)
    tail = lambda v: mp.loggamma(v) - (v - mp.mpf("0.5")) * mp.log(v) + v - constant
    show_polynomial("lgamma_stirling", "v (lgamma(v) - (v - 1/2) log v + v - log(2 pi) / 2) in 1 / v^2, v >= 7.75",
                    stirling(tail, 1), lambda q: 1, 9, first, most)
    tail = lambda v: mp.log(v) - 1 / (2 * v) - mp.psi(0, v)
    show_polynomial("digamma_stirling", "v^2 (log v - 1 / (2 v) - digamma(v)) in 1 / v^2, v >= 7.75",
                    stirling(tail, 2), lambda q: 1, 9, first, most)
    show_end()


main()
