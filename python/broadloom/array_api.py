"""The namespace of the array API standard, version 2024.12, over lazy arrays: ``xp =
bl.array_api``.

Functions are NumPy's, which lazy arrays record. Functions that make arrays make lazy ones. NumPy
does at once whatever is not recorded (sorts, sets of unique elements, FFTs, solvers, functions of
complex numbers that the language lacks). Its results are lazy arrays again.
"""

from __future__ import annotations

import functools
import types

import numpy as np

from .errors import Error
from .lazy import API_VERSIONS as _VERSIONS
from .lazy_numpy import LazyArray, array as _array, cast as _cast  # which gives lazy arrays their methods
from .numpy_calls import asked as _asked

if not hasattr(np, "__array_namespace_info__"):
    raise ImportError(f"broadloom.array_api needs NumPy 2.1 or later, and this is {np.__version__}")
__array_api_version__ = _VERSIONS[-1]

_RECORDED = """
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil conj
copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10
logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
round sign signbit sin sinh square sqrt subtract tan tanh trunc
astype result_type can_cast take take_along_axis matmul matrix_transpose tensordot vecdot broadcast_to concat expand_dims flip moveaxis
permute_dims repeat reshape roll squeeze stack tile unstack argmax argmin count_nonzero searchsorted where cumulative_prod cumulative_sum max mean min
prod std sum var all any diff tril triu isin
isdtype e inf nan newaxis pi bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
"""
_MADE = "arange empty empty_like eye full full_like linspace ones ones_like zeros zeros_like"  # whose results NumPy makes
_AT_ONCE = "nonzero unique_all unique_counts unique_inverse unique_values"
_LINALG = {"recorded": "cross diagonal matmul matrix_norm matrix_power matrix_transpose outer tensordot trace vecdot vector_norm",
           "at_once": "cholesky det eigh eigvalsh inv matrix_rank pinv qr slogdet solve svd svdvals"}
_FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftshift ifftshift"


def _computed(x):
    if type(x) in (list, tuple):
        return type(x)([_computed(one) for one in x])
    return x.compute() if isinstance(x, LazyArray) else x


def _wrapped(x):
    if isinstance(x, tuple):
        made = [_wrapped(one) for one in x]
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)
    return _array(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x


def _at_once(called):
    @functools.wraps(called)
    def call(*args, **options):
        return _wrapped(_asked(called, *map(_computed, args), **{name: _computed(x) for name, x in options.items()}))

    return call


def _making(called):
    @functools.wraps(called)
    def call(*args, **options):
        return _wrapped(_asked(called, *args, **options))

    return call


def _recorded(called):
    """NumPy's function, as lazy arrays record it, else at once."""
    if not callable(called) or isinstance(called, type):
        return called
    at_once = _at_once(called)

    @functools.wraps(called)
    def call(*args, **options):
        try:
            return called(*args, **options)
        except Error as error:
            if "cannot be recorded" not in error.message:
                raise
        return at_once(*args, **options)

    return call


globals().update({name: _recorded(getattr(np, name)) for name in _RECORDED.split()})
globals().update({name: _making(getattr(np, name)) for name in _MADE.split()})
globals().update({name: _at_once(getattr(np, name)) for name in _AT_ONCE.split()})
linalg = types.SimpleNamespace(**{name: _recorded(getattr(np.linalg, name)) for name in _LINALG["recorded"].split()},
                               **{name: _at_once(getattr(np.linalg, name)) for name in _LINALG["at_once"].split()})
fft = types.SimpleNamespace(**{name: _at_once(getattr(np.fft, name)) for name in _FFT.split()})


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """A lazy array of what NumPy makes an array of: lists and numbers, too."""
    if isinstance(obj, LazyArray):
        made = obj if dtype is None else _cast(obj, _asked(np.dtype, dtype))
        return made.copy() if copy else made
    return _array(_asked(np.asarray, _computed(obj), dtype=dtype, device=device, copy=copy))


def from_dlpack(x, /, *, device=None, copy=None):
    return x if isinstance(x, LazyArray) else _array(_asked(np.from_dlpack, x, device=device, copy=copy))


def meshgrid(*arrays, indexing="xy"):
    return list(np.meshgrid(*arrays, indexing=indexing))


def broadcast_arrays(*arrays):
    return list(np.broadcast_arrays(*arrays))


def finfo(type, /):
    about = np.finfo(type.dtype if isinstance(type, LazyArray) else type)
    return types.SimpleNamespace(bits=about.bits, dtype=about.dtype, **{name: float(getattr(about, name)) for name in ("eps", "max", "min", "smallest_normal")})


def iinfo(type, /):
    return np.iinfo(type.dtype if isinstance(type, LazyArray) else type)


def clip(x, /, min=None, max=None):
    return np.clip(x, min, max)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """At once."""
    made = _asked(np.sort, x.compute(), axis=axis, stable=stable)
    return _array(np.flip(made, axis) if descending else made)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """At once."""
    x = x.compute()
    if not descending:
        return _array(_asked(np.argsort, x, axis=axis, stable=stable))
    return _array(x.shape[axis] - 1 - np.flip(_asked(np.argsort, np.flip(x, axis), axis=axis, stable=stable), axis))


def _frequencies(called):
    def call(n, /, *, d=1.0, dtype=None, device=None):
        return _array(_asked(called, n, d, device=device).astype(dtype or np.float64))

    return call


fft.fftfreq, fft.rfftfreq = map(_frequencies, (np.fft.fftfreq, np.fft.rfftfreq))


class __array_namespace_info__(type(np.__array_namespace_info__())):
    def capabilities(self):
        return {**super().capabilities(), "boolean indexing": False}
