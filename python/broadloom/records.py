"""What a kernel tells about itself, as named tuples. ``pandas.DataFrame(kernel.why())`` is a
table."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from .errors import Place


class Input(NamedTuple):
    """An input as it is declared. An extent is None where each call says it. `role` is 'in',
    'param' (it can be frozen) or 'state'."""

    name: str
    dtype: str
    axes: Tuple[str, ...]
    extents: Tuple[Optional[int], ...]
    where: Optional[Place]
    role: str = "in"


class Output(NamedTuple):
    """An output as it is declared. `mode` is 'plain', 'broadcast', 'accumulate' or 'reduce'; `add`
    is `+=`."""

    name: str
    dtype: str
    axes: Tuple[str, ...]
    mode: str
    add: bool
    where: Optional[Place]


class Counters(NamedTuple):
    """How often a kernel made code (`compiles`), in how many ms, and how many calls were
    interpreted."""

    compiles: int
    patterns: int
    interpreted: int
    compile_ms: float


class Cost(NamedTuple):
    """Predicted numbers, None where there is no prediction."""

    bytes: Optional[float]
    flops: Optional[float]
    cycles: Optional[float]


class Alternative(NamedTuple):
    """What was not chosen."""

    choice: str
    why_not: str
    cost: Cost


class Decision(NamedTuple):
    """What the compiler decided; docs/why.md has all topics and codes."""

    topic: str
    code: str
    subject: str
    choice: str
    text: str
    cost: Cost
    alternatives: Tuple[Alternative, ...]


class Piece(NamedTuple):
    """Part of a block: a whole subtree of each fold, which has come to these states; and of scans
    leaves of so many positions, and what each of them has come to (in `Partial.before`: what comes
    before it)."""

    extent: int
    states: tuple
    leaves: Tuple[int, ...] = ()
    scans: tuple = ()


class Partial(NamedTuple):
    """What the folds of a kernel along an axis have come to over one block of the data, by
    `Kernel.partial`; `before` is what those of the rounds before have come to over all of it."""

    axis: str
    offset: int
    extent: int
    unit: int
    pieces: Tuple[Piece, ...]
    before: Tuple[Piece, ...] = ()


class Slope(NamedTuple):
    """One output by one input; `verdict` is 'agrees', 'differs', 'not smooth' or 'no gradient'."""

    output: str
    input: str
    verdict: str
    measured: float
    derived: float
    difference: float
    tolerance: float
    compared: int
    left_out: int
    reason: str
    text: str


class GradientCheck(NamedTuple):
    """What `Kernel.check` found: true where nothing differs."""

    passed: bool
    slopes: Tuple[Slope, ...]

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return "\n".join(slope.text for slope in self.slopes)
