"""DeepInfer: an inference engine for DeepSeek-V4.1-Flash.

    from deepinfer import LLM, SamplingParams

    llm = LLM()
    print(llm.generate("Hello", SamplingParams(temperature=0, max_tokens=16)))
"""

from deepinfer._native import (
    CancelledError,
    DataLossError,
    InternalError,
    OverloadedError,
    RequestError,
    RequestOutput,
    SamplingParams,
    TokenDelta,
    UnavailableError,
    __version__,
)
from deepinfer.llm import LLM, BatchError

__all__ = [
    "LLM",
    "BatchError",
    "CancelledError",
    "DataLossError",
    "InternalError",
    "OverloadedError",
    "RequestError",
    "RequestOutput",
    "SamplingParams",
    "TokenDelta",
    "UnavailableError",
    "__version__",
]
