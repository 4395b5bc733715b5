"""Functions of NumPy's on lazy arrays that are made of others: each row has names, the parameters
that are taken, and what is done.

NumPy is not asked about the whole of such a function by small arrays, as some hang on extents: it
is asked about what they are made of.
"""

from __future__ import annotations

import functools
import operator

import numpy as np

from .lazy import LazyArray, array, cast, lifted, refuse, view
from .lazy_choices import average, choose, corrcoef, covariance
from .lazy_joins import (append, at_least, along_one, broadcast_arrays, by_places, column, convolved, diag, diff, joined, meshgrid, pad, parts, stack,
                         tile, trace, triangle)
from .lazy_reads import along, axis_of, concatenate, reshape, take, take_along_axis
from .numpy_calls import asked


# --- products and polynomials ---------------------------------------------------------------------


def kron(a, b):
    a, b = lifted(a), lifted(b)
    rank = max(a.ndim, b.ndim)
    a, b = [view(x, (*[None] * (rank - x.ndim), *range(x.ndim))) for x in (a, b)]
    one = view(a, tuple([p for d in range(rank) for p in (d, None)]))
    other = view(b, tuple([p for d in range(rank) for p in (None, d)]))
    return reshape(one * other, [n * m for n, m in zip(a.shape, b.shape)])


def cross(a, b, axis=-1):
    a, b = lifted(a), lifted(b)
    if axis != -1:
        return np.moveaxis(cross(np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)), -1, axis)
    if a.shape[-1:] != (3,) or b.shape[-1:] != (3,):
        refuse("numpy.cross of other than vectors of 3 cannot be recorded", "write the components", code="E0102")
    turned = lambda x, places: along(x, x.ndim - 1, places)
    return turned(a, [1, 2, 0]) * turned(b, [2, 0, 1]) - turned(a, [2, 0, 1]) * turned(b, [1, 2, 0])


def vander(x, N=None, increasing=False):
    N = len(x) if N is None else asked(operator.index, N)
    powers = np.arange(N) if increasing else np.arange(N)[::-1]
    dtype = np.result_type(x.dtype, int)
    return np.power(cast(x, dtype)[:, None], powers.astype(dtype) if dtype.kind != "c" else powers.astype("f8"))


# --- searches: each element with each
# ---------------------------------------------------------------


def searchsorted(a, v, side="left"):
    a, v = lifted(a), lifted(v)
    if a.ndim != 1 or side not in ("left", "right"):
        refuse("numpy.searchsorted of these cannot be recorded", "it takes an array of one dim, and side= left or right", code="E0021")
    v = v[..., None]
    before = a < v if side == "left" else a <= v
    if v.dtype.kind == "f" or a.dtype.kind == "f":  # NaNs come last
        before = np.where(np.isnan(v), np.logical_not(np.isnan(a)) if side == "left" else np.equal(a, a) | np.isnan(a), before)
    return np.sum(before, axis=-1)


def digitize(x, bins, right=False):
    if isinstance(bins, LazyArray):
        refuse("numpy.digitize takes bins that are there", "np.searchsorted(bins, x) takes lazy ones that increase", code="E0021")
    bins, side = np.asarray(bins), "left" if right else "right"
    asked(np.digitize, np.zeros(0), bins)
    return len(bins) - searchsorted(array(bins[::-1]), x, side) if len(bins) and bins[0] > bins[-1] else searchsorted(array(bins), x, side)


def isin(element, test_elements, invert=False):
    element, tests = lifted(element), lifted(test_elements)
    found = np.any(element[..., None] == (tests if tests.ndim == 1 else reshape(tests, (-1,))), axis=-1)
    return np.logical_not(found) if invert else found


def array_equal(a1, a2, equal_nan=False):
    a1, a2 = lifted(a1), lifted(a2)
    if a1.shape != a2.shape:
        return array(np.asarray(False))
    same = a1 == a2
    return np.all(same | (np.isnan(a1) & np.isnan(a2)) if equal_nan else same)


def matrix_norm(x, keepdims=False, ord="fro"):
    if ord == "fro":
        return np.linalg.norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        refuse(f"numpy.linalg.matrix_norm with ord={ord!r} cannot be recorded", "it is no loop over elements: compute() the array first", code="E0021")
    sums = np.sum(np.abs(x), axis=-2 if abs(ord) == 1 else -1, keepdims=True)
    made = (np.max if ord > 0 else np.min)(sums, axis=(-2, -1), keepdims=True)
    return made if keepdims else np.squeeze(made, (-2, -1))


def matrix_power(a, n):
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or asked(operator.index, n) < 0:
        refuse("numpy.linalg.matrix_power of these cannot be recorded", "it takes square matrices and a power of 0 or more", code="E0021")
    made = np.broadcast_to(array(np.eye(a.shape[-1], dtype=a.dtype)), a.shape) if n == 0 else a
    for bit in bin(n)[3:]:
        made = made @ made
        made = made @ a if bit == "1" else made
    return made


ROWS = [
    ("linalg.matmul linalg.outer linalg.vecdot", "x1 x2 axis", lambda name: lambda x1, x2, axis=-1: np.vecdot(np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1))
     if name.endswith("vecdot") else getattr(np, name[7:])(x1, x2)),
    ("linalg.tensordot", "x1 x2 axes", lambda _: lambda x1, x2, axes=2: np.tensordot(x1, x2, axes)), ("linalg.matrix_norm", "x keepdims ord", lambda _: matrix_norm),
    ("linalg.trace", "x offset dtype", lambda _: lambda x, offset=0, dtype=None: trace(x, offset, -2, -1, dtype)),
    ("linalg.matrix_power", "a n", lambda _: matrix_power), ("linalg.multi_dot", "arrays", lambda _: lambda arrays: functools.reduce(np.dot, arrays)),
    ("array_equal", "a1 a2 equal_nan", lambda _: array_equal), ("copy", "a", lambda _: lambda a: array(a.value.copy()) if a.op == "leaf" else a),
    ("ediff1d", "ary", lambda _: lambda ary: (lambda x: x[1:] - x[:-1])(reshape(ary, (-1,)))),
    ("vdot", "a b", lambda _: lambda a, b: np.dot(reshape(lifted(a), (-1,)).conj(), reshape(lifted(b), (-1,)))),
    ("unstack", "x axis", lambda _: lambda x, axis=0: tuple([along_one(x, axis_of(axis, x.ndim), k) for k in range(x.shape[axis])])),
    ("concatenate", "arrays axis", lambda _: concatenate), ("stack", "arrays axis", lambda _: stack), ("append", "arr values axis", lambda _: append),
    ("vstack", "tup", lambda _: joined(lambda x: at_least(2, x), 0)), ("hstack", "tup", lambda _: joined(lambda x: at_least(1, x), 1)),
    ("dstack", "tup", lambda _: joined(lambda x: at_least(3, x), 2)), ("column_stack", "tup", lambda _: joined(column, 1)),
    ("tile", "A reps", lambda _: tile), ("pad", "array pad_width mode constant_values", lambda _: pad), ("diff", "a n axis prepend append", lambda _: diff),
    ("roll", "a shift axis", lambda _: lambda a, shift, axis=None: by_places(np.roll)(a, shift, axis)),
    ("repeat", "a repeats axis", lambda _: lambda a, repeats, axis=None: by_places(np.repeat)(a, repeats, axis)),
    ("delete", "arr obj axis", lambda _: lambda arr, obj, axis=None: by_places(np.delete)(arr, obj, axis)),
    ("convolve correlate", "a v mode", lambda name: convolved(name == "convolve")), ("take", "a indices axis mode", lambda _: take),
    ("take_along_axis", "arr indices axis", lambda _: take_along_axis), ("tril triu", "m k", lambda name: triangle(name == "tril")),
    ("diag", "v k", lambda _: diag), ("diagflat", "v k", lambda _: lambda v, k=0: diag(reshape(v, (-1,)), k)),
    ("trace", "a offset axis1 axis2 dtype", lambda _: trace),
    ("meshgrid", "xi copy sparse indexing", lambda _: meshgrid), ("broadcast_arrays", "args", lambda _: broadcast_arrays),
    ("choose", "a choices mode", lambda _: choose),
    ("average", "a axis weights keepdims", lambda _: average),
    ("cov", "m y rowvar bias ddof", lambda _: covariance), ("corrcoef", "x y rowvar", lambda _: corrcoef), ("kron", "a b", lambda _: kron),
    ("cross", "a b axis", lambda _: cross), ("linalg.cross", "x1 x2 axis", lambda _: lambda x1, x2, axis=-1: cross(x1, x2, axis)), ("vander", "x N increasing", lambda _: vander),
    ("searchsorted", "a v side", lambda _: searchsorted), ("digitize", "x bins right", lambda _: digitize),
    ("atleast_1d atleast_2d atleast_3d", "arys", lambda name: lambda arys: at_least(int(name[8]), lifted(arys[0])) if len(arys) == 1 else tuple(
        [at_least(int(name[8]), lifted(x)) for x in arys])),
    ("isin", "element test_elements invert", lambda _: isin),
    ("split array_split", "ary indices_or_sections axis", lambda name: parts(getattr(np, name))),
    ("hsplit vsplit dsplit", "ary indices_or_sections", lambda name: parts(getattr(np, name))),
]
