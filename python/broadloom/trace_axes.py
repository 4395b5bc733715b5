"""Axes of traced values: their order, how long they are, and where values meet.

Axes of kernels have names. Their order matters for what NumPy counts and for outputs; each value
that has another order than the kernel would give it notes it in `axes`. An axis that a slice made
is another axis, whose length hangs on that of the first: `Length`.

None in an index stands for a place, so what has one meets others as in NumPy: by places from the
end, and so does what is made of it. An axis that comes at two places, as in ``x[:, None] - x[None,
:]``, has a second name at the second.
"""

from __future__ import annotations

import re

from .errors import AxisError, ShapeError, SpecError
from .expr import Expr, caller, operand
from .trace_text import asked_of, tracing


def axes_of(value: Expr) -> tuple:
    """The labels of a traced value, in the order that it has in NumPy; of what has a mistake the
    kernel will tell."""
    if value.layout is not None and None in value.layout:
        raise SpecError("E0021", "a dim that None made meets others by operators and functions of elements only", caller(), "leave the None out here: axes meet by their names")
    known = _known(value)
    if known is not None:
        return known
    found = asked_of(value)
    if found is None or not all(found.axes):
        raise SpecError("E0103", "the axes of this value have no names", caller(), 'declare inputs with labels: x: bl.f64["i", "j"]')
    order = _order(value)
    return tuple([*[a for a in order if a in found.axes], *[a for a in found.axes if a not in order]])


def _known(value: Expr):
    if value.axes is not None:
        return value.axes
    said = value.said
    return said.labels if said is not None and all(said.labels) else None


def _order(value: Expr) -> tuple:
    """The axes of what a value is made of, in the order of the one that has all of them, or as they
    come."""
    orders, stack = {}, [value]
    while stack:  # not by recursion: a loop in the function may make long chains
        expr = stack[-1]
        parts = [part for part in expr.parts if isinstance(part, Expr)]
        known = _known(expr)
        waiting = [] if known is not None else [part for part in parts if id(part) not in orders]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        made = known or ()
        for part in parts if known is None else ():
            other = orders[id(part)]
            made = other if set(made) <= set(other) else (*made, *[a for a in other if a not in made])
        orders[id(expr)] = made
    return orders[id(value)]


def ordered(value, axes) -> Expr:
    made = Expr((operand(value),), caller())
    made.axes, made.marked = tuple(axes), True
    made.layout = made.axes if made.parts[0].layout is not None else None
    return made


def at_labels(value: Expr, labels) -> Expr:
    """The value read at these labels: itself, where they are its own."""
    axes = axes_of(value)
    return value if axes == tuple(labels) else ordered(Expr((as_array(value), f"[{', '.join(labels)}]"), caller()), labels)


def place(axis, rank: int) -> int:
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise AxisError("E0104", f"{axis!r} is no dim of {rank}", caller(), "dims count from 0, or from the end below 0")
    return axis % rank


def as_array(value: Expr) -> Expr:
    """What is read at positions: an input, or an array of what is computed, the same for all
    reads."""
    while len(value.parts) == 1 and isinstance(value.parts[0], Expr) and not value.is_array and value.lain is None and _known(value.parts[0]) == value.axes:
        value = value.parts[0]
    if value.name or value.is_array:
        return value
    if value.lain is None:
        try:
            axes = axes_of(value)
        except SpecError:  # without names it has the dims that the kernel gives it
            if value.layout is not None:
                raise
            axes = None
        value.lain = lying(value, axes)
    return value.lain


def lying(value: Expr, axes) -> Expr:
    """A value as an array with these axes, by which it is read."""
    made = Expr(value.parts if any(isinstance(part, Expr) for part in value.parts) else (value,), value.place)
    made.is_array, made.axes, made.says, made.marked = True, None if axes is None else tuple(axes), value.says, value.marked
    return made


def placed(value: Expr, layout) -> Expr:
    """A value with places: its axes and, as None, dims of 1."""
    return _placed(Expr((value,), value.place), layout)


def _placed(made: Expr, layout) -> Expr:
    made.layout, made.axes, made.marked, made.kept = tuple(layout), tuple([label for label in layout if label is not None]), True, False
    return made


# --- how long they are ----------------------------------------------------------------------------


class Length:
    """Of an axis that a slice made: `less` than the axis `base`, or `fixed`. `root` is the axis
    that was cut first, `parts` are the axes of what lies side by side along it."""

    def __init__(self, root: str, base: str, less: int = 0, fixed=None, parts=()):
        self.root, self.base, self.less, self.fixed, self.parts = root, base, less, fixed, parts


def length_of(label: str) -> Length:
    return tracing.lengths.get(label) or Length(label, label)


def _count(dim: str) -> int:
    """How many elements a dim is declared with; 0: it does not say."""
    return int(dim.partition("=")[2] or 0)


def known_extent(label: str):
    """How many elements an axis has, where the kernel says it, else None. A dim of 1 is repeated
    along an axis that another one gives."""
    length = length_of(label)
    if length.fixed is not None:
        return length.fixed
    said = {_count(dim) for said in tracing.inputs.values() for dim, name in zip(said.dims, said.labels) if name == length.base}
    found = max(said, default=0)
    return found - length.less if found > 1 or found and said == {1} else None


def told_by(label: str):
    """The input and its dim that an axis has its extent from, or None."""
    dims = [(name, d, dim) for name, said in tracing.inputs.items() for d, dim in enumerate(said.dims) if said.labels[d] == label and "?" not in dim]
    return next(((name, d) for name, d, dim in dims if _count(dim) != 1 or known_extent(label) == 1), None)


def label_of(root: str, base: str, less: int, fixed) -> str:
    """The axis of this length."""
    if not less and fixed is None:
        return base
    label = f"{root}_len_{fixed}" if fixed is not None else f"{base}_less_{less}" if less > 0 else f"{base}_more_{-less}"
    tracing.lengths[label] = Length(root, base, less, fixed)
    return label


def longer(label: str, count: int) -> str:
    """The axis of a value that has borders of so many elements together."""
    length = length_of(label)
    return label_of(length.root, length.base, length.less - count, None if length.fixed is None else length.fixed + count)


def joined(label: str, parts, name: str) -> str:
    """The axis along which values with these axes lie side by side: the same for the same ones."""
    parts = tuple(sorted(parts))
    made = next(one for one in (name, *[f"{name}_{k}" for k in range(1, 999)]) if one not in tracing.lengths or tracing.lengths[one].parts == parts)
    known = [known_extent(part) for part in parts]
    tracing.lengths[made] = Length(length_of(label).root, made, fixed=None if None in known else sum(known), parts=parts)
    return made


def free(label: str, *taken) -> str:
    """The label, or the first with a number behind it that neither the values nor inputs have."""
    others = {*taken, *[label for said in tracing.inputs.values() for label in said.labels]}
    return next(one for one in (label, *[f"{label}_{k}" for k in range(1, 99)]) if one not in others)


# --- where values meet ----------------------------------------------------------------------------


def labels_of(value: Expr) -> tuple:
    if len(value.parts) == 1 and isinstance(value.parts[0], str) and not value.name:
        counted = re.fullmatch(r"(?:iota|extent)\((\w+).*\)", value.parts[0])
        return (counted[1],) if counted and value.parts[0][0] == "i" else ()
    return axes_of(value)


def meeting(values):
    """The values as an operation on their elements takes them, and what notes the axes of its
    result."""
    try:
        layouts = [labels_of(value) if value.layout is None else value.layout for value in values]
    except SpecError:
        if any(value.layout is not None for value in values):
            raise
        return values, lambda made: made
    if any(value.layout is not None for value in values):
        return _meeting_by_places(values, layouts)
    axes = ()
    for labels in layouts:
        for one in labels:
            other = next((other for other in axes if other != one and other not in labels and one not in axes and length_of(other).root == length_of(one).root), None)
            if other is not None:
                raise ShapeError("E0102", f"the axes '{other}' and '{one}' are cut from one axis and have other lengths", caller(),
                                 "slice both so that as many are left for every length, as in x[1:] - x[:-1]")
        axes = labels if set(axes) <= set(labels) else (*axes, *[a for a in labels if a not in axes])

    def finish(made: Expr) -> Expr:
        made.axes = tuple(axes)
        return made

    return values, finish


def _meeting_by_places(values, layouts):
    if not all(label is None or label.isidentifier() for layout in layouts for label in layout):
        raise SpecError("E0103", "dims without labels cannot meet a dim that None made", caller(), 'declare inputs with labels: x: bl.f64["i", "j"]')
    rank = max(map(len, layouts))
    result = [None] * rank
    taken = {label for said in tracing.inputs.values() for label in said.labels}
    for layout in layouts:
        for place, label in enumerate(layout, rank - len(layout)):
            if label is None or result[place] is not None:
                continue
            count, made = 0, label
            while made in result or (count and made in taken):
                count += 1
                made = f"{label}_{count}"
            result[place] = made
    met, by_places = [], None in result or any(value.layout is not None and None not in value.layout for value in values)
    for value, layout in zip(values, layouts):
        wanted = [result[place] for place, label in enumerate(layout, rank - len(layout)) if label is not None]
        if wanted != [label for label in layout if label is not None]:
            value = ordered(value, [label for label in layout if label is not None])
            value.layout = None
            value, by_places = at_labels(value, wanted), True
        met.append(value)

    def finish(made: Expr) -> Expr:
        made.axes = tuple([label for label in result if label is not None])
        made.layout = tuple(result) if by_places else None  # names say the same
        return made

    return met, finish


def folding(value: Expr, axes, keepdims):
    """The axes of a fold, of which numbers count the dims of the value, and what notes the axes of
    its result."""
    if value.layout is None:
        if not value.marked and not any(type(axis) is int for axis in axes) and keepdims is not True:
            return axes, lambda made: made
        try:
            labels = value.axes if value.axes is not None else axes_of(value)
        except SpecError:  # without names, the numbers are those of the kernel
            return axes, lambda made: made
        axes = [labels[a] if type(a) is int and -len(labels) <= a < len(labels) else a for a in axes]

        def note(made: Expr) -> Expr:
            rest = tuple([None if not axes or a in axes else a for a in labels])
            if keepdims is True and all(label.isidentifier() for label in labels):
                return _placed(made, rest)
            if value.marked:
                made.axes = labels if keepdims == "scan" else tuple([a for a in rest if a is not None])
            return made

        return axes, note
    if keepdims == "scan":
        axes_of(value)  # refuses dims of 1
    layout = list(value.layout)
    places = [a % len(layout) if type(a) is int and -len(layout) <= a < len(layout) else layout.index(a) if a in layout else a for a in axes]
    if any(type(place) is int and 0 <= place < len(layout) and layout[place] is None for place in places):
        raise SpecError("E0021", "a fold along a dim that None made cannot be traced", caller(), "it has one element: leave the None out")
    named = [layout[place] if type(place) is int and 0 <= place < len(layout) else place for place in places]

    def finish(made: Expr) -> Expr:
        rest = [None if not named or label in named else label for label in layout if keepdims or named and label not in named]
        return _placed(made, layout if keepdims == "scan" else rest)

    return named, finish
