"""Folds, scans and choices of lazy arrays, by NumPy's names."""

from __future__ import annotations

import numpy as np

from . import lazy_ops
from .errors import DTypeError
from .lazy import array, cast, fold, lifted, node, number, refuse, scan
from .numpy_calls import asked, is_number


def dtype_of(dtype):
    return None if dtype is None else asked(np.dtype, dtype)


def _fits(shape, whole):
    if np.broadcast_shapes(shape, whole) != whole:
        raise ValueError(f"where= of shape {shape} does not broadcast to {whole}")


_NOTHING = {"sum": 0, "prod": 1, "any": 0, "all": 1}  # what leaves a fold as it is


def reduced(name):
    def call(a, axis=None, dtype=None, keepdims=False, ddof=0, correction=None, initial=None, where=None):
        if name == "logsumexp":
            dtype = lazy_ops.loop_of(np.logaddexp, (a.dtype, a.dtype))[1]
        if name == "mean" and dtype is not None and dtype_of(dtype).kind not in "fc":
            refuse(f"numpy.mean with dtype={dtype} cannot be recorded", "x.mean().astype(..) converts the mean", code="E0021")
        if where is True:
            where = None
        if where is not None:
            where = lifted(where)
            asked(_fits, where.shape, a.shape)
            if name == "mean":
                a = cast(a, lazy_ops.fold_dtypes("mean", a.dtype, dtype_of(dtype))[0])
                chosen = np.broadcast_to(where, a.shape)
                return fold(choose(where, a, 0), "sum", axis, bool(keepdims)) / cast(fold(chosen, "sum", axis, bool(keepdims)), lazy_ops.real_of(a.dtype))
            a = choose(where, a, _NOTHING[name] if name in _NOTHING else initial)
        made = fold(a, name, axis, bool(keepdims), ddof if correction is None else correction, dtype_of(dtype))
        if initial is None:
            return made
        first = array(asked(np.asarray(initial).astype, made.dtype))
        if name in ("min", "max") and 0 in a.shape:
            return array(np.broadcast_to(first.value, made.shape))
        return {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}[name](made, first)

    return call


def choose(condition, x, other):
    return node("where", (cast(condition, lazy_ops.BOOL), x, asked(np.array, other, x.dtype)), None, x.dtype,
                asked(np.broadcast_shapes, condition.shape, x.shape))


def running(name):
    def call(a, axis=None, dtype=None):
        if name == "logsumexp":
            dtype = lazy_ops.loop_of(np.logaddexp, (a.dtype, a.dtype))[1]
        return scan(a, name, axis, dtype_of(dtype))

    return call


def cumulative(name):
    def call(x, axis=None, dtype=None, include_initial=False):
        made = running(name)(x, axis, dtype)
        if not include_initial:
            return made
        axis = 0 if axis is None else axis
        first = np.full([1 if d == axis % made.ndim else n for d, n in enumerate(made.shape)], _NOTHING[name], made.dtype)
        return np.concatenate([first, made], axis=axis)

    return call


def norm(x, ord=None, axis=None, keepdims=False):
    if ord is None or (ord == 2 and (x.ndim == 1 or isinstance(axis, int))):
        return fold(x, "norm", axis, bool(keepdims))
    if not isinstance(ord, (int, float)) or not (isinstance(axis, int) or (axis is None and x.ndim == 1)) or x.dtype.kind not in "fc":
        refuse("numpy.linalg.norm with ord= cannot be recorded", "of vectors of floats all numbers can; write others with abs, max and sum", code="E0021")
    size, how = np.abs(x), {"axis": axis, "keepdims": bool(keepdims)}
    if abs(ord) == np.inf:
        return (np.max if ord > 0 else np.min)(size, **how)
    if ord == 0:
        return cast(np.sum(size != 0, **how), size.dtype)
    return np.sum(size, **how) if ord == 1 else np.power(np.sum(np.power(size, ord), **how), 1.0 / ord)


def vector_norm(x, axis=None, keepdims=False, ord=2):
    return norm(x, None if ord == 2 else ord, axis, keepdims)


def ptp(a, axis=None, keepdims=False):
    return fold(a, "max", axis, bool(keepdims)) - fold(a, "min", axis, bool(keepdims))


def count_nonzero(a, axis=None, keepdims=False):
    return fold(cast(a, lazy_ops.BOOL), "sum", axis, bool(keepdims))


def where(condition, x=None, y=None):
    if x is None or y is None or condition is None:
        refuse("numpy.where of a condition alone cannot be recorded", "its result has a shape that only computing tells: "
               "compute() the condition first")
    if isinstance(x, str) or isinstance(y, str):
        refuse("numpy.where of texts cannot be recorded", "give numbers or arrays of them", DTypeError, "E0203")
    dtype = np.result_type(*[one if is_number(one) else one.dtype for one in (x, y)])
    args = [number(one, to) if is_number(one) else one for one, to in ((condition, lazy_ops.BOOL), (x, dtype), (y, dtype))]
    args[0] = cast(args[0], lazy_ops.BOOL)
    return node("where", tuple(args), None, dtype, asked(np.broadcast_shapes, *[one.shape for one in args]))


def clip(a, a_min=None, a_max=None, min=None, max=None):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = array(np.asarray(a)) if is_number(a) else a
    if x.dtype.kind in "iu":  # an int beyond the type bounds nothing
        low = None if type(low) is int and low < np.iinfo(x.dtype).min else low
        high = None if type(high) is int and high > np.iinfo(x.dtype).max else high
    bounds = [bound for bound in (low, high) if bound is not None]
    to = np.result_type(*[one if is_number(one) else one.dtype for one in (x, *bounds)])
    x = cast(x, to)
    if low is not None:
        x = np.maximum(x, low if is_number(low) else cast(low, to))
    return x if high is None else np.minimum(x, high if is_number(high) else cast(high, to))
