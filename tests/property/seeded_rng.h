// Random choices of a property test.  The seed stands in every failure of the test; DI_SEED=<n>
// repeats a run.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

#include "base/rng.h"

namespace deepinfer::testing {

class SeededRng {
 public:
  // `default_seed` is the seed of ordinary runs, so that they are all alike.
  explicit SeededRng(uint64_t default_seed)
      : seed_(SeedOf(default_seed)),
        stream_(seed_, 0),
        trace_(__FILE__, __LINE__, "DI_SEED=" + std::to_string(seed_)) {}

  uint64_t seed() const { return seed_; }

  // Both limits are possible.
  int64_t Uniform(int64_t min, int64_t max) {
    return min + static_cast<int64_t>(stream_.NextUint64() % static_cast<uint64_t>(max - min + 1));
  }
  bool Coin() { return Uniform(0, 1) == 1; }
  bool OneIn(int64_t n) { return Uniform(1, n) == 1; }
  double Real() { return stream_.NextUniform(); }

  // An element of a non-empty container.
  template <typename Container>
  auto Pick(Container& container) {
    return std::next(container.begin(), Uniform(0, static_cast<int64_t>(container.size()) - 1));
  }

 private:
  static uint64_t SeedOf(uint64_t default_seed) {
    const char* const text = std::getenv("DI_SEED");
    return text == nullptr ? default_seed : std::strtoull(text, nullptr, 10);
  }

  const uint64_t seed_;
  PhiloxStream stream_;
  const ::testing::ScopedTrace trace_;
};

}  // namespace deepinfer::testing
