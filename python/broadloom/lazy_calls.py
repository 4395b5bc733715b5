"""A call of a function of NumPy's on lazy arrays: bound by NumPy's signature, asked of NumPy
itself, and recorded.

Arguments that a row of the table does not name are refused. NumPy does the call to small arrays of
ones in place of the lazy ones, so that what it refuses is an error here and now, and what is
recorded must have the dtype and the dims of that result. A call whose like was recorded before is
neither bound nor asked again: where its result is a chain of nodes over one array, they are made by
their forms.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from .errors import DTypeError, InternalError
from .expr import caller
from .lazy import LazyArray, array, operand, refuse
from .lazy_forms import know, known
from .numpy_calls import ARRAYS, Call, asked, signature_for

functions: dict = {}  # what takes the arguments of each function of NumPy's that is recorded: `lazy_numpy.py` fills it
_KEYS = frozenset((bool, int, str, type(None), type))  # what is equal is the same
_FLOATS = frozenset((float, complex))  # NumPy takes or refuses all of them alike


def small(call: Call, called, **instead):
    """What NumPy gives for ones in place of the arrays, of 0, 1 or 2 elements along each dim (of 1
    where there are many dims)."""
    dims = []

    def ones(x):
        return np.ones([n if n < 2 else most for n in x.shape], x.dtype) if isinstance(x, LazyArray) else x

    call.convert(lambda x: dims.append(x.ndim) or x)
    most = 2 if sum(dims) <= 16 else 1
    kept = dict(call.bound.arguments)
    call.convert(ones)
    call.bound.arguments.update(instead)
    for name, value in call.bound.arguments.items():
        if isinstance(value, LazyArray):
            refuse(f"numpy.{call.name} with a lazy array as {name}= cannot be recorded", "give a value that is there", DTypeError, "E0021")
    with np.errstate(all="ignore"):
        made = asked(called, *call.bound.args, **call.bound.kwargs)
    call.bound.arguments.update(kept)
    return made, most


def whole(call: Call, name: str, value) -> int:
    if not isinstance(value, (int, np.integer)):
        refuse(f"numpy.{call.name} with {name}={value!r} cannot be recorded", "pass a whole number", DTypeError, "E0021")
    return int(value)


def key_of(x, is_operand=False):
    """What a call hangs on of an argument; KeyError where that is not known. NumPy takes all floats
    that are operands alike."""
    kind = type(x)
    if kind is LazyArray and x.leaves is not None:
        return x.form
    if kind in _KEYS or (kind is tuple and all([type(one) is int for one in x])):
        return kind, x
    if kind in _FLOATS:
        return kind, None if is_operand else repr(x)
    if kind is ndarray:
        return kind, array(x).form
    if isinstance(x, np.dtype):
        return np.dtype, x
    raise KeyError


def chain(result: LazyArray, x: LazyArray):
    """The forms of the nodes from x to the result, or None where there is more between them."""
    forms = []
    while result is not x:
        if len(result.args) != 1 or result.op not in ("fold", "view", "cast", "map", "scan"):
            return None
        forms.append(result.form)
        result, = result.args
    return forms[::-1]


def follow(x: LazyArray, forms) -> LazyArray:
    for form in forms:
        shape = x.shape
        if form.op == "fold":
            axes = form.info[1]
            shape = tuple([n for d, n in enumerate(shape) if d not in axes])
        elif form.op == "view":
            shape = tuple([1 if p is None else shape[p] for p in form.info])
        x = LazyArray(form, (x,), shape, x.leaves)
    return x


class Row:
    """What a function, or a method of arrays, does to lazy ones: `function`, which takes the
    parameters that are named."""

    def __init__(self, called, signature, function, takes, name=None):
        self.called, self.signature, self.function, self.takes = called, signature, function, takes
        self.name = name or called.__name__
        self.names = None  # of the parameters by position; of one that takes all operands its own

    def __call__(self, args, options):
        if self.names is None:
            self.names = [*signature_for(self.signature).parameters]
        names = self.names if self.names[0] != "operands" else ["operands"] * len(args)
        try:
            key = (self, *[key_of(x, name in ARRAYS) for x, name in zip(args, names)], len(args),
                   *[(name, key_of(x, name in ARRAYS)) for name, x in options.items()])
        except KeyError:
            return self.record(args, options)[0]
        way = known(key)
        if way is None:
            result, given = self.record(args, options)
            know(key, self.way(args, [*names[:len(args)], *options], (*args, *options.values()), result, given))
            return result
        if type(way) is list:
            return follow(args[0], way)
        values = [operand(x) if type(x) is ndarray else x for x in (*args, *options.values())]
        if names[0] == "operands":
            return self.function(tuple(values[:len(args)]), **{name: x for name, x in zip(way[len(args):], values[len(args):]) if name})
        return self.function(**{name: x for name, x in zip(way, values) if name})

    def way(self, args, names, values, result, given):
        """How the like of a call is recorded: the forms of a chain, or the parameters that the
        arguments are for, None for what asks for nothing."""
        lazy = [x for x in values if type(x) in (LazyArray, ndarray)]
        forms = chain(result, args[0]) if len(lazy) == 1 and args and lazy[0] is args[0] and result.leaves is not None else None
        return tuple([name if name in given else None for name in names]) if forms is None else forms

    def record(self, args, options):
        call = Call(self.name, self.signature, args, options, "recorded")
        call.convert(operand)
        given = call.given(self.takes)
        if "ddof" in given or "correction" in given:  # NumPy warns where too few elements are left, and may be right only of the small ones
            given.update({name: whole(call, name, given[name]) for name in ("ddof", "correction") if name in given})
            made, most = small(call, self.called, **{name: 0 for name in ("ddof", "correction") if name in given})
        else:
            made, most = small(call, self.called)
        result = self.function(**given)
        shape = tuple([min(n, most) for n in result.shape])
        if (shape, result.dtype) != (np.shape(made), np.asarray(made).dtype):
            raise InternalError("E0901", f"numpy.{call.name} gives {np.asarray(made).dtype}{list(np.shape(made))} where "
                                f"{result.dtype}{list(shape)} is recorded", caller(), "please report it")
        return result, given


class Composed:
    """A function of NumPy's that is made of others, which ask NumPy themselves."""

    def __init__(self, called, function, takes):
        self.called, self.function, self.takes = called, function, takes

    def __call__(self, args, options):
        return asked(self.function, **Call(self.called.__name__, self.called, args, options, "recorded").given(self.takes))
