from typing import Any, Callable, Optional, overload

from ._core import Kernel
from .expr import Expr

@overload
def kernel(
    function: Callable[..., Any], *, name: Optional[str] = None, order: Optional[str] = None, accuracy: Optional[str] = None, relaxed: bool = False,
    threads: int = 0, target: str = "", engine: str = "auto", debug: Any = False,
) -> Kernel: ...
@overload
def kernel(
    *, name: Optional[str] = None, order: Optional[str] = None, accuracy: Optional[str] = None, relaxed: bool = False, threads: int = 0, target: str = "",
    engine: str = "auto", debug: Any = False,
) -> Callable[[Callable[..., Any]], Kernel]: ...
def dtype_of(value: Expr) -> str: ...
