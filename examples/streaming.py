"""Prints an answer while it is being made."""

import sys

from deepinfer import LLM, SamplingParams


def main() -> None:
    question = " ".join(sys.argv[1:]) or "Who are you?"
    with LLM() as llm:
        params = SamplingParams(temperature=0, max_tokens=64)
        for delta in llm.stream(prompt_token_ids=llm.encode_chat(question), sampling_params=params):
            print(delta.text, end="", flush=True)
    print()


if __name__ == "__main__":
    main()
