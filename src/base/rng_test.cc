#include "base/rng.h"

#include <gtest/gtest.h>

namespace deepinfer {
namespace {

// The known-answer vectors published with the paper's Random123 library.
TEST(Philox, PublishedKnownAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, TokenStreamWords) {
  struct Row {
    uint64_t seed;
    uint64_t position;
    DrawPurpose purpose;
    uint32_t word0;
    uint32_t word1;
  };
  for (const Row& row : {
           Row{0, 0, DrawPurpose::kSample, 0x6627e8d5, 0xe169c58d},
           Row{42, 7, DrawPurpose::kSample, 0xe0020480, 0xbedb05bb},
           Row{42, 7, DrawPurpose::kResample, 0xf7dd2f89, 0xbf20b7d0},
           Row{42, 7, DrawPurpose::kAcceptTest, 0x1ebff96f, 0x2087da6f},
           Row{~uint64_t{0}, 4096, DrawPurpose::kSample, 0x059dabd1, 0x6c1ba988},
       }) {
    PhiloxStream stream = TokenStream(row.seed, row.position, row.purpose);
    EXPECT_EQ(stream.NextWord(), row.word0);
    EXPECT_EQ(stream.NextWord(), row.word1);
  }
}

TEST(Philox, StreamWalksBlocksInOrder) {
  PhiloxStream stream(5, 9);
  for (uint64_t block = 0; block < 3; ++block) {
    for (const uint32_t word : PhiloxStream(5, 9).Block(block)) EXPECT_EQ(stream.NextWord(), word);
  }
}

TEST(Philox, UniformStaysInsideTheOpenInterval) {
  PhiloxStream stream(1, 2);
  double sum = 0;
  for (int32_t i = 0; i < 10'000; ++i) {
    const double u = stream.NextUniform();
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);  // 7 standard deviations of the mean
}

}  // namespace
}  // namespace deepinfer
