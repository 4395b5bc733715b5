#!/usr/bin/env python3
"""Prints inverse_hyperbolic.hpp: what the logarithms of other bases and arguments stand on
(see remez.py)."""
import mpmath as mp

from polish import show_polished
from remez import series, show_constant, show_end, show_opening, show_polynomial, show_split
from single import show_float, split_float


def main():
    show_opening("inverse_hyperbolic.py")

    ln2, ln10 = mp.log(2), mp.log(10)
    show_split(["two_over_ln2_1", "two_over_ln2_2"], 2 / ln2)
    show_split(["two_over_ln10_1", "two_over_ln10_2"], 2 / ln10)
    print("// The first parts have 11 zero bits at the end: their products with an exponent are exact.")
    show_split(["exponent_ln2_1", "exponent_ln2_2"], ln2, 42)
    show_split(["exponent_log10_1", "exponent_log10_2"], ln2 / ln10, 42)

    print("\n// For f32; the first part of log10(2) has 8 zero bits at the end.")
    for name, value in (("single_over_ln2", 1 / ln2), ("single_over_ln10", 1 / ln10)):
        for part, suffix in zip(split_float(value, 2), "12"):
            show_float(f"{name}_{suffix}", part)
    first = mp.floor(ln2 / ln10 * 2**17) / 2**17
    show_float("single_exponent_log10_1", first)
    show_float("single_exponent_log10_2", ln2 / ln10 - first)

    for name, base, least in (("log2", ln2, mp.mpf(2) / 3), ("log10", ln10, mp.sqrt(2) / 2)):
        low, high = least / mp.mpf("1.001") - 1, 2 * least * mp.mpf("1.001") - 1
        rest = lambda f: series(f, lambda i: mp.mpf((-1) ** (i + 1)) / (i + 2), 1 / base, 200)
        show_polished(
            f"single_{name}_tail", f"({name}(1 + f) - f {name}(e)) / f^2, relative to {name}",
            rest, lambda f: abs(f) + mp.mpf("1e-3"), 9, low, high, single=True)

    # u = 2^k (1 + s) / (1 - s) with u / 2^k in [sqrt(1/2), sqrt(2)], and for the exponent that
    # atanh guesses from the bits of a quotient, which is up to 0.087 off.
    stretch = mp.mpf("1.0001")
    near_zero = mp.mpf("1e-4")
    s_exact = mp.tanh(ln2 / 4)
    s_guessed = mp.tanh(ln2 / 2 * mp.mpf("0.5873"))
    rest = lambda z: series(z, lambda i: mp.mpf(1) / (2 * i + 3), 1)
    for name, terms, s_max, what in (
            ("atanh_short_tail", 4, s_exact, ""),
            ("atanh_tail", 7, s_exact, ", for f64"),
            ("atanh_wide_short_tail", 4, s_guessed, ", |s| < 0.201"),
            ("atanh_wide_tail", 8, s_guessed, ", |s| < 0.201, for f64")):
        show_polynomial(
            name, f"(atanh(s) - s) / s^3 in z = s^2, relative to atanh{what}",
            rest, lambda z: z + near_zero, terms, 0, s_max**2 * stretch)
    show_end()


main()
