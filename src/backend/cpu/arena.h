// Memory for the intermediate arrays of one op: handed out in pieces, taken back all at once.
//
// An op calls Reset first and Alloc as often as it needs.  The arena grows to the largest op that
// it has seen and then stays, so the steady state allocates nothing. Ownership: pieces belong to
// the arena and are gone at the next Reset. Threading: thread-compatible; used by the caller of a
// team, outside its regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "backend/cpu/team.h"

namespace deepinfer::cpu {

class Arena {
 public:
  // Takes back every piece.
  void Reset();

  // `num_bytes` of uninitialised memory aligned to 64 bytes.
  void* Alloc(size_t num_bytes);

  // `count` elements of T, uninitialised.
  template <typename T>
  T* AllocArray(int64_t count) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    return static_cast<T*>(Alloc(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  // Pieces come from the last block; a full block is kept until Reset, which replaces several
  // blocks by one of their total size.
  std::vector<std::unique_ptr<Scratch>> blocks_;
  size_t block_bytes_ = 0;  // size of the last block
  size_t used_bytes_ = 0;   // in the last block
  size_t total_bytes_ = 0;  // of all blocks
};

}  // namespace deepinfer::cpu
