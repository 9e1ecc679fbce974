#include "compute/sql/execute/kept_rows.h"

#include <string>

#include "compute/sql/execute/gathered_memory.h"

namespace namdb::sql {

Status KeptRows::count() {
  const std::size_t wanted_bytes = bytes();
  if (wanted_bytes > kMaxGathered_bytes) {
    return Status(ErrorCode::out_of_memory,
                  "a cursor can keep rows of at most " + std::to_string(kMaxGathered_bytes) + " bytes",
                  "a cursor without SCROLL and without HOLD keeps none, unless its transaction writes to "
                  "tables that it reads");
  }
  return wants_count() ? share_.resize(wanted_bytes) : Status();
}

reactor::Task<Status> CursorSink::relieve() {
  if (kept_ != nullptr) {
    Status status = kept_->count();
    if (!status.ok()) co_return status;
  }
  if (gives_rows_ && outer().congested()) co_return co_await outer().relieve();
  co_return Status();
}

bool CursorSink::rewind(std::uint64_t position) {
  if (gives_rows_ || (kept_ != nullptr && keep_from_ != 0)) return false;
  rows_ = position;
  if (kept_ != nullptr) kept_->cut(position);
  return true;
}

}  // namespace namdb::sql
