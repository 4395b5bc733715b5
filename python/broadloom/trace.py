"""``@bl.kernel``: a Python function, called once with traced values, becomes a kernel.

Problem: errors of the text that a function becomes must point into the function.
Method: the text is made of pieces, each of which knows where in the user's source the expression,
the declaration or the output that it is of was written. The innermost piece around the place of an
error is what the error is about.
"""

from __future__ import annotations

import inspect
import threading
from typing import Dict, List, Tuple

from . import _core
from .errors import ArgumentError, Error, Place, SpecError
from .expr import Annotation, DType, Expr, caller
from .functions import Out


class _Tracing(threading.local):
    """What is traced in this thread: the inputs of the kernel, the definitions before it, and the
    lengths of the axes that slices made."""

    def __init__(self):
        self.inputs: Dict[str, Annotation] = {}
        self.definitions = ""
        self.lengths: dict = {}


tracing = _Tracing()


class _Writer:
    def __init__(self):
        self.text = ""
        self.pieces: List[Tuple[int, int, Place]] = []
        self.names: Dict[int, str] = {}  # of expressions that have a `let`, by id

    def write(self, word: str):
        self.text += word

    def write_expr(self, expr: Expr, whole: bool = False):
        """`whole`: also what has a name of its own is written out."""
        if not whole and id(expr) in self.names:
            self.write(self.names[id(expr)])
            return
        begin = len(self.text)
        for part in expr.parts:
            if isinstance(part, str):
                self.write(part)
            else:
                self.write_expr(part)
        if expr.place is not None:
            self.pieces.append((begin, len(self.text), expr.place))

    def write_statement(self, parts):
        for part in ("  ", *parts, "\n"):
            self.write(part) if isinstance(part, str) else self.write_expr(part)

    def place_of(self, line: int, column: int):
        lines = self.text.split("\n")
        offset = sum(len(other) + 1 for other in lines[: line - 1]) + column - 1
        around = [piece for piece in self.pieces if piece[0] <= offset < piece[1]]
        return min(around, key=lambda piece: piece[1] - piece[0])[2] if around else None


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
        if outputs[name].axes is None and not outputs[name].mode:
            from .trace_slices import axes_of_output

            outputs[name].axes = axes_of_output(outputs[name].value)
        if getattr(outputs[name].value, "kept", False):
            raise SpecError("E0021", f"output '{name}' with keepdims=True cannot be traced", outputs[name].value.place or where,
                            "values meet by the names of their axes, so it is for those that meet others: leave it out, and reshape the result")
    return outputs


def _shared(outputs: Dict[str, Out], arrays) -> List[Expr]:
    """What is read several times and is worth a name, or is to be an array, arguments first."""
    uses: Dict[int, int] = {}
    order: List[Expr] = []

    stack = [(out.value, False) for out in reversed(list(outputs.values()))]
    while stack:  # not by recursion: a loop in the function may make long chains
        expr, done = stack.pop()
        if done:
            order.append(expr)
            continue
        uses[id(expr)] = uses.get(id(expr), 0) + 1
        if uses[id(expr)] > 1:
            continue
        stack.append((expr, True))
        stack.extend((part, False) for part in reversed(expr.parts) if isinstance(part, Expr))
    depth: Dict[int, int] = {}
    named = []
    for expr in order:
        deepest = max((depth[id(part)] for part in expr.parts if isinstance(part, Expr)), default=0)
        # A long chain is cut, too, as texts are not nested without end.
        name = any(isinstance(part, Expr) for part in expr.parts) and \
            (uses[id(expr)] > 1 or deepest >= 60 or id(expr) in arrays or expr.is_array)
        depth[id(expr)] = 0 if name else deepest + 1
        if name:
            named.append(expr)
    return named


def write_text(name: str, inputs: Dict[str, Annotation], outputs: Dict[str, Out], settings: List[str],
               arrays: Dict[int, tuple] = {}, definitions: str = "") -> _Writer:
    """The text of a kernel, behind the definitions that it uses. `arrays` are the axes of
    expressions that are to lie in memory, by id."""
    writer = _Writer()
    writer.write(definitions and definitions.strip() + "\n")
    writer.write(f"kernel {name} {{\n")
    for setting in settings:
        writer.write(f"  {setting}\n")
    for word, said in inputs.items():
        dims = f"[{', '.join(said.dims)}]" if said.dims else ""
        begin = len(writer.text)
        writer.write(f"  {said.role} {word} : {said.dtype}{dims}{' ' if said.known else ''}{said.known}\n")
        if said.place is not None:
            writer.pieces.append((begin, len(writer.text), said.place))
    taken = {*inputs, *outputs}
    count = 0
    said = []
    if any(out.value.marked for out in outputs.values()):
        from .trace_slices import lengths_said

        said = lengths_said([out.value for out in outputs.values()])
    for length in [length for array, length in said if array is None or array.name]:
        writer.write_statement(length)
    for expr in _shared(outputs, arrays):
        while f"t{count}" in taken:
            count += 1
        axes = arrays.get(id(expr)) or expr.axes
        writer.write(f"  let t{count} = " if not axes else f"  let t{count}[{', '.join(axes)}] = ")
        writer.write_expr(expr, whole=True)
        writer.write("\n")
        writer.names[id(expr)] = f"t{count}"
        count += 1
        for length in [length for array, length in said if array is expr]:
            writer.write_statement(length)
    for word, out in outputs.items():
        begin = len(writer.text)
        axes = "" if out.axes is None else f"[{', '.join(str(axis) for axis in _tuple(out.axes))}]"
        dtype = "" if out.dtype is None else f" : {out.dtype}"
        writer.write(f"  out {word}{axes}{dtype} {'+=' if out.add else '='} {out.mode + ' ' if out.mode else ''}")
        writer.write_expr(out.value)
        writer.write("\n")
        if out.place is not None:
            writer.pieces.append((begin, len(writer.text), out.place))
    writer.write("}\n")
    return writer


def dtype_of(value: Expr) -> str:
    """The dtype of a traced value, or "?" where it has a mistake, which the kernel will tell."""
    found = asked_of(value)
    return "?" if found is None else found.dtype


def asked_of(value: Expr):
    """A traced value as the output of a kernel, or None where it has a mistake."""
    text = write_text("asked", tracing.inputs, {"asked": Out(value, "", None, None, False)}, [], definitions=tracing.definitions).text
    try:
        return _core._compile(text, None, 0, "", "auto", False, "<asked>").outputs[0]
    except Error:
        return None


def _tuple(axes) -> tuple:
    return axes if isinstance(axes, (tuple, list)) else (axes,)


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
        from .trace_generic import Generic

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
