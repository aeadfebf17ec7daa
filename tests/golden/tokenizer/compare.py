#!/usr/bin/env python3
"""Compares tokenizer_tool with the public `tokenizers` package, live.

    compare.py TOOL TOKENIZER_JSON [--megabytes N] [--long-kilobytes N] [--lists N] [--seed N] [--files FILE...]

Draws N megabytes of texts of many kinds, adds long words and the texts of the files, encodes them with both (with and without added tokens), decodes ids with both,
random ids included, and derives the engram's compressed ids with both.  Prints what was compared, and the first differences; exits with 1 if there is any.  Needs
`tokenizers`.
"""

import argparse
import json
import random
import struct
import subprocess
import sys
import time
import unicodedata

from tokenizers import Regex, Tokenizer, normalizers

SCRIPTS = {
    "latin": (0x20, 0x24F), "greek": (0x370, 0x3FF), "cyrillic": (0x400, 0x4FF), "hebrew": (0x590, 0x5FF),
    "arabic": (0x600, 0x6FF), "devanagari": (0x900, 0x97F), "thai": (0xE00, 0xE7F), "kana": (0x3030, 0x3110),
    "hangul": (0xAC00, 0xD7A3), "han": (0x4DFF, 0x9FA7), "han_wide": (0x9FA0, 0xA000), "marks": (0x300, 0x36F),
    "punctuation": (0x2000, 0x206F), "full_width": (0xFF00, 0xFFEF), "emoji": (0x1F300, 0x1FAFF),
    "numbers": (0x2150, 0x218F), "private": (0xE000, 0xE0FF), "plane1": (0x10000, 0x1FFFF), "plane2": (0x20000, 0x2FFFF),
}

KINDS = ["random", "script", "atoms", "words", "added", "digits", "space", "ascii", "mix"]


def scalar(rng, first=0, last=0x10FFFF):
    while True:
        c = rng.randint(first, last)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def texts(rng, added, max_atoms=400):
    """Endless (kind, text)."""
    ascii_mix = [chr(c) for c in range(128)]
    spaces = [" ", "  ", "\t", "\n", "\r", "\r\n", "\u00a0", "\u3000", "\u2028", "\u0085", "\x0b", "\x0c"]
    atoms = [*spaces, "a", "Z", "é", "e\u0301", "9", "12", "٣", "Ⅷ", "½", "，", "。", "中", "文", "の", "ー", "・", "\u3099", "\u309b",
             "\u3040", "!", "'", "'s", "$", "€", "<", "|", "｜", "▁", "\x00", "\x7f", "\u200d", "\u200c", "\ufeff", "\ufffd", "👍🏽", "👨‍👩‍👧",
             "🇩🇪", "\U000e0001", "\u180e", "ǅ", "İ", "ß", "ﬁ", "각", "\u1100\u1161", "क्षि", "\u0e33"]
    words = ["the", "of", " and", " to", "http", "://", "www", ".com", "def", " return", "()", "    ", "\n\n", "=", "+=", "Straße",
             " naïve", "北京", "東京", "こんにちは", "カタカナ", "안녕", "мир", "κόσμος", "שלום", "مرحبا", "नमस्ते", "1234567", "3.14", "-", "—", "…", "'ll"]
    while True:
        kind = rng.choice(KINDS)
        n = rng.randint(1, max_atoms)
        if kind == "random":
            yield kind, "".join(scalar(rng) for _ in range(n))
        elif kind == "script":
            a, b = (rng.choice(list(SCRIPTS.values())) for _ in range(2))
            yield kind, "".join(scalar(rng, *rng.choice([a, a, b, (0x20, 0x40)])) for _ in range(n))
        elif kind == "atoms":
            yield kind, "".join(rng.choice(atoms) for _ in range(n))
        elif kind == "words":
            yield kind, "".join(rng.choice([" ", ""]) + rng.choice(words) for _ in range(n))
        elif kind == "added":
            pool = atoms + added * 3
            yield kind, "".join(t[:rng.randint(1, len(t))] if rng.random() < 0.1 else t for t in (rng.choice(pool) for _ in range(n)))
        elif kind == "digits":
            yield kind, "".join(rng.choice("0123456789٠५Ⅷ²½,. ") for _ in range(n))
        elif kind == "space":
            yield kind, "".join(rng.choice(spaces + ["a", "1", "中", "."]) for _ in range(n))
        elif kind == "ascii":
            yield kind, "".join(rng.choice(ascii_mix) for _ in range(n))
        else:
            yield kind, "".join(rng.choice([scalar(rng), rng.choice(atoms), rng.choice(words), rng.choice(added or atoms)]) for _ in range(n))


def long_texts(rng, size):
    """A few of about `size` bytes, with few or no places to split."""
    yield "a" * size
    yield "".join(rng.choice("abcdefgh") for _ in range(size))
    yield "中文" * (size // 6)
    yield " " * size
    yield "7" * size
    yield "!?" * (size // 2)
    yield "e" + "\u0301" * (size // 2)
    yield "\x00" * size
    yield "\u3040" * (size // 3)
    yield ("a" * 97 + " ") * (size // 98)


def file_texts(names):
    for name in names:
        with open(name, encoding="utf-8", errors="replace") as f:
            text = f.read()
        for at in range(0, len(text), 20_000):
            yield text[at:at + 20_000]


def records(items):
    return b"".join(struct.pack("<I", count) + data for count, data in items)


def unpack(data, width):
    at = 0
    while at < len(data):
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
        yield data[at:at + count * width]
        at += count * width


def only_old(text):
    return "".join(c for c in text if unicodedata.ucd_3_2_0.category(c) != "Cn")


def encode_or_none(reference, text):
    """None where the package panics, which it does on some overlaps of tokens with lstrip or rstrip."""
    try:
        return reference.encode(text, add_special_tokens=False).ids
    except BaseException as e:
        if type(e).__name__ != "PanicException":
            raise
        return None


class Comparison:
    def __init__(self, tool, path):
        self.tool, self.path = tool, path
        self.reference = Tokenizer.from_file(path)
        with open(path, encoding="utf-8") as f:
            raw = json.load(f)
        # The package's normalizers know an older Unicode than ours, so those get characters that are old enough.
        self.only_old = raw.get("normalizer") not in (None, {"type": "Sequence", "normalizers": []})
        self.added = [t["content"] for t in raw["added_tokens"]]
        raw["added_tokens"] = []
        self.plain = Tokenizer.from_str(json.dumps(raw))
        self.faults = 0

    def run(self, command, data):
        done = subprocess.run([self.tool, command, self.path], input=data, capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{command}: {done.stderr.decode()}")
        return done.stdout, done.stderr.decode().strip()

    def fault(self, label, where, ours, theirs):
        self.faults += 1
        if self.faults <= 10:
            at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
            print(f"DIFFERENT {label} {where!r:.200}: at {at}: ours {ours[at:at + 8]!r} theirs {theirs[at:at + 8]!r}")

    def encode(self, label, batch):
        data = records((len(b), b) for b in (t.encode() for t in batch))
        for command, reference in (("encode", self.reference), ("encode-plain", self.plain)):
            out, speed = self.run(command, data)
            start = time.process_time()
            theirs = [encode_or_none(reference, t) for t in batch]
            seconds = time.process_time() - start
            ours = [list(struct.unpack(f"<{len(r) // 4}i", r)) for r in unpack(out, 4)]
            for text, a, b in zip(batch, ours, theirs, strict=True):
                if b is not None and a != b:
                    self.fault(f"{label} {command}", text, a, b)
            refused = theirs.count(None)
            print(f"{label} {command}: {len(batch)} texts{f' ({refused} only ours)' * (refused > 0)}, {len(data) / 1e6:.1f} MB,"
                  f" {sum(map(len, ours))} ids; ours {speed};"
                  f" theirs {len(data) / 1e6 / seconds:.1f} MB/s")
        return ours

    def decode(self, label, lists):
        data = records((len(ids), struct.pack(f"<{len(ids)}i", *ids)) for ids in lists)
        for command, skip in (("decode", False), ("decode-skip", True)):
            out, _ = self.run(command, data)
            for ids, a in zip(lists, unpack(out, 1), strict=True):
                b = self.reference.decode([i for i in ids if i >= 0], skip_special_tokens=skip).encode()
                if a != b:
                    self.fault(f"{label} {command}", ids, a, b)
            print(f"{label} {command}: {len(lists)} lists, {sum(map(len, lists))} ids")

    def engram(self):
        """Each token's compressed id against the definition, written with the package's own normalizers."""
        out, _ = self.run("engram", b"")
        ours = list(struct.unpack(f"<{len(out) // 4}i", out))[1:]
        stand_in = "\ue000"
        normalizer = normalizers.Sequence([
            normalizers.NFKC(), normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(),
            normalizers.Replace(Regex(r"[ \t\r\n]+"), " "), normalizers.Replace(Regex(r"\A \z"), stand_in),
            normalizers.Strip(), normalizers.Replace(stand_in, " "),
        ])
        theirs, id_of_key = [], {}
        for i in range(len(ours)):
            text = self.reference.decode([i], skip_special_tokens=False)
            key = self.reference.id_to_token(i) if "\ufffd" in text else normalizer.normalize_str(text) or text
            theirs.append(id_of_key.setdefault(key, len(id_of_key)))
        if ours != theirs:
            self.fault("engram", self.path, ours, theirs)
        print(f"engram: {len(ours)} ids, {len(id_of_key)} compressed ids")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("tokenizer_json")
    parser.add_argument("--megabytes", type=float, default=2)
    parser.add_argument("--long-kilobytes", type=int, default=1000)
    parser.add_argument("--lists", type=int, default=20000, help="of random ids")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", nargs="*", default=[])
    options = parser.parse_args()
    rng = random.Random(options.seed)
    comparison = Comparison(options.tool, options.tokenizer_json)
    kinds, size = {}, 0
    for kind, text in texts(rng, comparison.added):
        if comparison.only_old:
            text = only_old(text)
        kinds.setdefault(kind, []).append(text)
        size += len(text.encode())
        if size > options.megabytes * 1e6:
            break
    for kind, batch in sorted(kinds.items()):
        comparison.decode(kind, comparison.encode(kind, batch)[:2000])
    comparison.encode("long", list(long_texts(rng, options.long_kilobytes * 1000)))
    if options.files:
        comparison.encode("files", list(file_texts(options.files)))
    size = comparison.reference.get_vocab_size()
    comparison.decode("every id", [[i] for i in range(size)])
    comparison.decode("random ids", [[rng.randint(-2, size + 3) for _ in range(rng.randint(0, 60))] for _ in range(options.lists)])
    comparison.engram()
    print(f"{comparison.faults} differences")
    sys.exit(1 if comparison.faults else 0)


if __name__ == "__main__":
    main()
