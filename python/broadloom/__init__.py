"""Broadloom: a run-time compiler for loops over n-d arrays.

    import broadloom as bl
    softmax = bl.compile("kernel softmax { in x : f32[i, j]; let e = exp(x - max(x, j)); "
                         "out p = e / sum(e, j) }")
    p = softmax(x)       # a NumPy array, as x is, or anything that shares its memory

docs/python.md is the manual of this package, docs/language.md that of the language.
"""

from __future__ import annotations

import atexit
import os

import numpy as _numpy

if int(_numpy.__version__.partition(".")[0]) < 2:
    raise ImportError(f"Broadloom needs NumPy 2, and this is NumPy {_numpy.__version__}: pip install 'numpy>=2.0'")

from . import _core
from ._core import Bound, Device, DeviceArray, Kernel, Results, release_kept_memory
from .errors import (ArgumentError, AxisError, CancelledError, CompileError, DataError, DTypeError, Error, InternalError,
                     NumberError, Place, PositionError, ShapeError, SpecError)
from .expr import DType, Expr, checked as _checked, param
from .functions import ELEMENTWISE, FOLDS, call, extent, fold, iota, logical_and, logical_not, logical_or, out, scan
from . import telling as _telling
from .timing import Bench, bench
from .trace import kernel

__version__ = "0.1.0"

bool_, i8, i16, i32, i64, u8, u16, u32, u64 = map(DType, "bool i8 i16 i32 i64 u8 u16 u32 u64".split())
f16, bf16, f32, f64, c64, c128 = map(DType, "f16 bf16 f32 f64 c64 c128".split())
Float, Int, Number = map(DType, "Float Int Number".split())  # any of these: a kernel for each dtype that comes
globals().update(ELEMENTWISE)  # bl.exp, bl.where, ..: for traced kernels
globals().update(FOLDS)  # bl.sum, bl.max, ..


def compile(text, name=None, *, threads=0, target="", engine="auto", debug=False, device=""):
    """Compiles the kernel of a text, or the one called `name` where there are several.

    `text` is a string, or a path (os.PathLike) of a .loom file, which errors then name. `threads`
    is the greatest number of threads of a call, 0 for as many as the machine gives. `target` is "",
    "x86-64-v3" or "x86-64-v4"; `engine` "auto", "jit", "interpreter", "tiered" or "reference".
    Results have the same bits with all but "reference". `debug` checks each call, slowly: True,
    or some of "nan", "infinity", "interpreter", "reference" and "memory". `device` is "" or a GPU,
    "cuda" or "cuda:1", where the arrays of calls lie, too: see docs/gpu.md.
    """
    file = "<text>"
    if isinstance(text, os.PathLike):
        file = os.fspath(text)
        with open(file, encoding="utf-8") as source:
            text = source.read()
    elif not isinstance(text, str):
        raise ArgumentError("E0401", f"a kernel is compiled from its text, a str, or from a path, and this is a {type(text).__name__}", None,
                            "decode bytes first" if isinstance(text, bytes) else "write bl.compile('kernel k { in x : f64[i]; out y = 2 * x }')")
    elif text.endswith(".loom") and "{" not in text:
        raise ArgumentError("E0401", f"'{text}' is the name of a file, and a str is the text of a kernel", None,
                            f"write bl.compile(pathlib.Path('{text}'))")
    return _core._compile(text, name, threads, target, engine, debug, file, device)


def array(x):
    """A lazy array of what the package takes as an array, without a copy: operators and NumPy's
    functions note what is done to it, and `compute()` or `bl.compute(..)` does it all in one
    kernel."""
    from .lazy_numpy import array as wrap

    globals()["array"] = wrap
    return wrap(x)


def compute(*arrays, out=None, threads=0, relaxed=False, accuracy=None):
    """Computes lazy arrays together, by one kernel: what they share is computed once. One gives its
    array, several a tuple.

    `out` is a tuple of arrays to write into, None for those that are to be made. `threads`,
    `relaxed` and `accuracy` are those of `bl.kernel`.
    """
    from .lazy import compute as run

    return run(*arrays, out=out, threads=threads, relaxed=relaxed, accuracy=accuracy)


def sums_at(k, length, values=None):
    """The sum of the values, or how many there are, for each position below `length` that the lazy
    array k names: numpy.bincount of a length that is known."""
    from .lazy_numpy import sums_at as sums

    return sums(k, length, values)


def set_log_level(level):
    """What is below this level is not said: "trace", "debug", "info", "warn" (as it begins),
    "error", "critical" or "off".

    Messages go to `logging.getLogger("broadloom")`, whose own level decides, too; where the
    environment has BROADLOOM_LOG they go to stderr.
    """
    _core._set_log_level(level)


def _log(level, message):
    """What the library's messages come to."""
    import logging

    logging.getLogger("broadloom").log(level, "%s", message)


# What is said while Python ends has no logging to go to.
atexit.register(_core._send_messages_to_stderr)


def load_ipython_extension(ipython):
    """`%load_ext broadloom` gives notebooks the magic `%%loom`, whose cell is a text of kernels."""
    from .notebook import load

    load(ipython, compile)


_ADAPTERS = ("array_api", "dask", "jax", "torch")  # modules that import what they are named after
# What takes milliseconds to import, by the module that has it.
_LATER = {"LazyArray": "lazy_numpy", **dict.fromkeys(("Decision", "GradientCheck", "Input", "Output", "Partial", "Slope"), "records")}


# A call with other arguments than there are is a mistake as all others are.
for _name in ["compile", "array", "compute", "sums_at", "set_log_level", "param", "kernel", "bench", "scan", "call", "extent", "iota", "out", "fold", "logical_and",
              "logical_or", "logical_not", *ELEMENTWISE, *FOLDS]:
    globals()[_name] = _checked(globals()[_name])
_core._compile, _core._set_log_level = _checked(_core._compile), _checked(_core._set_log_level)
for _class in (Kernel, Results):
    for _name in [name for name in vars(_class) if name == "__getitem__" or not name.startswith("__")]:
        if callable(vars(_class)[_name]):
            setattr(_class, _name, _checked(vars(_class)[_name]))


def __getattr__(name):
    import importlib

    if name in _LATER:
        return getattr(importlib.import_module("broadloom." + _LATER[name]), name)
    if name in _ADAPTERS:
        return importlib.import_module("broadloom." + name)
    # Python's import asks for a file of ours by its name before it reads it.
    is_own = name.startswith("__") or os.path.exists(os.path.join(__path__[0], name + ".py"))
    instead = "" if is_own else _telling.instead_of(name, __dir__())
    raise AttributeError(f"module 'broadloom' has no attribute '{name}'{instead}")


def __dir__():
    return sorted({*globals(), *_LATER, *_ADAPTERS})


def _restore(*state):
    """What pickle calls, by this name."""
    return _core._restore(*state)
