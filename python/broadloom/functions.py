"""The functions of traced kernels, by the language's names and by NumPy's."""

from __future__ import annotations

import functools

from .errors import ArgumentError, DTypeError, SpecError, takes
from .expr import DType, Expr, binary, caller, checked, dtype_name, filled, function, operand, unary
from .numpy_calls import Call

_ELEMENTWISE = {
    1: "abs sign floor ceil round trunc sqrt rsqrt square reciprocal relu exp exp2 expm1 log log2 log10 log1p sin cos tan asin "
       "acos atan sinh cosh tanh asinh acosh atanh cbrt erf erfc lgamma digamma sigmoid softplus silu gelu gelu_tanh isnan "
       "isinf isfinite real imag conj keep recompute",
    2: "maximum minimum fmax fmin copysign xor pow hypot fmod atan2 logaddexp polygamma random normal random_bits",
    3: "where clip fma",
}
_FOLDS = "sum prod min max any all mean var std norm logsumexp argmin argmax"

# Ufuncs that make floats of integers, and one that copies: others are written as lazy arrays write
# them.
_SPELLED = {"fabs": "abs(copysign({0}, {0}))", "rint": "round(copysign({0}, {0}))", "positive": "(-(-{0}))",
            **dict.fromkeys(("deg2rad", "radians"), "(copysign({0}, {0}) * (pi / 180))"),
            **dict.fromkeys(("rad2deg", "degrees"), "(copysign({0}, {0}) * (180 / pi))")}
_REDUCING = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all", "logical_or": "any",
             "logaddexp": "logsumexp"}


def _axes(axes) -> str:
    words = []
    for axis in axes:
        if not isinstance(axis, (str, int)) or isinstance(axis, bool):
            raise SpecError("E0104", f"{axis!r} is no axis", caller(), "an axis is a label ('i') or a position (0, -1)")
        words.append(str(axis))
    return "".join(", " + word for word in words)


def fold(accumulator: str, value, *axes, init=None, acc=None, correction=None, like=None, keepdims=False) -> Expr:
    """Folds a value along axes (all, where none is named) by an accumulator: a built-in one, or one
    of the kernel's `definitions`, which may take several values as a tuple."""
    if isinstance(value, tuple):
        from .trace_slices import meeting

        values, finish = meeting([operand(one) for one in value])
        value = finish(Expr(("(", *[part for one in values for part in (one, ", ")][:-1], ")"), caller()))
    value = operand(value)
    if not isinstance(keepdims, int) and _word(accumulator)[:3] != "arg":  # NumPy takes all that is true there
        raise ArgumentError("E0308", f"keepdims= is true or false, and this is {keepdims!r}", caller(), "keepdims=True keeps dims of 1")
    from .trace_slices import folding

    axes, finish = folding(value, axes, bool(keepdims))
    tail = _axes(axes)
    parts = [f"{_word(accumulator)}(", value]
    if isinstance(like, Expr) and like.parts[1:2] == ("[",):  # a read, where the values are added
        parts += [", like=", like]
    elif like is not None:
        tail += f", like={_inputs('like', like)}"
    if acc is not None:
        tail += f", acc={dtype_name(acc)}"
    if correction is not None:
        tail += f", correction={correction}"
    parts.append(tail)
    if init is not None:
        parts += [", init=", operand(init)]
    made = Expr((*parts, ")"), caller())
    made.kept = bool(keepdims)  # unless the dims are noted
    return finish(made)


def scan(accumulator, value, axis, *, reverse=False, exclusive=False, init=None) -> Expr:
    """The fold so far at each position along an axis: ``bl.scan("sum", x, "j")`` is a cumulative
    sum."""
    value = operand(value)
    from .trace_slices import folding

    (axis,), finish = folding(value, (axis,), "scan")
    tail = _axes((axis,)) + ", reverse" * reverse + ", exclusive" * exclusive
    parts = [f"scan({_word(accumulator)}, ", value, tail]
    if init is not None:
        parts += [", init=", operand(init)]
    return finish(Expr((*parts, ")"), caller()))


def call(name, *args) -> Expr:
    """A function of the kernel's `definitions`: ``bl.call("f", x, 2)``."""
    return function(_word(name), *args)


def extent(axis, of=None) -> Expr:
    """The number of elements along an axis."""
    return Expr((f"extent({_axes((axis,))[2:]}" + ("" if of is None else f", of={_inputs('of', of)}") + ")",), caller())


def iota(axis, of=None) -> Expr:
    """The index along an axis, from 0."""
    return Expr((f"iota({_axes((axis,))[2:]}" + ("" if of is None else f", of={_inputs('of', of)}") + ")",), caller())


def logical_and(a, b) -> Expr:
    """Are both true: `&` of booleans, and not Python's `and`, which would ask for one truth."""
    return binary("&&", a, b)


def logical_or(a, b) -> Expr:
    """Is one of them true: `|` of booleans, and not Python's `or`."""
    return binary("||", a, b)


def logical_not(a) -> Expr:
    """Is it false: `~` of booleans, and not Python's `not`."""
    return unary("!", a)


def _word(name) -> str:
    return getattr(name, "__name__", name)


def _inputs(option: str, value) -> str:
    """Of an option that takes an input, or several as a tuple."""
    several = isinstance(value, (tuple, list))
    names = [one.name for one in (value if several else (value,)) if isinstance(one, Expr) and one.name]
    if not names or len(names) < (len(value) if several else 1):
        raise SpecError("E0003", f"{option}= takes inputs, and " + ("some of these are none" if several else "this is none"), caller(),
                        f"name parameters of the function: {option}=x, or {option}=(x, y)")
    return f"({', '.join(names)})" if several else names[0]


class Out:
    """An output with a mode, axes or a dtype of its own."""

    def __init__(self, value, mode: str, axes, dtype, add: bool, place=None):
        self.value, self.mode, self.axes, self.dtype, self.add, self.place = operand(value), mode, axes, dtype, add, place


def out(value, mode="", *, axes=None, dtype=None, add=False, like=None) -> Out:
    """An output of a traced kernel: its mode ("broadcast", "reduce(sum)", "accumulate(max)"), the
    axes that it keeps or in which order it has them, its dtype, whether a call adds to what the
    array holds, and the input, or the inputs as a tuple, whose shape a "reduce" or a "broadcast"
    has."""
    if like is not None:
        if not mode:
            raise SpecError("E0002", "like= says the shape of a mode, and this output has none", caller(), 'as in bl.out(e, "reduce(sum)", like=x)')
        words = f"like={_inputs('like', like)}"
        mode = f"{mode[:-1]}, {words})" if mode.endswith(")") else f"{mode}({words})"
    return Out(value, mode, axes, None if dtype is None else dtype_name(dtype), add, caller())


def _is_lazy(value) -> bool:
    return hasattr(value, "__array_ufunc__") and type(value).__name__ == "LazyArray"


def _elementwise(name: str, count: int):
    def call(*args):
        if len(args) != count:
            raise SpecError("E0009", f"{name} {takes(count, 'argument', len(args))}", caller(), "see docs/functions.md")
        if not any(isinstance(arg, Expr) for arg in args):
            if any(_is_lazy(arg) for arg in args):
                from .lazy_numpy import call_ours

                return call_ours(name, args)
            raise SpecError("E0002", f"bl.{name} of no traced value", caller(),
                            "it works on parameters of @bl.kernel functions and on lazy arrays, bl.array(x); NumPy has a function "
                            "for arrays")
        return function(name, *args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name}` of docs/functions.md, in traced kernels."
    return call


def _fold(name: str):
    def call(value, *axes, init=None, acc=None, correction=None, like=None):
        if _is_lazy(value):
            from .lazy_numpy import fold_ours

            return fold_ours(name, value, axes, {"init": init, "acc": acc, "correction": correction, "like": like})
        if hasattr(value, "__array__") and not isinstance(value, Expr):
            raise SpecError("E0002", f"bl.{name} of no traced value", caller(), f"it folds parameters of @bl.kernel functions and lazy arrays, bl.{name}(bl.array(x))")
        return fold(name, value, *axes, init=init, acc=acc, correction=correction, like=like)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Folds a traced value by `{name}`: bl.{name}(x, 'j'), over all axes where none is named."
    return call


def _accumulated(name: str, value: Expr, dtype) -> Expr:
    """The value in the dtype that a fold is asked for, where the fold has that dtype, too."""
    import numpy

    word = dtype_name(dtype) if isinstance(dtype, DType) or numpy.dtype(dtype).isnative else ""
    if word not in {"sum": ("i64", "u64", "f32", "f64", "c64", "c128"), "prod": ("i64", "u64", "f32", "f64", "c64", "c128"), "mean": ("f32", "f64", "c64", "c128")}.get(name, ()):
        raise SpecError("E0021", f"numpy.{name} with dtype={dtype!r} cannot be traced", caller(), "x.astype(..) converts before, and what is folded after")
    return value.astype(word)


def _method(name: str):
    @checked
    def call(self, *axes, axis=None, ddof=None, correction=None, init=None, acc=None, like=None, keepdims=False, dtype=None):
        return fold(name, self if dtype is None else _accumulated(name, self, dtype), *(axes or _positions(axis)), init=init, acc=acc, correction=ddof if correction is None else correction, like=like, keepdims=keepdims)

    call.__name__ = call.__qualname__ = name
    return call


ELEMENTWISE = {name: _elementwise(name, count) for count, names in _ELEMENTWISE.items() for name in names.split()}
FOLDS = {name: _fold(name) for name in _FOLDS.split()}
for _name in ("sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax"):
    setattr(Expr, _name, _method(_name))


def _made_of_others(name: str):
    @checked
    def call(self, *args, **options):
        from . import trace_functions, trace_joins

        return {**trace_functions.METHODS, **trace_joins.METHODS}[name](self, *args, **options)

    call.__name__ = name
    return call


for _name in "dot swapaxes round diagonal take transpose trace copy reshape ravel flatten repeat squeeze".split():
    setattr(Expr, _name, _made_of_others(_name))


# --- NumPy's protocols ----------------------------------------------------------------------------


def _positions(axis) -> tuple:
    if axis is not None and not isinstance(axis, str) and hasattr(axis, "__len__") and not len(axis):
        raise SpecError("E0103", "a fold along no axis is no fold", caller(), "leave it out")
    return () if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


def _unknown(name: str):
    import difflib  # takes milliseconds

    from .lazy_ufuncs import INSTEAD

    from .lazy_numpy import functions

    near = difflib.get_close_matches(name, [*ELEMENTWISE, *FOLDS], 1)
    is_lazy = any(called.__name__ == name for called in functions)
    help = INSTEAD[name] if name in INSTEAD else "lazy arrays have it, bl.array(x), and " if is_lazy else f"did you mean 'bl.{near[0]}'? " if near else ""
    raise SpecError("E0008", f"numpy.{name} cannot be traced", caller(), help + "docs/python.md has the functions that can")


def _reduced(name: str, value, axis, keepdims=False) -> Expr:
    return fold(name, _summed(name, value)[0], *_positions(axis), keepdims=keepdims)


def _running(name: str, value, axis) -> Expr:
    value, init = _summed(name, value)
    return scan(name, value, axis, init=init)


def _summed(name: str, value) -> tuple:
    """The value and where its sums begin as they run, so that they are those of NumPy: of floats at
    -0., which leaves the first element as it is; sums of exp of integers are floats of their
    size."""
    from .trace import dtype_of

    value = operand(value)
    word = dtype_of(value) if name in ("sum", "logsumexp") else ""
    if word == "bool" or word[:1] in ("i", "u"):
        return (filled("copysign({0}, {0})", [value]) if name == "logsumexp" else value), None
    return value, complex(-0.0, -0.0) if word[:1] == "c" else -0.0 if name == "sum" and word != "?" else None


def call_ufunc(ufunc, method, args, options):
    name = ufunc.__name__
    if method in ("reduce", "accumulate") and name in _REDUCING:
        given = Call(f"{name}.{method}", f"ufunc.{method}", args, options, "traced").given("array axis" + " keepdims" * (method == "reduce"))
        word, value, axis = _REDUCING[name], given["array"], given.get("axis", 0)
        return _reduced(word, value, axis, given.get("keepdims", False)) if method == "reduce" else _running(word, value, axis)
    if method == "outer" and ufunc.nin == 2 and ufunc.signature is None:
        from .trace_functions import outer

        given = Call(f"{name}.outer", "ufunc.outer", args, options, "traced").given("A B")
        return outer(ufunc, given["A"], given["B"])
    if method != "__call__":
        _unknown(f"{name}.{method}")
    args = Call(name, "ufunc", args, options, "traced").given("operands")["operands"]
    if name in _AXES:
        from . import trace_axes

        return getattr(trace_axes, name)(*args)
    if name == "divmod":
        return binary("//", *args), binary("%", *args)
    from .formulas_bits import MADE, composed

    if ufunc in MADE:
        return composed(ufunc, args)
    from .lazy_ops import TEMPLATES
    from .trace import dtype_of
    from .trace_functions import UFUNCS

    args = [operand(arg) for arg in args]
    if name in UFUNCS:
        return UFUNCS[name](*args)
    if name not in TEMPLATES:
        _unknown(name)
    if name == "float_power":
        from .formulas import cast, kind_of

        args = [cast(x, "c128" if kind_of(x) == "c" else "f64") for x in args]
    if name in _SPELLED and name not in ("positive", "rint") and dtype_of(args[0])[0] == "c":
        raise DTypeError("E0201", f"numpy.{name} of complex numbers cannot be traced", caller(), "take its abs, real or imag first")
    if name in _SPELLED and (name == "positive" or dtype_of(args[0])[0] in "iu" or dtype_of(args[0]) == "bool"):
        return filled(_SPELLED[name], args)
    return filled(TEMPLATES[name], args)


def _clip(a, **bounds) -> Expr:
    if ("a_min" in bounds) != ("a_max" in bounds):
        raise ArgumentError("E0308", "numpy.clip with one bound by position", caller(), "pass both, None for one that is not there, or min= or max=")
    low, high = bounds.get("min", bounds.get("a_min")), bounds.get("max", bounds.get("a_max"))
    a = a if low is None else function("maximum", a, low)
    return a if high is None else function("minimum", a, high)


def _where(condition, x=None, y=None) -> Expr:
    if x is None or y is None:
        raise SpecError("E0009", "numpy.where of a condition alone cannot be traced", caller(), "as in np.where(condition, a, b)")
    return function("where", condition, x, y)


def _cumulative(name: str):
    def call(a, axis=None):
        from .trace_axes import axes_of

        axis = 0 if axis is None and len(axes_of(operand(a))) == 1 else axis
        if axis is None:
            raise SpecError("E0103", f"numpy.cum{name} of a traced value needs axis=", caller(), "name the axis")
        return _running(name, a, axis)

    return call


def _numpy_fold(name: str):
    def call(a, axis=None, ddof=None, correction=None, keepdims=False, initial=None, where=True, dtype=None):
        a = a if dtype is None else _accumulated(name, a, dtype)
        if name.startswith("arg") and isinstance(axis, (tuple, list)):
            raise ArgumentError("E0308", f"numpy.{name} takes one axis", caller(), f"bl.{name}(x, 'i', 'j') takes several")
        if where is not True:
            from .trace_functions import where_true

            return where_true(name, a, where, axis, keepdims, initial)
        return fold(name, a, *_positions(axis), correction=ddof if correction is None else correction, keepdims=keepdims, init=initial)

    return call


_AXES = ("matmul",)


@functools.lru_cache(maxsize=None)
def _numpy_functions() -> dict:
    """What takes the arguments of each function of NumPy's that is traced, and by which
    parameters."""
    import numpy as np

    folds = {name: name for name in _FOLDS.split() if name not in ("norm", "logsumexp")}
    rows = {getattr(np, name): (_numpy_fold(word), "a axis keepdims" + " ddof correction" * (word in ("var", "std")) + " dtype" * (word in ("sum", "prod", "mean")) + " initial where" * (word in ("sum", "prod", "min", "max")) + " where" * (word in ("any", "all", "mean")))
            for name, word in {**folds, "amin": "min", "amax": "max"}.items()}
    rows.update({getattr(np, "cum" + name): (_cumulative(name), "a axis") for name in ("sum", "prod")})
    rows.update({getattr(np, name): (lambda val, name=name: function(name, val), "val") for name in ("real", "imag")})
    rows.update({np.linalg.norm: (lambda x, axis=None, keepdims=False: fold("norm", x, *_positions(axis), keepdims=bool(keepdims)), "x axis keepdims"),
                 np.where: (_where, "condition x y"), np.clip: (_clip, "a a_min a_max min max")})
    from . import trace_axes

    rows.update({getattr(np, name): (getattr(trace_axes, name), takes) for name, takes in {
        "transpose": "a axes", "swapaxes": "a axis1 axis2", "moveaxis": "a source destination", "dot": "a b", "inner": "a b", "outer": "a b"}.items()})
    rows.update({np.pad: (trace_axes.pad, "array pad_width mode constant_values"), np.concatenate: (trace_axes.concatenate, "arrays axis"),
                 np.flip: (trace_axes.flip, "m axis"), np.expand_dims: (trace_axes.expand_dims, "a axis")})
    from . import formulas, trace_functions, trace_joins

    rows.update({getattr(np, name): (call, takes) for names, takes, call in (*formulas.ROWS, *trace_functions.ROWS, *trace_joins.ROWS) for name in names.split()})
    rows[np.einsum] = (trace_axes.call_einsum, "operands optimize")
    return rows


def call_numpy(called, args, options):
    if called not in _numpy_functions():
        _unknown(called.__name__)
    function, takes = _numpy_functions()[called]
    return function(**Call(called.__name__, called, args, options, "traced").given(takes))
