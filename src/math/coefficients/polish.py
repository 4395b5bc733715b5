"""Rounded coefficients whose errors make up for one another.

Problem: a polynomial without exact leading terms suffers from the rounding of its coefficients, up
to half an ulp of each.
Method: from the rounded minimax polynomial, steps of one ulp in two coefficients at a time, as long
as the largest weighted error on a grid falls. The error is linear in the steps, so the grid is
evaluated once in many digits and then followed in doubles.
Example: show_polished("log2_tail", "what it is", f, weight, 9, low, high, single=True)
"""
import itertools
import math

import mpmath as mp

from remez import remez
from single import show_floats, to_float


def polish(coefficients, digits, f, weight, low, high):
    """The improved coefficients and their largest weighted error; `digits` is 24 or 53."""
    grid = [mp.mpf(low) + (mp.mpf(high) - low) * i / 400 for i in range(401)]
    weights = [weight(x) for x in grid]
    errors = [
        float((sum(c * x**i for i, c in enumerate(coefficients)) - f(x)) * w)
        for x, w in zip(grid, weights)
    ]
    ulps = [math.ldexp(1.0, math.frexp(c)[1] - digits) for c in coefficients]
    steps = [[float(u * x**i * w) for x, w in zip(grid, weights)] for i, u in enumerate(ulps)]

    best, least, improved = list(coefficients), max(map(abs, errors)), True
    while improved:
        improved = False
        for i, j in itertools.combinations(range(len(best)), 2):
            for a, b in itertools.product((-1, 0, 1), repeat=2):
                trial = [e + a * p + b * q for e, p, q in zip(errors, steps[i], steps[j])]
                worst = max(map(abs, trial))
                if worst < least:
                    errors, least, improved = trial, worst, True
                    best[i] += a * ulps[i]
                    best[j] += b * ulps[j]
    return best, least


def show_polished(name, what, f, weight, terms, low, high, single=False):
    start = remez(f, weight, list(range(terms)), low, high)
    rounded = [to_float(c) if single else float(c) for c in start]
    values, worst = polish(rounded, 24 if single else 53, f, weight, low, high)
    print(f"\n// {what}; error 2^{math.log2(worst):.1f}.")
    if single:
        show_floats(name, values)
        return
    print(f"inline constexpr double {name}[] = {{")
    for c in values:
        print(f"    {c.hex()},")
    print("};")
