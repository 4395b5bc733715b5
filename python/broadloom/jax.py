"""Kernels as functions of JAX: ``bl.jax.function(k)``."""

from __future__ import annotations

from typing import Any

import numpy as np

import jax
import jax.numpy as jnp

from ._core import Kernel
from ._derivatives import DIFFERENTIABLE, Saving, check_policy, differentiable, moving, refuse_adding
from .errors import ArgumentError, DTypeError, takes


def _dtype(word: str):
    if word == "bool":
        return np.dtype(bool)
    if word == "bf16":
        return jnp.bfloat16
    kinds = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
    return np.dtype(kinds[word[0]] + word[1:])


def _call(kernel: Kernel, args) -> tuple:
    """Calls a kernel where JAX runs what it has traced."""
    shapes = kernel._infer([np.shape(arg) for arg in args])
    results = tuple(jax.ShapeDtypeStruct(shape, _dtype(out.dtype)) for shape, out in zip(shapes, kernel.outputs))

    def run(*arrays):
        made = kernel(*[np.asarray(array) for array in arrays])
        return tuple(made) if len(results) > 1 else (made,)

    return jax.pure_callback(run, results, *args, vmap_method="sequential")


def _along(kernel: Kernel, wrt: tuple):
    """A function of JAX, from arrays to a tuple of arrays, with derivatives in forward mode, to any
    order: by `kernel.jvp`."""
    inputs, outputs = kernel.inputs, kernel.outputs
    of = differentiable(outputs)
    derived = {}  # by the names of the inputs that move: the function that gives the tangents

    @jax.custom_jvp
    def call(*args):
        return _call(kernel, args)

    def slope(args, tangents):
        values = call(*args)
        moved = {said.name: t for said, t in zip(inputs, tangents) if said.name in wrt and not isinstance(t, jax.custom_derivatives.SymbolicZero)}
        made = {}
        if moved and of:
            names = tuple(moved)
            if names not in derived:
                along = kernel.jvp(list(names), of=list(of))
                derived[names] = _along(along, differentiable(along.inputs))
            made = dict(zip(of, derived[names](*args, *moved.values())))
        return values, tuple(
            np.zeros(np.shape(value), jax.dtypes.float0) if said.dtype not in DIFFERENTIABLE else
            made[said.name] if said.name in made else jnp.zeros_like(value) for said, value in zip(outputs, values))

    call.defjvp(slope, symbolic_zeros=True)
    return call


def _back(kernel: Kernel, wrt: tuple, policy: str):
    """A function of JAX with derivatives in reverse mode: by the kernel of the gradient, which is
    derived in turn in forward mode."""
    inputs, outputs = kernel.inputs, kernel.outputs
    of = differentiable(outputs)
    plain = _along(kernel, wrt)
    saving = Saving(kernel, wrt, of) if policy == "save" and wrt and of else None
    saver = _along(saving.forward, wrt) if saving else plain
    gradient = []  # made when it is asked for

    @jax.custom_vjp
    def call(*args):
        return plain(*args)

    def forward(*args):
        values = saver(*args)
        return values[:len(outputs)], (args, values[len(outputs):])

    def back(kept, cotangents):
        args, saved = kept
        # JAX's cotangent of a complex number is the conjugate of ours.
        weights = [jnp.conj(c) for c, out in zip(cotangents, outputs) if out.dtype in DIFFERENTIABLE]
        made = {}
        if wrt and of:
            if not gradient:
                derived = saving.back if saving else kernel.grad(list(wrt), of=list(of), policy=policy)
                gradient.append(_along(derived, differentiable(derived.inputs)))
            made = dict(zip(wrt, gradient[0](*args, *weights, *saved)))
        return tuple(
            np.zeros(np.shape(arg), jax.dtypes.float0) if said.dtype not in DIFFERENTIABLE else
            jnp.conj(made[said.name]) if said.name in made else jnp.zeros_like(arg) for said, arg in zip(inputs, args))

    call.defvjp(forward, back)
    return call


def function(kernel: Kernel, *, wrt=None, policy="auto", forward=False) -> Any:
    """A function of JAX that calls `kernel`: by position, in declared order. Its derivatives are
    the kernel's, by the inputs `wrt` (a name or several; by default all of real and complex
    numbers).

    They go in reverse mode (`jax.grad`, `jax.vjp`, `jax.jacrev`), or with `forward=True` in forward
    mode (`jax.jvp`, `jax.jacfwd`): JAX has no function with rules for both. `policy` says how the
    gradient comes by what the function has computed: "auto", "recompute", or "save", where the
    function gives that beside its outputs when it is called to be derived, and JAX keeps it.
    """
    refuse_adding(kernel, "JAX")
    check_policy(policy)
    if forward and policy != "auto":
        raise ArgumentError("E0401", f"policy='{policy}' is for gradients, and forward=True has none", None, "leave one of them out")
    inputs = kernel.inputs
    by = moving(kernel, wrt)
    call = _along(kernel, by) if forward else _back(kernel, by, policy)

    def checked(args):
        if len(args) != len(inputs):
            raise ArgumentError("E0308", f"kernel '{kernel.name}' {takes(len(inputs), 'input', len(args))}", None,
                                "pass them by position, in declared order")
        arrays = []
        for said, arg in zip(inputs, args):
            if not said.axes and isinstance(arg, (bool, int, float, complex)) and not isinstance(arg, np.generic):
                arg = jnp.asarray(arg, _dtype(said.dtype))  # weak, as in a call
            array = jnp.asarray(arg)
            if array.dtype != _dtype(said.dtype):
                raise DTypeError("E0203", f"input '{said.name}' is {said.dtype}, the argument is {array.dtype}", None,
                                 "jax.config.update('jax_enable_x64', True) lets JAX have 64 bits"
                                 if said.dtype in ("f64", "i64", "u64", "c128") else "convert it, or change the dtype in the kernel")
            arrays.append(array)
        return arrays

    def called(*args):
        made = call(*checked(args))
        return made if len(made) > 1 else made[0]

    called.__name__ = called.__qualname__ = kernel.name
    called.__doc__ = f"Calls {kernel!r}."
    return called
