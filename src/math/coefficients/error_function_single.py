#!/usr/bin/env python3
"""Prints error_function_single.hpp: the tables of erf, erfc and gelu for f32 in f32 (see
remez.py)."""
import math
import struct

import mpmath as mp

from polish import polish
from remez import remez, show_end, show_opening
from single import float_like, hexadecimal, show_float, show_floats, to_float

terms = 5


def show_powers():
    """2^((i + d) / 8), 0 <= d < 1, whose first is a float and the others almost; the first's
    logarithm."""
    roots = [2.0 ** (i / 8) for i in range(8)]
    least, first = 1.0, 0
    for f in range(2**23, int(2**23 * roots[1])):
        worst = 0.0
        for root in roots:
            worst = max(worst, abs(f * root - round(f * root)))
            if worst >= least:
                break
        else:
            least, first = worst, f
    exact = [mp.mpf(first) / 2**23 * mp.mpf(2) ** (mp.mpf(i) / 8) for i in range(8)]
    print("// 2^((i + d) / 8), with a d for which all of them are almost floats: "
          f"to {least:.2f} of a last digit.")
    show_floats("tail_powers", exact)
    return mp.log(exact[0])


def edges_from(start, last):
    """The ends in |x| of 16 intervals, eighths of an octave of |x| + start, beyond `last`."""
    edges, u = [mp.mpf(0)], mp.mpf(start)
    while len(edges) < 17:
        eighth = mp.mpf(2) ** (int(mp.floor(mp.log(u, 2))) - 3)
        u = mp.floor(u / eighth + 1) * eighth
        edges.append(u - start)
    assert edges[-1] > last
    return edges


def multiple_like(f, x, unit):
    """A float next to x whose f(x) is a multiple of `unit` to 2^-29.5, and that multiple."""
    step = mp.mpf(2) ** (int(mp.floor(mp.log(x, 2))) - 23)
    for i in range(20000):
        at = mp.mpf(to_float(x)) + (-1) ** i * (i // 2) * step
        whole = mp.nint(f(at) / unit) * unit
        if abs(f(at) - whole) < mp.mpf(2) ** -29.5:
            return at, whole
    raise ValueError("no such float")


def fit_quotient(quotient, low, high, weight, smooth_weight):
    start = remez(quotient, smooth_weight, list(range(terms)), low, high, rounds=5)
    return polish([to_float(c) for c in start], 24, quotient, weight, low, high)


def fit_slopes(f, center, low, high, weight):
    """Floats of (f(center + h) - f(center)) / h; and the largest error of f, times weight(h)."""
    at_center = f(center)

    def quotient(h):
        return (f(center + h) - at_center) / h if abs(h) > mp.mpf("1e-15") else mp.diff(f, center)

    floor = (high - low) / 40
    return fit_quotient(quotient, low - center, high - center, lambda h: abs(h) * weight(h),
                        lambda h: (abs(h) + floor) * weight(h))


def show_intervals(name, what, start, rows):
    """rows: centre, value, (slopes, error); turned to where bits 20 to 23 of |x| + start find
    them."""
    worst = max(error for _, _, (_, error) in rows)
    print(f"\n// {what}; error 2^{math.log2(worst):.1f}.")
    first = struct.unpack("I", struct.pack("f", float(start)))[0] >> 20 & 15
    turned = rows[16 - first:] + rows[:16 - first]
    show_float(f"{name}_start", start)
    show_floats(f"{name}_center", [center for center, _, _ in turned])
    show_floats(f"{name}_value", [value for _, value, _ in turned])
    print(f"inline constexpr float {name}_slope[{terms}][16] = {{")
    for p in range(terms):
        print("    {" + ", ".join(hexadecimal(slopes[p]) for _, _, (slopes, _) in turned) + "},")
    print("};")


def show_erf():
    start, one = mp.mpf("1.375"), lambda h: mp.mpf(1)
    edges = edges_from(start, mp.mpf("3.925"))
    quotient = lambda h: mp.erf(h) / h - 1 if h != 0 else 2 / mp.sqrt(mp.pi) - 1
    rows = [(mp.mpf(0), mp.mpf(0), fit_quotient(quotient, edges[0], edges[1], one, one))]
    for low, high in zip(edges[1:], edges[2:]):
        # Next to 1 floats lie far apart: from where erf is one, not just from the middle.
        c = float_like(mp.erf, mp.erfinv(mp.mpf(to_float(mp.erf((low + high) / 2)))))
        rows.append((c, mp.erf(c), fit_slopes(mp.erf, c, low, high, lambda h: 1 / mp.erf(c + h))))
    show_intervals(
        "erf_single", "erf(c + h) = value + h slope(h), h + h slope(h) on the first interval, relative",
        start, rows)


def show_tail(name, what, log_of_smooth, start, last, at_zero):
    """The logarithm of a tail without its e^-x^2: its values at the centres are multiples of
    2^-17."""
    one = lambda h: mp.mpf(1)
    edges = edges_from(mp.mpf(start), mp.mpf(last))
    rows = []
    for low, high in zip(edges, edges[1:]):
        if low == 0 and at_zero:
            c, value = mp.mpf(0), log_of_smooth(mp.mpf(0))
        else:
            c, value = multiple_like(log_of_smooth, (low + high) / 2, mp.mpf(2) ** -17)
        rows.append((c, value, fit_slopes(log_of_smooth, c, low, high, one)))
    show_intervals(name, what, mp.mpf(start), rows)


def main():
    show_opening("error_function_single.py")
    show_erf()
    print()
    offset = show_powers()
    first = mp.floor(mp.log(2) * 2**14) / 2**14
    print("\n// The first part is a multiple of 2^-14, the values below are multiples of 2^-17 (but for that of")
    print("// erfc at 0): eighths of an integer times the one plus the other is exact below 128.")
    show_float("tail_ln2_1", first)
    show_float("tail_ln2_2", mp.log(2) - first)
    show_tail("erfc_single", "log(erfc(c + h)) + (c + h)^2 - d log(2) / 8 = value + h slope(h)",
              lambda x: x**2 + mp.log(mp.erfc(x)) - offset, "3.625", "10.2", True)
    show_tail("gelu_single", "log(Phi(-c - h)) + (c + h)^2 / 2 - d log(2) / 8 = value + h slope(h)",
              lambda x: x**2 / 2 + mp.log(mp.erfc(x / mp.sqrt(2)) / 2) - offset, "5", "14.6", False)
    show_end()


if __name__ == "__main__":
    main()
