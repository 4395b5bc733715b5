"""What tells structures of lazy arrays apart, known as they are recorded, so that a kernel is
looked up by one hash.

Problem: to walk a graph and to describe its nodes takes longer than to compute small arrays.
Method: each node has a form, which says all about it and what it is made of but for extents and
values: of inputs the dtype and which dims have 0, 1 or more elements, of operations their words,
and which leaves are the same. Forms that are equal are one object, made once. A form keeps how its
kernel is called. Example: in ``x * y + 1`` the sum has the form (np.add, the form of ``x * y``,
int), and its leaves are x, y and an array of 1.
"""

from __future__ import annotations

import atexit
from typing import Dict

import numpy as np

_KEPT = 1 << 14  # entries of what is known
MOST_LEAVES = 64  # of what has a form that is known again: to join longer lists costs more than to walk the graph
_known: Dict[tuple, object] = {}


class Form:
    __slots__ = ("op", "info", "dtype", "few", "plans", "quick")

    def __init__(self, op, info, dtype, few):
        self.op, self.info, self.dtype = op, info, dtype
        self.few = few  # the extents, up to 2
        self.plans = {}  # by settings and threads: a plan, and which leaf each argument is
        self.quick = None  # the kernel, where it takes the leaves as they come and gives the result as it is


known = _known.get  # what is known of a key, or None


def know(key, value):
    """What is known of this key from now on: another thread may have come first."""
    if len(_known) >= _KEPT:
        forget()
    return _known.setdefault(key, value)


def forget():
    """Forms that are in use stay as they are, and others are made beside them."""
    _known.clear()


@atexit.register
def _let_kernels_go():
    """Lazy arrays that outlive Python's modules, as those in tracebacks do, keep no kernels."""
    for form in list(_known.values()):
        if type(form) is Form:
            form.plans, form.quick = {}, None


def leaf_form(dtype, shape) -> Form:
    """The form of an input; the caller has asked `known((dtype, shape))`."""
    few = tuple([min(n, 2) for n in shape])
    return know((dtype, shape), know(("leaf", dtype, few), Form("leaf", None, dtype, few)))


def form_of(arg) -> Form:
    """The form of an argument of a node, which is a lazy array, or the array of a number."""
    if type(arg) is np.ndarray:
        return known(("number", arg.dtype)) or know(("number", arg.dtype), Form("number", None, arg.dtype, ()))
    return arg.form


def meeting(first, second) -> tuple:
    """The leaves of two, each once, and how those of the second lie among them: None where they
    come behind, and for too many."""
    if first is None or second is None:
        return None, None
    if len(first) == 1 == len(second):
        return (first, (0,)) if first[0] is second[0] else (first + second, None)
    leaves = {id(leaf): leaf for leaf in first + second}
    if len(leaves) > MOST_LEAVES:
        return None, None
    if len(leaves) == len(first) + len(second):
        return first + second, None
    places = {at: k for k, at in enumerate(leaves)}
    return tuple(leaves.values()), tuple([places[id(leaf)] for leaf in second])


def leaves_of(args) -> tuple:
    """The leaves of a node of these arguments, each once, and how they meet."""
    leaves, *others = [(arg,) if type(arg) is np.ndarray else arg.leaves for arg in args]
    meets = []
    for other in others:
        leaves, meet = meeting(leaves, other)
        meets.append(meet)
    return leaves, meets[0] if len(meets) == 1 else tuple(meets)


def form(op, info, dtype, shape, args, meet) -> Form:
    """The form of a node, known again where equal forms are."""
    key = (op, info, dtype, meet, *map(form_of, args))
    return known(key) or know(key, Form(op, info, dtype, tuple([min(n, 2) for n in shape])))
