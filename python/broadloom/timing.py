"""How long a kernel takes: ``bl.bench(k, x, y)``."""

from __future__ import annotations

import time

import numpy as np

from ._core import Kernel
from .errors import ArgumentError, CompileError

_SHORTEST = 50e-6  # of a sample, in seconds: the clock and the loop around calls are nothing to it


class Bench:
    """The times of calls, in seconds: `times` has those of the samples, each the mean of `calls`
    calls that follow each other."""

    def __init__(self, name, times, calls, predicted, moved):
        self.name, self.times, self.calls = name, times, calls
        self.predicted = predicted  # by `Kernel::predict` for this machine, the roofline of its loops; None where there is none
        self.bytes = moved  # of arguments and results, each once

    @property
    def median(self) -> float:
        return float(np.median(self.times))

    def percentile(self, q) -> float:
        return float(np.percentile(self.times, q))

    @property
    def roofline(self):
        """The share of what is predicted to be possible: 1 is as fast as this machine's memory and
        units allow. None where nothing is predicted."""
        return None if self.predicted is None else self.predicted / self.median

    @property
    def bandwidth(self) -> float:
        """Bytes of arguments and results in a second."""
        return self.bytes / self.median

    def beside(self, *others: "Bench") -> "Table":
        """One table of several."""
        return Table((self, *others))

    def __repr__(self):
        return f"<broadloom.Bench {self.name}: {_time(self.median)}>"

    def __str__(self):
        return str(Table((self,)))

    def _repr_html_(self):
        return Table((self,))._repr_html_()


class Table(tuple):
    """Several `Bench`, as rows."""

    def _rows(self):
        head = ["name", "median", "p10", "p90", "x", "GB/s", "roofline", "samples"]
        least = min(bench.median for bench in self)
        rows = [[bench.name, _time(bench.median), _time(bench.percentile(10)), _time(bench.percentile(90)), f"{bench.median / least:.2f}",
                 f"{bench.bandwidth / 1e9:.3g}", "-" if bench.roofline is None else f"{bench.roofline:.0%}", f"{len(bench.times)} of {bench.calls}"]
                for bench in self]
        return head, rows

    def __str__(self):
        head, rows = self._rows()
        widths = [max(len(row[c]) for row in [head, *rows]) for c in range(len(head))]

        def line(row):
            return "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])

        return "\n".join(line(row) for row in [head, *rows])

    def _repr_html_(self):
        head, rows = self._rows()
        top = "".join(f"<th>{cell}</th>" for cell in [*head, "times"])
        import html

        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + f"<td>{self._drawing(bench)}</td></tr>"
                       for bench, row in zip(self, rows))
        return f"<table><tr>{top}</tr>{body}</table>"

    def _drawing(self, bench):
        """Times as a histogram, all rows on one scale: from 0 to the greatest 95th percentile."""
        right = max(other.percentile(95) for other in self)
        counts, _ = np.histogram(np.clip(bench.times, 0, right), bins=60, range=(0, right))
        bars = "".join(f'<rect x="{4 * k}" y="{40 - 38 * n / counts.max():.1f}" width="3" height="{38 * n / counts.max():.1f}"/>'
                       for k, n in enumerate(counts) if n)
        at = 240 * min(1.0, bench.median / right)
        return (f'<svg width="240" height="42" role="img" fill="#4878a8"><title>0 to {_time(right)}</title>{bars}'
                f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="42" stroke="#c03028"/></svg>')


def _time(seconds) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def bench(what, *args, seconds=0.3, name=None, **kwargs) -> Bench:
    """Times calls of a kernel, or of anything else that can be called, with these arguments: for so
    many seconds, after some that do not count.

    A kernel is bound, so results go into the same arrays each time, and the layouts are looked up
    once; `bl.bench(lambda: k(x))` times calls with all that.
    """
    if not callable(what):
        raise ArgumentError("E0401", f"a {type(what).__name__} cannot be called", None, "bench a kernel, or a function")
    if not isinstance(seconds, (int, float)) or not seconds > 0:
        raise ArgumentError("E0401", f"seconds is {seconds!r}", None, "give a number above 0")
    predicted = None
    if isinstance(what, Kernel):
        call = what.bind(*args, **kwargs)
        name = name or what.name
        results = call()
    else:
        def call():
            return what(*args, **kwargs)
        name = name or getattr(what, "__name__", type(what).__name__)
        results = call()
    calls, clock = 1, time.perf_counter
    while True:
        start = clock()
        for _ in range(calls):
            call()
        took = clock() - start
        if took >= _SHORTEST:
            break
        calls = max(2 * calls, int(calls * 1.2 * _SHORTEST / max(took, 1e-9))) if took < _SHORTEST / 4 else 2 * calls
    times, end = [], clock() + seconds
    warm = clock() + seconds / 10
    while clock() < warm:
        call()
    while len(times) < 5 or clock() < end:
        start = clock()
        for _ in range(calls):
            call()
        times.append((clock() - start) / calls)
    given = {key: value for key, value in kwargs.items() if key != "out"}
    if isinstance(what, Kernel):
        try:
            what.prepare(*args, **given)
            predicted = what._predict()
        except CompileError:  # no native code: the roofline is of no use
            pass
    return Bench(name, np.array(times), calls, predicted, sum(map(_bytes, (*args, *given.values(), results))))


def _bytes(value) -> int:
    if isinstance(value, (tuple, list)):
        return sum(map(_bytes, value))
    if hasattr(value, "_asdict"):
        return sum(map(_bytes, value._asdict().values()))
    return int(getattr(value, "nbytes", 0))
