"""Elements that are known to lie between two numbers, with Broadloom's types and rules, computed by
NumPy alone.

A result of floats is not one number: functions may be off by an ulp, sums by what the order of
additions makes. So a Value holds the least and the greatest number that each element may be, both
in f64, as far as `sure` says that something is known at all; integers and bools are exact, or not
sure. Rounding is monotone: where the arguments are exact, so are the ends of + - * / and sqrt, and
the element must be met to the bit.

    x = 1 .. 1 (f32)    x / 3 is 0.33333334 .. 0.33333334    exp(x) is 2.7182815 .. 2.718282
"""
import math

import numpy as np

from loom_text import Refused

NUMPY = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
         "u32": np.uint32, "u64": np.uint64, "f16": np.float32, "bf16": np.float32, "f32": np.float32, "f64": np.float64}
FLOATS = ("f16", "bf16", "f32", "f64")
UNIT = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}
LEAST = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 2.0**-1074}
SUM = 64 * 2.0**-53  # of sum|x|: what the order of a sum may make


def is_float(dtype):
    return dtype in FLOATS


def promote(a, b):
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if is_float(a) != is_float(b):
        real, whole = (a, b) if is_float(a) else (b, a)
        bits = int(whole[1:])
        if real == "f64" or bits > 16:
            return "f64"
        return "f32" if bits == 16 else real
    if is_float(a):
        return "f32" if {a, b} == {"f16", "bf16"} else max(a, b, key=lambda d: int(d.lstrip("bf")) + (d == "f32"))
    x, y = int(a[1:]), int(b[1:])
    if a[0] == b[0]:
        return a if x >= y else b
    signed, unsigned = (x, y) if a[0] == "i" else (y, x)
    bits = signed if signed > unsigned else 2 * unsigned
    return "i%d" % bits if bits <= 64 else "f64"


def compute_dtype(dtype):
    return "f32" if dtype in ("f16", "bf16") else dtype


def rounded(x, dtype):
    """To the nearest number of the type, in f64."""
    with np.errstate(all="ignore"):
        if dtype == "f64":
            return x
        if dtype == "f32":
            return x.astype(np.float32).astype(np.float64)
        if dtype == "f16":
            return x.astype(np.float16).astype(np.float64)
        # bf16: odd last bits stand for what f32 cuts off, so that the second rounding sees it.
        single = x.astype(np.float32)
        back = single.astype(np.float64)
        bits = single.view(np.uint32)
        toward_zero = np.where(np.abs(back) > np.abs(x), bits - np.uint32(1), bits)
        inexact = (back != x) & np.isfinite(x)
        bits = np.where(inexact, toward_zero | np.uint32(1), bits).astype(np.uint64)
        bits = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)) << np.uint64(16)
        result = bits.astype(np.uint32).view(np.float32).astype(np.float64)
        return np.where(np.isnan(x), np.nan, result)


class Value:
    """lo, hi: f64 of floats, else the one array of its NumPy type. `dtype` is Broadloom's; f16
    stays unrounded in f32. weak: a number, or "extent" (weak beside floats only). `whole`: of a
    fold, before its rounding to the dtype, for outputs that take it from there."""

    def __init__(self, dtype, lo, hi=None, sure=True, axes=frozenset(), weak=False):
        self.dtype, self.lo, self.hi = dtype, lo, lo if hi is None else hi
        self.sure, self.axes, self.weak, self.whole = np.asarray(sure), axes, weak, None
        if is_float(dtype):  # an end that is no number, or beyond the other
            exact = (self.lo == self.hi) | (np.isnan(self.lo) & np.isnan(self.hi))
            self.sure = self.sure & (exact | (self.lo <= self.hi))

    @property
    def exact(self):
        return self.sure & ((self.lo == self.hi) | ((self.lo != self.lo) & (self.hi != self.hi)))


def number(v):
    if isinstance(v, bool):
        return Value("bool", np.asarray(v))
    if isinstance(v, int):
        return Value("i64", np.asarray(v, np.int64), weak=True)
    return Value("f64", np.asarray(float(v)), weak=True)


def cast(v, dtype, store=False):
    """To a type, as written or as types meet. f16 and bf16 are rounded only where `store` says
    so."""
    if is_float(dtype):
        target = dtype if store else compute_dtype(dtype)
        if is_float(v.dtype):
            return Value(dtype, rounded(v.lo, target), rounded(v.hi, target), v.sure, v.axes)
        if target == "f32":
            x = v.lo.astype(np.float32).astype(np.float64)
            return Value(dtype, x, None, v.sure, v.axes)
        x = v.lo.astype(np.float64)
        if target == "f64":
            return Value(dtype, x, None, v.sure, v.axes)
        # From 64 bits by f64: twice rounded, so that the last place is not sure.
        close = Value(dtype, x, None, v.sure, v.axes) if np.all(np.abs(x) < 2.0**53) else widen(x, x, "f64", 1, v)
        return Value(dtype, rounded(close.lo, target), rounded(close.hi, target), close.sure, v.axes)
    if is_float(v.dtype):
        if dtype == "bool":
            zero = (v.lo <= 0) & (v.hi >= 0)
            return Value("bool", ~((v.lo == 0) & (v.hi == 0)), None, v.sure & (~zero | (v.lo == v.hi)), v.axes)
        low, high = saturated(v.lo, dtype), saturated(v.hi, dtype)
        return Value(dtype, low, None, v.sure & (low == high), v.axes)
    return Value(dtype, v.lo != 0 if dtype == "bool" else v.lo.astype(NUMPY[dtype]), None, v.sure, v.axes)


def saturated(x, dtype):
    limits = np.iinfo(NUMPY[dtype])
    with np.errstate(all="ignore"):
        whole = np.trunc(np.where(np.isnan(x), 0, x))
        above, below = whole >= float(limits.max) + (limits.max < 2**53), whole <= float(limits.min)
        inside = np.where(above | below, 0, whole).astype(NUMPY[dtype])
    return np.where(above, limits.max, np.where(below, limits.min, inside)).astype(NUMPY[dtype])


def widen(lo, hi, dtype, ulps, like, extra=0):
    """The ends moved apart by so many units in the last place of the type."""
    with np.errstate(all="ignore"):
        room = lambda x: np.where(np.isfinite(x), ulps * (2 * UNIT[dtype] * np.abs(x) + LEAST[dtype]) + extra, 0)
        return Value(dtype, lo - room(lo), hi + room(hi), like.sure, like.axes)


def joined(*values):
    sure = values[0].sure
    for v in values[1:]:
        sure = sure & v.sure
    return sure, frozenset().union(*(v.axes for v in values))


# ---- floats
# ----------------------------------------------------------------------------------------


def corners(function, x, y, dtype):
    """A function that takes its greatest and least values at the ends of both arguments."""
    sure, axes = joined(x, y)
    with np.errstate(all="ignore"):
        if np.array_equal(x.lo, x.hi, True) and np.array_equal(y.lo, y.hi, True):
            r = rounded(function(x.lo, y.lo), dtype)
            return Value(dtype, r, None, sure, axes)
        ends = [rounded(function(a, b), dtype) for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    lo, hi = np.minimum.reduce(ends), np.maximum.reduce(ends)  # NaN at one end: NaN at both
    points = x.exact & y.exact
    # Between ends of which one is infinite lies what has no number: -inf + inf, 0 * inf.
    finite = np.isfinite(x.lo) & np.isfinite(x.hi) & np.isfinite(y.lo) & np.isfinite(y.hi)
    return Value(dtype, lo, hi, sure & (points | (finite & ~np.isnan(lo))), axes)


def divided(x, y, dtype):
    zero = (y.lo <= 0) & (y.hi >= 0)
    around_zero = zero & ((y.lo != y.hi) | (np.signbit(y.lo) != np.signbit(y.hi)))
    zero_by_zero = zero & ~x.exact & (x.lo <= 0) & (x.hi >= 0)
    result = corners(np.divide, x, y, dtype)
    result.sure = result.sure & ~around_zero & ~zero_by_zero
    return result


def greater(a, b):
    return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))  # -0 < +0


def lesser(a, b):
    return -greater(-a, -b)


def greater_number(a, b):
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, greater(a, b)))


def lesser_number(a, b):
    return -greater_number(-a, -b)


FLOAT_BINARY = {"+": np.add, "-": np.subtract, "*": np.multiply, "maximum": greater, "minimum": lesser,
                "fmax": greater_number, "fmin": lesser_number}

_erf = np.vectorize(math.erf, otypes=[float])
_erfc = np.vectorize(math.erfc, otypes=[float])


def _sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def _silu(x):
    return np.where(x == -np.inf, -0.0, x * _sigmoid(x))


def _gelu(x):
    return np.where(x == -np.inf, -0.0, 0.5 * x * _erfc(-x / math.sqrt(2)))


def _gelu_tanh(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return np.where(x == -np.inf, -0.0, x * _sigmoid(2 * inner))


# (function, how it goes: up, down, or at most so steep; ulps by which NumPy's f64 may be off)
SMOOTH = {
    "exp": (np.exp, "up", 4), "exp2": (np.exp2, "up", 4), "expm1": (np.expm1, "up", 4), "log": (np.log, "up", 4),
    "log2": (np.log2, "up", 4), "log10": (np.log10, "up", 4), "log1p": (np.log1p, "up", 4), "tanh": (np.tanh, "up", 4),
    "sinh": (np.sinh, "up", 4), "asinh": (np.arcsinh, "up", 4), "atan": (np.arctan, "up", 4), "asin": (np.arcsin, "up", 4),
    "atanh": (np.arctanh, "up", 4), "cbrt": (np.cbrt, "up", 4), "erf": (_erf, "up", 4), "acosh": (np.arccosh, "up", 4),
    "sigmoid": (_sigmoid, "up", 8), "softplus": (lambda x: np.logaddexp(0, x), "up", 8), "acos": (np.arccos, "down", 4),
    "erfc": (_erfc, "down", 8), "rsqrt": (lambda x: 1 / np.sqrt(x), "down", 4), "sin": (np.sin, 1, 4), "cos": (np.cos, 1, 4),
    "silu": (_silu, 1.2, 16), "gelu": (_gelu, 1.2, 4096), "gelu_tanh": (_gelu_tanh, 1.2, 4096), "tan": (np.tan, None, 8),
    "cosh": (np.cosh, None, 4)}


def smooth(name, x, dtype, accuracy):
    """A function of ours: within an ulp (4 in the accuracy `fast`), and NumPy's own error in
    f64."""
    function, goes, numpy_ulps = SMOOTH[name]
    ulps = {"high": 1, "exact": 0.5, "fast": 4}[accuracy if dtype == "f32" else "high"]
    ulps += numpy_ulps if dtype == "f64" else 0.51
    with np.errstate(all="ignore"):
        if goes in ("up", "down"):
            lo, hi = function(x.lo), function(x.hi)
            lo, hi = (lo, hi) if goes == "up" else (hi, lo)
            steep = 0
        else:
            middle = np.where(x.exact, x.lo, x.lo / 2 + x.hi / 2)
            lo = hi = function(middle)
            steep = np.where(x.exact, 0, (goes or np.inf) * (x.hi - x.lo))
    # Only numbers become wider: zeros, infinities and NaN are what they are, but for an overflow.
    special = x.exact & (np.isnan(lo) | np.isinf(x.lo) | ((lo == 0) & (x.lo == 0)))
    wide = widen(lo, hi, dtype, ulps, x, steep)
    nan = np.isnan(lo) | np.isnan(hi)
    with np.errstate(all="ignore"):
        low = np.where(special, lo, rounded(wide.lo, dtype))
        high = np.where(special, hi, rounded(wide.hi, dtype))
    return Value(dtype, low, high, x.sure & (~nan | x.exact), x.axes)


def power(x, y, dtype):
    """Of exact arguments, or of a positive base: it is monotone in each."""
    with np.errstate(all="ignore"):
        def raised(a, b):  # NumPy takes ^ 0.5 for a square root, which -inf has none
            whole = np.where((a == -1) & np.isinf(b), 1.0, np.power(a, b))
            return np.where((a == -np.inf) & (b == 0.5), np.inf, whole)

        result = corners(raised, x, y, "f64")
        finite = np.isfinite(result.lo) & np.isfinite(result.hi)
        low = result.lo - np.where(finite, 8 * UNIT["f64"] * np.abs(result.lo), 0)
        high = result.hi + np.where(finite, 8 * UNIT["f64"] * np.abs(result.hi), 0)
        ulps = 1 if dtype == "f64" else 1.01
        point = (x.exact & y.exact & ((x.lo == 0) | (x.lo == 1) | (y.lo == 0) | ~finite))
        r = widen(low, high, dtype, ulps, result)
        lo = np.where(point, rounded(result.lo, dtype), rounded(r.lo, dtype))
        hi = np.where(point, rounded(result.hi, dtype), rounded(r.hi, dtype))
    return Value(dtype, lo, hi, result.sure & ((x.exact & y.exact) | (x.lo > 0)), result.axes)


# ---- integers, in the type of both
# -----------------------------------------------------------------


def floor_divide(a, b):
    with np.errstate(all="ignore"):
        flips = (b == -1) if a.dtype.kind == "i" else np.zeros(np.broadcast(a, b).shape, bool)
        quotient = np.floor_divide(a, np.where((b == 0) | flips, np.ones_like(b), b))
        return np.where(b == 0, np.zeros_like(a), np.where(flips, -a if a.dtype.kind == "i" else a, quotient)).astype(a.dtype)


def remainder(a, b):
    with np.errstate(all="ignore"):
        flips = (b == -1) if a.dtype.kind == "i" else np.zeros(np.broadcast(a, b).shape, bool)
        r = np.mod(a, np.where((b == 0) | flips, np.ones_like(b), b))
        return np.where((b == 0) | flips, np.zeros_like(a), r).astype(a.dtype)


def fmod_whole(a, b):
    with np.errstate(all="ignore"):
        flips = (b == -1) if a.dtype.kind == "i" else np.zeros(np.broadcast(a, b).shape, bool)
        r = np.fmod(a, np.where((b == 0) | flips, np.ones_like(b), b))
        return np.where((b == 0) | flips, np.zeros_like(a), r).astype(a.dtype)


def whole_power(a, b):
    """By squares, modulo 2^width; a negative exponent gives the truncated quotient."""
    with np.errstate(all="ignore"):
        a, b = np.broadcast_arrays(a, b)
        result, square, rest = np.ones_like(a), a.copy(), np.where(b < 0, 0, b).astype(np.uint64)
        for _ in range(64):
            if not rest.any():
                break
            result = np.where(rest & np.uint64(1), result * square, result)
            square, rest = square * square, rest >> np.uint64(1)
        odd = (b & np.ones_like(b)) != 0
        negative = np.where(a == 1, 1, np.where(a == -1 if a.dtype.kind == "i" else False, np.where(odd, -1, 1), 0))
        return np.where(b < 0, negative, result).astype(a.dtype)


def shifted(a, b, left):
    bits = a.dtype.itemsize * 8
    with np.errstate(all="ignore"):
        inside = (b >= 0) & (b < bits)
        count = np.where(inside, b, 0).astype(a.dtype)
        moved = np.left_shift(a, count) if left else np.right_shift(a, count)
        outside = np.where(a < 0, -1, 0) if a.dtype.kind == "i" and not left else np.zeros(())
        return np.where(inside, moved, outside.astype(a.dtype)).astype(a.dtype)


WHOLE_BINARY = {"+": np.add, "-": np.subtract, "*": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.maximum,
                "fmin": np.minimum, "//": floor_divide, "%": remainder, "fmod": fmod_whole, "^": whole_power,
                "&": np.bitwise_and, "|": np.bitwise_or, "xor": np.bitwise_xor, "<<": lambda a, b: shifted(a, b, True),
                ">>": lambda a, b: shifted(a, b, False)}
COMPARE = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def compared(op, x, y):
    """Sure where every number between the ends gives the same."""
    sure, axes = joined(x, y)
    with np.errstate(all="ignore"):
        results = [COMPARE[op](a, b) for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
        same = (results[0] == results[1]) & (results[0] == results[2]) & (results[0] == results[3])
        if op in ("==", "!=") and is_float(x.dtype):  # different at all ends, yet they may meet between them
            apart = (x.hi < y.lo) | (y.hi < x.lo)
            same = same & (apart | (x.exact & y.exact))
    return Value("bool", results[0], None, sure & same, axes)


def chosen(c, x, y):
    _, axes = joined(c, x, y)
    lo, hi = np.where(c.lo, x.lo, y.lo), np.where(c.lo, x.hi, y.hi)
    sure = np.where(c.lo, x.sure, y.sure)
    if is_float(x.dtype):  # either may be it
        both_lo, both_hi = np.minimum(x.lo, y.lo), np.maximum(x.hi, y.hi)
        known = c.sure
        return Value(x.dtype, np.where(known, lo, both_lo), np.where(known, hi, both_hi),
                     np.where(known, sure, x.sure & y.sure & ~np.isnan(both_lo)), axes)
    return Value(x.dtype, lo, None, np.where(c.sure, sure, x.sure & y.sure & (x.lo == y.lo)), axes)
