"""The functions of traced kernels, by the language's names."""

from __future__ import annotations

import re

import numpy as np

from .errors import ArgumentError, SpecError, takes
from .expr import DType, Expr, caller, dtype_name, numpys_name, operand
from .trace_text import Out

_ELEMENTWISE = {
    1: "abs sign floor ceil round trunc sqrt rsqrt square reciprocal relu exp exp2 expm1 log log2 log10 log1p sin cos tan asin "
       "acos atan sinh cosh tanh asinh acosh atanh cbrt erf erfc lgamma digamma sigmoid softplus silu gelu gelu_tanh isnan "
       "isinf isfinite real imag conj keep recompute",
    2: "maximum minimum fmax fmin copysign xor pow hypot fmod atan2 logaddexp polygamma random normal random_bits",
    3: "where clip fma",
}
_FOLDS = "sum prod min max any all mean var std norm logsumexp argmin argmax"


def _meeting(values):
    """Values as they are given to an operation, and what notes the axes of its result."""
    if not any(value.marked for value in values):
        return values, lambda made: made
    from .trace_axes import meeting

    return meeting(values)


def function(name: str, *args, options: str = "") -> Expr:
    args, finish = _meeting([operand(arg) for arg in args])
    parts = [name + "("]
    for k, arg in enumerate(args):
        parts += [", "] * (k > 0) + [arg]
    return finish(Expr((*parts, options + ")"), caller()))


def binary(word: str, a, b) -> Expr:
    (a, b), finish = _meeting((operand(a), operand(b)))
    return finish(Expr(("(", a, f" {word} ", b, ")"), caller()))


def unary(word: str, a) -> Expr:
    (a,), finish = _meeting((operand(a),))
    return finish(Expr(("(" + word, a, ")"), caller()))


def filled(text: str, exprs) -> Expr:
    """The expression of a template, in which {0} and {1} stand for others."""
    exprs, finish = _meeting(exprs)
    parts = [exprs[int(part[1])] if part[0] == "{" else part for part in re.split(r"(\{\d\})", text) if part]
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Expr) else finish(Expr(tuple(parts), caller()))


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
    from .trace_axes import folding, meeting

    if isinstance(value, tuple):
        values, finish = meeting([operand(one) for one in value])
        value = finish(Expr(("(", *[part for one in values for part in (one, ", ")][:-1], ")"), caller()))
    value = operand(value)
    if not isinstance(keepdims, int) and _word(accumulator)[:3] != "arg":  # NumPy takes all that is true there
        raise ArgumentError("E0308", f"keepdims= is true or false, and this is {keepdims!r}", caller(), "keepdims=True keeps dims of 1")
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


def positions(axis) -> tuple:
    if axis is not None and not isinstance(axis, str) and hasattr(axis, "__len__") and not len(axis):
        raise SpecError("E0103", "a fold along no axis is no fold", caller(), "leave it out")
    return () if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


def accumulated(name: str, value: Expr, dtype) -> Expr:
    """The value in the dtype that a fold is asked for, where the fold has that dtype, too."""
    word = numpys_name(dtype) if isinstance(dtype, DType) or np.dtype(dtype).isnative else ""
    if word not in {"sum": ("i64", "u64", "f32", "f64", "c64", "c128"), "prod": ("i64", "u64", "f32", "f64", "c64", "c128"), "mean": ("f32", "f64", "c64", "c128")}.get(name, ()):
        raise SpecError("E0021", f"numpy.{name} with dtype={dtype!r} cannot be traced", caller(), "x.astype(..) converts before, and what is folded after")
    return value.astype(word)


def scan(accumulator, value, axis, *, reverse=False, exclusive=False, init=None) -> Expr:
    """The fold so far at each position along an axis: ``bl.scan("sum", x, "j")`` is a cumulative
    sum."""
    from .trace_axes import folding

    value = operand(value)
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


def _elementwise(name: str, count: int):
    def call(*args):
        if len(args) != count:
            raise SpecError("E0009", f"{name} {takes(count, 'argument', len(args))}", caller(), "see docs/functions.md")
        if not any(isinstance(arg, Expr) for arg in args):
            for arg in args:
                if hasattr(type(arg), "__broadloom_function__"):  # of lazy arrays
                    return arg.__broadloom_function__(name, args)
            raise SpecError("E0002", f"bl.{name} of no traced value", caller(),
                            "it works on parameters of @bl.kernel functions and on lazy arrays, bl.array(x); NumPy has a function "
                            "for arrays")
        return function(name, *args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name}` of docs/functions.md, in traced kernels."
    return call


def _fold(name: str):
    def call(value, *axes, init=None, acc=None, correction=None, like=None):
        if hasattr(type(value), "__broadloom_fold__"):  # of lazy arrays
            return value.__broadloom_fold__(name, axes, {"init": init, "acc": acc, "correction": correction, "like": like})
        if hasattr(value, "__array__") and not isinstance(value, Expr):
            raise SpecError("E0002", f"bl.{name} of no traced value", caller(), f"it folds parameters of @bl.kernel functions and lazy arrays, bl.{name}(bl.array(x))")
        return fold(name, value, *axes, init=init, acc=acc, correction=correction, like=like)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Folds a traced value by `{name}`: bl.{name}(x, 'j'), over all axes where none is named."
    return call


ELEMENTWISE = {name: _elementwise(name, count) for count, names in _ELEMENTWISE.items() for name in names.split()}
FOLDS = {name: _fold(name) for name in _FOLDS.split()}
