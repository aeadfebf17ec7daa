#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"

namespace deepinfer {

MappedFile::~MappedFile() {
  if (data_ != nullptr && munmap(data_, num_bytes_) != 0)
    DI_FATAL("munmap of ", num_bytes_, " bytes");
}

void MappedFile::Advise(size_t offset, size_t num_bytes, Access access) const {
  DI_CHECK(offset <= num_bytes_ && num_bytes <= num_bytes_ - offset, "offset=", offset,
           " num_bytes=", num_bytes, " file=", num_bytes_);
  if (num_bytes == 0) return;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = offset / page * page;
  int advice = MADV_NORMAL;
  switch (access) {
    case Access::kNormal:
      advice = MADV_NORMAL;
      break;
    case Access::kRandom:
      advice = MADV_RANDOM;
      break;
    case Access::kWillNeed:
      advice = MADV_WILLNEED;
      break;
    case Access::kDontNeed:
      advice = MADV_DONTNEED;
      break;
  }
  // A hint that the kernel does not take is no failure.
  (void)madvise(static_cast<char*>(data_) + begin, offset + num_bytes - begin, advice);
}

}  // namespace deepinfer
