"""Slices, integers and None of traced values, inputs and computed ones.

Problem: axes of kernels have names, and a slice of an axis is another axis, whose length hangs on
that of the first. Method: a slice is a read at positions along an axis that is called after its
length: `i_less_1` of ``x[1:]`` and of ``x[:-1]``, so these meet. A statement of the kernel says the
length. Axes of other lengths that were cut from the same one do not meet.
"""

from __future__ import annotations

import operator
import re

import numpy as np

from .errors import DTypeError, PositionError, ShapeError, SpecError
from .expr import Expr, caller, position
from .trace_axes import Length, as_array, axes_of, known_extent, label_of, labels_of, length_of, ordered, placed, told_by
from .trace_text import dtype_of, tracing


class _Cut:
    """How one dim is read: at which positions, along which axis."""

    def __init__(self, words, label: str, says=None):
        self.words, self.label, self.says = words, label, says


def _bound(at):
    if at is None:
        return None
    if isinstance(at, (bool, Expr)) or not hasattr(at, "__index__"):
        raise SpecError("E0002", f"a slice of a traced value cannot begin or end at {at!r}", caller(),
                        'its bounds and its step are numbers: p = bl.iota("p"), x[p + k] begins at a computed position')
    return operator.index(at)


def _cut(array: Expr, dim: int, label: str, at: slice):
    """The read of one dim by a slice, or None where the slice goes in two: first side by side, then
    in steps."""
    start, stop, step = _bound(at.start), _bound(at.stop), _bound(at.step)
    step = 1 if step is None else step
    if step == 0:
        raise SpecError("E0002", "a slice cannot go in steps of 0", caller(), "leave the step out")
    length = length_of(label)
    if length.fixed is not None:
        walk = range(*slice(start, stop, step).indices(length.fixed))
        # A position that no axis moves up and that is below 0 would count from the end; these are
        # not.
        return _said(array, dim, length, step, ([str(walk.start)] if walk.start >= 0 else ["0"]), None, len(walk))
    # The lowest position and the one behind the highest: each from the start, or from the end.
    back = step < 0
    low, high = (stop, start) if back else (start, stop)
    low = (False, 0) if low is None else (low < 0, -low - back if low < 0 else low + back)
    high = (True, 0) if high is None else (high < 0, -high - back if high < 0 else high + back)
    if low[0] and not high[0]:
        raise ShapeError("E0102", f"how many elements the slice {_text(at)} has hangs on the number of elements", caller(),
                         "count both ends from the start, or both from the end")
    fixed = max(0, high[1] - low[1] if not high[0] else low[1] - high[1]) if low[0] == high[0] else None
    less = low[1] + high[1]
    if abs(step) > 1 and fixed is None and (low if back else high)[1]:
        return None
    first = high if back else low
    ahead = first[1] + 0 if not back else (first[1] + 1 if first[0] else first[1] - 1)
    words = [str(ahead)] if not first[0] else ["-", str(ahead)] if back else _end(array, dim, ahead)
    if abs(step) > 1 and fixed is None:
        cut = label_of(length.root, length.base, length.less + less, None)
        made = f"{cut}_by_{abs(step)}"
        tracing.lengths[made] = Length(length.root, made)
        return _Cut(_words(words, step, made), made)
    return _said(array, dim, length, step, words, length.less + less, None if fixed is None else -(-fixed // abs(step)))


def _is_whole(at) -> bool:
    return isinstance(at, slice) and at.start is None and at.stop is None and at.step is None


def _text(at: slice) -> str:
    return "[" + ":".join("" if one is None else str(one) for one in (at.start, at.stop) + (() if at.step is None else (at.step,))) + "]"


def _end(array: Expr, dim: int, back: int) -> list:
    return ["extent(", array, f", {dim}) - {back}"]


def _words(first, step: int, label: str) -> list:
    far = label if abs(step) == 1 else f"{abs(step)}*{label}"
    return [*first, f" - {far}"] if step < 0 else [f"{far} + ", *first]


def _said(array: Expr, dim: int, length: Length, step: int, first, less, fixed) -> _Cut:
    """A read whose axis is as long as the kernel says."""
    label = label_of(length.root, length.base, less or 0, fixed)
    if fixed is not None:
        step = 1 if fixed < 2 and first[0] != "-" else step  # 0 - i would count from the end
        says = (None, (f"axis {label} < {fixed}",))
    elif less == 0:
        # Which a dim of 1 alone does not say.
        return _Cut(_words(first, step, label), label, (None, (f"axis {label} < 1",)) if known_extent(label) == 1 else None)
    else:
        found = told_by(length.base)
        if found is not None:
            says = (None, (f"axis {label} < extent({found[0]}, {found[1]}) {_signed(-less)}",))
        else:  # the array is shorter already
            says = (array, (f"axis {label} < extent(", array, f", {dim}) {_signed(length.less - less)}"))
    return _Cut(_words(first, step, label), label, says)


def _signed(count: int) -> str:
    return f"- {-count}" if count < 0 else f"+ {count}"


def _integers(at: Expr) -> Expr:
    word = dtype_of(at)
    if word == "bool":
        raise SpecError("E0002", "a traced value cannot be read by a condition: only data tell how many elements that are", caller(),
                        "bl.where(condition, x, 0) chooses and keeps the shape; k.astype('i8') makes positions 0 and 1")
    if word[0] in "fbc":  # bf16, too
        raise DTypeError("E0206", f"a traced value cannot be read at a position that is {word}", caller(), "positions are integers: k.astype('i8')")
    return at


def _walked(at: Expr):
    """The axes of a position, or None where they have no names."""
    word = position(at)
    if word:
        return re.findall(r"[^\W\d]\w*", word)
    try:
        return labels_of(at) if at.layout is None else None
    except SpecError:
        return None


def _dims(value: Expr):
    """The labels of the dims of a value, with None for those that have none; None where nothing is
    known."""
    if value.said is not None:
        return [label if label and "?" not in dim else None for dim, label in zip(value.said.dims, value.said.labels)]
    try:
        return [label if label.isidentifier() else None for label in axes_of(value)]
    except SpecError:
        return None


def _whole(entries, rank: int) -> list:
    """The entries with ``:`` for `...` and for dims that are left out."""
    given = [e for e in entries if e is not None and e is not Ellipsis]
    if len(given) > rank or len([e for e in entries if e is Ellipsis]) > 1:
        raise PositionError("E0116", f"{len(given)} positions for a traced value of {rank} dim{'s' * (rank != 1)}", caller(), "give one for each dim, and at most one ...")
    at = next((d for d, e in enumerate(entries) if e is Ellipsis), len(entries))
    return [*entries[:at], *[slice(None)] * (rank - len(given)), *entries[at + 1:]]


def read(value: Expr, entries: list) -> Expr:
    if value.layout is not None:
        return _read_places(value, entries)
    labels = _dims(value)
    entries = _whole(entries, len(labels) if labels is not None else len([e for e in entries if e is not None and e is not Ellipsis]))
    labels = labels if labels is not None else [None] * len(entries)
    if any(e is None for e in entries):
        places = [e for e in entries if isinstance(e, slice) or e is None]
        if len(places) + len([e for e in entries if hasattr(e, "__index__") and not isinstance(e, Expr)]) < len(entries):
            raise SpecError("E0002", "None beside computed positions cannot be traced", caller(), "read first, and give the value its dim of 1 then")
        made = read(value, [e for e in entries if e is not None])
        rest = iter(axes_of(made))
        return placed(made, [None if e is None else next(rest) for e in places])
    if all(_is_whole(e) for e in entries) and None not in labels:
        return value
    listed = [d for d, e in enumerate(entries) if isinstance(e, (list, tuple)) or getattr(e, "ndim", 0) == 1 and not isinstance(e, Expr)]
    if len(listed) == 1 and not any(isinstance(e, Expr) for e in entries):
        return _chosen(value, entries, *listed)
    array, says, axes, d = as_array(value), {}, [], 0
    parts = []
    for d, (at, label) in enumerate(zip(entries, labels)):
        words, cut = None, None
        if isinstance(at, slice):
            if label is None:
                may_be_1 = value.said is not None and "?" in value.said.dims[d]
                raise SpecError("E0002", f"a traced value cannot be read at {_text(at)} where its dim {'may be 1' if may_be_1 else 'has no label'}", caller(),
                                f"declare it as '{value.said.labels[d]}'" if may_be_1 else 'declare inputs with labels: x: bl.f64["i", "j"]')
            cut = _Cut([label], label) if _is_whole(at) else _cut(array, d, label, at)
            if cut is None:
                first = [slice(None)] * len(entries)
                back = at.step < 0
                first[d] = slice(None if at.stop is None else at.stop + 1 if at.stop != -1 else None, None if at.start is None or at.start == -1 else at.start + 1) if back else slice(at.start, at.stop)
                entries[d] = slice(None, None, at.step)
                return read(read(value, first), entries)
            words = cut.words
            axes = None if axes is None else [*axes, cut.label]
            if cut.says:
                says[cut.label] = cut.says
        else:
            at = position(at) or _integers(at) if isinstance(at, Expr) else at
            if not isinstance(at, (Expr, str)) and (isinstance(at, bool) or not hasattr(at, "__index__") or getattr(at, "ndim", 0)):
                raise SpecError("E0002", f"a traced value cannot be read at {at!r}", caller(),
                                'a position is a traced value of integers, an int, a slice, or a word of axes: x[k + 1, "2*j + u"], x[k, :] where the dim has a label; an array of positions is an input')
            # A name alone would be an axis.
            words = [*at.parts] if isinstance(at, Expr) and at.parts[1:] and str(at.parts[1])[0] == "[" else ["i64(", at, ")"] if isinstance(at, Expr) else [at if isinstance(at, str) else str(operator.index(at))]
            if isinstance(entries[d], Expr) and axes is not None:
                walked = _walked(entries[d])
                axes = None if walked is None else [*axes, *[a for a in walked if a not in axes]]
            elif isinstance(at, str):
                axes = None
        parts += [", "] * (d > 0) + list(words)
    made = Expr((array, "[", *parts, "]"), caller())
    made.says = says
    if axes is not None and any(isinstance(e, Expr) or isinstance(e, slice) and not _is_whole(e) for e in entries):
        made.marked = True
    if axes is not None:
        made.axes = tuple(axes)
    return made


def _read_places(value: Expr, entries: list) -> Expr:
    """Of a value that has places: those that None made are kept or, by 0, left out."""
    inside = []
    places = iter(value.layout)
    for at in _whole(entries, len(value.layout)):
        if at is None or next(places) is not None:
            inside.append(at)
        elif _is_whole(at):
            inside.append(None)
        elif not hasattr(at, "__index__") or isinstance(at, Expr) or at not in (0, -1):
            raise PositionError("E0116", f"a dim that None made cannot be read at {at!r}", caller(), "it has one element, 0")
    plain = ordered(value, [label for label in value.layout if label is not None])
    plain.layout = None
    made = read(plain, inside)
    return made if made.layout is not None else placed(made, axes_of(made))


def _chosen(value: Expr, entries: list, d: int) -> Expr:
    """The elements along one dim that a list of numbers names, one on the other."""
    from .trace_joins import stack

    places = [*entries[d]]
    if not 0 < len(places) <= 64 or any(isinstance(k, (bool, np.bool_)) or not hasattr(k, "__index__") for k in places):
        raise SpecError("E0002", f"a traced value cannot be read at {entries[d]!r}", caller(), "a list names 1 to 64 elements by their numbers; an array of positions is an input, x[k]")
    parts = [read(value, [*entries[:d], operator.index(k), *entries[d + 1:]]) for k in places]
    numbers = [k for k, e in enumerate(entries) if not isinstance(e, slice)]
    together = numbers[-1] - numbers[0] < len(numbers)  # else NumPy has the new dim first
    return stack(parts, len([e for e in entries[:d] if isinstance(e, slice)]) if together else 0)
