"""The text of a traced kernel, and what the compiler says to it: the dtype and the axes of a value.

Problem: errors of the text that a function becomes must point into the function.
Method: the text is made of pieces, each of which knows where in the user's source the expression,
the declaration or the output that it is of was written. The innermost piece around the place of an
error is what the error is about.
"""

from __future__ import annotations

import threading
from typing import Dict, List, Tuple

from . import _core
from .errors import Error, Place
from .expr import Annotation, Expr, operand


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


class Out:
    """An output with a mode, axes or a dtype of its own."""

    def __init__(self, value, mode: str, axes, dtype, add: bool, place=None):
        self.value, self.mode, self.axes, self.dtype, self.add, self.place = operand(value), mode, axes, dtype, add, place


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


def _lengths_said(values) -> list:
    """The statements that say how long axes are, each with the array after which it stands (None:
    the inputs)."""
    if not any(value.marked for value in values):
        return []
    found, done, stack = {}, set(), [(value, False) for value in reversed(values)]
    while stack:  # not by recursion: a loop in the function may make long chains
        expr, ready = stack.pop()
        if ready:
            for label, said in expr.says.items():
                found.setdefault(label, said)
        elif id(expr) not in done:
            done.add(id(expr))
            stack.append((expr, True))
            stack.extend((part, False) for part in reversed(expr.parts) if isinstance(part, Expr))
    return list(found.values())


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
    said = _lengths_said([out.value for out in outputs.values()])
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
        axes = "" if out.axes is None else f"[{', '.join(map(str, out.axes if isinstance(out.axes, (tuple, list)) else [out.axes]))}]"
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
