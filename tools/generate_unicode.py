#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_tables.cc and src/tokenizer/unicode_checksums.h: Unicode 16.0.0.

    python3 -m venv /tmp/u && /tmp/u/bin/pip install unicodedata2==16.0.0 tokenizers==0.23.3
    /tmp/u/bin/python tools/generate_unicode.py

Sources: `unicodedata2` 16.0.0 gives general category, combining class, decompositions and, as the oracle of the
checksums, the four normalisation forms.  The public `tokenizers` package gives what that module lacks: the full
lower-case mapping, and the class \\w of its added-token matcher.  It follows a later Unicode, so only the code points
assigned in 16.0.0 are asked for; letters assigned by then have had their lower-case mapping fixed.

The checksums are taken over the oracle's answers and not over the tables, for every scalar value and for the strings of
`random_strings`; unicode_test.cc computes the same sums with our code.
"""

import os
import sys

import tokenizers
import unicodedata2 as ucd
from tokenizers import AddedToken, Tokenizer, models, normalizers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "tokenizer")
CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn").split()
WHITE_SPACE = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
WORD_BIT, WHITE_SPACE_BIT = 32, 64
# Ranges that random strings draw from: letters, marks, jamo, syllables, kana, and scripts whose compositions or
# orderings are unusual, some of them new in Unicode 16.  unicode_test.cc has the same list.
RANGES = [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x17F), (0x1E00, 0x1FFF), (0x300, 0x36F), (0x300, 0x345), (0x1100, 0x11FF),
          (0xAC00, 0xD7A3), (0x900, 0xDFF), (0x1000, 0x109F), (0x3040, 0x30FF), (0xFB1D, 0xFB4F), (0x105C0, 0x105F3),
          (0x11380, 0x113D5), (0x16100, 0x16139), (0x16D40, 0x16D79), (0x1D15E, 0x1D182)]


def word_characters():
    """The code points that stop a `single_word` token from matching beside them."""
    t = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    t.add_tokens([AddedToken("X", single_word=True, normalized=False)])
    x = t.token_to_id("X")
    return {c for c in SCALARS if ucd.category(chr(c)) != "Cn" and x not in t.encode(chr(c) + "X").ids}


def lower_map():
    """code point -> its full lower-case string, where that differs from it."""
    lower = normalizers.Lowercase()
    pairs = ((c, lower.normalize_str(chr(c))) for c in SCALARS if ucd.category(chr(c)) != "Cn")
    return {c: s for c, s in pairs if s != chr(c)}


def lower_ranges(lower):
    """[(first, last, stride, delta)]: c in first, first+stride .. last maps to c + delta; plus the multi-character rest."""
    single = sorted((c, ord(s) - c) for c, s in lower.items() if len(s) == 1)
    ranges = []
    for c, delta in single:
        if ranges:
            first, last, stride, d = ranges[-1]
            if d == delta and (first == last and c - last <= 2 or stride == c - last):
                ranges[-1] = (first, c, c - last, d)
                continue
        ranges.append((c, c, 1, delta))
    return ranges, sorted((c, s) for c, s in lower.items() if len(s) > 1)


def two_level(values, name, ctype, shift):
    """A table over all code points as an index of blocks of 2**shift values and the distinct blocks."""
    blocks, index, pool = {}, [], []
    for at in range(0, len(values), 1 << shift):
        block = tuple(values[at:at + (1 << shift)])
        if block not in blocks:
            blocks[block] = len(blocks)
            pool.extend(block)
        index.append(blocks[block])
    assert len(blocks) <= 256
    return array("uint8_t", f"k{name}Index", index) + array(ctype, f"k{name}Block", pool)


def array(ctype, name, values):
    lines, line = [], ""
    for v in values:
        item = f"{v},"
        if len(line) + len(item) > 98:
            lines.append(line)
            line = ""
        line += item
    lines.append(line)
    return f"const {ctype} {name}[{len(values)}] = {{\n" + "\n".join(lines) + "};\n"


def utf16(codes):
    out = []
    for c in codes:
        out += [c] if c < 0x10000 else [0xD800 + ((c - 0x10000) >> 10), 0xDC00 + ((c - 0x10000) & 0x3FF)]
    return out


def decompositions():
    """(per code point an index into the pool, pool).  An entry is a header, length * 2 + is_compatibility, then UTF-16
    units of one step of the mapping.  Index 0 means none; Hangul is computed."""
    pool, seen, values = [0], {}, [0] * 0x110000
    for c in SCALARS:
        fields = ucd.decomposition(chr(c)).split()
        if not fields:
            continue
        is_compat = fields[0].startswith("<")
        units = utf16(int(f, 16) for f in fields[is_compat:])
        entry = (len(units) * 2 + is_compat, *units)
        if entry not in seen:
            seen[entry] = len(pool)
            pool += entry
        values[c] = seen[entry]
    assert len(pool) < 65536
    return values, pool


def compositions():
    """Sorted (first, second, composed): the canonical pairs that NFC puts together again."""
    rows = []
    for c in SCALARS:
        fields = ucd.decomposition(chr(c)).split()
        if len(fields) == 2 and not fields[0].startswith("<") and ucd.normalize("NFC", chr(c)) == chr(c):
            rows.append((int(fields[0], 16), int(fields[1], 16), c))
    return sorted(rows)


def random_strings():
    """20 000 strings of 1..9 characters from a fixed generator, the same as in unicode_test.cc."""
    state = 1
    def draw(n):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % n
    for _ in range(20000):
        out = []
        for _ in range(1 + draw(9)):
            first, last = RANGES[draw(len(RANGES))]
            out.append(chr(first + draw(last - first + 1)))
        yield "".join(out)


def fnv(chunks):
    h = 0xCBF29CE484222325
    for chunk in chunks:
        for b in chunk:
            h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def checksums(word, lower):
    strings = list(random_strings())
    text = lambda items: fnv(s.encode() + b"\xff" for s in items)
    yield "Category", fnv(bytes([CATEGORIES.index(ucd.category(chr(c)))]) for c in SCALARS)
    yield "WhiteSpace", fnv(bytes([c in WHITE_SPACE]) for c in SCALARS)
    yield "Word", fnv(bytes([c in word]) for c in SCALARS)
    yield "CombiningClass", fnv(bytes([ucd.combining(chr(c))]) for c in SCALARS)
    yield "Lower", text(lower.get(c, chr(c)) for c in SCALARS)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        yield form.capitalize(), text(ucd.normalize(form, chr(c)) for c in SCALARS)
        yield form.capitalize() + "Strings", text(ucd.normalize(form, s) for s in strings)


def main():
    if ucd.unidata_version != "16.0.0" or tokenizers.__version__ != "0.23.3":
        sys.exit("generate_unicode: expected unicodedata2 16.0.0 and tokenizers 0.23.3")
    word, lower = word_characters(), lower_map()
    properties = [CATEGORIES.index(ucd.category(chr(c))) | (c in word) * WORD_BIT | (c in WHITE_SPACE) * WHITE_SPACE_BIT
                  for c in range(0x110000)]
    combining = [ucd.combining(chr(c)) for c in range(0x110000)]
    decomposition, pool = decompositions()
    ranges, special = lower_ranges(lower)
    assert [(c, s) for c, s in special] == [(0x130, "i\u0307")], special
    # The block sizes stand in unicode_tables.h too; these are the smallest sums.
    parts = [two_level(properties, "Property", "uint8_t", 8),
             two_level(combining, "Combining", "uint8_t", 7),
             two_level(decomposition, "Decomposition", "uint16_t", 7)]
    parts.append(array("uint16_t", "kDecompositionPool", pool))
    rows = compositions()
    parts.append(f"const int32_t kNumCompositions = {len(rows)};\n")
    parts.append(array("uint32_t", "kCompositions", [x for row in rows for x in row]))
    parts.append(f"const int32_t kNumLowerRanges = {len(ranges)};\n")
    parts.append(array("int32_t", "kLowerRanges", [x for row in ranges for x in row]))
    with open(os.path.join(ROOT, "unicode_tables.cc"), "w") as f:
        f.write("// Generated by tools/generate_unicode.py from Unicode 16.0.0; do not edit.\n// clang-format off\n"
                "#include \"tokenizer/unicode_tables.h\"\n\nnamespace deepinfer::tokenizer::internal {\n\n")
        f.write("\n".join(parts))
        f.write("\n}  // namespace deepinfer::tokenizer::internal\n")
    with open(os.path.join(ROOT, "unicode_checksums.h"), "w") as f:
        f.write("// Generated by tools/generate_unicode.py from an independent implementation of Unicode 16.0.0; do not\n"
                "// edit.  FNV-1a over the answers for every scalar value, and for 20 000 generated strings.\n"
                "#pragma once\n\n#include <cstdint>\n\nnamespace deepinfer::tokenizer {\n\n")
        for name, value in checksums(word, lower):
            f.write(f"inline constexpr uint64_t k{name}Checksum = 0x{value:016x};\n")
        f.write("\n}  // namespace deepinfer::tokenizer\n")


main()
