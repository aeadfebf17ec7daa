"""LLM on the built-in model: call shapes, streams, bad input."""

import copy
import math
import threading

import pytest

import deepinfer
from deepinfer import LLM, BatchError, SamplingParams

GREEDY = SamplingParams(temperature=0, max_tokens=8)


@pytest.fixture(scope="module")
def llm():
    with LLM() as llm:
        yield llm


@pytest.fixture(scope="module")
def full():
    with LLM(decode_sequence=False) as llm:
        yield llm


def test_strings_come_back_in_order_none_missing(llm):
    prompts = ["Who are you?", "A river is", "Reverse this list: red, blue"]
    together = llm.generate(prompts, GREEDY)
    assert together == [llm.generate(prompt, GREEDY)[0] for prompt in prompts]
    assert all(isinstance(text, str) for text in together)


def test_outputs_carry_ids_text_and_reason(full):
    (output,) = full.generate("A river is", SamplingParams(temperature=0, max_tokens=5, ignore_eos=True))
    assert output.prompt_token_ids == full.encode("A river is")
    assert len(output.token_ids) == 5
    assert output.finish_reason == "length"
    assert output.error is None
    assert output.num_cached_tokens == 0
    assert output.text == full.decode(output.token_ids)


def test_ids_win_over_text(full):
    ids = full.encode("A river is")
    (by_ids,) = full.generate(["something else"], GREEDY, prompt_token_ids=[ids])
    (by_text,) = full.generate(["A river is"], GREEDY)
    assert by_ids.token_ids == by_text.token_ids


def test_one_set_of_parameters_each(full):
    params = [SamplingParams(temperature=0, max_tokens=n, ignore_eos=True) for n in (1, 3)]
    outputs = full.generate(["A river is", "A river is"], params)
    assert [len(output.token_ids) for output in outputs] == [1, 3]


def test_lists_of_unequal_length_are_refused(llm):
    with pytest.raises(ValueError, match="expected one for all or 2, got 1"):
        llm.generate(["a", "b"], [GREEDY])
    with pytest.raises(ValueError, match="expected 2 lists as there are prompts, got 1"):
        llm.generate(["a", "b"], GREEDY, prompt_token_ids=[[1]])
    with pytest.raises(ValueError, match="neither"):
        llm.generate()


def test_an_empty_list_gives_an_empty_list(llm):
    assert llm.generate([]) == []


@pytest.mark.parametrize("bad", [[], [-1], [10**6], [5] * 20_000])
def test_a_bad_prompt_is_an_error_and_the_others_finish(full, bad):
    good = full.encode("A river is")
    outputs = full.generate(prompt_token_ids=[good, bad, good], sampling_params=GREEDY)
    assert [output.finish_reason == "error" for output in outputs] == [False, True, False]
    assert outputs[1].error.message
    assert outputs[1].token_ids == []
    assert outputs[0].token_ids == outputs[2].token_ids != []


def test_strings_raise_after_the_batch_and_carry_the_outputs(llm):
    good = llm.encode("A river is")
    with pytest.raises(BatchError, match="request 1") as caught:
        llm.generate(prompt_token_ids=[good, [], good], sampling_params=GREEDY)
    assert caught.value.indices == [1]
    assert len(caught.value.outputs) == 3
    assert caught.value.outputs[2].text


@pytest.mark.parametrize(
    "keyword",
    [
        {"temperature": -1}, {"temperature": math.nan}, {"temperature": math.inf}, {"top_p": 0}, {"top_p": 1.5},
        {"top_p": math.nan}, {"top_k": 0}, {"top_k": -2}, {"min_p": -0.1}, {"min_p": math.nan}, {"max_tokens": -1},
        {"min_tokens": -1}, {"repetition_penalty": 0}, {"presence_penalty": 3}, {"frequency_penalty": math.nan},
        {"logprobs": -1}, {"logprobs": 5000}, {"prompt_logprobs": -1}, {"stop": ""}, {"n": 0}, {"logit_bias": {3: math.nan}},
        {"logprobs_mode": "cooked"}, {"first_n_token_no_eos": 2}, {"top_logprobs": 2, "logprobs": 3},
    ],
    ids=str,
)
def test_each_invalid_parameter_is_named(keyword):
    with pytest.raises(ValueError) as caught:
        SamplingParams(**keyword)
    assert next(iter(keyword)) in str(caught.value)


def test_unknown_keywords_are_type_errors():
    with pytest.raises(TypeError):
        SamplingParams(temprature=1)
    with pytest.raises(TypeError, match="no_such_option"):
        LLM(no_such_option=1)


def test_defaults_are_the_published_ones():
    params = SamplingParams()
    assert (params.temperature, params.top_p, params.top_k, params.max_tokens) == (1.0, 1.0, -1, 16)
    assert (params.seed, params.logprobs, params.prompt_logprobs, params.ignore_eos) == (None, None, None, False)


def test_seeds_are_one_field_mod_two_to_the_64():
    assert SamplingParams(seed=-1).seq_seed == 2**64 - 1
    assert SamplingParams(seq_seed=2**64 + 5).seed == 5
    with pytest.raises(ValueError, match="seed"):
        SamplingParams(seed=1, seq_seed=2)


def test_parameters_can_be_copied():
    params = SamplingParams(temperature=0.5, stop=["x"], logit_bias={3: 1.5})
    for other in (copy.copy(params), copy.deepcopy(params)):
        assert other.temperature == 0.5 and other.stop == ["x"] and other.logit_bias == {3: 1.5}


def test_a_seed_makes_draws_repeatable_and_its_absence_makes_them_differ(full):
    seeded = SamplingParams(seed=7, max_tokens=16, ignore_eos=True)
    first, second = full.generate(["A river is"] * 2, seeded)
    assert first.token_ids == second.token_ids
    free = SamplingParams(max_tokens=16, ignore_eos=True)
    drawn = {tuple(output.token_ids) for output in full.generate(["A river is"] * 8, free)}
    assert len(drawn) > 1


def test_logprobs_are_floats_one_per_token(full):
    params = SamplingParams(temperature=0, max_tokens=4, ignore_eos=True, logprobs=3, prompt_logprobs=True)
    (output,) = full.generate("A river is", params)
    assert len(output.logprobs) == 4 and all(value <= 0 for value in output.logprobs)
    assert [row[0][0] for row in output.top_logprobs] == output.token_ids
    assert all(len(row) == 3 for row in output.top_logprobs)
    assert len(output.prompt_logprobs) == len(output.prompt_token_ids) - 1


def test_a_stream_adds_up_to_the_answer(full):
    params = SamplingParams(temperature=0, max_tokens=12)
    (whole,) = full.generate("A river is", params)
    deltas = list(full.stream("A river is", params))
    assert "".join(delta.text for delta in deltas) == whole.text
    assert sum((delta.token_ids for delta in deltas), []) == whole.token_ids
    assert [delta.finish_reason for delta in deltas[:-1]] == [None] * (len(deltas) - 1)
    assert deltas[-1].finish_reason == whole.finish_reason


def test_leaving_a_stream_cancels_the_request(full):
    stream = full.stream("A river is", SamplingParams(max_tokens=4000, ignore_eos=True))
    next(stream)
    stream.close()
    (output,) = full.generate("A river is", GREEDY)
    assert output.error is None
    assert full.metrics()["num_requests_running"] == 0


def test_a_refused_stream_raises_at_once(full):
    with pytest.raises(ValueError, match=r"prompt_token_ids\[0\]: expected an id in 0..4095"):
        full.stream(prompt_token_ids=[10**6])


def test_stop_strings_end_the_text_before_them(full):
    params = SamplingParams(temperature=0, max_tokens=32)
    (whole,) = full.generate("A river is", params)
    stop = whole.text[4:9]
    (cut,) = full.generate("A river is", SamplingParams(temperature=0, max_tokens=32, stop=stop))
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.finish_reason == "stop"


def test_threads_share_one_engine(llm):
    expected = llm.generate("A river is", GREEDY)
    results = []
    threads = [threading.Thread(target=lambda: results.append(llm.generate("A river is", GREEDY))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_missing_models_are_named(tmp_path):
    with pytest.raises((LookupError, ValueError), match="config.json|folder"):
        LLM(str(tmp_path))
    with pytest.raises((LookupError, ValueError), match="no-such-folder"):
        LLM(str(tmp_path / "no-such-folder"))


@pytest.mark.parametrize(
    "keyword, named",
    [
        ({"expert_parallel_size": 2}, "expert_parallel_size"),
        ({"revision": "x"}, "revision"),
        ({"tokenizer": "other"}, "tokenizer"),
        ({"device": "nvidia"}, "src/backend/cuda"),
        ({"device": "ascend"}, "src/backend/ascend"),
    ],
    ids=str,
)
def test_what_is_not_there_is_refused_by_name(keyword, named):
    with pytest.raises(NotImplementedError, match=named):
        LLM(**keyword)


def test_published_keywords_that_change_nothing_are_accepted():
    with LLM(trust_remote_code=True, seed=3, gpu_memory_utilization=0.5, expert_parallel_size=1) as llm:
        assert llm.model_info.is_builtin


def test_a_closed_llm_says_so():
    llm = LLM()
    llm.close()
    llm.close()
    with pytest.raises(RuntimeError, match="closed"):
        llm.generate("a")


def test_errors_are_exported():
    assert issubclass(deepinfer.OverloadedError, RuntimeError)
