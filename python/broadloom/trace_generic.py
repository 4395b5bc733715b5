"""Kernels of any dtype: a function whose inputs are declared by `bl.Float`, `bl.Int` or `bl.Number`
is traced once for each dtype that it is called with."""

from __future__ import annotations

import inspect
import threading
from typing import Any, Dict

from . import trace
from ._core import Kernel
from .errors import DTypeError, Error
from .expr import _DTYPES, Annotation, DType, caller, dtype_name

MEMBERS = {"Float": ("f16", "bf16", "f32", "f64"), "Int": _DTYPES[1:9], "Number": _DTYPES[1:]}


class Generic:
    """A kernel for each dtype: called as a kernel is, `g[bl.f32]` is the one of a dtype."""

    def __init__(self, function, options):
        self.function, self.options = function, options
        self.generic = {}  # by parameter: the kind of dtypes
        self.parameters = [*inspect.signature(function).parameters.values()]
        for parameter in self.parameters:
            said = trace.declared_by(function, parameter)
            if isinstance(said, Annotation) and said.dtype.name in MEMBERS:
                self.generic[parameter.name] = said
        self.kernels: Dict[str, Kernel] = {}
        self.lock = threading.Lock()
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__

    def __repr__(self) -> str:
        return f"<broadloom kernel of any dtype: {self.function.__name__}(" + ", ".join(f"{name}: {said}" for name, said in self.generic.items()) + ")>"

    def __getattr__(self, name):
        raise AttributeError(f"a kernel of any dtype has no '{name}'" + (f", and that of one has: f[bl.f32].{name}" if hasattr(Kernel, name) else ""))

    def __reduce__(self):
        return self.function.__qualname__  # where it is defined, as functions are pickled

    def __getitem__(self, dtype) -> Kernel:
        word = dtype_name(dtype)
        for name, said in self.generic.items():
            if word not in MEMBERS[said.dtype.name]:
                raise DTypeError("E0203", f"input '{name}' is {said.dtype}, and {word} is none", caller(), "it is one of " + ", ".join(MEMBERS[said.dtype.name]))
        if word not in self.kernels:
            made = {name: Annotation(DType(word), said.dims, said.role, said.known, said.place) for name, said in self.generic.items()}
            kernel = trace.traced(self.function, made, **self.options)
            with self.lock:
                self.kernels.setdefault(word, kernel)
        return self.kernels[word]

    def __call__(self, *args, **options) -> Any:
        named = {**{parameter.name: arg for parameter, arg in zip([p for p in self.parameters if p.default is p.empty], args)}, **options}
        dtypes = [x.dtype for name, x in named.items() if name in self.generic and hasattr(x, "dtype")]
        if not dtypes:
            raise DTypeError("E0203", f"kernel '{self.__name__}' is called without an array that says its dtype", caller(), f"name it: {self.__name__}[bl.f32](..)")
        return self[_word(dtypes[0])](*args, **options)


def _word(dtype) -> str:
    try:
        return dtype_name(dtype)
    except Error:
        return dtype_name(str(dtype).rpartition(".")[2])  # torch.float32
