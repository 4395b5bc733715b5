"""Functions of NumPy's on traced values that are made of others: each row has names, the parameters
that are taken, and what is done."""

from __future__ import annotations

import operator

from .errors import SpecError
from .expr import Expr, binary, caller, function, operand
from .trace_axes import axes_of, dot, flip, place, swapaxes, transpose


def _fold(name, value, axis, keepdims=False, init=None):
    from .functions import _positions, fold

    return fold(name, value, *_positions(axis), keepdims=keepdims, init=init)


def _dtype(value) -> str:
    from .trace import dtype_of

    return dtype_of(operand(value))


def _real(value) -> bool:
    return _dtype(value)[0] in "fb" and _dtype(value) != "bool"


def _nan(value):
    return function("isnan", value)


def where_true(name, value, where, axis, keepdims=False, init=None):
    """A fold of the elements where a condition holds."""
    if name == "mean":
        counted = _fold("sum", where_true("", value, where, None), axis, keepdims)
        made = counted / _fold("sum", function("where", where, 1, _zero(value)), axis, keepdims)
        return function(_dtype(_fold("mean", value, axis)), made)
    neutral = {"sum": 0, "prod": 1, "any": False, "all": True, "": 0}.get(name, init)
    if neutral is None:
        raise SpecError("E0021", f"numpy.{name} with where= cannot be traced", caller(), "initial= says what nothing gives" if name in ("min", "max") else "bl.where(condition, x, 0) chooses before a fold")
    made = function("where", where, value, neutral)
    return made if not name else _fold(name, made, axis, keepdims, init)


def _zero(value):
    """Zeros of the shape of a value, whatever it holds."""
    return function("where", binary("==", value, value), 0, 0)


def like(fill):
    def call(a, dtype=None, fill_value=fill):
        from .expr import dtype_name

        made = function("where", binary("==", a, a), fill_value, fill_value)
        return function(_dtype(a) if dtype is None else dtype_name(dtype), made)

    return call


def nan_fold(name, instead):
    return lambda a, axis=None, keepdims=False: _fold(name, function("where", _nan(a), instead, a) if _real(a) else a, axis, keepdims)


def nan_extreme(name, instead):
    def call(a, axis=None, keepdims=False):
        made = nan_fold(name, instead)(a, axis, keepdims)
        return function("where", _fold("all", _nan(a), axis, keepdims), float("nan"), made) if _real(a) else made

    return call


def nan_mean(a, axis=None, keepdims=False):
    return where_true("mean", a, function("isfinite", a) | ~_nan(a), axis, keepdims) if _real(a) else _fold("mean", a, axis, keepdims)


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    a, b = operand(a), operand(b)
    near = function("where", function("isfinite", b), binary("<=", function("abs", a - b), atol + rtol * function("abs", b)), binary("==", a, b))
    return near | (_nan(a) & _nan(b)) if equal_nan else near


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    if not _real(x):
        return operand(x)
    most = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}[_dtype(x)]
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf
    inf = float("inf")
    return function("where", _nan(x), nan, function("where", binary("==", x, inf), high, function("where", binary("==", x, -inf), low, x)))


def average(a, axis=None, weights=None, keepdims=False):
    if weights is None:
        return _fold("mean", a, axis, keepdims)
    return _fold("sum", a * weights, axis, keepdims) / _fold("sum", _zero(a) + weights, axis, keepdims)


def select(condlist, choicelist, default=0):
    made = default
    for condition, choice in reversed([*zip(condlist, choicelist, strict=True)]):
        made = function("where", condition, choice, made)
    return made


def rounded(a, decimals=0):
    a, decimals = operand(a), operator.index(decimals)
    if not decimals or not _real(a):
        return function("round", a)
    power = 10.0 ** abs(decimals)
    return function("round", a * power) / power if decimals > 0 else function("round", a / power) * power


def roll(a, shift, axis=None):
    value = operand(a)
    d = place(0 if axis is None and len(axes_of(value)) == 1 else axis, len(axes_of(value)))
    if not shift:
        return value
    from .trace_axes import pad

    widths = [(0, 0)] * len(axes_of(value))
    widths[d] = (max(shift, 0), max(-shift, 0))
    cut = slice(None, -shift) if shift > 0 else slice(-shift, None)
    return pad(value, widths, "wrap")[tuple([slice(None)] * d + [cut])]


def gradient(f, axis=None):
    from .functions import extent, iota
    from .trace_axes import pad

    value = operand(f)
    axes = axes_of(value)
    d = place(0 if axis is None and len(axes) == 1 else axis, len(axes))
    padded = pad(value, [(1, 1) if k == d else (0, 0) for k in range(len(axes))], "edge")
    later, earlier = [padded[tuple([slice(None)] * d + [cut])] for cut in (slice(2, None), slice(None, -2))]
    label = axes[d]
    at_end = binary("||", binary("==", iota(label), 0), binary("==", iota(label), extent(label) - 1))
    return function("where", at_end, later - earlier, (later - earlier) / 2)


def trapezoid(y, dx=1.0, axis=-1):
    value = operand(y)
    d = place(axis, len(axes_of(value)))
    later, earlier = [value[tuple([slice(None)] * d + [cut])] for cut in (slice(1, None), slice(None, -1))]
    return _fold("sum", dx * (later + earlier) / 2.0, d)


def take(a, indices, axis=None):
    value = operand(a)
    d = place(0 if axis is None and len(axes_of(value)) == 1 else axis, len(axes_of(value)))
    return value[tuple([slice(None)] * d + [indices])]


def diagonal(a):
    value = operand(a)
    axes = axes_of(value)
    if len(axes) != 2:
        raise SpecError("E0021", "a diagonal of other than two dims cannot be traced", caller(), 'd = bl.iota("d"), x[d, d] reads one')
    return value[axes[0], axes[0]]


def triangle(lower):
    def call(m, k=0):
        from .functions import iota

        i, j = axes_of(operand(m))[-2:]
        return function("where", binary("<=" if lower else ">=", iota(j) - iota(i), k), m, 0)

    return call


def outer(ufunc, a, b):
    a, b = operand(a), operand(b)
    return ufunc(a[(..., *[None] * len(b.layout or axes_of(b)))], b)


def sinc(x):
    y = operand(x) * 3.141592653589793
    return function("where", binary("==", y, 0), 1.0, function("sin", y) / y)


ROWS = [
    ("count_nonzero", "a axis keepdims", lambda a, axis=None, keepdims=False: _fold("sum", binary("!=", a, 0), axis, keepdims)),
    ("ptp", "a axis keepdims", lambda a, axis=None, keepdims=False: _fold("max", a, axis, keepdims) - _fold("min", a, axis, keepdims)),
    ("nansum", "a axis keepdims", nan_fold("sum", 0)), ("nanprod", "a axis keepdims", nan_fold("prod", 1)), ("nanmean", "a axis keepdims", nan_mean),
    ("nanmax", "a axis keepdims", nan_extreme("max", -float("inf"))), ("nanmin", "a axis keepdims", nan_extreme("min", float("inf"))),
    ("isclose", "a b rtol atol equal_nan", isclose), ("allclose", "a b rtol atol equal_nan", lambda a, b, **how: _fold("all", isclose(a, b, **how), None)),
    ("nan_to_num", "x nan posinf neginf", nan_to_num), ("average", "a axis weights keepdims", average), ("select", "condlist choicelist default", select),
    ("zeros_like", "a dtype", like(0)), ("ones_like", "a dtype", like(1)), ("full_like", "a fill_value dtype", like(0)),
    ("round around", "a decimals", rounded), ("roll", "a shift axis", roll), ("gradient", "f axis", gradient), ("trapezoid", "y dx axis", trapezoid), ("take", "a indices axis", take),
    ("trace", "a", lambda a: _fold("sum", diagonal(a), None)), ("diagonal", "a", diagonal), ("tril", "m k", triangle(True)), ("triu", "m k", triangle(False)), ("sinc", "x", sinc),
    ("fliplr", "m", lambda m: flip(m, 1)), ("flipud", "m", lambda m: flip(m, 0)), ("vdot", "a b", lambda a, b: _fold("sum", function("conj", a) * b, None)),
    ("angle", "z", lambda z: function("atan2", function("imag", z), function("real", z))), ("fix", "x", lambda x: function("trunc", x)), ("copy", "a", operand),
]
UFUNCS = {
    "signbit": lambda x: binary("<", function("copysign", 1, x), 0), "heaviside": lambda x, h: function("where", _nan(x), x, function("where", binary("==", x, 0), h, binary(">", x, 0) * 1.0)),
    "deg2rad": lambda x: x * 0.017453292519943295, "radians": lambda x: x * 0.017453292519943295, "rad2deg": lambda x: x * 57.29577951308232, "degrees": lambda x: x * 57.29577951308232,
    "vecdot": lambda a, b: _fold("sum", function("conj", a) * b, -1), "matvec": lambda a, b: a @ b, "vecmat": lambda a, b: function("conj", a) @ b,
}


def _transposed(a, *axes):
    return transpose(a, (axes[0] if isinstance(axes[0], (tuple, list)) else axes) if axes else None)


METHODS = {"dot": lambda a, b: dot(a, b), "swapaxes": swapaxes, "round": rounded, "diagonal": diagonal, "take": take, "transpose": _transposed,
           "trace": lambda a: _fold("sum", diagonal(a), None), "copy": lambda a: operand(a)}
