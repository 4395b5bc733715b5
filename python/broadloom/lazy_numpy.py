"""NumPy's functions on lazy arrays: what operators, `__array_ufunc__` and `__array_function__` are
asked for.

Each function has a row in the table below (`lazy_calls.py`), or is a view, or only looks at an
array.
"""

from __future__ import annotations

import operator

import numpy as np

from . import formulas, lazy_curves, lazy_functions, lazy_ops
from .errors import DTypeError
from .expr import axes_given, checked
from .lazy import LazyArray, array, cast, fold, node, number, operand, part, refuse
from .lazy_calls import Composed, Row, functions
from .lazy_folds import clip, count_nonzero, cumulative, norm, ptp, reduced, running, vector_norm, where
from .lazy_products import call_einsum, dot, inner, lettered, outer, tensordot
from .lazy_reads import indexed, reshape, sums_at, viewed
from .lazy_ufuncs import call_ufunc, in_place, into_out, operator_of, unknown
from .numpy_calls import Call, asked


# --- views ----------------------------------------------------------------------------------------


def of_reshape(called):
    view = of_view(called)

    def call(args, options):
        if type(args[0]) is LazyArray and args[0].op != "leaf":
            given = Call(called.__name__, called, args, options, "recorded").given("a shape newshape")
            return reshape(args[0], given.get("shape", given.get("newshape", (-1,))))  # as NumPy 2.0 has it
        return view(args, options)

    return call


def of_view(called):
    name = called.__name__

    def call(args, options):
        call = Call(name, called, args, options, "recorded")
        found = []
        call.convert(lambda x: found.append(operand(x)) or x)

        def again(value):
            call.convert(lambda x: value)
            return called(*call.bound.args, **call.bound.kwargs)

        return viewed(found[0], again, f"numpy.{name}")

    return call


def sliced(x: LazyArray, index) -> LazyArray:
    entries = index if isinstance(index, tuple) else (index,)
    if any(isinstance(entry, (bool, np.bool_)) for entry in entries):
        refuse("a lazy array takes integers, slices, None, ... and arrays of integers as indices", "np.where chooses by a condition; compute() gives "
               "an array that takes others")
    if any(isinstance(entry, (list, np.ndarray, LazyArray)) for entry in entries):
        return indexed(x, chosen(x, entries))
    entries = entries if any(entry is Ellipsis for entry in entries) else (*entries, ...)
    return viewed(x, lambda value: value[entries], "a part")


def chosen(x: LazyArray, entries) -> tuple:
    """The entries of an index, conditions that are there as the positions that they choose."""
    made, at = [], 0
    dims = lambda e: e.ndim if isinstance(e, np.ndarray) and e.dtype.kind == "b" else e is not None and e is not Ellipsis
    entries = [np.asarray(e) if isinstance(e, list) and np.asarray(e).dtype.kind == "b" else e for e in entries]
    for k, e in enumerate(entries):
        if isinstance(e, np.ndarray) and e.dtype.kind == "b" and e.ndim:
            asked(np.broadcast_to(False, x.shape[at:][: e.ndim]).__getitem__, e)
            made.extend(e.nonzero())
        else:
            made.append(e)
        at = x.ndim - sum(map(dims, entries[k + 1:])) if e is Ellipsis else at + dims(e)
    return tuple(made)


# --- the table ------------------------------------------------------------------------------------


def as_it_looks(called):
    """What is asked about an array and not about its elements."""
    def look(x):
        if isinstance(x, LazyArray):
            return x.value if x.op == "leaf" else np.broadcast_to(np.zeros((), x.dtype), x.shape)
        return type(x)(map(look, x)) if type(x) in (tuple, list) else x

    return lambda args, options: asked(called, *map(look, args), **{name: look(x) for name, x in options.items()})


def at_once(called):
    """A function that prints, saves or writes into an array of NumPy's is given the values of lazy
    arrays."""
    writes = called.__name__ in "copyto put putmask place fill_diagonal put_along_axis"

    def call(args, options):
        if writes and args and isinstance(args[0], LazyArray):
            refuse(f"numpy.{called.__name__} would write into a lazy array", "np.where(condition, a, b) chooses; compute() gives an array that can be written",
                   code="E0002")
        done = lambda x: x.compute() if isinstance(x, LazyArray) else x
        return asked(called, *map(done, args), **{name: done(x) for name, x in options.items()})

    return call


def of_all(row):
    """A function that without an axis goes through all elements, in C order."""
    def call(args, options):
        is_whole = args and isinstance(args[0], LazyArray) and args[0].ndim > 1 and (args[1] if len(args) > 1 else options.get("axis")) is None
        return row((np.ravel(args[0]), *args[1:]) if is_whole else args, options)

    return call


def _functions() -> dict:
    """What takes the arguments of each function of NumPy's that is recorded, and by which
    parameters."""
    rows = [
        ("sum prod", "a axis dtype keepdims initial where", reduced), ("mean", "a axis dtype keepdims where", reduced),
        ("min max", "a axis keepdims initial where", reduced), ("any all", "a axis keepdims where", reduced),
        ("argmin argmax", "a axis keepdims", reduced),
        ("var std", "a axis keepdims ddof correction", reduced),
        ("amin amax", "a axis keepdims initial where", lambda name: reduced(name[1:])),
        ("ptp", "a axis keepdims", lambda _: ptp), ("count_nonzero", "a axis keepdims", lambda _: count_nonzero),
        ("cumsum cumprod", "a axis dtype", lambda name: running(name[3:])),
        ("cumulative_sum cumulative_prod", "x axis dtype include_initial", lambda name: cumulative(name[11:])),
        ("linalg.norm", "x ord axis keepdims", lambda _: norm), ("linalg.vector_norm", "x ord axis keepdims", lambda _: vector_norm),
        ("where", "condition x y", lambda _: where), ("clip", "a a_min a_max min max", lambda _: clip),
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
    row = table[np.einsum]
    table[np.einsum] = lambda args, options: row(lettered(args), options)
    table.update({called: of_all(table[called]) for _, called in numpys("cumsum cumprod")})
    for _, called in numpys("transpose swapaxes moveaxis squeeze expand_dims matrix_transpose linalg.matrix_transpose flip diagonal "
                            "linalg.diagonal broadcast_to rot90 flipud fliplr rollaxis lib.stride_tricks.sliding_window_view"):
        table[called] = of_view(called)
    table.update({called: of_reshape(called) for _, called in numpys("reshape ravel")})
    for names, takes, make in (*lazy_functions.ROWS, *lazy_curves.ROWS, *[(names, takes, lambda _, call=call: call) for names, takes, call in formulas.ROWS]):
        table.update({called: Composed(called, make(name), takes) for name, called in numpys(names)})
    table.update({called: as_it_looks(called) for _, called in numpys(
        "shape ndim size result_type zeros_like ones_like empty_like iscomplexobj isrealobj tril_indices_from triu_indices_from diag_indices_from "
        "common_type can_cast may_share_memory shares_memory einsum_path")})
    table.update({called: at_once(called) for _, called in numpys(
        "array2string array_repr array_str save savetxt savez savez_compressed copyto put putmask place fill_diagonal put_along_axis")})
    return table


functions.update(_functions())


def call_numpy(called, args, options):
    if called not in functions:
        unknown(called.__name__)
    if options.get("out") is not None:
        return into_out(functions[called], called.__name__, args, **options)
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
    if name in lazy_ops.RANDOM:
        args = [number(x, "u8" if x >= 1 << 63 else "i8") if type(x) is int else operand(x) for x in args]
        if any(x.dtype.kind not in "iu" for x in args):
            refuse(f"bl.{name} takes integers", "a seed and a counter: x.astype(int)", DTypeError, "E0201")
        return node("map", tuple(args), (name, tuple([x.dtype for x in args]), None), np.dtype(lazy_ops.RANDOM[name]),
                    asked(np.broadcast_shapes, *[x.shape for x in args]))
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


def fold_ours(value: LazyArray, name: str, axes, options):
    """A fold of broadloom's on a lazy array: `bl.logsumexp(x, 1)`."""
    correction = options.pop("correction", None)
    for option, given in options.items():
        if given is not None:
            refuse(f"bl.{name} of lazy arrays has no {option}=", "it works in kernels: @bl.kernel", code="E0021")
    asked(np.any, np.broadcast_to(False, [min(n, 1) for n in value.shape]), axis=axes or None)
    return fold(value, name, axes or None, correction=asked(operator.index, correction or 0))


def of_method(row, name):
    def call(self, *args, **options):
        return row((self, *args), options) if options.get("out") is None else into_out(row, name, (self, *args), **options)

    return call


def as_input(x: LazyArray, what: str) -> LazyArray:
    return x if x.op == "leaf" else refuse(f"what is not computed yet has no {what}", "it has no memory: compute() it first", code="E0021")


def missing(name):
    raise AttributeError(f"a lazy array has no '{name}', and an array of NumPy's has: compute() gives one")


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
        if name != "divmod":
            methods[f"__i{name}__"] = in_place(ufunc)
    methods["__ipow__"] = in_place(np.power)
    methods.update({f"__{name}__": operator_of(ufunc) for name, ufunc in {
        "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "neg": np.negative,
        "pos": np.positive, "invert": np.invert, "abs": np.absolute}.items()})
    for name in "sum prod min max any all mean var std argmin argmax cumsum cumprod clip round dot".split():
        of = functions[getattr(np, name)]
        if isinstance(of, Composed) or name.startswith("cum"):
            methods[name] = of_method(of, name)
            continue
        row = Row(np.ndarray.clip if name == "clip" else of.called, f"ndarray.{name}" if name in ("any", "all", "var", "std", "clip") else of.signature, of.function, of.takes.replace("correction", ""))
        methods[name] = of_method(row, name)
    methods["transpose"] = lambda self, *axes: np.transpose(self, axes_given(axes))
    methods["swapaxes"] = lambda self, axis1, axis2, /: np.swapaxes(self, axis1, axis2)
    for name in "take repeat diagonal trace ravel copy choose searchsorted squeeze".split():
        methods[name] = of_method(functions[getattr(np, name)], name)
    methods["compress"] = lambda self, condition, axis=None: np.compress(condition, self, axis)
    methods["flatten"] = lambda self: np.ravel(self) if self.op != "leaf" else self.copy().ravel()
    methods["flat"] = property(lambda self: np.reshape(self, -1))
    methods["view"] = lambda self, dtype=None: self if dtype in (None, self.dtype) else viewed(as_input(self, "view"), lambda value: value.view(dtype), "a view")
    methods["strides"] = property(lambda self: as_input(self, "strides").value.strides)
    methods["tobytes"] = lambda self, *args, **options: asked(self.compute().tobytes, *args, **options)
    methods["__format__"] = lambda self, spec: asked(format, self.compute()[()], spec) if spec else repr(self)
    methods["reshape"] = lambda self, *shape, order="C", copy=None: np.reshape(
        self, shape[0] if len(shape) == 1 else shape, order=order, **({} if copy is None else {"copy": copy}))  # which NumPy 2.0 has not
    for name in ("T", "mT"):
        methods[name] = property(lambda self, name=name: viewed(self, lambda value: getattr(value, name), name))
    for name in ("real", "imag"):
        methods[name] = property(lambda self, name=name: part(self, name))
    for name in ("conj", "conjugate"):
        methods[name] = lambda self: np.conjugate(self) if self.dtype.kind == "c" else self
    methods["__getitem__"] = sliced
    astype = Row(np.ndarray.astype, "ndarray.astype", lambda a, dtype, copy=True: cast(a, asked(np.dtype, dtype)), "a dtype copy")
    methods["astype"] = lambda self, *args, **options: astype((self, *args), options)
    methods["__array_ufunc__"] = lambda self, ufunc, method, *args, **options: call_ufunc(ufunc, method, args, options)
    methods["__array_function__"] = lambda self, called, types, args, options: call_numpy(called, args, options)
    methods["__broadloom_function__"] = lambda self, name, args: call_ours(name, args)
    methods["__broadloom_fold__"] = fold_ours
    for name, method in methods.items():
        if not isinstance(method, property):
            method.__name__, method.__qualname__ = name, f"LazyArray.{name}"
            method = checked(method) if name in ("compress", "flatten", "view", "reshape", "transpose", "swapaxes", "conj", "conjugate") else method
        setattr(LazyArray, name, method)
    for name in dir(np.ndarray):  # a __getattr__ would slow all others down
        if not hasattr(LazyArray, name):
            setattr(LazyArray, name, property(lambda self, name=name: missing(name)))


_define_methods()
