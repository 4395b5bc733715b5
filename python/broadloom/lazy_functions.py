"""Functions of NumPy's on lazy arrays that are made of others: each row has a name, the parameters that are taken, and what is done.

Functions of parts, joins and positions are not asked of NumPy by small arrays, as they hang on extents; they check what they are given.
"""

from __future__ import annotations

import operator

import numpy as np

from . import lazy_ops
from .lazy import LazyArray, array, cast, lifted, refuse, view
from .lazy_reads import along, concatenate, read, reshape, take, take_along_axis
from .numpy_calls import asked, is_number


def axis_of(axis, rank: int) -> int:
    return asked(np.lib.array_utils.normalize_axis_index, asked(operator.index, axis), rank)


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
        made = np.sum(read(wide, [(0, ((1, 0), (1, 1)))], (length, m)) * weights, axis=1, dtype=dtype)
        return made[::-1] if swapped and not turned else made

    return call


def triangle(lower: bool):
    def call(m, k=0):
        m = view(m, (None, 0)) if m.ndim == 1 else m
        rows, columns = count(m.shape[-2])[:, None], count(m.shape[-1])
        mask = columns <= rows + k if lower else columns >= rows + k
        m = np.broadcast_to(m, (m.shape[-1], m.shape[-1])) if m.shape[0] == 1 and m.ndim == 2 and mask.shape[0] == 1 and m.shape[1] > 1 else m
        return np.where(mask, m, np.zeros((), m.dtype))

    return call


def diag(v, k=0):
    if v.ndim == 2:
        return np.diagonal(v, k)
    if v.ndim != 1:
        refuse("numpy.diag takes an array of one or two dims", "numpy.diagonal(x) takes more", code="E0101")
    n = len(v) + abs(k)
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


def median_free(m, y=None, rowvar=True, bias=False, ddof=None):
    """np.cov."""
    if y is not None or m.ndim > 2:
        refuse("numpy.cov with y= cannot be recorded", "stack the variables", code="E0021")
    x = view(m, (None, 0)) if m.ndim == 1 else m if rowvar else m.T
    x = cast(x, np.result_type(x.dtype, "f8"))
    x = x - np.mean(x, axis=1, keepdims=True)
    made = (x @ np.conjugate(x.T)) / float(x.shape[1] - (ddof if ddof is not None else 0 if bias else 1))
    return made[0, 0] if m.ndim == 1 else made


def corrcoef(x, y=None, rowvar=True):
    c = median_free(x, y, rowvar)
    if not c.ndim:
        return c / c
    d = np.sqrt(np.real(np.diagonal(c)))
    made = c / d[:, None] / d
    return np.clip(made, -1, 1) if made.dtype.kind == "f" else made


# --- products and polynomials ---------------------------------------------------------------------


def kron(a, b):
    a, b = lifted(a), lifted(b)
    rank = max(a.ndim, b.ndim)
    a, b = [view(x, (*[None] * (rank - x.ndim), *range(x.ndim))) for x in (a, b)]
    one = view(a, tuple([p for d in range(rank) for p in (d, None)]))
    other = view(b, tuple([p for d in range(rank) for p in (None, d)]))
    return reshape(one * other, [n * m for n, m in zip(a.shape, b.shape)])


def cross(a, b):
    a, b = lifted(a), lifted(b)
    if a.shape[-1:] != (3,) or b.shape[-1:] != (3,):
        refuse("numpy.cross of other than vectors of 3 cannot be recorded", "write the components", code="E0102")
    turned = lambda x, places: along(x, x.ndim - 1, places)
    return turned(a, [1, 2, 0]) * turned(b, [2, 0, 1]) - turned(a, [2, 0, 1]) * turned(b, [1, 2, 0])


def polyval(p, x):
    p, x = lifted(p), lifted(x)
    if p.ndim != 1 or not 0 < len(p) <= 64:
        refuse("numpy.polyval takes 1 to 64 coefficients", "write the polynomial", code="E0021")
    made = np.multiply(x, np.zeros((), np.result_type(x.dtype, p.dtype)))
    for k in range(len(p)):
        made = made * x + p[k]
    return made


def vander(x, N=None, increasing=False):
    N = len(x) if N is None else asked(operator.index, N)
    powers = np.arange(N) if increasing else np.arange(N)[::-1]
    dtype = np.result_type(x.dtype, int)
    return np.power(cast(x, dtype)[:, None], powers.astype(dtype) if dtype.kind != "c" else powers.astype("f8"))


# --- searches: each element with each ---------------------------------------------------------------


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
    if not isinstance(bins, np.ndarray) or bins.ndim != 1 or len(bins) < 2 or np.any(np.diff(bins) < 0):
        refuse("numpy.digitize takes bins of NumPy's that increase", "give them as an array that is there", code="E0021")
    return searchsorted(array(bins), x, "left" if right else "right")


def isin(element, test_elements, invert=False):
    element, tests = lifted(element), lifted(test_elements)
    found = np.any(element[..., None] == (tests if tests.ndim == 1 else reshape(tests, (-1,))), axis=-1)
    return np.logical_not(found) if invert else found


def sinc(x):
    y = np.multiply(np.where(x == 0, 1.0e-20, x), np.pi)
    return np.sin(y) / y


def rounded(a, decimals=0):
    decimals = asked(operator.index, decimals)
    if a.dtype.kind in "iub":
        if decimals < 0:
            refuse("numpy.round of integers with decimals= below 0 cannot be recorded", "divide and multiply", code="E0021")
        return a if a.dtype.kind != "b" else np.rint(a)
    if decimals == 0:
        return np.rint(a) if a.dtype.kind != "c" else refuse("numpy.round of complex numbers cannot be recorded", "round the parts", code="E0201")
    power = 10.0 ** abs(decimals)
    return np.rint(a * power) / power if decimals > 0 else np.rint(a / power) * power


def trapezoid(y, x=None, dx=1.0, axis=-1):
    axis = axis_of(axis, y.ndim)
    later, earlier = [y[(*[slice(None)] * axis, cut)] for cut in (slice(1, None), slice(None, -1))]
    if x is not None:
        x = lifted(x)
        dx = diff(x, axis=0 if x.ndim == 1 else axis)
        dx = view(dx, tuple([0 if d == axis else None for d in range(y.ndim)])) if x.ndim == 1 else dx
    return np.sum(dx * (later + earlier) / 2.0, axis=axis)


def array_equal(a1, a2, equal_nan=False):
    a1, a2 = lifted(a1), lifted(a2)
    if a1.shape != a2.shape:
        return array(np.asarray(False))
    same = a1 == a2
    return np.all(same | (np.isnan(a1) & np.isnan(a2)) if equal_nan else same)


def parts(called):
    """The parts of functions that split: views of one array."""
    def call(ary, **how):
        made = asked(called, np.lib.stride_tricks.as_strided(np.empty(1, "u1"), ary.shape, [0] * ary.ndim), **how)
        from .lazy_numpy import viewed

        return [viewed(ary, lambda value, k=k: called(value, **how)[k], f"numpy.{called.__name__}") for k in range(len(made))]

    return call


ROWS = [
    ("angle", "z", lambda _: lambda z: np.arctan2(np.imag(z), np.real(z)) if z.dtype.kind == "c" else np.arctan2(np.zeros((), z.dtype), z)),
    ("array_equal", "a1 a2 equal_nan", lambda _: array_equal), ("copy", "a", lambda _: lambda a: a), ("trapezoid", "y x dx axis", lambda _: trapezoid),
    ("ediff1d", "ary", lambda _: lambda ary: diff(reshape(ary, (-1,)))),
    ("isneginf isposinf", "x", lambda name: lambda x: np.isinf(x) & (x < 0 if name == "isneginf" else x > 0)),
    ("isreal", "x", lambda _: lambda x: np.equal(np.imag(x), 0) if x.dtype.kind == "c" else np.equal(x, x) | True),
    ("iscomplex", "x", lambda _: lambda x: np.not_equal(np.imag(x), 0) if x.dtype.kind == "c" else np.not_equal(x, x) & False),
    ("vdot", "a b", lambda _: lambda a, b: np.dot(np.conjugate(reshape(lifted(a), (-1,))), reshape(lifted(b), (-1,)))),
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
    ("select", "condlist choicelist default", lambda _: select), ("piecewise", "x condlist funclist", lambda _: piecewise),
    ("choose", "a choices mode", lambda _: choose), ("isclose", "a b rtol atol equal_nan", lambda _: isclose),
    ("allclose", "a b rtol atol equal_nan", lambda _: lambda a, b, **how: np.all(isclose(a, b, **how))),
    ("nan_to_num", "x copy nan posinf neginf", lambda _: nan_to_num),
    ("nanprod", "a axis keepdims", lambda _: without_nan("prod", 1)), ("nansum", "a axis keepdims", lambda _: without_nan("sum", 0)),
    ("nancumsum", "a axis", lambda _: without_nan("cumsum", 0)), ("nancumprod", "a axis", lambda _: without_nan("cumprod", 1)),
    ("nanmin nanmax", "a axis keepdims", lambda name: nan_extreme(name[3:])), ("nanmean", "a axis dtype keepdims", lambda name: nan_moment("mean")),
    ("nanvar nanstd", "a axis dtype ddof keepdims", lambda name: nan_moment(name[3:])), ("average", "a axis weights keepdims", lambda _: average),
    ("cov", "m y rowvar bias ddof", lambda _: median_free), ("corrcoef", "x y rowvar", lambda _: corrcoef), ("kron", "a b", lambda _: kron),
    ("cross", "a b", lambda _: cross), ("polyval", "p x", lambda _: polyval), ("vander", "x N increasing", lambda _: vander),
    ("searchsorted", "a v side", lambda _: searchsorted), ("digitize", "x bins right", lambda _: digitize),
    ("atleast_1d atleast_2d atleast_3d", "arys", lambda name: lambda arys: at_least(int(name[8]), lifted(arys[0])) if len(arys) == 1 else tuple(
        [at_least(int(name[8]), lifted(x)) for x in arys])),
    ("isin", "element test_elements invert", lambda _: isin), ("sinc", "x", lambda _: sinc), ("fix", "x", lambda _: lambda x: np.trunc(x)),
    ("round around", "a decimals", lambda _: rounded), ("split array_split", "ary indices_or_sections axis", lambda name: parts(getattr(np, name))),
    ("hsplit vsplit dsplit", "ary indices_or_sections", lambda name: parts(getattr(np, name))),
]
