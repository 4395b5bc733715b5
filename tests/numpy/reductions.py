"""Folds and scans of a kernel's text: their axes, options and `like=`, and accumulators of the
user.

Reductions evaluates what stands in a fold by `evaluate`, which Evaluator (spec_to_numpy.py) has,
and leaves the arithmetic to folds.py.
"""
import numpy as np

import folds
import intervals as iv
from intervals import Value, cast
from loom_text import Refused
from operations import Operations
from windows import alone, is_gather

SERIAL_LIMIT = 20000  # elements one after the other, of an accumulator without a combine


class Reductions(Operations):
    def full(self, v):
        """With arrays of all axes, for numbers have none."""
        shape = v.lo.shape if v.lo.ndim == len(self.axes) else (1,) * len(self.axes)
        return Value(v.dtype, v.lo.reshape(shape), v.hi.reshape(shape), np.broadcast_to(v.sure, shape), v.axes)

    def init(self, options, scope, contexts):
        if set(options) - {"init", "correction", "like"}:
            raise Refused("the option " + sorted(set(options) - {"init", "correction", "like"})[0])
        if "init" not in options:
            return None
        return self.full(self.evaluate(options["init"], scope, contexts))

    def fold(self, name, args, options, scope, contexts):
        value = self.full(self.evaluate(args[0], scope, contexts + [args[0]]))
        init, correction = self.init(options, scope, contexts), self.correction(options)
        if "like" in options:
            result = self.fold_like(name, value, self.like(options), init, correction)
        else:
            axes = [self.axis(self.axis_name(a)) for a in args[1:]] or sorted(value.axes)
            result = self.fold_over(name, value, axes, init, correction)
        if result.whole is None:  # what rounds nothing is whole as it is
            result.whole = Value(result.dtype, result.lo, result.hi, result.sure, result.axes)
        return result

    @staticmethod
    def axis_name(tree):
        if tree[0] == "unary":
            return "-" + Reductions.axis_name(tree[2])
        return str(tree[1])

    @staticmethod
    def correction(options):
        return options["correction"][1] if "correction" in options else 0

    def fold_over(self, name, value, axes, init=None, correction=0):
        keep = value.axes - set(axes)
        if name in self.kernel["accumulators"]:
            return self.serial(name, value, sorted(axes), keep, init)
        if not axes:  # one element each
            value = Value(value.dtype, value.lo[..., None], value.hi[..., None],
                          np.broadcast_to(value.sure, value.lo.shape)[..., None], value.axes)
            if init is not None:
                init = Value(init.dtype, init.lo[..., None], init.hi[..., None], init.sure[..., None], init.axes)
            result = folds.fold(name, value, [value.lo.ndim - 1], keep, init, correction)
            return self.without_last(result)
        return folds.fold(name, value, axes, keep, init, correction)

    def without_last(self, v):
        def cut(a):
            return Value(a.dtype, a.lo[..., 0], a.hi[..., 0], np.broadcast_to(a.sure, a.lo.shape)[..., 0], a.axes)

        result = cut(v)
        result.whole = cut(v.whole) if v.whole is not None else None
        return result

    def like_names(self, options):
        kind, what = options["like"]
        return [name for _, name in what] if kind == "tuple" else [what]

    def like(self, options):
        """What lends its shape and its axes: an input, or a value of the shape that several have
        together."""
        models = [self.like_one(name) for name in self.like_names(options)]
        if len(models) == 1:
            return models[0]
        zeros = np.broadcast_to(np.zeros(()), np.broadcast_shapes(*(m.lo.shape for m in models)))
        return Value("f64", zeros, zeros, True, frozenset().union(*(m.axes for m in models)))

    def like_one(self, name):
        positions = self.windows[name][1] if name in self.windows else []
        padded = name in self.windows and self.windows[name][2]
        if padded or name not in self.inputs or not all(alone(p) and not is_gather(p) for p in positions) or len({a for p in positions for a in p}) < len(positions):
            raise Refused("like=" + name)  # back through a window
        return self.inputs[name]

    def fold_like(self, name, value, model, init, correction):
        axes = [a for a in value.axes if a not in model.axes or (model.lo.shape[a] == 1 and value.lo.shape[a] != 1)]
        result = self.fold_over(name, value, axes, init, correction)
        shape = np.broadcast_shapes(result.lo.shape, model.lo.shape)

        def spread(v):
            return Value(v.dtype, np.broadcast_to(v.lo, shape), np.broadcast_to(v.hi, shape),
                         np.broadcast_to(v.sure, shape), model.axes)

        spread_result = spread(result)
        spread_result.whole = spread(result.whole) if result.whole is not None else None
        return spread_result

    def serial(self, name, value, axes, keep, init, along=None, exclusive=False, reverse=False):
        """An accumulator of the user, step by step: one of one argument that has no combine."""
        definition = self.kernel["accumulators"][name]
        if "combine" in definition or len(definition["args"]) != 1 or len(definition["states"]) != 1 or "result" in definition:
            raise Refused("the accumulator '%s': of one argument, one state and without a combine it would do" % name)
        places = [along] if along is not None else axes
        order = places + [a for a in range(value.lo.ndim) if a not in places]
        count = int(np.prod([value.lo.shape[a] for a in places], dtype=np.int64))
        lead = lambda a: np.transpose(np.broadcast_to(a, value.lo.shape), order).reshape(
            count, *[value.lo.shape[a] for a in order[len(places):]])
        x = cast(value, "f64" if iv.is_float(value.dtype) else "u64" if value.dtype[0] == "u" else "i64")
        lo, hi, sure = lead(x.lo), lead(x.hi), lead(x.sure)
        if len(lo) > SERIAL_LIMIT:
            raise Refused("an accumulator over %d elements one after the other" % len(lo))
        state_name, step = definition["states"][0], definition["step"][definition["states"][0]]
        begin = self.evaluate(definition["init"][state_name], {}, [])
        kind = "f64"
        state = cast(init if init is not None else begin, kind)
        if init is not None:
            shape = [1 if a in places else n for a, n in enumerate(value.lo.shape)]
            state = Value(kind, *(np.broadcast_to(a, shape).transpose(order).reshape(
                1, *[shape[a] for a in order[len(places):]])[0] for a in (state.lo, state.hi, state.sure)))
        states = []
        for k in range(len(lo))[::-1] if reverse else range(len(lo)):
            if exclusive:
                states.append(state)
            argument = Value(x.dtype, lo[k], hi[k], sure[k])
            state = cast(self.evaluate(step, {state_name: state, definition["args"][0]: argument}, []), kind)
            if not exclusive:
                states.append(state)
        out = value.dtype if iv.is_float(value.dtype) else "f64"
        shape = lo.shape[1:]
        if along is None:
            target = [1 if a in axes else n for a, n in enumerate(value.lo.shape)]
            parts = [np.broadcast_to(a, shape).reshape([target[a] for a in order]).transpose(np.argsort(order))
                     for a in (state.lo, state.hi, state.sure)]
            return folds.finished(Value(kind, *parts, keep), out)
        if reverse:
            states.reverse()
        if not states:
            return Value(out, value.lo.astype(np.float64), None, True, keep)
        parts = [np.stack([np.broadcast_to(a, shape) for a in column]).transpose(np.argsort(order))
                 for column in zip(*((s.lo, s.hi, s.sure) for s in states))]
        return folds.finished(Value(kind, *parts, keep), out)

    def scan(self, args, options, scope, contexts):
        name = args[0][1]
        value = self.full(self.evaluate(args[1], scope, contexts + [args[1]]))
        axis = self.axis(self.axis_name(args[2]))
        flags = {a[1] for a in args[3:]}
        init = self.init(options, scope, contexts)
        if name in self.kernel["accumulators"]:
            return self.serial(name, value, [], value.axes, init, axis, "exclusive" in flags, "reverse" in flags)
        return folds.scan(name, value, axis, "exclusive" in flags, "reverse" in flags, init)
