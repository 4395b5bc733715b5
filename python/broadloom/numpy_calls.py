"""Calls of NumPy's functions that are noted: what is given to which parameter, and what NumPy
itself says to the call.

Problem: a function of NumPy's takes arguments by position and by name, and one that nobody looks at
is dropped in silence. Method: arguments are bound by NumPy's own signature. What is given must be
taken, or ask for what is done anyway; all else is refused. What NumPy raises becomes an error of
ours that is of the same class.
"""

from __future__ import annotations

import functools
import inspect

import numpy as np

from .errors import ArgumentError, AxisError, DataError, DTypeError, Error, NumberError, PositionError, ShapeError, SpecError
from .expr import caller

NOTHING = np._NoValue
_SIGNATURES = {name: inspect.signature(like) for name, like in {
    # Of functions in C, which NumPy tells from 2.4 on.
    "where": lambda condition, x=None, y=None, /: 0,
    "dot": lambda a, b, out=None: 0,
    "inner": lambda a, b, /: 0,
    "vdot": lambda a, b, /: 0,
    "concatenate": lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": 0,
    "can_cast": lambda from_, to, casting="safe": 0,
    "may_share_memory": lambda a, b, /, max_work=0: 0,
    "shares_memory": lambda a, b, /, max_work=-1: 0,
    "copyto": lambda dst, src, casting="same_kind", where=True: 0,
    "putmask": lambda a, /, mask, values: 0,
    "result_type": lambda *arrays_and_dtypes: 0,
    "empty_like": lambda prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None: 0,
    # Of ufuncs and their methods.
    "ufunc": lambda *operands, out=None, where=True, casting="same_kind", order="K", dtype=None, subok=True, signature=NOTHING,
    axes=NOTHING, axis=NOTHING, keepdims=False: 0,
    "ufunc.outer": lambda A, B, /, *, out=None, where=True, casting="same_kind", order="K", dtype=None, subok=True,
    signature=NOTHING: 0,
    "ufunc.reduce": lambda array, axis=0, dtype=None, out=None, keepdims=False, initial=NOTHING, where=True: 0,
    "ufunc.accumulate": lambda array, axis=0, dtype=None, out=None: 0,
    # Of methods of arrays that differ from the function.
    **dict.fromkeys(("ndarray.any", "ndarray.all"), lambda a, axis=None, out=None, *, keepdims=NOTHING, where=NOTHING: 0),
    **dict.fromkeys(("ndarray.var", "ndarray.std"), lambda a, axis=None, dtype=None, out=None, ddof=0, keepdims=NOTHING, *, where=NOTHING,
                    mean=NOTHING: 0),
    "ndarray.clip": lambda a, min=None, max=None, out=None, *, casting="same_kind", dtype=None: 0,
    "ndarray.astype": lambda a, dtype, order="K", casting="unsafe", subok=True, copy=True: 0,
}.items()}
# What is done anyway, where a default does not say it.
_NEUTRAL = {"keepdims": False, "where": True, "casting": "same_kind", "order": "K", "subok": True, "dtype": None, "device": "cpu"}
_HELP = {"out": "compute(out=..) writes into an array", "dtype": "x.astype(..) converts before"}
ARRAYS = frozenset("a b m x y x1 x2 val condition array A B operands a_min a_max min max where".split())  # parameters that take them


NUMBERS = frozenset((bool, int, float, complex))  # of Python: np.float64 is a float, too, but has a type


def is_number(x) -> bool:
    return type(x) in NUMBERS


@functools.lru_cache(maxsize=None)
def signature_of(called) -> inspect.Signature:
    return _SIGNATURES.get(called.__name__) or inspect.signature(called)


def signature_for(kind) -> inspect.Signature:
    return _SIGNATURES[kind] if isinstance(kind, str) else signature_of(kind)


class Call:
    """What a call gives to each parameter. `kind` is "ufunc", "ufunc.reduce", .., or the function
    itself; `verb` says what happens to the call: it is "recorded" or "traced"."""

    def __init__(self, name: str, kind, args, options, verb: str):
        self.name, self.verb = name, verb
        self.signature = signature_for(kind)
        try:
            self.bound = self.signature.bind(*args, **options)
        except TypeError as error:
            raise ArgumentError("E0308", f"numpy.{name}: {error}", caller(), f"it takes {self.signature}") from None

    def given(self, takes: str) -> dict:
        """What is given to the parameters that are named. Whatever else asks for more than what is
        done anyway is refused."""
        given = {}
        for name, value in self.bound.arguments.items():
            for option, value in (value.items() if name == "kwargs" else ((name, value),)):
                if option in takes.split() and value is not NOTHING:
                    given[option] = value
                elif not self.is_neutral(option, value):
                    raise SpecError("E0021", f"numpy.{self.name} with {option}= cannot be {self.verb}", caller(), _HELP.get(option, "")
                                    if option in _HELP and (option != "out" or self.verb == "recorded") else
                                    "compute() the array first" if self.verb == "recorded" else "see docs/python.md")
        return given

    def is_neutral(self, option: str, value) -> bool:
        default = self.signature.parameters[option].default if option in self.signature.parameters else NOTHING
        for neutral in (default, _NEUTRAL.get(option, default)):
            if value is neutral or (type(value) is type(neutral) and type(value) in (bool, int, str) and value == neutral):
                return True
        return value is NOTHING

    def convert(self, change):
        """Passes what parameters of arrays are given through a function, but for nothing, text and
        numbers of Python."""
        for name in ARRAYS.intersection(self.bound.arguments):
            value = self.bound.arguments[name]
            new = [one if one is None or one is NOTHING or is_number(one) or isinstance(one, str) else change(one)
                   for one in (value if name == "operands" else (value,))]
            self.bound.arguments[name] = tuple(new) if name == "operands" else new[0]


_CLASSES = ((np.exceptions.AxisError, AxisError, "E0104"), (OverflowError, NumberError, "E0202"), (IndexError, PositionError, "E0116"),
            (TypeError, DTypeError, "E0201"), (ValueError, ShapeError, "E0102"))


def asked(called, *args, **options):
    """What NumPy gives. What it raises is raised as an error of ours which is of that class,
    too."""
    try:
        return called(*args, **options)
    except Error:
        raise
    except tuple([theirs for theirs, _, _ in _CLASSES]) as error:
        ours, code = next((ours, code) for theirs, ours, code in _CLASSES if isinstance(error, theirs))
        if ours is ShapeError and ("zero-size" in str(error) or "empty sequence" in str(error)):
            ours, code = DataError, "E0307"
        raise ours(code, f"NumPy: {error}", caller(), "lazy arrays take what arrays of NumPy take") from None
