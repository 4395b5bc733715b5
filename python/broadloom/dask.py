"""Kernels on arrays of dask: ``bl.dask.apply(k, x=.., y=..)``."""

from __future__ import annotations

import functools
import itertools
import math
import os
import pickle
import re
import warnings

import numpy as np

import dask
import dask.array as da

from ._core import Kernel, Results
from .errors import ArgumentError, DTypeError, ShapeError, SpecError

LEAF = 4096  # the longest leaf of a fold: multiples of it are borders of every fold
_FAN = 8  # blocks that are joined by one task


class RechunkWarning(UserWarning):
    """Chunks do not end where leaves of a fold do, or an axis that must be whole is cut: data moves between tasks."""


def align(array, axis, unit=LEAF):
    """The array in chunks along a dim that begin where leaves of any fold do: 4096 positions times a power of two, near to what its chunks are now."""
    axis = range(array.ndim)[axis]
    size = max(array.chunks[axis], default=0)
    return array.rechunk({axis: unit * 2 ** max(0, math.floor(math.log2(max(size, 1) / unit)))})


def load_npy(path, chunks="auto"):
    """A .npy file as an array of dask. Each task maps the file and takes its chunk where it lies, so the file need not fit into memory
    (`da.from_array` copies an array that is mapped)."""
    path = os.path.abspath(path)
    whole = np.load(path, mmap_mode="r")
    chunks = da.core.normalize_chunks(chunks, whole.shape, dtype=whole.dtype)
    if not whole.ndim:
        return da.from_array(np.array(whole))
    return da.map_blocks(_read, path, chunks=chunks, dtype=whole.dtype, meta=np.empty((0,) * whole.ndim, whole.dtype))


def _read(path, block_info=None):
    where = block_info[None]["array-location"]
    return np.asarray(np.load(path, mmap_mode="r")[tuple(slice(begin, end) for begin, end in where)])


def _dtype(word):
    if word == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype("bool" if word == "bool" else {"i": "int", "u": "uint", "f": "float", "c": "complex"}[word[0]] + word[1:])


@functools.lru_cache(maxsize=64)
def _kernel(state):
    """What a worker keeps of the kernels that it was sent, so that each is compiled once."""
    return pickle.loads(state)


def _dense(args):
    # Where a chunk is a view, as of a file, its tree must be that of the copy that another worker is sent, which may lie at any address.
    return [np.require(arg, requirements="CA") if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in args]


def _call(state, *args):
    made = _kernel(state)(*_dense(args))
    return tuple(made) if isinstance(made, Results) else (made,)


def _partial(state, before, offset, *args):
    return _kernel(state).partial(before, offset, *_dense(args))


def _join(state, blocks):
    return _kernel(state).join(blocks)


def _combine(state, blocks, offset, names, *others):
    made = _kernel(state).combine(blocks, offset, **dict(zip(names, _dense(others))))
    return tuple(made) if isinstance(made, Results) else (made,)


def _borders(chunks):
    return list(itertools.accumulate(chunks, initial=0))


def _chunks(borders):
    return tuple(b - a for a, b in zip(borders, borders[1:]))


class _Call:
    """The arguments of a call, and along which axes they are cut."""

    def __init__(self, kernel: Kernel, args, kwargs):
        self.kernel, self.inputs, self.outputs = kernel, kernel.inputs, kernel.outputs
        self.state = pickle.dumps(kernel)
        self.args = self.placed(args, kwargs)
        self.folded = None
        self.check()
        self.chunks = {}  # of the axes that are cut
        for said, arg in zip(self.inputs, self.args):
            for name, chunks in zip(said.axes, arg.chunks if isinstance(arg, da.Array) else [(n,) for n in np.shape(arg)]):
                if sum(chunks) == 1:  # may be repeated
                    continue
                known = self.chunks.setdefault(name, tuple(chunks))
                if sum(known) != sum(chunks):
                    raise ShapeError("E0102", f"axis '{name}' of '{said.name}' has {sum(chunks)} elements, others have {sum(known)}", None,
                                     "the arguments must agree")
                self.chunks[name] = _chunks(sorted({*_borders(known), *_borders(chunks)}))
        self.chunks = {name: chunks for name, chunks in self.chunks.items() if len(chunks) > 1}

    def placed(self, args, kwargs):
        names = [said.name for said in self.inputs]
        if len(args) > len(names):
            raise ArgumentError("E0308", f"kernel '{self.kernel.name}' takes {len(names)} inputs, {len(args)} were given", None,
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
            if arg.dtype != _dtype(said.dtype):
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
        warnings.warn(f"kernel '{self.kernel.name}' needs all of axis '{name}' in one chunk: {why}", RechunkWarning, stacklevel=4)
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
            borders = _borders(chunks)
            kept = [0]
            for border in borders[1:-1]:
                if border - kept[-1] > 1 and borders[-1] - border > 1:
                    kept.append(border)
            self.chunks[name] = _chunks([*kept, borders[-1]])
            if len(kept) == 1:
                self.chunks[name] = (borders[-1],)
            warnings.warn(f"chunks of one position along '{name}' are put together", RechunkWarning, stacklevel=4)

    def align(self):
        name = self.folded
        kept = [n for n in self.chunks if n != name]
        unit = 1
        for sizes in itertools.product(*[range(len(self.chunks[n])) for n in kept]):
            index = {**dict(zip(kept, sizes)), name: 0}
            unit = max(unit, self.kernel._unit(name, [self.shape(k, index) for k in range(len(self.args))]))
        borders = _borders(self.chunks[name])
        if all(border % unit == 0 for border in borders[:-1]):
            return
        total = borders[-1]
        moved = sorted({0, *(border for border in (round(border / unit) * unit for border in borders[1:-1]) if border < total), total})
        warnings.warn(f"the chunks along '{name}' do not begin at multiples of {unit}, where leaves of the folds of kernel '{self.kernel.name}' do, and are "
                      "moved there; bl.dask.align does so once", RechunkWarning, stacklevel=4)
        self.chunks[name] = _chunks(moved)
        if len(moved) == 2:
            del self.chunks[name]
            self.folded = None

    def blocks(self):
        """A function of the chunks that gives the arguments there."""
        takers = []
        for said, arg in zip(self.inputs, self.args):
            shape = np.shape(arg)
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


def _tree(state, blocks):
    while len(blocks) > _FAN:
        blocks = [dask.delayed(_join, pure=True)(state, blocks[k:k + _FAN]) if len(blocks[k:k + _FAN]) > 1 else blocks[k]
                  for k in range(0, len(blocks), _FAN)]
    return blocks


def apply(kernel: Kernel, *args, **kwargs):
    """The outputs of a kernel for arrays of dask, as arrays of dask: one as it is, several as a tuple. Arrays of NumPy and numbers may stand beside them.

    Along axes that all outputs have, blocks give blocks; one axis may be folded. The bits are those of one call with all of the data in C
    order. Warns by RechunkWarning where chunks have to be moved for that.
    """
    call = _Call(kernel, args, kwargs)
    call.plan()
    state, arguments = call.state, call.blocks()
    kept = [name for name in call.chunks if name != call.folded]
    # Where outputs have the folded axis, too, each block gives its own part of them once all is folded.
    maps = call.folded is not None and any(call.folded in said.axes for said in call.outputs)
    grid = {}
    for at in itertools.product(*[range(len(call.chunks[name])) for name in kept]):
        index = dict(zip(kept, at))
        if call.folded is None:
            grid[at] = dask.delayed(_call, pure=True)(state, *arguments(index))
            continue
        places = [{**index, call.folded: k} for k in range(len(call.chunks[call.folded]))]
        offsets = _borders(call.chunks[call.folded])[:-1]
        before = call.folded  # of each later round: what the blocks of the one before came to
        for _ in range(kernel.rounds(call.folded)):
            blocks = [dask.delayed(_partial, pure=True)(state, before, offset, *arguments(place)) for place, offset in zip(places, offsets)]
            blocks = _tree(state, blocks)
            before = dask.delayed(_join, pure=True)(state, blocks)
        others = [k for k, said in enumerate(call.inputs) if maps or call.folded not in said.axes]
        for k, place in enumerate(places if maps else places[:1]):
            here = arguments(place)
            grid[(*at, k) if maps else at] = dask.delayed(_combine, pure=True)(
                state, [before] if maps else blocks, offsets[k], [call.inputs[i].name for i in others], *[here[i] for i in others])
    if maps:
        kept.append(call.folded)

    extents = kernel._infer([np.shape(arg) for arg in call.args])

    def array(o):
        said = call.outputs[o]
        dtype = _dtype(said.dtype)
        # One element along an axis, as of inputs that are repeated along it, is the same in all blocks.
        axes = [name for name, extent in zip(said.axes, extents[o]) if name in kept and extent != 1]

        def nested(index):
            done = len(index)
            if done < len(axes):
                return [nested({**index, axes[done]: k}) for k in range(len(call.chunks[axes[done]]))]
            full = {**call.first(), **index}
            shape = kernel._infer([call.shape(k, full) for k in range(len(call.args))])[o]
            return da.from_delayed(grid[tuple(full[name] for name in kept)][o], shape, dtype)

        def stacked(parts, depth=0):
            if not isinstance(parts, list):
                return parts
            return da.concatenate([stacked(part, depth + 1) for part in parts], axis=said.axes.index(axes[depth]))

        return stacked(nested({}))

    made = tuple(array(o) for o in range(len(call.outputs)))
    return made if len(made) > 1 else made[0]
