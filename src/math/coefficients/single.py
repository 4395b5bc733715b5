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


def float_like(f, x):
    """A float next to x whose f(x) is a float, to a thousandth of its last digit where there is one."""
    step = mp.mpf(2) ** (int(mp.floor(mp.log(x, 2))) - 23)
    best = None
    for i in range(4000):
        at = mp.mpf(to_float(x)) + (-1) ** i * (i // 2) * step
        error = abs(f(at) - mp.mpf(to_float(f(at)))) / f(at) * 2**24
        if best is None or error < best[0]:
            best = (error, at)
        if error < mp.mpf("1e-3"):
            break
    return best[1]


def show_tanh():
    """tanh(c + h) = base + h P(h) on 16 intervals, quarters of an octave of |x| + 5/8."""
    mp.mp.dps = 40
    start = mp.mpf(5) / 8
    edges, u = [mp.mpf(0)], start
    while len(edges) < 16:
        quarter = mp.mpf(2) ** (int(mp.floor(mp.log(u, 2))) - 2)
        u = mp.floor(u / quarter + 1) * quarter
        edges.append(u - start)
    edges.append(mp.mpf("9.2"))
    terms = 6
    rows = []
    worst = 0
    for low, high in zip(edges, edges[1:]):
        if low == 0:
            center, base = mp.mpf(0), mp.mpf(0)
            f = lambda h: mp.tanh(h) / h - 1 if h != 0 else mp.mpf(0)
            weight = lambda h: mp.mpf(1)
        else:
            center = float_like(mp.tanh, (low + high) / 2)
            base = mp.tanh(center)
            f = lambda h: (mp.tanh(center + h) - base) / h if h != 0 else 1 - base**2
            weight = lambda h: (abs(h) + (high - low) / 20) / mp.tanh(center + h)
        powers = list(range(terms))
        fixed = [mp.mpf(to_float(c)) for c in remez(f, weight, powers, low - center, high - center)]
        grid = [low - center + (high - low) * i / 499 for i in range(500)]
        worst = max([worst] + [
            abs((sum(c * h**p for p, c in enumerate(fixed)) - f(h)) * weight(h)) for h in grid])
        rows.append([center, base] + fixed)
    mp.mp.dps = 60
    print("\n// tanh on 16 intervals: a centre c, tanh c, and the coefficients of (tanh(c + h) - tanh c) / h;")
    print(f"// on the first tanh(h) / h - 1. Relative to tanh; error 2^{float(mp.log(worst, 2)):.1f}.")
    # The interval is found in bits 21 to 24 of |x| + 5/8, which are 9 for the first.
    rotated = rows[-9:] + rows[:-9]
    names = ["tanh_center", "tanh_base"] + [f"tanh_tail_{p}" for p in range(terms)]
    for i, name in enumerate(names):
        show_floats(name, [row[i] for row in rotated])


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

    # 1 + f in [sqrt(1/2), sqrt(2)]
    print("\n// The first part has 8 zero bits at the end: its product with an exponent is exact.")
    first = mp.floor(ln2 * 2**16) / 2**16
    show_float("single_ln2_short_1", first)
    show_float("single_ln2_short_2", ln2 - first)
    cube_rest = lambda f: series(f, lambda i: mp.mpf((-1) ** i) / (i + 3), 1, 200)
    show_float_polynomial(
        "single_log_tail", "(log(1 + f) - f + f^2/2) / f^3, relative to log",
        cube_rest, lambda f: f * f + mp.mpf("1e-5"), 8,
        mp.sqrt(mp.mpf(1) / 2) / stretch - 1, mp.sqrt(2) * stretch - 1)
    show_tanh()
    show_end()


main()
