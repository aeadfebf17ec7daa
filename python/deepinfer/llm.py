"""LLM: answers lists of prompts, or streams one of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from deepinfer import _native
from deepinfer._native import RequestOutput, SamplingParams, TokenDelta


# Keywords of the published engine whose only supported values are these; another value is refused by name.
_FIXED_KEYWORDS: dict[str, tuple[Any, ...]] = {
    "expert_parallel_size": (1,),
    "data_parallel_size": (0, 1),
    "context_parallel_size": (1,),
    "revision": (None,),
    "tokenizer_revision": (None,),
    "load_format": ("auto",),
    "chunked_prefill": (True, False),  # prompts are always computed in chunks where that helps
    "offline_inference": (True, False),
    "disable_log_stats": (True, False),
    "trust_remote_code": (True, False),  # no code is ever loaded from a checkpoint
    "stop_preempted_request": (False,),
}


class BatchError(RuntimeError):
    """Some requests of a batch failed; the others finished.

    Attributes:
        indices: positions of the failed requests, ascending.
        outputs: one RequestOutput for every request, in order; the failed ones carry their `error`.
    """

    def __init__(self, outputs: list[RequestOutput]) -> None:
        self.outputs = outputs
        self.indices = [i for i, output in enumerate(outputs) if output.error is not None]
        lines = [f"request {i}: {outputs[i].error}" for i in self.indices[:5]]
        if len(self.indices) > 5:
            lines.append(f"and {len(self.indices) - 5} more")
        super().__init__(f"{len(self.indices)} of {len(outputs)} requests failed: " + "; ".join(lines))


class _ProgressBar:
    """One line on a terminal's stderr, from the second second on; nothing elsewhere."""

    def __init__(self, wanted: bool) -> None:
        self._on = wanted and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._drawn = False

    def update(self, num_finished: int, num_requests: int, num_tokens: int) -> None:
        seconds = time.monotonic() - self._begin
        if not self._on or (seconds < 1.0 and not self._drawn):
            return
        width = 24
        filled = width * num_finished // max(num_requests, 1)
        bar = "#" * filled + "." * (width - filled)
        rate = num_tokens / max(seconds, 1e-9)
        sys.stderr.write(f"\r[{bar}] {num_finished}/{num_requests} requests, {num_tokens} tokens, {rate:.0f} tokens/s ")
        sys.stderr.flush()
        self._drawn = True

    def close(self) -> None:
        if self._drawn:
            sys.stderr.write("\n")


def _option_text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"{name}: expected a string, number or bool, got {type(value).__name__}")


def _check_fixed_keywords(keywords: dict[str, Any]) -> None:
    for name, allowed in _FIXED_KEYWORDS.items():
        if name not in keywords:
            continue
        value = keywords.pop(name)
        if value not in allowed:
            names = " or ".join(repr(a) for a in allowed)
            raise NotImplementedError(f"{name}: only {names} is supported, got {value!r}")
    # They say how to share a GPU, and seed a generator that nothing here draws from.
    share = keywords.pop("gpu_memory_utilization", 0.9)
    if not 0 < share <= 1:
        raise ValueError(f"gpu_memory_utilization: expected a number in (0, 1], got {share!r}")
    seed = keywords.pop("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed: expected an int, got {type(seed).__name__}")


def _native_options(model: str | os.PathLike[str] | None, keywords: dict[str, Any]) -> list[tuple[str, str]]:
    known = set(_native.engine_option_names())
    options = [] if model is None else [("model", os.fspath(model))]
    for name, value in keywords.items():
        if name not in known:
            raise TypeError(f"LLM() got an unexpected keyword argument {name!r}")
        if value is not None:
            options.append((name, _option_text(name, value)))
    return options


class LLM:
    """A model, ready to answer.

    Args:
        model: folder of a checkpoint, or a model id of the hub; None takes the one that DEEPINFER_HF_MODEL_DIR names,
            else the small model that comes with the package.
        tokenizer: must be None or equal to `model`: a checkpoint brings its tokenizer.
        decode_sequence: what `generate` returns: strings (True) or RequestOutputs (False).
        keywords: options of the engine by name (`deepinfer generate --help` lists them), e.g. num_threads=2,
            numerics="bf16", max_model_len=4096.  Unknown names are a TypeError.

    Safe to use from several threads: their requests share the batch.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        tokenizer: str | os.PathLike[str] | None = None,
        *,
        decode_sequence: bool = True,
        **keywords: Any,
    ) -> None:
        if tokenizer is not None and (model is None or os.fspath(tokenizer) != os.fspath(model)):
            raise NotImplementedError(f"tokenizer: only the checkpoint's own is supported, got {tokenizer!r}")
        _check_fixed_keywords(keywords)
        self._decode_sequence = decode_sequence
        self._llm: _native.LLM | None = _native.LLM.create(_native_options(model, keywords))

    def generate(
        self,
        prompts: str | Sequence[str] | None = None,
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        prompt_token_ids: Sequence[Sequence[int]] | None = None,
        use_tqdm: bool = True,
        multi_modal_data: Any = None,
    ) -> list[str] | list[RequestOutput]:
        """Answers all prompts and returns when the last is done.

        Args:
            prompts: a prompt or a list of them.
            sampling_params: one for all, or one for each request; None means SamplingParams().
            prompt_token_ids: ids instead of text; they win when both are given.
            use_tqdm: show a progress bar on a terminal when it takes longer than a second.
            multi_modal_data: images; not supported yet, must be None.

        Returns:
            With decode_sequence=True one string for each request, else one RequestOutput for each; in order, none missing.

        Raises:
            BatchError: with decode_sequence=True, after the whole batch finished, when requests failed.
            ValueError: neither prompts nor ids, or lists of unequal length.
        """
        if multi_modal_data is not None:
            raise NotImplementedError("multi_modal_data: images are not in this version")
        requests = self._requests(prompts, sampling_params, prompt_token_ids)
        bar = _ProgressBar(use_tqdm)
        try:
            outputs = self._native_llm().generate(requests, bar.update)
        finally:
            bar.close()
        if not self._decode_sequence:
            return outputs
        if any(output.error is not None for output in outputs):
            raise BatchError(outputs)
        return [output.text for output in outputs]

    def stream(
        self,
        prompt: str | None = None,
        sampling_params: SamplingParams | None = None,
        prompt_token_ids: Sequence[int] | None = None,
    ) -> Iterator[TokenDelta]:
        """Answers one prompt piece by piece; the last piece has a finish_reason.

        A request that is refused raises here and now.  Leaving the loop early cancels the request.
        """
        if prompt is None and prompt_token_ids is None:
            raise ValueError("prompt: expected a prompt or prompt_token_ids, got neither")
        ids = None if prompt_token_ids is None else [int(i) for i in prompt_token_ids]
        handle = self._native_llm().submit(_native.Request.make(prompt, ids, sampling_params or SamplingParams()))
        return _deltas(handle)

    def encode(self, text: str) -> list[int]:
        """Token ids of `text` as a prompt."""
        return self._native_llm().encode(text)

    def encode_chat(self, text: str) -> list[int]:
        """Token ids of `text` as one user turn without thinking, ready for an answer."""
        return self._native_llm().encode_chat(text)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of token ids, without tokens flagged special."""
        return self._native_llm().decode([int(i) for i in token_ids])

    @property
    def model_info(self) -> _native.ModelInfo:
        """Facts of the loaded model."""
        return self._native_llm().model_info

    def metrics(self) -> dict[str, int]:
        """Counters of the engine, by name."""
        return self._native_llm().metrics()

    def close(self) -> None:
        """Ends what runs and frees the model.  May be called again."""
        self._llm = None

    def __enter__(self) -> LLM:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _native_llm(self) -> _native.LLM:
        if self._llm is None:
            raise RuntimeError("this LLM is closed")
        return self._llm

    def _requests(
        self,
        prompts: str | Sequence[str] | None,
        sampling_params: SamplingParams | Sequence[SamplingParams] | None,
        prompt_token_ids: Sequence[Sequence[int]] | None,
    ) -> list[_native.Request]:
        texts = [prompts] if isinstance(prompts, str) else prompts
        if texts is None and prompt_token_ids is None:
            raise ValueError("prompts: expected prompts or prompt_token_ids, got neither")
        if texts is not None and prompt_token_ids is not None and len(texts) != len(prompt_token_ids):
            raise ValueError(f"prompt_token_ids: expected {len(texts)} lists as there are prompts, got {len(prompt_token_ids)}")
        count = len(texts) if texts is not None else len(prompt_token_ids or ())
        params = _params_of_each(sampling_params, count)
        requests = []
        for i in range(count):
            ids = None if prompt_token_ids is None else [int(t) for t in prompt_token_ids[i]]
            text = None if texts is None else texts[i]
            requests.append(_native.Request.make(text, ids, params[i]))
        return requests


def _params_of_each(
    params: SamplingParams | Sequence[SamplingParams] | None, count: int
) -> Sequence[SamplingParams]:
    if params is None:
        return [SamplingParams()] * count
    if isinstance(params, SamplingParams):
        return [params] * count
    if len(params) != count:
        raise ValueError(f"sampling_params: expected one for all or {count}, got {len(params)}")
    return params


def _deltas(handle: _native.RequestHandle) -> Iterator[TokenDelta]:
    try:
        while True:
            delta = handle.next()
            assert delta is not None  # waits for ever
            if delta.error is not None:
                raise _native.exception_for(delta.error.code, delta.error.message)
            yield delta
            if delta.finish_reason is not None:
                return
    finally:
        handle.cancel()
