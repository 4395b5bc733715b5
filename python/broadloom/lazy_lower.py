"""From recorded lazy arrays to a kernel: one kernel for each structure.

Problem: an operation names its axes by position, and arrays meet aligned at the end, so one axis of the kernel is another
position in each array. A fold frees a name, a transpose may lead two axes of one array to the same.
Method: dims that meet, with the same extent, are one class, found from the inputs up. Then labels are handed down from the
results: a fold labels the dims that it folds by their class, with a number where that label is in use around it
(``(x + x.T).sum(1)``). What is asked for twice with the same labels is one expression. A dim of 1 that meets a longer one gets
none, and where it is an input's, a view without that dim is passed.
"""

from __future__ import annotations

import threading
from typing import Dict, List, Tuple

from numpy import ndarray

from . import _core, lazy_ops
from .expr import Annotation, DType, Expr, filled
from .functions import Out
from .lazy_forms import forget, form as form_at, leaves_of
from .lazy_ops import word_of
from .trace import write_text

_KEPT = 512  # kernels
_NUMBERS = 256  # beyond which equal numbers are shared: a kernel has 4096 inputs at most
_kernels: Dict[tuple, "Plan"] = {}
_changes = threading.Lock()  # of _kernels


class Plan:
    """A kernel, and how the arrays of a graph of this structure become its arguments."""

    __slots__ = ("kernel", "arguments", "drops")

    def __init__(self, kernel, arguments, drops):
        self.kernel = kernel
        self.arguments = arguments  # of each input: the number of the leaf and None, or the index that drops dims
        self.drops = drops  # of each result: None, or the index that drops the dims which the kernel does not give


def survey(roots, share_numbers=False) -> tuple:
    """All nodes, arguments first; their numbers by id; and what tells structures apart, as a tuple. `share_numbers`: equal
    numbers of Python are one input."""
    number: Dict[int, int] = {}
    arrays: Dict[object, int] = {}
    nodes, key = [], []
    inputs = 0
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if id(node) in number:
            stack.pop()
            continue
        is_number = type(node) is ndarray
        waiting = [] if is_number else [arg for arg in node.args if id(arg) not in number]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if is_number or node.op == "leaf":
            what = (node.dtype, node.tobytes()) if is_number and share_numbers else id(node) if is_number else id(node.value)
            same = arrays.setdefault(what, len(nodes))
            if same < len(nodes):
                number[id(node)] = same
                continue
        if is_number:
            inputs += 1
            key.append(("number", node.dtype))
        elif node.op == "leaf":
            key.append(("leaf", node.dtype, tuple([n == 1 for n in node.shape])))
        else:
            key.append((node.op, node.info, node.dtype, tuple([number[id(arg)] for arg in node.args])))
        number[id(node)] = len(nodes)
        nodes.append(node)
    if inputs > _NUMBERS and not share_numbers:
        return survey(roots, True)
    outputs = tuple([number[id(root)] for root in roots])
    return nodes, number, (outputs, *key)


def is_input(node) -> bool:
    return type(node) is ndarray or node.op == "leaf"


def dims_of(node) -> List[list]:
    """For each argument where its dims are in the node: a dim, or None for what the node does not have."""
    rank = len(node.shape)
    if node.op == "fold":
        axes = node.info[1]
        kept = iter(range(rank))
        return [[None if d in axes else next(kept) for d in range(len(node.args[0].shape))]]
    if node.op == "view":
        places = [None] * len(node.args[0].shape)
        for d, of in enumerate(node.info):
            if of is not None:
                places[of] = d
        return [places]
    if node.op == "einsum":
        operands, result = node.info
        return [[result.index(letter) if letter in result else None for letter in letters] for letters in operands]
    return [[d + rank - len(arg.shape) for d in range(len(arg.shape))] for arg in node.args]


class _Classes:
    """Dims of nodes that are one axis."""

    def __init__(self, nodes, number):
        self.parent: Dict[Tuple[int, int], Tuple[int, int]] = {}
        for at, node in enumerate(nodes):
            if is_input(node):
                continue
            for arg, places in zip(node.args, dims_of(node)):
                for d, place in enumerate(places):
                    if place is not None and arg.shape[d] == node.shape[place]:
                        self.join((number[id(arg)], d), (at, place))
            if node.op == "einsum":
                first = {}
                for arg, letters in zip(node.args, node.info[0]):
                    for d, letter in enumerate(letters):
                        mine = (number[id(arg)], d)
                        self.join(mine, first.setdefault((letter, arg.shape[d]), mine))

    def of(self, dim):
        while dim in self.parent:
            up = self.parent[dim]
            if up in self.parent:
                self.parent[dim] = self.parent[up]
            dim = up
        return dim

    def join(self, a, b):
        a, b = self.of(a), self.of(b)
        if a != b:
            self.parent[b] = a


class _Lowering:
    def __init__(self, nodes, number, apart):
        self.nodes = nodes
        self.number = number
        self.apart = apart  # whether folds whose axes must come in order have axes of their own, read from memory
        self.classes = _Classes(nodes, number)
        self.names: Dict[tuple, str] = {}  # of labels
        self.made: Dict[tuple, tuple] = {}  # by node and labels: the expression and its labels
        self.inputs: Dict[str, Annotation] = {}
        self.arguments: List[tuple] = []
        self.held: Dict[int, Expr] = {}  # by node, what is to lie in memory
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
                elif node.op == "einsum":
                    letter = node.info[0][k][d]
                    extent = max((a.shape[x.index(letter)] for a, x in zip(node.args, node.info[0]) if letter in x),
                                 key=lambda n: n != 1)
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
            if wish[0] == "array":
                needs = ((wish[1], self.own_labels(wish[1])),)
            else:
                needs = () if is_input(self.nodes[wish[0]]) else self.passed_down(*wish)
            waiting = [need for need in needs if need not in self.made]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            args = [self.made[need] for need in needs]
            self.made[wish] = self.read(wish, needs[0][1], *args[0]) if wish[0] == "array" else self.build(wish, needs, args)
        return self.made[(at, labels)]

    def read(self, wish, own, expr, axes):
        """An element of what lies in memory, at these labels."""
        dims = [(mine, label) for mine, label in zip(own, wish[2]) if mine in axes]
        if not dims:
            return expr, axes
        held = self.held.setdefault(wish[1], Expr(expr.parts))  # one of its own, as the axes of others may come in another order
        self.arrays[id(held)] = tuple([self.name(mine) for mine, _ in dims])
        positions = ", ".join("0" if label is None else self.name(label) for _, label in dims)
        return Expr((held, f"[{positions}]")), frozenset(label for _, label in dims if label is not None)

    def build(self, wish, needs, args):
        at, labels = wish
        node = self.nodes[at]
        if is_input(node):
            return self.input(at, labels)
        if node.op == "view":
            return args[0]
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
    """Whether the axes of a fold must come in the order of the dims: an index over several counts in it."""
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
    if not apart and any(sorted(along, key=order.index) != list(along) for along in lowering.ordered):
        return _compiled(roots, nodes, number, settings, threads, True)
    text = write_text("lazy", lowering.inputs, outputs, settings, lowering.arrays).text
    return Plan(_core._compile(text, None, threads, "", "auto", False, "<lazy>"), lowering.arguments, drops)


def plan_of(roots, settings=(), threads=0):
    """The plan for these results, compiled once for each structure, and the arrays in the order of its arguments."""
    leaves, meet = leaves_of(roots)
    form = None if leaves is None else roots[0].form if len(roots) == 1 else form_at("results", None, None, (), roots, meet)
    if form is not None and (settings, threads) in form.plans:
        plan, places = form.plans[settings, threads]
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
