"""DeepInfer: an inference engine for DeepSeek-V4.1-Flash."""

from deepinfer._native import (
    CancelledError,
    DataLossError,
    InternalError,
    OverloadedError,
    UnavailableError,
    __version__,
)

__all__ = [
    "CancelledError",
    "DataLossError",
    "InternalError",
    "OverloadedError",
    "UnavailableError",
    "__version__",
]
