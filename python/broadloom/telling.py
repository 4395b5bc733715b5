"""A kernel tells of itself to ``help(k)`` and ``inspect.signature(k)``."""

from __future__ import annotations

import inspect
import sys

from ._core import Kernel


class OfInstances:
    """An attribute that is computed for instances; the class has its own."""

    def __init__(self, of_instance, of_class=None):
        self.of_instance, self.of_class = of_instance, of_class

    def __get__(self, instance, owner):
        return self.of_class if instance is None else self.of_instance(instance)


class Word(str):
    """An annotation, which is shown as it is written."""

    __repr__ = str.__str__


def declared(slot) -> str:
    extents = getattr(slot, "extents", (None,) * len(slot.axes))
    dims = [f"{axis}={n}" if axis and n else axis or str(n or ":") for axis, n in zip(slot.axes, extents)]
    return slot.dtype + f"[{', '.join(dims)}]" * bool(dims)


def signature(kernel: Kernel) -> inspect.Signature:
    """The inputs with dtypes and axes; `out=` takes what is written."""
    parameters = [inspect.Parameter(one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Word(declared(one))) for one in kernel.inputs]
    if "out" not in [one.name for one in parameters]:
        parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    outputs = ", ".join(f"{one.name}: {declared(one)}" for one in kernel.outputs)
    return inspect.Signature(parameters, return_annotation=Word(outputs if len(kernel.outputs) == 1 else f"({outputs})"))


def document(kernel: Kernel) -> str:
    """Signature, inputs, outputs, a call that works, and the text."""
    extents = {}
    for one in kernel.inputs:
        for label, n in zip(one.axes, one.extents):
            extents[label] = n or extents.get(label, 3 + len(extents))
    line = lambda one: f"    {one.name} : {declared(one)}" + {"param": ", a parameter: k.freeze builds values in", "state": ", a state"}.get(getattr(one, "role", "in"), "")
    shapes = [tuple([n or extents[label] for label, n in zip(one.axes, one.extents)]) for one in kernel.inputs]
    args = ["1" if not shape else f"np.ones({shape}, {_dtype(one.dtype)})" for one, shape in zip(kernel.inputs, shapes)]
    return "\n".join([
        f"{kernel.name}{signature(kernel)}", "", "Inputs:", *map(line, kernel.inputs), "", "Outputs:", *map(line, kernel.outputs), "", "Example:",
        f"    {', '.join(one.name for one in kernel.outputs)} = k({', '.join(args)})", "", "Text:", *["    " + words for words in kernel.text.rstrip().split("\n")]])


def _dtype(word: str) -> str:
    if word == "bf16":
        return "ml_dtypes.bfloat16"
    return "bool" if word == "bool" else f'"{word[0]}{int(word[1:]) // 8}"'


Kernel.__signature__ = OfInstances(signature)
Kernel.__doc__ = OfInstances(document, Kernel.__doc__)


# What other packages call otherwise, or have where this one has none.
_INSTEAD = {
    **{f"{kind}{bits}": f"bl.{kind[0]}{bits}" for kind, all in (("float", (16, 32, 64)), ("int", (8, 16, 32, 64)), ("complex", (64, 128))) for bits in all},
    **{f"uint{bits}": f"bl.u{bits}" for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("bool", "boolean"), "bl.bool_"), "bfloat16": "bl.bf16", "double": "bl.f64", "half": "bl.f16",
    **dict.fromkeys(("jit", "njit", "function", "vectorize"), "bl.kernel, or bl.compile of a text"),
    **dict.fromkeys(("grad", "value_and_grad", "jvp", "jacobian", "hessian", "saving_forward", "freeze", "bind"), "the method of a kernel, k.{name}(..)"),
    **dict.fromkeys(("vjp", "backward"), "the method of a kernel, k.grad(..)"), "vmap": "the method of a kernel, k.batch()",
    **dict.fromkeys("zeros ones empty full arange linspace eye".split(), "NumPy's arrays, which kernels take as they are"),
    **dict.fromkeys(("asarray", "tensor", "lazy"), "bl.array"), "version": "bl.__version__", "load": "bl.compile(pathlib.Path(..))",
    **dict.fromkeys("zeros_like ones_like full_like empty_like".split(), "0 * x + value"), "softmax": "e = bl.exp(x - bl.max(x, 'j')), then e / bl.sum(e, 'j')",
    **dict.fromkeys(("compile_file", "open"), "bl.compile(pathlib.Path(..))"), "numpy": "NumPy's functions on traced values and lazy arrays",
    **dict.fromkeys("cumsum cumprod cummax cummin".split(), "bl.scan"), **dict.fromkeys("dot matmul einsum".split(), "x @ y, or NumPy's function"),
}


def instead_of(name: str, names) -> str:
    """"; use bl.f64" for "float64", or the name that was perhaps meant."""
    if name in _INSTEAD:
        return "; use " + _INSTEAD[name].format(name=name)
    import difflib  # takes milliseconds

    near = difflib.get_close_matches(name, [one for one in names if not one.startswith("_") and not inspect.ismodule(sys.modules["broadloom"].__dict__.get(one))], 1)
    return f"; did you mean '{near[0]}'?" if near else ""
