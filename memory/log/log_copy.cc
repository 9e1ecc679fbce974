// A log that is a copy of another host's, block by block.
#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/check.h"
#include "memory/log/log.h"

namespace namdb::memory {

DiskFile* Log::file_of(std::uint64_t segment) {
  if (current_.number == segment) return current_.file.get();
  for (const LogSegment& finished : finished_) {
    if (finished.number == segment) return finished.file.get();
  }
  return nullptr;
}

std::optional<Log::SegmentStart> Log::segment_with(LogPosition position) const {
  std::optional<SegmentStart> found;
  for (const LogSegment& segment : finished_) {
    if (segment.first_position && *segment.first_position <= position)
      found = SegmentStart{segment.number, *segment.first_position};
  }
  const LogPosition first = current_.first_position.value_or(durable_);
  if (first <= position) found = SegmentStart{current_.number, first};
  return found;
}

reactor::Task<Status> Log::write_sealed(std::span<const std::byte> block) {
  for (bool asked = false; offset_ == segment_bytes_ && failure_.ok();) {
    if (closing_) co_return Status(ErrorCode::admin_shutdown, "the log in " + folder_ + " is being closed");
    if (!ahead_.empty()) {
      next_segment();
      break;
    }
    if (!making_) {
      if (asked && !full_.ok()) co_return full_;
      asked = true;
      start_making();
    }
    co_await changed_.wait();
  }
  if (!failure_.ok()) co_return failure_;
  const std::uint64_t place = current_.number * segment_bytes_ + offset_;
  const bool whole =
      block.size() >= kDiskPage_bytes && block_bytes_at(identity_.log_id, place, block.first(kDiskPage_bytes),
                                                        segment_bytes_ - offset_) == block.size();
  const auto certified =
      whole ? certify_block(identity_.log_id, place, block) : std::optional<CertifiedBlock>();
  if (!certified || certified->header.sequence != sequence_ || certified->header.previous != previous_ ||
      certified->header.position != durable_) {
    co_return Status(ErrorCode::corrupt_data, "a block does not follow the copy of the log in " + folder_);
  }
  const BlockHeader header = certified->header;
  const LogTail before{current_.number, offset_, durable_, sequence_, previous_};
  const LogTail behind = tail_behind(before, header, certified->checksum);
  const Status status = co_await current_.file->write_durably(offset_, block);
  if (!status.ok()) {
    fail(status);
    co_return failure_;
  }
  if (!current_.first_position) current_.first_position = durable_;
  offset_ = behind.offset;
  sequence_ = behind.sequence;
  previous_ = behind.previous;
  durable_ = appended_ = wanted_ = record_end_ = behind.position;
  keep_tail(behind);
  ++counters_.writes;
  counters_.written_bytes += block.size();
  if (block_watcher_) block_watcher_({before, behind, block});
  co_return Status();
}

// From the last one to the first: so a block that is whole never stands behind one that is not.
reactor::Task<Status> Log::cut(LogTail to) {
  if (!failure_.ok()) co_return failure_;
  const auto found = std::ranges::find(tails_, to);
  if (found == tails_.end() || file_of(to.segment) == nullptr) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     "the log in " + folder_ + " has no such block");
  }
  const std::size_t kept = static_cast<std::size_t>(found - tails_.begin()) + 1;
  const PageBuffer zeros(kDiskPage_bytes);
  // A segment that has no block any more is one of those to come.
  const auto go_back = [this] {
    while (current_.number != tails_.back().segment) {
      ahead_.push_front(std::move(current_));
      current_ = std::move(finished_.back());
      finished_.pop_back();
    }
  };
  go_back();
  while (tails_.size() > kept) {
    const LogTail begin = tails_[tails_.size() - 2].next_block(segment_bytes_);
    DiskFile* const file = file_of(begin.segment);
    NAMDB_CHECK(file != nullptr);
    const Status status = co_await file->write_durably(begin.offset, zeros.span());
    if (!status.ok()) {
      fail(status);
      co_return failure_;
    }
    tails_.pop_back();
    if (begin.offset == kDiskPage_bytes) current_.first_position.reset();
    go_back();
  }
  offset_ = to.offset;
  sequence_ = to.sequence;
  previous_ = to.previous;
  durable_ = appended_ = wanted_ = record_end_ = to.position;
  co_return Status();
}

LogEnd Log::take_end() {
  NAMDB_CHECK(closing_ && failure_.ok());
  LogEnd end;
  end.identity = identity_;
  end.segment_bytes = segment_bytes_;
  end.current = finished_.size();
  for (LogSegment& segment : finished_) end.segments.push_back(std::move(segment));
  end.segments.push_back(std::move(current_));
  for (LogSegment& segment : ahead_) end.segments.push_back(std::move(segment));
  end.offset = offset_;
  end.sequence = sequence_;
  end.previous = previous_;
  end.position = durable_;
  end.tails = std::move(tails_);
  return end;
}

}  // namespace namdb::memory
