// Recorded cases of a reference forward pass in mode F: one JSON object a line.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace deepinfer::golden {

// One generated token.
struct GoldenStep {
  std::vector<std::pair<int32_t, double>> top5;  // id and logit, highest first
  double logsumexp = 0;                          // over all logits of the row
};

// Values of one position after one layer.
struct GoldenPosition {
  int32_t position = 0;
  std::vector<std::vector<double>> streams;  // [hc_mult][first values]
};

struct GoldenLayer {
  int32_t layer = 0;
  double stream_rms = 0;  // over all positions and streams
  std::vector<GoldenPosition> positions;
};

// First values after the last norm.
struct GoldenHidden {
  int32_t position = 0;
  std::vector<double> first;
};

struct GoldenCase {
  std::string name;
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> greedy_ids;      // arg-max continuation; may be empty
  std::vector<double> prompt_logprobs;  // entry i: of prompt_ids[i + 1]
  std::vector<GoldenStep> steps;        // one for each of greedy_ids
  std::vector<GoldenLayer> layers;      // may be empty
  std::vector<GoldenHidden> final_hidden;
};

// All cases of tests/golden/`file`; fails the running test when it can't be read.
std::vector<GoldenCase> ReadGoldenFile(const std::string& file);

}  // namespace deepinfer::golden
