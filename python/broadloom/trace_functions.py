"""Functions of NumPy's on traced values that are made of others: each row has names, the parameters
that are taken, and what is done."""

from __future__ import annotations

from .errors import SpecError
from .expr import Expr, caller, numpys_name, operand
from .functions import binary, extent, fold, function, iota, positions
from .numpy_calls import is_number
from .trace_axes import axes_of, place
from .trace_dims import flip, summed
from .trace_joins import pad
from .trace_text import dtype_of


def _fold(name, value, axis, keepdims=False, init=None):
    return fold(name, value, *positions(axis), keepdims=keepdims, init=init)


def _dtype(value) -> str:
    return dtype_of(operand(value))


def where_true(name, value, where, axis, keepdims=False, init=None):
    """A fold of the elements where a condition holds."""
    if name == "mean":
        counted = _fold("sum", where_true("", value, where, None), axis, keepdims)
        made = counted / _fold("sum", function("where", where, 1, _zero(value)), axis, keepdims)
        return function(_dtype(_fold("mean", value, axis)), made)
    neutral = {"sum": 0, "prod": 1, "any": False, "all": True, "": 0}.get(name, init)
    if neutral is None:
        raise SpecError("E0021", f"numpy.{name} with where= cannot be traced", caller(), "initial= says what nothing gives" if name in ("min", "max") else "bl.where(condition, x, 0) chooses before a fold")
    if name in ("min", "max"):
        neutral = function(_dtype(value), neutral)
    made = function("where", where, value, neutral)
    return made if not name else _fold(name, made, axis, keepdims, init)


def _zero(value):
    """Zeros of the shape of a value, whatever it holds."""
    return function("where", binary("==", value, value), 0, 0)


def like(fill):
    def call(a, dtype=None, fill_value=fill):
        made = function("where", binary("==", a, a), fill_value, fill_value)
        return function(_dtype(a) if dtype is None else numpys_name(dtype), made)

    return call


def average(a, axis=None, weights=None, keepdims=False):
    if weights is None:
        return _fold("mean", a, axis, keepdims)
    return _fold("sum", a * weights, axis, keepdims) / _fold("sum", _zero(a) + weights, axis, keepdims)


def roll(a, shift, axis=None):
    value = operand(a)
    d = place(0 if axis is None and len(axes_of(value)) == 1 else axis, len(axes_of(value)))
    if not shift:
        return value
    widths = [(0, 0)] * len(axes_of(value))
    widths[d] = (max(shift, 0), max(-shift, 0))
    cut = slice(None, -shift) if shift > 0 else slice(-shift, None)
    return pad(value, widths, "wrap")[tuple([slice(None)] * d + [cut])]


def gradient(f, varargs=(), axis=None):
    value = operand(f)
    axes = axes_of(value)
    d = place(0 if axis is None and len(axes) == 1 else axis, len(axes))
    if len(varargs) > 1 or any(not is_number(h) and (not isinstance(h, Expr) or axes_of(h)) for h in varargs):
        raise SpecError("E0021", "numpy.gradient by places cannot be traced", caller(), "it takes one step, a number")
    padded = pad(value, [(1, 1) if k == d else (0, 0) for k in range(len(axes))], "edge")
    later, earlier = [padded[tuple([slice(None)] * d + [cut])] for cut in (slice(2, None), slice(None, -2))]
    label = axes[d]
    at_end = binary("||", binary("==", iota(label), 0), binary("==", iota(label), extent(label) - 1))
    made = function("where", at_end, later - earlier, (later - earlier) / 2.0)
    return made / varargs[0] if varargs else made


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
        if len(axes_of(operand(m))) < 2:
            raise SpecError("E0021", "a triangle of less than two dims cannot be traced", caller(), "np.tril(x[None, :] + 0 * x[:, None]) has two")
        i, j = axes_of(operand(m))[-2:]
        return function("where", binary("<=" if lower else ">=", iota(j) - iota(i), k), m, False if _dtype(m) == "bool" else 0)

    return call


def outer(ufunc, a, b):
    a, b = operand(a), operand(b)
    return ufunc(a[(..., *[None] * len(b.layout or axes_of(b)))], b)


ROWS = [
    ("count_nonzero", "a axis keepdims", lambda a, axis=None, keepdims=False: _fold("sum", binary("!=", a, 0), axis, keepdims)),
    ("ptp", "a axis keepdims", lambda a, axis=None, keepdims=False: _fold("max", a, axis, keepdims) - _fold("min", a, axis, keepdims)),
    ("average", "a axis weights keepdims", average), ("zeros_like", "a dtype", like(0)), ("ones_like", "a dtype", like(1)), ("full_like", "a fill_value dtype", like(0)),
    ("roll", "a shift axis", roll), ("gradient", "f varargs axis", gradient), ("take", "a indices axis", take),
    ("trace", "a", lambda a: _fold("sum", diagonal(a), None)), ("diagonal", "a", diagonal), ("tril", "m k", triangle(True)), ("triu", "m k", triangle(False)),
    ("fliplr", "m", lambda m: flip(m, 1)), ("flipud", "m", lambda m: flip(m, 0)), ("vdot", "a b", lambda a, b: summed(function("conj", a) * b)),
    ("copy", "a", lambda a: operand(a)),
]
UFUNCS = {"vecdot": lambda a, b: summed(function("conj", a) * b, -1), "matvec": lambda a, b: a @ b, "vecmat": lambda a, b: function("conj", a) @ b}
