"""Products of lazy arrays: matmul, dot, einsum and the like, each a sum of products over
letters."""

from __future__ import annotations

import functools
import operator
import re

import numpy as np

from .errors import ShapeError
from .lazy import LazyArray, lifted, node, operand, refuse
from .numpy_calls import asked, is_number


def einsum(letters, result, operands, stretched=True) -> LazyArray:
    """Letters of each operand and of the result, one for each dim. Dims of 1 stretch, or only those
    of the batch, whose letters are below 0."""
    operands = tuple([operand(np.asarray(x)) if is_number(x) else x for x in operands])
    extents = {}
    for x, word in zip(operands, letters):
        for letter, n in zip(word, x.shape):
            known = extents.setdefault(letter, n)
            stretches = stretched or (isinstance(letter, int) and letter < 0)
            if known != n and not (stretches and 1 in (known, n)):
                refuse(f"dims of {known} and {n} elements meet in a product", "the shapes are " +
                       ", ".join(str(one.shape) for one in operands), ShapeError, "E0102")
            extents[letter] = n if known == 1 else known
    if len(result) > 16:
        refuse(f"a product of {len(result)} dims cannot be recorded, the most are 16", "merge dims with reshape", ShapeError, "E0110")
    dtype = np.result_type(*[x.dtype for x in operands])
    return node("einsum", operands, (tuple(map(tuple, letters)), tuple(result)), dtype, tuple([extents[c] for c in result]))


def lettered(args) -> tuple:
    """The operands of np.einsum with a text, where lists of numbers say their dims: (a, [0, 1], b,
    [1, 2], [0, 2])."""
    if not args or isinstance(args[0], str):
        return args
    if any(type(dims) not in (list, tuple) or any(d is not Ellipsis and type(d) is not int for d in dims) for dims in (*args[1::2], *args[-1:][: len(args) % 2])):
        refuse("numpy.einsum takes a text, or lists of the numbers of dims", "as in np.einsum('ij,jk->ik', a, b) or (a, [0, 1], b, [1, 2], [0, 2])", code="E0021")
    word = lambda dims: "".join(["..." if d is Ellipsis else chr(asked(range(65, 91).__getitem__, d) if d < 26 else d + 71) for d in dims])
    pairs = args[: len(args) // 2 * 2]
    text = ",".join(map(word, pairs[1::2])) + (f"->{word(args[-1])}" if len(args) % 2 else "")
    return text, *pairs[::2]


def call_einsum(operands, optimize=False):
    subscripts, *arrays = operands
    arrays = [lifted(x) for x in arrays]
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    rest = lambda text, count: [*text.partition("...")[0], *range(-count, 0), *text.partition("...")[2]] if "..." in text else [*text]
    counts = [x.ndim - len(text.replace("...", "")) for text, x in zip(given.split(","), arrays)]
    words = [rest(text, count) for text, count in zip(given.split(","), counts)]
    most = max([count for text, count in zip(given.split(","), counts) if "..." in text], default=0)
    if arrow:
        result = rest(result, most)
    else:
        result = [*range(-most, 0), *sorted(c for c in set(given) - {",", "."} if given.count(c) == 1)]
    for k, word in enumerate(words):
        for letter in [c for c in dict.fromkeys(word) if word.count(c) > 1]:
            while word.count(letter) > 1:
                first = word.index(letter)
                second = word.index(letter, first + 1)
                if arrays[k].shape[first] != arrays[k].shape[second]:
                    refuse(f"the diagonal of dims of {arrays[k].shape[first]} and {arrays[k].shape[second]} elements", "they must be one", ShapeError, "E0102")
                arrays[k] = np.diagonal(arrays[k], 0, first, second)
                word = [c for d, c in enumerate(word) if d not in (first, second)] + [letter]
        words[k] = word
    if len(arrays) == 1 and len(words[0]) == len(result):  # nothing is summed
        return np.transpose(arrays[0], [words[0].index(c) for c in result])
    return einsum(words, result, arrays)


@functools.lru_cache(maxsize=256)
def _letters(signature: str, ranks: tuple) -> tuple:
    """Of a ufunc's signature, "(m,n),(n)->(m)", where a dim with `?` may be left out: the letters
    of operands and result, whose batch is below 0."""
    groups = [group.split(",") for group in re.findall(r"\(([^)]*)\)", signature)]
    *cores, out = [[letter for letter in group if letter] for group in groups]
    cores = [[letter for letter in core if rank >= len(core) or not letter.endswith("?")] for core, rank in zip(cores, ranks)]
    batches = [range(len(core) - rank, 0) for core, rank in zip(cores, ranks)]
    return (tuple([(*batch, *core) for batch, core in zip(batches, cores)]),
            (*max(batches, key=len), *[letter for letter in out if letter in cores[0] + cores[1]]))


def product(ufunc, operands):
    """matmul, vecdot, matvec and vecmat."""
    first, second = operands
    if ufunc.__name__ in ("vecdot", "vecmat") and first.dtype.kind == "c":
        first = np.conjugate(first)
    return einsum(*_letters(ufunc.signature, (first.ndim, second.ndim)), (first, second), False)


def dot(a, b):
    a, b = [operand(np.asarray(x)) if is_number(x) else x for x in (a, b)]
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    rows, columns = [*range(10, 9 + a.ndim)], [*range(50, 49 + b.ndim)]
    return einsum([rows + [1], columns[:-1] + [1] + columns[-1:]] if b.ndim > 1 else [rows + [1], [1]], rows + columns, (a, b), False)


def outer(a, b):
    a, b = [operand(np.asarray(x)) if is_number(x) else x for x in (a, b)]
    if a.ndim != 1 or b.ndim != 1:
        refuse("numpy.outer of other than vectors cannot be recorded", "np.multiply.outer(a, b) takes all", code="E0101")
    return einsum([[0], [1]], [0, 1], (a, b), False)


def inner(a, b):
    a, b = [operand(np.asarray(x)) if is_number(x) else x for x in (a, b)]
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    rows, columns = [*range(10, 9 + a.ndim)], [*range(50, 49 + b.ndim)]
    return einsum([rows + [1], columns + [1]], rows + columns, (a, b), False)


def tensordot(a, b, axes=2):
    a, b = [operand(np.asarray(x)) if is_number(x) else x for x in (a, b)]
    try:
        axes = [*range(a.ndim - operator.index(axes), a.ndim)], [*range(operator.index(axes))]
    except TypeError:  # axes of each
        pass
    ours, theirs = [[k % x.ndim for k in np.atleast_1d(ks).tolist()] for x, ks in zip((a, b), axes)]
    left = [ours.index(d) if d in ours else 100 + d for d in range(a.ndim)]
    right = [theirs.index(d) if d in theirs else 200 + d for d in range(b.ndim)]
    return einsum([left, right], [c for c in left + right if c >= 100], (a, b), False)
