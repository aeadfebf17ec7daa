"""The package as installed: version, exceptions, stubs."""

import ast
import importlib.metadata
import pathlib
import subprocess
import sys

import pytest

import deepinfer
from deepinfer import _native

CLASS_OF_CODE = {
    "invalid_argument": ValueError,
    "unauthenticated": PermissionError,
    "not_found": LookupError,
    "resource_exhausted": deepinfer.OverloadedError,
    "cancelled": deepinfer.CancelledError,
    "unimplemented": NotImplementedError,
    "unavailable": deepinfer.UnavailableError,
    "deadline_exceeded": TimeoutError,
    "data_loss": deepinfer.DataLossError,
    "internal": deepinfer.InternalError,
}


def test_version_is_the_installed_one():
    assert deepinfer.__version__ == importlib.metadata.version("deepinfer")


@pytest.mark.parametrize("code", CLASS_OF_CODE)
def test_each_status_code_has_its_exception(code):
    exception = _native.exception_for(code, "max_tokens: expected 1..8, got 9")
    assert type(exception) is CLASS_OF_CODE[code]
    assert str(exception) == "max_tokens: expected 1..8, got 9"
    assert exception.code == code


@pytest.mark.parametrize("code", ["ok", "", "Internal", "no_such_code"])
def test_a_status_thrown_by_a_binding_is_raised(code):
    with pytest.raises(ValueError, match=f'expected the name of a failure, got "{code}"') as caught:
        _native.exception_for(code, "x")
    assert caught.value.code == "invalid_argument"


def test_importing_loads_no_heavy_module():
    program = "import sys, deepinfer; print([m for m in ('torch', 'numpy', 'asyncio') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_stub_names_what_the_module_has():
    stub = pathlib.Path(deepinfer.__file__).with_name("_native.pyi").read_text()
    names = {}
    for node in ast.parse(stub).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names[node.name] = ast.get_docstring(node)
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = None
    native = {n for n in vars(_native) if n == "__version__" or not n.startswith("_")}
    assert set(names) == native
    for name, doc in names.items():
        if doc is not None:
            assert doc in getattr(_native, name).__doc__, name


def test_package_is_marked_as_typed():
    assert pathlib.Path(deepinfer.__file__).with_name("py.typed").exists()
