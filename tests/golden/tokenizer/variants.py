"""Variants of a tokenizer.json that between them use every component and flag that the loader accepts.

`variants(raw)` gives name -> {key of the file: replacement}, made from the parsed file itself.
"""

import unicodedata

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def _split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _flagged(raw, form=None):
    """Tokens with every combination of flags, and contents that meet, contain and overlap one another.

    `form` is the normalization of the file: what it changes is not looked for in normalized text.
    """
    contents = ["<m>", "<m><m>", "<mm", "word", "wor", "é", "e\u0301", "ﬁ", "中", " blank ", "\n", "Ab", "ab", "<｜x｜>", "!", "00",
                "\t", "\u3000", "\r", " ", "\r\n", "\n\n", "\u00a0", "x\n"]
    vocab = raw["model"]["vocab"]
    # The package numbers tokens itself, without gaps, whatever the file says.
    next_id = 1 + max([*vocab.values(), *(t["id"] for t in raw["added_tokens"])])
    tokens = list(raw["added_tokens"])
    for n in range(56):
        content = contents[n % len(contents)] + ("" if n < len(contents) else str(n))
        is_stable = form is None or unicodedata.normalize(form, content) == content
        token_id = vocab.get(content, next_id)
        next_id += token_id == next_id
        flags = {"single_word": n & 1 != 0, "lstrip": n & 2 != 0, "rstrip": n & 4 != 0, "normalized": n & 8 != 0 and is_stable, "special": n & 16 != 0}
        tokens.append({"id": token_id, "content": content, **flags})
    return tokens


def variants(raw):
    sequence = lambda *parts: {"type": "Sequence", "normalizers": [{"type": p} for p in parts]}
    letters = {"type": "Sequence", "pretokenizers": [_split(r"\s+"), _split(r"(?=[A-Z])|\p{L}+(?<=a)"), BYTE_LEVEL]}
    model = dict(raw["model"])
    return {
        "plain": {},
        "one-regex": {"pre_tokenizer": {**BYTE_LEVEL, "use_regex": True}},
        "no-split": {"pre_tokenizer": BYTE_LEVEL},
        "other-splits": {"pre_tokenizer": letters},
        "flags": {"added_tokens": _flagged(raw)},
        "nfc": {"normalizer": {"type": "NFC"}, "added_tokens": _flagged(raw, "NFC")},
        "nfd": {"normalizer": {"type": "NFD"}, "added_tokens": _flagged(raw, "NFD")},
        "nfkc": {"normalizer": {"type": "NFKC"}, "added_tokens": _flagged(raw, "NFKC")},
        "nfkd-nfc": {"normalizer": sequence("NFKD", "NFC"), "added_tokens": _flagged(raw, "NFKC")},
        "ignore-merges": {"model": {**model, "ignore_merges": True, "merges": model["merges"][::2]}},
        "merge-strings": {"model": {**model, "merges": [m if isinstance(m, str) else " ".join(m) for m in model["merges"]][::-1]}},
    }
