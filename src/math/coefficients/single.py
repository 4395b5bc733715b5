#!/usr/bin/env python3
"""Prints single.hpp: the constants of the functions that compute in f32 (see remez.py)."""
import struct

import mpmath as mp

from remez import relative, remez, series, show_end, show_opening


def to_float(x):
    """The nearest f32, as a Python float."""
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def split_float(value, parts):
    result = []
    rest = mp.mpf(value)
    for _ in range(parts):
        result.append(to_float(rest))
        rest -= mp.mpf(result[-1])
    return result


def hexadecimal(value):
    """Without the digits that an f32 does not have."""
    return to_float(value).hex().replace("0000000p", "p") + "f"


def show_float(name, value):
    print(f"inline constexpr float {name} = {hexadecimal(value)};")


def show_floats(name, values):
    print(f"inline constexpr float {name}[] = {{")
    for value in values:
        print(f"    {hexadecimal(value)},")
    print("};")


def show_float_polynomial(name, what, f, weight, terms, low, high):
    fixed = [mp.mpf(to_float(c)) for c in remez(f, weight, list(range(terms)), low, high)]
    grid = [mp.mpf(low) + (mp.mpf(high) - low) * i / 2000 for i in range(2001)]
    worst = max(
        abs((sum(c * x**p for p, c in enumerate(fixed)) - f(x)) * weight(x)) for x in grid if x != 0)
    print(f"\n// {what}; error 2^{float(mp.log(worst, 2)):.1f}.")
    show_floats(name, fixed)


def main():
    show_opening("single.py")
    ln2 = mp.log(2)
    stretch = mp.mpf("1.001")

    show_float("single_inverse_ln2", 1 / ln2)
    for name, part in zip(["single_ln2_1", "single_ln2_2"], split_float(ln2, 2)):
        show_float(name, part)
    print("\n// 2^(i/8), and what its rounding left.")
    roots = [split_float(mp.mpf(2) ** (mp.mpf(i) / 8), 2) for i in range(8)]
    show_floats("eighth_powers", [r[0] for r in roots])
    show_floats("eighth_powers_rest", [r[1] for r in roots])
    sixteenth = ln2 / 16 * stretch
    square_quotient = lambda x: series(x, lambda i: 1 / mp.factorial(i + 2), 1)
    show_float_polynomial(
        "eighth_tail", "(exp(r) - 1 - r) / r^2 on |r| <= ln2/16, relative to exp",
        square_quotient, lambda x: (x * x + mp.mpf("1e-8")), 3, -sixteenth, sixteenth)
    show_end()


if __name__ == "__main__":
    main()
