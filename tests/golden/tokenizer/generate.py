#!/usr/bin/env python3
"""Writes tiny_cases.jsonl: what the public `tokenizers` package makes of texts and ids, for tests without the package.

    generate.py        (tokenizers==0.23.3)

A line with "file" begins a tokenizer: that path from the top of the source tree, with the keys of "overrides" replaced.  The lines up to the next such line are its cases:
    {"kind", "text", "ids", "plain_ids"}      plain_ids: without looking for added tokens
    {"kind", "ids", "text", "skip_text"}      kind "decode"; skip_text: without special tokens
"""

import json
import pathlib
import random

from tokenizers import Tokenizer

from compare import KINDS, encode_or_none, only_old, texts
from variants import variants

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TINY = "models/DeepSeek-V4.1-Tiny/tokenizer.json"
BRANCHES = "tests/fixtures/branches/tokenizer.json"
WRITTEN = [
    "", "The quick brown fox jumps over the lazy dog.", "  two blanks,\n\n\ttab  ", "x = [1, 22, 333, 4444]\r\nreturn x", "I'll, we've, don't; HTTP/1.1",
    "北京和東京、こんにちは。カタカナ", "안녕하세요 мир κόσμος שלום مرحبا नमस्ते ภาษาไทย", "👍🏽👨‍👩‍👧🇩🇪 e\u0301 é", "<｜User｜>Hi<｜Assistant｜></think>", "<｜begin▁of▁sentence｜> twice <｜begin▁of▁sentence｜>",
    "0123456789012345678901234567890123456789", "a" * 300, "\x00\x01\x7f\u0085\u2028\ufeff", "\ufffd\ufffd",
]


def cases(raw, added, rng, per_kind, old):
    """The lines for one tokenizer."""
    full = Tokenizer.from_str(json.dumps(raw))
    plain = Tokenizer.from_str(json.dumps({**raw, "added_tokens": []}))
    left = {kind: per_kind for kind in KINDS}
    chosen = [("written", text) for text in WRITTEN]
    source = texts(rng, added, max_atoms=30)
    while any(left.values()):
        kind, text = next(source)
        if left[kind] == 0:
            continue
        left[kind] -= 1
        chosen.append((kind, text))
    for kind, text in chosen:
        text = only_old(text) if old else text
        ids = encode_or_none(full, text)
        if ids is not None:
            yield {"kind": kind, "text": text, "ids": ids, "plain_ids": plain.encode(text, add_special_tokens=False).ids}
    size = full.get_vocab_size()
    for _ in range(2 * per_kind):
        ids = [rng.randrange(size) for _ in range(rng.randint(1, 30))]
        yield {"kind": "decode", "ids": ids, "text": full.decode(ids, skip_special_tokens=False), "skip_text": full.decode(ids)}


def main():
    rng = random.Random(7)
    lines = []
    for path, names, per_kind in ((TINY, ["plain"], 7), (BRANCHES, ["one-regex", "other-splits", "flags", "nfkd-nfc", "ignore-merges"], 2)):
        raw = json.loads((ROOT / path).read_text(encoding="utf-8"))
        for name in names:
            overrides = variants(raw)[name]
            changed = {**raw, **overrides}
            lines.append({"file": path, "variant": name, "overrides": overrides})
            lines.extend(cases(changed, [t["content"] for t in changed["added_tokens"]], rng, per_kind, changed["normalizer"] is not None))
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    (HERE / "tiny_cases.jsonl").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
