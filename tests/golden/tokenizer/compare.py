#!/usr/bin/env python3
"""Compares tokenizer_tool with the public `tokenizers` package, live.

    compare.py TOOL TOKENIZER_JSON [--megabytes N] [--seed N] [--files FILE...]

Draws N megabytes of texts of many kinds, adds those of the files, encodes them with both (with and without added tokens), and decodes ids with both, random ids
included.  Prints what was compared, and every kind's first difference; exits with 1 if there is any.  Needs `tokenizers`.
"""

import argparse
import json
import random
import struct
import subprocess
import sys
import time

from tokenizers import Tokenizer

SCRIPTS = {
    "latin": (0x20, 0x24F), "greek": (0x370, 0x3FF), "cyrillic": (0x400, 0x4FF), "hebrew": (0x590, 0x5FF),
    "arabic": (0x600, 0x6FF), "devanagari": (0x900, 0x97F), "thai": (0xE00, 0xE7F), "kana": (0x3030, 0x3110),
    "hangul": (0xAC00, 0xD7A3), "han": (0x4DFF, 0x9FA7), "han_wide": (0x9FA0, 0xA000), "marks": (0x300, 0x36F),
    "punctuation": (0x2000, 0x206F), "full_width": (0xFF00, 0xFFEF), "emoji": (0x1F300, 0x1FAFF),
    "numbers": (0x2150, 0x218F), "private": (0xE000, 0xE0FF), "plane1": (0x10000, 0x1FFFF), "plane2": (0x20000, 0x2FFFF),
}


def scalar(rng, first=0, last=0x10FFFF):
    while True:
        c = rng.randint(first, last)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def texts(rng, added):
    """Endless (kind, text)."""
    ascii_mix = [chr(c) for c in range(128)]
    spaces = [" ", "  ", "\t", "\n", "\r", "\r\n", "\u00a0", "\u3000", "\u2028", "\u0085", "\x0b", "\x0c"]
    atoms = [*spaces, "a", "Z", "é", "e\u0301", "9", "12", "٣", "Ⅷ", "½", "，", "。", "中", "文", "の", "ー", "・", "\u3099", "\u309b",
             "\u3040", "!", "'", "'s", "$", "€", "<", "|", "｜", "▁", "\x00", "\x7f", "\u200d", "\u200c", "\ufeff", "\ufffd", "👍🏽", "👨‍👩‍👧",
             "🇩🇪", "\U000e0001", "\u180e", "ǅ", "İ", "ß", "ﬁ", "각", "\u1100\u1161", "क्षि", "\u0e33"]
    words = ["the", "of", " and", " to", "http", "://", "www", ".com", "def", " return", "()", "    ", "\n\n", "=", "+=", "Straße",
             " naïve", "北京", "東京", "こんにちは", "カタカナ", "안녕", "мир", "κόσμος", "שלום", "مرحبا", "नमस्ते", "1234567", "3.14", "-", "—", "…", "'ll"]
    while True:
        kind = rng.choice(["random", "script", "atoms", "words", "added", "digits", "space", "ascii", "mix"])
        n = rng.randint(1, 400)
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


def long_texts(rng):
    """A few of a megabyte, with few or no places to split."""
    yield "a" * 1_000_000
    yield "".join(rng.choice("abcdefgh") for _ in range(1_000_000))
    yield "中文" * 170_000
    yield " " * 1_000_000
    yield "7" * 1_000_000
    yield "!?" * 500_000
    yield "e" + "\u0301" * 500_000
    yield "\x00" * 1_000_000
    yield "\u3040" * 300_000
    yield ("a" * 97 + " ") * 10_000


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


class Comparison:
    def __init__(self, tool, path):
        self.tool, self.path = tool, path
        self.reference = Tokenizer.from_file(path)
        with open(path, encoding="utf-8") as f:
            raw = json.load(f)
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
            theirs = [e.ids for e in (reference.encode(t, add_special_tokens=False) for t in batch)]
            seconds = time.process_time() - start
            ours = [list(struct.unpack(f"<{len(r) // 4}i", r)) for r in unpack(out, 4)]
            for text, a, b in zip(batch, ours, theirs, strict=True):
                if a != b:
                    self.fault(f"{label} {command}", text, a, b)
            print(f"{label} {command}: {len(batch)} texts, {len(data) / 1e6:.1f} MB, {sum(map(len, theirs))} ids; ours {speed};"
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("tokenizer_json")
    parser.add_argument("--megabytes", type=float, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", nargs="*", default=[])
    options = parser.parse_args()
    rng = random.Random(options.seed)
    comparison = Comparison(options.tool, options.tokenizer_json)
    kinds, size = {}, 0
    for kind, text in texts(rng, comparison.added):
        kinds.setdefault(kind, []).append(text)
        size += len(text.encode())
        if size > options.megabytes * 1e6:
            break
    for kind, batch in sorted(kinds.items()):
        comparison.decode(kind, comparison.encode(kind, batch)[:2000])
    comparison.encode("long", list(long_texts(rng)))
    if options.files:
        comparison.encode("files", list(file_texts(options.files)))
    size = comparison.reference.get_vocab_size()
    comparison.decode("every id", [[i] for i in range(size)])
    comparison.decode("random ids", [[rng.randint(-2, size + 3) for _ in range(rng.randint(0, 60))] for _ in range(20000)])
    print(f"{comparison.faults} differences")
    sys.exit(1 if comparison.faults else 0)


main()
