"""Ufuncs that the language has no word for, made of others: each takes operands of the dtypes of
NumPy's loop, and its results are cast to them.

Those that take floats apart compute in f64, where all steps are exact: 2^n is exp2, which is exact
for whole n.
"""

from __future__ import annotations

import numpy as np

from .lazy import cast
from .lazy_ops import BOOL


def ldexp(x, n):
    """x * 2^n, rounded once: the steps before the last stay away from what is subnormal."""
    y, n = cast(x, np.dtype("f8")), np.clip(cast(n, np.dtype("i8")), -3000, 3000)
    for _ in range(2):
        y = np.where(n > 1023, y * 2.0 ** 1023, np.where(n < -1022, y * 2.0 ** -969, y))
        n = np.where(n > 1023, n - 1023, np.where(n < -1022, n + 969, n))
    return y * np.exp2(np.clip(n, -1022, 1023) * 1.0)


def frexp(x):
    y = cast(x, np.dtype("f8"))
    small = np.abs(y) < 2.0 ** -1022
    whole = np.where(small, y * 2.0 ** 54, y)
    plain = np.isfinite(y) & (y != 0)
    n = np.where(plain, np.floor(np.log2(np.where(plain, np.abs(whole), 1.0))), -1.0) + 1.0
    m = np.where(plain, whole * np.exp2(-n / 2 - np.remainder(n, 2.0) / 2) * np.exp2(-n / 2 + np.remainder(n, 2.0) / 2), y)
    for near, by, more in ((np.abs(m) >= 1, 0.5, 1.0), (np.abs(m) < 0.5, 2.0, -1.0)):  # log2 may round to the next whole number
        near = near & plain
        m, n = np.where(near, m * by, m), np.where(near, n + more, n)
    return m, cast(np.where(plain & small, n - 54, n), np.dtype("i4"))


def _unit(x, digits, least):
    """The distance from |x| to the next greater float of so many digits."""
    return np.maximum(ldexp(np.ones((), "f8"), frexp(x)[1] - digits), least)


def _format(dtype) -> tuple:
    about = np.finfo(dtype)
    return about.nmant + 1, float(about.smallest_subnormal), float(about.max)


def nextafter(x, y):
    digits, least, most = _format(x.dtype)
    a, b = cast(x, np.dtype("f8")), cast(y, np.dtype("f8"))
    outwards = (b > a) == (a > 0)
    unit = _unit(a, digits, least)
    inner = np.where(np.abs(frexp(a)[0]) == 0.5, np.maximum(unit / 2, least), unit)
    size = np.abs(a)
    size = np.where(outwards, size + unit, np.where(np.isinf(a), most, size - inner))
    made = np.where(a == 0, np.copysign(least, b), np.copysign(np.where(size > most, np.inf, size), a))
    return np.where(np.isnan(a) | np.isnan(b), a + b, np.where(a == b, a if x.dtype.char == "e" else b, made))


def spacing(x):
    digits, least, most = _format(x.dtype)
    a = cast(x, np.dtype("f8"))
    unit = _unit(a, digits, least)
    if x.dtype.char == "e":  # NumPy's is the distance to the next one upwards
        made = np.where((a < 0) & (np.abs(frexp(a)[0]) == 0.5), np.maximum(unit / 2, least), np.where(a == most, np.inf, unit))
    else:
        made = np.where(a < 0, -1.0, 1.0) * np.where(np.abs(a) == most, np.inf, unit)
    return np.where(np.isfinite(a), np.where(a == 0, least, made), np.nan)


def gcd(a, b):
    """By Euclid's algorithm, in as many steps as numbers of this size can need."""
    a, b = np.abs(a), np.abs(b)
    for _ in range({1: 13, 2: 24, 4: 47, 8: 93}[a.dtype.itemsize]):
        a, b = np.where(b == 0, a, b), np.where(b == 0, b, np.remainder(a, b))
    return np.abs(a)


def lcm(a, b):
    divisor = gcd(a, b)
    return np.where(divisor == 0, divisor, np.abs(a) // divisor * np.abs(b))


def bitwise_count(x):
    """The ones of |x|, added up in pairs, fours and so on."""
    if x.dtype == BOOL:
        return x
    bits = 8 * x.dtype.itemsize
    x = cast(np.abs(x), np.dtype(f"u{x.dtype.itemsize}"))
    for k in range(bits.bit_length() - 1):
        ones = sum(((1 << (1 << k)) - 1) << at for at in range(0, bits, 2 << k))
        x = (x & ones) + ((x >> (1 << k)) & ones)
    return x


def modf(x):
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), np.zeros((), x.dtype), x - whole), x), whole


def logaddexp2(a, b):
    return np.logaddexp(a * float(np.log(2)), b * float(np.log(2))) / float(np.log(2))


MADE = {np.divmod: lambda a, b: (np.floor_divide(a, b), np.remainder(a, b)),
        **{getattr(np, made.__name__): made for made in (ldexp, frexp, nextafter, spacing, gcd, lcm, bitwise_count, modf, logaddexp2) if hasattr(np, made.__name__)}}
