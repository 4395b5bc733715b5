"""``@bl.kernel``: a Python function, called once with traced values, becomes a kernel.

One whose inputs are declared by `bl.Float`, `bl.Int` or `bl.Number` is traced once for each dtype
that it is called with.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any, Dict

from . import _core, trace_methods  # which gives traced values their operators
from ._core import Kernel
from .errors import ArgumentError, DTypeError, Error, Place, SpecError
from .expr import _DTYPES, Annotation, DType, Expr, caller, dtype_name
from .trace_text import Out, tracing, write_text


def declared_by(function, parameter: inspect.Parameter, where=None):
    """The declaration of a parameter, or another annotation that it has."""
    said = parameter.annotation
    if isinstance(said, str):  # from __future__ import annotations
        closure = inspect.getclosurevars(function)
        try:
            said = eval(said, {**closure.builtins, **function.__globals__, **closure.nonlocals})
        except Error as error:
            error.where = where or error.where
            raise
        except NameError:
            return None
        if isinstance(said, Annotation) and where is not None and said.place is not None and said.place.file == "<string>":
            said = Annotation(said.dtype, said.dims, said.role, said.known, where)
    for one in getattr(said, "__metadata__", ()):  # of typing.Annotated
        said = one if isinstance(one, (Annotation, DType)) else said
    return Annotation(said, ()) if isinstance(said, DType) else said


def _declared(function, parameter: inspect.Parameter, where: Place) -> Annotation:
    said = declared_by(function, parameter, where)
    if not isinstance(said, Annotation):
        raise SpecError("E0002", f"parameter '{parameter.name}' does not say what it is", where,
                        f'annotate it with a dtype and its axes: `{parameter.name}: bl.f32["i", "j"]`')
    return said


def _outputs(returned, inputs, where: Place) -> Dict[str, Out]:
    if not isinstance(returned, dict):
        name = "result"
        while name in inputs:
            name += "_"
        returned = {name: returned}
    outputs = {}
    for name, value in returned.items():
        if isinstance(value, tuple) or value is None or not isinstance(name, str):
            raise SpecError("E0002", "a traced function returns one expression, or a dict of them by the names of the outputs",
                            where, "return {'s': .., 'm': ..}")
        outputs[name] = value if isinstance(value, Out) else Out(value, "", None, None, False)
        made = outputs[name].value
        if outputs[name].axes is None and not outputs[name].mode:  # dims that None made have one element
            outputs[name].axes = made.axes if made.layout is None else [f"one_{place} < 1" if label is None else label for place, label in enumerate(made.layout)]
        if made.kept:
            raise SpecError("E0021", f"output '{name}' with keepdims=True cannot be traced", made.place or where,
                            "values meet by the names of their axes, so it is for those that meet others: leave it out, and reshape the result")
    return outputs


def kernel(function=None, *, name=None, order=None, accuracy=None, relaxed=False, threads=0, target="", engine="auto", debug=False, definitions=""):
    """Makes a kernel of a function whose parameters are annotated with dtypes and axes.

        @bl.kernel
        def softmax(x: bl.f32["i", "j"]):
            e = bl.exp(x - bl.max(x, "j"))
            return e / bl.sum(e, "j")

    The function is called once, now, with values that note what is done to them; it returns one
    expression, or a dict of outputs by their names. Parameters with a default and no annotation are
    constants. What comes back is a Kernel, called with arrays. `order`, `accuracy` and `relaxed`
    are the settings of docs/schedules.md, the others those of `compile`. `definitions` is a text of
    accumulators and functions of your own, for `bl.fold`, `bl.scan` and `bl.call`.
    """
    if function is None:
        return lambda function: kernel(function, name=name, order=order, accuracy=accuracy, relaxed=relaxed, threads=threads,
                                       target=target, engine=engine, debug=debug, definitions=definitions)
    if not inspect.isfunction(function):
        raise ArgumentError("E0308", f"a kernel is traced from a function, and this is a {type(function).__name__}", caller(), "bl.compile takes texts")
    options = {"name": name, "order": order, "accuracy": accuracy, "relaxed": relaxed, "threads": threads, "target": target, "engine": engine, "debug": debug, "definitions": definitions}
    if any("Float" in str(said) or "Int" in str(said) or "Number" in str(said) for said in function.__annotations__.values()):
        made = Generic(function, options)
        if made.generic:
            return made
    return traced(function, {}, **options)


def traced(function, instead, name, order, accuracy, relaxed, threads, target, engine, debug, definitions):
    """The kernel of a function; `instead` are declarations in place of its own."""
    code = function.__code__
    where = Place(code.co_filename, code.co_firstlineno, 1, 1, "")
    inputs: Dict[str, Annotation] = {}
    args, named = [], {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise SpecError("E0002", f"parameter '*{parameter.name}' has no declaration", where, "inputs are named one by one")
        if parameter.default is not parameter.empty:
            if parameter.annotation is parameter.empty:
                continue  # a constant
            raise SpecError("E0002", f"input '{parameter.name}' has a default", where,
                            "inputs come with each call; a constant has a default and no annotation")
        inputs[parameter.name] = instead.get(parameter.name) or _declared(function, parameter, where)
        expr = Expr((parameter.name,), None, parameter.name, inputs[parameter.name])
        if parameter.kind == parameter.KEYWORD_ONLY:
            named[parameter.name] = expr
        else:
            args.append(expr)
    before = tracing.inputs, tracing.lengths, tracing.definitions
    tracing.inputs, tracing.lengths, tracing.definitions = inputs, {}, definitions
    try:
        returned = function(*args, **named)
    finally:
        tracing.inputs, tracing.lengths, tracing.definitions = before
    settings = [f"order {order}"] * (order is not None) + [f"set accuracy = {accuracy}"] * (accuracy is not None)
    writer = write_text(name or function.__name__, inputs, _outputs(returned, inputs, where),
                   settings + ["set relaxed = on"] * relaxed, definitions=definitions)
    try:
        return _core._compile(writer.text, None, threads, target, engine, debug, f"<traced {function.__qualname__}>")
    except Error as error:
        if error.where is not None and error.where.file.startswith("<traced "):
            error.where = writer.place_of(error.where.line, error.where.column) or where
        raise error from None


MEMBERS = {"Float": ("f16", "bf16", "f32", "f64"), "Int": _DTYPES[1:9], "Number": _DTYPES[1:]}


class Generic:
    """A kernel for each dtype: called as a kernel is, `g[bl.f32]` is the one of a dtype."""

    def __init__(self, function, options):
        self.function, self.options = function, options
        self.generic = {}  # by parameter: the kind of dtypes
        self.parameters = [*inspect.signature(function).parameters.values()]
        for parameter in self.parameters:
            said = declared_by(function, parameter)
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
            kernel = traced(self.function, made, **self.options)
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
