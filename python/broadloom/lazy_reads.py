"""Reads of lazy arrays at positions: slices, windows and diagonals of what is computed, rows that
an index names, and arrays side by side.

What is read at positions lies in memory while the kernel runs, as an input does. A view that NumPy
makes of an array is told by its strides: NumPy makes it of one without memory, whose strides are
digits apart, so that each stride of the view says how far it moves along each dim.
"""

from __future__ import annotations

import operator

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .errors import DTypeError, ShapeError
from .lazy import LazyArray, array, cast, lifted, node, operand, refuse, view
from .numpy_calls import asked

_EXTENTS = as_strided(np.zeros((), bool), (1 << 62,), (0,))  # of which a part lends an axis its extent


def read(x: LazyArray, positions, shape, indices=(), spans=()) -> LazyArray:
    """x at `positions`, one for each dim: (start, ((step, dim of the result), ..)), or the number
    of an index; `spans` are the dims of the result for those of each index."""
    if 0 in shape:  # there is nothing to be read
        return array(np.zeros(shape, x.dtype))
    moved = sorted({dim for place in positions if type(place) is tuple for _, dim in place[1]})
    named = {dim for span in spans for dim in span}
    lent = [dim for dim in range(len(shape)) if dim in moved or dim not in named]
    args = (x, *indices, *[array(_EXTENTS[: shape[dim]]) for dim in lent])
    return node("read", args, (tuple(positions), tuple(spans), tuple(lent)), x.dtype, tuple(shape))


def _view_of(x: LazyArray, called, what: str) -> LazyArray:
    """What `called` makes of x, which moves no elements. It must touch none, either."""
    if not x.ndim:
        shape = asked(called, np.empty((), "u1")).shape
        return read(x, [], shape) if any(n != 1 for n in shape) else view(x, (None,) * len(shape))
    radix = [4 * n + 3 for n in x.shape]
    digits = [1]
    for n in radix[:-1]:
        digits.append(digits[-1] * n)
    if digits[-1] * radix[-1] > 1 << 62:
        refuse(f"{what} of {x.size} elements that are not computed yet cannot be recorded", "take it of the inputs, or compute() first")
    base = as_strided(np.empty(1, "u1"), x.shape, digits)
    made = asked(called, base)
    steps = [_digits(stride, radix) if n > 1 else [0] * x.ndim for n, stride in zip(made.shape, made.strides)]
    starts = _digits(made.ctypes.data - base.ctypes.data if made.size else 0, radix)
    places = [next((d for d in range(x.ndim) if step[d] == 1 and sum(map(abs, step)) == 1 and x.shape[d] == n), None)
              for step, n in zip(steps, made.shape)]
    if not any(starts) and len({p for p in places if p is not None}) == sum(p is not None for p in places) and all(
            n == 1 for n, p in zip(made.shape, places) if p is None) and all(n == 1 for d, n in enumerate(x.shape) if d not in places):
        return view(x, tuple(places))
    positions = []
    for d, n in enumerate(x.shape):
        moves = tuple([(step[d], dim) for dim, step in enumerate(steps) if step[d]])
        downwards = moves and all(step < 0 for step, _ in moves)
        positions.append((starts[d] - n if downwards else starts[d], moves))
    return read(x, positions, made.shape)


def viewed(x: LazyArray, called, what: str) -> LazyArray:
    """What a function of NumPy's gives that moves no elements: of an input by that function."""
    if x.op != "leaf":
        return _view_of(x, called, what)
    made = asked(called, x.value)
    if isinstance(made, np.generic):  # of an array without dims
        return x
    if made.size and not np.shares_memory(made, x.value):
        refuse(f"{what} would copy here", "call it on the array before bl.array, or after compute()")
    return array(made)


def _digits(value: int, radix) -> list:
    digits = []
    for n in radix:
        digit = (value + n // 2) % n - n // 2
        digits.append(digit)
        value = (value - digit) // n
    return digits


def axis_of(axis, rank: int) -> int:
    return asked(np.lib.array_utils.normalize_axis_index, asked(operator.index, axis), rank)


# --- by an index ----------------------------------------------------------------------------------


def _index(k, n: int, mode="raise") -> LazyArray:
    """Positions along a dim of n elements. Below 0 they count from the end, as NumPy has it."""
    is_there, k = not isinstance(k, LazyArray), lifted(k)
    if not n and k.size:
        asked([].__getitem__, 0)
    if is_there and mode == "raise" and k.size and k.dtype.kind in "iu":  # NumPy says at once what is outside
        asked(range(n).__getitem__, int(k.value.min())), asked(range(n).__getitem__, int(k.value.max()))
    if k.dtype.kind not in "iu":
        refuse(f"an index of {k.dtype} cannot be recorded", "an index is of integers: x.astype(int); numpy.where chooses by a condition", DTypeError, "E0206")
    if mode == "wrap":
        return np.remainder(cast(k, np.dtype("i8")), n)
    if mode == "clip":
        return np.clip(cast(k, np.dtype("i8")), 0, n - 1)
    return k if k.dtype.kind == "u" else np.where(k < 0, cast(k, np.dtype("i8")) + n, k)


def is_index(entry) -> bool:
    return isinstance(entry, (LazyArray, np.ndarray, list))


def indexed(x: LazyArray, entries) -> LazyArray:
    """x at integers, slices, None, ... and arrays of integers, of which some are lazy."""
    arrays = [e for e in entries if is_index(e)]
    if any(np.asarray(e).dtype.kind == "b" for e in arrays if not isinstance(e, LazyArray)) or any(
            e.dtype.kind == "b" for e in arrays if isinstance(e, LazyArray)):
        refuse("a lazy array by a condition has a shape that only computing tells", "numpy.where chooses by a condition; compute() gives an array "
               "that takes others")
    if not any(e is Ellipsis for e in entries):
        entries = (*entries, ...)
    asked(np.empty([1] * x.ndim, "u1").__getitem__, tuple([0 if isinstance(e, (int, np.integer)) or is_index(e) else e for e in entries]))
    missing = x.ndim - sum(e is not None and e is not Ellipsis for e in entries)
    entries = [one for e in entries for one in ([slice(None)] * missing if e is Ellipsis else [e])]
    if x.op == "leaf":  # the slices are a view: a label that stands alone at positions has the extent of the dim
        x = array(x.value[tuple([e if isinstance(e, slice) else slice(None) for e in entries if e is not None])])
        entries = [slice(None) if isinstance(e, slice) else e for e in entries]
    spread = asked(np.broadcast_shapes, *[e.shape if isinstance(e, LazyArray) else np.shape(e) for e in arrays])
    advanced = [k for k, e in enumerate(entries) if isinstance(e, (int, np.integer)) or is_index(e)]
    together = advanced[-1] - advanced[0] == len(advanced) - 1  # else NumPy puts the dims of the indices first
    where = advanced[0] if together else 0
    count = len(entries) - len(advanced) + len(spread)
    dims = iter([d for d in range(count) if not where <= d < where + len(spread)])
    at, positions, indices, result = 0, [], [], {where + k: n for k, n in enumerate(spread)}
    for e in entries:
        if e is None:
            result[next(dims)] = 1
            continue
        n = x.shape[at]
        at += 1
        if isinstance(e, slice):
            start, stop, step = asked(e.indices, n)
            dim = next(dims)
            result[dim] = len(range(start, stop, step))
            positions.append((start - n if step < 0 else start, ((step, dim),) if result[dim] != 1 else ()))
        elif is_index(e):
            positions.append(len(indices))
            indices.append(_index(e, n))
        else:
            positions.append((asked(range(n).__getitem__, operator.index(e)), ()))
    spans = [tuple(range(where + len(spread) - k.ndim, where + len(spread))) for k in indices]
    return read(x, positions, [result[d] for d in range(count)], indices, spans)


def take(a, indices, axis=None, mode="raise"):
    if axis is None:
        a, axis = reshape(a, (-1,)) if a.ndim != 1 else a, 0
    axis = axis_of(axis, a.ndim)
    k = _index(indices, a.shape[axis], mode)
    shape = (*a.shape[:axis], *k.shape, *a.shape[axis + 1:])
    positions = [d if d < axis else d + k.ndim - 1 for d in range(a.ndim)]
    return read(a, [0 if d == axis else (0, ((1, positions[d]),)) for d in range(a.ndim)], shape, (k,), (tuple(range(axis, axis + k.ndim)),))


def take_along_axis(arr, indices, axis=-1):
    axis = axis_of(axis, arr.ndim)
    k = _index(indices, arr.shape[axis])
    shape = [n if d == axis else asked(np.broadcast_shapes, (n,), (arr.shape[d],))[0] for d, n in enumerate(k.shape)]
    return read(arr, [0 if d == axis else (0, ((1, d),) if arr.shape[d] == shape[d] else ()) for d in range(arr.ndim)], shape, (k,),
                (tuple(range(k.ndim)),))


def along(x: LazyArray, axis: int, places) -> LazyArray:
    """x at these positions along an axis, which are known as it is recorded."""
    return take(x, array(np.asarray(places, np.int64)), axis)


# --- side by side ---------------------------------------------------------------------------------


def concatenate(arrays, axis=0):
    arrays = [lifted(x) for x in arrays]
    dtype = np.result_type(*[x.dtype for x in arrays])
    arrays = [cast(x, dtype) for x in arrays]
    if axis is None:
        arrays, axis = [ravel(x) for x in arrays], 0
    axis = axis_of(axis, arrays[0].ndim) if arrays[0].ndim else refuse("arrays without dims have no side", "np.stack gives them one", ShapeError, "E0102")
    shape = list(arrays[0].shape)
    shape[axis] = sum(x.shape[axis] for x in arrays if x.ndim > axis)
    for x in arrays:
        if x.ndim != len(shape) or any(n != m for d, (n, m) in enumerate(zip(x.shape, shape)) if d != axis):
            refuse("arrays side by side have other shapes", "they may differ along axis= only", ShapeError, "E0102")
    if 0 in shape:
        return array(np.zeros(shape, dtype))
    arrays = [x for x in arrays if x.shape[axis]]
    return arrays[0] if len(arrays) == 1 else node("concat", tuple(arrays), axis, dtype, tuple(shape))


def ravel(x: LazyArray) -> LazyArray:
    return reshape(x, (-1,))


def reshape(x: LazyArray, shape) -> LazyArray:
    """The elements in C order in another shape: where dims are merged, by the positions of each."""
    shape = asked(np.empty(x.shape, np.dtype([])).reshape, shape).shape  # elements of 0 bytes
    if x.ndim == 0 or [n for n in x.shape if n != 1] == [n for n in shape if n != 1]:
        left = [d for d, n in enumerate(x.shape) if n != 1]
        places = iter(left)
        return view(x, tuple([None if n == 1 else next(places) for n in shape]))
    if x.ndim == 1:  # a dim in several
        steps = [int(np.prod(shape[d + 1:], dtype=object)) for d in range(len(shape))]
        return read(x, [(0, tuple([(step, d) for d, step in enumerate(steps) if shape[d] != 1]))], shape)
    places = [array(k) for k in np.unravel_index(np.arange(x.size).reshape(shape), x.shape)]
    return read(x, list(range(x.ndim)), shape, places, [tuple(range(len(shape)))] * x.ndim)


def sums_at(k, length: int, values=None) -> LazyArray:
    """The sum of the values, or the count, of each position below `length` that k names."""
    k = operand(k)
    length = operator.index(length)
    if k.dtype.kind not in "iu":
        refuse(f"an index of {k.dtype} cannot be recorded", "an index is of integers: x.astype(int)", DTypeError, "E0206")
    values = array(np.ones((), np.int64)) if values is None else operand(values)
    dtype = np.dtype("i8") if values.dtype.kind in "biu" else values.dtype
    bins = array(as_strided(np.zeros((), dtype), (length,), (0,)))
    return node("add_at", (bins, k, cast(values, dtype)), None, dtype, (length,))
