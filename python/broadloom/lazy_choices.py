"""Choices between lazy arrays, folds that leave NaN out, and statistics."""

from __future__ import annotations

import numpy as np

from . import lazy_ops
from .errors import DataError
from .lazy import array, cast, lifted, refuse, view
from .lazy_joins import broadcast_arrays, stack
from .lazy_reads import take_along_axis
from .numpy_calls import asked, is_number


# --- choices --------------------------------------------------------------------------------------


def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not condlist:
        refuse("numpy.select takes a choice for each condition", "give lists of one length, which are not empty", code="E0102")
    dtype = np.result_type(*[x if is_number(x) else x.dtype for x in (*choicelist, default)])
    made = default if is_number(default) else lifted(default)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        made = np.where(condition, choice, made)
    return cast(made, dtype)


def piecewise(x, condlist, funclist):
    condlist = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    funclist = list(funclist)
    if len(funclist) not in (len(condlist), len(condlist) + 1):
        refuse("numpy.piecewise takes a function for each condition, and one for all else", "give as many", code="E0102")
    values = [cast(lifted(f(x) if callable(f) else f), x.dtype) for f in funclist]
    made = values.pop() if len(funclist) > len(condlist) else np.zeros((), x.dtype)
    for condition, value in zip(condlist, values):
        made = np.where(condition, value, made)
    return made if made.shape == x.shape else np.broadcast_to(made, x.shape)


def choose(a, choices, mode="raise"):
    if mode not in ("raise", "wrap", "clip"):
        refuse(f"numpy.choose with mode={mode!r} cannot be recorded", "the modes are raise, wrap and clip", code="E0021")
    arrays = broadcast_arrays([lifted(a), *choices])
    k = np.remainder(arrays[0], len(choices)) if mode == "wrap" else np.clip(arrays[0], 0, len(choices) - 1) if mode == "clip" else arrays[0]
    return take_along_axis(stack(arrays[1:]), np.expand_dims(k, 0), 0)[0]


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    a, b = lifted(a), lifted(b)
    if b.dtype.kind not in "fc":
        b = b * 1.0
    near = np.where(np.isfinite(b), np.abs(a - b) <= atol + rtol * np.abs(b), a == b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind not in "f":
        if x.dtype.kind == "c":
            refuse("numpy.nan_to_num of complex numbers cannot be recorded", "take parts first", code="E0201")
        return x
    ends = np.finfo(x.dtype)
    high, low = [cast(lifted(float(end) if given is None else given), x.dtype) for end, given in ((ends.max, posinf), (ends.min, neginf))]
    return np.where(np.isnan(x), cast(lifted(nan), x.dtype), np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))


# --- folds without NaN ----------------------------------------------------------------------------


def without_nan(name: str, instead):
    def call(a, **how):
        return getattr(np, name)(np.where(np.isnan(a), instead, a) if a.dtype.kind in "fc" else a, **how)

    return call


def nan_extreme(name: str):
    def call(a, axis=None, keepdims=False):
        if a.dtype.kind != "f":
            return getattr(np, name)(a, axis=axis, keepdims=keepdims)
        made = without_nan(name, np.inf if name == "min" else -np.inf)(a, axis=axis, keepdims=keepdims)
        return np.where(np.all(np.isnan(a), axis=axis, keepdims=keepdims), np.array(np.nan, a.dtype), made)

    return call


def nan_moment(name: str):
    def call(a, axis=None, dtype=None, ddof=0, keepdims=False):
        if a.dtype.kind not in "fc":
            return getattr(np, name)(a, axis=axis, dtype=dtype, keepdims=keepdims, **({"ddof": ddof} if name != "mean" else {}))
        a = a if dtype is None else cast(a, asked(np.dtype, dtype))
        number = np.sum(~np.isnan(a), axis=axis, keepdims=True)
        real = lazy_ops.real_of(a.dtype)
        mean = without_nan("sum", 0)(a, axis=axis, keepdims=True) / cast(number, real)
        if name != "mean":
            apart = np.abs(np.where(np.isnan(a), 0, a - mean))
            left = np.where(number > ddof, cast(number, real) - ddof, np.array(np.nan, real))
            mean = np.sum(apart * apart, axis=axis, keepdims=True) / cast(left, real)
            mean = np.sqrt(mean) if name == "std" else mean
        return mean if keepdims else np.squeeze(mean, axis if axis is not None else tuple(range(a.ndim)))

    return call


def average(a, axis=None, weights=None, keepdims=False):
    if not a.size:
        refuse("an average of nothing", "give at least one element", DataError, "E0307")
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    weights = lifted(weights)
    if weights.ndim == 1 and a.ndim > 1 and isinstance(axis, int):
        weights = view(weights, tuple([0 if d == axis % a.ndim else None for d in range(a.ndim)]))
    elif weights.shape != a.shape:
        refuse("numpy.average with weights of another shape cannot be recorded", "give weights of the shape of the array, or of one axis", code="E0021")
    dtype = np.result_type(a.dtype, weights.dtype, *(["f8"] if a.dtype.kind in "biu" else []))
    weights = np.broadcast_to(weights, a.shape) if weights.shape != a.shape else weights
    return np.sum(cast(a, dtype) * weights, axis=axis, keepdims=keepdims) / np.sum(cast(weights, dtype), axis=axis, keepdims=keepdims)


def covariance(m, y=None, rowvar=True, bias=False, ddof=None):
    """np.cov."""
    if y is not None or m.ndim > 2:
        refuse("numpy.cov with y= cannot be recorded", "stack the variables", code="E0021")
    x = view(m, (None, 0)) if m.ndim == 1 else m if rowvar else m.T
    if not x.shape[0]:
        return array(np.zeros((0, 0)))
    x = cast(x, np.result_type(x.dtype, "f8"))
    x = x - np.mean(x, axis=1, keepdims=True)
    made = (x @ np.conjugate(x.T)) / float(max(0, x.shape[1] - (ddof if ddof is not None else 0 if bias else 1)))
    return np.squeeze(made)


def corrcoef(x, y=None, rowvar=True):
    c = covariance(x, y, rowvar)
    if not c.ndim:
        return c / c
    d = np.sqrt(np.real(np.diagonal(c)))
    made = c / d[:, None] / d
    return np.clip(made, -1, 1) if made.dtype.kind == "f" else made
