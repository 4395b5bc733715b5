"""The exceptions of broadloom. Each is a built-in one, too: a SpecError is a ValueError."""

from __future__ import annotations

from typing import NamedTuple, Optional

import numpy as np


class Place(NamedTuple):
    """A place in a source text; lines and columns count from 1."""

    file: str
    line: int
    column: int
    length: int
    text: str


class Error(Exception):
    """A mistake that a person can act on.

    `code` is stable ("E0102", listed in docs/errors.md), `message` one line, `where` a place in the
    text of the kernel or in the Python function that it was traced from (None where there is none),
    `help` what to do.
    """

    def __init__(self, code: str, message: str, where: Optional[tuple] = None, help: str = ""):
        Exception.__init__(self, code, message, where, help)  # classes of NumPy's beside it take other arguments
        self.code = code
        self.message = message
        self.where = None if where is None else Place(*where)
        self.help = help

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.where is not None:
            lines.append(f"  --> {self.where.file}:{self.where.line}:{self.where.column}")
            if self.where.text:
                lines.append("      " + self.where.text)
                under = "".join("\t" if c == "\t" else " " for c in self.where.text[: self.where.column - 1])
                lines.append("      " + under + "^" + "~" * (self.where.length - 1))
        if self.help:
            lines.append("help: " + self.help)
        return "\n".join(lines)


class SpecError(Error, ValueError):
    """The text or the expression is wrong, or has no derivative."""


class ShapeError(Error, ValueError):
    """Ranks, extents or strides are wrong, or outputs overlap."""


class DTypeError(Error, TypeError):
    """An element type is wrong, or an argument is no array that can be read where it lies."""


class AxisError(ShapeError, np.exceptions.AxisError):
    """An array has no such axis."""


class PositionError(ShapeError, IndexError):
    """An index lies outside of an array, or there are too many of them."""


class NumberError(DTypeError, OverflowError):
    """A number does not fit the type that it takes."""


class DataError(Error, ValueError):
    """Memory, pointers, or a fold of nothing."""


class ArgumentError(DataError, TypeError):
    """The number or the names of the arguments are wrong, or an option has no such value."""


class CompileError(Error, RuntimeError):
    """A limit was reached, or code could not be made."""


class CancelledError(Error, RuntimeError):
    """Ctrl-C stopped a call, and the program's own handler of SIGINT threw nothing."""


class InternalError(Error, RuntimeError):
    """A bug in Broadloom: please report it."""


def takes(count: int, noun: str, given: int) -> str:
    """takes 1 input, 2 were given"""
    return f"takes {count} {noun}{'' if count == 1 else 's'}, {given} {'was' if given == 1 else 'were'} given"


for _class in (Error, SpecError, ShapeError, AxisError, PositionError, DTypeError, NumberError, DataError, ArgumentError,
               CompileError, CancelledError, InternalError):
    _class.__module__ = "broadloom"
