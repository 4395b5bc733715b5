"""Blocks of outputs whose reads move along the axes that are cut: each task is given the part of
the inputs that its block reads, its halo with it."""

from __future__ import annotations

import bisect
import functools
import itertools
import operator

import numpy as np

import dask
import dask.array as da

from ._core import Results
from .dask_calls import Call, borders_of, chunks_of, dense, dtype_of, kernel_of
from .errors import SpecError


def _dense(arg, order):
    """A copy in C order of the dims from the slowest on, where the part does not lie so."""
    if not isinstance(arg, np.ndarray) or not arg.ndim:
        return arg
    return np.require(arg.transpose(order), requirements="CA").transpose(np.argsort(order))


def _joined(pieces, dim=0):
    if not isinstance(pieces, list):
        return pieces
    joined = [_joined(piece, dim + 1) for piece in pieces]
    return joined[0] if len(joined) == 1 else np.concatenate(joined, axis=dim)


def _block(state, lies, parts, begins, *args):
    return kernel_of(state)._block(lies, parts, begins, *[_dense(_joined(arg), order) for arg, (_, order) in zip(args, lies)])


def _sums(state, *args):
    made = kernel_of(state)(*dense([_joined(arg) for arg in args]))
    return tuple(made) if isinstance(made, Results) else (made,)


def _added(blocks):
    return tuple(functools.reduce(np.add, parts) for parts in zip(*blocks))


class Pieces:
    """The parts of the arguments of a call that tasks are given."""

    def __init__(self, call: Call):
        self.call, self.kernel, self.name = call, call.kernel, call.kernel.name
        self.same = {}  # once in the graph

    def part(self, k, reads):
        """The part of input k that is read, as pieces of its chunks, and where it begins."""
        arg = self.call.args[k]
        if not np.ndim(arg):
            return arg, []
        if any(begin == end for begin, end in reads):
            return np.empty((0,) * np.ndim(arg), arg.dtype), [0] * np.ndim(arg)
        begins = [begin for begin, _ in reads]
        if not isinstance(arg, da.Array):
            key = k, tuple(reads)
            if key not in self.same:
                self.same[key] = dask.delayed(np.ascontiguousarray(arg[tuple(slice(*read) for read in reads)]), pure=True)  # once in the graph
            return self.same[key], begins
        if k not in self.same:
            self.same[k] = arg.to_delayed(), [borders_of(chunks) for chunks in arg.chunks]
        return self.pieces(*self.same[k], reads, ()), begins

    def pieces(self, chunks, borders, reads, at):
        """No more of a chunk than is read travels to the task of the block."""
        d = len(at)
        if d < len(reads):
            first, last = bisect.bisect_right(borders[d], reads[d][0]) - 1, bisect.bisect_left(borders[d], reads[d][1])
            return [self.pieces(chunks, borders, reads, (*at, k)) for k in range(first, last) if borders[d][k] < borders[d][k + 1]]
        inside = [(max(begin - own[k], 0), min(end, own[k + 1]) - own[k], own[k + 1] - own[k]) for (begin, end), own, k in zip(reads, borders, at)]
        if all(begin == 0 and end == extent for begin, end, extent in inside):
            return chunks[at]
        return dask.delayed(operator.getitem, pure=True)(chunks[at], tuple(slice(begin, end) for begin, end, _ in inside))

    def array(self, said, o, shape, axes, grid):
        # One element along an axis, as of inputs that are repeated along it, is the same in all
        # blocks.
        cut = [axis for axis, extent in zip(said.axes, shape) if axis in self.chunks and extent != 1]

        def stacked(index):
            done = len(index)
            if done < len(cut):
                return da.concatenate([stacked({**index, cut[done]: k}) for k in range(len(self.chunks[cut[done]]))], axis=said.axes.index(cut[done]))
            here = [self.chunks[axis][index[axis]] if axis in index else extent for axis, extent in zip(said.axes, shape)]
            return da.from_delayed(grid[tuple(index.get(axis, 0) for axis in axes)][o], here, dtype_of(said.dtype))

        return stacked({})


class Sums(Pieces):
    """A call that adds up integers at positions that an input says: the sums of blocks add up to
    those of all, in any order."""

    def arrays(self):
        """None where the call is not such."""
        dims = self.kernel._walks()
        cut = {}  # axis: borders
        for arg, walks_of in zip(self.call.args, dims):
            for d, (walks, looked_up, is_plain, _) in enumerate(walks_of):
                if not isinstance(arg, da.Array) or len(arg.chunks[d]) < 2:
                    continue
                if looked_up or not is_plain or not walks or not self.kernel._adds_up(walks[0][0]):
                    return None
                cut.setdefault(walks[0][0], set()).update(borders_of(arg.chunks[d]))
        for walks, looked_up, is_plain, _ in itertools.chain(*dims):
            if any(axis in cut for axis, _ in walks) and (looked_up or not is_plain):
                return None
        if not cut:
            return None
        borders = {axis: sorted(places) for axis, places in cut.items()}
        blocks = []
        for at in itertools.product(*[range(len(places) - 1) for places in borders.values()]):
            part = {axis: (places[k], places[k + 1]) for (axis, places), k in zip(borders.items(), at)}
            reads = [[part.get(walks[0][0], (0, n)) if walks and is_plain and n != 1 else (0, n) for n, (walks, _, is_plain, _) in zip(np.shape(arg), walks_of)]
                     for arg, walks_of in zip(self.call.args, dims)]
            blocks.append(dask.delayed(_sums, pure=True)(self.call.state, *[self.part(k, read)[0] for k, read in enumerate(reads)]))
        while len(blocks) > 1:
            blocks = [dask.delayed(_added, pure=True)(blocks[k:k + 8]) for k in range(0, len(blocks), 8)]
        shapes = self.kernel._infer([np.shape(arg) for arg in self.call.args])
        return tuple(da.from_delayed(blocks[0][o], shapes[o], dtype_of(said.dtype)) for o, said in enumerate(self.call.outputs))


class Windows(Pieces):
    """A call whose outputs go block by block along axes that windows, tables or `iota` have.
    `orders` are those of lets that do not lie in C order."""

    def __init__(self, call: Call, orders):
        super().__init__(call)
        self.lies = [(np.shape(arg), orders.get(said.name, list(range(np.ndim(arg))))) for said, arg in zip(call.inputs, call.args)]
        self.extents = self.kernel._extents(self.lies)
        call.chunks = {axis: chunks for axis, chunks in self.cut().items() if len(chunks) > 1}
        if self.kernel._folds():
            call.widen()
        self.chunks = call.chunks

    def cut(self):
        """The chunks of the axes along which outputs are cut: near to where the array of the most
        chunks is."""
        made = {}
        for said, arg, dims in zip(self.call.inputs, self.call.args, self.kernel._walks()):
            for d, (walks, looked_up, _, _) in enumerate(dims):
                chunks = [n for n in arg.chunks[d] if n > 0] if isinstance(arg, da.Array) else []
                if len(chunks) < 2 or not (walks or looked_up):
                    continue
                free = [(axis, times) for axis, times in walks if axis in self.extents and not self.kernel._why_no_blocks(axis)]
                if looked_up or not free:
                    self.refuse(said, d, walks, looked_up)
                for axis, times in free:
                    extent = self.extents[axis]
                    steps = [-(-border // abs(times)) for border in borders_of(chunks if times > 0 else chunks[::-1])]
                    borders = sorted({0, extent, *(border for border in steps if 0 < border < extent)})
                    if len(borders) - 1 > len(made.get(axis, ())):
                        made[axis] = chunks_of(borders)
        return made

    def refuse(self, said, d, walks, looked_up):
        whole = f"rechunk the dim to one chunk: array.rechunk({{{d}: -1}})"
        if looked_up:
            why = "it reads at positions along it, wherever an input says"
        else:
            axis = walks[0][0]
            why = self.kernel._why_no_blocks(axis)
            why = f"{why}: axis '{axis}', which moves along it" if d >= len(said.axes) or said.axes[d] != axis else why
            whole += (", or make that output a kernel of its own" if "does not have it" in why else
                      ", or give what is folded to a let that lists its dims (`let d[i] = ..`), which then comes first, block by block")
        raise SpecError("E0060", f"kernel '{self.name}' cannot go block by block along dim {d} of '{said.name}': {why}", None, whole)

    def arrays(self):
        axes = list(self.chunks)
        starts = {axis: borders_of(chunks) for axis, chunks in self.chunks.items()}
        grid = {}
        for at in itertools.product(*[range(len(self.chunks[axis])) for axis in axes]):
            parts = {axis: (starts[axis][k], starts[axis][k + 1]) for axis, k in zip(axes, at)}
            taken = [self.part(k, reads) for k, reads in enumerate(self.kernel._reads(self.lies, parts))]
            grid[at] = dask.delayed(_block, pure=True)(self.call.state, self.lies, parts, [begin for _, begin in taken], *[part for part, _ in taken])
        shapes = self.kernel._infer([np.shape(arg) for arg in self.call.args])
        return tuple(self.array(said, o, shapes[o], axes, grid) for o, said in enumerate(self.call.outputs))
