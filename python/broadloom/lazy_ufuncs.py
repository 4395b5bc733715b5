"""Ufuncs on lazy arrays. An operation on elements is known by its operands' forms where its like
was recorded, else it is asked of NumPy."""

from __future__ import annotations

import functools

import numpy as np
from numpy import ndarray

from . import lazy_ops
from .errors import DataError, DTypeError, ShapeError
from .formulas_bits import MADE, composed
from .lazy import LazyArray, array, cast, node, number, operand, refuse, view
from .lazy_calls import Row, functions
from .lazy_folds import reduced, running
from .lazy_forms import MOST_LEAVES, know, known, meeting
from .lazy_products import product
from .numpy_calls import NUMBERS, Call, asked, is_number

_POWERS = {np.power, np.float_power}


INSTEAD = {word: help for words, help in {
    "sort argsort partition argpartition lexsort median percentile quantile nanmedian nanpercentile nanquantile unique": "the order of elements is not known "
    "until they are there: ",
    "bincount histogram": "bl.sums_at(k, length, values) has a length that is known; else ",
    "nonzero argwhere flatnonzero extract compress": "how many there are is not known until they are there, and np.where(condition, a, b) keeps the shape; else ",
    "solve inv fft ifft rfft svd eig eigh qr cholesky lstsq det": "it is no loop over elements: ",
}.items() for word in words.split()}


def unknown(name: str):
    import difflib  # takes milliseconds

    names = [called.__name__ for called in functions]
    near = difflib.get_close_matches(name, [*names, *lazy_ops.TEMPLATES], 1)
    refuse(f"numpy.{name} cannot be recorded", (f"did you mean numpy.{near[0]}? " if near and near[0] != name and name not in INSTEAD and not hasattr(np, name) else "") +
           INSTEAD.get(name, "") +
           "compute() gives an array of NumPy, on which every function works")


def key_of(ufunc, args) -> tuple:
    """Of a call without options what tells it apart from those that give nodes of other forms, and
    the leaves of its lazy arrays; None for what it must be looked at for again."""
    if len(args) == 1:
        return (ufunc, args[0].form), args[0].leaves
    a, b = args
    if type(a) is LazyArray and type(b) is LazyArray:
        leaves, meet = meeting(a.leaves, b.leaves)
        return (ufunc, a.form, b.form, meet), leaves
    at = 1 if type(a) is LazyArray else 0  # the number, whose value powers hang on
    x, number = args[1 - at], args[at]
    if type(x) is not LazyArray or type(number) not in NUMBERS:
        return None, None
    return (ufunc, x.form, at, type(number), number if ufunc in _POWERS else None), x.leaves


def seen_before(ufunc, args):
    """The result of a call without options whose like was recorded, else None."""
    key, leaves = key_of(ufunc, args)
    form = known(key) if leaves is not None else None
    if form is None:
        return None
    if len(key) < 5:
        shape = args[0].shape
        if len(key) > 2 and args[1].shape != shape:
            shape = asked(np.broadcast_shapes, shape, args[1].shape)
        return LazyArray(form, args, shape, leaves)
    at = key[2]
    x = args[1 - at]
    if form.info[2] is not None:  # an exponent
        return LazyArray(form, (x,), x.shape, leaves)
    if len(leaves) == MOST_LEAVES:
        return None
    try:
        number = np.array(args[at], form.info[1][at])
    except OverflowError:
        return None
    return LazyArray(form, (x, number), x.shape, (*leaves, number)) if at else LazyArray(form, (number, x), x.shape, (number, *leaves))


def operator_of(ufunc, turned=False):
    if ufunc.nin == 1:
        def operate(a):
            made = seen_before(ufunc, (a,))
            return ufunc(a) if made is None else made

        return operate
    if ufunc.nout > 1 or ufunc.signature is not None:
        return (lambda a, b: ufunc(b, a)) if turned else (lambda a, b: ufunc(a, b))

    def operate(a, b):
        if type(b) is ndarray:
            b = array(b)
        args = (b, a) if turned else (a, b)
        made = seen_before(ufunc, args)
        return ufunc(*args) if made is None else made

    return operate


def in_place(ufunc):
    """`z += y`: another lazy array, of the dtype and the shape of z. Who else holds z has what it
    was."""
    operate = operator_of(ufunc)

    def call(a, b):
        made = operate(a, b)
        if made.shape != a.shape or not np.can_cast(made.dtype, a.dtype, "same_kind"):
            refuse(f"{made.dtype}{list(made.shape)} does not go into {a.dtype}{list(a.shape)}", "write z = z + y", ShapeError if made.shape != a.shape else DTypeError,
                   "E0102" if made.shape != a.shape else "E0201")
        return cast(made, a.dtype)

    return call


def call_ufunc(ufunc, method, args, options):
    name = ufunc.__name__
    if method == "__call__":
        is_short = not options and len(args) == ufunc.nin < 3 and ufunc.nout == 1 and ufunc.signature is None
        if is_short:
            args = tuple([array(x) if type(x) is ndarray else x for x in args])
            made = seen_before(ufunc, args)
            if made is not None:
                return made
        if any([x is not None for x in options.get("out", ())]) or options.get("where", True) is not True:
            return written(ufunc, args, **options)
        if ufunc.signature is not None:
            return row_of(ufunc, method)(args, options)
        if ufunc in MADE:
            return composed(ufunc, **Call(name, "ufunc", args, options, "recorded").given("operands casting"))
        made = elementwise(ufunc, **Call(name, "ufunc", args, options, "recorded").given("operands casting dtype"))
        key, leaves = key_of(ufunc, args) if is_short else (None, None)
        if leaves is not None and made.op == "map" and made.info[0] == name:  # comparisons with what is beyond a type are others
            know(key, made.form)
        return made
    row = row_of(ufunc, method)
    if row is None:
        unknown(f"{name}.{method}")
    return row(args, options) if options.get("out") is None else into_out(row, f"{name}.{method}", args, **options)


def written(ufunc, args, out=None, where=True, **options):
    """The result in the array that is given, which is computed now; where `where` says so, if that
    is given."""
    out = out if isinstance(out, tuple) else (out,)
    if ufunc.nout > 1 and where is True:
        return tuple([made if one is None else into_array(made, one, f"numpy.{ufunc.__name__}", options.get("casting", "same_kind"))
                      for one, made in zip(out, ufunc(*args, **options))])
    if ufunc.nout != 1 or len(out) != 1 or type(out[0]) is not ndarray:
        refuse(f"numpy.{ufunc.__name__} with " + ("where=" if out[0] is None else "out=") + " cannot be recorded", "where= needs an array of NumPy's as "
               "out=, which is written now: compute(out=..) writes into an array later", code="E0021")
    into, = out
    made = ufunc(*args, **options)
    return into_array(made, into, f"numpy.{ufunc.__name__}", options.get("casting", "same_kind"), where)


def into_array(made, into, what: str, casting="unsafe", where=True):
    """Computes now, into an array of NumPy's."""
    if type(into) is not ndarray:
        refuse(f"{what} with out= of class {type(into).__name__} cannot be recorded", "out= is an array of NumPy's, which is written now", DTypeError, "E0021")
    if not np.can_cast(made.dtype, into.dtype, casting):
        refuse(f"{made.dtype} does not go into an array of {into.dtype}", "x.astype(..) converts before", DTypeError, "E0201")
    if where is not True:
        made = np.where(where, made, into)
    if made.shape != into.shape:
        made = np.broadcast_to(made, into.shape) if asked(np.broadcast_shapes, made.shape, into.shape) == into.shape else refuse(
            f"the result has the shape {made.shape}, out= {into.shape}", "give an array of the shape of the result", ShapeError, "E0102")
    made = cast(made, into.dtype)
    if made.op == "leaf":
        into[...] = made.value
        return into
    return made.compute(out=into)


def into_out(row, name, args, out, **options):
    """A function or a method that is given `out=`: it is computed now."""
    made, into = row(args, options), out[0] if type(out) is tuple and len(out) == 1 else out
    if not isinstance(made, LazyArray) or asked(np.shape, into) != made.shape:
        refuse(f"the result has no shape {np.shape(into)}", "give out= an array of NumPy's of the shape of the result", ShapeError, "E0021")
    return into_array(made, into, f"numpy.{name}", "same_kind")


@functools.lru_cache(maxsize=None)
def row_of(ufunc, method):
    """What a method of a ufunc does, or the call of one with a signature; None for what is not
    recorded."""
    name = ufunc.__name__
    if method == "__call__":
        return Row(ufunc, "ufunc", lambda operands: product(ufunc, operands), "operands")
    called, folds = getattr(ufunc, method), {"reduce": reduced, "accumulate": running}
    if method in folds and name in lazy_ops.REDUCING:
        fold = folds[method](lazy_ops.REDUCING[name])
        return Row(called, f"ufunc.{method}", lambda array, axis=0, **how: fold(array, axis, **how),
                   "array axis" + " keepdims" * (method == "reduce") + " initial" * (method == "reduce" and name in ("add", "multiply", "minimum", "maximum")) + " dtype" * (name in ("add", "multiply")), f"{name}.{method}")
    if method == "outer" and ufunc.nin == 2 and ufunc.signature is None:
        return Row(called, "ufunc.outer", lambda A, B, **how: elementwise(ufunc, outer_operands(A, B), **how), "A B casting dtype", f"{name}.outer")
    return None


def outer_operands(a, b):
    if is_number(a) or is_number(b):
        return a, b
    return view(a, (*range(a.ndim), *[None] * b.ndim)), b


def kind_of(x):
    return np.dtype(bool) if type(x) is bool else type(x) if is_number(x) else x.dtype


def elementwise(ufunc, operands, casting="same_kind", dtype=None) -> LazyArray:
    name = ufunc.__name__
    if ufunc.nout != 1:
        unknown(name)
    args = [x if is_number(x) else operand(x) for x in operands]
    loop, dtype = asked(lazy_ops.loop_of, ufunc, [kind_of(x) for x in args], casting, dtype)
    why = lazy_ops.refused(name, (*loop, dtype))
    if why:
        unknown(name) if name not in lazy_ops.TEMPLATES else refuse(why, "compute() the array first", DTypeError, "E0201")
    exponent = None
    if name in ("power", "float_power") and is_number(args[1]):
        power = args[1]
        number(power, loop[1])  # refuses what does not fit
        if loop[0].kind in "iu" and power < 0:
            refuse("integers to negative integer powers are not allowed", "x.astype(float) takes them", DataError, "E0202")
        if type(power) in (int, float) and power == int(power if abs(power) <= 16 else 17):
            exponent, args, loop = int(power), args[:1], loop[:1]  # part of the kernel, which makes products of it
    if name in lazy_ops.COMPARISONS:
        for k, x in enumerate(args):
            if type(x) is int and loop[k].kind in "iu" and not np.iinfo(loop[k]).min <= x <= np.iinfo(loop[k]).max:
                return _compare_beyond(name, args, k, loop[k])
    args = tuple([number(x, to) if is_number(x) else x for x, to in zip(args, loop)])
    shape = args[0].shape if len(args) == 1 else asked(np.broadcast_shapes, *[x.shape for x in args])
    return node("map", args, (name, tuple(loop), exponent), dtype, shape)


def _compare_beyond(name, args, k, dtype):
    """A comparison with an int that no element can equal: with the end of the type on that side, so
    that none does."""
    above = args[k] > np.iinfo(dtype).max
    truth = {"equal": False, "not_equal": True, "less": above, "less_equal": above, "greater": not above,
             "greater_equal": not above}[name]
    if k == 0 and name not in ("equal", "not_equal"):
        truth = not truth
    x = args[1 - k]
    same = np.equal(x, x)
    return same if truth else np.logical_not(same)
