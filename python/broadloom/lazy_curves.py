"""Functions of NumPy's about sampled curves and polynomials, and counts of bins, of lazy arrays."""

from __future__ import annotations

import operator

import numpy as np

from .formulas import between
from .lazy import LazyArray, array, cast, lifted, refuse, view
from .lazy_joins import axis_of
from .lazy_reads import along, concatenate, reshape, sums_at
from .numpy_calls import asked, is_number


def _cut(x, axis: int, begin, end):
    return x[(*[slice(None)] * axis, slice(begin, end))]


def interp(x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        refuse("numpy.interp with period= cannot be recorded", "np.remainder(x, period), and points of one period that are in order", code="E0021")
    x, xp, fp = lifted(x), lifted(xp), lifted(fp)
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        refuse("numpy.interp takes points as two arrays of one dim", "of one length, which is not 0", code="E0102")
    x, xp, fp = cast(x, np.dtype("f8")), cast(xp, np.dtype("f8")), cast(fp, np.dtype("D" if fp.dtype.kind == "c" else "f8"))
    left, right = [fp[at] if given is None else given for given, at in ((left, 0), (right, -1))]
    k = np.clip(np.sum(xp <= x[..., None], axis=-1) - 1, 0, max(len(xp) - 2, 0))
    next_ = np.minimum(k + 1, len(xp) - 1)
    x0, x1, f0, f1 = xp[k], xp[next_], fp[k], fp[next_]
    return between(x, (x0, x1), (f0, f1), (xp[0], xp[-1]), (left, right))


def gradient(f, *varargs, axis=None, edge_order=1):
    f = lifted(f)
    axes = tuple([axis_of(a, f.ndim) for a in (range(f.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,))])
    steps = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    if len(steps) != len(axes) or any(not (is_number(h) or np.ndim(h) == 0) for h in steps) or edge_order not in (1, 2):
        refuse("numpy.gradient of these cannot be recorded", "it takes a number as the step of each axis, and edge_order= 1 or 2", code="E0021")
    if f.dtype.kind in "iub":
        f = cast(f, np.dtype("f8"))
    made = [_slope(f, a, h, edge_order) for a, h in zip(axes, steps)]
    return made[0] if len(made) == 1 else tuple(made)


def _slope(f, axis: int, h, edge: int):
    if f.shape[axis] < edge + 1:
        refuse(f"numpy.gradient of {f.shape[axis]} elements", f"it takes {edge + 1} along each axis", code="E0102")
    at = lambda begin, end=None: _cut(f, axis, begin, end)
    inner = (at(2) - at(0, -2)) / (2.0 * h)
    if edge == 1:
        first, last = (at(1, 2) - at(0, 1)) / h, (at(-1) - at(-2, -1)) / h
    else:
        first = (-1.5 / h) * at(0, 1) + (2.0 / h) * at(1, 2) + (-0.5 / h) * at(2, 3)
        last = (0.5 / h) * at(-3, -2) + (-2.0 / h) * at(-2, -1) + (1.5 / h) * at(-1)
    return cast(concatenate([first, inner, last], axis), f.dtype)


def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    axis = axis_of(axis, p.ndim)
    d = _cut(p, axis, 1, None) - _cut(p, axis, None, -1)
    dtype = np.result_type(d.dtype, *[x if is_number(x) else x.dtype for x in (period,)])
    half, whole = (period / 2, False) if dtype.kind != "i" or type(period) is not int else (period // 2, period % 2 == 0)
    moved = np.remainder(d + half, period) - half
    if dtype.kind != "i" or whole:
        moved = np.where((moved == -half) & (d > 0), half, moved)
    jump = moved - d
    jump = np.where(np.abs(d) < (half if discont is None else discont), 0, jump)
    rest = _cut(p, axis, 1, None) + np.cumsum(jump, axis=axis)
    return concatenate([cast(_cut(p, axis, 0, 1), dtype), cast(rest, dtype)], axis)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    num = asked(operator.index, num)
    if num < 0 or retstep:
        refuse("numpy.linspace of these cannot be recorded", "num= is a number of elements; retstep= is not taken", code="E0021")
    start, stop = lifted(start) * 1.0, lifted(stop) * 1.0
    parts = num - 1 if endpoint else num
    wide = np.result_type(start.dtype, stop.dtype, float(num))
    start, stop = np.broadcast_arrays(cast(start, wide), cast(stop, wide))
    k = array(np.arange(num)[(...,) + (None,) * start.ndim])
    step = (stop - start) / float(parts) if parts > 0 else stop - start
    made = np.where(step == 0, cast(k, wide) / float(max(parts, 1)) * (stop - start), cast(k, wide) * step) + start
    if endpoint and num > 1:
        made = np.where(k == num - 1, stop, made)
    dtype = wide if dtype is None else asked(np.dtype, dtype)
    made = cast(np.floor(made) if dtype.kind in "iu" else made, dtype)
    return np.moveaxis(made, 0, axis_of(axis, made.ndim)) if made.ndim > 1 else made


def histogram(a, bins=10, range=None, density=None, weights=None):
    """Counts in bins that are known as it is recorded; which bin is found as NumPy does it."""
    if isinstance(bins, (str, LazyArray)) or (np.ndim(bins) == 0 and range is None):
        refuse("numpy.histogram needs bins that are known before the elements are", "range=(low, high) with a number of bins, or their edges in order",
               code="E0021")
    edges = asked(np.histogram_bin_edges, np.zeros(0, lifted(a).dtype), bins, range)
    count, a = len(edges) - 1, reshape(lifted(a), (-1,))
    x = cast(a, np.result_type(a.dtype, edges.dtype)) if np.ndim(bins) == 0 else a
    ends, low, high = array(edges), edges[0], edges[-1]
    inside = (x >= low) & (x <= high)
    if np.ndim(bins) == 0:
        k = np.clip(np.floor(np.where(inside, (x - low) * (count / (high - low)), 0)).astype("i8"), 0, count - 1)
        k = np.where(x < ends[k], np.maximum(k, 1) - 1, k)
        k = np.where((x >= ends[k + 1]) & (k != count - 1), k + 1, k)
    else:
        k = np.clip(np.sum(ends <= x[..., None], axis=-1) - 1, 0, count - 1)
    weights = None if weights is None else reshape(lifted(weights), (-1,))
    made = sums_at(np.where(inside, k, count), count + 1, weights)[:-1]
    made = made if weights is None else cast(made, weights.dtype)
    if density:
        made = made / np.diff(edges) / np.sum(made)
    return made, edges


# --- polynomials ----------------------------------------------------------------------------------


def polyadd(sign: int):
    def call(a1, a2):
        one, other = [np.atleast_1d(lifted(x)) for x in (a1, a2)]
        longest = max(len(one), len(other))
        one, other = [np.concatenate([np.zeros(longest - len(x), x.dtype), x]) if len(x) < longest else x for x in (one, other)]
        return one + other if sign > 0 else one - other

    return call


def polyder(p, m=1):
    for _ in range(asked(operator.index, m)):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


def polyint(p, m=1, k=None):
    m = asked(operator.index, m)
    constants = np.zeros(m) if k is None else np.broadcast_to(np.asarray(k, float), (m,))
    for constant in constants:
        p = np.concatenate([p / np.arange(len(p), 0, -1), np.array([constant])])
    return p


# --- more moves -----------------------------------------------------------------------------------


def block(arrays):
    """Lists in lists: the innermost side by side along the last axis."""
    depth = lambda x: 1 + max(map(depth, x), default=0) if type(x) is list else 0
    levels = depth(arrays)
    rank = max(levels, max([lifted(x).ndim for x in _flat(arrays)], default=0))

    def made(x, level):
        if type(x) is not list:
            x = lifted(x)
            return view(x, (*[None] * (rank - x.ndim), *range(x.ndim)))
        if not x or (level < levels - 1) != (type(x[0]) is list):
            refuse("numpy.block of lists of several depths, or of empty ones", "nest them all alike", code="E0102")
        return concatenate([made(one, level + 1) for one in x], rank - levels + level)

    return made(arrays, 0)


def _flat(x):
    return [y for one in x for y in _flat(one)] if type(x) is list else [x]


def insert(arr, obj, values, axis=None):
    if axis is None:
        arr, axis = reshape(arr, (-1,)), 0
    axis, values = axis_of(axis, arr.ndim), cast(lifted(values), arr.dtype)
    if isinstance(obj, (LazyArray, slice)) or np.asarray(obj).dtype.kind == "b" or values.ndim > arr.ndim or (np.ndim(obj) == 0 and values.ndim and arr.ndim > 1):
        refuse("numpy.insert of these cannot be recorded", "it takes places that are there, a list for several, and values that fit beside them", code="E0021")
    n = arr.shape[axis]
    count = len(obj) if np.ndim(obj) else values.size if arr.ndim == 1 else 1
    places = asked(np.insert, np.arange(n), obj, np.arange(n, n + count))
    values = np.broadcast_to(values, [count if d == axis else m for d, m in enumerate(arr.shape)])
    return along(concatenate([arr, values], axis), axis, places)


def resize(a, new_shape):
    flat = reshape(a, (-1,))
    places = asked(np.resize, np.arange(a.size), new_shape)
    return array(np.zeros(places.shape, a.dtype)) if not a.size else along(flat, 0, places)


def full_like(a, fill_value, dtype=None, shape=None):
    like = np.empty_like(np.broadcast_to(np.zeros((), lifted(a).dtype), lifted(a).shape), dtype, shape=shape)
    if not isinstance(fill_value, LazyArray):
        return np.full_like(like, fill_value)
    return np.broadcast_to(cast(fill_value, like.dtype), like.shape)


def compress(condition, a, axis=None):
    if isinstance(condition, LazyArray):
        refuse("numpy.compress by what is not there yet", "its result has a shape that only computing tells: compute() the condition first")
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    return along(a, axis_of(axis, a.ndim), asked(np.compress, condition, np.arange(a.shape[axis])))


def apply_over_axes(func, a, axes):
    for axis in np.atleast_1d(axes).tolist():
        made = func(a, axis)
        a = made if made.ndim == a.ndim else np.expand_dims(made, axis_of(axis, a.ndim))
    return a


def array_equiv(a1, a2):
    a1, a2 = lifted(a1), lifted(a2)
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return array(np.asarray(False))
    return np.all(a1 == a2)


def ix_(args):
    args = [lifted(x) for x in args]
    if any(x.ndim != 1 or x.dtype.kind == "b" for x in args):
        refuse("numpy.ix_ takes indices of one dim", "of integers: which elements a condition chooses is not known until they are there", code="E0102")
    return tuple([view(x, tuple([0 if d == k else None for d in range(len(args))])) for k, x in enumerate(args)])


ROWS = [
    ("interp", "x xp fp left right period", lambda _: interp), ("unwrap", "p discont axis period", lambda _: unwrap),
    ("gradient", "f varargs axis edge_order", lambda _: lambda f, varargs=(), **how: gradient(f, *varargs, **how)),
    ("linspace", "start stop num endpoint retstep dtype axis", lambda _: linspace),
    ("histogram", "a bins range density weights", lambda _: histogram),
    ("polyadd polysub", "a1 a2", lambda name: polyadd(1 if name == "polyadd" else -1)), ("polyder", "p m", lambda _: polyder), ("polyint", "p m k", lambda _: polyint),
    ("block", "arrays", lambda _: block), ("insert", "arr obj values axis", lambda _: insert), ("resize", "a new_shape", lambda _: resize),
    ("full_like", "a fill_value dtype shape", lambda _: full_like), ("compress", "condition a axis", lambda _: compress),
    ("extract", "condition arr", lambda _: lambda condition, arr: compress(np.ravel(condition) if not isinstance(condition, LazyArray) else condition, arr)),
    ("apply_over_axes", "func a axes", lambda _: apply_over_axes), ("array_equiv", "a1 a2", lambda _: array_equiv), ("ix_", "args", lambda _: ix_),
]
