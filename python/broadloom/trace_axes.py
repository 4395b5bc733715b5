"""Axes of traced values by their order: products of matrices, `.T`, and NumPy's functions that
count dims.

Axes of kernels have names, so that `x @ y` is a sum along the last axis of x, at whose positions y
is read: ``sum(x * y[k, j], k)``. The order of axes matters for what NumPy counts and for outputs;
each value that has another order than the kernel would give it notes it in `axes`.
"""

from __future__ import annotations

import functools

import numpy

from .errors import AxisError, ShapeError, SpecError
from .expr import Expr, binary, caller, operand


def axes_of(value: Expr) -> tuple:
    """The labels of a traced value, in the order that it has in NumPy; of what has a mistake the
    kernel will tell."""
    if value.layout is not None and None in value.layout:
        raise SpecError("E0021", "a dim that None made meets others by operators and functions of elements only", caller(), "leave the None out here: axes meet by their names")
    known = _known(value)
    if known is not None:
        return known
    from .trace import asked_of

    found = asked_of(value)
    if found is None or not all(found.axes):
        raise SpecError("E0103", "the axes of this value have no names", caller(), 'declare inputs with labels: x: bl.f64["i", "j"]')
    order = _order(value)
    return tuple([*[a for a in order if a in found.axes], *[a for a in found.axes if a not in order]])


def _known(value: Expr):
    if value.axes is not None:
        return value.axes
    said = value.said
    return said.dims if said is not None and all(dim.isidentifier() for dim in said.dims) else None


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


def turned(value: Expr, order) -> Expr:
    axes = axes_of(value)
    return ordered(value, [axes[d] for d in order])


def at_labels(value: Expr, labels) -> Expr:
    """The value read at these labels: itself, where they are its own."""
    axes = axes_of(value)
    return value if axes == tuple(labels) else ordered(as_array(value)[tuple(labels)], labels)


def einsum(letters, result, values) -> Expr:
    """The sum of the product over the letters that the result lacks."""
    label = {}
    for word, value in zip(letters, values):
        axes = axes_of(value)
        if len(word) != len(axes):
            raise ShapeError("E0101", f"{len(word)} letters for a value of {len(axes)} dims", caller(), f"its axes are {', '.join(axes)}")
        for letter, axis in zip(word, axes):
            while letter not in label and axis in label.values():  # an axis that another letter has
                axis += "_"
            label.setdefault(letter, axis)
    product = functools.reduce(lambda a, b: a * b, [at_labels(value, [label[c] for c in word]) for word, value in zip(letters, values)])
    along = [label[c] for c in dict.fromkeys("".join(map("".join, letters)) if isinstance(letters[0], str) else sum(map(list, letters), [])) if c not in result]
    if along:
        from .functions import fold

        product = fold("sum", product, *along)
    return ordered(product, [label[c] for c in result])


def matmul(a, b) -> Expr:
    return _product(operand(a), operand(b), 2)


def dot(a, b) -> Expr:
    a, b = operand(a), operand(b)
    return a * b if not axes_of(a) or not axes_of(b) else _product(a, b, 2)


def inner(a, b) -> Expr:
    return _product(operand(a), operand(b), 1)


def _product(a: Expr, b: Expr, back: int) -> Expr:
    """Along the last dim of a and, counted from the end, the dim `back` of b (the only one, where
    it has one)."""
    n, m = len(axes_of(a)), len(axes_of(b))
    if not n or not m or max(n, m) > 2:
        raise ShapeError("E0101", f"a product of traced values of {n} and {m} dims", caller(), "np.einsum('bij,bjk->bik', x, y) says what is summed")
    one, other = ["a", "k"][-n:], ["k"] if m == 1 else ["k", "b"] if back == 2 else ["b", "k"]
    return einsum([one, other], [c for c in one + other if c != "k"], [a, b])


def outer(a, b) -> Expr:
    return einsum([["a"], ["b"]], ["a", "b"], [operand(a), operand(b)])


def call_einsum(operands, optimize=False) -> Expr:
    text, *values = operands
    if not isinstance(text, str) or "." in text:
        raise SpecError("E0021", "numpy.einsum of traced values takes letters for all dims", caller(), "as in np.einsum('ij,jk->ik', x, y)")
    given, arrow, result = text.replace(" ", "").partition("->")
    words = given.split(",")
    if len(words) != len(values):
        raise ShapeError("E0101", f"numpy.einsum of {len(values)} values by {len(words)} words", caller(), "give one for each")
    if not arrow:
        result = "".join(sorted(c for c in set(given) - {","} if given.count(c) == 1))
    return einsum([[*word] for word in words], [*result], [operand(x) for x in values])


def place(axis, rank: int) -> int:
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise AxisError("E0104", f"{axis!r} is no dim of {rank}", caller(), "dims count from 0, or from the end below 0")
    return axis % rank


def transpose(a, axes=None) -> Expr:
    rank = len(axes_of(a))
    order = [*range(rank)][::-1] if axes is None else [place(d, rank) for d in axes] if isinstance(axes, (tuple, list)) else []
    if sorted(order) != [*range(rank)]:
        raise ShapeError("E0102", f"the dims {axes} are no order of {rank} dims", caller(), "name each once")
    return turned(a, order)


def swapaxes(a, axis1, axis2) -> Expr:
    rank = len(axes_of(a))
    order, one, other = [*range(rank)], place(axis1, rank), place(axis2, rank)
    order[one], order[other] = other, one
    return turned(a, order)


def moveaxis(a, source, destination) -> Expr:
    rank = len(axes_of(a))
    order = [d for d in range(rank) if d != place(source, rank)]
    order.insert(place(destination, rank), place(source, rank))
    return turned(a, order)


# --- what lies in memory --------------------------------------------------------------------------


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
    from .trace_slices import longer

    end = [f", {mode}"] if mode != "constant" else [", ", operand(constant_values)] if constant_values != 0 else []
    inner = as_array(array)
    if isinstance(inner.parts[0], str) and inner.parts[0] == "pad(":  # a dim is padded once
        inner = _lying(array, axes)
    padded = Expr(("pad(", inner, words, *end, ")"), caller())
    labels = [longer(axis, before + after) if before or after else axis for axis, (before, after) in zip(axes, widths)]
    made = ordered(Expr((padded, f"[{', '.join(labels)}]"), caller()), labels)
    made.lain = padded
    return made


def diff(a, n=1, axis=-1) -> Expr:
    """np.diff: a value that is read twice, and what comes of that again."""
    value, d = operand(a), place(axis, len(axes_of(operand(a))))
    for _ in range(place(n, n + 1)):
        behind, before = [[slice(None)] * d + [cut] for cut in (slice(1, None), slice(None, -1))]
        from .trace import dtype_of

        value = binary("!=" if dtype_of(value) == "bool" else "-", value[tuple(behind)], value[tuple(before)])
    return value


def flip(m, axis=None) -> Expr:
    value = operand(m)
    rank = len(axes_of(value))
    along = range(rank) if axis is None else [place(d, rank) for d in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    return value[tuple([slice(None, None, -1 if d in along else None) for d in range(rank)])]


def expand_dims(a, axis) -> Expr:
    value = operand(a)
    axis = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = len(value.layout or axes_of(value)) + len(axis)
    new = [place(d, rank) for d in axis]
    return value[tuple([None if d in new else slice(None) for d in range(rank)])]


def in_one_dtype(values) -> list:
    """The values as NumPy lays them into one array: of the dtype that all go into."""
    from .formulas import cast, dtype_of, word_of

    words = [word_of(value) for value in values]
    if len({*words}) < 2 or "?" in words:
        return values
    dtype = functools.reduce(numpy.promote_types, map(dtype_of, values))
    return [cast(value, dtype) for value in values]


def concatenate(arrays, axis=0, name="all") -> Expr:
    """np.concatenate: along an axis of its own, as the extent is another."""
    from .trace_slices import joined

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
    made = _lying(Expr((f"concat({label}", *[part for read in reads for part in (", ", read)], ")"), caller()), labels)
    made.marked = True  # what it meets is looked at: the axis is none of its parts
    return made


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
        value.lain = _lying(value, axes)
    return value.lain


def _lying(value: Expr, axes) -> Expr:
    """A value as an array with these axes, by which it is read."""
    made = Expr(value.parts if any(isinstance(part, Expr) for part in value.parts) else (value,), value.place)
    made.is_array, made.axes, made.says, made.marked = True, None if axes is None else tuple(axes), value.says, value.marked
    return made
