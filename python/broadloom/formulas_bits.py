"""Ufuncs that the language has no word for, made of others, for lazy arrays and traced values: each
takes operands of the dtypes of NumPy's loop, and its results are cast to them.

Those that take floats apart compute in f64, where all steps are exact: 2^n is exp2, which is exact
for whole n.
"""

from __future__ import annotations

import numpy as np

from . import lazy_ops
from .formulas import cast, dtype_of, noted, refuse
from .numpy_calls import asked, is_number


def ldexp(x, n):
    """x * 2^n, rounded once: the steps before the last stay away from what is subnormal."""
    y, n = cast(x, "f64"), np.clip(cast(n, "i64"), -3000, 3000)
    for _ in range(2):
        y = np.where(n > 1023, y * 2.0 ** 1023, np.where(n < -1022, y * 2.0 ** -969, y))
        n = np.where(n > 1023, n - 1023, np.where(n < -1022, n + 969, n))
    return y * np.exp2(np.clip(n, -1022, 1023) * 1.0)


def frexp(x):
    y = cast(x, "f64")
    small = np.abs(y) < 2.0 ** -1022
    whole = np.where(small, y * 2.0 ** 54, y)
    plain = np.isfinite(y) & (y != 0)
    n = np.where(plain, np.floor(np.log2(np.where(plain, np.abs(whole), 1.0))), -1.0) + 1.0
    m = np.where(plain, whole * np.exp2(-n / 2 - np.remainder(n, 2.0) / 2) * np.exp2(-n / 2 + np.remainder(n, 2.0) / 2), y)
    for near, by, more in ((np.abs(m) >= 1, 0.5, 1.0), (np.abs(m) < 0.5, 2.0, -1.0)):  # log2 may round to the next whole number
        near = near & plain
        m, n = np.where(near, m * by, m), np.where(near, n + more, n)
    return m, cast(np.where(plain & small, n - 54, n), "i32")


def _unit(x, digits, least):
    """The distance from |x| to the next greater float of so many digits."""
    return np.maximum(ldexp(np.ones((), "f8"), frexp(x)[1] - digits), least)


def _format(dtype) -> tuple:
    about = np.finfo(dtype)
    return about.nmant + 1, float(about.smallest_subnormal), float(about.max)


def nextafter(x, y):
    digits, least, most = _format(dtype_of(x))
    a, b = cast(x, "f64"), cast(y, "f64")
    outwards = (b > a) == (a > 0)
    unit = _unit(a, digits, least)
    inner = np.where(np.abs(frexp(a)[0]) == 0.5, np.maximum(unit / 2, least), unit)
    size = np.abs(a)
    size = np.where(outwards, size + unit, np.where(np.isinf(a), most, size - inner))
    made = np.where(a == 0, np.copysign(least, b), np.copysign(np.where(size > most, np.inf, size), a))
    return np.where(np.isnan(a) | np.isnan(b), a + b, np.where(a == b, a if dtype_of(x).char == "e" else b, made))


def spacing(x):
    digits, least, most = _format(dtype_of(x))
    a = cast(x, "f64")
    unit = _unit(a, digits, least)
    if dtype_of(x).char == "e":  # NumPy's is the distance to the next one upwards
        made = np.where((a < 0) & (np.abs(frexp(a)[0]) == 0.5), np.maximum(unit / 2, least), np.where(a == most, np.inf, unit))
    else:
        made = np.where(a < 0, -1.0, 1.0) * np.where(np.abs(a) == most, np.inf, unit)
    return np.where(np.isfinite(a), np.where(a == 0, least, made), np.nan)


def gcd(a, b):
    """By Euclid's algorithm, in as many steps as numbers of this size can need."""
    a, b = np.abs(a), np.abs(b)
    for _ in range({1: 13, 2: 24, 4: 47, 8: 93}[dtype_of(a).itemsize]):
        a, b = np.where(b == 0, a, b), np.where(b == 0, b, np.remainder(a, b))
    return np.abs(a)


def lcm(a, b):
    divisor = gcd(a, b)
    return np.where(divisor == 0, divisor, np.abs(a) // divisor * np.abs(b))


def bitwise_count(x):
    """The ones of |x|, added up in pairs, fours and so on."""
    if dtype_of(x) == bool:
        return x
    bits = 8 * dtype_of(x).itemsize
    x = cast(np.abs(x), f"u{bits}")
    for k in range(bits.bit_length() - 1):
        ones = sum(((1 << (1 << k)) - 1) << at for at in range(0, bits, 2 << k))
        x = (x & ones) + ((x >> (1 << k)) & ones)
    return x


def modf(x):
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0, x - whole), x), whole


def logaddexp2(a, b):
    """As NumPy has it, so that 2^-1 + 2^-1 is exactly 2^0. Equals have slopes of one half each."""
    if dtype_of(a).itemsize == 2:  # the steps would round
        a, b = cast(a, "f32"), cast(b, "f32")
    made = np.maximum(a, b) + np.log1p(np.exp2(-np.abs(a - b))) * float(np.log2(np.e))
    return np.where(a == b, a / 2 + b / 2 + 1, made)


def heaviside(x, half):
    return np.where(np.isnan(x), x, np.where(x == 0, half, np.where(x > 0, 1.0, 0.0)))


MADE = {np.divmod: lambda a, b: (np.floor_divide(a, b), np.remainder(a, b)),
        **{getattr(np, made.__name__): made for made in (ldexp, frexp, nextafter, spacing, gcd, lcm, bitwise_count, modf, logaddexp2, heaviside) if hasattr(np, made.__name__)}}


def composed(ufunc, operands, casting="same_kind"):
    """One of these, of lazy arrays or of traced values."""
    kinds = [np.dtype(bool) if type(x) is bool else type(x) if is_number(x) else dtype_of(noted(x, *operands)[0]) for x in operands]
    loop = asked(ufunc.resolve_dtypes, (*kinds, *[None] * ufunc.nout), casting=casting)
    if any(not lazy_ops.word_of(dtype) for dtype in loop):
        refuse(ufunc.__name__, "of these dtypes", "x.astype(..) converts before", *operands)
    given = [noted(asked(np.array, x, to) if is_number(x) else x, *operands)[0] for x, to in zip(operands, loop)]
    made = MADE[ufunc](*[cast(x, to) for x, to in zip(given, loop)])
    made = tuple([cast(one, dtype) for one, dtype in zip(made if ufunc.nout > 1 else (made,), loop[ufunc.nin:])])
    return made if ufunc.nout > 1 else made[0]
