"""Choices between lazy arrays, and statistics."""

from __future__ import annotations

import numpy as np

from .errors import DataError
from .lazy import array, cast, lifted, refuse, view
from .lazy_joins import broadcast_arrays, stack
from .lazy_reads import take_along_axis


def choose(a, choices, mode="raise"):
    if mode not in ("raise", "wrap", "clip"):
        refuse(f"numpy.choose with mode={mode!r} cannot be recorded", "the modes are raise, wrap and clip", code="E0021")
    arrays = broadcast_arrays([lifted(a), *choices])
    k = np.remainder(arrays[0], len(choices)) if mode == "wrap" else np.clip(arrays[0], 0, len(choices) - 1) if mode == "clip" else arrays[0]
    return take_along_axis(stack(arrays[1:]), np.expand_dims(k, 0), 0)[0]


def average(a, axis=None, weights=None, keepdims=False):
    mean = np.mean(a, axis=axis, keepdims=keepdims) if weights is None or not a.size else None
    if not a.size and (weights is None) == (not mean.size):  # as NumPy has it: it divides by the number of means, or by the sum of the weights
        refuse("an average of nothing", "give at least one element", DataError, "E0307")
    if weights is None:
        return mean
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
