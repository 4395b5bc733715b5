"""What functions of JAX and of torch have in common: by which inputs a kernel is derived, and how
its gradient comes by forward values."""

from __future__ import annotations

from ._core import Kernel
from .errors import ArgumentError, SpecError

DIFFERENTIABLE = ("f16", "bf16", "f32", "f64", "c64", "c128")
_POLICIES = ("auto", "save", "recompute")


def differentiable(decls) -> tuple:
    """The names of those of the inputs or the outputs that are real or complex."""
    return tuple(decl.name for decl in decls if decl.dtype in DIFFERENTIABLE)


def refuse_adding(kernel: Kernel, library: str):
    if any(out.add for out in kernel.outputs):
        raise SpecError("E0002", f"a function of {library} has nothing to add to: an output of the kernel is `+=`", None, "write `=`")


def moving(kernel: Kernel, wrt) -> tuple:
    """The names of the inputs that `wrt` names, or of all that have a derivative."""
    known = differentiable(kernel.inputs)
    if wrt is None:
        return known
    names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    for name in names:
        if name not in known:
            raise ArgumentError("E0308", f"wrt= names '{name}', which is no input of kernel '{kernel.name}' that has a derivative", None,
                                "those that have one are " + (", ".join(known) or "none"))
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError("E0308", f"wrt= names '{name}' twice", None, "leave one of them out")
    return names


def check_policy(policy):
    if policy not in _POLICIES:
        import difflib

        near = difflib.get_close_matches(policy, _POLICIES, 1) if isinstance(policy, str) else []
        raise ArgumentError("E0401", f"there is no policy {policy!r}", None,
                            (f"did you mean '{near[0]}'? " if near else "") + "the policies are 'auto', 'save' and 'recompute'")


class Saving:
    """A kernel in two: `forward`, which gives what the gradient needs beside the outputs, and
    `back`, which takes it."""

    def __init__(self, kernel: Kernel, wrt: tuple, of: tuple):
        self.forward = kernel.saving_forward(list(wrt), of=list(of))
        self.back = kernel.grad(list(wrt), of=list(of), policy="save")
        self.wrt, self.of = wrt, of
