"""NumPy's protocols on traced values: which functions are taken, by which parameters, and what is
done."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from . import formulas, trace_dims, trace_functions, trace_joins
from .errors import ArgumentError, DTypeError, SpecError
from .expr import Expr, caller, operand
from .formulas import cast, kind_of
from .formulas_bits import MADE, composed
from .functions import ELEMENTWISE, FOLDS, accumulated, binary, filled, fold, function, positions, scan
from .lazy_ops import RECIPROCAL, REDUCING, TEMPLATES
from .numpy_calls import Call
from .trace_axes import axes_of
from .trace_functions import UFUNCS, outer, where_true
from .trace_text import dtype_of

# Ufuncs that make floats of integers, and one that copies: others are written as lazy arrays write
# them.
_SPELLED = {"fabs": "abs(copysign({0}, {0}))", "rint": "round(copysign({0}, {0}))", "positive": "(-(-{0}))",
            **dict.fromkeys(("deg2rad", "radians"), "(copysign({0}, {0}) * (pi / 180))"),
            **dict.fromkeys(("rad2deg", "degrees"), "(copysign({0}, {0}) * (180 / pi))")}


def _unknown(name: str):
    import difflib  # takes milliseconds

    from .lazy_numpy import functions
    from .lazy_ufuncs import INSTEAD

    near = difflib.get_close_matches(name, [*ELEMENTWISE, *FOLDS], 1)
    is_lazy = any(called.__name__ == name for called in functions)
    help = INSTEAD[name] if name in INSTEAD else "lazy arrays have it, bl.array(x), and " if is_lazy else f"did you mean 'bl.{near[0]}'? " if near else ""
    raise SpecError("E0008", f"numpy.{name} cannot be traced", caller(), help + "docs/python.md has the functions that can")


def _reduced(name: str, value, axis, keepdims=False) -> Expr:
    return fold(name, _summed(name, value)[0], *positions(axis), keepdims=keepdims)


def _running(name: str, value, axis) -> Expr:
    value, init = _summed(name, value)
    return scan(name, value, axis, init=init)


def _summed(name: str, value) -> tuple:
    """The value and where its sums begin as they run, so that they are those of NumPy: of floats at
    -0., which leaves the first element as it is; sums of exp of integers are floats of their
    size."""
    value = operand(value)
    word = dtype_of(value) if name in ("sum", "logsumexp") else ""
    if word == "bool" or word[:1] in ("i", "u"):
        return (filled("copysign({0}, {0})", [value]) if name == "logsumexp" else value), None
    return value, complex(-0.0, -0.0) if word[:1] == "c" else -0.0 if name == "sum" and word != "?" else None


def call_ufunc(ufunc, method, args, options):
    name = ufunc.__name__
    if method in ("reduce", "accumulate") and name in REDUCING:
        given = Call(f"{name}.{method}", f"ufunc.{method}", args, options, "traced").given("array axis" + " keepdims" * (method == "reduce"))
        word, value, axis = REDUCING[name], given["array"], given.get("axis", 0)
        return _reduced(word, value, axis, given.get("keepdims", False)) if method == "reduce" else _running(word, value, axis)
    if method == "outer" and ufunc.nin == 2 and ufunc.signature is None:
        given = Call(f"{name}.outer", "ufunc.outer", args, options, "traced").given("A B")
        return outer(ufunc, given["A"], given["B"])
    if method != "__call__":
        _unknown(f"{name}.{method}")
    args = Call(name, "ufunc", args, options, "traced").given("operands")["operands"]
    if name == "matmul":
        return trace_dims.matmul(*args)
    if name == "divmod":
        return binary("//", *args), binary("%", *args)
    if ufunc in MADE:
        return composed(ufunc, args)
    args = [operand(arg) for arg in args]
    if name in UFUNCS:
        return UFUNCS[name](*args)
    if name not in TEMPLATES:
        _unknown(name)
    if name in ("conjugate", "reciprocal") and dtype_of(args[0]) == "bool":
        args = [cast(args[0], "i8")]
    if name == "reciprocal" and dtype_of(args[0])[0] in "iu":
        return filled(RECIPROCAL, args)
    if name == "float_power":
        args = [cast(x, "c128" if kind_of(x) == "c" else "f64") for x in args]
    if name in _SPELLED and name not in ("positive", "rint") and dtype_of(args[0])[0] == "c":
        raise DTypeError("E0201", f"numpy.{name} of complex numbers cannot be traced", caller(), "take its abs, real or imag first")
    if name in _SPELLED and (name == "positive" or dtype_of(args[0])[0] in "iu" or dtype_of(args[0]) == "bool"):
        return filled(_SPELLED[name], args)
    return filled(TEMPLATES[name], args)


def _clip(a, **bounds) -> Expr:
    if ("a_min" in bounds) != ("a_max" in bounds):
        raise ArgumentError("E0308", "numpy.clip with one bound by position", caller(), "pass both, None for one that is not there, or min= or max=")
    low, high = bounds.get("min", bounds.get("a_min")), bounds.get("max", bounds.get("a_max"))
    a = a if low is None else function("maximum", a, low)
    return a if high is None else function("minimum", a, high)


def _where(condition, x=None, y=None) -> Expr:
    if x is None or y is None:
        raise SpecError("E0009", "numpy.where of a condition alone cannot be traced", caller(), "as in np.where(condition, a, b)")
    return function("where", condition, x, y)


def _cumulative(name: str):
    def call(a, axis=None):
        axis = 0 if axis is None and len(axes_of(operand(a))) == 1 else axis
        if axis is None:
            raise SpecError("E0103", f"numpy.cum{name} of a traced value needs axis=", caller(), "name the axis")
        return _running(name, a, axis)

    return call


def _numpy_fold(name: str):
    def call(a, axis=None, ddof=None, correction=None, keepdims=False, initial=None, where=True, dtype=None):
        a = a if dtype is None else accumulated(name, a, dtype)
        if name.startswith("arg") and isinstance(axis, (tuple, list)):
            raise ArgumentError("E0308", f"numpy.{name} takes one axis", caller(), f"bl.{name}(x, 'i', 'j') takes several")
        if where is not True:
            return where_true(name, a, where, axis, keepdims, initial)
        return fold(name, a, *positions(axis), correction=ddof if correction is None else correction, keepdims=keepdims, init=initial)

    return call


@functools.lru_cache(maxsize=None)
def _numpy_functions() -> dict:
    """What takes the arguments of each function of NumPy's that is traced, and by which
    parameters."""
    from . import trace_shapes

    folds = {name: name for name in FOLDS if name not in ("norm", "logsumexp")}
    rows = {getattr(np, name): (_numpy_fold(word), "a axis keepdims" + " ddof correction" * (word in ("var", "std")) + " dtype" * (word in ("sum", "prod", "mean")) + " initial where" * (word in ("sum", "prod", "min", "max")) + " where" * (word in ("any", "all", "mean")))
            for name, word in {**folds, "amin": "min", "amax": "max"}.items()}
    rows.update({getattr(np, "cum" + name): (_cumulative(name), "a axis") for name in ("sum", "prod")})
    rows.update({getattr(np, name): (lambda val, name=name: function(name, val), "val") for name in ("real", "imag")})
    rows.update({np.linalg.norm: (lambda x, axis=None, keepdims=False: fold("norm", x, *positions(axis), keepdims=bool(keepdims)), "x axis keepdims"),
                 np.where: (_where, "condition x y"), np.clip: (_clip, "a a_min a_max min max")})
    for names, takes, call in itertools.chain(*[room.ROWS for room in (formulas, trace_dims, trace_functions, trace_joins, trace_shapes)]):
        rows.update({getattr(np, name): (call, takes) for name in names.split()})
    return rows


def call_numpy(called, args, options):
    if called not in _numpy_functions():
        _unknown(called.__name__)
    function, takes = _numpy_functions()[called]
    return function(**Call(called.__name__, called, args, options, "traced").given(takes))
