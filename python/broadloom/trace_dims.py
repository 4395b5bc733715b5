"""NumPy's functions that count the dims of traced values: products of matrices, `.T` and others.

Axes of kernels have names, so that `x @ y` is a sum along the last axis of x, at whose positions y
is read: ``sum(x * y[k, j], k)``.
"""

from __future__ import annotations

import functools

from .errors import ShapeError, SpecError
from .expr import Expr, caller, operand
from .functions import fold, function
from .trace_axes import at_labels, axes_of, ordered, place
from .trace_text import dtype_of


def turned(value: Expr, order) -> Expr:
    axes = axes_of(value)
    return ordered(value, [axes[d] for d in order])


def summed(product: Expr, *along) -> Expr:
    """The sum of products, of their dtype: NumPy adds them up in no wider one."""
    word, made = dtype_of(product), fold("sum", product, *along)
    return function(word, made) if word == "bool" or word[0] in "iu" and word[1:] != "64" else made


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
        product = summed(product, *along)
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
    a, b = operand(a), operand(b)
    if len(axes_of(a)) != 1 or len(axes_of(b)) != 1:
        raise SpecError("E0021", "numpy.outer of other than vectors cannot be traced", caller(), "x.ravel() is one; np.multiply.outer(x, y) takes all others")
    return einsum([["a"], ["b"]], ["a", "b"], [a, b])


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


ROWS = [
    ("einsum", "operands optimize", call_einsum), ("dot", "a b", dot), ("inner", "a b", inner), ("outer", "a b", outer),
    ("transpose", "a axes", transpose), ("swapaxes", "a axis1 axis2", swapaxes), ("moveaxis", "a source destination", moveaxis),
    ("flip", "m axis", flip), ("expand_dims", "a axis", expand_dims),
]
