"""Joins, parts and places of lazy arrays: what moves elements and computes none."""

from __future__ import annotations

import operator

import numpy as np

from . import lazy_ops
from .errors import DTypeError
from .lazy import LazyArray, array, cast, lifted, refuse, view
from .lazy_reads import along, axis_of, concatenate, read, reshape, viewed
from .numpy_calls import asked, is_number


def count(n: int) -> LazyArray:
    return array(np.arange(n))


# --- joins ----------------------------------------------------------------------------------------


def stack(arrays, axis=0):
    arrays = [lifted(x) for x in arrays]
    axis = axis_of(axis, arrays[0].ndim + 1)
    return concatenate([np.expand_dims(x, axis) for x in arrays], axis)


def joined(prepare, axis):
    def call(tup):
        arrays = [prepare(lifted(x)) for x in tup]
        return concatenate(arrays, axis if arrays[0].ndim > axis else 0)

    return call


def at_least(rank: int, x: LazyArray) -> LazyArray:
    """As np.atleast_1d, .._2d and .._3d have it."""
    missing = rank - x.ndim
    if missing <= 0:
        return x
    return view(x, (None, 0, None) if rank == 3 and x.ndim == 1 else (0, 1, None) if rank == 3 and x.ndim == 2 else (*[None] * missing, *range(x.ndim)))


def column(x: LazyArray) -> LazyArray:
    return view(x, (0, None)) if x.ndim == 1 else view(x, (None, None)) if x.ndim == 0 else x


def append(arr, values, axis=None):
    return concatenate([lifted(arr), lifted(values)], axis)


def pad(array, pad_width, mode="constant", constant_values=0):
    widths = asked(np.broadcast_to, np.asarray(pad_width), (array.ndim, 2)).tolist()
    if mode not in ("constant", "edge", "wrap", "reflect", "symmetric") or not is_number(constant_values):
        refuse(f"numpy.pad with mode={mode!r} cannot be recorded", "the modes are constant, edge, wrap, reflect and symmetric", code="E0021")
    for axis, (before, after) in enumerate(widths):
        if (before, after) == (0, 0):
            continue
        if array.shape[axis] == 0 and mode == "constant":  # there is no element to read
            shape = (*array.shape[:axis], before + after, *array.shape[axis + 1:])
            array = lifted(np.broadcast_to(asked(np.array, constant_values).astype(array.dtype), shape))
            continue
        places = asked(np.pad, np.arange(array.shape[axis]), (before, after), "edge" if mode == "constant" else mode)
        inside = np.pad(np.ones(array.shape[axis], bool), (before, after)).reshape((-1, *[1] * (array.ndim - 1 - axis)))
        array = along(array, axis, places)
        if mode == "constant":
            array = cast(np.where(inside, array, constant_values), array.dtype)
    return array


# --- places ---------------------------------------------------------------------------------------


def tile(A, reps):
    reps = tuple(np.atleast_1d(reps).tolist())
    A = view(A, (*[None] * (len(reps) - A.ndim), *range(A.ndim)))
    for axis, times in enumerate(reps, A.ndim - len(reps)):
        A = A if times == 1 else along(A, axis, np.tile(np.arange(A.shape[axis]), times))
    return A


def by_places(called):
    """Of functions that move elements along one axis, or in C order: as they move positions."""
    def call(a, how, axis=None):
        if isinstance(how, LazyArray):
            refuse(f"numpy.{called.__name__} by numbers that are not there yet cannot be recorded", "give numbers, or compute() them", DTypeError, "E0021")
        a = lifted(a)
        shape, rank = a.shape, a.ndim
        if axis is None:
            a = reshape(a, (-1,))
        axis_, hows = (0, how) if axis is None else (axis, how)
        for one, by in zip(*np.broadcast_arrays(axis_, hows)) if called is np.roll and np.ndim(axis_) + np.ndim(hows) else [(axis_, hows)]:
            one = axis_of(one, a.ndim)
            a = along(a, one, asked(called, np.arange(a.shape[one]), by))
        return reshape(a, shape) if axis is None and called is np.roll and rank != 1 else a

    return call


def diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    axis = axis_of(axis, a.ndim)
    if not asked(operator.index, n):
        return a
    ends = [x if x is np._NoValue else lifted(x) for x in (prepend, append)]
    ends = [x if x is np._NoValue or x.ndim else np.broadcast_to(x, [1 if d == axis else m for d, m in enumerate(a.shape)]) for x in ends]
    parts = [x for x in (ends[0], a, ends[1]) if x is not np._NoValue]
    a = concatenate(parts, axis) if len(parts) > 1 else a
    for _ in range(asked(operator.index, n)):
        later, earlier = [a[(*[slice(None)] * axis, cut)] for cut in (slice(1, None), slice(None, -1))]
        a = np.not_equal(later, earlier) if a.dtype == lazy_ops.BOOL else later - earlier
    return a


def convolved(turned: bool):
    def call(a, v, mode="full" if turned else "valid"):
        a, v = lifted(a), lifted(v)
        if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size or mode not in ("full", "same", "valid"):
            refuse(f"numpy.{'convolve' if turned else 'correlate'} of these cannot be recorded", "it takes two arrays of one dim that are not empty, and "
                   "mode= full, same or valid", code="E0021")
        dtype = np.result_type(a.dtype, v.dtype)
        v = v if turned or v.dtype.kind != "c" else np.conjugate(v)
        short, swapped = (a, True) if len(a) < len(v) else (v, False)
        long = v if swapped else a
        n, m = len(long), len(short)
        weights = short[::-1] if turned else short
        before = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
        length = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
        after = length + m - 1 - n - before
        wide = pad(long, (before, after)) if before or after else long
        products = read(wide, [(0, ((1, 0), (1, 1)))], (length, m)) * weights
        if wide is not long and dtype.kind in "fc":  # beside the ends a NaN or an infinity meets nothing
            at = count(length)[:, None] + count(m)
            products = np.where((at >= before) & (at < before + n), products, np.zeros((), products.dtype))
        made = np.sum(products, axis=1, dtype=dtype)
        return made[::-1] if swapped and not turned else made

    return call


def triangle(lower: bool):
    def call(m, k=0):
        if not m.ndim:
            refuse("a triangle of an array without dims", "it takes an array of one dim or more", code="E0102")
        rows, columns = count(m.shape[-2:][0])[:, None], count(m.shape[-1])
        mask = columns <= rows + k if lower else columns >= rows + k
        return np.where(mask, m, np.zeros((), m.dtype))

    return call


def diag(v, k=0):
    if v.ndim == 2:
        return np.diagonal(v, k)
    if v.ndim != 1:
        refuse("numpy.diag takes an array of one or two dims", "numpy.diagonal(x) takes more", code="E0101")
    n = len(v) + abs(k)
    if not len(v):
        return array(np.zeros((n, n), v.dtype))
    places = np.clip(np.arange(n) - max(-k, 0), 0, len(v) - 1)
    return np.where(count(n) == count(n)[:, None] + k, along(v, 0, places)[:, None], np.zeros((), v.dtype))


def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def meshgrid(xi, copy=True, sparse=False, indexing="xy"):
    xi = [view(x, (0,)) if x.ndim == 1 else reshape(x, (-1,)) for x in map(lifted, xi)]
    order = [1, 0, *range(2, len(xi))] if indexing == "xy" and len(xi) > 1 else range(len(xi))
    grids = [view(x, tuple([0 if d == order[k] else None for d in range(len(xi))])) for k, x in enumerate(xi)]
    return tuple(grids) if sparse else broadcast_arrays(grids)


def broadcast_arrays(args):
    args = [lifted(x) for x in args]
    shape = asked(np.broadcast_shapes, *[x.shape for x in args])
    return tuple([x if x.shape == shape else np.broadcast_to(x, shape) for x in args])


def along_one(x: LazyArray, axis: int, k: int) -> LazyArray:
    return x[(*[slice(None)] * axis, k)]


def parts(called):
    """The parts of functions that split: views of one array."""
    def call(ary, **how):
        if any(isinstance(x, LazyArray) for x in how.values()):
            refuse(f"numpy.{called.__name__} at places that are not there yet", "give numbers", DTypeError, "E0021")
        made = asked(called, np.lib.stride_tricks.as_strided(np.empty(1, "u1"), ary.shape, [0] * ary.ndim), **how)
        return [viewed(ary, lambda value, k=k: called(value, **how)[k], f"numpy.{called.__name__}") for k in range(len(made))]

    return call
