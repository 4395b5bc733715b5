"""What functions of NumPy's are made of, for lazy arrays and traced values alike: formulas in other
functions of NumPy's, which both note.

A cast is to a dtype of NumPy's or to a word of the language.
"""

from __future__ import annotations

import operator

import numpy as np

from . import lazy_ops
from .errors import SpecError
from .expr import _NUMPY_DTYPES, Expr, caller, operand
from .functions import function
from .numpy_calls import asked, is_number
from .trace_text import dtype_of as traced_dtype

_ENDS = {"float16": (65504.0, 11, 2.0 ** -24), "bfloat16": (float(2 ** 127) * (2 - 2.0 ** -7), 8, 2.0 ** -133)}
_OF_WORD = {word: name for name, word in _NUMPY_DTYPES.items()}


def is_traced(*values) -> bool:
    return any(isinstance(x, Expr) for x in values)


def noted(*values) -> list:
    """The values as what notes: traced ones where one of them is, else lazy arrays."""
    from .lazy import lifted

    return [operand(x) if is_traced(*values) else lifted(x) for x in values]


def word_of(x) -> str:
    """The word of the dtype of a value, "?" of a traced one that has a mistake."""
    return traced_dtype(x) if is_traced(x) else lazy_ops.word_of(x.dtype)


def kind_of(x) -> str:
    """As NumPy has it: "b", "i", "u", "f" or "c"."""
    word = word_of(x)
    return "b" if word == "bool" else "f" if word == "bf16" else word[0]


def dtype_of(x) -> np.dtype:
    """Of what has a mistake any one will do: the kernel will tell."""
    word = word_of(x)
    return asked(np.dtype, "f8" if word == "?" else _OF_WORD.get(word, word))


def real_of(x) -> str:
    return {"c64": "f32", "c128": "f64"}.get(word_of(x), word_of(x))


def cast(x, dtype):
    from . import lazy

    if not is_traced(x):
        return lazy.cast(x, np.dtype(_OF_WORD.get(dtype, dtype)))
    word = dtype if isinstance(dtype, str) and dtype in _OF_WORD else _NUMPY_DTYPES[np.dtype(dtype).name]
    return x if word == word_of(x) else function(word, x)


def refuse(name: str, what: str, help: str, *values):
    raise SpecError("E0021", f"numpy.{name} {what} cannot be {'traced' if is_traced(*values) else 'recorded'}", caller(), help)


# --- of elements ----------------------------------------------------------------------------------


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    a, b = noted(a, b)
    if kind_of(b) not in "fc":
        b = b * 1.0
    near = np.where(np.isfinite(b), np.abs(a - b) <= atol + rtol * np.abs(b), a == b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


def allclose(a, b, **how):
    return np.all(isclose(a, b, **how))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    x, = noted(x)
    if kind_of(x) == "c":
        refuse("nan_to_num", "of complex numbers", "take parts first", x)
    if kind_of(x) != "f":
        return x
    name = _OF_WORD[word_of(x)]
    most = _ENDS[name][0] if name in _ENDS else float(np.finfo(name).max)
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf
    return cast(np.where(np.isnan(x), nan, np.where(x == np.inf, high, np.where(x == -np.inf, low, x))), word_of(x))


def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not condlist:
        raise SpecError("E0102", "numpy.select takes a choice for each condition", caller(), "give lists of one length, which are not empty")
    made = default if is_number(default) else noted(default, *condlist)[0]
    for condition, choice in reversed([*zip(condlist, choicelist)]):
        made = np.where(condition, choice, made)
    return made if is_traced(made) else cast(made, np.result_type(*[x if is_number(x) else x.dtype for x in (*choicelist, default)]))


def piecewise(x, condlist, funclist):
    condlist = [*condlist] if isinstance(condlist, (list, tuple)) else [condlist]
    funclist = [*funclist]
    if len(funclist) not in (len(condlist), len(condlist) + 1):
        raise SpecError("E0102", "numpy.piecewise takes a function for each condition, and one for all else", caller(), "give as many")
    values = [cast(noted(f(x) if callable(f) else f, x)[0], word_of(x)) for f in funclist]
    made = values.pop() if len(funclist) > len(condlist) else cast(noted(0, x)[0], word_of(x))
    for condition, value in zip(condlist, values):
        made = np.where(condition, value, made)
    return made if is_traced(x) or made.shape == x.shape else np.broadcast_to(made, x.shape)


def sinc(x):
    y = np.multiply(x, np.pi)
    return np.where(y == 0, 1.0, np.sin(y) / y)


def rounded(a, decimals=0):
    a, = noted(a)
    decimals = asked(operator.index, decimals)
    if kind_of(a) in "iub":
        if decimals < 0:
            refuse("round", "of integers with decimals= below 0", "divide and multiply", a)
        if kind_of(a) == "b" and decimals:
            refuse("round", "of truths with decimals=", "x.astype(..) converts before", a)
        return a if kind_of(a) != "b" else cast(a, "f16")
    if kind_of(a) == "c":
        refuse("round", "of complex numbers", "round the parts", a)
    if decimals == 0:
        return np.rint(a)
    power = 10.0 ** abs(decimals)
    return np.rint(a * power) / power if decimals > 0 else np.rint(a / power) * power


def angle(z):
    return np.arctan2(np.imag(z), np.real(z)) if kind_of(z) == "c" else np.arctan2(0, z)


def between(x, places, values, span, outside):
    """The line through two points at x, and what is outside of the span of all points, as np.interp
    has it."""
    (x0, x1), (f0, f1), (first, last), (left, right) = places, values, span, outside
    slope = (f1 - f0) / (x1 - x0)
    made = slope * (x - x0) + f0
    made = np.where(np.isnan(made), slope * (x - x1) + f1, made)
    made = np.where(np.isnan(made) & (f0 == f1), f0, made)
    made = np.where(x == x0, f0, np.where(x == x1, f1, made))
    made = np.where(x < first, left, np.where(x > last, right, made))
    return np.where(np.isnan(x), complex(np.nan, 0) if kind_of(made) == "c" else np.nan, made)


def isreal(x):
    return np.equal(np.imag(x), 0) if kind_of(x) == "c" else np.equal(x, x) | True


def iscomplex(x):
    return np.not_equal(np.imag(x), 0) if kind_of(x) == "c" else np.not_equal(x, x) & False


def polyval(p, x):
    """By an array of one dim, or a list of traced values. Numbers in a list have a dtype, as
    NumPy's have."""
    if is_traced(p):
        refuse("polyval", "by one traced value", "give the coefficients one by one: [c[0], c[1]]", p)
    if not isinstance(p, (list, tuple)) or not is_traced(*p):
        p = asked(np.asarray, p) if is_traced(x) else noted(p)[0]
    if getattr(p, "ndim", 1) != 1 or not 0 < len(p) <= 64:
        refuse("polyval", "by other than 1 to 64 coefficients", "write the polynomial", x)
    made = np.multiply(x, np.zeros((), p.dtype)[()] if hasattr(p, "dtype") else 0)
    for k in range(len(p)):
        made = made * x + p[k]
    return made


# --- folds ----------------------------------------------------------------------------------------


def without_nan(name: str, instead):
    def call(a, **how):
        return getattr(np, name)(np.where(np.isnan(a), instead, a) if kind_of(a) in "fc" else a, **how)

    return call


def nan_extreme(name: str):
    def call(a, axis=None, keepdims=False):
        made = without_nan(name, np.inf if name == "min" else -np.inf)(a, axis=axis, keepdims=keepdims)
        return np.where(np.all(np.isnan(a), axis=axis, keepdims=keepdims), np.nan, made) if kind_of(a) == "f" else made

    return call


def nan_moment(name: str):
    def call(a, axis=None, dtype=None, ddof=0, keepdims=False):
        if kind_of(a) not in "fc":
            return getattr(np, name)(a, axis=axis, keepdims=keepdims, **({"ddof": ddof} if name != "mean" else {}), **({"dtype": dtype} if dtype is not None else {}))
        a = a if dtype is None else cast(a, dtype)
        real = real_of(a)
        number = lambda keep: cast(np.sum(~np.isnan(a), axis=axis, keepdims=keep), real)
        mean = lambda keep: without_nan("sum", 0)(a, axis=axis, keepdims=keep) / number(keep)
        if name == "mean":
            return mean(keepdims)
        apart = np.abs(np.where(np.isnan(a), 0, a - mean(True)))
        left = number(keepdims)
        made = np.sum(apart * apart, axis=axis, keepdims=keepdims) / np.where(left > ddof, left - ddof, np.nan)
        return np.sqrt(made) if name == "std" else made

    return call


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y, = noted(y)
    rank = rank_of(y)
    axis = asked(np.lib.array_utils.normalize_axis_index, axis, rank)
    later, earlier = [y[(*[slice(None)] * axis, cut)] for cut in (slice(1, None), slice(None, -1))]
    if x is not None:
        x = noted(x, y)[0]
        dx = np.diff(x, axis=0 if rank_of(x) == 1 else axis)
        dx = dx[tuple([slice(None) if d == axis else None for d in range(rank)])] if rank_of(x) == 1 < rank else dx
    return np.sum(dx * (later + earlier) / 2.0, axis=axis)


def rank_of(x) -> int:
    from .trace_axes import axes_of

    return x.ndim if not is_traced(x) else len(x.layout if x.layout is not None else axes_of(x))


# By NumPy's names: the parameters that are taken, and what is done.
ROWS = [
    ("isclose", "a b rtol atol equal_nan", isclose), ("allclose", "a b rtol atol equal_nan", allclose), ("nan_to_num", "x copy nan posinf neginf", nan_to_num),
    ("select", "condlist choicelist default", select), ("piecewise", "x condlist funclist", piecewise), ("sinc", "x", sinc), ("round around", "a decimals", rounded),
    ("fix", "x", lambda x: np.trunc(x)), ("angle", "z", angle), ("isreal", "x", isreal), ("iscomplex", "x", iscomplex), ("polyval", "p x", polyval),
    ("isneginf", "x", lambda x: np.isinf(x) & (x < 0)), ("isposinf", "x", lambda x: np.isinf(x) & (x > 0)),
    ("nanprod", "a axis keepdims", without_nan("prod", 1)), ("nansum", "a axis keepdims", without_nan("sum", 0)),
    ("nancumsum", "a axis", without_nan("cumsum", 0)), ("nancumprod", "a axis", without_nan("cumprod", 1)),
    ("nanmin", "a axis keepdims", nan_extreme("min")), ("nanmax", "a axis keepdims", nan_extreme("max")), ("nanmean", "a axis dtype keepdims", nan_moment("mean")),
    ("nanvar", "a axis dtype ddof keepdims", nan_moment("var")), ("nanstd", "a axis dtype ddof keepdims", nan_moment("std")),
    ("nanargmin", "a axis keepdims", without_nan("argmin", np.inf)), ("nanargmax", "a axis keepdims", without_nan("argmax", -np.inf)),
    ("trapezoid", "y x dx axis", trapezoid),
]
