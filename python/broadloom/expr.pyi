from typing import Any, Callable, Optional, Tuple, TypeVar, Union

from ._operators import Operators
from .errors import Place

_F = TypeVar("_F", bound=Callable[..., Any])

class Annotation:
    dtype: DType
    dims: Tuple[str, ...]
    role: str
    known: str
    place: Optional[Place]

def param(said: Union[Annotation, DType], known: str = "") -> Annotation: ...
def checked(function: _F) -> _F: ...

class DType:
    name: str
    def __getitem__(self, dims: Any) -> Annotation: ...
    def __call__(self, value: Any) -> Expr: ...

class Expr(Operators): ...

def caller() -> Place: ...
def operand(value: Any) -> Expr: ...
def dtype_name(dtype: Any) -> str: ...
