"""Dr.Jit's LLVM backend: flat arrays, elementwise work and folds of all elements."""
import glob
import os

# The wheel has no LLVM of its own; Debian's has a version in its name.
if "DRJIT_LIBLLVM_PATH" not in os.environ:
    found = sorted(glob.glob("/usr/lib/llvm-*/lib/libLLVM*.so*") +
                   glob.glob("/usr/lib/*/libLLVM*.so*"))
    if found:
        os.environ["DRJIT_LIBLLVM_PATH"] = found[-1]

import drjit as dr
import numpy as np
from drjit.llvm import Float, Int

VERSION = dr.__version__
dr.eval(Float(1) + 1)  # fails here and now where there is no LLVM


def flat(function, kind=Float):
    def build(i, o):
        args = [kind(np.ascontiguousarray(x).reshape(-1)) for x in i]
        dr.eval(args)

        def call():
            result = function(*args)
            dr.eval(result)
            dr.sync_thread()
            return [result]

        return lambda: call()

    return build


def as_numpy(build):
    """The first call is checked: its results become NumPy arrays in the shapes of the outputs."""
    def wrapped(i, o):
        call = build(i, o)
        o[0].reshape(-1)[...] = np.asarray(call()[0]).reshape(-1)

        def silent():
            call()

        return silent

    return wrapped


def gelu(x):
    return 0.5 * x * (1 + dr.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def black_scholes(s, k, t):
    price, strike, term = 5 + 25 * s, 1 + 99 * k, 0.25 + 9.75 * t
    width = 0.3 * dr.sqrt(term)
    d1 = (dr.log(price / strike) + 0.065 * term) / width
    normal = lambda d: 0.5 * (1 + dr.erf(0.7071067811865476 * d))
    return price * normal(d1) - strike * dr.exp(-0.02 * term) * normal(d1 - width)


CASES = {key: as_numpy(build) for key, build in {
    "triad": flat(lambda a, b, c: a * b + c),
    "triad_i32": flat(lambda a, b, c: a * b + c, Int),
    "map": flat(lambda x, y, z: dr.exp(-x * x) * dr.sin(y) + dr.sqrt(dr.abs(z))),
    "gelu": flat(gelu), "black_scholes": flat(black_scholes),
    "sum": flat(lambda x: dr.sum(x)), "distance": flat(lambda x, y: dr.sum((x - y) * (x - y))),
    "cumsum": flat(lambda x: dr.cumsum(x)),
}.items()}


def first(function):
    def call(inputs, serial):
        result = function(Float(inputs[0].reshape(-1)), serial)
        dr.eval(result)
        dr.sync_thread()
        return [np.asarray(result)]

    return call


FIRST = {
    "first_map": first(lambda x, serial: x * 2 + serial),
    "first_exp": first(lambda x, serial: dr.exp(x) + serial),
}
