"""The programs of examples/, run as a reader of the README runs them."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "models" / "DeepSeek-V4.1-Tiny"


def run(name, *arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DEEPINFER_", "HF_"))}
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments],
        capture_output=True, text=True, timeout=120, env=environment | variables, check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_offline_inference_answers_each_prompt_in_order():
    lines = run("offline_inference.py").splitlines()
    assert [line for line in lines if line.startswith("> ")] == [
        "> Who are you?", "> Reverse this list: red, blue, green", "> What is a river?",
    ]
    assert lines[lines.index("> Reverse this list: red, blue, green") + 1].strip() == "green, blue, red"


def test_offline_inference_runs_the_model_that_the_variable_names():
    assert run("offline_inference.py", DEEPINFER_HF_MODEL_DIR=str(MODEL)) == run("offline_inference.py")


def test_streaming_prints_the_same_answer():
    whole = run("offline_inference.py").split("> Who are you?\n")[1].split("\n\n>")[0]
    assert run("streaming.py", "Who are you?").strip().startswith(whole.strip())
