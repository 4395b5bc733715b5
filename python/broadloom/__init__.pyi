from os import PathLike
from typing import Any, Optional, Protocol, Sequence, Union, overload

from . import array_api as array_api, dask as dask, jax as jax, torch as torch
from ._core import (
    Bound as Bound, Device as Device, DeviceArray as DeviceArray, Kernel as Kernel, Results as Results,
    release_kept_memory as release_kept_memory,
)
from .errors import (
    ArgumentError as ArgumentError, AxisError as AxisError, CancelledError as CancelledError, CompileError as CompileError, DataError as DataError,
    DTypeError as DTypeError, Error as Error, InternalError as InternalError, NumberError as NumberError,
    PositionError as PositionError, ShapeError as ShapeError, SpecError as SpecError,
)
from .expr import DType as DType, Expr as Expr, param as param
from .lazy import LazyArray as LazyArray
from .functions import (
    call as call, extent as extent, fold as fold, iota as iota, logical_and as logical_and, logical_not as logical_not,
    logical_or as logical_or, out as out, scan as scan,
)
from .records import (
    Decision as Decision, GradientCheck as GradientCheck, Input as Input, Output as Output, Partial as Partial, Place as Place,
    Slope as Slope,
)
from .timing import Bench as Bench, bench as bench
from .trace import kernel as kernel

__version__: str

_Value = Union[Expr, bool, int, float]
_Axis = Union[str, int]

class _One(Protocol):
    @overload
    def __call__(self, x: LazyArray, /) -> LazyArray: ...
    @overload
    def __call__(self, x: _Value, /) -> Expr: ...

class _Two(Protocol):
    @overload
    def __call__(self, x: LazyArray, y: Any, /) -> LazyArray: ...
    @overload
    def __call__(self, x: Any, y: LazyArray, /) -> LazyArray: ...
    @overload
    def __call__(self, x: _Value, y: _Value, /) -> Expr: ...

class _Three(Protocol):
    @overload
    def __call__(self, x: LazyArray, y: Any, z: Any, /) -> LazyArray: ...
    @overload
    def __call__(self, x: _Value, y: _Value, z: _Value, /) -> Expr: ...

class _Fold(Protocol):
    @overload
    def __call__(self, value: LazyArray, *axes: int, correction: Optional[int] = None) -> LazyArray: ...
    @overload
    def __call__(
        self, value: _Value, *axes: _Axis, init: Optional[_Value] = None, acc: Any = None, correction: Optional[int] = None,
        like: Union[Expr, Sequence[Expr], None] = None,
    ) -> Expr: ...

def compile(
    text: Union[str, PathLike[str]], name: Optional[str] = None, *, threads: int = 0, target: str = "", engine: str = "auto",
    debug: Union[bool, str, Sequence[str]] = False, device: str = "",
) -> Kernel: ...

def set_log_level(level: str) -> None: ...
def load_ipython_extension(ipython: Any) -> None: ...
def array(x: Any) -> LazyArray: ...
def compute(
    *arrays: LazyArray, out: Any = None, threads: int = 0, relaxed: bool = False, accuracy: Optional[str] = None
) -> Any: ...

bool_: DType
i8: DType
i16: DType
i32: DType
i64: DType
u8: DType
u16: DType
u32: DType
u64: DType
f16: DType
bf16: DType
f32: DType
f64: DType
c64: DType
c128: DType
Float: DType
Int: DType
Number: DType

abs: _One
sign: _One
floor: _One
ceil: _One
round: _One
trunc: _One
sqrt: _One
rsqrt: _One
square: _One
reciprocal: _One
relu: _One
exp: _One
exp2: _One
expm1: _One
log: _One
log2: _One
log10: _One
log1p: _One
sin: _One
cos: _One
tan: _One
asin: _One
acos: _One
atan: _One
sinh: _One
cosh: _One
tanh: _One
asinh: _One
acosh: _One
atanh: _One
cbrt: _One
erf: _One
erfc: _One
lgamma: _One
digamma: _One
sigmoid: _One
softplus: _One
silu: _One
gelu: _One
gelu_tanh: _One
isnan: _One
isinf: _One
isfinite: _One
real: _One
imag: _One
conj: _One
keep: _One
recompute: _One
maximum: _Two
minimum: _Two
fmax: _Two
fmin: _Two
copysign: _Two
xor: _Two
pow: _Two
hypot: _Two
fmod: _Two
atan2: _Two
logaddexp: _Two
polygamma: _Two
random: _Two
normal: _Two
random_bits: _Two
def sums_at(k: Any, length: int, values: Any = None) -> LazyArray: ...
where: _Three
clip: _Three
fma: _Three

sum: _Fold
prod: _Fold
min: _Fold
max: _Fold
any: _Fold
all: _Fold
mean: _Fold
var: _Fold
std: _Fold
norm: _Fold
logsumexp: _Fold
argmin: _Fold
argmax: _Fold
