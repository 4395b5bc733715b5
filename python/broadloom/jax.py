"""Kernels as functions of JAX: ``bl.jax.function(k)``."""

from __future__ import annotations

import numpy as np

import jax
import jax.numpy as jnp

from ._core import Kernel
from .errors import ArgumentError, DTypeError, SpecError

_DIFFERENTIABLE = ("f16", "bf16", "f32", "f64", "c64", "c128")


def _dtype(word: str):
    if word == "bool":
        return np.dtype(bool)
    if word == "bf16":
        return jnp.bfloat16
    kinds = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
    return np.dtype(kinds[word[0]] + word[1:])


def _call(kernel: Kernel, args):
    """Calls a kernel where JAX runs what it has traced."""
    shapes = kernel._infer([np.shape(arg) for arg in args])
    results = [jax.ShapeDtypeStruct(shape, _dtype(out.dtype)) for shape, out in zip(shapes, kernel.outputs)]
    alone = len(results) == 1

    def run(*arrays):
        made = kernel(*[np.asarray(array) for array in arrays])
        return made if alone else tuple(made)

    return jax.pure_callback(run, results[0] if alone else tuple(results), *args, vmap_method="sequential")


def function(kernel: Kernel, *, wrt=None):
    """A function of JAX that calls `kernel`: by position, in declared order. Its gradient is the kernel's, by the inputs `wrt` (a name
    or several; by default all of real and complex numbers)."""
    if any(out.add for out in kernel.outputs):
        raise SpecError("E0002", "a function of JAX has nothing to add to: an output of the kernel is `+=`", None, "write `=`")
    inputs = kernel.inputs
    moving = [i for i in inputs if i.dtype in _DIFFERENTIABLE]
    if wrt is not None:
        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        moving = [i for i in inputs if i.name in names]
        if len(moving) < len(names):
            raise ArgumentError("E0308", f"wrt= names what kernel '{kernel.name}' has no input of", None,
                                "the inputs are " + ", ".join(i.name for i in inputs))
    outputs = [out for out in kernel.outputs if out.dtype in _DIFFERENTIABLE]
    backward = []

    def checked(args):
        if len(args) != len(inputs):
            raise ArgumentError("E0308", f"kernel '{kernel.name}' takes {len(inputs)} inputs, {len(args)} were given", None,
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

    @jax.custom_vjp
    def call(*args):
        return _call(kernel, args)

    def forward(*args):
        return _call(kernel, args), args

    def back(args, cotangents):
        if not isinstance(cotangents, tuple):
            cotangents = (cotangents,)
        # JAX's cotangent of a complex number is the conjugate of ours.
        weights = [jnp.conj(c) for c, out in zip(cotangents, kernel.outputs) if out.dtype in _DIFFERENTIABLE]
        gradients = {}
        if moving and outputs:
            if not backward:
                backward.append(kernel.grad([i.name for i in moving], of=[out.name for out in outputs]))
            made = _call(backward[0], (*args, *weights))
            gradients = dict(zip([i.name for i in moving], made if len(moving) > 1 else (made,)))
        result = []
        for said, arg in zip(inputs, args):
            if said.dtype not in _DIFFERENTIABLE:
                result.append(np.zeros(arg.shape, jax.dtypes.float0))
            elif said.name in gradients:
                result.append(jnp.conj(gradients[said.name]))
            else:
                result.append(jnp.zeros_like(arg))
        return tuple(result)

    call.defvjp(forward, back)

    def called(*args):
        return call(*checked(args))

    called.__name__ = called.__qualname__ = kernel.name
    called.__doc__ = f"Calls {kernel!r}."
    return called
