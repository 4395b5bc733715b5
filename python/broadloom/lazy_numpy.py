"""NumPy's functions on lazy arrays: what `__array_ufunc__` and `__array_function__` are asked for."""

from __future__ import annotations

import difflib
import operator

import numpy as np

from . import lazy_ops
from .errors import DTypeError
from .lazy import (LazyArray, axes_of, axis_of, array, cast, fold, number, operand, part, refuse, scan, squeeze, swapaxes,
                   transpose, view)

_PRODUCTS = {"matmul", "vecdot", "matvec", "vecmat"}
_REDUCING = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all", "logical_or": "any",
             "logaddexp": "logsumexp"}
_WEAK = (bool, int, float, complex)


def is_number(x) -> bool:
    """Of Python: np.float64 is a float, too, but has a type."""
    return type(x) in _WEAK


def kind_of(x):
    return np.dtype(bool) if type(x) is bool else type(x) if is_number(x) else x.dtype


def unknown(name: str):
    near = difflib.get_close_matches(name, [*functions, *lazy_ops.TEMPLATES], 1)
    refuse(f"numpy.{name} cannot be recorded", (f"did you mean numpy.{near[0]}? " if near and near[0] != name else "") +
           "compute() gives an array of NumPy, on which every function works")


def plain(name: str, options: dict):
    """Refuses the options that were not taken."""
    for option, value in options.items():
        if value is None or value is False or type(value).__name__ == "_NoValueType" or (option == "where" and value is True):
            continue
        help = "compute(out=..) writes into an array" if option == "out" else "compute() the array first"
        refuse(f"numpy.{name} with {option}= cannot be recorded", help, code="E0021")


# --- ufuncs ---------------------------------------------------------------------------------------


def call_ufunc(ufunc, method, args, options):
    name = ufunc.__name__
    if method == "__call__":
        plain(name, {k: v for k, v in options.items() if k != "casting"})
        if name in _PRODUCTS:
            return products[name](*args)
        return elementwise(name, ufunc, args)
    if method == "reduce" and name in _REDUCING:
        x, axis = args[0], args[1] if len(args) > 1 else options.pop("axis", 0)
        return folded(_REDUCING[name], x, axis, **options)
    if method == "accumulate" and name in _REDUCING:
        axis, dtype = args[1] if len(args) > 1 else options.pop("axis", 0), options.pop("dtype", None)
        plain(name + ".accumulate", options)
        return scan(operand(args[0]), _REDUCING[name], axis, dtype)
    if method == "outer" and len(args) == 2 and ufunc.nin == 2:
        a, b = operand(args[0]), operand(args[1])
        return elementwise(name, ufunc, (view(a, (*range(a.ndim), *[None] * b.ndim)), b))
    unknown(f"{name}.{method}")


def elementwise(name: str, ufunc, args) -> LazyArray:
    if ufunc.nout != 1:
        unknown(name)
    args = [x if is_number(x) else operand(x) for x in args]
    kinds = [kind_of(x) for x in args]
    loop, dtype = lazy_ops.loop_of(ufunc, kinds)
    why = lazy_ops.refused(name, (*loop, dtype))
    if why:
        unknown(name) if name not in lazy_ops.TEMPLATES else refuse(why, "compute() the array first", DTypeError, "E0201")
    exponent = None
    if name in ("power", "float_power") and is_number(args[1]):
        power = args[1]
        if loop[0].kind in "iu" and power < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        if type(power) in (int, float) and power == int(power if abs(power) <= 16 else 17):
            exponent, args, loop = int(power), args[:1], loop[:1]  # part of the kernel, which makes products of it
        elif power == 0.5:
            name, ufunc, args, loop = "sqrt", np.sqrt, args[:1], loop[:1]
    if name in lazy_ops.COMPARISONS:
        for k, x in enumerate(args):
            if type(x) is int and loop[k].kind in "iu" and not np.iinfo(loop[k]).min <= x <= np.iinfo(loop[k]).max:
                return _compare_beyond(name, args, k, loop[k])
    args = tuple([number(x, to) if is_number(x) else x for x, to in zip(args, loop)])
    shape = args[0].shape if len(args) == 1 else np.broadcast_shapes(*[x.shape for x in args])
    return LazyArray("map", args, (name, tuple(loop), exponent), dtype, shape)


def _compare_beyond(name, args, k, dtype):
    """A comparison with an int that no element can equal: with the end of the type on that side, so that none does."""
    above = args[k] > np.iinfo(dtype).max
    truth = {"equal": False, "not_equal": True, "less": above, "less_equal": above, "greater": not above,
             "greater_equal": not above}[name]
    if k == 0 and name not in ("equal", "not_equal"):
        truth = not truth
    x = args[1 - k]
    same = np.equal(x, x)
    return same if truth else np.logical_not(same)


# --- folds and scans ------------------------------------------------------------------------------


def folded(name, x, axis=None, dtype=None, out=None, keepdims=False, ddof=0, correction=None, **options):
    if correction is not None and type(correction).__name__ != "_NoValueType":
        ddof = correction
    plain(name, {"out": out, **options})
    if dtype is not None and name not in ("sum", "prod", "mean"):
        plain(name, {"dtype": dtype})
    if name in ("var", "std"):
        ddof = operator.index(ddof)
    return fold(operand(x), name, axis, keepdims is True, ddof, None if dtype is None else np.dtype(dtype))


def _fold(name):
    def call(x, axis=None, *rest, **options):
        orders = {"sum": ("dtype", "out"), "prod": ("dtype", "out"), "mean": ("dtype", "out"), "var": ("dtype", "out", "ddof"),
                  "std": ("dtype", "out", "ddof")}
        options.update(zip(orders.get(name, ("out",)), rest))
        if name.startswith("arg") and isinstance(axis, tuple):
            raise TypeError("'tuple' object cannot be interpreted as an integer")
        return folded(name, x, axis, **options)

    return call


def _scan(name):
    def call(x, axis=None, dtype=None, out=None, **options):
        plain("cum" + name, {"out": out, **options})
        return scan(operand(x), name, axis, dtype)

    return call


def norm(x, ord=None, axis=None, keepdims=False):
    if ord is not None and not (ord == 2 and (axis is None and x.ndim == 1 or isinstance(axis, int))):
        refuse("numpy.linalg.norm with ord= cannot be recorded", "write it with abs, max and sum", code="E0021")
    return folded("norm", x, axis, keepdims=keepdims)


# --- choices --------------------------------------------------------------------------------------


def where(condition, *chosen):
    if len(chosen) != 2:
        refuse("numpy.where of a condition alone cannot be recorded", "its result has a shape that only computing tells: "
               "compute() the condition first")
    condition = cast(operand(condition), lazy_ops.BOOL)
    chosen = [x if is_number(x) else operand(x) for x in chosen]
    dtype = np.result_type(*[x if is_number(x) else x.dtype for x in chosen])
    args = (condition, *[number(x, dtype) if is_number(x) else x for x in chosen])
    return LazyArray("where", args, None, dtype, np.broadcast_shapes(*[x.shape for x in args]))


def clip(x, a_min=None, a_max=None, out=None, *, min=None, max=None, **options):
    plain("clip", {"out": out, **options})
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = operand(x)
    if x.dtype.kind in "iu":  # an int beyond the type bounds nothing
        low = None if type(low) is int and low < np.iinfo(x.dtype).min else low
        high = None if type(high) is int and high > np.iinfo(x.dtype).max else high
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def rounded(x, decimals=0, out=None):
    plain("round", {"out": out})
    if decimals != 0:
        refuse("numpy.round with decimals= cannot be recorded", "scale before and after", code="E0021")
    return x if x.dtype.kind in "iu" else np.rint(x)


# --- products -------------------------------------------------------------------------------------


def einsum(letters, result, operands) -> LazyArray:
    """Letters of each operand and of the result, one for each dim. Dims of 1 stretch."""
    operands = tuple([operand(x) for x in operands])
    extents = {}
    for x, word in zip(operands, letters):
        if len(word) != x.ndim:
            raise ValueError(f"einsum: an operand has {x.ndim} dims and {len(word)} subscripts")
        if len(set(word)) < len(word):
            refuse("a diagonal in numpy.einsum cannot be recorded", "take numpy.diagonal(x) of the input")
        for letter, n in zip(word, x.shape):
            if extents.setdefault(letter, n) == 1:
                extents[letter] = n
            elif n not in (1, extents[letter]):
                raise ValueError(f"einsum: axis '{letter}' has {extents[letter]} elements in one operand, {n} in another")
    dtype = np.result_type(*[x.dtype for x in operands])
    return LazyArray("einsum", operands, (tuple(map(tuple, letters)), tuple(result)), dtype, tuple([extents[c] for c in result]))


def call_einsum(subscripts, *operands, out=None, optimize=False, **options):
    plain("einsum", {"out": out, **options})
    if not isinstance(subscripts, str) or "." in subscripts:
        refuse("numpy.einsum takes letters for all dims of lazy arrays", "as in np.einsum('ij,jk->ik', a, b)")
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    letters = given.split(",")
    if not arrow:
        result = "".join(sorted(c for c in set(given) - {","} if given.count(c) == 1))
    if len(letters) != len(operands) or len(set(result)) < len(result) or not set(result) <= set(given):
        raise ValueError(f"einsum: '{subscripts}' does not fit {len(operands)} operands")
    return einsum(letters, result, operands)


def matmul(a, b):
    a, b = operand(a), operand(b)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: an operand has no dims")
    inner = (a.shape[-1], b.shape[-2 if b.ndim > 1 else -1])
    if inner[0] != inner[1]:
        raise ValueError(f"matmul: {inner[0]} columns meet {inner[1]} rows: {a.shape} @ {b.shape}")
    batch = list(range(100, 100 + max(a.ndim, b.ndim) - 2))
    rows, columns = [0] * (a.ndim > 1), [2] * (b.ndim > 1)
    return einsum([batch[len(batch) - max(a.ndim - 2, 0):] + rows + [1],
                   batch[len(batch) - max(b.ndim - 2, 0):] + [1] + columns], batch + rows + columns, (a, b))


def vecdot(a, b):
    a, b = operand(a), operand(b)
    batch = list(range(100, 99 + max(a.ndim, b.ndim)))
    a = np.conjugate(a) if a.dtype.kind == "c" else a
    return einsum([batch[len(batch) + 1 - a.ndim:] + [1], batch[len(batch) + 1 - b.ndim:] + [1]], batch, (a, b))


def dot(a, b, out=None):
    plain("dot", {"out": out})
    if is_number(a) or is_number(b):
        return np.multiply(a, b)
    a, b = operand(a), operand(b)
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(a, b)
    rows, columns = [*range(10, 9 + a.ndim)], [*range(50, 49 + b.ndim)]
    return einsum([rows + [1], columns[:-1] + [1] + columns[-1:]] if b.ndim > 1 else [rows + [1], [1]], rows + columns, (a, b))


def outer(a, b, out=None):
    plain("outer", {"out": out})
    a, b = operand(a), operand(b)
    if a.ndim != 1 or b.ndim != 1:
        refuse("numpy.outer of other than vectors cannot be recorded", "np.multiply.outer(a, b) takes all", code="E0101")
    return einsum([[0], [1]], [0, 1], (a, b))


def inner(a, b):
    a, b = operand(a), operand(b)
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    rows, columns = [*range(10, 9 + a.ndim)], [*range(50, 49 + b.ndim)]
    return einsum([rows + [1], columns + [1]], rows + columns, (a, b))


def tensordot(a, b, axes=2):
    a, b = operand(a), operand(b)
    if isinstance(axes, int):
        axes = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    ours, theirs = [[axis_of(k, x.ndim) for k in (ks if isinstance(ks, (tuple, list)) else (ks,))] for x, ks in zip((a, b), axes)]
    if [a.shape[d] for d in ours] != [b.shape[d] for d in theirs]:
        raise ValueError("shape-mismatch for sum")
    left = [ours.index(d) if d in ours else 100 + d for d in range(a.ndim)]
    right = [theirs.index(d) if d in theirs else 200 + d for d in range(b.ndim)]
    return einsum([left, right], [c for c in left + right if c >= 100], (a, b))


products = {"matmul": matmul, "vecdot": vecdot}


# --- shapes ---------------------------------------------------------------------------------------


def expand_dims(x, axis):
    axes = axis if isinstance(axis, tuple) else (axis,)
    rank = x.ndim + len(axes)
    new = {axis_of(a, rank) for a in axes}
    old = iter(range(x.ndim))
    return view(x, tuple([None if d in new else next(old) for d in range(rank)]))


def moveaxis(x, source, destination):
    source = [axis_of(a, x.ndim) for a in (source if isinstance(source, (tuple, list)) else (source,))]
    destination = [axis_of(a, x.ndim) for a in (destination if isinstance(destination, (tuple, list)) else (destination,))]
    order = [d for d in range(x.ndim) if d not in source]
    for to, of in sorted(zip(destination, source)):
        order.insert(to, of)
    return transpose(x, order)


def of_input(name):
    """Functions of NumPy that give views, of inputs."""
    called = getattr(np, name)

    def call(x, *args, **options):
        if not isinstance(x, LazyArray) or x.op != "leaf":
            refuse(f"numpy.{name} of what is not computed yet cannot be recorded", "take it of the inputs, or compute() first")
        made = called(x.value, *args, **options)
        if made.size and not np.shares_memory(made, x.value):
            refuse(f"numpy.{name} would copy here", "call it on the array before bl.array, or after compute()")
        return array(made)

    return call


functions = {
    **{name: _fold(name) for name in lazy_ops.FOLDS}, "amin": _fold("min"), "amax": _fold("max"), "norm": norm,
    "vector_norm": lambda x, *, axis=None, keepdims=False, ord=2: norm(x, None if ord == 2 else ord, axis, keepdims),
    "cumsum": _scan("sum"), "cumprod": _scan("prod"), "cumulative_sum": _scan("sum"), "cumulative_prod": _scan("prod"),
    "ptp": lambda x, axis=None, keepdims=False: fold(x, "max", axis, keepdims is True) - fold(x, "min", axis, keepdims is True),
    "count_nonzero": lambda x, axis=None, keepdims=False: fold(cast(x, lazy_ops.BOOL), "sum", axis, keepdims),
    "nansum": lambda x, axis=None: np.sum(where(np.isnan(x), 0, x), axis=axis),
    "where": where, "clip": clip, "round": rounded, "around": rounded,
    "real": lambda x: part(x, "real"), "imag": lambda x: part(x, "imag"),
    "einsum": call_einsum, "dot": dot, "outer": outer, "inner": inner, "tensordot": tensordot,
    "transpose": transpose, "permute_dims": transpose, "swapaxes": swapaxes, "moveaxis": moveaxis, "squeeze": squeeze,
    "matrix_transpose": lambda x: swapaxes(x, -1, -2), "expand_dims": expand_dims,
    "astype": lambda x, dtype, copy=True, device=None: x.astype(dtype),
    "shape": lambda x: x.shape, "ndim": lambda x: x.ndim, "size": lambda x: x.size,
    "result_type": lambda *xs: np.result_type(*[x.dtype if isinstance(x, LazyArray) else x for x in xs]),
    "zeros_like": lambda x, dtype=None, **options: np.zeros(x.shape, dtype or x.dtype),
    "ones_like": lambda x, dtype=None, **options: np.ones(x.shape, dtype or x.dtype),
    "empty_like": lambda x, dtype=None, **options: np.empty(x.shape, dtype or x.dtype),
    **{name: of_input(name) for name in ("broadcast_to", "diagonal", "flip", "reshape", "ravel")},
}


def call_numpy(called, args, options):
    name = called.__name__
    if name not in functions:
        unknown(name)
    return functions[name](*args, **options)


def call_ours(name: str, args):
    """A function of broadloom's on lazy arrays: `bl.sigmoid(x)`."""
    if name in lazy_ops.OURS:
        x = operand(args[0])
        if x.dtype.kind == "c":
            refuse(f"bl.{name} of complex numbers cannot be recorded", "take parts or sizes first", DTypeError, "E0201")
        loop, dtype = lazy_ops.loop_of(np.exp, (x.dtype,))
        return LazyArray("map", (x,), (name, loop, None), dtype, x.shape)
    if name == "relu":
        return np.maximum(*args, 0)
    spelled = {"abs": "absolute", "round": "rint", "conj": "conjugate", "xor": "bitwise_xor", "pow": "power",
               **{"a" + f: "arc" + f for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")}}.get(name, name)
    if spelled in functions:
        return functions[spelled](*args)
    if isinstance(getattr(np, spelled, None), np.ufunc):
        return getattr(np, spelled)(*args)
    refuse(f"bl.{name} of lazy arrays cannot be recorded", "it works in kernels: @bl.kernel")


def fold_ours(name: str, value, axes, options):
    """A fold of broadloom's on a lazy array: `bl.logsumexp(x, 1)`."""
    correction = options.pop("correction", None)
    for option, given in options.items():
        if given is not None:
            refuse(f"bl.{name} of lazy arrays has no {option}=", "it works in kernels: @bl.kernel", code="E0021")
    return fold(value, name, tuple(axes) or None, correction=correction or 0)
