"""Slices, integers and None of traced values, inputs and computed ones.

Problem: axes of kernels have names, and a slice of an axis is another axis, whose length hangs on
that of the first. Method: a slice is a read at positions along an axis that is called after its
length: `i_less_1` of ``x[1:]`` and of ``x[:-1]``, so these meet. A statement of the kernel says the
length. Axes of other lengths that were cut from the same one do not meet.

None stands for a place, so what has one meets others as in NumPy: by places from the end, and so
does what is made of it. An axis that comes at two places, as in ``x[:, None] - x[None, :]``, has a
second name at the second.
"""

from __future__ import annotations

import operator
import re

from .errors import DTypeError, PositionError, ShapeError, SpecError
from .expr import Expr, caller, position
from .trace_axes import as_array, at_labels, axes_of, ordered


class Length:
    """Of an axis that a slice made: `less` than the axis `base`, or `fixed`. `root` is the axis
    that was cut first, `parts` are the axes of what lies side by side along it."""

    def __init__(self, root: str, base: str, less: int = 0, fixed=None, parts=()):
        self.root, self.base, self.less, self.fixed, self.parts = root, base, less, fixed, parts


def _lengths() -> dict:
    from .trace import tracing

    return tracing.lengths


def _length(label: str) -> Length:
    return _lengths().get(label) or Length(label, label)


def known_extent(label: str):
    """How many elements an axis has, where the kernel says it, else None."""
    from .trace import tracing

    length = _length(label)
    if length.fixed is not None:
        return length.fixed
    dims = [[word.strip() for word in dim.partition("=")] for said in tracing.inputs.values() for dim in said.dims]
    found = next((int(count) for name, _, count in dims if name == length.base and count), None)
    return found if found is None else found - length.less


def _label(root: str, base: str, less: int, fixed) -> str:
    """The axis of this length."""
    if not less and fixed is None:
        return base
    label = f"{root}_len_{fixed}" if fixed is not None else f"{base}_less_{less}" if less > 0 else f"{base}_more_{-less}"
    _lengths()[label] = Length(root, base, less, fixed)
    return label


class _Cut:
    """How one dim is read: at which positions, along which axis."""

    def __init__(self, words, label: str, says=None):
        self.words, self.label, self.says = words, label, says


def _bound(at):
    if at is None:
        return None
    if isinstance(at, (bool, Expr)) or not hasattr(at, "__index__"):
        raise SpecError("E0002", f"a slice of a traced value cannot begin or end at {at!r}", caller(),
                        'its bounds and its step are numbers: p = bl.iota("p"), x[p + k] begins at a computed position')
    return operator.index(at)


def _cut(array: Expr, dim: int, label: str, at: slice):
    """The read of one dim by a slice, or None where the slice goes in two: first side by side, then
    in steps."""
    start, stop, step = _bound(at.start), _bound(at.stop), _bound(at.step)
    step = 1 if step is None else step
    if step == 0:
        raise SpecError("E0002", "a slice cannot go in steps of 0", caller(), "leave the step out")
    length = _length(label)
    if length.fixed is not None:
        walk = range(*slice(start, stop, step).indices(length.fixed))
        # A position that no axis moves up and that is below 0 would count from the end; these are
        # not.
        return _said(array, dim, length, step, ([str(walk.start)] if walk.start >= 0 else ["0"]), None, len(walk))
    # The lowest position and the one behind the highest: each from the start, or from the end.
    back = step < 0
    low, high = (stop, start) if back else (start, stop)
    low = (False, 0) if low is None else (low < 0, -low - back if low < 0 else low + back)
    high = (True, 0) if high is None else (high < 0, -high - back if high < 0 else high + back)
    if low[0] and not high[0]:
        raise ShapeError("E0102", f"how many elements the slice {_text(at)} has hangs on the number of elements", caller(),
                         "count both ends from the start, or both from the end")
    fixed = max(0, high[1] - low[1] if not high[0] else low[1] - high[1]) if low[0] == high[0] else None
    less = low[1] + high[1]
    if abs(step) > 1 and fixed is None and (low if back else high)[1]:
        return None
    first = high if back else low
    ahead = first[1] + 0 if not back else (first[1] + 1 if first[0] else first[1] - 1)
    words = [str(ahead)] if not first[0] else ["-", str(ahead)] if back else _end(array, dim, ahead)
    if abs(step) > 1 and fixed is None:
        cut = _label(length.root, length.base, length.less + less, None)
        made = f"{cut}_by_{abs(step)}"
        _lengths()[made] = Length(length.root, made)
        return _Cut(_words(words, step, made), made)
    return _said(array, dim, length, step, words, length.less + less, None if fixed is None else -(-fixed // abs(step)))


def _is_whole(at) -> bool:
    return isinstance(at, slice) and at.start is None and at.stop is None and at.step is None


def _text(at: slice) -> str:
    return "[" + ":".join("" if one is None else str(one) for one in (at.start, at.stop) + (() if at.step is None else (at.step,))) + "]"


def _end(array: Expr, dim: int, back: int) -> list:
    return ["extent(", array, f", {dim}) - {back}"]


def _words(first, step: int, label: str) -> list:
    far = label if abs(step) == 1 else f"{abs(step)}*{label}"
    return [*first, f" - {far}"] if step < 0 else [f"{far} + ", *first]


def _said(array: Expr, dim: int, length: Length, step: int, first, less, fixed) -> _Cut:
    """A read whose axis is as long as the kernel says."""
    label = _label(length.root, length.base, less or 0, fixed)
    if fixed is not None:
        step = 1 if fixed < 2 and first[0] != "-" else step  # 0 - i would count from the end
        says = (None, (f"axis {label} < {fixed}",))
    elif less == 0:
        return _Cut(_words(first, step, label), label)
    else:
        from .trace import tracing

        found = next(((name, said.dims.index(length.base)) for name, said in tracing.inputs.items() if length.base in said.dims), None)
        if found is not None:
            says = (None, (f"axis {label} < extent({found[0]}, {found[1]}) {_signed(-less)}",))
        else:  # the array is shorter already
            says = (array, (f"axis {label} < extent(", array, f", {dim}) {_signed(length.less - less)}"))
    return _Cut(_words(first, step, label), label, says)


def _signed(count: int) -> str:
    return f"- {-count}" if count < 0 else f"+ {count}"


def longer(label: str, count: int) -> str:
    """The axis of a value that has borders of so many elements together."""
    length = _length(label)
    return _label(length.root, length.base, length.less - count, None if length.fixed is None else length.fixed + count)


def joined(label: str, parts, name: str) -> str:
    """The axis along which values with these axes lie side by side: the same for the same ones."""
    parts = tuple(sorted(parts))
    made = next(one for one in (name, *[f"{name}_{k}" for k in range(1, 999)]) if one not in _lengths() or _lengths()[one].parts == parts)
    known = [known_extent(part) for part in parts]
    _lengths()[made] = Length(_length(label).root, made, fixed=None if None in known else sum(known), parts=parts)
    return made


def _integers(at: Expr) -> Expr:
    from .trace import dtype_of

    word = dtype_of(at)
    if word == "bool":
        raise SpecError("E0002", "a traced value cannot be read by a condition: only data tell how many elements that are", caller(),
                        "bl.where(condition, x, 0) chooses and keeps the shape; k.astype('i8') makes positions 0 and 1")
    if word[0] in "fbc":  # bf16, too
        raise DTypeError("E0206", f"a traced value cannot be read at a position that is {word}", caller(), "positions are integers: k.astype('i8')")
    return at


def _walked(at: Expr):
    """The axes of a position, or None where they have no names."""
    word = position(at)
    if word:
        return re.findall(r"[^\W\d]\w*", word)
    try:
        return _labels(at) if at.layout is None else None
    except SpecError:
        return None


def _dims(value: Expr):
    """The labels of the dims of a value, with None for those that have none; None where nothing is
    known."""
    if value.said is not None:
        return [found[1] if (found := re.fullmatch(r"([^\W\d]\w*)( *= *\d+)?", dim)) else None for dim in value.said.dims]
    try:
        return [label if label.isidentifier() else None for label in axes_of(value)]
    except SpecError:
        return None


def _whole(entries, rank: int) -> list:
    """The entries with ``:`` for `...` and for dims that are left out."""
    given = [e for e in entries if e is not None and e is not Ellipsis]
    if len(given) > rank or len([e for e in entries if e is Ellipsis]) > 1:
        raise PositionError("E0116", f"{len(given)} positions for a traced value of {rank} dim{'s' * (rank != 1)}", caller(), "give one for each dim, and at most one ...")
    at = next((d for d, e in enumerate(entries) if e is Ellipsis), len(entries))
    return [*entries[:at], *[slice(None)] * (rank - len(given)), *entries[at + 1:]]


def read(value: Expr, entries: list) -> Expr:
    if value.layout is not None:
        return _read_places(value, entries)
    labels = _dims(value)
    entries = _whole(entries, len(labels) if labels is not None else len([e for e in entries if e is not None and e is not Ellipsis]))
    labels = labels if labels is not None else [None] * len(entries)
    if any(e is None for e in entries):
        places = [e for e in entries if isinstance(e, slice) or e is None]
        if len(places) + len([e for e in entries if hasattr(e, "__index__") and not isinstance(e, Expr)]) < len(entries):
            raise SpecError("E0002", "None beside computed positions cannot be traced", caller(), "read first, and give the value its dim of 1 then")
        made = read(value, [e for e in entries if e is not None])
        rest = iter(axes_of(made))
        return placed(made, [None if e is None else next(rest) for e in places])
    if all(_is_whole(e) for e in entries) and None not in labels:
        return value
    listed = [d for d, e in enumerate(entries) if isinstance(e, (list, tuple)) or getattr(e, "ndim", 0) == 1 and not isinstance(e, Expr)]
    if len(listed) == 1 and not any(isinstance(e, Expr) for e in entries):
        from .trace_joins import chosen

        return chosen(value, entries, *listed)
    array, says, axes, d = as_array(value), {}, [], 0
    parts = []
    for d, (at, label) in enumerate(zip(entries, labels)):
        words, cut = None, None
        if isinstance(at, slice):
            if label is None:
                raise SpecError("E0002", f"a traced value cannot be read at {_text(at)} where its dim has no label", caller(),
                                'declare inputs with labels: x: bl.f64["i", "j"]')
            cut = _Cut([label], label) if _is_whole(at) else _cut(array, d, label, at)
            if cut is None:
                first = [slice(None)] * len(entries)
                back = at.step < 0
                first[d] = slice(None if at.stop is None else at.stop + 1 if at.stop != -1 else None, None if at.start is None or at.start == -1 else at.start + 1) if back else slice(at.start, at.stop)
                entries[d] = slice(None, None, at.step)
                return read(read(value, first), entries)
            words = cut.words
            axes = None if axes is None else [*axes, cut.label]
            if cut.says:
                says[cut.label] = cut.says
        else:
            at = position(at) or _integers(at) if isinstance(at, Expr) else at
            if not isinstance(at, (Expr, str)) and (isinstance(at, bool) or not hasattr(at, "__index__") or getattr(at, "ndim", 0)):
                raise SpecError("E0002", f"a traced value cannot be read at {at!r}", caller(),
                                'a position is a traced value of integers, an int, a slice, or a word of axes: x[k + 1, "2*j + u"], x[k, :] where the dim has a label; an array of positions is an input')
            # A name alone would be an axis.
            words = [*at.parts] if isinstance(at, Expr) and at.parts[1:] and str(at.parts[1])[0] == "[" else ["i64(", at, ")"] if isinstance(at, Expr) else [at if isinstance(at, str) else str(operator.index(at))]
            if isinstance(entries[d], Expr) and axes is not None:
                walked = _walked(entries[d])
                axes = None if walked is None else [*axes, *[a for a in walked if a not in axes]]
            elif isinstance(at, str):
                axes = None
        parts += [", "] * (d > 0) + list(words)
    made = Expr((array, "[", *parts, "]"), caller())
    made.says = says
    if axes is not None and any(isinstance(e, Expr) or isinstance(e, slice) and not _is_whole(e) for e in entries):
        made.marked = True
    if axes is not None:
        made.axes = tuple(axes)
    return made


def _read_places(value: Expr, entries: list) -> Expr:
    """Of a value that has places: those that None made are kept or, by 0, left out."""
    inside = []
    places = iter(value.layout)
    for at in _whole(entries, len(value.layout)):
        if at is None or next(places) is not None:
            inside.append(at)
        elif _is_whole(at):
            inside.append(None)
        elif not hasattr(at, "__index__") or isinstance(at, Expr) or at not in (0, -1):
            raise PositionError("E0116", f"a dim that None made cannot be read at {at!r}", caller(), "it has one element, 0")
    plain = ordered(value, [label for label in value.layout if label is not None])
    plain.layout = None
    made = read(plain, inside)
    return made if made.layout is not None else placed(made, axes_of(made))


def placed(value: Expr, layout) -> Expr:
    return _placed(Expr((value,), value.place), layout)


def _placed(made: Expr, layout) -> Expr:
    made.layout, made.axes, made.marked, made.kept = tuple(layout), tuple([label for label in layout if label is not None]), True, False
    return made


# --- where values meet ----------------------------------------------------------------------------


def _labels(value: Expr) -> tuple:
    if len(value.parts) == 1 and isinstance(value.parts[0], str) and not value.name:
        counted = re.fullmatch(r"(?:iota|extent)\((\w+).*\)", value.parts[0])
        return (counted[1],) if counted and value.parts[0][0] == "i" else ()
    return axes_of(value)


def meeting(values):
    """The values as an operation on their elements takes them, and what notes the axes of its
    result."""
    try:
        layouts = [_labels(value) if value.layout is None else value.layout for value in values]
    except SpecError:
        if any(value.layout is not None for value in values):
            raise
        return values, lambda made: made
    if any(value.layout is not None for value in values):
        return _meeting_by_places(values, layouts)
    axes = ()
    for labels in layouts:
        for one in labels:
            other = next((other for other in axes if other != one and other not in labels and one not in axes and _length(other).root == _length(one).root), None)
            if other is not None:
                raise ShapeError("E0102", f"the axes '{other}' and '{one}' are cut from one axis and have other lengths", caller(),
                                 "slice both so that as many are left for every length, as in x[1:] - x[:-1]")
        axes = labels if set(axes) <= set(labels) else (*axes, *[a for a in labels if a not in axes])

    def finish(made: Expr) -> Expr:
        made.axes = tuple(axes)
        return made

    return values, finish


def _meeting_by_places(values, layouts):
    from .trace import tracing

    if not all(label is None or label.isidentifier() for layout in layouts for label in layout):
        raise SpecError("E0103", "dims without labels cannot meet a dim that None made", caller(), 'declare inputs with labels: x: bl.f64["i", "j"]')
    rank = max(map(len, layouts))
    result = [None] * rank
    taken = {dim for said in tracing.inputs.values() for dim in said.dims}
    for layout in layouts:
        for place, label in enumerate(layout, rank - len(layout)):
            if label is None or result[place] is not None:
                continue
            count, made = 0, label
            while made in result or (count and made in taken):
                count += 1
                made = f"{label}_{count}"
            result[place] = made
    met, by_places = [], None in result or any(value.layout is not None and None not in value.layout for value in values)
    for value, layout in zip(values, layouts):
        wanted = [result[place] for place, label in enumerate(layout, rank - len(layout)) if label is not None]
        if wanted != [label for label in layout if label is not None]:
            value = ordered(value, [label for label in layout if label is not None])
            value.layout = None
            value, by_places = at_labels(value, wanted), True
        met.append(value)

    def finish(made: Expr) -> Expr:
        made.axes = tuple([label for label in result if label is not None])
        made.layout = tuple(result) if by_places else None  # names say the same
        return made

    return met, finish


def folding(value: Expr, axes, keepdims):
    """The axes of a fold, of which numbers count the dims of the value, and what notes the axes of
    its result."""
    if value.layout is None:
        if not value.marked and not any(type(axis) is int for axis in axes) and keepdims is not True:
            return axes, lambda made: made
        try:
            labels = value.axes if value.axes is not None else axes_of(value)
        except SpecError:  # without names, the numbers are those of the kernel
            return axes, lambda made: made
        axes = [labels[a] if type(a) is int and -len(labels) <= a < len(labels) else a for a in axes]

        def note(made: Expr) -> Expr:
            rest = tuple([None if not axes or a in axes else a for a in labels])
            if keepdims is True and all(label.isidentifier() for label in labels):
                return _placed(made, rest)
            if value.marked:
                made.axes = labels if keepdims == "scan" else tuple([a for a in rest if a is not None])
            return made

        return axes, note
    if keepdims == "scan":
        axes_of(value)  # refuses dims of 1
    layout = list(value.layout)
    places = [a % len(layout) if type(a) is int and -len(layout) <= a < len(layout) else layout.index(a) if a in layout else a for a in axes]
    if any(type(place) is int and 0 <= place < len(layout) and layout[place] is None for place in places):
        raise SpecError("E0021", "a fold along a dim that None made cannot be traced", caller(), "it has one element: leave the None out")
    named = [layout[place] if type(place) is int and 0 <= place < len(layout) else place for place in places]

    def finish(made: Expr) -> Expr:
        rest = [None if not named or label in named else label for label in layout if keepdims or named and label not in named]
        return _placed(made, layout if keepdims == "scan" else rest)

    return named, finish


# --- what is written ------------------------------------------------------------------------------


def axes_of_output(value):
    """The axes that an output lists: dims that None made have one element."""
    layout = getattr(value, "layout", None)
    if layout is None:
        return getattr(value, "axes", None)
    return tuple([f"one_{place} < 1" if label is None else label for place, label in enumerate(layout)])


def lengths_said(values) -> list:
    """The statements that say how long axes are, each with the array after which it stands (None:
    the inputs)."""
    if not any(value.marked for value in values):
        return []
    found, done, stack = {}, set(), [(value, False) for value in reversed(values)]
    while stack:  # not by recursion: a loop in the function may make long chains
        expr, ready = stack.pop()
        if ready:
            for label, said in expr.says.items():
                found.setdefault(label, said)
        elif id(expr) not in done:
            done.add(id(expr))
            stack.append((expr, True))
            stack.extend((part, False) for part in reversed(expr.parts) if isinstance(part, Expr))
    return list(found.values())
