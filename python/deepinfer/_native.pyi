"""The C++ engine behind the deepinfer package."""

__version__: str

class OverloadedError(RuntimeError):
    """A queue, pool or disk is full; retry later."""

    code: str

class CancelledError(RuntimeError):
    """The caller gave up."""

    code: str

class UnavailableError(RuntimeError):
    """The engine or a peer is down; retry elsewhere."""

    code: str

class DataLossError(RuntimeError):
    """Stored data is corrupt or truncated."""

    code: str

class InternalError(RuntimeError):
    """A bug of ours that was contained."""

    code: str

def exception_for(code: str, message: str) -> Exception:
    """The exception, not raised, that stands for a failure with this code and message."""
