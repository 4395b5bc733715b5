"""The graph of recorded lazy arrays: its nodes in order, and which of their dims are one axis."""

from __future__ import annotations

from typing import Dict, List, Tuple

from numpy import ndarray

_NUMBERS = 256  # beyond which equal numbers are shared: a kernel has 4096 inputs at most


def survey(roots, share_numbers=False) -> tuple:
    """All nodes, arguments first; their numbers by id; and what tells structures apart, as a tuple.
    `share_numbers`: equal numbers of Python are one input."""
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
    """For each argument where its dims are in the node: a dim, or None for what the node does not
    have."""
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
    if node.op == "read":
        _, spans, lent = node.info
        return [[None] * len(node.args[0].shape), *spans, *[[dim] for dim in lent]]
    if node.op == "concat":
        return [[None if d == node.info else d for d in range(rank)] for _ in node.args]
    if node.op == "add_at":
        return [[0], *[[None] * len(arg.shape) for arg in node.args[1:]]]
    if node.op == "einsum":
        operands, result = node.info
        return [[result.index(letter) if letter in result else None for letter in letters] for letters in operands]
    return [[d + rank - len(arg.shape) for d in range(len(arg.shape))] for arg in node.args]


def letters_of(node) -> tuple:
    """For each argument what tells its dims that are summed over apart: in sums at positions those
    from the end on."""
    return node.info[0] if node.op == "einsum" else [["bins"], *[[*range(-len(arg.shape), 0)] for arg in node.args[1:]]]


class Classes:
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
            if node.op in ("einsum", "add_at"):
                first = {}
                for arg, letters in zip(node.args, letters_of(node)):
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
