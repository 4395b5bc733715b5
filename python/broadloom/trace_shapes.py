"""NumPy's functions that give traced values another shape, or read them at elements of others.

Problem: results have other extents than arguments, and those are known at a call only. Method: an
axis of its own, whose length the kernel says by numbers and a multiple of one extent. A length that
is no such multiple is refused, and the error says which extent to declare.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from .errors import ShapeError, SpecError
from .expr import Expr, caller, operand
from .formulas import between, cast, dtype_of, word_of
from .functions import binary, function
from .numpy_calls import asked, is_number
from .trace_axes import Length, as_array, at_labels, axes_of, free, known_extent, length_of, lying, ordered, place, placed, told_by
from .trace_joins import pad
from .trace_slices import read
from .trace_text import tracing


def _refuse(message: str, help: str):
    raise SpecError("E0021", message, caller(), help)


class _Size:
    """How many elements an axis has: `times` of them, or `times` as many as the axis `label`."""

    def __init__(self, times: int, label: str = ""):
        self.times, self.label = times, label

    def __mul__(self, other):
        if self.label and other.label:
            _refuse(f"a length that is the product of the extents of '{self.label}' and '{other.label}' cannot be traced", f"declare how many elements one has: {other.label}=4 in place of {other.label}")
        return _Size(self.times * other.times, self.label or other.label)

    def words(self, array: Expr, dim: int) -> tuple:
        """As a length that the kernel says, of an input or, behind the array, of its dim."""
        if not self.label:
            return None, (str(self.times),)
        times = "" if self.times == 1 else f"{self.times}*"
        found = told_by(self.label)
        return (None, (f"{times}extent({found[0]}, {found[1]})",)) if found else (array, (f"{times}extent(", array, f", {dim})"))

    def value(self) -> Expr:
        if not self.label:
            return operand(self.times)
        found = told_by(self.label)
        if found is None:
            _refuse(f"a position by how long '{self.label}' is cannot be traced", "axes that inputs have are known: declare one with this many elements")
        return operand(self.times) * Expr((f"extent({self.label}, of={found[0]})",))


def _size(label: str) -> _Size:
    known = known_extent(label)
    return _Size(1, label) if known is None else _Size(known)


def _made(value: Expr, entries, labels, sizes) -> Expr:
    """The value read at positions, with these axes. `sizes` are of those that are new, by label:
    the size, and the dim of the value that it hangs on."""
    array, made = as_array(value), read(value, list(entries))
    for label, (size, dim) in sizes.items():
        after, words = size.words(array, dim)
        made.says[label] = (after, (f"axis {label} < ", *words))
        tracing.lengths.setdefault(label, Length(label, label, 0, None if size.label else size.times))
    return ordered(made, labels)


def _iota(label: str) -> Expr:
    made = Expr((f"iota({label})",), caller())
    made.axes = (label,)
    return made


def _element(at: Expr, axes) -> Expr:
    """Computed positions as those of an array, which is read at these axes."""
    made = Expr((lying(at, axes), f"[{', '.join(axes)}]"), caller())
    made.axes = tuple(axes)
    return made


def repeat(a, repeats, axis=None) -> Expr:
    value = operand(a)
    axes = axes_of(value)
    d = place(0 if axis is None and len(axes) == 1 else axis, len(axes))
    if isinstance(repeats, Expr) or not hasattr(repeats, "__index__") or operator.index(repeats) < 1:
        _refuse(f"numpy.repeat by {repeats!r} cannot be traced", "it takes one number, 1 or more; a value of positions as an input, x[k], repeats as data say")
    n = operator.index(repeats)
    label = f"{axes[d]}_each_{n}"
    labels = [*axes[:d], label, *axes[d + 1:]]
    entries = [slice(None)] * d + [_element(_iota(label) // n, [label])] + [slice(None)] * (len(axes) - d - 1)
    known = known_extent(axes[d])
    tracing.lengths.setdefault(label, Length(length_of(axes[d]).root, label, 0, None if known is None else n * known))
    return value if n == 1 else _made(value, entries, labels, {label: (_Size(n) * _size(axes[d]), d)})


# --- in another shape -----------------------------------------------------------------------------


def reshape(a, shape) -> Expr:
    value = squeeze(a)
    axes = axes_of(value)
    whole = shape if isinstance(shape, (tuple, list)) else (shape,)
    if any(isinstance(n, Expr) or isinstance(n, str) for n in whole):
        _refuse("numpy.reshape by other than numbers cannot be traced", "write -1 for the dim whose extent is not declared")
    whole = [asked(operator.index, n) for n in whole]
    new = [n for n in whole if n != 1]
    old = [_size(label) for label in axes]
    free = [size.label for size in old if size.label]
    count, given = math.prod(size.times for size in old), math.prod(n for n in new if n != -1)
    if new.count(-1) > 1 or any(n < -1 for n in new):
        raise ShapeError("E0102", f"the shape {tuple(whole)}", caller(), "one dim may be -1, which is what is left")
    if len(free) > 1 or free and -1 not in new:
        _refuse(f"numpy.reshape by {tuple(whole)} of axes whose extents are not declared cannot be traced: {', '.join(free)}",
                f'declare all but one, {free[0]}=4 in place of {free[0]}, and write -1 for the dim that has the other' if len(free) > 1 else "write -1 for the dim that has it")
    if not given or count % given or not free and -1 not in new and count != given:
        _refuse(f"numpy.reshape by {tuple(whole)} of {' times '.join([str(count)] * (count > 1 or not free) + free)} elements cannot be traced",
                "the numbers must divide what is declared: p = bl.iota('p'), x[4*p + bl.iota('u')] takes an axis apart, u < 4" if free else "the product of the dims is that of the extents")
    sizes = [_Size(1) if n == 1 else _Size(count // given, free[0] if free else "") if n == -1 else _Size(n) for n in whole]
    is_one = [not size.label and size.times == 1 for size in sizes]
    made = _in_blocks(value, axes, old, [size for size, one in zip(sizes, is_one) if not one])
    rest = iter(axes_of(made))
    return placed(made, [None if one else next(rest) for one in is_one]) if any(is_one) else made


def _in_blocks(value, axes, old, new) -> Expr:
    """Dims of `old` sizes as dims of `new` ones: in runs of both that have as many elements."""
    entries, labels, sizes, a, b = [], [], {}, 0, 0
    while a < len(old) or b < len(new):
        from_a, from_b = a, b
        one, other = _Size(1), _Size(1)
        while (one.times, one.label) != (other.times, other.label) or a == from_a:
            if (bool(one.label), one.times) <= (bool(other.label), other.times) and a < len(old) or b == len(new):
                one, a = one * old[a], a + 1
            else:
                other, b = other * new[b], b + 1
        mine, theirs = [*zip(axes[from_a:a], old[from_a:a])], new[from_b:b]
        if len(mine) == len(theirs) == 1:
            entries.append(slice(None))
            labels.append(mine[0][0])
            continue
        if not theirs:  # of one element
            entries += [0] * len(mine)
            continue
        flat = None
        for k, size in enumerate(theirs):
            base = "_".join([label for label, _ in mine]) if len(theirs) == 1 else mine[0][0]
            label = free(base if len(theirs) == 1 else f"{base}_by_{_product(theirs[k + 1:]).times}" if size.label else f"{base}_len_{size.times}", *axes, *labels)
            labels.append(label)
            sizes[label] = size, from_a + next((k for k, (one, _) in enumerate(mine) if one == size.label), 0)
            step = _times(_iota(label), _product(theirs[k + 1:]))
            flat = step if flat is None else flat + step
        for k, (label, size) in enumerate(mine):
            behind = _product([size for _, size in mine[k + 1:]])
            at = flat if k == len(mine) - 1 else flat // behind.value()
            at = at if k == 0 else at % size.value()
            entries.append(at if len(mine) == 1 else _element(at, labels[-len(theirs):]))
    return _made(value, entries, labels, sizes) if sizes or 0 in entries else value


def _product(sizes) -> _Size:
    made = _Size(1)
    for size in sizes:
        made = made * size
    return made


def _times(at: Expr, size: _Size) -> Expr:
    return at if not size.label and size.times == 1 else at * (size.times if not size.label else size.value())


def squeeze(a, axis=None) -> Expr:
    """Without the dims of 1 that None or keepdims= made, or that are declared."""
    value = operand(a)
    layout = value.layout if value.layout is not None else axes_of(value)
    named = range(len(layout)) if axis is None else [place(d, len(layout)) for d in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    left = [d for d in named if layout[d] is None or known_extent(layout[d]) == 1]
    if axis is not None and len(left) < len(named):
        _refuse(f"numpy.squeeze of axis '{next(layout[d] for d in named if d not in left)}' cannot be traced", "x[0] takes the one element, x[:, 0] that of the second dim")
    return value[tuple([0 if d in left else slice(None) for d in range(len(layout))])] if left else value


def kron(a, b) -> Expr:
    a, b = operand(a), operand(b)
    ours, theirs = axes_of(a), axes_of(b)
    if len(ours) != len(theirs):
        _refuse(f"numpy.kron of {len(ours)} and {len(theirs)} dims cannot be traced", "give both as many")
    labels = []
    for one, other in zip(ours, theirs):
        labels.append(free(f"{one}_kron_{other}", *labels))
    steps = [_size(other) for other in theirs]
    sizes = {label: (_size(one) * step, d) for d, (label, one, step) in enumerate(zip(labels, ours, steps))}
    first = _made(a, [_element(_iota(label) // step.value(), [label]) for label, step in zip(labels, steps)], labels, {label: at for label, at in sizes.items() if at[0].label in ("", *ours)})
    return first * _made(b, [_element(_iota(label) % step.value(), [label]) for label, step in zip(labels, steps)], labels, {label: at for label, at in sizes.items() if at[0].label not in ("", *ours)})


# --- at elements of others ------------------------------------------------------------------------


def take_along_axis(arr, indices, axis=-1) -> Expr:
    value, k = operand(arr), operand(indices)
    axes = axes_of(value)
    d = place(axis, len(axes))
    if len(k.layout or axes_of(k)) != len(axes):
        raise ShapeError("E0101", f"numpy.take_along_axis of {len(axes)} dims by indices of {len(k.layout or axes_of(k))}", caller(), "both have as many dims")
    if k.layout is not None and k.layout[d] is None:  # as argmax(keepdims=True) gives them
        made = read(value, [slice(None)] * d + [squeeze(k, d)] + [slice(None)] * (len(axes) - d - 1))
        rest = [*axes[:d], *axes[d + 1:]]
        return placed(ordered(made, rest), [*axes[:d], None, *axes[d + 1:]])
    others = [*axes[:d], *axes[d + 1:]]
    own = axes_of(k)[d]
    labels = [*axes[:d], own if own not in others else free(f"{own}_at", *axes), *axes[d + 1:]]
    return ordered(read(value, [slice(None)] * d + [at_labels(k, labels)] + [slice(None)] * (len(axes) - d - 1)), labels)


def interp(x, xp, fp, left=None, right=None) -> Expr:
    """By the number of points up to each x, as lazy arrays do."""
    x, xp, fp = [cast(one, "c128" if word_of(one)[0] == "c" else "f64") for one in map(operand, (x, xp, fp))]
    if len(axes_of(xp)) != 1 or len(axes_of(fp)) != 1:
        _refuse("numpy.interp takes points as two values of one dim", "of one length")
    count = np.sum(x[..., None] >= xp, axis=-1)
    last = _size(axes_of(xp)[0]).value() - 1
    k = np.clip(count - 1, 0, np.maximum(last - 1, 0))
    k, after = [_element(at, axes_of(x)) for at in (k, np.minimum(k + 1, last))]
    return between(x, (xp[k], xp[after]), (fp[k], fp[after]), (xp[0], xp[-1]), (fp[0] if left is None else left, fp[-1] if right is None else right))


def convolve(turned: bool):
    def call(a, v, mode="full" if turned else "valid"):
        if mode not in ("full", "same", "valid"):
            _refuse(f"numpy.{'convolve' if turned else 'correlate'} with mode={mode!r} cannot be traced", "the modes are full, same and valid")
        if not isinstance(a, Expr):  # which of both comes first makes no difference, but for its order
            return convolve(True)(v, np.asarray(a), mode) if turned else _refuse("numpy.correlate of an array by a traced value cannot be traced", "np.convolve(x, a[::-1]) turns the array")
        if turned and isinstance(v, Expr) and _size(axes_of(v)[0]).label and not _size(axes_of(a)[0]).label:
            a, v = v, a
        count = len(v) if not isinstance(v, Expr) else _size(axes_of(v)[0]).times if not _size(axes_of(v)[0]).label else None
        if len(axes_of(a)) != 1 or (isinstance(v, Expr) and len(axes_of(v)) != 1) or not count or count > 1 << 16:
            _refuse("numpy.convolve by a value whose extent is not declared cannot be traced", 'w: bl.f64["u=3"] declares it, and a list of numbers has one')
        weights = v if isinstance(v, Expr) else np.asarray(v)
        if not turned:
            weights = np.conjugate(weights)
        dtype = np.result_type(dtype_of(a), dtype_of(weights) if isinstance(v, Expr) else weights.dtype)
        before = {"full": count - 1, "same": count // 2, "valid": 0}[mode]
        after = {"full": count - 1, "same": count - 1 - count // 2, "valid": 0}[mode]
        wide = pad(cast(a, dtype), [(before, after)]) if before or after else cast(a, dtype)
        made = _weighed(wide, weights, count, turned)
        if mode != "full":  # NumPy would turn around which is the longer one: an extent below 0 is an error
            (label,) = axes_of(a)
            array, words = _size(label).words(as_array(a), 0)
            left = Expr((f"extent({label}_from_{count})",), caller())
            left.says = {f"{label}_from_{count}": (array, (f"axis {label}_from_{count} < ", *words, f" - {count}"))}
            made = function("where", binary("<", left, 0), 0, made)
        return cast(made, dtype)

    return call


def _weighed(wide: Expr, weights, count: int, turned: bool) -> Expr:
    """The sums of `count` neighbours by their weights."""
    cut = wide[count - 1:] if count > 1 else wide[0:]
    if not isinstance(weights, Expr):
        parts = [wide[k:k - count + 1 or None] * (weights[count - 1 - k] if turned else weights[k])[()] for k in range(count)]
        return sum(parts[1:], parts[0])
    (label,), (u,) = axes_of(cut), axes_of(weights)
    far = free(u, label)
    window = read(wide, [f"{label} + {count - 1} - {far}" if turned else f"{label} + {far}"])
    window.says, window.axes, window.marked = {**window.says, **cut.says}, (label, far), True
    return (window * at_labels(weights, [far])).sum(far)


def diff(a, n=1, axis=-1, prepend=None, append=None) -> Expr:
    """A value that is read twice, and what comes of that again."""
    value = operand(a)
    rank = len(axes_of(value))
    ends = [[] if end is None else [end] for end in (prepend, append)]
    if any(isinstance(end, Expr) or not is_number(end) for end, in filter(None, ends)):
        _refuse("numpy.diff with prepend= or append= of other than numbers cannot be traced", "np.concatenate takes values side by side")
    d = place(axis, rank)
    for side, end in enumerate(ends):
        widths = [(int(not side), side) if k == d else (0, 0) for k in range(rank)]
        value = pad(value, widths, constant_values=end[0])[(slice(None),) * rank] if end else value
    for _ in range(place(n, n + 1)):
        behind, before = [value[(*[slice(None)] * d, cut)] for cut in (slice(1, None), slice(None, -1))]
        value = binary("!=" if word_of(value) == "bool" else "-", behind, before)
    return value


ROWS = [
    ("diff", "a n axis prepend append", diff), ("ediff1d", "ary", lambda ary: diff(reshape(ary, -1))), ("repeat", "a repeats axis", repeat),
    ("reshape", "a shape", reshape), ("ravel", "a", lambda a: reshape(a, -1)), ("squeeze", "a axis", squeeze), ("kron", "a b", kron),
    ("take_along_axis", "arr indices axis", take_along_axis), ("interp", "x xp fp left right", interp),
    ("convolve", "a v mode", convolve(True)), ("correlate", "a v mode", convolve(False)),
]
