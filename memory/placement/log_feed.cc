#include "memory/placement/log_feed.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "common/fabric/fabric.h"

namespace namdb::memory {
namespace {

// Beside the blocks in a reply.
constexpr std::uint64_t kReplyHead_bytes = 32U << 10;

}  // namespace

LogFeed::LogFeed(Disk& disk, Log& log, std::string folder)
    : disk_(disk), log_(log), folder_(std::move(folder)) {
  log_.watch_blocks([this](const Log::SealedBlock& block) {
    Block kept{block.before.next_block(log_.segment_bytes()), block.behind, {}};
    kept.bytes.assign(reinterpret_cast<const char*>(block.bytes.data()), block.bytes.size());
    kept_bytes_ += kept.bytes.size();
    blocks_.push_back(std::move(kept));
    while (kept_bytes_ > kKept_bytes && blocks_.size() > 1) {
      kept_bytes_ -= blocks_.front().bytes.size();
      blocks_.pop_front();
    }
    if (on_block_) on_block_();
  });
}

LogFeed::~LogFeed() {
  log_.watch_blocks({});
}

const LogFeed::Block* LogFeed::find(std::uint64_t sequence) const {
  if (blocks_.empty() || sequence < blocks_.front().begin.sequence) return nullptr;
  const std::uint64_t index = sequence - blocks_.front().begin.sequence;
  return index < blocks_.size() ? &blocks_[index] : nullptr;
}

reactor::Task<Result<LogFeed::Blocks>> LogFeed::behind(LogTail tail) {
  const std::uint64_t segment_bytes = log_.segment_bytes();
  const LogTail next = tail.next_block(segment_bytes);
  Blocks found;
  found.begin = next;
  if (next == log_.tail().next_block(segment_bytes)) {
    found.kind = Kind::at_end;
    co_return std::move(found);
  }
  if (tail.sequence >= log_.tail().sequence) {
    found.kind = Kind::differs;
    co_return std::move(found);
  }
  if (const Block* block = find(tail.sequence); block != nullptr) {
    found.kind = block->begin == next ? Kind::blocks : Kind::differs;
    if (found.kind == Kind::differs) co_return std::move(found);
    for (std::uint64_t sequence = tail.sequence; block != nullptr; block = find(++sequence)) {
      const bool fits = found.bytes.empty() || found.bytes.size() + block->bytes.size() <= kAnswer_bytes;
      if (!fits || block->begin.segment != next.segment) break;
      found.bytes += block->bytes;
    }
    co_return std::move(found);
  }
  co_return co_await read(next, true);
}

reactor::Task<Result<LogFeed::Blocks>> LogFeed::from(LogPosition position) {
  const auto start = log_.segment_with(position);
  Blocks found;
  if (!start) co_return std::move(found);
  LogTail begin;
  begin.segment = start->segment;
  begin.offset = kDiskPage_bytes;
  co_return co_await read(begin, false);
}

reactor::Task<Result<LogFeed::Blocks>> LogFeed::read(LogTail begin, bool chained) {
  Blocks found;
  found.begin = begin;
  const Log::Pause end = log_.end();
  const std::uint64_t limit = begin.segment == end.segment ? end.offset : log_.segment_bytes();
  if (begin.segment > end.segment || begin.offset >= limit) {
    // It is not on disk yet, and the memory has it soon; or the log has no such place.
    const bool ours = !chained || std::ranges::any_of(log_.tails(), [&](const LogTail& tail) {
      return tail.next_block(log_.segment_bytes()) == begin;
    });
    found.kind = ours ? Kind::at_end : Kind::differs;
    co_return std::move(found);
  }
  const std::string path = folder_ + "/" + segment_name(begin.segment);
  const auto file = co_await disk_.open(path);
  // A segment that is given back meanwhile has another name, or none.
  if (!file.ok()) co_return std::move(found);
  const std::uint64_t log_id = log_.identity().log_id;
  PageBuffer bytes(std::min<std::uint64_t>(limit - begin.offset, 2 * kAnswer_bytes));
  Status status = co_await (*file)->read(begin.offset, bytes.span());
  if (!status.ok()) co_return status;
  std::uint64_t taken = 0;
  while (taken < bytes.size()) {
    const std::uint64_t place = begin.segment * log_.segment_bytes() + begin.offset + taken;
    const std::uint64_t length = block_bytes_at(log_id, place, bytes.span().subspan(taken, kDiskPage_bytes),
                                                limit - begin.offset - taken);
    if (length == 0 || (taken != 0 && taken + length > kAnswer_bytes)) break;
    if (length > bytes.size() - taken || length > fabric::kMaxCall_bytes - kReplyHead_bytes) {
      if (taken != 0) break;
      co_return Status(ErrorCode::object_not_in_prerequisite_state,
                       "the log has a block that is too long for a copy to take",
                       "a checkpoint gives the old log back; make two, and try again");
    }
    const auto block = certify_block(log_id, place, bytes.span().subspan(taken, length));
    if (!block) break;
    if (taken == 0) {
      const BlockHeader& header = block->header;
      if (chained && (header.sequence != begin.sequence || header.previous != begin.previous ||
                      header.position != begin.position)) {
        found.kind = Kind::differs;
        co_return std::move(found);
      }
      found.begin.position = header.position;
      found.begin.sequence = header.sequence;
      found.begin.previous = header.previous;
    }
    taken += length;
  }
  if (taken == 0) {
    // Of a copy that ends within a block of this log, or behind one that was overwritten.
    found.kind = chained && log_.segment_with(begin.position) ? Kind::differs : Kind::gone;
    co_return std::move(found);
  }
  found.kind = Kind::blocks;
  found.bytes.assign(reinterpret_cast<const char*>(bytes.data()), taken);
  co_return std::move(found);
}

std::optional<LogTail> LogFeed::common(const std::vector<placement::BlockMark>& blocks) const {
  const std::deque<LogTail>& tails = log_.tails();
  for (auto mark = blocks.rbegin(); mark != blocks.rend(); ++mark) {
    for (const LogTail& tail : tails) {
      if (tail.sequence == mark->sequence + 1 && tail.previous == mark->checksum) return tail;
    }
  }
  return std::nullopt;
}

}  // namespace namdb::memory
