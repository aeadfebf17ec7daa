#include "model/weights.h"

#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/strings.h"

namespace deepinfer::model {
namespace {

// What the model expects of a tensor in the file.
struct Expected {
  DType dtype;
  std::initializer_list<int64_t> shape;
};

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Finds, checks and imports tensors by name, and remembers which it has taken.
class Binder {
 public:
  Binder(const Checkpoint& checkpoint, backend::Device& device, std::vector<Buffer>& storage)
      : checkpoint_(checkpoint), device_(device), storage_(storage) {}

  Status Tensor(const std::string& name, const Expected& expected, TensorView& out) {
    const CheckpointTensor* tensor = checkpoint_.Find(name);
    if (tensor == nullptr) {
      return DataLoss(StrCat(checkpoint_.path(), ": expected tensor ", name, " (",
                             TensorView(nullptr, expected.dtype, expected.shape).ToString(),
                             "), found none"));
    }
    const TensorView want(nullptr, expected.dtype, expected.shape);
    if (!Fits(*tensor, want)) {
      return InvalidArgument(StrCat(tensor->file, ": ", name, ": expected ", want.ToString(),
                                    ", got ", tensor->ToString()));
    }
    taken_.insert(tensor);
    DI_ASSIGN_OR_RETURN(backend::ImportedWeight imported, device_.ImportWeight(TensorView(tensor->data, want)));
    out = imported.view;
    if (imported.storage.data() != nullptr) storage_.push_back(std::move(imported.storage));
    return OkStatus();
  }

 private:
  const Checkpoint& checkpoint_;
  backend::Device& device_;
  std::vector<Buffer>& storage_;
  std::unordered_set<const CheckpointTensor*> taken_;
};

}  // namespace
}  // namespace deepinfer::model
