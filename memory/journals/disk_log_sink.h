// The log on disk (memory/log) as journals see it. Entries are urgent: one that is complete in a ring can
// neither be acknowledged nor aborted without the log. Records that decide commits or end journals have
// urgency `deciding`: only they let redo begin later and give the log room back.
#pragma once

#include "memory/journals/log_sink.h"
#include "memory/log/log.h"

namespace namdb::memory {

class DiskLogSink final : public LogSink {
 public:
  // The log outlives this.
  explicit DiskLogSink(Log& log) : log_(log) {}

  reactor::Task<Result<Appended>> append(RecordKind kind, std::span<const std::byte> head,
                                         std::span<const std::byte> body) override;
  reactor::Task<Status> flush(std::uint64_t upto) override { return log_.flush(upto); }
  bool full() const override { return log_.full(); }
  std::uint64_t max_entry_bytes() const override { return log_.max_bytes() / kEntryParts; }

 private:
  // An entry takes at most this fraction (one in kEntryParts) of the log's bound. Checkpoints hurry when the
  // log is three quarters full: an entry fits into the rest.
  static constexpr std::uint64_t kEntryParts = 4;

  Log& log_;
};

}  // namespace namdb::memory
