"""Traced values side by side: NumPy's functions that join them, and borders around one.

An axis along which values lie side by side is one of its own, as its extent is another.
"""

from __future__ import annotations

import functools
import operator

import numpy as np

from .errors import ShapeError, SpecError
from .expr import Expr, caller, operand
from .formulas import cast, dtype_of, word_of
from .numpy_calls import asked
from .trace_axes import Length, as_array, at_labels, axes_of, free, joined, longer, lying, ordered, place
from .trace_text import tracing


def in_one_dtype(values) -> list:
    """The values as NumPy lays them into one array: of the dtype that all go into."""
    words = [word_of(value) for value in values]
    if len({*words}) < 2 or "?" in words:
        return values
    dtype = functools.reduce(np.promote_types, map(dtype_of, values))
    return [cast(value, dtype) for value in values]


def concatenate(arrays, axis=0, name="all") -> Expr:
    values = in_one_dtype([operand(x) for x in arrays])
    axes = axes_of(values[0])
    d = axes.index(axis) if axis in axes else place(axis, len(axes))
    label = joined(axes[d], [axes_of(value)[d] for value in values if len(axes_of(value)) == len(axes)], f"{axes[d]}_{name}")
    labels = (*axes[:d], label, *axes[d + 1:])

    def read(value):  # the axis that has another name is the one along which they lie side by side
        own = axes_of(value)
        others = [a for a in own if a not in labels]
        named = tuple([label if a == others[0] else a for a in own]) if len(others) == 1 and len(own) == len(axes) else labels
        return as_array(value)[named]

    reads = [read(value) for value in values]
    made = lying(Expr((f"concat({label}", *[part for read in reads for part in (", ", read)], ")"), caller()), labels)
    made.marked = True  # what it meets is looked at: the axis is none of its parts
    return made


def stack(arrays, axis=0) -> Expr:
    values = in_one_dtype([operand(x) for x in arrays])
    axes = axes_of(values[0])
    if any(len(axes_of(value)) != len(axes) for value in values):
        raise ShapeError("E0101", "values on each other have other numbers of dims", caller(), "x[:, None] gives a value a dim of 1, and np.concatenate takes them side by side")
    d = place(axis, len(axes) + 1)
    label = free(f"stack_len_{len(values)}", *axes)
    tracing.lengths[label] = Length(label, label, 0, len(values))
    parts = [value if {*axes_of(value)} == {*axes} else at_labels(value, axes) for value in values]
    made = lying(Expr((f"stack({label}", *[part for value in parts for part in (", ", value)], ")"), caller()), (*axes[:d], label, *axes[d:]))
    made.marked = True
    return made


def _joined(axis: int, is_stacked: bool):
    """np.vstack and others: along an axis, or of values of one dim along a new one."""
    def call(tup):
        rank = len(axes_of(operand(tup[0])))
        return concatenate(tup, axis) if rank > 1 else stack(tup, axis) if is_stacked else concatenate(tup, 0)

    return call


def tile(A, reps) -> Expr:
    value = operand(A)
    axes = axes_of(value)
    reps = [asked(operator.index, n) for n in (reps if isinstance(reps, (tuple, list)) else (reps,))]
    if len(reps) > len(axes) or any(not 1 <= n <= 64 for n in reps):
        raise SpecError("E0021", f"numpy.tile of {len(axes)} dims by {tuple(reps)} cannot be traced", caller(), "give 1 to 64 for each of the last dims; np.stack([x, x]) makes a dim more")
    for d, n in enumerate(reps, len(axes) - len(reps)):
        value = concatenate([value] * n, d, f"times_{n}") if n > 1 else value
    return value


def append(arr, values, axis=None) -> Expr:
    return concatenate([arr, values], 0 if axis is None and len(axes_of(operand(arr))) < 2 else axis)


def pad(array, pad_width, mode="constant", constant_values=0) -> Expr:
    """np.pad of a value, which is read at positions."""
    axes = axes_of(array)
    widths = pad_width if isinstance(pad_width, (tuple, list)) else (pad_width,)
    widths = [tuple(w) if isinstance(w, (tuple, list)) else (w,) for w in (widths if any(isinstance(w, (tuple, list)) for w in widths) else (widths,))]
    widths = [w * 2 if len(w) == 1 else w for w in (widths * len(axes) if len(widths) == 1 else widths)]
    if mode not in ("constant", "edge", "wrap", "reflect") or len(widths) != len(axes) or any(len(w) != 2 or not all(type(n) is int and n >= 0 for n in w) for w in widths):
        raise SpecError("E0021", f"numpy.pad by {pad_width!r} with mode={mode!r} cannot be traced", caller(), "give numbers for each of the dims; the modes are constant, edge, wrap and reflect")
    words = "".join(f", {d}: ({before}, {after})" for d, (before, after) in enumerate(widths) if before or after)
    if not words:
        return array
    end = [f", {mode}"] if mode != "constant" else [", ", operand(constant_values)] if constant_values != 0 else []
    inner = as_array(array)
    if isinstance(inner.parts[0], str) and inner.parts[0] == "pad(":  # a dim is padded once
        inner = lying(array, axes)
    padded = Expr(("pad(", inner, words, *end, ")"), caller())
    labels = [longer(axis, before + after) if before or after else axis for axis, (before, after) in zip(axes, widths)]
    made = ordered(Expr((padded, f"[{', '.join(labels)}]"), caller()), labels)
    made.lain = padded
    return made


ROWS = [
    ("concatenate", "arrays axis", concatenate), ("stack", "arrays axis", stack), ("append", "arr values axis", append), ("tile", "A reps", tile),
    ("vstack", "tup", _joined(0, True)), ("column_stack", "tup", _joined(1, True)), ("hstack", "tup", _joined(1, False)),
    ("pad", "array pad_width mode constant_values", pad),
]
