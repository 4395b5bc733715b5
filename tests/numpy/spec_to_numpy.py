"""Computes a kernel with NumPy alone and holds given outputs against it.

    python3 tests/numpy/spec_to_numpy.py kernel.loom x=x.npy y=y.npy -> o0=o0.npy     (quote the >)
    python3 tests/numpy/spec_to_numpy.py FOLDER ...

A folder has kernel.loom, one NAME.npy for each input and output, and NAME.before.npy for what a
`+=` adds to. Every element of every given output must lie between the least and the greatest number
that the kernel's definition, roundings of functions and the order of sums allow (intervals.py);
where that cannot be told, the element is counted as undecided. Nothing here was translated from
Broadloom's sources: it follows docs/language.md.

Prints one line for each output, or `refused: why`. Exit status: 0 all is right, 1 an output is
wrong, 3 refused.
"""
import os
import sys

import numpy as np

import intervals as iv
from intervals import Value, cast, number, promote
from loom_text import FOLDS, Refused, parse
from reductions import Reductions
from windows import ArrayLets, axes_of, windows_of

np.seterr(all="ignore")  # NaN and infinities are values like others
REFUSED = {"lgamma", "digamma", "polygamma", "c64", "c128", "real", "imag", "conj"}


def load(path, dtype):
    a = np.load(path)
    if dtype == "bf16":
        return (a.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return a.astype(np.float64) if iv.is_float(dtype) else a


class Evaluator(Reductions):
    """A kernel without lets that are arrays, on the Values of its inputs."""

    def __init__(self, kernel, arrays):
        super().__init__(kernel["accuracy"])
        self.kernel = kernel
        if any(d["dtype"] in ("c64", "c128") for d in kernel["inputs"]):
            raise Refused("complex numbers")
        self.windows = kernel["windows"]
        self.axes = self.iteration_space()
        self.inputs, self.folded = {}, None
        for declared in kernel["inputs"]:
            if declared["name"] in kernel["reads"] or declared["labels"] or not self.windows:
                self.inputs[declared["name"]] = self.placed(declared, arrays[declared["name"]])
        for read, (labels, array) in windows_of(kernel, arrays).items():
            self.inputs[read] = self.placed({"labels": labels, "axes": None}, array)

    # ---- axes

    def iteration_space(self):
        labels = []
        for d in self.kernel["inputs"]:
            labels += [name for name in d["labels"] or [] if name not in labels]
        for read in self.windows:
            if read in self.kernel["reads"]:  # an index has the axes of what it is an index of
                labels += [a for a in axes_of(self.windows, read) if a not in labels]
        ranks = [max(d["axes"]) + 1 if d["axes"] else len(d["dims"]) for d in self.kernel["inputs"]]
        return labels if labels else [str(k) for k in range(max(ranks + [0]))]

    def axis(self, name):
        if name in self.axes:
            return self.axes.index(name)
        try:
            return range(len(self.axes))[int(name)]
        except (ValueError, IndexError):
            raise Refused("the axis " + name) from None

    def placed(self, declared, array):
        """The array with all axes of the kernel, of extent 1 where it has none."""
        rank, total = array.lo.ndim, len(self.axes)
        if declared["labels"]:
            places = [self.axes.index(name) for name in declared["labels"]]
        elif declared["axes"] is not None:
            places = declared["axes"]
        else:
            places = list(range(rank)) if self.kernel["order"] == "c" else list(range(total - rank, total))
        shape = [1] * total
        for place, extent in zip(places, array.lo.shape):
            shape[place] = extent
        lay = lambda a: np.transpose(np.broadcast_to(a, array.lo.shape), np.argsort(places, kind="stable")).reshape(shape)
        return Value(array.dtype, lay(array.lo), lay(array.hi), lay(array.sure), frozenset(places))

    # ---- expressions

    def inputs_of(self, tree, found=None):
        """The names of the inputs that an expression reads, those of `of=` and `like=` not."""
        found = set() if found is None else found
        if tree[0] == "name":
            if tree[1] in self.inputs:
                found.add(tree[1])
            elif tree[1] in self.kernel["lets"]:
                self.inputs_of(self.kernel["lets"][tree[1]], found)
        elif tree[0] == "call":
            args = tree[2]
            if tree[1] in ("iota", "extent"):
                return found
            fold = tree[1] in FOLDS or tree[1] in self.kernel["accumulators"]
            for arg in args[1:2] if tree[1] == "scan" else args[:1] if fold else args:
                self.inputs_of(arg, found)
            if "init" in tree[3]:
                self.inputs_of(tree[3]["init"], found)
        else:
            for part in tree[1:]:
                for child in part if isinstance(part, list) else [part]:
                    if isinstance(child, tuple):
                        self.inputs_of(child, found)
        return found

    def evaluate(self, tree, scope, contexts):
        """contexts: the expressions that iota and extent may belong to, innermost last."""
        kind = tree[0]
        if kind == "number":
            return number(tree[1])
        if kind == "name":
            return self.named(tree[1], scope, contexts)
        if kind == "unary":
            return self.unary(tree[1], self.evaluate(tree[2], scope, contexts))
        if kind == "binary":
            return self.binary(tree[1], self.evaluate(tree[2], scope, contexts), self.evaluate(tree[3], scope, contexts))
        if kind == "choice":
            return self.call("where", [self.evaluate(e, scope, contexts) for e in tree[1:]])
        if kind == "tuple":
            raise Refused("a tuple")
        return self.called(tree, scope, contexts)

    def named(self, name, scope, contexts):
        if name in scope:
            return scope[name]
        if name in self.kernel["lets"]:
            return self.evaluate(self.kernel["lets"][name], {}, contexts)
        if name in self.inputs:
            return self.folded[name] if self.folded and name in self.folded else self.inputs[name]
        constants = {"pi": np.pi, "e": np.e, "inf": np.inf, "nan": np.nan, "true": True, "false": False}
        if name not in constants:
            raise Refused("the name '%s'" % name)
        return number(constants[name])

    def called(self, tree, scope, contexts):
        _, name, args, options = tree
        if name in REFUSED:
            raise Refused(name)
        if name == "scan":
            return self.scan(args, options, scope, contexts)
        if name in FOLDS or name in self.kernel["accumulators"]:
            return self.fold(name, args, options, scope, contexts)
        if name in ("iota", "extent"):
            return self.position(name, args, options, contexts)
        if name in self.kernel["functions"]:
            parameters, body = self.kernel["functions"][name]
            values = [self.evaluate(a, scope, contexts) for a in args]
            return self.evaluate(body, dict(zip(parameters, values)), contexts)
        return self.call(name, [self.evaluate(a, scope, contexts) for a in args])

    # ---- positions

    def position(self, name, args, options, contexts):
        axis = self.axis(self.axis_name(args[0]))
        if "of" in options:
            of = options["of"]
            names = [e[1] for e in of[1]] if of[0] == "tuple" else [of[1]]
        else:
            names = []
            for context in reversed(contexts):
                names = [n for n in self.inputs_of(context) if axis in self.inputs[n].axes]
                if names:
                    break
        if not names or any(n not in self.inputs or axis not in self.inputs[n].axes for n in names):
            raise Refused("%s along an axis that no input around it has" % name)
        extent = 1
        for n in names:
            extent = extent if self.inputs[n].lo.shape[axis] == 1 else self.inputs[n].lo.shape[axis]
        if name == "extent":
            return Value("i64", np.asarray(extent, np.int64), weak="extent")
        shape = [1] * len(self.axes)
        shape[axis] = extent
        return Value("i64", np.arange(extent).reshape(shape), None, True, frozenset([axis]))

    # ---- outputs

    def output(self, out):
        mode, accumulator, options = out["mode"] or (None, None, {})
        self.folded = None
        read = self.inputs_of(out["value"])
        listed = [self.axis(a) for a in out["axes"]] if out["axes"] is not None else None
        kept = set(listed) if listed is not None else None
        if mode in ("accumulate", "reduce") and kept is None:
            if "like" in options:
                kept = set(self.like(options).axes)
            else:
                least = min((len(self.inputs[n].axes) for n in read), default=0)
                kept = set().union(*(self.inputs[n].axes for n in read if len(self.inputs[n].axes) == least))
        if mode == "accumulate":
            if "like" in options:
                raise Refused("accumulate(like=)")
            self.folded = {}
            for name in read:
                beyond = sorted(self.inputs[name].axes - kept)
                if beyond:
                    self.folded[name] = self.fold_over(accumulator, self.inputs[name], beyond,
                                                       self.init(options, {}, [out["value"]]), self.correction(options))
                    self.folded[name].whole = None  # an operand, in NumPy's dtype even where it is alone
        value = self.full_with_whole(self.evaluate(out["value"], {}, [out["value"]]))
        if mode == "reduce":
            init, correction = self.init(options, {}, [out["value"]]), self.correction(options)
            if "like" in options:
                value = self.fold_like(accumulator, value, self.like(options), init, correction)
            else:
                value = self.fold_over(accumulator, value, sorted(value.axes - kept), init, correction)
            value.whole = value.whole if value.whole is not None else self.full(value)
        axes = listed if listed is not None else sorted(value.axes)
        shape = list(value.lo.shape)
        if mode == "broadcast":
            lenders = read | (set(self.like_names(options)) if "like" in options and self.like(options) else set())
            if listed is None:
                axes = sorted(value.axes.union(*(self.inputs[n].axes for n in lenders)))
            for axis in axes:
                labelled = [d["name"] for d in self.kernel["inputs"] if d["labels"]]
                candidates = [n for n in lenders if axis in self.inputs[n].axes] or [
                    n for n in labelled if axis in self.inputs[n].axes]
                for n in candidates:
                    if shape[axis] == 1:
                        shape[axis] = self.inputs[n].lo.shape[axis]
        if any(a not in axes and shape[a] != 1 for a in range(len(shape))):
            raise Refused("an output that lacks an axis of its value")
        return value, axes, shape

    def full_with_whole(self, v):
        result = self.full(v)
        result.whole = self.full(v.whole) if v.whole is not None else None
        result.weak = v.weak
        return result

    def expected(self, out, before):
        """The ends of each element, as arrays of the shape of the output."""
        value, axes, shape = self.output(out)
        dtype = out["dtype"] or value.dtype
        if dtype in ("c64", "c128"):
            raise Refused("complex numbers")
        if value.whole is not None and not out["add"] and out["dtype"]:
            value = value.whole
        lay = lambda a: np.transpose(np.broadcast_to(a, shape), axes + [a for a in range(len(shape)) if a not in axes]).reshape(
            [shape[a] for a in axes])
        if out["add"]:
            if value.whole is not None:
                value = value.whole
                value.whole = value
            elif not iv.is_float(dtype):  # only a reduction is added before it is converted
                value = cast(value, dtype, store=True)
            addend = Value(value.dtype, lay(value.lo), lay(value.hi), lay(value.sure))
            rounds_first = value.whole is None and iv.is_float(dtype) and iv.is_float(value.dtype) and dtype != value.dtype
            old = Value(dtype, before)
            both = promote(value.dtype, dtype)
            wide = self.binary("+", cast(old, both), cast(addend, both))
            if iv.is_float(wide.dtype):  # the sum is taken in one type or another
                size = np.maximum(np.abs(addend.lo), np.abs(addend.hi)) if rounds_first else 0
                extra = np.where(np.isfinite(size), 2 * iv.UNIT.get(dtype, 0) * size, 0)
                wide = iv.widen(wide.lo, wide.hi, dtype if iv.is_float(dtype) else wide.dtype, 1, wide, extra)
            result = cast(wide, dtype, store=True)
            return result, dtype
        result = cast(value, dtype, store=True) if value.dtype != dtype or dtype in ("f16", "bf16") else value
        return Value(dtype, lay(result.lo), lay(result.hi), lay(result.sure)), dtype


def verdict(name, got, want, dtype):
    """A line that says how the output compares, and whether it is right."""
    if got.shape != want.lo.shape:
        return "%s: has shape %s, not %s" % (name, got.shape, want.lo.shape), False
    with np.errstate(all="ignore"):
        inside = (got >= want.lo) & (got <= want.hi)
        if iv.is_float(dtype):
            inside |= np.isnan(got) & np.isnan(want.lo)
    wrong = np.asarray(want.sure & ~inside)
    undecided = int(np.sum(~np.broadcast_to(want.sure, got.shape)))
    if not wrong.any():
        return "%s: %d elements are right, %d are undecided" % (name, got.size - undecided, undecided), True
    at = np.unravel_index(np.argmax(wrong), wrong.shape)
    return "%s: %d of %d elements are wrong, first %s: %r, not from %r to %r" % (
        name, wrong.sum(), got.size, tuple(int(i) for i in at), got[at].item(), want.lo[at].item(), want.hi[at].item()), False


def evaluator_of(kernel, arrays):
    """Of the kernel that is left when its lets that are arrays are computed: they are inputs of
    it."""
    lets, values = ArrayLets(kernel), dict(arrays)
    for name, listed in lets.names.items():
        evaluator = Evaluator(lets.kernel_of(name), values)
        out = {"name": name, "axes": listed, "dtype": None, "add": False, "mode": None, "value": lets.rewritten(kernel["lets"][name])}
        values[name], _ = evaluator.expected(out, None)
        axes = [evaluator.axes[a] for a in evaluator.output(out)[1]]
        lets.computed(name, axes)
    return Evaluator(lets.rest(), values)


def check(text, inputs, outputs, before):
    """Paths by name. Gives the exit status."""
    try:
        kernel = parse(text)
        dtypes = {d["name"]: d["dtype"] for d in kernel["inputs"]}
        if {"c64", "c128"} & set(dtypes.values()):
            raise Refused("complex numbers")
        evaluator = evaluator_of(kernel, {n: Value(dtypes[n], load(inputs[n], dtypes[n])) for n in dtypes})
        status = 0
        for out in evaluator.kernel["outputs"]:
            if out["name"] not in outputs:
                continue
            try:
                old = None
                if out["add"]:
                    if out["name"] not in before:
                        raise Refused("a += without what it adds to")
                    old = load(before[out["name"]], out["dtype"] or evaluator.output(out)[0].dtype)
                want, dtype = evaluator.expected(out, old)
                line, right = verdict(out["name"], load(outputs[out["name"]], dtype), want, dtype)
                status = max(status, 0 if right else 1)
                print(line)
            except Refused as refusal:
                print("%s: refused: %s" % (out["name"], refusal))
        return status
    except Refused as refusal:
        print("refused: %s" % refusal)
        return 3


def check_folder(folder):
    with open(os.path.join(folder, "kernel.loom")) as file:
        text = file.read()
    paths = {name[:-4]: os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".npy")}
    before = {name[: -len(".before")]: path for name, path in paths.items() if name.endswith(".before")}
    return check(text, paths, paths, before)


def main(arguments):
    folders = [a for a in arguments if os.path.isdir(a)]
    if folders:
        statuses = []
        for folder in folders:
            if len(folders) > 1:
                print(folder)
            statuses.append(check_folder(folder))
        return 1 if 1 in statuses else max(statuses)
    if "->" not in arguments or len(arguments) < 2:
        sys.exit(__doc__)
    arrow = arguments.index("->")
    pairs = lambda words: dict(w.split("=", 1) for w in words)
    with open(arguments[0]) as file:
        text = file.read()
    outputs = pairs(arguments[arrow + 1:])
    before = {n[: -len(".before")]: p for n, p in pairs(arguments[1:arrow]).items() if n.endswith(".before")}
    return check(text, pairs(arguments[1:arrow]), outputs, before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
