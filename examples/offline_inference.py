"""Answers a few prompts offline.

Runs on the built-in tiny model, or on what these variables name:
    DEEPINFER_HF_MODEL_DIR   a local copy of a checkpoint
    DEEPINFER_HF_MODEL_ID    a model id of the hub, downloaded at first use
"""

import os
import sys

from deepinfer import LLM, SamplingParams

PROMPTS = ["Who are you?", "Reverse this list: red, blue, green", "What is a river?"]


def main() -> None:
    llm = LLM(model=os.environ.get("DEEPINFER_HF_MODEL_DIR") or os.environ.get("DEEPINFER_HF_MODEL_ID"))
    print(f"model: {llm.model_info.name} on {llm.model_info.device}", file=sys.stderr)
    params = SamplingParams(temperature=0, max_tokens=48)
    prompts = [llm.encode_chat(prompt) for prompt in PROMPTS]
    for prompt, answer in zip(PROMPTS, llm.generate(prompt_token_ids=prompts, sampling_params=params)):
        print(f"> {prompt}\n{answer}\n")
    llm.close()


if __name__ == "__main__":
    main()
