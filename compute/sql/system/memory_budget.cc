#include "compute/sql/system/memory_budget.h"

#include <algorithm>
#include <string>

namespace namdb::sql {

bool MemoryBudget::take(std::uint64_t bytes) {
  std::uint64_t used = used_bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_bytes_ - std::min(used, limit_bytes_)) {
      refusals_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

Status MemoryShare::resize(std::uint64_t bytes) {
  if (budget_ != nullptr && bytes > bytes_ && !budget_->take(bytes - bytes_)) {
    return Status(ErrorCode::out_of_memory,
                  "out of memory for clients: all of them together may make this server keep " +
                      std::to_string(budget_->limit_bytes()) + " bytes",
                  "close prepared statements that are no longer needed, or start nam-computed with a larger "
                  "--client-memory-bytes");
  }
  if (budget_ != nullptr && bytes < bytes_) budget_->give_back(bytes_ - bytes);
  bytes_ = bytes;
  return {};
}

}  // namespace namdb::sql
