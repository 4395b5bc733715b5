"""Reads at positions, `x[2*i + u - 1]`: their extents and their elements; and the lets that are
arrays, each a kernel of its own.

    let d = x[i + 1] - x[i]            the kernel of d: x[i + 1] - x[i], on an i of its own
    out y = d[i + 1] + d               what is left: d[i + 1] + d[i], where d is an input; each i as long as all reads allow
"""
import numpy as np

from intervals import Value
from loom_text import FOLDS, Refused, window_name


def begins(position, count):
    """Where a position is while all its axes are at 0."""
    start = position.get(None, 0)
    if any(times > 0 for axis, times in position.items() if axis is not None):
        return start
    if start < 0:
        return start + count
    return count - 1 if start == 0 and position else start


def is_gather(position):
    return any(isinstance(key, tuple) for key in position)


def axes_of(windows, read):
    """The axes of a read at positions, those of elements that say one before those beside them."""
    axes = []
    for p in windows[read][1]:
        for key in p:
            axes += axes_of(windows, key[1]) if isinstance(key, tuple) else []
        axes += [key for key in p if key not in (None, "outside") and not isinstance(key, tuple)]
    return list(dict.fromkeys(axes))


def padded(kernel, name, array, pads):
    """As np.pad has it, one dim after the other; a dim of an input is called by its label where it
    has one, else by its number."""
    labels = next((d["labels"] for d in kernel["inputs"] if d["name"] == name), None) or []
    parts = [array.lo, array.hi, np.broadcast_to(array.sure, array.lo.shape)]
    for dim, before, after, mode in pads:
        amounts = [(0, 0)] * array.lo.ndim
        amounts[labels.index(dim) if dim in labels else int(dim)] = (before, after)
        if mode in ("edge", "wrap", "reflect"):
            parts = [np.pad(a, amounts, mode) for a in parts]
        else:
            number = np.array(0 if mode == "zero" else mode)
            parts = [np.pad(a, amounts, constant_values=number.astype(a.dtype)) for a in parts[:2]] + [
                np.pad(parts[2], amounts, constant_values=True)]
    return Value(array.dtype, *parts)


def alone(p):
    return len(p) == 1 and list(p.items())[0][1] == 1 and None not in p


def window_extents(kernel, arrays):
    known = dict(kernel["axes"])
    for d in kernel["inputs"]:
        for name, one, extent in zip(d["labels"] or [], d["ones"], arrays[d["name"]].lo.shape):
            if not one:
                known.setdefault(name, extent)
    reads = [(p, count) for name, positions, pads in kernel["windows"].values()
             for p, count in zip(positions, padded(kernel, name, arrays[name], pads).lo.shape) if not is_gather(p)]
    moved = {a for p, _ in reads if not alone(p) for a in p}
    moved |= {a for name, positions, _ in kernel["windows"].values() if name in kernel["lets"] for p in positions if not is_gather(p) for a in p}
    for p, count in reads:
        if alone(p) and not set(p) & moved:
            known.setdefault(list(p)[0], count)
    axes = [a for a in dict.fromkeys(a for p, _ in reads for a in p) if a is not None]
    while any(a not in known for a in axes):
        best = None
        for axis in axes:
            if axis in known:
                continue
            of = [(p, n) for p, n in reads if axis in p]
            clear = [(p, n) for p, n in of if all(a in known for a in p if a not in (None, axis))]
            if clear and (best is None or len(clear) == len(of)):
                if best is None or best[2]:
                    best = (axis, clear, len(clear) < len(of))
        if best is None:
            raise Refused("axes without extents")
        axis, clear, _ = best
        fits = []
        for p, count in clear:
            moves = [p[a] * max(known[a] - 1, 0) for a in p if a not in (None, axis)]
            low, high = begins(p, count) + sum(m for m in moves if m < 0), begins(p, count) + sum(m for m in moves if m > 0)
            fits.append(0 if count == 0 else (count - 1 - high) // p[axis] + 1 if p[axis] > 0 else low // -p[axis] + 1)
        known[axis] = min(fits)
    return known


def windows_of(kernel, arrays):
    """The axes and the elements of each read at positions."""
    extents = window_extents(kernel, arrays) if kernel["windows"] else {}
    found = {}

    def gathered(p, count, axes, shape):
        at = np.full(shape, p.get(None, 0), object)  # of any size: Python's integers
        for a, times in p.items():
            if isinstance(a, tuple):
                own, elements = look(a[1])
                if not np.all(elements.sure) or np.any(elements.lo != elements.hi):
                    raise Refused("an index that is not known exactly")
                order = sorted(range(len(own)), key=lambda d: axes.index(own[d]))
                spread = [elements.lo.shape[own.index(b)] if b in own else 1 for b in axes]
                at = at + times * np.transpose(elements.lo, order).reshape(spread).astype(object)
            elif a not in (None, "outside"):
                at = at + times * np.arange(extents[a]).reshape([-1 if b == a else 1 for b in axes])
        inside = at % count if p.get("outside") == "wrap" else np.minimum(np.maximum(at, 0), count - 1)
        if p.get("outside") is None and np.any(inside != at):
            raise Refused("an index outside")
        return np.array(inside, np.int64).reshape(shape)

    def look(read):
        if read in found:
            return found[read]
        name, positions, pads = kernel["windows"][read]
        axes = axes_of(kernel["windows"], read)
        shape = [extents[a] for a in axes]
        places, array = [], padded(kernel, name, arrays[name], pads)
        for p, count in zip(positions, array.lo.shape):
            if is_gather(p):
                places.append(np.zeros(shape, np.int64) if 0 in shape else gathered(p, count, axes, shape))
                continue
            at = np.full(shape, begins(p, count), np.int64)
            for a, times in p.items():
                if a is not None:
                    at = at + times * np.arange(extents[a]).reshape([-1 if b == a else 1 for b in axes])
            places.append(at)
        pick = lambda a: np.broadcast_to(a, array.lo.shape)[tuple(places)] if 0 not in shape else np.zeros(shape, a.dtype)
        found[read] = axes, Value(array.dtype, pick(array.lo), pick(array.hi), pick(array.sure))
        return found[read]

    for read in kernel["windows"]:
        look(read)
    return found


class ArrayLets:
    """The lets that are read at positions or that list their dims."""

    def __init__(self, kernel):
        self.kernel = kernel
        read = {name for name, _, _ in kernel["windows"].values()}
        self.names = {name: kernel["listed"].get(name) for name in kernel["lets"] if name in read or name in kernel["listed"]}
        self.own = {}  # of those that are computed: what a plain read of it is
        self.windows = dict(kernel["windows"])

    def computed(self, name, axes):
        """Axes without names cannot be positions: there a plain read is the expression once
        more."""
        if axes and not any(a.isdigit() for a in axes):
            positions = [{a: 1} for a in axes]
            self.own[name] = window_name(name, positions)
            self.windows.setdefault(self.own[name], (name, positions, []))

    def mapped(self, tree, change):
        """The expression with `change(name)` for each name of a value, in the order in which they
        are read."""
        kind = tree[0]
        if kind == "name":
            return ("name", change(tree[1]))
        if kind == "number":
            return tree
        if kind != "call":
            go = lambda e: self.mapped(e, change) if isinstance(e, tuple) else [go(part) for part in e] if isinstance(e, list) else e
            return (kind, *[go(part) for part in tree[1:]])
        _, name, args, options = tree
        if name in ("iota", "extent"):
            values = []
        elif name == "scan":
            values = [1]
        else:
            values = [0] if name in FOLDS or name in self.kernel["accumulators"] else range(len(args))
        args = [self.mapped(arg, change) if k in values else arg for k, arg in enumerate(args)]
        options = {o: self.mapped(e, change) if o in ("init", "like", "of") else e for o, e in options.items()}
        return ("call", name, args, options)

    def rewritten(self, tree):
        """With plain reads of the arrays as reads at positions."""
        return self.mapped(tree, lambda name: self.own.get(name, name))

    def part(self, lets, outputs, roots):
        reads = {}

        def note(name):
            if name not in reads:
                reads[name] = True
                if name in lets:
                    self.mapped(lets[name], note)
            return name

        for root in roots:
            self.mapped(root, note)
        windows = {}

        def add(name):  # those that say where it is read, too
            windows[name] = self.windows[name]
            for key in (key for p in self.windows[name][1] for key in p if isinstance(key, tuple)):
                add(key[1])

        for name in reads:
            if name in self.windows:
                add(name)
        return {**self.kernel, "lets": lets, "outputs": outputs, "reads": set(reads), "windows": windows}

    def lets(self):
        return {name: self.rewritten(value) for name, value in self.kernel["lets"].items()}

    def kernel_of(self, name):
        return self.part(self.lets(), [], [self.rewritten(self.kernel["lets"][name])])

    def rest(self):
        outputs, lets = [], self.lets()
        roots = [value for name, value in lets.items() if name not in self.names]
        for out in self.kernel["outputs"]:
            out = {**out, "value": self.rewritten(out["value"])}
            roots.append(out["value"])
            if out["mode"]:
                mode = self.rewritten(("call", "scan", [], out["mode"][2]))
                out["mode"] = (*out["mode"][:2], mode[3])
                roots.append(mode)
            outputs.append(out)
        return self.part(lets, outputs, roots)
