from typing import Any, Callable, Optional, overload

from ._core import Kernel

class Traced(Kernel):
    """A kernel; one whose inputs are declared by `bl.Float`, `bl.Int` or `bl.Number` is a kernel
    for each dtype."""

    def __getitem__(self, dtype: Any, /) -> Kernel: ...

@overload
def kernel(
    function: Callable[..., Any], *, name: Optional[str] = None, order: Optional[str] = None, accuracy: Optional[str] = None, relaxed: bool = False,
    threads: int = 0, target: str = "", engine: str = "auto", debug: Any = False, definitions: str = "",
) -> Traced: ...
@overload
def kernel(
    *, name: Optional[str] = None, order: Optional[str] = None, accuracy: Optional[str] = None, relaxed: bool = False, threads: int = 0, target: str = "",
    engine: str = "auto", debug: Any = False, definitions: str = "",
) -> Callable[[Callable[..., Any]], Traced]: ...
