// The log on disk as sweeps (memory/checkpoint) and grants (memory/region) see it, by way of the journals:
// these know which entries are not finished, and in which order records lie.
//
// A mark that the full log refuses is tried again every kRetry_ns. Until then there are grants as far as the
// last one.
#pragma once

#include <cstdint>

#include "common/base/clock.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/checkpoint/chunk_store.h"
#include "memory/journals/journals.h"
#include "memory/log/log.h"
#include "memory/region/grant_numbers.h"

namespace namdb::memory {

class CheckpointLog final : public SweepLog, public GrantLog {
 public:
  static constexpr std::uint64_t kRetry_ns = 100 * kMillisecond_ns;

  // All outlive this. The journals write to that log.
  CheckpointLog(reactor::Executor& executor, Journals& journals, Log& log, GrantNumbers& grants)
      : executor_(executor), journals_(journals), log_(log), grants_(grants), closed_(executor) {}

  std::uint64_t redo_start() override;
  void mark_unfinished(ChangedExtents& changed) override { journals_.mark_undecided(changed); }
  reactor::Task<Status> flush() override { return log_.flush(log_.appended()); }
  reactor::Task<Status> reclaim(std::uint64_t oldest) override { return log_.reclaim(oldest); }

  void log_mark(std::uint64_t mark) override;
  void log_block(const RecordBlock& block) override;

  // Waits for the tasks of marks. Before destruction.
  reactor::Task<void> close();

 private:
  reactor::Task<void> mark_durably(std::uint64_t mark);

  reactor::Executor& executor_;
  Journals& journals_;
  Log& log_;
  GrantNumbers& grants_;
  reactor::Event closed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
