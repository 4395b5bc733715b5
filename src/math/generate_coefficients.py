#!/usr/bin/env python3
"""Prints coefficients.hpp: every constant and polynomial of the vector math.

Problem: the functions of functions.hpp stand on polynomials and on constants split into several
doubles. Both must be reproducible, with a known error, and nobody's but ours.
Method: Remez exchange in 60 digits (mpmath) for the minimax polynomial of a given weight, then each
coefficient is rounded to double. The polynomials are tails that a function adds to exact leading
terms, so the rounding of a coefficient weighs far less than the rounding of the result; the printed
error is that of the rounded polynomial.
Example:
    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install mpmath
    /tmp/venv/bin/python src/math/generate_coefficients.py | clang-format-19 \\
        --assume-filename=src/math/coefficients.hpp > /tmp/coefficients.hpp
"""
import mpmath as mp

mp.mp.dps = 60


def solve_levelled(f, weight, powers, nodes):
    """The polynomial over `powers` whose weighted error alternates +e, -e, ... at the nodes."""
    rows = len(powers) + 1
    a = mp.matrix(rows, rows)
    b = mp.matrix(rows, 1)
    for i, x in enumerate(nodes):
        for j, p in enumerate(powers):
            a[i, j] = x**p
        a[i, rows - 1] = (-1) ** i / weight(x)
        b[i] = f(x)
    return list(mp.lu_solve(a, b))[:-1]


def remez(f, weight, powers, low, high, rounds=8):
    """Minimax coefficients for sum c_p x^p ~ f(x) on [low, high] in the norm |error| * weight."""
    count = len(powers) + 1
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    nodes = [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    samples = 60 * count
    grid = [middle - half * mp.cos(mp.pi * i / samples) for i in range(samples + 1)]
    values = [(f(x), weight(x)) for x in grid]
    coefficients = None
    for _ in range(rounds):
        coefficients = solve_levelled(f, weight, powers, nodes)
        errors = [
            (sum(c * x**p for c, p in zip(coefficients, powers)) - v) * w
            for x, (v, w) in zip(grid, values)
        ]
        # One extremum for each run of equal sign.
        extrema = []
        for x, e in zip(grid, errors):
            if extrema and (e > 0) == (extrema[-1][1] > 0):
                if abs(e) > abs(extrema[-1][1]):
                    extrema[-1] = (x, e)
            else:
                extrema.append((x, e))
        while len(extrema) > count:
            extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
        if len(extrema) < count:
            break
        nodes = [x for x, _ in extrema]
    return coefficients


def fit(f, weight, terms, low, high):
    """`terms` double coefficients, lowest first, and the largest weighted error on a grid."""
    fixed = [mp.mpf(float(c)) for c in remez(f, weight, list(range(terms)), low, high)]
    grid = [mp.mpf(low) + (mp.mpf(high) - low) * i / 2000 for i in range(2001)]
    worst = max(
        abs((sum(c * x**p for p, c in enumerate(fixed)) - f(x)) * weight(x)) for x in grid if x != 0
    )
    return [float(c) for c in fixed], worst


def split(value, parts, first_bits=53):
    """value as a sum of doubles; the first keeps only first_bits significant bits."""
    result = []
    rest = mp.mpf(value)
    for i in range(parts):
        if i == 0 and first_bits < 53:
            shift = first_bits - int(mp.floor(mp.log(rest, 2))) - 1
            part = mp.floor(rest * mp.mpf(2) ** shift) / mp.mpf(2) ** shift
        else:
            part = mp.mpf(float(rest))
        result.append(float(part))
        rest -= part
    return result


def show_constant(name, value):
    print(f"inline constexpr double {name} = {float(value).hex()};")


def show_split(names, value, first_bits=53):
    for name, part in zip(names, split(value, len(names), first_bits)):
        show_constant(name, part)


def show_polynomial(name, what, f, weight, terms, low, high):
    coefficients, worst = fit(f, weight, terms, low, high)
    bits = float(mp.log(worst, 2))
    print(f"\n// {what}; error 2^{bits:.1f}.")
    print(f"inline constexpr double {name}[] = {{")
    for c in coefficients:
        print(f"    {c.hex()},")
    print("};")


def relative(f):
    return lambda x: 1 / abs(f(x))


def series(x, first, ratio, count=60):
    """sum over i of first(i) * x^i, for the quotients that cancel badly near zero."""
    total, power = mp.mpf(0), mp.mpf(1)
    for i in range(count):
        total += first(i) * power
        power *= x
    return total * ratio


def main():
    print("// Constants and minimax polynomials of the vector math, lowest power first.")
    print("// Printed by generate_coefficients.py (Remez exchange, 60 digits); not edited by hand.")
    print("#pragma once\n")
    print("#include <cstdint>\n")
    print("namespace broadloom::math {\n")

    ln2 = mp.log(2)
    show_constant("inverse_ln2", 1 / ln2)
    show_split(["ln2_1", "ln2_2"], ln2)
    print("// The first part has 11 zero bits at the end: its product with an exponent is exact.")
    show_split(["ln2_short_1", "ln2_short_2"], ln2, 42)
    show_constant("inverse_pi", 1 / mp.pi)
    show_split(["pi_1", "pi_2"], mp.pi)
    show_constant("two_over_pi", 2 / mp.pi)
    show_split(["half_pi_1", "half_pi_2", "half_pi_3"], mp.pi / 2)
    show_split(["third_1", "third_2"], mp.mpf(1) / 3)
    gelu_linear = 2 * mp.sqrt(2 / mp.pi)
    show_split(["gelu_linear_1", "gelu_linear_2"], gelu_linear)
    show_split(["gelu_cubic_1", "gelu_cubic_2"], gelu_linear * mp.mpf("0.044715"))

    # Intervals are stretched a little for arguments that the reduction leaves just outside. The
    # weights give the error of the whole function in units of its value: a power of z where zero is
    # an end of the interval, none where it lies inside, since Remez needs a positive weight there.
    stretch = mp.mpf("1.0001")
    near_zero = mp.mpf("1e-4")
    half_ln2 = ln2 / 2 * stretch
    square_quotient = lambda x: series(x, lambda i: 1 / mp.factorial(i + 2), 1)
    cube_quotient = lambda x: series(x, lambda i: 1 / mp.factorial(i + 3), 1)
    show_polynomial(
        "exp_short_tail", "(exp(r) - 1 - r) / r^2 on |r| <= ln2/2, relative to the tail",
        square_quotient, relative(square_quotient), 7, -half_ln2, half_ln2)
    show_polynomial(
        "exp_tail", "(exp(r) - 1 - r - r^2/2) / r^3 on |r| <= ln2/2, relative to the tail",
        cube_quotient, relative(cube_quotient), 10, -half_ln2, half_ln2)

    # s = f / (2 + f) for 1 + f in [sqrt(1/2), sqrt(2)]
    s_max = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
    z_max = s_max**2 * stretch
    log_rest = lambda z: series(z, lambda i: mp.mpf(1) / (2 * i + 3), 2)
    pair_rest = lambda z: series(z, lambda i: mp.mpf(1) / (2 * i + 5), 1)
    show_polynomial(
        "log_short_tail", "(2 atanh(s) - 2 s) / s^3 in z = s^2, relative to log",
        log_rest, lambda z: z / 2 + near_zero, 5, 0, z_max)
    show_polynomial(
        "log_tail", "the same for f64, relative to log",
        log_rest, lambda z: z / 2 + near_zero, 7, 0, z_max)
    show_polynomial(
        "log_pair_tail", "(atanh(s) - s - s^3/3) / s^5 in z = s^2, relative to log",
        pair_rest, lambda z: z**2 + near_zero**2, 8, 0, z_max)

    sin_rest = lambda z: series(z, lambda i: (-1) ** (i + 1) / mp.factorial(2 * i + 3), 1)
    cos_rest = lambda z: series(z, lambda i: (-1) ** i / mp.factorial(2 * i + 4), 1)
    sin_quotient = lambda z: mp.sin(mp.sqrt(z)) / mp.sqrt(z) if z > 0 else mp.mpf(1)
    sin_weight = lambda z: (z + near_zero) / sin_quotient(z)
    half_turn = (mp.pi / 2 * stretch) ** 2
    quarter_turn = (mp.pi / 4 * stretch) ** 2
    show_polynomial(
        "sin_short_tail", "(sin(r) - r) / r^3 in z = r^2 on |r| <= pi/2, relative to sin",
        sin_rest, sin_weight, 6, 0, half_turn)
    show_polynomial(
        "sin_tail", "(sin(r) - r) / r^3 in z = r^2 on |r| <= pi/4, relative to sin",
        sin_rest, sin_weight, 6, 0, quarter_turn)
    show_polynomial(
        "cos_tail", "(cos(r) - 1 + r^2/2) / r^4 in z = r^2 on |r| <= pi/4, relative to cos",
        cos_rest, lambda z: (z + near_zero) ** 2 / mp.cos(mp.sqrt(z)), 6, 0, quarter_turn)

    # A double is M * 2^e with e <= 971; its window of 192 bits starts two bits before the bit e.
    print("\n// 2/pi in fixed point: a word before the binary point (zero), then 64 digits a word.")
    words = 19
    mp.mp.dps = 420
    digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * words)))
    print("inline constexpr std::uint64_t two_over_pi_bits[] = {")
    print("    0,")
    for i in range(words):
        print(f"    0x{(digits >> (64 * (words - 1 - i))) & (2**64 - 1):016x},")
    print("};")
    print("\n}  // namespace broadloom::math")


main()
