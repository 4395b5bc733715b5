"""Kernels in notebooks: how one is shown, and the magic `%%loom`."""

from __future__ import annotations

import argparse
import html
import re
import shlex

from .errors import ArgumentError, Error


def html_of(kernel) -> str:
    """The text of a kernel, its loops and a drawing of its graph, to be unfolded."""
    parts = [f"<b>{html.escape(repr(kernel)[1:-1])}</b>", _folded("text", f"<pre>{html.escape(kernel.text)}</pre>", True)]
    try:
        loops = kernel.show("loop")
    except Error as error:  # there was no call yet whose layouts say what the loops are
        loops = error.message
    parts.append(_folded("loops", f"<pre>{html.escape(loops)}</pre>"))
    page = html.escape(kernel.show("graph", graph="html"), quote=True)
    parts.append(_folded("graph", f'<iframe srcdoc="{page}" style="width: 100%; height: 30em; border: 0"></iframe>'))
    return "<div>" + "".join(parts) + "</div>"


def html_of_lazy(x) -> str:
    """A lazy array by its dtype and shape, and the kernel that computes it; an input by its
    values."""
    body = repr(x.value) if x.op == "leaf" else x.kernel.text
    return f"<div><b>{html.escape(repr(x)[1:-1])}</b>{_folded('values' if x.op == 'leaf' else 'kernel', f'<pre>{html.escape(body)}</pre>')}</div>"


def _folded(title: str, body: str, unfolded: bool = False) -> str:
    return f"<details{' open' * unfolded}><summary>{title}</summary>{body}</details>"


class _Options(argparse.ArgumentParser):
    def error(self, message):
        raise ArgumentError("E0401", f"%%loom: {message}", None, "%%loom [NAME] [--threads N] [--target TARGET] [--engine ENGINE] [--debug]")


def loom(compile, line: str, cell: str, names: dict):
    """Compiles the kernels of a cell, by `bl.compile`, and puts each into `names` under its own
    name. `line` may name one of them, and has the options of `compile`."""
    options = _Options(prog="%%loom", add_help=False)
    options.add_argument("name", nargs="?")
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--target", default="")
    options.add_argument("--engine", default="auto")
    options.add_argument("--debug", action="store_true")
    said = vars(options.parse_args(shlex.split(line)))
    only = said.pop("name")
    found = [only] if only else re.findall(r"^[^#\n]*?\bkernel\s+([A-Za-z_]\w*)\s*\{", cell, re.M) or [None]
    made = [compile(cell, name, **said) for name in found]
    names.update({kernel.name: kernel for kernel in made})
    return made[-1]


def load(ipython, compile):
    ipython.register_magic_function(lambda line, cell: loom(compile, line, cell, ipython.user_ns), "cell", "loom")
