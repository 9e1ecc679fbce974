#include "memory/journals/checkpoint_log.h"

#include <algorithm>

#include "memory/journals/grant_records.h"

namespace namdb::memory {

std::uint64_t CheckpointLog::redo_start() {
  return std::min(journals_.redo_start(), log_.appended());
}

void CheckpointLog::log_mark(std::uint64_t mark) {
  journals_.note(RecordKind::grants, mark_record(mark));
  executor_.spawn(gate_, mark_durably(mark));
}

void CheckpointLog::log_block(const RecordBlock& block) {
  journals_.note(RecordKind::block, block_record(block));
}

reactor::Task<void> CheckpointLog::mark_durably(std::uint64_t mark) {
  while (!gate_.closing() && log_.failure().ok()) {
    const Status status = co_await journals_.flush_noted();
    if (status.ok()) {
      grants_.marked(mark);
      break;
    }
    co_await closed_.wait_until(executor_.now_ns() + kRetry_ns);
  }
}

reactor::Task<void> CheckpointLog::close() {
  auto all_ended = gate_.close();
  closed_.notify_all();
  co_await all_ended;
}

}  // namespace namdb::memory
