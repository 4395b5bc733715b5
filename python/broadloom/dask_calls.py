"""Calls on arrays of dask: their arguments, and along which axes these are cut."""

from __future__ import annotations

import functools
import itertools
import math
import pickle
import os
import re
import sys
import warnings

import numpy as np

import dask
import dask.array as da

from ._core import Kernel
from .errors import ArgumentError, DTypeError, ShapeError, SpecError, takes


class RechunkWarning(UserWarning):
    """Chunks do not end where leaves of a fold do, or an axis that must be whole is cut: data moves
    between tasks."""


def warn(message):
    """A RechunkWarning at the line of the caller's that asked for the call, in whichever way."""
    frame, level = sys._getframe(1), 2
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RechunkWarning, stacklevel=level)


def dtype_of(word):
    if word == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype("bool" if word == "bool" else {"i": "int", "u": "uint", "f": "float", "c": "complex"}[word[0]] + word[1:])


@functools.lru_cache(maxsize=64)
def kernel_of(state):
    """What a worker keeps of the kernels that it was sent, so that each is compiled once. A state
    is a pickle, or that and which stage of the kernel is meant: as a text of its own a stage would
    not know which of its inputs are lets."""
    if isinstance(state, bytes):
        return pickle.loads(state)
    return kernel_of(state[0])._stages()[state[1]]


def dense(args):
    # Where a chunk is a view, as of a file, its tree must be that of the copy that another worker
    # is sent, which may lie at any address.
    return [np.require(arg, requirements="CA") if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in args]


def borders_of(chunks):
    return list(itertools.accumulate(chunks, initial=0))


def chunks_of(borders):
    return tuple(b - a for a, b in zip(borders, borders[1:]))


class Call:
    """The arguments of a call, and along which axes they are cut."""

    def __init__(self, kernel: Kernel, args, kwargs, state=None):
        self.kernel, self.inputs, self.outputs = kernel, kernel.inputs, kernel.outputs
        self.state = state or pickle.dumps(kernel)
        self.unread = set()  # inputs of which nothing is read
        self.args = self.placed(args, kwargs)
        self.folded = None
        self.check()
        self.chunks = self.cut()

    def cut(self):
        """The chunks of the axes that are cut."""
        cut = {}
        for k, (said, arg) in enumerate(zip(self.inputs, self.args)):
            if k in self.unread:
                continue
            for name, chunks in zip(said.axes, arg.chunks if isinstance(arg, da.Array) else [(n,) for n in np.shape(arg)]):
                if sum(chunks) == 1:  # may be repeated
                    continue
                known = cut.setdefault(name, tuple(chunks))
                if sum(known) != sum(chunks):
                    raise ShapeError("E0102", f"axis '{name}' of '{said.name}' has {sum(chunks)} elements, others have {sum(known)}", None,
                                     "the arguments must agree")
                cut[name] = chunks_of(sorted({*borders_of(known), *borders_of(chunks)}))
        return {name: chunks for name, chunks in cut.items() if len(chunks) > 1}

    def leave_unread(self):
        """Gives no task what another stage of a kernel reads."""
        try:
            dims = self.kernel._walks()
        except SpecError:  # it has no blocks
            return
        self.unread = {k for k, said in enumerate(dims) if said and not any(any(dim) for dim in said)}
        self.chunks = self.cut()

    def name_dims(self):
        """Gives dims without a label that all reads walk along one axis its name. False where no
        dim gets another."""
        if self.kernel.frozen:
            return False
        before = self.inputs
        self.inputs = [said._replace(axes=tuple(self.name_of(name, *dim) for name, dim in zip(said.axes, dims)))
                       for said, dims in zip(before, self.kernel._walks())]
        try:
            self.chunks = self.cut()
        except ShapeError:  # of two lets an axis may end before the longer one does
            self.inputs = before
        return self.inputs != before

    def name_of(self, name, walks, looked_up, is_plain, _):
        try:
            self.kernel._why_no_map(name)
            return name
        except ShapeError:
            return walks[0][0] if walks and is_plain and not looked_up else name

    def placed(self, args, kwargs):
        names = [said.name for said in self.inputs]
        if len(args) > len(names):
            raise ArgumentError("E0308", f"kernel '{self.kernel.name}' {takes(len(names), 'input', len(args))}", None,
                                "the inputs are " + ", ".join(names))
        given = dict(zip(names, args))
        for name, arg in kwargs.items():
            if name not in names or name in given:
                raise ArgumentError("E0308", f"kernel '{self.kernel.name}' has no input called '{name}', or it is given twice", None,
                                    "the inputs are " + ", ".join(names))
            given[name] = arg
        missing = [name for name in names if name not in given]
        if missing:
            raise ArgumentError("E0308", f"input '{missing[0]}' is not given", None, "the inputs are " + ", ".join(names))
        return [given[name] for name in names]

    def check(self):
        for k, (said, arg) in enumerate(zip(self.inputs, self.args)):
            if not isinstance(arg, da.Array):
                self.args[k] = arg if isinstance(arg, (bool, int, float, complex)) else np.asarray(arg)
                arg = self.args[k]
            if np.ndim(arg) != len(said.axes):
                raise ShapeError("E0101", f"input '{said.name}' has {len(said.axes)} dims, the array given has {np.ndim(arg)}", None,
                                 "pass an array of that rank, or change the kernel")
            if not isinstance(arg, da.Array):  # the call itself looks at the dtype
                continue
            if any(math.isnan(extent) for extent in arg.shape):
                raise ShapeError("E0102", f"the array given as '{said.name}' has chunks whose sizes dask does not know", None,
                                 "array.compute_chunk_sizes() finds them")
            if arg.dtype != dtype_of(said.dtype):
                raise DTypeError("E0203", f"input '{said.name}' is {said.dtype}, the array given has {arg.dtype}", None,
                                 "convert it by astype, or change the dtype in the kernel")

    def shape(self, k, index):
        """Of input k, where the axes that are cut are at these chunks."""
        arg = self.args[k]
        shape = list(np.shape(arg))
        for d, name in enumerate(self.inputs[k].axes):
            if name in self.chunks and shape[d] != 1:
                shape[d] = self.chunks[name][index[name]]
        return tuple(shape)

    def first(self):
        return dict.fromkeys(self.chunks, 0)

    def whole(self, name, why):
        warn(f"kernel '{self.kernel.name}' needs all of axis '{name}' in one chunk: {why}")
        del self.chunks[name]

    def plan(self):
        """Along which axes blocks give blocks, and along which one they are folded."""
        folds = {}
        for name in self.chunks:
            why = self.kernel._why_no_map(name)
            if why:
                folds[name] = why
        for name, why in folds.items():
            kept = [out.name for out in self.outputs if name in out.axes]
            if kept and not self.comes_apart(name):  # else `unit` says what else does not come apart
                raise SpecError("E0060", f"kernel '{self.kernel.name}' cannot go block by block along '{name}': {why}, and output '{kept[0]}' has it", None,
                                "rechunk the axis to one chunk: array.rechunk({axis: -1}), or write what folds as a kernel of its own")
        names = list(folds)
        for name in names[1:]:
            self.whole(name, f"its folds are cut along '{names[0]}', and one axis is cut at a time")
        self.folded = names[0] if names else None
        if re.search(r"= (fold|scan) ", self.kernel.show("graph")):
            self.widen()
        if self.folded:
            self.align()

    def comes_apart(self, name):
        try:
            return self.kernel.rounds(name) > 0
        except SpecError:
            return False

    def widen(self):
        """One position alone may have another tree than several: it goes with its neighbour."""
        for name, chunks in list(self.chunks.items()):
            if 1 not in chunks:
                continue
            borders = borders_of(chunks)
            kept = [0]
            for border in borders[1:-1]:
                if border - kept[-1] > 1 and borders[-1] - border > 1:
                    kept.append(border)
            self.chunks[name] = chunks_of([*kept, borders[-1]])
            if len(kept) == 1:
                self.chunks[name] = (borders[-1],)
            warn(f"chunks of one position along '{name}' are put together")

    def align(self):
        name = self.folded
        kept = [n for n in self.chunks if n != name]
        unit = 1
        for sizes in itertools.product(*[range(len(self.chunks[n])) for n in kept]):
            index = {**dict(zip(kept, sizes)), name: 0}
            unit = max(unit, self.kernel._unit(name, [self.shape(k, index) for k in range(len(self.args))]))
        borders = borders_of(self.chunks[name])
        if all(border % unit == 0 for border in borders[:-1]):
            return
        total = borders[-1]
        moved = sorted({0, *(border for border in (round(border / unit) * unit for border in borders[1:-1]) if border < total), total})
        warn(f"the chunks along '{name}' do not begin at multiples of {unit}, where leaves of the folds of kernel '{self.kernel.name}' do, and are "
                      "moved there; bl.dask.align does so once")
        self.chunks[name] = chunks_of(moved)
        if len(moved) == 2:
            del self.chunks[name]
            self.folded = None

    def blocks(self):
        """A function of the chunks that gives the arguments there."""
        takers = []
        for k, (said, arg) in enumerate(zip(self.inputs, self.args)):
            shape = np.shape(arg)
            if k in self.unread:
                takers.append(lambda index, none=np.empty((0,) * len(shape), arg.dtype): none)
                continue
            cut = {d: name for d, name in enumerate(said.axes) if name in self.chunks and shape[d] != 1}
            if not isinstance(arg, da.Array) and not cut:
                same = dask.delayed(arg, pure=True) if shape else arg  # once in the graph
                takers.append(lambda index, same=same: same)
                continue
            chunks = tuple(self.chunks[cut[d]] if d in cut else (shape[d],) for d in range(len(shape)))
            array = arg.rechunk(chunks) if isinstance(arg, da.Array) else da.from_array(arg, chunks=chunks)
            parts = array.to_delayed()
            takers.append(lambda index, parts=parts, cut=cut, rank=len(shape):
                          parts[tuple(index[cut[d]] if d in cut else 0 for d in range(rank))])
        return lambda index: [taker(index) for taker in takers]
