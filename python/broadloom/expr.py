"""Expressions of traced kernels: what declarations and values note, as text of the language."""

from __future__ import annotations

import functools
import linecache
import math
import os
import re
import sys
from typing import Optional, Tuple

import numpy as np

from .errors import ArgumentError, DTypeError, Error, Place, PositionError, SpecError

_HERE = os.path.dirname(os.path.abspath(__file__))
_DTYPES = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "c64", "c128")
_DIM = re.compile(r" *(:|\d+|[^\W\d]\w*( *\?| *= *\d+)?) *")
_NUMPY_DTYPES = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex64": "c64", "complex128": "c128",
}


def caller() -> Place:
    """The place in the user's source that is being executed: outside of this package and of
    NumPy."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if os.path.dirname(os.path.abspath(file)) != _HERE and "numpy" + os.sep not in file:
            break
        frame = frame.f_back
    line, column, length = frame.f_lineno, 1, 1
    text = linecache.getline(frame.f_code.co_filename, line).rstrip("\n")
    if hasattr(frame.f_code, "co_positions"):  # from Python 3.11 on
        positions = list(frame.f_code.co_positions())
        first, last, begin, end = positions[frame.f_lasti // 2]
        if first == line and begin is not None:
            # Columns of code objects count bytes of UTF-8, ours characters.
            raw = text.encode()
            column = len(raw[:begin].decode(errors="replace")) + 1
            stop = end if last == first and end is not None else len(raw)
            length = max(1, len(raw[begin:stop].decode(errors="replace")))
    return Place(frame.f_code.co_filename, line, column, length, text)


def _takes(function) -> str:
    import inspect

    try:
        return "it takes " + re.sub(r"^\(self(, )?", "(", str(inspect.signature(function)))
    except (TypeError, ValueError):
        return "help() shows the arguments"


def checked(function):
    """The function, of which a call that Python or nanobind refuses, as it has no such arguments,
    is a mistake as all others are."""
    @functools.wraps(function)
    def call(*args, **options):
        try:
            return function(*args, **options)
        except (TypeError, IndexError) as error:
            if isinstance(error, Error) or error.__traceback__.tb_next is not None:  # raised inside
                raise
            lines = str(error).split("\n")
            kind, code = (PositionError, "E0116") if isinstance(error, IndexError) else (ArgumentError, "E0308")
            # nanobind says the arguments that it takes in its third line.
            raise kind(code, f"{function.__name__.strip('_')}: {lines[0]}", caller(), lines[2].strip() if len(lines) > 2 else _takes(function)) from None

    return call


def dtype_name(dtype) -> str:
    """The language's word for a dtype of ours, of NumPy's, or for the word itself."""
    if isinstance(dtype, DType):
        return dtype.name
    if isinstance(dtype, str) and dtype in _DTYPES:
        return dtype
    try:
        word = np.dtype(dtype).name
    except TypeError:
        word = str(dtype)
    if word in _NUMPY_DTYPES:
        return _NUMPY_DTYPES[word]
    raise DTypeError("E0203", f"there is no dtype {word}", caller(), "the dtypes are " + ", ".join(_DTYPES))


def numpys_name(dtype) -> str:
    """The language's word for a dtype that NumPy is told: "i8" has 8 bytes there, and 8 bits
    here."""
    return dtype_name(np.dtype(dtype) if isinstance(dtype, str) and dtype in ("i8", "u8") else dtype)


def axes_given(axes):
    """The axes that the method transpose is given one by one, together or not at all."""
    return axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None


class Annotation:
    """The declaration of an input: ``bl.f32["i", "j"]``."""

    def __init__(self, dtype: "DType", dims: Tuple[str, ...], role: str = "in", known: str = "", place: Optional[Place] = None):
        self.place = place  # where it is written
        self.dtype = dtype
        self.dims = dims
        self.labels = tuple([re.match(r"\s*([^\W\d]\w*)?", dim)[1] or "" for dim in dims])  # "" of a dim without one
        self.role = role  # "param": it can be frozen
        self.known = known  # of all elements: ">= 0"

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(self.dims)}]" if self.dims else str(self.dtype)


def param(said, known: str = "") -> Annotation:
    """The declaration of a parameter, an input that `Kernel.freeze` can build in: ``w:
    bl.param(bl.f32["i", "j"])``. `known` is a fact that holds of all its elements, as ``">=
    0"``."""
    if isinstance(said, DType):
        said = Annotation(said, ())
    if not isinstance(said, Annotation):
        raise SpecError("E0002", f"{said!r} is no declaration of an input", caller(), 'as in bl.param(bl.f32["i", "j"])')
    return Annotation(said.dtype, said.dims, "param", known, caller())


class DType:
    """An element type. In an annotation ``bl.f32["i", "j"]`` declares an input with these axes,
    ``bl.f32`` one without any; called in a traced function it casts."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __getitem__(self, dims) -> Annotation:
        words = []
        for dim in dims if isinstance(dims, tuple) else (dims,):
            if isinstance(dim, slice) and dim == slice(None):
                words.append(":")
            elif isinstance(dim, (str, int)) and not isinstance(dim, bool) and _DIM.fullmatch(str(dim)):
                words.append(str(dim))
            else:
                apart = [word.strip() for word in dim.split(",")] if isinstance(dim, str) else []
                several = f"write bl.{self.name}[{', '.join(map(repr, apart))}]: " if len(apart) > 1 and all(map(_DIM.fullmatch, apart)) else ""
                raise SpecError("E0012", f"{dim!r} is no dim", caller(),
                                several + "a dim is a label ('i'), one that may be 1 and is then repeated ('i?'), an extent (3, 'i=3') or ':'")
        return Annotation(self, tuple(words), place=caller())


# What arrays of NumPy's have, and what to write in a kernel.
_UNTRACED = {
    "shape": "bl.extent('i') is the number of elements along an axis", "size": "bl.extent('i') is the number of elements along an axis",
    "ndim": "its axes have names", "dtype": "bl.Float makes a kernel for each dtype, and x.astype(..) casts",
}


class Expr:
    """A value of a traced kernel. Operators, NumPy's functions and those of `broadloom` make others
    of it: `trace_methods.py` has them."""

    __slots__ = ("parts", "place", "name", "said", "is_array", "axes", "kept", "layout", "says", "lain", "marked")
    __hash__ = object.__hash__
    __array_priority__ = 1000

    def __init__(self, parts: tuple, place: Optional[Place] = None, name: str = "", said: Optional[Annotation] = None):
        self.parts = parts  # words, and the expressions between them
        self.place = place
        self.name = name  # of an input
        self.said = said  # its declaration
        self.is_array = False  # whether it is read at positions
        self.axes = None  # their order, where it is another than the kernel would give
        self.kept = False  # whether NumPy would keep the dims that it folds, with an extent of 1
        self.layout = None  # its axes and, as None, its dims that None made
        self.says = {}  # how long axes are that slices made, as words
        self.lain = None  # the value as an array that is read at positions
        self.marked = any(type(part) is Expr and part.marked for part in parts)  # whether it has slices or dims that None made

    def __repr__(self) -> str:
        return "".join(part if isinstance(part, str) else repr(part) for part in self.parts)

    def __bool__(self):
        raise SpecError("E0002", "a traced value has no truth: it stands for whole arrays, which are not there yet", caller(),
                        "write bl.where(condition, a, b) instead of `if`, and `&`, `|`, `~` instead of and, or, not")

    def _refuse(self, what, help="it stands for whole arrays, which are not there yet"):
        raise SpecError("E0002", f"a traced value {what}", caller(), help)

    def __iter__(self):
        self._refuse("cannot be iterated over", "bl.sum(x) and bl.max(x, 'i') fold it; Python's sum and max go through elements")

    def __len__(self):
        self._refuse("has no length: bl.extent('i') is the one along an axis")

    def __setitem__(self, index, value):
        self._refuse("cannot be written: bl.where(condition, a, b) chooses", "kernels make new values, and have no arrays that change")

    def __getattr__(self, name):
        if name in _UNTRACED:
            raise AttributeError(f"a traced value has no '{name}': {_UNTRACED[name]}")
        raise AttributeError(f"a traced value has no '{name}'" +
                             ", and an array of NumPy's has: docs/python.md has what can be traced" * hasattr(np.ndarray, name))

    def __array__(self, dtype=None, copy=None):
        self._refuse("cannot be made an array")

    def __float__(self):
        self._refuse("is no number", "it stands for whole arrays: np.sin(x) takes it, math.sin(x) takes numbers")

    __int__ = __index__ = __complex__ = __float__


def _complex_word(value: complex) -> str:
    """A complex number with the signs of its zeros: a - 2j keeps that of a, a + 2j makes 0 of -0,
    and a - 0j has the part 0."""
    real, imag = repr(value.real), repr(abs(value.imag))
    if not math.isfinite(abs(value.imag)):
        raise SpecError("E0006", f"{value} cannot be written in a kernel", caller(), "pass it as an input of no dims")
    below = math.copysign(1, value.imag) < 0
    if value.imag == 0 and below:
        return f"(-({-value.real!r} - 0.0j))"
    if value.imag > 0:
        return f"(-(0.0 - {imag}j))" if real == "-0.0" else f"({real} + {imag}j)"
    return f"({real} - {imag}j)"


def position(expr: Expr) -> str:
    """A sum of multiples of axes as a word, where the value is one of `bl.iota`, else ""."""
    parts = expr.parts
    if len(parts) == 1 and isinstance(parts[0], str):
        found = re.fullmatch(r"iota\((\w+)\)", parts[0])
        return found[1] if found else parts[0] if re.fullmatch(r"\(?-?\d+\)?", parts[0]) else ""
    if len(parts) == 5 and parts[2] in (" + ", " - ", " * ") and isinstance(parts[1], Expr) and isinstance(parts[3], Expr):
        one, other = position(parts[1]), position(parts[3])
        if one and other and (parts[2] != " * " or one.strip("(-)").isdigit() or other.strip("(-)").isdigit()):
            return f"({one}{parts[2]}{other})"
    return ""


def operand(value) -> "Expr":
    """An expression of a value: itself, or a number."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return Expr(("true" if value else "false",))
    if isinstance(value, int):
        return Expr((str(value) if value >= 0 else f"({value})",))
    if type(value) is float:
        if value != value:
            return Expr(("nan",))
        word = "inf" if value in (float("inf"), -float("inf")) else repr(abs(value))
        return Expr((word if str(value)[0] != "-" else f"(-{word})",))
    if getattr(value, "shape", None) == () and hasattr(value, "dtype") and hasattr(value, "item"):  # a number of NumPy's
        return Expr((dtype_name(value.dtype) + "(", operand(value.item()), ")"))
    if type(value) is complex:
        return Expr((_complex_word(value),))
    kind = type(value).__name__
    raise SpecError("E0002", f"a value of class {kind} meets a traced value", caller(), "arrays are inputs: give the function a parameter for it")
