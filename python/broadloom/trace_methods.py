"""The operators and methods of traced values, all in one table. What takes milliseconds to import
is imported by the first that needs it."""

from __future__ import annotations

import numpy as np

from .expr import DType, Expr, axes_given, checked, numpys_name
from .functions import accumulated, binary, fold, function, positions, unary


def _read(self, index) -> Expr:
    """An element at positions, one for each dim: values of integers, sums of `bl.iota("i")`, ints,
    words of axes, ``x[k + 1, "2*j + u"]``, and slices by numbers. ``:`` and dims that are left out
    stay as they are. None makes a dim of 1. These three need labels."""
    from .trace_slices import read

    return read(self, list(index) if isinstance(index, tuple) else [index])


def _transposed(self) -> Expr:
    from .trace_dims import transpose

    return transpose(self)


def _product(a, b) -> Expr:
    from .trace_dims import matmul

    return matmul(a, b)


def _call_ufunc(self, ufunc, method, *args, **options):
    from .trace_numpy import call_ufunc

    return call_ufunc(ufunc, method, args, options)


def _call_numpy(self, called, types, args, options):
    from .trace_numpy import call_numpy

    return call_numpy(called, args, options)


def _clip(self, min=None, max=None) -> Expr:
    made = self if min is None else function("maximum", self, min)
    return made if max is None else function("minimum", made, max)


def _fold(name: str):
    def call(self, *axes, axis=None, ddof=None, correction=None, init=None, acc=None, like=None, keepdims=False, dtype=None, initial=None, where=True):
        value = self if dtype is None else accumulated(name, self, dtype)
        if where is not True:
            from .trace_functions import where_true

            return where_true(name, value, where, axes or axis, keepdims, initial)
        return fold(name, value, *(axes or positions(axis)), init=initial if init is None else init, acc=acc,
                    correction=ddof if correction is None else correction, like=like, keepdims=keepdims)

    return call


def _as_function(name: str):
    def call(self, *args, **options):
        return _call_numpy(self, getattr(np, name), (), (self, *args), options)

    return call


def _define_methods():
    methods = {
        "__getitem__": _read, "__array_ufunc__": _call_ufunc, "__array_function__": _call_numpy,
        "__matmul__": _product, "__rmatmul__": lambda a, b: _product(b, a), "T": property(_transposed),
        "__divmod__": lambda a, b: (a // b, a % b), "__rdivmod__": lambda a, b: (b // a, b % a),
        "__xor__": lambda a, b: function("xor", a, b), "__rxor__": lambda a, b: function("xor", b, a),
        "__neg__": lambda a: unary("-", a), "__invert__": lambda a: unary("~", a), "__pos__": lambda a: unary("-", unary("-", a)),
        "__abs__": lambda a: function("abs", a), "__round__": lambda self, digits=None: self.round(digits or 0),
        "astype": lambda self, dtype: function(numpys_name(dtype), self), "clip": _clip,
        "cumsum": lambda self, axis=None: np.cumsum(self, axis), "cumprod": lambda self, axis=None: np.cumprod(self, axis),
        "real": property(lambda self: function("real", self)), "imag": property(lambda self: function("imag", self)),
        **{name: lambda self: function("conj", self) for name in ("conj", "conjugate")},
        **{name: _fold(name) for name in "sum prod min max any all mean var std argmin argmax".split()},
        **{name: _as_function(name) for name in "dot swapaxes round diagonal take trace copy ravel repeat squeeze".split()},
        "flatten": lambda self, order="C": np.ravel(self, order),
        "reshape": lambda self, *shape, order="C": np.reshape(self, shape[0] if len(shape) == 1 else shape, order),
        "transpose": lambda self, *axes: np.transpose(self, axes_given(axes)),
    }
    words = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "^", "and": "&", "or": "|",
             "lshift": "<<", "rshift": ">>"}
    for name, word in {**words, "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
        methods[f"__{name}__"] = lambda a, b, word=word: binary(word, a, b)
    for name, word in words.items():
        methods[f"__r{name}__"] = lambda a, b, word=word: binary(word, b, a)
    methods["__pow__"] = lambda a, b: function("square", a) if type(b) is int and b == 2 else binary("^", a, b)  # as of arrays: of bool i8
    for name, method in methods.items():
        if not isinstance(method, property):
            method.__name__, method.__qualname__ = name, f"Expr.{name}"
        setattr(Expr, name, method if name.startswith("__") or isinstance(method, property) else checked(method))


def _cast(self, value) -> Expr:
    return function(self.name, value)


_cast.__name__, _cast.__qualname__ = "__call__", "DType.__call__"
DType.__call__ = checked(_cast)
_define_methods()
