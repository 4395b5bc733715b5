"""Blocks of kernels that are called as they are, their loops over time with them: each task is
given more of the inputs than its block is long. And arrays of dask that are put side by side."""

from __future__ import annotations

import itertools

import numpy as np

import dask
import dask.array as da

from ._core import Results
from .dask_calls import Call, borders_of, chunks_of, dense, kernel_of, warn
from .dask_windows import Pieces, _joined
from .errors import SpecError


def _middle(state, cuts, *args):
    made = kernel_of(state)(*dense([_joined(arg) for arg in args]))
    return tuple(np.ascontiguousarray(one[cut]) for one, cut in zip(made if isinstance(made, Results) else (made,), cuts))


class Halos(Pieces):
    """A call of which a block is the middle of the outputs of a call with parts of the inputs."""

    def __init__(self, call: Call):
        super().__init__(call)
        self.shapes = [np.shape(arg) for arg in call.args]
        self.wanted = self.kernel._infer(self.shapes)
        self.halos = self.along()  # axis: [input]
        self.chunks = {axis: chunks for axis, chunks in self.cut().items() if len(chunks) > 1}

    @staticmethod
    def lies(shapes):
        return [(shape, list(range(len(shape)))) for shape in shapes]

    def along(self):
        """The halos of the axes along which inputs are cut."""
        outputs = self.call.outputs
        halos, refused = {}, None
        for axis in outputs[0].axes:
            try:
                halos[axis] = self.kernel._halos(axis, self.lies(self.shapes))
            except SpecError as why:
                refused = refused or why
        needed = {}
        for k, (said, arg) in enumerate(zip(self.call.inputs, self.call.args)):
            for d in range(np.ndim(arg)):
                if not isinstance(arg, da.Array) or len(arg.chunks[d]) < 2:
                    continue
                axis = next((axis for axis, halo in halos.items() if halo[k][0] == d), None)
                if axis is None and halos and not any(halo[k][3] for halo in halos.values()):
                    continue
                if axis is None:
                    raise refused or SpecError("E0060", f"kernel '{self.name}' cannot go block by block along dim {d} of '{said.name}': no output has it", None,
                                               f"rechunk the dim to one chunk: array.rechunk({{{d}: -1}})")
                needed[axis] = halos[axis]
        return needed

    def extent(self, axis):
        said = self.call.outputs[0].axes
        return self.wanted[0][said.index(axis)]

    def cut(self):
        """Chunks near to those of the array that has the most, of two positions or more."""
        made = {}
        for axis, halos in self.halos.items():
            extent = self.extent(axis)
            for k, (d, *_) in enumerate(halos):
                arg = self.call.args[k]
                inside = [border for border in borders_of(arg.chunks[d]) if 1 < border < extent - 1] if d >= 0 and isinstance(arg, da.Array) else []
                borders = [0]
                for border in inside:
                    if border - borders[-1] > 1:
                        borders.append(border)
                if len(borders) >= len(made.get(axis, ())):
                    made[axis] = chunks_of([*borders, extent])
        return made

    def arrays(self):
        axes = list(self.chunks)
        starts = {axis: borders_of(chunks) for axis, chunks in self.chunks.items()}
        grid, checked = {}, set()
        more = 0  # positions that are computed beside those of blocks, of the axis that has the most
        for axis in axes:
            blocks = [self.around(axis, a, b) for a, b in zip(starts[axis], starts[axis][1:])]
            more = max(more, sum(self.extent(axis) - first - last for first, last in blocks) - self.extent(axis))
            if more > self.extent(axis):
                warn(f"blocks of kernel '{self.name}' along '{axis}' are computed with more around them than they have, {more} positions in all for "
                              f"{self.extent(axis)}: use larger chunks, or one")
                break
        for at in itertools.product(*[range(len(self.chunks[axis])) for axis in axes]):
            reads = [[(0, n) for n in shape] for shape in self.shapes]
            less, cuts = {}, {}
            for axis, n in zip(axes, at):
                a, b = starts[axis][n], starts[axis][n + 1]
                first, last = self.around(axis, a, b)
                for k, (d, *_) in enumerate(self.halos[axis]):
                    if d >= 0:
                        reads[k][d] = (first, self.shapes[k][d] - last)
                less[axis], cuts[axis] = first + last, slice(a - first, b - first)
            shapes = [tuple(end - begin for begin, end in read) for read in reads]
            if tuple(shapes) not in checked:
                self.check(shapes, less)
                checked.add(tuple(shapes))
            taken = [self.part(k, read)[0] for k, read in enumerate(reads)]
            inside = [tuple(cuts.get(axis, slice(None)) for axis in said.axes) for said in self.call.outputs]
            grid[at] = dask.delayed(_middle, pure=True)(self.call.state, inside, *taken)
        return tuple(self.array(said, o, self.wanted[o], axes, grid) for o, said in enumerate(self.call.outputs))

    def around(self, axis, a, b):
        """How many positions of the inputs are left out before and behind what the outputs from a
        to b read."""
        of = [(self.shapes[k][d], before, after) for k, (d, before, after, _) in enumerate(self.halos[axis]) if d >= 0]
        return max(0, a - max(before for _, before, _ in of)), max(0, min(n - b - after for n, _, after in of))

    def check(self, shapes, less):
        made = self.kernel._infer(shapes)
        for said, shape, whole in zip(self.call.outputs, made, self.wanted):
            if [n - less.get(axis, 0) for axis, n in zip(said.axes, whole)] != list(shape):
                raise SpecError("E0060", f"kernel '{self.name}' does not go block by block: output '{said.name}' of a part has the shape {tuple(shape)}", None,
                                "let its extents go by those of the inputs that are cut")
        self.kernel._check_halos(self.lies(self.shapes), self.lies(shapes))


def _assembled(shape, dtype, places, parts):
    made = np.empty(shape, dtype)
    for place, part in zip(places, parts):
        made[place] = part
    return made


def side_by_side(parts, dims, shape, dtype):
    """The array that these make up: of each part `dims` say where it lies, (first, times, own)
    along each dim of the whole."""
    parts = [part[tuple(np.newaxis if own < 0 else slice(None) for _, _, own in at)] for part, at in zip(parts, dims)]
    own = [[first for first, _, _ in at] for at in dims]
    whole = [all(len(part.chunks[d]) == 1 for part in parts) for d in range(len(shape))]  # none is cut there
    along = [d for d in range(len(shape)) if any(first[d] != 0 for first in own)]
    steps = all(times == 1 or own < 0 for at in dims for _, times, own in at)
    if steps and len(along) == 1:  # one behind the other
        d = along[0]
        order = sorted(range(len(parts)), key=lambda k: (own[k][d], parts[k].shape[d]))
        ends = [own[k][d] + parts[k].shape[d] for k in order]
        if [own[k][d] for k in order] == [0, *ends[:-1]] and all(parts[k].shape[e] == shape[e] for k in order for e in range(len(shape)) if e != d):
            return da.concatenate([parts[k] for k in order], axis=d).rechunk({e: -1 for e in range(len(shape)) if whole[e]})
    chunks = []
    for d, n in enumerate(shape):
        most = max(([at[d][0] + at[d][1] * border for border in borders_of(part.chunks[d])] for part, at in zip(parts, dims)), key=len)
        chunks.append((n,) if whole[d] else chunks_of(sorted({0, n, *(border for border in most if 0 < border < n)})))
    starts = [borders_of(along) for along in chunks]

    def block(at):
        box = [(starts[d][k], starts[d][k + 1]) for d, k in enumerate(at)]
        places, taken = [], []
        for part, where in zip(parts, dims):
            place, read = [], []
            for d, ((begin, end), (first, times, dim)) in enumerate(zip(box, where)):
                times = times if dim >= 0 else 1
                low = max(0, -(-(begin - first) // times))
                high = min(part.shape[d], -(-(end - first) // times))
                place.append(slice(first + low * times - begin, first + low * times - begin + max(high - low, 0) * times, times))
                read.append(slice(low, max(low, high)))
            if all(one.start < one.stop for one in read):
                places.append(tuple(place))
                taken.append(part[tuple(read)].rechunk(-1).to_delayed().ravel()[0])
        extents = tuple(end - begin for begin, end in box)
        return da.from_delayed(dask.delayed(_assembled, pure=True)(extents, dtype, places, taken), extents, dtype)

    def nested(at):
        if len(at) == len(shape):
            return block(at)
        return [nested((*at, k)) for k in range(len(chunks[len(at)]))]

    return da.block(nested(())) if shape else block(())
