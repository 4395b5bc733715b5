from typing import Any

__array_api_version__: str

def __getattr__(name: str) -> Any: ...
