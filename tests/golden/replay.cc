#include "golden/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace deepinfer::golden {
namespace {

constexpr double kNearTie = 0.05;

bool IsNearTie(const GoldenStep& step) {
  return step.top5.size() > 1 && step.top5[0].second - step.top5[1].second <= kNearTie;
}

double StepDifference(const Row& logits, const GoldenStep& step) {
  double worst = std::fabs(LogSumExp(logits) - step.logsumexp);
  for (const auto& [id, logit] : step.top5) {
    worst = std::max(worst, std::fabs(logits[id] - logit));
  }
  return worst;
}

// Keeps the streams of every layer.
class LayerRecorder : public model::LayerObserver {
 public:
  void OnLayer(int32_t layer_idx, const TensorView& streams) override {
    layers_.resize(std::max<size_t>(layers_.size(), layer_idx + 1));
    const float* data = streams.as<float>();
    layers_[layer_idx].assign(data, data + streams.num_elements());
    num_streams_ = streams.dim(1);
    hidden_size_ = streams.dim(2);
  }

  // Of model `hidden_size` values.
  const float* Values(int32_t layer, int32_t position, int32_t stream) const {
    return layers_[layer].data() + (position * num_streams_ + stream) * hidden_size_;
  }
  double Rms(int32_t layer) const {
    double sum = 0;
    for (const float value : layers_[layer]) sum += double{value} * value;
    return std::sqrt(sum / static_cast<double>(layers_[layer].size()));
  }

 private:
  std::vector<std::vector<float>> layers_;
  int64_t num_streams_ = 0;
  int64_t hidden_size_ = 0;
};

// |ours - golden| / |golden| over pieces of vectors.
class RelativeNorm {
 public:
  void Add(const float* ours, const std::vector<double>& golden) {
    for (size_t i = 0; i < golden.size(); ++i) {
      difference_ += (ours[i] - golden[i]) * (ours[i] - golden[i]);
      norm_ += golden[i] * golden[i];
    }
  }
  double value() const { return std::sqrt(difference_ / norm_); }

 private:
  double difference_ = 0;
  double norm_ = 0;
};

}  // namespace

CaseAgreement Replay(TestModel& model, const GoldenCase& golden) {
  CaseAgreement agreement{.name = golden.name, .rows = {}, .greedy_message = {}};
  model.Reset(0);
  std::vector<Row> rows = model.Feed(0, golden.prompt_ids, model.model().options().max_num_tokens);
  for (size_t i = 0; i < golden.prompt_logprobs.size(); ++i) {
    const double ours = LogSoftmax(rows[i])[golden.prompt_ids[i + 1]];
    agreement.rows.push_back(
        {StrCat(golden.name, " prompt row ", i), std::fabs(ours - golden.prompt_logprobs[i])});
  }
  Row last = rows.back();
  for (size_t i = 0; i < golden.greedy_ids.size(); ++i) {
    agreement.rows.push_back(
        {StrCat(golden.name, " step ", i), StepDifference(last, golden.steps[i])});
    const int32_t ours = ArgMax(last);
    if (IsNearTie(golden.steps[i])) break;
    if (ours != golden.greedy_ids[i]) {
      agreement.greedy_agrees = false;
      agreement.greedy_message =
          StrCat(golden.name, " step ", i, ": expected id ", golden.greedy_ids[i], ", got ", ours);
      break;
    }
    if (i + 1 < golden.greedy_ids.size()) last = model.Step({{0, {ours}}}).front();
  }
  return agreement;
}

LayerAgreement ReplayLayers(TestModel& model, const GoldenCase& golden) {
  std::vector<int32_t> ids = golden.prompt_ids;
  ids.insert(ids.end(), golden.greedy_ids.begin(), golden.greedy_ids.end());
  LayerRecorder recorder;
  model.Reset(0);
  model.model().set_observer(&recorder);
  model.Step({{0, ids}});
  model.model().set_observer(nullptr);

  LayerAgreement agreement;
  for (const GoldenLayer& layer : golden.layers) {
    for (const GoldenPosition& position : layer.positions) {
      RelativeNorm norm;
      for (size_t j = 0; j < position.streams.size(); ++j) {
        norm.Add(recorder.Values(layer.layer, position.position, static_cast<int32_t>(j)),
                 position.streams[j]);
      }
      agreement.values.push_back({layer.layer, position.position, norm.value()});
    }
    agreement.rms_relative.push_back(std::fabs(recorder.Rms(layer.layer) - layer.stream_rms) /
                                     layer.stream_rms);
  }
  for (const GoldenHidden& hidden : golden.final_hidden) {
    RelativeNorm norm;
    norm.Add(model.hidden()[hidden.position].data(), hidden.first);
    agreement.hidden_relative.push_back(norm.value());
  }
  return agreement;
}

}  // namespace deepinfer::golden
