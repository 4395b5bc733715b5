"""Folds and scans of Values (intervals.py) along axes, by NumPy."""
import numpy as np

from intervals import LEAST, SUM, UNIT, Value, cast, is_float, widen
from loom_text import Refused


def result_dtype(fold, dtype):
    if fold in ("min", "max"):
        return dtype
    if fold in ("any", "all"):
        return "bool"
    if fold in ("argmin", "argmax"):
        return "i64"
    if is_float(dtype):
        return dtype
    if fold in ("sum", "prod"):
        return "u64" if dtype[0] == "u" else "i64"
    return "f64"


def finished(wide, dtype):
    """What comes out of a fold: in the dtype of the result, and as it was accumulated."""
    value = cast(wide, dtype, store=True) if wide.dtype != dtype or dtype in ("f16", "bf16") else wide
    value.whole = wide
    return value


def signless(v):
    """A zero may be of either sign."""
    if not is_float(v.dtype):
        return v
    zero = (v.lo == 0) & (v.hi == 0)
    return Value(v.dtype, np.where(zero, -LEAST[v.dtype], v.lo), np.where(zero, LEAST[v.dtype], v.hi), v.sure, v.axes)


def fold(name, v, axes, keep, init=None, correction=0):
    """Over these places of axes; `keep` are the axes of the result. init: a Value along none of
    them."""
    places = tuple(axes)
    count = int(np.prod([v.lo.shape[a] for a in places], dtype=np.int64))
    out = result_dtype(name, v.dtype)
    if init is not None and name not in ("sum", "prod", "min", "max", "any", "all"):
        raise Refused("init= of " + name)
    reduce = lambda f, x: f.reduce(x, axis=places, keepdims=True)
    every = lambda x: np.logical_and.reduce(np.broadcast_to(x, v.lo.shape), axis=places, keepdims=True)
    with np.errstate(all="ignore"):
        if name in ("any", "all"):
            return any_or_all(name, v, places, keep, init)
        if name in ("min", "max"):
            if init is not None:
                v, count = with_first(v, cast(init, v.dtype), places), count + 1
            if count == 0 and init is None:
                raise Refused(name + " of nothing")
            f = np.minimum if name == "min" else np.maximum
            # NumPy does not tell -0 from +0, and nor does what compares; a division by it is then
            # not sure.
            return finished(signless(Value(v.dtype, reduce(f, v.lo), reduce(f, v.hi), every(v.sure), keep)), v.dtype)
        if name in ("argmin", "argmax"):
            return first_of(name, v, places, keep)
        if not is_float(v.dtype) and name in ("sum", "prod"):
            f = np.add if name == "sum" else np.multiply
            x = v.lo.astype(np.uint64 if out == "u64" else np.int64)
            total = f.reduce(x, axis=places, keepdims=True, dtype=x.dtype)
            sure = every(v.sure)
            if init is not None:
                start = cast(init, out)
                total, sure = f(total, start.lo), sure & start.sure
            return Value(out, total, None, sure, keep)
        x = cast(v, "f64")
        x.sure = np.broadcast_to(x.sure, x.lo.shape)
        if init is not None:
            x, count = with_first(x, cast(init, "f64"), places), count + 1
        if name == "sum":
            return finished(summed(x, places, keep), out)
        if name == "prod":
            return finished(multiplied(x, places, keep, count), out)
        if name == "mean":
            total = summed(x, places, keep)
            return finished(Value("f64", total.lo / count, total.hi / count, total.sure, keep), out)
        if name == "norm":
            low, high = np.minimum(np.abs(x.lo), np.abs(x.hi)), np.maximum(np.abs(x.lo), np.abs(x.hi))
            low = np.where((x.lo <= 0) & (x.hi >= 0), 0, low)
            total = summed(widen(low * low, high * high, "f64", 1, x), places, keep)
            return finished(widen(np.sqrt(np.maximum(total.lo, 0)), np.sqrt(total.hi), "f64", 2, total), out)
        if name in ("var", "std"):
            return finished(variance(name, x, places, keep, count, correction), out)
        if name == "logsumexp":
            return finished(logsumexp(x, places, keep, count), out)
    raise Refused("the accumulator '%s'" % name)


def with_first(v, init, places):
    shape = [1 if a in places else n for a, n in enumerate(v.lo.shape)]
    count = int(np.prod([v.lo.shape[a] for a in places], dtype=np.int64))
    flat = lambda x: np.moveaxis(np.broadcast_to(x, v.lo.shape), places, range(-len(places), 0)).reshape(
        *[n for a, n in enumerate(v.lo.shape) if a not in places], count)
    first = lambda x: np.broadcast_to(x, shape).reshape(*[n for a, n in enumerate(shape) if a not in places], 1)
    back = lambda a, b: restored(np.concatenate([first(a), flat(b)], -1), places)
    return Value(v.dtype, back(init.lo, v.lo), back(init.hi, v.hi), back(init.sure, v.sure), v.axes)


def restored(x, places):
    """All folded elements along the last of the places, of which the others have one."""
    for place in sorted(places)[:-1]:
        x = np.expand_dims(x, place)
    return np.moveaxis(x, -1, sorted(places)[-1])


def any_or_all(name, v, places, keep, init):
    truth = cast(v, "bool")
    f = np.logical_or if name == "any" else np.logical_and
    decisive = truth.lo if name == "any" else ~truth.lo
    sure = np.broadcast_to(truth.sure, truth.lo.shape)
    value = f.reduce(truth.lo, axis=places, keepdims=True)
    settled = np.logical_or.reduce(decisive & sure, axis=places, keepdims=True)
    known = settled | np.logical_and.reduce(sure, axis=places, keepdims=True)
    value = np.where(settled, name == "any", value)
    if init is not None:
        start = cast(init, "bool")
        value, known = f(value, start.lo), known & start.sure
    return Value("bool", value, None, known, keep)


def first_of(name, v, places, keep):
    if any(v.lo.shape[a] == 0 for a in places):
        raise Refused(name + " of nothing")
    order = [a for a in range(v.lo.ndim) if a not in places] + sorted(places)
    shape = [v.lo.shape[a] for a in order[: v.lo.ndim - len(places)]]
    count = int(np.prod([v.lo.shape[a] for a in places], dtype=np.int64))
    flat = np.transpose(v.lo, order).reshape(*shape, count)
    points = np.transpose(np.broadcast_to(v.exact, v.lo.shape), order).reshape(*shape, count).all(-1)
    at = (np.argmin if name == "argmin" else np.argmax)(flat, -1)
    for place in sorted(places):
        at, points = np.expand_dims(at, place), np.expand_dims(points, place)
    return Value("i64", at.astype(np.int64), None, points, keep)


def added(a, places):
    """In extended precision: NumPy adds one after the other along all but the last axis, which
    alone may err by more than the bound of summed()."""
    return np.add.reduce(a, axis=places, keepdims=True, dtype=np.longdouble).astype(np.float64)


def summed(x, places, keep, total=None):
    """The sums of both ends, apart by what the order makes. total(array): sums along the axis of a
    scan."""
    total = total or (lambda a: added(a, places))
    finite = np.isfinite(x.lo) & np.isfinite(x.hi)
    size = total(np.where(finite, np.maximum(np.abs(x.lo), np.abs(x.hi)), 0))
    lo, hi = total(np.where(finite, x.lo, 0)), total(np.where(finite, x.hi, 0))
    # One infinity or NaN among exact elements makes the sum, whatever the order.
    special = total(np.where(finite, 0, x.lo))
    has_special = total((~finite).astype(np.float64)) > 0
    unsure = total((~(x.sure & (finite | x.exact))).astype(np.float64)) > 0
    room = SUM * size
    return Value("f64", np.where(has_special, special, lo - room), np.where(has_special, special, hi + room),
                 ~unsure & (size < 1e300), keep)


def multiplied(x, places, keep, count, f=np.multiply.reduce, total=None):
    f_all = lambda a: f(a, axis=places, keepdims=True) if total is None else f(a)
    add = total or (lambda a: np.add.reduce(a, axis=places, keepdims=True))
    usable = x.exact & np.isfinite(x.lo)
    zero = x.lo == 0
    # The order decides whether what is between becomes too large or too small.
    swings = add(np.where(usable & ~zero, np.abs(np.log2(np.abs(np.where(zero, 1, x.lo)))), 0))
    product = f_all(np.where(usable, x.lo, 1))
    sure = (add((~usable).astype(np.float64)) == 0) & (swings < 1000)
    wide = widen(product, product, "f64", 2 * count, x)
    return Value("f64", wide.lo, wide.hi, sure, keep)


def variance(name, x, places, keep, count, correction):
    usable = np.logical_and.reduce(x.sure & np.isfinite(x.lo) & np.isfinite(x.hi), axis=places, keepdims=True)
    middle = x.lo / 2 + x.hi / 2
    radius = np.maximum.reduce((x.hi - x.lo) / 2, axis=places, keepdims=True, initial=0)
    mean = added(middle, places) / max(count, 1)
    squares = added((middle - mean) ** 2, places)
    spread = np.maximum.reduce(middle, axis=places, keepdims=True, initial=-np.inf) - np.minimum.reduce(
        middle, axis=places, keepdims=True, initial=np.inf)
    # A block shifts its elements by the first of them, so that their range is what is squared and
    # rounded; a shift of each element by its radius moves the root of the sum by at most radius *
    # sqrt(count).
    root, moved = np.sqrt(squares), radius * np.sqrt(count)
    room = 2 * SUM * count * spread**2 + 8 * UNIT["f64"] * np.abs(mean) * np.sqrt(count) * root
    low = np.maximum(np.maximum(root - moved, 0) ** 2 - room, 0) / max(count - correction, 0)
    high = ((root + moved) ** 2 + room) / max(count - correction, 0) if count > correction else squares * np.nan
    if count <= correction:
        usable = usable & False
    if name == "std":
        low, high = np.sqrt(low), np.sqrt(high)
    return widen(low, high, "f64", 2, Value("f64", low, high, usable, keep))


def logsumexp(x, places, keep, count):
    top = np.maximum.reduce(x.hi, axis=places, keepdims=True, initial=-np.inf)
    usable = np.logical_and.reduce(x.sure & np.isfinite(x.lo) & np.isfinite(x.hi), axis=places, keepdims=True)
    ends = [top + np.log(added(np.exp(a - top), places)) for a in (x.lo, x.hi)]
    span = top - np.minimum.reduce(x.lo, axis=places, keepdims=True, initial=np.inf)
    # Each join of blocks and each step rounds a product with exp of a difference.
    room = (2 * SUM + 4 * UNIT["f64"]) * (1 + np.minimum(span, 800)) + 4 * UNIT["f64"] * np.abs(top)
    return Value("f64", ends[0] - room, ends[1] + room, usable & (count > 0), keep)


# ---- scans
# -----------------------------------------------------------------------------------------


def scan(name, v, axis, exclusive, reverse, init):
    """The running value along one place of axes."""
    turn = lambda x: np.flip(x, axis) if reverse else x
    full = lambda x: np.broadcast_to(x, v.lo.shape)
    v = Value(v.dtype, turn(v.lo), turn(v.hi), turn(full(v.sure)), v.axes)
    out = result_dtype(name, v.dtype)
    n = v.lo.shape[axis]
    if init is not None and name not in ("sum", "prod", "min", "max", "any", "all"):
        raise Refused("init= of a scan of " + name)
    kind = v.dtype if name in ("min", "max") else out if name in ("any", "all") or not is_float(out) else "f64"
    x = cast(v, kind)
    if init is not None or exclusive:
        start = cast(init, kind) if init is not None else identity(name, kind)
        shape = list(x.lo.shape)
        shape[axis] = 1
        first = lambda a: np.broadcast_to(a, shape)
        x = Value(kind, np.concatenate([first(start.lo), x.lo], axis), np.concatenate([first(start.hi), x.hi], axis),
                  np.concatenate([first(start.sure), np.broadcast_to(x.sure, x.lo.shape)], axis), x.axes)
    x.sure = np.broadcast_to(x.sure, x.lo.shape)
    with np.errstate(all="ignore"):
        result = running(name, x, axis, v.axes, out)
    if init is not None or exclusive:
        keep = [slice(None)] * x.lo.ndim
        keep[axis] = slice(0, n) if exclusive else slice(1, n + 1)
        keep = tuple(keep)
        result = Value(result.dtype, result.lo[keep], result.hi[keep], np.broadcast_to(result.sure, result.lo.shape)[keep], v.axes)
    return finished(Value(result.dtype, turn(result.lo), turn(result.hi), turn(np.broadcast_to(result.sure, result.lo.shape)), v.axes), out)


def identity(name, kind):
    if name in ("min", "max"):
        raise Refused("an exclusive scan of %s without init=" % name)
    value = {"sum": 0, "prod": 1, "any": 0, "all": 1}.get(name)
    if value is None:
        raise Refused("an exclusive scan of " + name)
    return cast(Value("i64", np.asarray(value, np.int64)), kind)


def running(name, x, axis, keep, out):
    sure = np.logical_and.accumulate(x.sure, axis)
    # NumPy adds one after the other here.
    add = lambda a: np.cumsum(a, axis, dtype=np.longdouble).astype(np.float64)
    if name == "sum" and is_float(x.dtype):
        return summed(x, (axis,), keep, add)
    if name == "prod" and is_float(x.dtype):
        return multiplied(x, (axis,), keep, x.lo.shape[axis], lambda a: np.cumprod(a, axis), add)
    if name in ("sum", "prod"):
        f = np.cumsum if name == "sum" else np.cumprod
        return Value(out, f(x.lo, axis, dtype=x.lo.dtype), None, sure, keep)
    if name in ("min", "max", "any", "all"):
        f = {"min": np.minimum, "max": np.maximum, "any": np.logical_or, "all": np.logical_and}[name]
        return Value(x.dtype, f.accumulate(x.lo, axis), f.accumulate(x.hi, axis), sure, keep)
    if name == "mean":
        total = summed(x, (axis,), keep, add)
        shape = [1] * x.lo.ndim
        shape[axis] = -1
        count = np.arange(1, x.lo.shape[axis] + 1).reshape(shape)
        return Value("f64", total.lo / count, total.hi / count, total.sure, keep)
    if name == "norm":
        low, high = np.minimum(np.abs(x.lo), np.abs(x.hi)), np.maximum(np.abs(x.lo), np.abs(x.hi))
        low = np.where((x.lo <= 0) & (x.hi >= 0), 0, low)
        total = summed(widen(low * low, high * high, "f64", 1, x), (axis,), keep, add)
        return widen(np.sqrt(np.maximum(total.lo, 0)), np.sqrt(total.hi), "f64", 2, total)
    raise Refused("a scan of " + name)
