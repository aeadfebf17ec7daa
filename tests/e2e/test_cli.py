"""The deepinfer command as installed: answers, exit codes, what goes to which stream."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "models" / "DeepSeek-V4.1-Tiny"
COMMAND = pathlib.Path(sys.executable).with_name("deepinfer")

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason=f"{COMMAND} is not installed; ./build.sh does")


def run(*arguments, stdin="", env=None, **options):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("DEEPINFER_")}
    return subprocess.run(
        [COMMAND, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=60, env={**clean, **(env or {})}, **options
    )


def test_chat_answers_on_stdout_and_says_which_model_on_stderr():
    done = run("generate", "--chat", "--temperature", 0, "Reverse this list: red, blue, green")
    assert done.returncode == 0
    assert done.stdout == "green, blue, red\n"
    assert "no model named: using the built-in DeepSeek-V4.1-Tiny" in done.stderr
    assert "tokens/s" in done.stderr


def test_prompts_come_from_arguments_file_and_stdin(tmp_path):
    (tmp_path / "prompt").write_text("A river is\n")
    flags = ["generate", "--quiet", "--temperature", 0, "--max-tokens", 8]
    answers = {
        run(*flags, "A river is").stdout,
        run(*flags, "--file", tmp_path / "prompt").stdout,
        run(*flags, stdin="A river is\n").stdout,
        run(*flags, "-", stdin="A river is\n").stdout,
    }
    assert len(answers) == 1 and answers.pop().strip()


def test_lines_are_prompts_of_their_own():
    done = run("generate", "--json", "--lines", "--temperature", 0, "--max-tokens", 4, stdin="one\ntwo\n\nthree\n")
    assert [json.loads(line)["index"] for line in done.stdout.splitlines()] == [0, 1, 2]


def test_json_carries_ids_reason_and_log_probabilities():
    done = run("generate", "--json", "--temperature", 0, "--max-tokens", 3, "--ignore-eos", "--logprobs", 2, "--prompt-logprobs", 0, "A river is")
    output = json.loads(done.stdout)
    assert output["finish_reason"] == "length" and output["error"] is None
    assert len(output["token_ids"]) == len(output["logprobs"]) == 3
    assert all(len(row) == 2 for row in output["top_logprobs"])
    assert len(output["prompt_logprobs"]) == len(output["prompt_token_ids"]) - 1


def test_one_bad_prompt_fails_alone_and_is_named():
    done = run("generate", "--json", "--token-ids", "--temperature", 0, "--max-tokens", 2, "5,6,7", "5,999999", "5,6,7")
    outputs = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [output["error"] is None for output in outputs] == [True, False, True]
    assert outputs[0]["token_ids"] == outputs[2]["token_ids"] != []
    assert "prompt 1: " in done.stderr and "999999" in done.stderr


@pytest.mark.parametrize(
    "flags, named",
    [
        (["--temperature", "-1"], "temperature"), (["--temperature", "nan"], "temperature"), (["--top-p", "0"], "top_p"),
        (["--top-k", "0"], "top_k"), (["--max-tokens", "-3"], "max_tokens"), (["--max-tokens", "99999999999"], "max_tokens"),
        (["--min-p", "2"], "min_p"), (["--logprobs", "-1"], "logprobs"), (["--stop", ""], "stop"), (["--seed", "x"], "seed"),
        (["--no-such-flag"], "no-such-flag"), (["--numerics", "fp8"], "numerics"), (["--num-threads", "-1"], "num_threads"),
        (["--isa", "sse"], "isa"), (["--chat", "--token-ids"], "--chat"), (["--file", "x"], "--file"),
    ],
    ids=str,
)
def test_wrong_usage_is_exit_code_2_and_one_sentence(flags, named):
    done = run("generate", *flags, "hello")
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert named in line


@pytest.mark.parametrize("model", ["/no/such/folder", "not-an-id", "a/b/c"])
def test_a_missing_model_is_exit_code_1_and_named(model):
    done = run("generate", "--model", model, "hello")
    assert done.returncode == 1
    assert model in done.stderr


def test_offline_without_a_copy_says_so(tmp_path):
    done = run("generate", "--model", "org/name", "hi", env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)})
    assert done.returncode == 1
    assert "HF_HUB_OFFLINE" in done.stderr


def test_a_damaged_shard_names_the_file(tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(TINY, copy)
    shard = copy / "model-00002-of-00003.safetensors"
    with shard.open("r+b") as file:
        file.truncate(shard.stat().st_size - 1)
    done = run("generate", "--model", copy, "hi")
    assert done.returncode == 1
    assert shard.name in done.stderr


def test_results_do_not_depend_on_threads_or_chunks():
    flags = ["generate", "--json", "--quiet", "--temperature", 0, "--max-tokens", 12, "--logprobs", 0]
    prompt = "List the rivers of the world in the order of their length. " * 4
    texts = {
        run(*flags, prompt).stdout,
        run(*flags, "--num-threads", 1, prompt).stdout,
        run(*flags, "--max-prefill-chunk-tokens", 7, prompt).stdout,
        run(*flags, "--async-scheduling", prompt).stdout,
    }
    assert len(texts) == 1


def test_environment_variables_are_options_and_flags_win():
    variables = {"DEEPINFER_NUM_THREADS": "x"}
    done = run("generate", "hi", env=variables)
    assert done.returncode == 2 and "DEEPINFER_NUM_THREADS" in done.stderr
    done = run("generate", "--max-tokens", 1, "hi", env={"DEEPINFER_NUM_THREAD": "1"})
    assert done.returncode == 0 and "DEEPINFER_NUM_THREADS" in done.stderr  # the nearest name


def test_a_full_disk_behind_stdout_is_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run([COMMAND, "generate", "--quiet", "--max-tokens", "4", "hi"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1


def test_interrupt_ends_it():
    process = subprocess.Popen(
        [COMMAND, "generate", "--ignore-eos", "--max-tokens", "16000", "hi"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout.read(8)
    process.send_signal(signal.SIGINT)
    process.stdout.close()
    assert process.wait(timeout=10) != 0


def test_inspect_counts_what_the_card_says():
    report = json.loads(run("inspect", "--json", TINY).stdout)
    assert len(report["layers"]) == 12
    assert report["num_backbone_parameters"] == pytest.approx(27.8e6, rel=0.01)
    assert [layer["compress_ratio"] for layer in report["layers"]] == [0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1]
    assert "compressor" in run("inspect", TINY).stdout
    assert len(run("inspect", "--tensors", TINY).stdout.splitlines()) == sum(
        amount["num_tensors"] for amount in report["all"].values()
    )


def test_a_synthesised_checkpoint_runs(tmp_path):
    folder = tmp_path / "made"
    done = run("convert", "--synthesize", TINY, "--out", folder, "--tokenizer", TINY, "--seed", 3)
    assert done.returncode == 0, done.stderr
    answer = run("generate", "--model", folder, "--json", "--max-tokens", 4, "--ignore-eos", "hi")
    assert answer.returncode == 0, answer.stderr
    assert len(json.loads(answer.stdout)["token_ids"]) == 4
    config = json.loads((TINY / "config.json").read_text())
    config["text_config"]["hidden_size"] = -1
    (tmp_path / "config.json").write_text(json.dumps(config))
    refused = run("convert", "--synthesize", tmp_path / "config.json", "--out", tmp_path / "other")
    assert refused.returncode == 1 and "hidden_size" in refused.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("command", ["generate", "inspect", "convert", "bench"])
def test_help_fits_a_screen(command):
    done = run(command, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert len(done.stdout.splitlines()) <= 40
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_commands_are_listed_and_guessed():
    assert run("--help").returncode == 0
    assert run("--version").stdout.startswith("deepinfer ")
    nothing = run()
    assert nothing.returncode == 2 and "generate" in nothing.stderr
    wrong = run("genrate")
    assert wrong.returncode == 2 and "did you mean generate?" in wrong.stderr
