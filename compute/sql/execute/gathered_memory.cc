#include "compute/sql/execute/gathered_memory.h"

#include <utility>

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

Status add_seen(absl::flat_hash_set<std::string>& seen, std::string value, GatheredMemory& memory,
                MemoryBudget* budget, bool& is_new) {
  is_new = !seen.contains(value);
  if (!is_new) return {};
  Status status = memory.add(budget, value.size() + 2 * sizeof(std::string));
  if (status.ok()) seen.insert(std::move(value));
  return status;
}

}  // namespace namdb::sql
