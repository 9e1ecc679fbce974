#include "compute/sql/execute/gathered_memory.h"

#include <string>

namespace namdb::sql {
namespace {

// The budget is asked in such steps.
constexpr std::size_t kStep_bytes = 64 << 10;

}  // namespace

Status GatheredMemory::add(MemoryBudget* budget, std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > kMaxGathered_bytes) {
    return Status(ErrorCode::out_of_memory,
                  std::string(use_) + " at most " + std::to_string(kMaxGathered_bytes) + " bytes",
                  std::string(hint_));
  }
  if (bytes_ <= share_.bytes() + kStep_bytes) return {};
  if (share_.bytes() == 0) share_ = MemoryShare(budget);
  return share_.resize(bytes_);
}

}  // namespace namdb::sql
