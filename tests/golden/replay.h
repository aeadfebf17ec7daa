// Replays golden cases on a model and measures the agreement (the two are never bitwise equal: the
// reference sums in another order, and a rounding difference can flip a quantiser code, an expert
// or a selected entry).
#pragma once

#include <string>
#include <vector>

#include "golden/golden_file.h"
#include "golden/test_model.h"

namespace deepinfer::golden {

// Difference of one row: of its log-probability (prompt rows), or the largest over its top five
// logits and their logsumexp (generated rows).
struct RowDifference {
  std::string where;  // "tiny-00 prompt row 17"
  double difference = 0;
};

struct CaseAgreement {
  std::string name;
  std::vector<RowDifference> rows;
  // Whether the greedy ids agree, up to the first step whose two best logits lie within 0.05.
  bool greedy_agrees = true;
  std::string greedy_message;  // the first difference
};

// Feeds the prompt in chunks of at most the model's max_num_tokens, then decodes greedily token by
// token.  Uses sequence 0.
CaseAgreement Replay(TestModel& model, const GoldenCase& golden);

// Of one (layer, position), over the recorded values: |ours - golden| / |golden|.
struct LayerDifference {
  int32_t layer = 0;
  int32_t position = 0;
  double relative = 0;
};

struct LayerAgreement {
  std::vector<LayerDifference> values;
  std::vector<double> rms_relative;     // [layers]
  std::vector<double> hidden_relative;  // of final_hidden
};

// Feeds prompt and recorded continuation at once and compares every recorded layer.  Uses
// sequence 0.
LayerAgreement ReplayLayers(TestModel& model, const GoldenCase& golden);

}  // namespace deepinfer::golden
