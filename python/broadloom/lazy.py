"""Arrays that note what is done to them, and compute it by one kernel: ``bl.array(x)``."""

from __future__ import annotations

import functools
import operator
import sys

import numpy as np

from . import lazy_ops
from .errors import ArgumentError, DTypeError, ShapeError, SpecError
from .expr import Expr, caller, checked
from .lazy_forms import Form, form, known, leaf_form, leaves_of
from .numpy_calls import asked
from .others import elements

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")  # of the array API's standard


def refuse(message: str, help: str, kind=SpecError, code: str = "E0008"):
    raise kind(code, message, caller(), help)


def _where_known(full):
    """compute() without options, of a form whose kernel is there."""
    @functools.wraps(full)
    def compute(self, *args, **options):
        quick = self.form.quick
        return full(self, *args, **options) if quick is None or args or options else quick(*self.leaves)

    return compute


def _of_known_shape(full):
    """array() of an array of NumPy's whose dtype and shape were seen before."""
    @functools.wraps(full)
    def array(*args, **options):
        if len(args) == 1 and type(args[0]) is np.ndarray and not options:
            x = args[0]
            form = known((x.dtype, x.shape))
            if form is not None:
                return LazyArray(form, (), x.shape, (x,))
        return full(*args, **options)

    return array


class LazyArray:
    """What `bl.array` gives: an array of NumPy's that is yet to be computed.

    Operators and NumPy's functions record; `compute()`, `numpy.asarray` and `bl.compute` run one
    kernel. Shapes and dtypes are those that NumPy would give.
    """

    # form.op: "leaf", "map", "where", "cast", "fold", "scan", "view", "einsum". Arguments are lazy
    # arrays and arrays without dims, for numbers of Python. Leaves are the arrays at the ends, or
    # None.
    __slots__ = ("form", "args", "shape", "leaves", "__weakref__")
    __array_priority__ = 2000
    __pandas_priority__ = 5000  # beyond those of its tables: `table * lazy` is lazy, as `lazy * table` is
    __hash__ = None

    def __init__(self, form, args, shape, leaves):
        self.form = form
        self.args = args
        self.shape = shape
        self.leaves = leaves

    op = property(lambda self: self.form.op)
    info = property(lambda self: self.form.info)
    dtype = property(lambda self: self.form.dtype)
    value = property(lambda self: self.leaves[0])  # of a leaf

    def __repr__(self) -> str:
        return f"<broadloom.LazyArray {lazy_ops.word_of(self.dtype)}[{', '.join(map(str, self.shape))}]>"

    def _repr_html_(self) -> str:
        from .notebook import html_of_lazy

        return html_of_lazy(self)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape, dtype=object)))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    device = property(lambda self: "cpu")

    @checked
    def to_device(self, device, /, *, stream=None):
        if device != "cpu":
            refuse(f"there is no device {device!r}", "kernels run on the processor: \"cpu\"", ArgumentError, "E0401")
        return self

    def __array_namespace__(self, *, api_version=None):
        if api_version not in (None, *API_VERSIONS):
            refuse(f"there is no version {api_version!r} of the array API here", f"the newest is {API_VERSIONS[-1]!r}", ArgumentError, "E0401")
        return sys.modules[__package__].array_api  # which is built on this module: the package imports it when it is asked for

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return asked(self.compute().__dlpack__, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        return (1, 0)  # the memory of the processor

    # --- computing ------------------------------------------------------------------------------

    @_where_known
    @checked
    def compute(self, *, out=None, threads=0, relaxed=False, accuracy=None):
        """The array of NumPy that this stands for, by one kernel. `out` is an array to write into;
        the other options are those of `bl.kernel`."""
        return compute(self, out=None if out is None else (out,), threads=threads, relaxed=relaxed, accuracy=accuracy)

    @property
    def kernel(self):
        """The kernel that `compute()` calls, to be looked at: `z.kernel.text`,
        `z.kernel.show()`."""
        from .lazy_lower import plan_of

        return plan_of((self,))[0].kernel

    def __array__(self, dtype=None, copy=None):
        if copy is False and self.op != "leaf":
            refuse("what is not computed yet cannot be an array without memory of its own", "leave copy=False out", code="E0021")
        array = self.compute()
        if copy and self.op == "leaf":
            array = array.copy()
        return array if dtype is None else asked(array.astype, dtype, copy=False)

    def __bool__(self):
        refuse("a lazy array has no truth: it is not computed yet", "write np.where(condition, a, b) instead of `if`, and `&`, `|`, "
               "`~` instead of and, or, not; or compute() it first", code="E0002")

    @checked
    def item(self, *at):
        return asked(self.compute().item, *at)

    @checked
    def tolist(self):
        return self.compute().tolist()

    __float__ = lambda self: asked(float, self.compute())
    __int__ = lambda self: asked(int, self.compute())
    __complex__ = lambda self: asked(complex, self.compute())
    __index__ = lambda self: asked(operator.index, self.compute())

    __round__ = lambda self, digits=None: asked(round, self.item(), digits)

    def __len__(self):
        return asked(len, np.broadcast_to(0, self.shape))

    def __setitem__(self, index, value):
        refuse("a lazy array cannot be written", "np.where(condition, a, b) chooses; compute() gives an array that can",
               code="E0002")

    def __iter__(self):
        refuse("a lazy array cannot be iterated over", "compute() it first", code="E0002")


# --- wrapping -------------------------------------------------------------------------------------


@_of_known_shape
@checked
def array(x) -> LazyArray:
    """A lazy array of what the package takes as an array, without a copy: operators and NumPy's
    functions note what is done to it, and `compute()` or `bl.compute(..)` does it all in one
    kernel. What is there when it is computed counts."""
    if isinstance(x, LazyArray):
        return x
    if isinstance(x, Expr):
        refuse("a traced value cannot be a lazy array", "give bl.array an array", code="E0002")
    if not isinstance(x, np.ndarray):
        x = _shared(x)
    if type(x) is not np.ndarray and hasattr(x, "_mask"):
        refuse("a masked array cannot be recorded", "fill it first: x.filled(..)", DTypeError, "E0203")
    if not lazy_ops.word_of(x.dtype):
        refuse(f"an array of {x.dtype} cannot be recorded",
               "convert it: x.astype(..); the dtypes are bool, integers, floats and complex numbers in the machine's byte order",
               DTypeError, "E0203")
    if x.ndim > 16:
        refuse(f"an array of {x.ndim} dims cannot be recorded, the most are 16", "merge dims with reshape", ShapeError, "E0110")
    return LazyArray(leaf_form(x.dtype, x.shape), (), x.shape, (x,))


def _shared(x) -> np.ndarray:
    """What exports memory, as an array that shares it."""
    if isinstance(x, (np.generic, bool, int, float, complex)):
        return np.asarray(x)
    try:
        return np.asarray(memoryview(x))
    except (TypeError, ValueError, BufferError):
        pass
    try:
        if hasattr(x, "__array_interface__"):
            return np.asarray(x)
        if hasattr(x, "__dlpack__"):
            return np.from_dlpack(x)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        refuse(f"an argument of class {type(x).__name__} cannot be read: {error}", "make it an array of NumPy first", DTypeError,
               "E0203")
    made = elements(x)
    if isinstance(made, np.ndarray):
        return made
    refuse(f"an argument of class {type(x).__name__} is no array",
           "what has a buffer, __array_interface__ or __dlpack__ is taken as it lies; lists, pandas and xarray, too", DTypeError, "E0203")


def operand(x) -> LazyArray:
    """An operand of an operation, which is no number of Python."""
    if isinstance(x, LazyArray):
        return x
    return array(x)


def lifted(x) -> LazyArray:
    """An operand that may be a number of Python, a list or a tuple, too."""
    return array(asked(np.asarray, x)) if type(x) in (bool, int, float, complex, list, tuple) else operand(x)


def number(value, dtype) -> np.ndarray:
    """A number of Python as an input of this dtype, an array of its own. As an input it is not part
    of the kernel."""
    return asked(np.array, value, dtype)


def compute(*arrays, out=None, threads=0, relaxed=False, accuracy=None):
    """Computes lazy arrays together, by one kernel: what they share is computed once. One gives its
    array, several a tuple.

    `out` is a tuple of arrays to write into, None for those that are to be made. `threads`,
    `relaxed` and `accuracy` are those of `bl.kernel`.
    """
    from .lazy_lower import plan_of

    for x in arrays:
        if not isinstance(x, LazyArray):
            refuse(f"an argument of class {type(x).__name__} is no lazy array", "bl.array(x) makes one", DTypeError, "E0203")
    outs = (None,) * len(arrays) if out is None else out if isinstance(out, (tuple, list)) else (out,)
    if len(outs) != len(arrays):
        refuse(f"{len(arrays)} arrays are computed, out= has {len(outs)}", "give one for each, or None", ArgumentError, "E0308")
    results = list(outs)
    wanted = []
    for k, x in enumerate(arrays):
        if outs[k] is not None and (not isinstance(outs[k], np.ndarray) or outs[k].shape != x.shape):
            refuse(f"out= is no array of shape {x.shape}", "numpy.empty(z.shape, z.dtype) makes one", ShapeError, "E0120")
        if x.op != "leaf":
            wanted.append(k)
        elif outs[k] is None:
            results[k] = x.value
        else:
            asked(np.copyto, outs[k], x.value, casting="no")
    if wanted:
        settings = (f"set accuracy = {accuracy}",) * (accuracy is not None) + ("set relaxed = on",) * asked(bool, relaxed)
        threads = asked(operator.index, threads)
        plan, arguments = plan_of(tuple([arrays[k] for k in wanted]), settings, threads)
        into = [outs[k] if outs[k] is None or drop is None else outs[k][drop] for k, drop in zip(wanted, plan.drops)]
        made = plan.kernel(*arguments, out=tuple(into)) if out is not None else plan.kernel(*arguments)
        for k, array in zip(wanted, (made,) if len(wanted) == 1 else made):
            if outs[k] is None:
                results[k] = array if array.shape == arrays[k].shape else array.reshape(arrays[k].shape)
    return results[0] if len(arrays) == 1 else tuple(results)


# --- nodes
# ------------------------------------------------------------------------------------------


def node(op, args, info, dtype, shape) -> LazyArray:
    leaves, meet = leaves_of(args)
    made = Form(op, info, dtype, tuple([min(n, 2) for n in shape])) if leaves is None else form(op, info, dtype, shape, args, meet)
    return LazyArray(made, args, shape, leaves)


def view(x: LazyArray, places: tuple) -> LazyArray:
    """The dims of x in another order, with new ones (None), without some of extent 1."""
    if x.op == "leaf":
        left = [d for d in range(x.ndim) if d not in places]
        index = tuple([0 if d in left else slice(None) for d in range(x.ndim)])
        kept = [d for d in range(x.ndim) if d not in left]
        value = x.value[index + (...,)].transpose([kept.index(p) for p in places if p is not None])
        return array(value[tuple([None if p is None else slice(None) for p in places]) + (...,)])
    return node("view", (x,), places, x.dtype, tuple([1 if p is None else x.shape[p] for p in places]))


def cast(x: LazyArray, dtype) -> LazyArray:
    if not lazy_ops.word_of(dtype):
        refuse(f"there is no dtype {dtype}", "the dtypes are bool, integers, floats and complex numbers", DTypeError, "E0203")
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        refuse(f"complex numbers cannot become {dtype}", "take z.real", DTypeError, "E0205")
    return node("cast", (x,), None, dtype, x.shape)


def part(x: LazyArray, name: str) -> LazyArray:
    if x.dtype.kind != "c":
        return x if name == "real" else array(np.broadcast_to(np.zeros((), x.dtype), x.shape))
    return node("map", (x,), (name, (x.dtype,), None), lazy_ops.real_of(x.dtype), x.shape)


def axes_of(axis, rank: int) -> tuple:
    """The axes from 0 on, in order, of what NumPy has taken as axis=. An array without dims has
    none, though NumPy takes its axis 0."""
    if axis is None:
        return tuple(range(rank))
    return tuple(sorted([int(a) % rank for a in (axis if isinstance(axis, tuple) else (axis,)) if rank]))


def fold(x: LazyArray, name: str, axis=None, keepdims=False, correction=0, asked=None) -> LazyArray:
    axes = axes_of(axis, x.ndim)
    inner, result = folded_dtypes(x, name, asked)
    shape = tuple([n for d, n in enumerate(x.shape) if d not in axes])
    made = node("fold", (x,), (name, axes, correction, inner), result, shape)
    if not keepdims:
        return made
    kept = iter(range(len(shape)))
    return view(made, tuple([None if d in axes else next(kept) for d in range(x.ndim)]))


def scan(x: LazyArray, name: str, axis, asked=None) -> LazyArray:
    if axis is None and x.ndim > 1:
        refuse(f"a running {name} over all axes cannot be recorded", "name one: axis=", code="E0103")
    inner, result = folded_dtypes(x, name, asked)
    if not x.ndim:
        return view(cast(x, result), (None,))
    return node("scan", (x,), (name, axes_of(axis, x.ndim)[0], inner), result, x.shape)


def folded_dtypes(x: LazyArray, name: str, asked) -> tuple:
    dtypes = lazy_ops.fold_dtypes(name, x.dtype, asked)
    if dtypes is None:
        refuse(f"{name} of complex numbers cannot be recorded", "take parts or sizes first", DTypeError, "E0201")
    cast(x, dtypes[0])  # refuses what it cannot be
    return dtypes
