#include "tokenizer/incremental_decoder.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/test_file.h"

namespace deepinfer::tokenizer {
namespace {

using Ids = std::vector<int32_t>;

// Pushes the ids one by one and checks what is promised of each piece.
std::string Streamed(const Tokenizer& tokenizer, const Ids& ids,
                     const DecodeOptions& options = {}) {
  IncrementalDecoder decoder(tokenizer, options);
  std::string text;
  for (const int32_t id : ids) {
    const std::string piece = decoder.Push(id);
    EXPECT_TRUE(IsValidUtf8(piece));
    EXPECT_GE(decoder.num_pending_bytes(), 0);
    EXPECT_LE(decoder.num_pending_bytes(), 3);
    text += piece;
  }
  text += decoder.Finish();
  EXPECT_EQ(decoder.num_pending_bytes(), 0);
  return text;
}

TEST(IncrementalDecoder, HoldsACharacterBackUntilItIsWhole) {
  const Tokenizer tokenizer = TestFile().Load();
  IncrementalDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.Push('a'), "a");
  EXPECT_EQ(decoder.Push(0xE4), "");
  EXPECT_EQ(decoder.num_pending_bytes(), 1);
  EXPECT_EQ(decoder.Push(0xBD), "");
  EXPECT_EQ(decoder.num_pending_bytes(), 2);
  EXPECT_EQ(decoder.Push(0xA0), "你");
  EXPECT_EQ(decoder.num_pending_bytes(), 0);
  EXPECT_EQ(decoder.Finish(), "");
}

TEST(IncrementalDecoder, WhatTurnsOutNotToBeACharacterComesAtOnce) {
  const Tokenizer tokenizer = TestFile().Load();
  IncrementalDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.Push(0xF0), "");
  EXPECT_EQ(decoder.Push(0x9F), "");
  EXPECT_EQ(decoder.Push('x'), "\uFFFDx");
  EXPECT_EQ(decoder.Push(0x80), "\uFFFD");
  EXPECT_EQ(decoder.Push(0xC0), "\uFFFD");
}

TEST(IncrementalDecoder, FinishGivesTheIncompleteCharacterAndStartsAnew) {
  const Tokenizer tokenizer = TestFile().Load();
  IncrementalDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.Push(0xE4), "");
  EXPECT_EQ(decoder.Finish(), "\uFFFD");
  EXPECT_EQ(decoder.Finish(), "");
  EXPECT_EQ(decoder.Push(0xBD), "\uFFFD");  // no longer the second byte of anything
}

TEST(IncrementalDecoder, EverySplitOfCharactersOverTokensGivesTheText) {
  const std::string text = "é你😀";  // 2, 3 and 4 bytes
  const size_t n = text.size();
  TestFile file;
  std::vector<Ids> id_of(n + 1, Ids(n + 1, -1));  // [start][end]
  for (size_t start = 0; start < n; ++start) {
    id_of[start][start + 1] = static_cast<uint8_t>(text[start]);
    for (size_t end = start + 2; end <= n; ++end) {
      id_of[start][end] = file.AddToken(text.substr(start, end - start));
    }
  }
  const Tokenizer tokenizer = file.Load();
  for (uint32_t cuts = 0; cuts < 1u << (n - 1); ++cuts) {
    Ids ids;
    size_t start = 0;
    for (size_t end = 1; end <= n; ++end) {
      if (end < n && (cuts >> (end - 1) & 1) == 0) continue;
      ids.push_back(id_of[start][end]);
      start = end;
    }
    ASSERT_EQ(Streamed(tokenizer, ids), text) << cuts;
    ASSERT_EQ(tokenizer.Decode(ids), text) << cuts;
  }
}

TEST(IncrementalDecoder, EveryShortStringOfBytesGivesWhatDecodeGives) {
  const Tokenizer tokenizer = TestFile().Load();
  // The bytes that Unicode's table of well-formed sequences tells apart.
  const Ids kinds = {0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2,
                     0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
  Ids ids(4);
  for (const int32_t a : kinds) {
    for (const int32_t b : kinds) {
      for (const int32_t c : kinds) {
        for (const int32_t d : kinds) {
          ids = {a, b, c, d};
          ASSERT_EQ(Streamed(tokenizer, ids), tokenizer.Decode(ids))
              << a << " " << b << " " << c << " " << d;
        }
      }
    }
  }
}

TEST(IncrementalDecoder, SeveralIdsAtOnceGiveTheSame) {
  const Tokenizer tokenizer = TestFile().Load();
  const std::string text = "né你😀";
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
  for (size_t cut = 0; cut <= ids.size(); ++cut) {
    IncrementalDecoder decoder(tokenizer);
    const std::span<const int32_t> all(ids);
    const std::string first = decoder.Push(all.first(cut));
    EXPECT_TRUE(IsValidUtf8(first));
    EXPECT_EQ(first.find("\uFFFD"), std::string::npos);
    const std::string second = decoder.Push(all.subspan(cut));
    EXPECT_EQ(first + second, text);
    EXPECT_EQ(decoder.Finish(), "");
  }
}

TEST(IncrementalDecoder, SkippedTokensAndIdsWithoutTokenLeaveNoTrace) {
  TestFile file;
  const int32_t special = file.AddAdded({.id = -1, .content = "<s>", .special = true});
  const int32_t plain = file.AddAdded({.id = -1, .content = "<p>"});
  const Tokenizer tokenizer = file.Load();
  const Ids ids = {0xE4, special, 0xBD, -1, 1 << 30, 0xA0, plain};
  EXPECT_EQ(Streamed(tokenizer, ids, {.skip_special = true}), "你<p>");
  EXPECT_EQ(Streamed(tokenizer, ids), "\uFFFD<s>\uFFFD\uFFFD<p>");
}

}  // namespace
}  // namespace deepinfer::tokenizer
