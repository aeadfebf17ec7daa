#include "base/hash.h"

#include <gtest/gtest.h>

namespace deepinfer {
namespace {

TEST(Hash, Sha256KnownAnswers) {  // FIPS 180-2, appendix B
  EXPECT_EQ(HexOf(Sha256Of("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexOf(Sha256Of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Hash, Sha256InPiecesEqualsWholeAndStartsAfresh) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("");
  hash.Update("bc");
  EXPECT_EQ(hash.Finish(), Sha256Of("abc"));
  EXPECT_EQ(hash.Finish(), Sha256Of(""));
}

TEST(Hash, Xxh3KnownAnswers) {  // of the published xxhsum tool
  EXPECT_EQ(Xxh3Of(""), 0x2d06800538d394c2u);
  EXPECT_EQ(Xxh3Of("abc"), 0x78af5f94892f3950u);
  EXPECT_NE(Xxh3Of("abc", 1), Xxh3Of("abc"));
  EXPECT_EQ(HexOf(Xxh3Of128("")), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, GitBlobSha1) {  // git hash-object
  EXPECT_EQ(GitBlobSha1Hex(""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(GitBlobSha1Hex("hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
}

}  // namespace
}  // namespace deepinfer
