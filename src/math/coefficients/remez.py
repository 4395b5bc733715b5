"""What the scripts beside it print with: minimax polynomials and split constants.

Problem: the functions of functions.hpp stand on polynomials and on constants split into several
doubles. Both must be reproducible, with a known error, and nobody's but ours.
Method: Remez exchange in 60 digits (mpmath) for the minimax polynomial of a given weight, then each
coefficient is rounded to double. The polynomials are tails that a function adds to exact leading
terms, so the rounding of a coefficient weighs far less than the rounding of the result; the printed
error is that of the rounded polynomial.
Example: every FAMILY.py here prints FAMILY.hpp.
    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install mpmath
    /tmp/venv/bin/python src/math/coefficients/basic.py | clang-format-19 \\
        --assume-filename=src/math/coefficients/basic.hpp > /tmp/basic.hpp
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


def show_array(name, values):
    print(f"inline constexpr double {name}[] = {{")
    for v in values:
        print(f"    {float(v).hex()},")
    print("};")


def show_polynomial(name, what, f, weight, terms, low, high):
    coefficients, worst = fit(f, weight, terms, low, high)
    bits = float(mp.log(worst, 2))
    print(f"\n// {what}; error 2^{bits:.1f}.")
    show_array(name, coefficients)


def relative(f):
    return lambda x: 1 / abs(f(x))


def series(x, first, ratio, count=60):
    """sum over i of first(i) * x^i, for the quotients that cancel badly near zero."""
    total, power = mp.mpf(0), mp.mpf(1)
    for i in range(count):
        total += first(i) * power
        power *= x
    return total * ratio


def show_opening(script, includes=()):
    print("// Constants and minimax polynomials of the vector math, lowest power first.")
    print(f"// Printed by {script} (Remez exchange, 60 digits); not edited by hand.")
    print("#pragma once\n")
    for name in includes:
        print(f"#include {name}")
    print("\nnamespace broadloom::math {\n")


def show_end():
    print("\n}  // namespace broadloom::math")
