// The log of a primary as its copies take it: whole blocks, from memory where they are new, and otherwise
// from the files of the log. A copy says where its own log ends; the feed says whether that is a place in
// this log, with the same bytes before it.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/placement/follow_calls.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"
#include "memory/log/log.h"

namespace namdb::memory {

inline placement::LogPlace place_of(const LogTail& tail) {
  return {tail.segment, tail.offset, tail.position, tail.sequence, tail.previous};
}
inline LogTail tail_of(const placement::LogPlace& place) {
  return {place.segment, place.offset, place.position, place.sequence, place.previous};
}

class LogFeed {
 public:
  // The most bytes of one answer; a longer block is sent alone.
  static constexpr std::uint64_t kAnswer_bytes = 512U << 10;
  static constexpr std::uint64_t kKept_bytes = 8U << 20;

  // `folder`: the log's. From now on its new blocks are kept. Disk and log outlive this.
  LogFeed(Disk& disk, Log& log, std::string folder);
  ~LogFeed();
  LogFeed(const LogFeed&) = delete;
  LogFeed& operator=(const LogFeed&) = delete;

  // Called when there is one more block. May be empty.
  void on_block(std::function<void()> called) { on_block_ = std::move(called); }

  enum class Kind : std::uint8_t {
    blocks,   // behind that place
    at_end,   // the log ends there
    differs,  // there is no such place: a block before it is not this log's
    gone,     // the log does not begin early enough
  };
  struct Blocks {
    Kind kind = Kind::gone;
    LogTail begin;      // of the first block: next_block()
    std::string bytes;  // whole blocks of one segment
  };
  // Errors: the disk's; object_not_in_prerequisite_state: a block is too long for a call.
  reactor::Task<Result<Blocks>> behind(LogTail tail);
  // The blocks of the segment that has everything from that position on.
  reactor::Task<Result<Blocks>> from(LogPosition position);
  // The tail behind the last of these blocks that this log has, too, and keeps in memory; nullopt if there is
  // none.
  std::optional<LogTail> common(const std::vector<placement::BlockMark>& blocks) const;

 private:
  struct Block {
    LogTail begin;
    LogTail behind;
    std::string bytes;
  };
  // Null: it is not in memory.
  const Block* find(std::uint64_t sequence) const;
  reactor::Task<Result<Blocks>> read(LogTail begin, bool chained);

  Disk& disk_;
  Log& log_;
  std::string folder_;
  std::deque<Block> blocks_;
  std::uint64_t kept_bytes_ = 0;
  std::function<void()> on_block_;
};

}  // namespace namdb::memory
