#!/usr/bin/env python3
"""What every elementwise operation gives for every type at the values where operations change their
mind.

NumPy 2 is the source of facts, ml_dtypes for bf16; where Broadloom means something else on purpose,
the rule stands here with its reason, under "Where Broadloom differs". Functions that no machine
rounds correctly (exp, pow, ..) are computed in extended precision or by mpmath, and rounded once.

Run by hand (NumPy 2, ml_dtypes, mpmath; x86-64 for its 80-bit long double), in this folder:

    python3 generate.py

It writes unary.txt, pairs.txt (all pairs of values of one type), mixed.txt (all pairs of types at a
few values), casts.txt and complex.txt (a complex number is written re:im). values_test.cpp runs
every row in every engine. A block of a file:

    x i8 0 1 -1 ..             the operand and its values, by position
    y f32 0.5 -0 inf ..        absent for unary rows; `grid` in front of the block: all pairs, y fastest
    x + y : f32 = 0.5 1 ..     an expression, the type that comes out, the values
    exp(x) : f16 ~1 = 1 ..     within 1 ulp, of complex numbers that of the greater part; 0, inf and nan are exact
    x << y : error             the types cannot meet
"""
import math
import operator
import warnings
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")
mpmath.mp.prec = 200

TYPES = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
         "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
         "f32": np.float32, "f64": np.float64}
TYPES = {name: np.dtype(t) for name, t in TYPES.items()}
NAMES = {t: name for name, t in TYPES.items()}
F16, BF16, F32, F64, BOOL = (TYPES[n] for n in ("f16", "bf16", "f32", "f64", "bool"))
LONG = np.longdouble


def is_float(t):
    return t in (F16, BF16, F32, F64)


def is_whole(t):
    return not is_float(t) and t != BOOL


# ------------------------------------------------------------------------------------------------
# operands

LARGEST = {F16: 65504.0, BF16: 3.3895313892515355e38, F32: float(np.finfo(np.float32).max), F64: float(np.finfo(np.float64).max)}
NORMAL = {F16: 2.0**-14, BF16: 2.0**-126, F32: 2.0**-126, F64: 2.0**-1022}  # the least one
SUBNORMAL = {F16: 2.0**-24, BF16: 2.0**-133, F32: 2.0**-149, F64: 2.0**-1074}
INF, NAN = float("inf"), float("nan")


def operands(t):
    """The values of which all pairs are tried; of no power of two, so that vectors end in a
    tail."""
    if t == BOOL:
        return np.array([0, 1, 1], t)
    if is_whole(t):
        low, high = int(np.iinfo(t).min), int(np.iinfo(t).max)
        bits = 8 * t.itemsize
        signed = [-1, -7, low] if low else [high - 6]
        return np.array([0, 1, 2, 3, 7, bits - 1, bits, high] + signed, t)
    return np.array([0, -0.0, 1, -1, 2, 3, 0.5, 7, -7, LARGEST[t], -LARGEST[t], NORMAL[t], SUBNORMAL[t], -SUBNORMAL[t],
                     INF, -INF, NAN], F64).astype(t)


def more_operands(t):
    """For functions of one argument and conversions."""
    if t == BOOL:
        return operands(t)
    if is_whole(t):
        low, high = int(np.iinfo(t).min), int(np.iinfo(t).max)
        more = [n for n in (5, 100, 127, 128, 200, 255, 256, 257, 2047, 2049, 32767, 32769, 65504, 65520, 2**24 + 1,
                            2**25 + 2**16 + 1, 2**31, 2**53 + 1, 2**63 - 513, -3, -100, -129, -2049, -2**31 - 1)
                if low <= n <= high]
        return np.concatenate([operands(t), np.array(more, t)])
    more = [1.5, -1.5, 2.5, -0.5, 0.3, -0.3, 0.9999, 1.0001, 3.14159265, 10, 88.5, -88.5, 100.7, 127.5, 128, -129, 255.7,
            256, 300.7, 32768, -32769, 65519, 65520, 65536, 2147483520, 2147483648, -2147483904, 4294967040, 4294967296,
            9.2233714e18, 9223372036854775808, 1.8446743e19, 18446744073709551616, 1e-5, -1e-30, 1e30, -1e30, 709.5, 1e300,
            2**24 + 1, 1 + 2**-8, 1 + 2**-8 + 2**-40, 1 + 2**-11 + 2**-40, 2**-25, 2**-25 + 2**-60, 2**-134, 1e-310]
    more = np.array(more, F64)
    narrow = round_float(more.astype(LONG), t)
    return np.concatenate([operands(t), narrow])


def few_operands(t, first):
    """Values for pairs of types: each position meets another kind of value in the other operand."""
    if t == BOOL:
        values = [1, 0, 1, 1, 0]
    elif is_whole(t):
        low, high = int(np.iinfo(t).min), int(np.iinfo(t).max)
        values = [7, low, high, high, low] if first else [2, high, 0, low, high]
    else:
        values = [7.5, INF, LARGEST[t], NAN, -2.5] if first else [-2, 0.5, -0.0, LARGEST[t], SUBNORMAL[t]]
    return np.array(values, F64 if is_float(t) else t).astype(t)


# ------------------------------------------------------------------------------------------------
# types

def promote(a, b):
    """NumPy's table. Beside other types bf16 stands where f16 does (ml_dtypes leaves most of that
    open)."""
    if BF16 not in (a, b):
        return np.promote_types(a, b)
    if a == b:
        return a
    other = b if a == BF16 else a
    if other == F16:
        return F32
    common = np.promote_types(F16, other)
    return BF16 if common == F16 else common


def result_type(ufunc, args):
    """What NumPy gives for arguments of these types, bf16 as above. Raises TypeError where it has
    no loop."""
    stand_ins = [np.ones(1, F16 if a.dtype == BF16 else a.dtype) for a in args]
    result = ufunc(*stand_ins).dtype
    types = [a.dtype for a in args]
    if result == F16 and BF16 in types:
        return F32 if F16 in types else BF16
    return result


def compute_type(t):
    return F32 if t in (F16, BF16) else t


def round_float(x, t):
    """Extended precision to t, rounded once to nearest even."""
    if t != BF16 and t != F16:
        return x.astype(t)
    # To an odd f32 first: truncated, the last bit set where anything was lost. Then the second
    # rounding is right.
    near = x.astype(F32)
    bits = near.view(np.uint32).copy()
    bits[(np.abs(near.astype(LONG)) > np.abs(x))] -= 1
    bits[(near.astype(LONG) != x) & ~np.isnan(x)] |= 1
    return bits.view(F32).astype(t)


# ------------------------------------------------------------------------------------------------
# the rules

def by_numpy(ufunc):
    """The operation as NumPy has it: with bf16 computed in f32, and rounded once."""
    def answer(*args):
        t = result_type(ufunc, args)
        if all(a.dtype != BF16 for a in args):
            return ufunc(*args)
        common = args[0].dtype
        for a in args[1:]:
            common = promote(common, a.dtype)
        if ufunc in FLOAT_FUNCTIONS:
            common = promote(common, t) if is_float(t) else common
        wide = ufunc(*(a.astype(compute_type(common)) for a in args))
        return wide if wide.dtype == t else round_float(wide.astype(LONG), t)
    return answer


FLOAT_FUNCTIONS = {np.copysign, np.sqrt}


def precisely(ufunc, function=None):
    """A function that is not correctly rounded anywhere: in extended precision, rounded once."""
    def answer(*args):
        t = result_type(ufunc, args)
        args = [cast(a, t) if not is_float(a.dtype) else a for a in args]  # an i64 becomes an f64 first
        return round_float((function or ufunc)(*(a.astype(LONG) for a in args)), t)
    return answer


def by_mpmath(function, special):
    """A function that long double lacks. `special` maps what is not finite or has a pole."""
    def one(x):
        for value, result in special:
            if x == value or (value != value and x != x):
                return LONG(result)
        if x == 0 and function is mpmath.erf:
            return x
        if function in (mpmath.erf, mpmath.erfc):
            x = max(min(x, LONG(200)), LONG(-200))  # far out, and mpmath cannot go further
        y = function(mpmath.mpf(float(x)))
        return LONG(mpmath.nstr(y, 30))
    return precisely(np.sqrt, lambda x: np.array([one(v) for v in x], LONG))


def lgamma(x):
    if x <= 0 and x == int(x):
        return mpmath.inf  # a pole
    return mpmath.log(abs(mpmath.gamma(x))) if abs(x) < 1e4 else mpmath.loggamma(x).real


def digamma(x):
    if x <= 0 and x == int(x):
        return mpmath.nan
    return mpmath.digamma(x)


def polygamma(n):
    """scipy.special.polygamma, which has no values left of 0 for n > 0: there those of mpmath."""
    def one(x):
        if x <= 0 and x == int(x):
            return mpmath.mpf(INF if n % 2 else -INF)
        if abs(x) > 1e6:  # mpmath's loses its digits far out: minus 1 / x, 1 / x^2, 2 / x^3, ..
            x = mpmath.mpf(x)
            return (-1)**(n + 1) * mpmath.factorial(n - 1) / x**n * (1 + n / (2 * x) + n * (n + 1) / (12 * x**2))
        return mpmath.psi(n, x)
    return by_mpmath(one, [(INF, 0.0 if n % 2 else -0.0), (-INF, NAN), (NAN, NAN)])


def beside_integer(rule):
    """A bool beside an integer literal is an i64."""
    return lambda x: rule(x.astype(np.int64) if x.dtype == BOOL else x)


def fused(x, y, z):
    """x * y + z as a fraction: rounded once to the type that is computed in, f32 for f16."""
    t = result_type(np.copysign, [x, y])
    wide = compute_type(t)

    def one(a, b, c):
        if not all(math.isfinite(v) for v in (a, b, c)):
            return a * b + c
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact == 0:
            return a * b + c if a == 0 or b == 0 else 0.0
        try:
            near = float(exact)
        except OverflowError:
            return INF if exact > 0 else -INF
        if wide == F32 and Fraction(near) != exact:  # to an odd f64, so that the second rounding is right
            bits = np.array(near).view(np.uint64)
            bits -= np.uint64(abs(Fraction(near)) > abs(exact))
            bits |= np.uint64(1)
            near = float(bits.view(F64))
        return near
    args = [cast(a, wide).astype(F64).tolist() for a in (x, y, z)]
    return np.array([one(*a) for a in zip(*args)], F64).astype(wide).astype(t)


def gelu(x):
    return x if x > 50 else mpmath.mpf(0) if x < -50 else x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def gelu_tanh(x):
    if abs(x) > 50:
        return x if x > 0 else mpmath.mpf(0)
    return x / (1 + mpmath.exp(-2 * mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))


def no_pole(x, got):
    """digamma runs to -inf above 0 and to inf below, so that the zeros differ."""
    return np.where(x.astype(LONG) == 0, np.where(np.signbit(x), INF, -INF), got).astype(got.dtype)


def negative_zero(rule):
    """Where the value is 0 it has the sign of x: x times a factor that is none."""
    def answer(x):
        got = rule(x)
        return np.where(got == 0, np.copysign(np.zeros_like(got), cast(x, got.dtype)).astype(got.dtype), got).astype(got.dtype)
    return answer


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


# --- Where Broadloom differs
# -----------------------------------------------------------------------------

def as_common(x, y):
    common = promote(x.dtype, y.dtype)
    return x.astype(common), y.astype(common)


def extreme(ufunc, lesser_zero_first):
    """-0 < +0, as IEEE 754-2019 has it: NumPy gives either zero, by position, and the result of a
    fold must not depend on its order."""
    def answer(x, y):
        x, y = as_common(x, y)
        got = ufunc(x, y)
        if is_float(got.dtype):
            zeros = (x == 0) & (y == 0)
            negative = (np.signbit(x) | np.signbit(y)) if lesser_zero_first else (np.signbit(x) & np.signbit(y))
            got = np.where(zeros, np.where(negative, np.array(-0.0, got.dtype), np.array(0.0, got.dtype)), got).astype(got.dtype)
        return got
    return answer


maximum, minimum = extreme(np.maximum, False), extreme(np.minimum, True)


def compared(compare):
    """In the common type, but for integers, which compare exactly, as in NumPy: i64 with u64
    too."""
    def answer(x, y):
        if not (is_whole(x.dtype) and is_whole(y.dtype)):
            x, y = as_common(x, y)
        return compare(x, y)
    return answer


def power(x, y):
    """An integer power with a negative exponent is the truncated quotient 1 / x^-y (NumPy raises):
    operations are total."""
    x, y = as_common(x, y)
    if x.dtype == BOOL:
        x, y = x.astype(np.int8), y.astype(np.int8)
    if is_float(x.dtype):
        return precisely(np.power)(x, y)
    bits = 8 * x.dtype.itemsize
    out = []
    for a, b in zip(x.tolist(), y.tolist()):
        value = pow(a, b, 2**bits) if b >= 0 else (1 if a == 1 else (-1)**b if a == -1 else 0)
        out.append(int(value) % 2**bits)
    return np.array(out, f"u{x.dtype.itemsize}").view(x.dtype)


def fmod(x, y):
    """As NumPy; of the least integer and -1 it is 0 (NumPy divides, and C leaves that open)."""
    return by_numpy(np.fmod)(x, y)


def rounded(ufunc):
    """bool stays bool, as under floor (np.rint makes it f16)."""
    return lambda x: x if x.dtype == BOOL or is_whole(x.dtype) else by_numpy(ufunc)(x)


def reciprocal(x):
    """1 / x: of integers an f64 (NumPy's stays an integer)."""
    return by_numpy(np.true_divide)(np.ones(1, x.dtype).astype(x.dtype if is_float(x.dtype) else np.int8), x)


def sign(x):
    """The sign of a NaN is never seen, the sign of a zero is dropped: NumPy's."""
    return by_numpy(np.sign)(x)


def copysign(x, y):
    """A NaN counts as positive."""
    got = by_numpy(np.copysign)(x, y)
    nan = np.isnan(y.astype(LONG))
    return np.where(nan, np.abs(got), got).astype(got.dtype)


def cast(x, t):
    """A float beyond an integer type saturates, NaN becomes 0: NumPy leaves both to the machine."""
    if not is_float(x.dtype) or is_float(t):
        return round_float(x.astype(LONG), t) if t in (BF16, F16) or x.dtype == BF16 else x.astype(t)
    if t == BOOL:
        return x.astype(LONG) != 0
    low, high = int(np.iinfo(t).min), int(np.iinfo(t).max)
    return np.array([0 if v != v else low if v <= low else high if v >= high else int(v) for v in x.astype(LONG)], t)


def relu(x):
    """maximum(x, 0), and so not for bool."""
    if x.dtype == BOOL:
        raise TypeError
    return maximum(x, np.zeros(1, x.dtype))


def not_bool(rule):
    """bool has no sign, as in NumPy for `-`."""
    def answer(*args):
        if all(a.dtype == BOOL for a in args):
            raise TypeError
        return rule(*args)
    return answer


def where(c, x, y):
    x, y = as_common(x, y)
    return np.where(c.astype(LONG) != 0, x, y).astype(x.dtype)


def logical(function):
    return lambda *args: function(*(a.astype(LONG) != 0 for a in args))


def number(value):
    """A literal beside x: NumPy's weak scalar, as an array of the type that it takes."""
    def of(x):
        if isinstance(value, float) and not is_float(x.dtype):
            return np.full(x.shape, value, F64)
        if x.dtype == BOOL:
            return np.full(x.shape, value, np.int64)
        if is_whole(x.dtype) and not np.iinfo(x.dtype).min <= value <= np.iinfo(x.dtype).max:
            raise TypeError
        return np.full(x.shape, value, F64).astype(x.dtype) if is_float(x.dtype) else np.full(x.shape, value, x.dtype)
    return of


add, subtract, multiply = by_numpy(np.add), not_bool(by_numpy(np.subtract)), by_numpy(np.multiply)
divide, floor_divide, remainder = by_numpy(np.true_divide), by_numpy(np.floor_divide), by_numpy(np.remainder)
left, right = by_numpy(np.left_shift), by_numpy(np.right_shift)

# ------------------------------------------------------------------------------------------------
# the rows

# expression, rule, ulps where it is not exact
BINARY = [
    ("x + y", add, 0), ("x - y", subtract, 0), ("x * y", multiply, 0), ("x / y", divide, 0),
    ("x // y", floor_divide, 0), ("x % y", remainder, 0), ("x ^ y", power, 1), ("fmod(x, y)", fmod, 0),
    ("x & y", by_numpy(np.bitwise_and), 0), ("x | y", by_numpy(np.bitwise_or), 0),
    ("xor(x, y)", by_numpy(np.bitwise_xor), 0), ("x << y", left, 0), ("x >> y", right, 0),
    ("x == y", compared(operator.eq), 0), ("x != y", compared(operator.ne), 0), ("x < y", compared(operator.lt), 0),
    ("x <= y", compared(operator.le), 0), ("x > y", compared(operator.gt), 0), ("x >= y", compared(operator.ge), 0),
    ("x && y", logical(np.logical_and), 0), ("x || y", logical(np.logical_or), 0),
    ("maximum(x, y)", maximum, 0), ("minimum(x, y)", minimum, 0),
    ("fmax(x, y)", extreme(np.fmax, False), 0), ("fmin(x, y)", extreme(np.fmin, True), 0),
    ("copysign(x, y)", copysign, 0), ("atan2(x, y)", precisely(np.arctan2), 1), ("hypot(x, y)", precisely(np.hypot), 1),
    ("logaddexp(x, y)", precisely(np.logaddexp), 1), ("fma(x, y, x)", lambda x, y: fused(x, y, x), 0),
    ("x ? x : y", lambda x, y: where(x, x, y), 0), ("where(y, x, y)", lambda x, y: where(y, x, y), 0),
    ("clip(x, y, x)", lambda x, y: minimum(maximum(x, y), x), 0),
]

UNARY = [
    ("-x", not_bool(by_numpy(np.negative)), 0), ("!x", logical(np.logical_not), 0), ("~x", by_numpy(np.invert), 0),
    ("abs(x)", by_numpy(np.abs), 0), ("sign(x)", not_bool(sign), 0), ("floor(x)", rounded(np.floor), 0),
    ("ceil(x)", rounded(np.ceil), 0), ("round(x)", rounded(np.rint), 0), ("trunc(x)", rounded(np.trunc), 0),
    ("sqrt(x)", by_numpy(np.sqrt), 0), ("isnan(x)", by_numpy(np.isnan), 0), ("isinf(x)", by_numpy(np.isinf), 0),
    ("isfinite(x)", by_numpy(np.isfinite), 0), ("square(x)", by_numpy(np.square), 0),
    ("reciprocal(x)", reciprocal, 0), ("relu(x)", relu, 0),
    ("erf(x)", by_mpmath(mpmath.erf, [(INF, 1), (-INF, -1), (NAN, NAN)]), 1),
    ("erfc(x)", by_mpmath(mpmath.erfc, [(INF, 0), (-INF, 2), (NAN, NAN)]), 2),
    ("lgamma(x)", by_mpmath(lgamma, [(INF, INF), (-INF, INF), (NAN, NAN)]), 4),
    ("rsqrt(x)", precisely(np.sqrt, lambda x: 1 / np.sqrt(x)), 1), ("sigmoid(x)", precisely(np.exp, sigmoid), 1),
    ("silu(x)", negative_zero(precisely(np.exp, lambda x: np.where(x == -INF, LONG(0), x * sigmoid(x)))), 1),
    ("softplus(x)", precisely(np.exp, lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))), 1),
    ("gelu(x)", negative_zero(by_mpmath(gelu, [(INF, INF), (-INF, 0), (NAN, NAN)])), 2),
    ("gelu_tanh(x)", negative_zero(by_mpmath(gelu_tanh, [(INF, INF), (-INF, 0), (NAN, NAN)])), 1),
    ("digamma(x)", lambda x: no_pole(x, by_mpmath(digamma, [(INF, INF), (-INF, NAN), (NAN, NAN)])(x)), 4),
] + [(f"polygamma({n}, x)", beside_integer(polygamma(n)), 4) for n in (1, 2, 7)
] + [
    ("polygamma(0, x)", beside_integer(lambda x: no_pole(x, by_mpmath(digamma, [(INF, INF), (-INF, NAN), (NAN, NAN)])(x))), 4),
    ("polygamma(-1, x)", beside_integer(precisely(np.sqrt, lambda x: x * LONG(NAN))), 0),
] + [(f"{ours}(x)", precisely(ufunc), ulps) for ours, ufunc, ulps in [
    ("exp", np.exp, 1), ("log", np.log, 1), ("sin", np.sin, 1), ("cos", np.cos, 1), ("tanh", np.tanh, 1),
    ("exp2", np.exp2, 1), ("expm1", np.expm1, 1), ("log2", np.log2, 1), ("log10", np.log10, 2), ("log1p", np.log1p, 1),
    ("tan", np.tan, 1), ("asin", np.arcsin, 1), ("acos", np.arccos, 1), ("atan", np.arctan, 1), ("sinh", np.sinh, 2),
    ("cosh", np.cosh, 2), ("asinh", np.arcsinh, 2), ("acosh", np.arccosh, 2), ("atanh", np.arctanh, 2),
    ("cbrt", np.cbrt, 2)]
] + [  # beside a number; NumPy's ** takes short cuts (sqrt for 0.5) that give -0 and nan where pow gives 0 and inf
    ("x + 1", lambda x: add(x, number(1)(x)), 0), ("2.5 - x", lambda x: subtract(number(2.5)(x), x), 0),
    ("x * 0", lambda x: multiply(x, number(0)(x)), 0), ("x * 1", lambda x: multiply(x, number(1)(x)), 0),
    ("x * -1.0", lambda x: multiply(x, number(-1.0)(x)), 0), ("x + 0", lambda x: add(x, number(0)(x)), 0),
    ("x - 0", lambda x: subtract(x, number(0)(x)), 0), ("0 - x", lambda x: subtract(number(0)(x), x), 0),
    ("x / 2", lambda x: divide(x, number(2)(x)), 0), ("x / 3", lambda x: divide(x, number(3)(x)), 0),
    ("1 / x", lambda x: divide(number(1)(x), x), 0), ("x / 0", lambda x: divide(x, number(0)(x)), 0),
    ("x // 0", lambda x: floor_divide(x, number(0)(x)), 0), ("x % 0", lambda x: remainder(x, number(0)(x)), 0),
    ("x // 3", lambda x: floor_divide(x, number(3)(x)), 0), ("x % 4", lambda x: remainder(x, number(4)(x)), 0),
    ("x // -4", lambda x: floor_divide(x, number(-4)(x)), 0), ("x % -3", lambda x: remainder(x, number(-3)(x)), 0),
    ("x ^ 0", lambda x: power(x, number(0)(x)), 0), ("x ^ 1", lambda x: power(x, number(1)(x)), 0),
    ("x ^ 2", lambda x: multiply(x.astype(number(2)(x).dtype), x), 0), ("x ^ 3", lambda x: power(x, number(3)(x)), 1),
    ("x ^ 0.5", lambda x: power(x, number(0.5)(x)), 1), ("x ^ -1.0", lambda x: power(x, number(-1.0)(x)), 1),
    ("2 ^ x", lambda x: power(number(2)(x), x), 1), ("x << 3", lambda x: left(x, number(3)(x)), 0),
    ("x >> 1", lambda x: right(x, number(1)(x)), 0), ("x >> 100", lambda x: right(x, number(100)(x)), 0),
    ("1 << x", lambda x: left(number(1)(x), x), 0), ("x == 3", lambda x: compared(operator.eq)(x, number(3)(x)), 0),
    ("x - x", lambda x: subtract(x, x), 0), ("x / x", lambda x: divide(x, x), 0),
    ("xor(x, x)", lambda x: by_numpy(np.bitwise_xor)(x, x), 0), ("x == x", lambda x: compared(operator.eq)(x, x), 0),
    ("--x", lambda x: not_bool(by_numpy(np.negative))(not_bool(by_numpy(np.negative))(x)), 0),
    ("maximum(x, x)", lambda x: maximum(x, x), 0), ("abs(-x)", lambda x: by_numpy(np.abs)(not_bool(by_numpy(np.negative))(x)), 0),
]


# ------------------------------------------------------------------------------------------------
# complex

C64, C128 = np.dtype(np.complex64), np.dtype(np.complex128)
COMPLEX = [C64, C128]
NAMES.update({C64: "c64", C128: "c128"})


def complex_common(rule):
    """Both in the common type: NumPy's, which counts bf16 as f16."""
    def answer(x, y):
        common = np.result_type(*(F16 if a.dtype == BF16 else a.dtype for a in (x, y)))
        return rule(x.astype(common), y.astype(common))
    return answer


def no_order(*args):
    """Complex numbers have no order: NumPy compares them by real part, then imaginary part."""
    raise TypeError


def parts(x):
    return x.real.copy(), x.imag.copy()


def from_parts(re, im):
    out = np.empty(re.shape, C64 if re.dtype == F32 else C128)
    out.real, out.imag = re, im
    return out


def complex_product(x, y):
    """NumPy's formula, each step rounded (where its machine code fuses them, that depends on the
    machine)."""
    (a, b), (c, d) = parts(x), parts(y)
    return from_parts(a * c - b * d, a * d + b * c)


def complex_quotient(x, y):
    """NumPy's, Smith's method."""
    (a, b), (c, d) = parts(x), parts(y)
    flat = np.abs(c) >= np.abs(d)
    great, less = np.where(flat, c, d), np.where(flat, d, c)
    ratio = less / great
    scale = 1 / (great + less * ratio)
    re = np.where(flat, (a + b * ratio) * scale, (a * ratio + b) * scale)
    im = np.where(flat, (b - a * ratio) * scale, (b * ratio - a) * scale)
    zero = (c == 0) & (d == 0)
    return from_parts(np.where(zero, a / np.abs(c), re), np.where(zero, b / np.abs(c), im))


def complex_function(ufunc):
    """NumPy's value for infinities, NaN and zeros, else in extended precision."""
    def answer(*args):
        got = ufunc(*args)
        wide = ufunc(*(a.astype(np.clongdouble) for a in args)).astype(got.dtype)
        plain = np.all([np.isfinite(a) & (a != 0) for a in args], axis=0)
        return np.where(plain, wide, got)
    return answer


# What follows from the parts by exact steps, or nearly.
COMPLEX_BINARY = [
    ("x + y", complex_common(np.add), 0), ("x - y", complex_common(np.subtract), 0),
    ("x * y", complex_common(complex_product), 0), ("x / y", complex_common(complex_quotient), 0),
    ("x == y", complex_common(np.equal), 0), ("x != y", complex_common(np.not_equal), 0),
    ("x && y", lambda x, y: np.logical_and(x != 0, y != 0), 0), ("x || y", lambda x, y: np.logical_or(x != 0, y != 0), 0),
    ("x ? x : y", complex_common(lambda x, y: np.where(x != 0, x, y)), 0),
    ("x < y", no_order, 0), ("x >= y", no_order, 0), ("maximum(x, y)", no_order, 0), ("fmin(x, y)", no_order, 0),
    ("x // y", no_order, 0), ("x % y", no_order, 0), ("x & y", no_order, 0), ("x << y", no_order, 0),
    ("atan2(x, y)", no_order, 0), ("hypot(x, y)", no_order, 0), ("copysign(x, y)", no_order, 0),
]
COMPLEX_UNARY = [
    ("-x", np.negative, 0), ("!x", np.logical_not, 0), ("real(x)", np.real, 0), ("imag(x)", np.imag, 0),
    ("conj(x)", np.conjugate, 0), ("isnan(x)", np.isnan, 0), ("isinf(x)", np.isinf, 0),
    ("isfinite(x)", np.isfinite, 0), ("abs(x)", np.abs, 1), ("bool(x)", lambda x: x != 0, 0),
    ("c64(x)", lambda x: x.astype(C64), 0), ("c128(x)", lambda x: x.astype(C128), 0),
    ("f64(x)", no_order, 0), ("i32(x)", no_order, 0), ("floor(x)", no_order, 0), ("~x", no_order, 0), ("relu(x)", no_order, 0),
    ("x + 1", lambda x: x + 1, 0), ("2.5 - x", lambda x: 2.5 - x, 0),
]


COMPLEX_FUNCTIONS = [
    ("exp(x)", complex_function(np.exp), 4), ("log(x)", complex_function(np.log), 4),
    ("sqrt(x)", complex_function(np.sqrt), 4), ("sin(x)", complex_function(np.sin), 4),
    ("cos(x)", complex_function(np.cos), 4), ("tanh(x)", complex_function(np.tanh), 4),
    ("sign(x)", complex_function(np.sign), 4), ("square(x)", lambda x: complex_product(x, x), 0),
    ("reciprocal(x)", lambda x: complex_quotient(np.ones_like(x), x), 0),
]


def complex_grid(t):
    """Both parts at zeros, infinities and NaN, on both sides of every branch cut; and some that are
    near an edge."""
    few = [0.0, -0.0, 1.0, -2.5, INF, -INF, NAN]
    more = [1e-30 + 3e-30j, 1e30 - 1e30j, 88 + 2j, -100 + 3j, 0.5 + 30j, 25 - 1j, 1 + 1e-4j]
    return np.array([complex(a, b) for a in few for b in few] + more, t)


def complex_powers(t):
    """At finite values. A whole number as the exponent is left out: NumPy multiplies, Broadloom
    does so where it is written in the text; and so are large ones, with which exp(y log x) loses
    digits."""
    x = [0, complex(-0.0, 0.0), 1, -1, complex(-1, -0.0), 2j, -2j, 0.5 + 1.5j, -3 + 1e-3j, -3 - 1e-3j, 40]
    y = [0, 0.5, -0.5, 2.5, 1j, 2 + 1j, -1.5 + 0.5j]
    x, y = np.repeat(np.array(x, t), len(y)), np.tile(np.array(y, t), len(x))
    return [operand("x", x), operand("y", y), row("x ^ y", complex_function(np.power), 8, [x, y])]


def complex_operands(t, few):
    values = [1 + 2j, complex(0.0, -0.5), complex(-0.0, 0), complex(NAN, 1), complex(-INF, 3)]
    if not few:
        values += [complex(0, NAN), complex(2, INF), complex(INF, NAN), 3 + 4j, -7, complex(1e-40, 1e38)]
    return np.array(values, t)


def complex_blocks():
    blocks = []
    for t in COMPLEX:
        x = complex_operands(t, False)
        blocks.append([operand("x", x)] + [row(e, rule, ulps, [x]) for e, rule, ulps in COMPLEX_UNARY])
        x = complex_grid(t)
        blocks.append([operand("x", x)] + [row(e, rule, ulps, [x]) for e, rule, ulps in COMPLEX_FUNCTIONS])
        blocks.append(complex_powers(t))
        for u in list(TYPES.values()) + COMPLEX:
            x, y = complex_operands(t, True), complex_operands(u, True)[::-1] if u in COMPLEX else few_operands(u, False)
            for a, b in [(x, y), (y, x)]:
                blocks.append([operand("x", a), operand("y", b)] + [row(e, rule, ulps, [a, b]) for e, rule, ulps in COMPLEX_BINARY])
    return blocks


# ------------------------------------------------------------------------------------------------
# writing

def text(value, t):
    if t in COMPLEX:
        part = F32 if t == C64 else F64
        return text(part.type(value.real), part) + ":" + text(part.type(value.imag), part)
    if t == BOOL or is_whole(t):
        return str(int(value))
    if value != value:
        return "nan"
    shown = str(value if t != BF16 else np.float32(value))
    short = f"{float(value):.5g}" if t == BF16 else shown
    for candidate in (short, shown):
        candidate = candidate.removesuffix(".0").replace("e+", "e").replace(".0e", "e")
        if np.array(float(candidate)).astype(t).tobytes() == np.array(value, t).tobytes():
            return candidate
    raise ValueError(f"{shown} does not read back")


def values(array, t):
    return " ".join(text(v, t) for v in array)


def row(expression, rule, ulps, args):
    try:
        got = rule(*args)
    except TypeError:
        return f"{expression} : error"
    t = got.dtype
    got = np.asarray(got)
    about = f" ~{ulps}" if ulps and (is_float(t) or t in COMPLEX) else ""
    return f"{expression} : {NAMES[t]}{about} = {values(np.broadcast_to(got, args[0].shape), t)}"


def write(name, blocks):
    with open(name, "w", encoding="ascii") as file:
        file.write("# Written by generate.py, which explains the form.\n")
        for block in blocks:
            file.write("\n" + "\n".join(block) + "\n")


def operand(name, x):
    return f"{name} {NAMES[x.dtype]} {values(x, x.dtype)}"


def main():
    unary, pairs, mixed, casts = [], [], [], []
    for t in TYPES.values():
        x = more_operands(t)
        unary.append([operand("x", x)] + [row(e, rule, ulps, [x]) for e, rule, ulps in UNARY])
        casts.append([operand("x", x)] + [row(f"{NAMES[to]}(x)", lambda x, to=to: cast(x, to), 0, [x]) for to in TYPES.values()])
        x = operands(t)
        grid = [np.repeat(x, len(x)), np.tile(x, len(x))]
        pairs.append(["grid", operand("x", x), operand("y", x)] + [row(e, rule, ulps, grid) for e, rule, ulps in BINARY])
        for u in TYPES.values():
            if u != t:
                x, y = few_operands(t, True), few_operands(u, False)
                mixed.append([operand("x", x), operand("y", y)] + [row(e, rule, ulps, [x, y]) for e, rule, ulps in BINARY])
    write("unary.txt", unary)
    write("pairs.txt", pairs)
    write("mixed.txt", mixed)
    write("casts.txt", casts)
    write("complex.txt", complex_blocks())


if __name__ == "__main__":
    main()
