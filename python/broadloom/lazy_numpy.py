"""NumPy's functions on lazy arrays: what operators, `__array_ufunc__` and `__array_function__` are asked for.

An operation on elements is known by its operands' forms where its like was recorded; of other functions the table below has a row each
(`lazy_calls.py`).
"""

from __future__ import annotations

import functools
import operator

import numpy as np
from numpy import ndarray

from . import lazy_ops
from .errors import DataError, DTypeError
from .lazy import LazyArray, array, cast, fold, node, number, operand, part, refuse, scan, view
from .lazy_calls import Row
from .lazy_forms import MOST_LEAVES, know, known, meeting
from .lazy_products import call_einsum, dot, inner, outer, product, tensordot
from .numpy_calls import NUMBERS, Call, asked, is_number

_REDUCING = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all", "logical_or": "any",
             "logaddexp": "logsumexp"}
_POWERS = {np.power, np.float_power}


def unknown(name: str):
    import difflib  # takes milliseconds

    names = [called.__name__ for called in functions]
    near = difflib.get_close_matches(name, [*names, *lazy_ops.TEMPLATES], 1)
    refuse(f"numpy.{name} cannot be recorded", (f"did you mean numpy.{near[0]}? " if near and near[0] != name else "") +
           "compute() gives an array of NumPy, on which every function works")


# --- ufuncs ---------------------------------------------------------------------------------------


def key_of(ufunc, args) -> tuple:
    """Of a call without options what tells it apart from those that give nodes of other forms, and the leaves of its lazy arrays; None for
    what it must be looked at for again."""
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


def call_ufunc(ufunc, method, args, options):
    name = ufunc.__name__
    if method == "__call__":
        is_short = not options and len(args) == ufunc.nin < 3 and ufunc.nout == 1 and ufunc.signature is None
        if is_short:
            args = tuple([array(x) if type(x) is ndarray else x for x in args])
            made = seen_before(ufunc, args)
            if made is not None:
                return made
        if ufunc.signature is not None:
            return row_of(ufunc, method)(args, options)
        made = elementwise(ufunc, **Call(name, "ufunc", args, options, "recorded").given("operands casting dtype"))
        key, leaves = key_of(ufunc, args) if is_short else (None, None)
        if leaves is not None and made.op == "map" and made.info[0] == name:  # comparisons with what is beyond a type are others
            know(key, made.form)
        return made
    row = row_of(ufunc, method)
    return row(args, options) if row else unknown(f"{name}.{method}")


@functools.lru_cache(maxsize=None)
def row_of(ufunc, method):
    """What a method of a ufunc does, or the call of one with a signature; None for what is not recorded."""
    name = ufunc.__name__
    if method == "__call__":
        return Row(ufunc, "ufunc", lambda operands: product(ufunc, operands), "operands")
    called, folds = getattr(ufunc, method), {"reduce": reduced, "accumulate": running}
    if method in folds and name in _REDUCING:
        fold = folds[method](_REDUCING[name])
        return Row(called, f"ufunc.{method}", lambda array, axis=0, **how: fold(array, axis, **how),
                   "array axis" + " keepdims" * (method == "reduce") + " dtype" * (name in ("add", "multiply")), f"{name}.{method}")
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
    """A comparison with an int that no element can equal: with the end of the type on that side, so that none does."""
    above = args[k] > np.iinfo(dtype).max
    truth = {"equal": False, "not_equal": True, "less": above, "less_equal": above, "greater": not above,
             "greater_equal": not above}[name]
    if k == 0 and name not in ("equal", "not_equal"):
        truth = not truth
    x = args[1 - k]
    same = np.equal(x, x)
    return same if truth else np.logical_not(same)


# --- folds and scans ------------------------------------------------------------------------------


def dtype_of(dtype):
    return None if dtype is None else asked(np.dtype, dtype)


def reduced(name):
    def call(a, axis=None, dtype=None, keepdims=False, ddof=0, correction=None):
        if name == "logsumexp":
            dtype = lazy_ops.loop_of(np.logaddexp, (a.dtype, a.dtype))[1]
        if name == "mean" and dtype is not None and dtype_of(dtype).kind not in "fc":
            refuse(f"numpy.mean with dtype={dtype} cannot be recorded", "x.mean().astype(..) converts the mean", code="E0021")
        return fold(a, name, axis, bool(keepdims), ddof if correction is None else correction, dtype_of(dtype))

    return call


def running(name):
    def call(a, axis=None, dtype=None):
        if name == "logsumexp":
            dtype = lazy_ops.loop_of(np.logaddexp, (a.dtype, a.dtype))[1]
        return scan(a, name, axis, dtype_of(dtype))

    return call


def norm(x, ord=None, axis=None, keepdims=False):
    if ord is not None and not (ord == 2 and (axis is None and x.ndim == 1 or isinstance(axis, int))):
        refuse("numpy.linalg.norm with ord= cannot be recorded", "write it with abs, max and sum", code="E0021")
    return fold(x, "norm", axis, bool(keepdims))


def vector_norm(x, axis=None, keepdims=False, ord=2):
    return norm(x, None if ord == 2 else ord, axis, keepdims)


def ptp(a, axis=None, keepdims=False):
    return fold(a, "max", axis, bool(keepdims)) - fold(a, "min", axis, bool(keepdims))


def count_nonzero(a, axis=None, keepdims=False):
    return fold(cast(a, lazy_ops.BOOL), "sum", axis, bool(keepdims))


def nansum(a, axis=None, keepdims=False):
    return fold(where(np.isnan(a), 0, a), "sum", axis, bool(keepdims))


# --- choices --------------------------------------------------------------------------------------


def where(condition, x=None, y=None):
    if x is None or y is None:
        refuse("numpy.where of a condition alone cannot be recorded", "its result has a shape that only computing tells: "
               "compute() the condition first")
    dtype = np.result_type(*[one if is_number(one) else one.dtype for one in (x, y)])
    args = [number(one, to) if is_number(one) else one for one, to in ((condition, lazy_ops.BOOL), (x, dtype), (y, dtype))]
    args[0] = cast(args[0], lazy_ops.BOOL)
    return node("where", tuple(args), None, dtype, asked(np.broadcast_shapes, *[one.shape for one in args]))


def clip(a, a_min=None, a_max=None, min=None, max=None):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = array(np.asarray(a)) if is_number(a) else a
    if x.dtype.kind in "iu":  # an int beyond the type bounds nothing
        low = None if type(low) is int and low < np.iinfo(x.dtype).min else low
        high = None if type(high) is int and high > np.iinfo(x.dtype).max else high
    bounds = [bound for bound in (low, high) if bound is not None]
    to = np.result_type(*[one if is_number(one) else one.dtype for one in (x, *bounds)])
    x = cast(x, to)
    if low is not None:
        x = np.maximum(x, low if is_number(low) else cast(low, to))
    return x if high is None else np.minimum(x, high if is_number(high) else cast(high, to))


def rounded(a, decimals=0):
    if decimals != 0:
        refuse("numpy.round with decimals= cannot be recorded", "scale before and after", code="E0021")
    return a if a.dtype.kind in "iu" else np.rint(a)


# --- views ----------------------------------------------------------------------------------------


def viewed(x: LazyArray, called, what: str, copies=False) -> LazyArray:
    """What a function of NumPy's gives that moves no elements: of an input by that function; of what is computed where whole dims are
    moved, made or left out, which strides tell that are 1, 2, 4, .."""
    if x.op == "leaf":
        made = asked(called, x.value)
        if isinstance(made, np.generic):  # of an array without dims
            return x
        if made.size and not np.shares_memory(made, x.value):
            refuse(f"{what} would copy here", "call it on the array before bl.array, or after compute()")
        return array(made)
    places = None
    if not copies:
        made = asked(called, np.lib.stride_tricks.as_strided(np.empty(1, x.dtype), x.shape, [1 << d for d in range(x.ndim)]))
        dims = {1 << d: d for d in range(x.ndim)}
        places = [dims.get(stride) if x.shape[dims.get(stride, 0)] == n or stride not in dims else None
                  for n, stride in zip(made.shape, made.strides)] if x.ndim else [None] * made.ndim
        left = [d for d in range(x.ndim) if d not in places]
        if any(x.shape[d] != 1 for d in left) or any(n != 1 for n, place in zip(made.shape, places) if place is None):
            places = None
    if places is None:
        refuse(f"{what} of what is not computed yet cannot be recorded", "take it of the inputs, or compute() first")
    return view(x, tuple(places))


def of_view(called, copies=False):
    name = called.__name__

    def call(args, options):
        call = Call(name, called, args, options, "recorded")
        found = []
        call.convert(lambda x: found.append(operand(x)) or x)

        def again(value):
            call.convert(lambda x: value)
            return called(*call.bound.args, **call.bound.kwargs)

        return viewed(found[0], again, f"numpy.{name}", copies)

    return call


def sliced(x: LazyArray, index) -> LazyArray:
    """Basic indexing: of an input any, of what is computed whole dims and new ones."""
    entries = index if isinstance(index, tuple) else (index,)
    if any(isinstance(entry, (bool, np.bool_, list, tuple, np.ndarray, LazyArray)) for entry in entries):
        refuse("a lazy array takes integers, slices, None and ... as indices", "np.where chooses by a condition; compute() gives "
               "an array that takes others")
    entries = entries if any(entry is Ellipsis for entry in entries) else (*entries, ...)
    return viewed(x, lambda value: value[entries], "a part")


# --- the table ------------------------------------------------------------------------------------


def as_it_looks(called):
    """What is asked about an array and not about its elements."""
    def look(x):
        if isinstance(x, LazyArray):
            return x.value if x.op == "leaf" else np.broadcast_to(np.zeros((), x.dtype), x.shape)
        return type(x)(map(look, x)) if type(x) in (tuple, list) else x

    return lambda args, options: asked(called, *map(look, args), **{name: look(x) for name, x in options.items()})


def _functions() -> dict:
    """What takes the arguments of each function of NumPy's that is recorded, and by which parameters."""
    rows = [
        ("sum prod mean", "a axis dtype keepdims", reduced), ("min max any all argmin argmax", "a axis keepdims", reduced),
        ("var std", "a axis keepdims ddof correction", reduced),
        ("amin amax", "a axis keepdims", lambda name: reduced(name[1:])),
        ("ptp", "a axis keepdims", lambda _: ptp), ("count_nonzero", "a axis keepdims", lambda _: count_nonzero),
        ("nansum", "a axis keepdims", lambda _: nansum),
        ("cumsum cumprod", "a axis dtype", lambda name: running(name[3:])),
        ("cumulative_sum cumulative_prod", "x axis dtype", lambda name: lambda x, **how: running(name[11:])(x, **how)),
        ("linalg.norm", "x ord axis keepdims", lambda _: norm), ("linalg.vector_norm", "x ord axis keepdims", lambda _: vector_norm),
        ("where", "condition x y", lambda _: where), ("clip", "a a_min a_max min max", lambda _: clip),
        ("round around", "a decimals", lambda _: rounded),
        ("real imag", "val", lambda name: lambda val: part(val, name)),
        ("einsum", "operands optimize", lambda _: call_einsum), ("dot", "a b", lambda _: dot), ("outer", "a b", lambda _: outer),
        ("inner", "a b", lambda _: inner), ("tensordot", "a b axes", lambda _: tensordot),
        ("astype", "x dtype copy", lambda _: lambda x, dtype, copy=True: cast(x, asked(np.dtype, dtype))),
    ]
    table = {}

    def numpys(names):
        for name in names.split():
            called = np
            for word in name.split("."):
                called = getattr(called, word, None)
            if called is not None:  # NumPy 2.0 lacks some
                yield name, called

    for names, takes, make in rows:
        table.update({called: Row(called, called, make(name), takes) for name, called in numpys(names)})
    for _, called in numpys("transpose swapaxes moveaxis squeeze expand_dims matrix_transpose linalg.matrix_transpose flip diagonal "
                            "linalg.diagonal broadcast_to"):
        table[called] = of_view(called)
    table.update({called: of_view(called, True) for _, called in numpys("reshape ravel")})
    table.update({called: as_it_looks(called) for _, called in numpys("shape ndim size result_type zeros_like ones_like empty_like")})
    return table


functions = _functions()


def call_numpy(called, args, options):
    if called not in functions:
        unknown(called.__name__)
    return functions[called](args, options)


# --- the functions of broadloom -------------------------------------------------------------------


def call_ours(name: str, args):
    """A function of broadloom's on lazy arrays: `bl.sigmoid(x)`."""
    if name in lazy_ops.OURS:
        x = operand(args[0])
        if x.dtype.kind == "c":
            refuse(f"bl.{name} of complex numbers cannot be recorded", "take parts or sizes first", DTypeError, "E0201")
        loop, dtype = lazy_ops.loop_of(np.exp, (x.dtype,))
        return node("map", (x,), (name, loop, None), dtype, x.shape)
    if name == "relu":
        return np.maximum(*args, 0)
    spelled = {"abs": "absolute", "round": "rint", "conj": "conjugate", "xor": "bitwise_xor", "pow": "power",
               **{"a" + f: "arc" + f for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")}}.get(name, name)
    called = getattr(np, spelled, None)
    if called in functions:
        return call_numpy(called, args, {})
    if isinstance(called, np.ufunc):
        return called(*args)
    refuse(f"bl.{name} of lazy arrays cannot be recorded", "it works in kernels: @bl.kernel")


def fold_ours(name: str, value, axes, options):
    """A fold of broadloom's on a lazy array: `bl.logsumexp(x, 1)`."""
    correction = options.pop("correction", None)
    for option, given in options.items():
        if given is not None:
            refuse(f"bl.{name} of lazy arrays has no {option}=", "it works in kernels: @bl.kernel", code="E0021")
    asked(np.any, np.broadcast_to(False, [min(n, 1) for n in value.shape]), axis=axes or None)
    return fold(value, name, axes or None, correction=asked(operator.index, correction or 0))


# --- the methods of lazy arrays -------------------------------------------------------------------


def power(a, b):
    """As NumPy's operator: squares of bool are i8, and a root of -0. is -0."""
    if type(b) is int and b == 2:
        return np.square(a)
    return np.sqrt(a) if type(b) is float and b == 0.5 and a.dtype.kind in "fc" else np.power(a, b)


def _define_methods():
    binary = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
              "mod": np.remainder, "divmod": np.divmod, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
              "lshift": np.left_shift, "rshift": np.right_shift, "matmul": np.matmul}
    methods = {"__rpow__": lambda a, b: np.power(b, a), "__pow__": power}
    for name, ufunc in binary.items():
        methods[f"__{name}__"], methods[f"__r{name}__"] = operator_of(ufunc), operator_of(ufunc, True)
    methods.update({f"__{name}__": operator_of(ufunc) for name, ufunc in {
        "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "neg": np.negative,
        "pos": np.positive, "invert": np.invert, "abs": np.absolute}.items()})
    for name in "sum prod min max any all mean var std argmin argmax cumsum cumprod clip round dot".split():
        of = functions[getattr(np, name)]
        row = Row(of.called, f"ndarray.{name}" if name in ("any", "all", "var", "std") else of.signature, of.function, of.takes.replace("correction", ""))
        methods[name] = lambda self, *args, row=row, **options: row((self, *args), options)
    for name in "transpose swapaxes squeeze".split():
        methods[name] = lambda self, *args, name=name, **options: viewed(
            self, lambda value: getattr(value, name)(*args, **options), f"the {name} method")
    for name in ("T", "mT"):
        methods[name] = property(lambda self, name=name: viewed(self, lambda value: getattr(value, name), name))
    for name in ("real", "imag"):
        methods[name] = property(lambda self, name=name: part(self, name))
    methods["conj"] = methods["conjugate"] = lambda self: np.conjugate(self) if self.dtype.kind == "c" else self
    methods["__getitem__"] = sliced
    astype = Row(np.ndarray.astype, "ndarray.astype", lambda a, dtype, copy=True: cast(a, asked(np.dtype, dtype)), "a dtype copy")
    methods["astype"] = lambda self, *args, **options: astype((self, *args), options)
    methods["__array_ufunc__"] = lambda self, ufunc, method, *args, **options: call_ufunc(ufunc, method, args, options)
    methods["__array_function__"] = lambda self, called, types, args, options: call_numpy(called, args, options)
    for name, method in methods.items():
        if not isinstance(method, property):
            method.__name__ = name
        setattr(LazyArray, name, method)


_define_methods()
