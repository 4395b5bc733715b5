"""Kernels on arrays of dask: ``bl.dask.apply(k, x=.., y=..)``."""

from __future__ import annotations

import itertools
import math
import os
from typing import Any

import numpy as np

import dask
import dask.array as da

from ._core import Kernel, Results
from .dask_calls import Call, RechunkWarning, borders_of, dense, dtype_of, kernel_of
from .dask_stages import comes_as_it_is, staged

LEAF = 4096  # the longest leaf of a fold: multiples of it are borders of every fold
_FAN = 8  # blocks that are joined by one task


def align(array, axis, unit=LEAF):
    """The array in chunks along a dim that begin where leaves of any fold do: 4096 positions times
    a power of two, near to what its chunks are now."""
    axis = range(array.ndim)[axis]
    size = max(array.chunks[axis], default=0)
    return array.rechunk({axis: unit * 2 ** max(0, math.floor(math.log2(max(size, 1) / unit)))})


def load_npy(path, chunks="auto"):
    """A .npy file as an array of dask. Each task maps the file and takes its chunk where it lies,
    so the file need not fit into memory (`da.from_array` copies an array that is mapped)."""
    path = os.path.abspath(path)
    whole = np.load(path, mmap_mode="r")
    chunks = da.core.normalize_chunks(chunks, whole.shape, dtype=whole.dtype)
    if not whole.ndim:
        return da.from_array(np.array(whole))
    return da.map_blocks(_read, path, chunks=chunks, dtype=whole.dtype, meta=np.empty((0,) * whole.ndim, whole.dtype))


def _read(path, block_info=None):
    where = block_info[None]["array-location"]
    return np.asarray(np.load(path, mmap_mode="r")[tuple(slice(begin, end) for begin, end in where)])


def _call(state, *args):
    made = kernel_of(state)(*dense(args))
    return tuple(made) if isinstance(made, Results) else (made,)


def _partial(state, before, offset, *args):
    return kernel_of(state).partial(before, offset, *dense(args))


def _join(state, blocks):
    return kernel_of(state).join(blocks)


def _combine(state, blocks, offset, names, *others):
    made = kernel_of(state).combine(blocks, offset, **dict(zip(names, dense(others))))
    return tuple(made) if isinstance(made, Results) else (made,)


def _tree(state, blocks):
    while len(blocks) > _FAN:
        blocks = [dask.delayed(_join, pure=True)(state, blocks[k:k + _FAN]) if len(blocks[k:k + _FAN]) > 1 else blocks[k]
                  for k in range(0, len(blocks), _FAN)]
    return blocks


def apply(kernel: Kernel, *args, **kwargs) -> Any:
    """The outputs of a kernel for arrays of dask, as arrays of dask: one as it is, several as a
    tuple. Arrays of NumPy and numbers may stand beside them.

    Along axes that all outputs have, blocks give blocks, and windows that move along them are given
    their halos; one axis may be folded. The bits are those of one call with all of the data in C
    order. Warns by RechunkWarning where chunks have to be moved for that.
    """
    call = Call(kernel, args, kwargs)
    made = _folded(call) if comes_as_it_is(call) else staged(call, _folded)
    return made if len(made) > 1 else made[0]


def _folded(call):
    call.plan()
    kernel = call.kernel
    state, arguments = call.state, call.blocks()
    kept = [name for name in call.chunks if name != call.folded]
    # Where outputs have the folded axis, too, each block gives its own part of them once all is
    # folded.
    maps = call.folded is not None and any(call.folded in said.axes for said in call.outputs)
    grid = {}
    for at in itertools.product(*[range(len(call.chunks[name])) for name in kept]):
        index = dict(zip(kept, at))
        if call.folded is None:
            grid[at] = dask.delayed(_call, pure=True)(state, *arguments(index))
            continue
        places = [{**index, call.folded: k} for k in range(len(call.chunks[call.folded]))]
        offsets = borders_of(call.chunks[call.folded])[:-1]
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
        dtype = dtype_of(said.dtype)
        # One element along an axis, as of inputs that are repeated along it, is the same in all
        # blocks.
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

    return tuple(array(o) for o in range(len(call.outputs)))


_INSTEAD = {"map_overlap": ", and needs none: windows in the kernel have their halos, bl.dask.apply(k, x)", "map_blocks": "; use bl.dask.apply(k, x)",
            "from_array": "; use dask.array.from_array", "compute": "; use the arrays' own compute()"}


def __getattr__(name):
    raise AttributeError(f"module 'broadloom.dask' has no '{name}'" + _INSTEAD.get(name, ""))
