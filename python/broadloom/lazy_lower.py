"""From recorded lazy arrays to a kernel: one kernel for each structure.

Problem: an operation names its axes by position, and arrays meet aligned at the end, so one axis of
the kernel is another position in each array. A fold frees a name, a transpose may lead two axes of
one array to the same. Method: dims that meet, with the same extent, are one class, found from the
inputs up. Then labels are handed down from the results: a fold labels the dims that it folds by
their class, with a number where that label is in use around it (``(x + x.T).sum(1)``). What is
asked for twice with the same labels is one expression. A dim of 1 that meets a longer one gets
none, and where it is an input's, a view without that dim is passed.
"""

from __future__ import annotations

import threading
from typing import Dict, List

from numpy import ndarray

from . import _core, lazy_ops
from .expr import Annotation, DType, Expr
from .functions import filled
from .lazy_forms import forget, form as form_at, leaves_of
from .lazy_graph import Classes, dims_of, is_input, letters_of, survey
from .lazy_ops import word_of
from .trace_text import Out, write_text

_KEPT = 512  # kernels
_kernels: Dict[tuple, "Plan"] = {}
_changes = threading.Lock()  # of _kernels


class Plan:
    """A kernel, and how the arrays of a graph of this structure become its arguments."""

    __slots__ = ("kernel", "arguments", "drops")

    def __init__(self, kernel, arguments, drops):
        self.kernel = kernel
        self.arguments = arguments  # of each input: the number of the leaf and None, or the index that drops dims
        self.drops = drops  # of each result: None, or the index that drops the dims which the kernel does not give


class _Lowering:
    def __init__(self, nodes, number, apart):
        self.nodes = nodes
        self.number = number
        self.apart = apart  # whether folds whose axes must come in order have axes of their own, read from memory
        self.classes = Classes(nodes, number)
        self.names: Dict[tuple, str] = {}  # of labels
        self.made: Dict[tuple, tuple] = {}  # by node and labels: the expression and its labels
        self.inputs: Dict[str, Annotation] = {}
        self.arguments: List[tuple] = []
        self.held: Dict[tuple, Expr] = {}  # by node and whether all dims are there, what is to lie in memory
        self.arrays: Dict[int, tuple] = {}  # by the id of such an expression: its labels
        self.ordered: List[tuple] = []  # axes that must come in this order

    def name(self, label) -> str:
        return self.names.setdefault(label, f"d{len(self.names)}")

    def fresh(self, dim, used: set):
        """A label for a dim that is none of those in use."""
        of, copy = self.classes.of(dim), 0
        while (of, copy) in used:
            copy += 1
        used.add((of, copy))
        return of, copy

    def own_labels(self, at: int) -> tuple:
        if self.is_whole(at):  # no input may have its labels, as it has an extent of its own
            return tuple([((at, d), "own") for d in range(len(self.nodes[at].shape))])
        used = set()
        return tuple([self.fresh((at, d), used) for d in range(len(self.nodes[at].shape))])

    def passed_down(self, at: int, labels: tuple) -> tuple:
        """The labels of each argument's dims, for those of the node."""
        node = self.nodes[at]
        used = {label for label in labels if label is not None}
        wanted = []
        by_letter: Dict[str, tuple] = {}
        for k, (arg, places) in enumerate(zip(node.args, dims_of(node))):
            mine = []
            for d, place in enumerate(places):
                if place is not None:
                    mine.append(labels[place] if arg.shape[d] == node.shape[place] else None)
                elif node.op == "fold":
                    mine.append(self.fresh((self.number[id(arg)], d), used))
                elif node.op in ("einsum", "add_at"):
                    letters = letters_of(node)
                    letter = letters[k][d]
                    extent = max((a.shape[x.index(letter)] for a, x in zip(node.args, letters) if letter in x), key=lambda n: n != 1)
                    if arg.shape[d] != extent:
                        mine.append(None)
                        continue
                    if letter not in by_letter:
                        by_letter[letter] = self.fresh((self.number[id(arg)], d), used)
                    mine.append(by_letter[letter])
                else:
                    mine.append(None)  # a dim of 1 that a view leaves out
            wanted.append((self.number[id(arg)], tuple(mine)))
        if self.apart and ordered(node):
            at_arg, mine = wanted[0]
            mine = tuple([((at, d), "apart") for d in range(len(mine))])
            wanted = [(at_arg, mine) if is_input(self.nodes[at_arg]) else ("array", at_arg, mine)]
        if node.op in ("read", "concat"):
            indices = len(node.info[1]) if node.op == "read" else 0
            wanted = [("base", a, True) if node.op == "concat" or k == 0 else ("array", a, ls) if k <= indices else (a, ls)
                      for k, (a, ls) in enumerate(wanted)]
        if node.op == "add_at":
            wanted[1] = "array", *wanted[1]
        if node.op == "einsum":  # what is computed is computed once, not for each element of the result
            wanted = [(a, ls) if is_input(self.nodes[a]) else ("array", a, ls) for a, ls in wanted]
        return tuple(wanted)

    def lower(self, at: int, labels: tuple):
        """Not by recursion: a loop of the program may make long chains."""
        stack = [(at, labels)]
        while stack:
            wish = stack[-1]
            if wish in self.made:
                stack.pop()
                continue
            at = wish[0]
            if at == "array":
                needs = (("base", wish[1], False),)
            elif at == "base":
                own = wish[1], self.own_labels(wish[1])
                needs = () if is_input(self.nodes[own[0]]) else self.passed_down(*own) if self.is_whole(own[0]) else (own,)
            elif self.is_whole(at):
                needs = (("base", at, True),)
            else:
                needs = () if is_input(self.nodes[wish[0]]) else self.passed_down(*wish)
            waiting = [need for need in needs if need not in self.made]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            args = [self.made[need] for need in needs]
            self.made[wish] = self.base(*wish[1:], needs, args) if at == "base" else \
                self.element(*args[0], wish[-1]) if at == "array" or self.is_whole(at) else self.build(wish, needs, args)
        return self.made[(at, labels)]

    def is_whole(self, at: int) -> bool:
        """Whether the language makes a node only as an array."""
        return not is_input(self.nodes[at]) and self.nodes[at].op in ("concat", "add_at")

    def base(self, at: int, every: bool, needs, args):
        """What is read at positions, and which of the dims of the node it has. `every`: all, also
        those of 1 that no input has."""
        node = self.nodes[at]
        if is_input(node):
            name = f"x{len(self.inputs)}"
            self.inputs[name] = Annotation(DType(word_of(node.dtype)), (":",) * len(node.shape))
            self.arguments.append((at, None))
            return Expr((name,), None, name), (True,) * len(node.shape)
        own = self.own_labels(at)
        expr, axes = (self.together(node, own, args), set(own)) if self.is_whole(at) else args[0]
        has = tuple([label in axes for label in own])
        parts = expr.parts if any(isinstance(part, Expr) for part in expr.parts) else (expr,)
        held = self.held.setdefault((at, every and not all(has)), Expr(parts))  # one of its own, as the axes of others may come in another order
        self.arrays[id(held)] = tuple([self.name(label) + " < 1" * (label not in axes) for label, is_there in zip(own, has) if is_there or every])
        return held, (True,) * len(has) if every else has

    def together(self, node, own, args):
        """Arrays side by side, or sums at positions."""
        if node.op == "add_at":
            (bins, _), (element, _), (value, _) = args
            return Expr(("sum(", value, ", like=", bins, "[", *element.parts, "])"))
        names = ", ".join(map(self.name, own))
        return Expr((f"concat({self.name(own[node.info])}", *[part for base, _ in args for part in (", ", base, f"[{names}]")], ")"))

    def element(self, base, has, labels):
        """An element of what is read at positions, at these labels."""
        labels = [label for label, is_there in zip(labels, has) if is_there]
        positions = ", ".join("0" if label is None else self.name(label) for label in labels)
        return Expr((base, f"[{positions}]") if labels else (base,)), frozenset(label for label in labels if label is not None)

    def read(self, node, labels, args):
        positions, spans, lent = node.info
        (base, _), indices, lent = args[0], args[1:1 + len(spans)], list(zip(lent, args[1 + len(spans):]))
        parts, axes = [base, "["], set()
        for d, place in enumerate(positions):
            parts.append(", " * (d > 0))
            if type(place) is int:
                element, of = indices[place]
                parts += [*element.parts, "[]" * (len(element.parts) == 1)]  # written out, as a name alone would be an axis
                axes |= of
                continue
            start, moves = place
            moves = [(step, labels[dim]) for step, dim in moves if labels[dim] is not None]
            axes |= {label for _, label in moves}
            word = str(start) * (start != 0 or not moves)
            for step, label in moves:
                word += (" - " if word else "-") * (step < 0) + " + " * (step > 0 and word != "") + f"{abs(step)}*" * (abs(step) != 1) + self.name(label)
            parts.append(word)
        expr = Expr((*parts, "]"))
        for dim, (extent, of) in lent:
            if labels[dim] is not None and labels[dim] not in axes:  # it is the same all along
                expr = Expr(("where(", extent, ", ", expr, ", ", expr, ")"))
                axes |= of
        return expr, frozenset(axes)

    def build(self, wish, needs, args):
        at, labels = wish
        node = self.nodes[at]
        if is_input(node):
            return self.input(at, labels)
        if node.op == "view":
            return args[0]
        if node.op == "read":
            return self.read(node, labels, args)
        if node.op == "fold":
            return self.fold(node, needs[0][-1], *args[0])
        if node.op == "scan":
            return self.scan(node, labels, *args[0])
        if node.op == "einsum":
            return self.einsum(node, labels, args)
        axes = frozenset().union(*[axes for _, axes in args])
        exprs = [expr for expr, _ in args]
        if node.op == "cast":
            return self.cast(exprs[0], word_of(node.dtype)), axes
        if node.op == "where":
            word = word_of(node.dtype)
            chosen = [self.cast(e, word, arg.dtype) for e, arg in zip(exprs[1:], node.args[1:])]
            return Expr(("where(", exprs[0], ", ", chosen[0], ", ", chosen[1], ")")), axes
        name, loop, exponent = node.info
        exprs = [self.cast(e, word_of(to), arg.dtype) for e, to, arg in zip(exprs, loop, node.args)]
        if exponent is not None:
            to = word_of(node.dtype) if lazy_ops.is_half(node.dtype) else ""
            return self.cast(Expr(("(", exprs[0], f" ^ {exponent})")), to), axes
        text, to = lazy_ops.template(name, loop, node.dtype)
        return self.cast(filled(text, exprs), to), axes

    def cast(self, expr, word: str, dtype=None):
        if not word or (dtype is not None and word_of(dtype) == word):
            return expr
        return Expr((word + "(", expr, ")"))

    def input(self, at: int, labels: tuple):
        node = self.nodes[at]
        name = f"x{len(self.inputs)}"
        kept = tuple([self.name(label) for label in labels if label is not None])
        self.inputs[name] = Annotation(DType(word_of(node.dtype)), kept)
        drop = None if None not in labels else tuple([0 if label is None else slice(None) for label in labels] + [...])
        self.arguments.append((at, drop))
        return Expr((name,), None, name), frozenset(label for label in labels if label is not None)

    def fold(self, node, labels, expr, axes):
        name, folded, correction, inner = node.info
        along = [labels[d] for d in folded if labels[d] in axes]
        expr = self.cast(expr, word_of(inner), node.args[0].dtype)
        if not along:
            return self.cast(filled(lazy_ops.fold_of_one(name, correction), [expr]), word_of(node.dtype)), axes
        if ordered(node):
            self.ordered.append(tuple([self.name(label) for label in along]))
        word, to = lazy_ops.fold_text(name, inner, node.dtype)
        tail = "".join(", " + self.name(label) for label in along) + f", correction={correction}" * (correction != 0)
        return self.cast(Expr((word + "(", expr, tail + ")")), to), axes - set(along)

    def scan(self, node, labels, expr, axes):
        name, axis, inner = node.info
        expr = self.cast(expr, word_of(inner), node.args[0].dtype)
        if labels[axis] not in axes:
            return expr, axes
        word, to = lazy_ops.fold_text(name, inner, node.dtype)
        # NumPy's first sum is the first element, also where that is -0.
        first = {"f": ", init=-0.", "c": ", init=-(0 + 0j)"}.get(inner.kind, "") if word == "sum" else ""
        return self.cast(Expr((f"scan({word}, ", expr, f", {self.name(labels[axis])}{first})")), to), axes

    def einsum(self, node, labels, args):
        word = word_of(node.dtype)
        product = None
        for (expr, _), arg in zip(args, node.args):
            expr = self.cast(expr, word, arg.dtype)
            product = expr if product is None else Expr(("(", product, " & " if word == "bool" else " * ", expr, ")"))
        axes = frozenset().union(*[axes for _, axes in args])
        kept = {label for label in labels if label is not None}
        along = sorted(self.name(label) for label in axes - kept)
        if not along:
            return product, axes
        name, to = lazy_ops.fold_text("max" if word == "bool" else "sum", node.dtype, node.dtype)
        return self.cast(Expr((name + "(", product, "".join(", " + label for label in along) + ")")), to), axes & kept


def ordered(node) -> bool:
    """Whether the axes of a fold must come in the order of the dims: an index over several counts
    in it."""
    return node.op == "fold" and node.info[0].startswith("arg") and len(node.info[1]) > 1


def _compiled(roots, nodes, number, settings, threads, apart=False):
    lowering = _Lowering(nodes, number, apart)
    outputs, drops = {}, []
    for k, root in enumerate(roots):
        at = number[id(root)]
        labels = lowering.own_labels(at)
        expr, axes = lowering.lower(at, labels)
        present = [label for label in labels if label in axes]
        outputs[f"y{k}"] = Out(expr, "", tuple([lowering.name(label) for label in present]) or None, word_of(root.dtype), False)
        drops.append(None if len(present) == len(labels) else
                     tuple([slice(None) if label in axes else 0 for label in labels] + [...]))
    order = list(dict.fromkeys(axis for said in lowering.inputs.values() for axis in said.dims))
    if not apart and any(not set(along) <= set(order) or sorted(along, key=order.index) != list(along) for along in lowering.ordered):
        return _compiled(roots, nodes, number, settings, threads, True)
    text = write_text("lazy", lowering.inputs, outputs, settings, lowering.arrays).text
    return Plan(_core._compile(text, None, threads, "", "tiered", False, "<lazy>"), lowering.arguments, drops)


def plan_of(roots, settings=(), threads=0):
    """The plan for these results, compiled once for each structure, and the arrays in the order of
    its arguments."""
    leaves, meet = leaves_of(roots)
    form = None if leaves is None else roots[0].form if len(roots) == 1 else form_at("results", None, None, (), roots, meet)
    seen = form and form.plans.get((settings, threads))
    if seen:
        plan, places = seen
        return plan, [leaves[at] if drop is None else leaves[at][drop] for at, drop in places]
    nodes, number, key = survey(roots)
    key = (key, settings, threads)
    plan = _kernels.get(key)
    if plan is None:
        plan = _compiled(roots, nodes, number, list(settings), threads)
        with _changes:
            while len(_kernels) >= _KEPT:
                del _kernels[next(iter(_kernels))]
                forget()  # forms that keep it
            plan = _kernels.setdefault(key, plan)  # another thread may have come first
    arrays = [node if type(node) is ndarray else node.value for node in [nodes[at] for at, _ in plan.arguments]]
    if form is not None:
        where = {id(leaf): k for k, leaf in enumerate(leaves)}
        places = [(where[id(array)], drop) for array, (_, drop) in zip(arrays, plan.arguments)]
        form.plans[settings, threads] = plan, places
        if len(roots) == 1 and not settings and not threads and plan.drops == [None] and not any(drop for _, drop in places):
            order, kernel = [at for at, _ in places], plan.kernel
            form.quick = kernel if order == [*range(len(leaves))] else lambda *leaves: kernel(*[leaves[at] for at in order])
    return plan, [array if drop is None else array[drop] for array, (_, drop) in zip(arrays, plan.arguments)]
