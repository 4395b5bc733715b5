"""Kernels as functions of torch: ``bl.torch.function(k)``."""

from __future__ import annotations

from typing import Any

import numpy as np

import torch

from ._core import Device, Kernel
from ._derivatives import DIFFERENTIABLE, Saving, check_policy, differentiable, moving, refuse_adding
from .errors import ArgumentError, DTypeError, takes

_DTYPES = {"bool": torch.bool, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
           "c64": torch.complex64, "c128": torch.complex128,
           **{f"i{n}": getattr(torch, f"int{n}") for n in (8, 16, 32, 64)},
           **{f"u{n}": getattr(torch, f"uint{n}") for n in (8, 16, 32, 64) if hasattr(torch, f"uint{n}")}}


def _lent(tensor: torch.Tensor):
    """The elements of a tensor where they lie."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype is not torch.bfloat16:
        return tensor.numpy()
    import ml_dtypes  # NumPy has no such type, and torch does not know this one

    return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)


def _taken(array: np.ndarray) -> torch.Tensor:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _called(kernel, tensors):
    made = kernel(*tensors)
    return made if len(kernel.outputs) > 1 else (made,)


def _called_there(kernel, tensors):
    """On the device of the kernel, on torch's stream, with results that are torch's."""
    device = Device(kernel.device)
    with device.on_stream(torch.cuda.current_stream(kernel.device).cuda_stream):
        tensors = [tensor.detach().resolve_conj().resolve_neg() for tensor in tensors]
        return tuple(torch.from_dlpack(array) for array in _called(kernel, tensors))


class _Call(torch.autograd.Function):
    @staticmethod
    def forward(operation, *tensors):
        if operation.kernel.device:
            return _called_there(operation.kernel, tensors)
        return tuple(_taken(array) for array in _called(operation.kernel, [_lent(tensor) for tensor in tensors]))

    @staticmethod
    def setup_context(ctx, inputs, output):
        operation, *tensors = inputs
        ctx.operation = operation
        # What is saved is an output, too: so torch derives it where derivatives are derived.
        kept = *tensors, *output[operation.count:]
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)
        ctx.mark_non_differentiable(*[made for made, said in zip(output, operation.outputs) if said.dtype not in DIFFERENTIABLE])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, *cotangents):
        operation = ctx.operation
        of = tuple(said.name for said, c in zip(operation.outputs, cotangents) if c is not None and said.dtype in DIFFERENTIABLE)
        wrt = tuple(said.name for said, needed in zip(operation.inputs, ctx.needs_input_grad[1:]) if needed and said.name in operation.moving)
        made = {}
        tensors, saved = ctx.saved_tensors[:len(operation.inputs)], ctx.saved_tensors[len(operation.inputs):]
        if of and wrt:
            saving = operation.saving
            weights = [c for said, c in zip(operation.outputs, cotangents) if said.name in of]
            if saving and saving.of == of:
                made = dict(zip(saving.wrt, operation.back.apply(*tensors, *weights, *saved)))
                made = {name: made[name] for name in wrt}
            else:  # of some outputs, without zeros for the others, which might meet infinities; or of what was saved
                made = dict(zip(wrt, operation.gradient(wrt, of).apply(*tensors, *weights)))
        return (None, *[made.get(said.name) for said in operation.inputs])

    @staticmethod
    def jvp(ctx, _, *tangents):
        operation = ctx.operation
        moved = tuple(said.name for said, t in zip(operation.inputs, tangents) if t is not None and said.name in operation.moving)
        of = differentiable(operation.outputs)
        made = {}
        if moved and of:
            along = [t for said, t in zip(operation.inputs, tangents) if said.name in moved]
            made = dict(zip(of, operation.tangent(moved, of).apply(*ctx.saved_tensors[:len(operation.inputs)], *along)))
        return tuple(made.get(said.name) for said in operation.outputs)

    @staticmethod
    def vmap(info, in_dims, operation, *tensors):
        rows = [_Call.apply(operation, *[tensor if dim is None else tensor.select(dim, k) for tensor, dim in zip(tensors, in_dims[1:])])
                for k in range(info.batch_size)]
        return tuple(torch.stack(column) for column in zip(*rows)), (0,) * len(operation.outputs)


class _Operation:
    """A kernel, the names of the inputs that it is derived by, and the kernels of its derivatives
    that were asked for so far."""

    def __init__(self, kernel: Kernel, moving, policy="auto", saving=None, count=None):
        self.kernel, self.inputs, self.outputs, self.moving, self.policy = kernel, kernel.inputs, kernel.outputs, frozenset(moving), policy
        self.saving = saving  # this kernel is its `forward`
        self.back = _Operation(saving.back, differentiable(saving.back.inputs)) if saving else None
        self.count = len(self.outputs) if count is None else count  # of those that the caller asked for
        self.device = Device(kernel.device).name if kernel.device else ""  # "cuda" is "cuda:0"
        self._derived = {}

    # What is derived is differentiated in turn by all of its inputs, which is how second
    # derivatives come about.
    def gradient(self, wrt, of) -> "_Operation":
        return self._made(("gradient", wrt, of), self.kernel.grad, policy=self.policy)

    def tangent(self, wrt, of) -> "_Operation":
        return self._made(("tangent", wrt, of), self.kernel.jvp)

    def _made(self, key, derive, **how) -> "_Operation":
        if key not in self._derived:
            kernel = derive(list(key[1]), of=list(key[2]), **how)
            self._derived[key] = _Operation(kernel, differentiable(kernel.inputs))
        return self._derived[key]

    def is_derived_by(self, tensors) -> bool:
        return torch.is_grad_enabled() and any(t.requires_grad for said, t in zip(self.inputs, tensors) if said.name in self.moving)

    def apply(self, *tensors):
        return _Call.apply(self, *tensors)

    def tensor(self, said, arg) -> torch.Tensor:
        wanted = _DTYPES.get(said.dtype)
        if not said.axes and isinstance(arg, (bool, int, float, complex)) and not isinstance(arg, np.generic):
            return self.number(said, arg, wanted)
        if not isinstance(arg, torch.Tensor):
            raise DTypeError("E0203", f"argument '{said.name}' of kernel '{self.kernel.name}' is a {type(arg).__name__}, not a tensor",
                             None, "torch.from_numpy and torch.as_tensor make one")
        lies = "" if arg.device.type == "cpu" else str(arg.device)
        if lies != self.device:
            raise DTypeError("E0203", f"argument '{said.name}' of kernel '{self.kernel.name}' is on {arg.device}, the kernel runs on "
                             f"{self.device or 'the processor'}", None,
                             f"move it there first: .to('{self.device or 'cpu'}'), or compile the kernel with device='{lies}'")
        if arg.layout is not torch.strided:
            raise DTypeError("E0203", f"argument '{said.name}' of kernel '{self.kernel.name}' lies as {arg.layout}", None,
                             "to_dense() gives what Broadloom can read")
        if arg.dtype is not wanted:
            raise DTypeError("E0203", f"input '{said.name}' is {said.dtype}, the argument is {str(arg.dtype).removeprefix('torch.')}", None,
                             "convert it, or change the dtype in the kernel")
        return arg

    def number(self, said, arg, wanted) -> torch.Tensor:
        """Numbers are weak, as in a call: an int fits what holds it, a float any float or complex
        type."""
        order = [bool, int, float, complex]
        holds = order.index(type(torch.zeros((), dtype=wanted).item()))
        try:
            if order.index(type(arg)) <= holds:
                return torch.tensor(arg, dtype=wanted, device=self.device or "cpu")
        except (RuntimeError, OverflowError, ValueError):  # too large, or a class of the user's own
            pass
        raise DTypeError("E0203", f"input '{said.name}' is {said.dtype}, which does not hold {arg!r}", None, "change the dtype in the kernel")


def function(kernel: Kernel, *, wrt=None, policy="auto") -> Any:
    """A function of torch that calls `kernel`: by position, in declared order. Its derivatives, in
    reverse and in forward mode, are the kernel's, by the inputs `wrt` (a name or several; by
    default all of real and complex numbers).

    `policy` says how the gradient comes by what the function has computed: "auto", "recompute", or
    "save", where the function gives that beside its outputs when torch notes the call, and torch
    keeps it.
    """
    refuse_adding(kernel, "torch")
    check_policy(policy)
    by, of = moving(kernel, wrt), differentiable(kernel.outputs)
    saver = None
    operation = _Operation(kernel, by, "auto" if policy == "save" else policy)
    if policy == "save" and by and of:
        saving = Saving(kernel, by, of)
        saver = _Operation(saving.forward, by, saving=saving, count=operation.count)
    inputs = operation.inputs

    def called(*args):
        if len(args) != len(inputs):
            raise ArgumentError("E0308", f"kernel '{kernel.name}' {takes(len(inputs), 'input', len(args))}", None,
                                "pass them by position, in declared order")
        tensors = [operation.tensor(said, arg) for said, arg in zip(inputs, args)]
        noted = saver if saver and operation.is_derived_by(tensors) else operation
        made = noted.apply(*tensors)[:operation.count]
        return made if len(made) > 1 else made[0]

    called.__name__ = called.__qualname__ = kernel.name
    called.__doc__ = f"Calls {kernel!r}."
    return called
