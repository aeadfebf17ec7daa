#include "deepinfer/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace deepinfer {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("n: expected an even number, got 3");
  return n / 2;
}

Result<int> Quarter(int n) {
  DI_ASSIGN_OR_RETURN(const int half, Half(n));
  return Half(half);
}

TEST(Status, ToStringNamesCodeAndMessage) {
  EXPECT_EQ(OkStatus().ToString(), "ok");
  EXPECT_EQ(NotFound("model: no such folder").ToString(), "not_found: model: no such folder");
}

TEST(Status, ContextGoesInFront) {
  EXPECT_EQ(DataLoss("cut at byte 7").WithContext("a.bin").message(), "a.bin: cut at byte 7");
  EXPECT_TRUE(OkStatus().WithContext("a.bin").ok());
}

TEST(Status, EveryCodeHasNameAndHttpStatus) {
  for (int32_t c = 0; c <= static_cast<int32_t>(StatusCode::kInternal); ++c) {
    EXPECT_FALSE(StatusCodeName(static_cast<StatusCode>(c)).empty());
    EXPECT_GE(HttpStatusOf(static_cast<StatusCode>(c)), 200);
  }
  EXPECT_EQ(HttpStatusOf(StatusCode::kResourceExhausted), 429);
}

TEST(Result, AssignOrReturnPassesValueAndFailureOn) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().code(), StatusCode::kInvalidArgument);
}

TEST(Result, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 5);
}

TEST(ResultDeathTest, ReadingAFailedResultAborts) {
  EXPECT_DEATH((void)*Half(3), "expected an even number");
}

}  // namespace
}  // namespace deepinfer
