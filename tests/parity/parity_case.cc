#include "parity/parity_case.h"

#include <utility>

namespace deepinfer::parity {

TensorView Bound::operator[](const std::string& name) const {
  const auto it = views_.find(name);
  return it == views_.end() ? TensorView() : it->second;
}

ops::WeightView Bound::Weight(const std::string& name) const {
  return {(*this)[name], (*this)[name + ".scale"]};
}

void ParityCase::In(const std::string& name, HostTensor tensor, int32_t row_axis) {
  args[name] = {Role::kIn, std::move(tensor), row_axis, {}, {}};
}

void ParityCase::Weight(const std::string& name, HostWeight weight) {
  args[name] = {Role::kWeight, std::move(weight.data), kShared, {}, {}};
  if (weight.scale.shape.empty()) return;
  args[name + ".scale"] = {Role::kWeight, std::move(weight.scale), kShared, {}, {}};
}

Arg& ParityCase::Out(const std::string& name, DType dtype, std::vector<int64_t> shape,
                     Compare compare, int32_t row_axis) {
  args[name] = {Role::kOut, Zeros(dtype, std::move(shape)), row_axis, std::move(compare), {}};
  return args[name];
}

Arg& ParityCase::InOut(const std::string& name, HostTensor tensor, int32_t row_axis,
                       Compare compare) {
  args[name] = {Role::kInOut, std::move(tensor), row_axis, std::move(compare), {}};
  return args[name];
}

void ParityCase::Batch(std::vector<HostSequence> batch) {
  sequences = std::move(batch);
  num_rows = 0;
  for (const HostSequence& sequence : sequences) num_rows += sequence.num_new_tokens;
}

}  // namespace deepinfer::parity
