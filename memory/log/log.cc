#include "memory/log/log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace namdb::memory {
namespace {

constexpr std::string_view kNewName = "/segment.new";
constexpr std::string_view kSpareName = "/segment.spare";
constexpr std::uint64_t kFill_bytes = 1U << 20;  // zeros that are written at once

Status check_options(const LogOptions& options) {
  if (options.segment_bytes < kMinSegment_bytes || options.segment_bytes > kMaxSegment_bytes ||
      options.segment_bytes % kDiskPage_bytes != 0)
    return Status(ErrorCode::configuration, "a segment of the log cannot have that length");
  if (options.max_bytes / 2 < options.segment_bytes || options.reserve_bytes > options.segment_bytes / 2)
    return Status(ErrorCode::configuration,
                  "the log must have room for two segments and half of one in reserve");
  return Status();
}

}  // namespace

reactor::Task<Result<std::unique_ptr<Log>>> Log::create(reactor::Executor& executor, Disk& disk,
                                                        std::string folder, LogIdentity identity,
                                                        LogOptions options) {
  const LogTail start{0, kDiskPage_bytes, 0, 0, 0};
  co_return co_await create_copy(executor, disk, std::move(folder), identity, start, std::move(options));
}

reactor::Task<Result<std::unique_ptr<Log>>> Log::create_copy(reactor::Executor& executor, Disk& disk,
                                                             std::string folder, LogIdentity identity,
                                                             LogTail start, LogOptions options) {
  Status status = check_options(options);
  if (!status.ok()) co_return status;
  status = co_await disk.make_folder(folder);
  if (!status.ok()) co_return status;
  const Result<std::vector<std::string>> names = co_await disk.list(folder);
  if (!names.ok()) co_return names.status();
  for (const std::string& name : names.value()) {
    if (segment_number(name)) co_return Status(ErrorCode::configuration, "there is a log in " + folder);
  }
  LogEnd end;
  end.identity = identity;
  end.segment_bytes = options.segment_bytes;
  end.offset = start.offset;
  end.sequence = start.sequence;
  end.previous = start.previous;
  end.position = start.position;
  end.tails = {start};
  std::unique_ptr<Log> log(new Log(executor, disk, folder, std::move(end), std::move(options)));
  Result<LogSegment> first = co_await log->make_segment(start.segment);
  if (!first.ok()) co_return first.status();
  log->current_ = std::move(*first);
  log->start_making();
  co_return std::move(log);
}

reactor::Task<Result<std::unique_ptr<Log>>> Log::resume(reactor::Executor& executor, Disk& disk,
                                                        std::string folder, LogEnd end, LogOptions options) {
  options.segment_bytes = end.segment_bytes;
  Status status = check_options(options);
  if (!status.ok()) co_return status;
  const Result<std::vector<std::string>> names = co_await disk.list(folder);
  if (!names.ok()) co_return names.status();
  for (const std::string& name : names.value()) {
    const std::string path = folder + "/" + name;
    if (path != folder + std::string(kNewName) && path != folder + std::string(kSpareName)) continue;
    status = co_await disk.remove(path);
    if (!status.ok()) co_return status;
  }
  std::unique_ptr<Log> log(new Log(executor, disk, folder, std::move(end), std::move(options)));
  log->start_making();
  co_return std::move(log);
}

Log::Log(reactor::Executor& executor, Disk& disk, std::string folder, LogEnd end, LogOptions options)
    : executor_(executor),
      disk_(disk),
      folder_(std::move(folder)),
      options_(std::move(options)),
      identity_(end.identity),
      segment_bytes_(end.segment_bytes),
      offset_(end.offset),
      sequence_(end.sequence),
      previous_(end.previous),
      durable_(end.position),
      appended_(end.position),
      wanted_(end.position),
      record_end_(end.position),
      tails_(std::move(end.tails)),
      changed_(executor) {
  options_.max_block_bytes =
      std::clamp(whole_pages(options_.max_block_bytes), kDiskPage_bytes, segment_bytes_ - kDiskPage_bytes);
  block_ = PageBuffer(options_.max_block_bytes);
  for (std::size_t i = 0; i < end.segments.size(); ++i) {
    LogSegment& segment = end.segments[i];
    if (i < end.current) {
      finished_.push_back(std::move(segment));
    } else if (i == end.current) {
      current_ = std::move(segment);
    } else {
      ahead_.push_back(std::move(segment));
    }
  }
  if (tails_.empty()) tails_.push_back({current_.number, offset_, durable_, sequence_, previous_});
}

std::uint64_t Log::disk_bytes() const {
  return (finished_.size() + 1 + ahead_.size() + (spare_ != nullptr ? 1 : 0)) * segment_bytes_;
}

// A bound: the end of each segment makes two blocks of one, each with an unused rest of a page.
std::uint64_t Log::most_bytes(std::uint64_t payload_bytes) const {
  const std::uint64_t blocks = payload_bytes / (options_.max_block_bytes - kBlockHeader_bytes) + 2;
  const std::uint64_t segments = payload_bytes / (segment_bytes_ - kDiskPage_bytes) + 1;
  return whole_pages(payload_bytes + blocks * kBlockHeader_bytes) + segments * kDiskPage_bytes;
}

// Pending records are taken at once and share blocks, but none with those that were taken before.
std::uint64_t Log::promised_bytes(std::uint64_t more_bytes) const {
  const std::uint64_t taken_bytes = taken_.size() - taken_at_;
  return (taken_bytes == 0 ? 0 : most_bytes(taken_bytes)) + most_bytes(pending_.size() + more_bytes);
}

std::uint64_t Log::kept_bytes(Urgency urgency) const {
  switch (urgency) {
    case Urgency::ordinary:
      return options_.reserve_bytes;
    case Urgency::urgent:
      return options_.reserve_bytes / 2;
    case Urgency::deciding:
      return 0;
  }
  return options_.reserve_bytes;
}

std::uint64_t Log::room_bytes() const {
  return segment_bytes_ - offset_ + ahead_.size() * (segment_bytes_ - kDiskPage_bytes);
}

void Log::fail(const Status& cause) {
  if (!failure_.ok()) return;
  failure_ = Status(cause.code() == kDiskFull ? kDiskFailed : cause.code(), cause.message(),
                    "what was acknowledged is on disk; look at the disk before the next start");
  if (options_.on_failure) options_.on_failure(failure_);
  changed_.notify_all();
}

reactor::Task<Result<Log::Appended>> Log::append(std::uint16_t kind, std::span<const std::byte> head,
                                                 std::span<const std::byte> body, Urgency urgency) {
  const std::uint64_t length = head.size() + body.size();
  const RecordHeader header{kind, static_cast<std::uint32_t>(length)};
  const std::uint64_t kept = kept_bytes(urgency);
  // With the segment that is being written; all others may be free one day.
  const std::uint64_t most = (options_.max_bytes / segment_bytes_ - 1) * (segment_bytes_ - kDiskPage_bytes);
  if (length > ~std::uint32_t{0} || most_bytes(header.whole_bytes()) + kept > most) {
    co_return Status(ErrorCode::limit_exceeded,
                     "a record of " + std::to_string(length) + " bytes is too long for the log");
  }
  for (bool asked = false; true;) {
    if (!failure_.ok()) co_return failure_;
    if (closing_) co_return Status(ErrorCode::admin_shutdown, "the log in " + folder_ + " is being closed");
    const std::uint64_t wanted_bytes = promised_bytes(header.whole_bytes()) + kept;
    if (wanted_bytes <= room_bytes()) break;
    if (!making_) {
      if (asked && !full_.ok()) co_return full_;
      asked = true;
      wanted_room_bytes_ = std::max(wanted_room_bytes_, wanted_bytes);
      start_making();
    }
    co_await changed_.wait();
  }
  const std::size_t at = pending_.size();
  pending_.resize(at + header.whole_bytes());
  std::byte* const record = pending_.data() + at;
  write_record_header(header, record);
  if (!head.empty()) std::memcpy(record + kRecordHeader_bytes, head.data(), head.size());
  if (!body.empty()) std::memcpy(record + kRecordHeader_bytes + head.size(), body.data(), body.size());
  const Appended result{appended_, appended_ + header.whole_bytes()};
  appended_ = result.end;
  ++counters_.records;
  counters_.appended_bytes += header.whole_bytes();
  if (pending_.size() >= options_.max_block_bytes) start_writing();
  co_return result;
}

reactor::Task<Status> Log::flush(LogPosition upto) {
  NAMDB_CHECK(upto <= appended_);
  wanted_ = std::max(wanted_, upto);
  if (durable_ < upto) start_writing();
  NAMDB_CHECK(durable_ >= upto || writing_ || !failure_.ok());  // not after close()
  while (!reached(upto) && failure_.ok()) co_await changed_.wait();
  co_return reached(upto) ? Status() : failure_;
}

void Log::set_confirmed(LogPosition confirmed) {
  if (confirmed_ == confirmed) return;
  confirmed_ = confirmed;
  changed_.notify_all();
}

void Log::start_writing() {
  if (writing_ || closing_ || !failure_.ok()) return;
  writing_ = true;
  executor_.spawn(gate_, write_blocks());
}

reactor::Task<void> Log::write_blocks() {
  while (failure_.ok() && (durable_ < wanted_ || pending_.size() >= options_.max_block_bytes)) {
    if (paused()) {
      co_await changed_.wait_until(paused_until_ns_);
      continue;
    }
    block_under_way_ = true;
    const Status status = co_await write_block();
    block_under_way_ = false;
    if (!status.ok()) {
      fail(status);
      break;
    }
    changed_.notify_all();
    if (watcher_) watcher_();
  }
  writing_ = false;
}

reactor::Task<Result<Log::Pause>> Log::pause(std::uint64_t until_ns) {
  paused_until_ns_ = until_ns;
  while (block_under_way_ && failure_.ok()) co_await changed_.wait();
  if (!failure_.ok()) co_return failure_;
  co_return Pause{durable_, current_.number, offset_};
}

void Log::resume() {
  paused_until_ns_ = 0;
  changed_.notify_all();
}

Status Log::end_here(LogPosition position, Status why) {
  if (!failure_.ok()) return failure_;
  if (!paused() || block_under_way_ || durable_ != position) {
    return Status(ErrorCode::object_not_in_prerequisite_state,
                  "the log in " + folder_ + " is not paused at position " + std::to_string(position));
  }
  end_now(std::move(why));
  return Status();
}

void Log::end_now(Status why) {
  if (!failure_.ok()) return;
  failure_ = std::move(why);
  changed_.notify_all();
}

void Log::pass_records(LogPosition upto) {
  while (record_end_ < upto) {
    const std::size_t at = taken_at_ + (record_end_ - durable_);
    const std::optional<RecordHeader> header = read_record_header(taken_.data() + at);
    NAMDB_CHECK(header.has_value());
    record_end_ += header->whole_bytes();
  }
}

void Log::next_segment() {
  NAMDB_CHECK(!ahead_.empty());  // append() saw to it
  finished_.push_back(std::move(current_));
  current_ = std::move(ahead_.front());
  ahead_.pop_front();
  offset_ = kDiskPage_bytes;
  start_making();
}

void Log::keep_tail(const LogTail& tail) {
  tails_.push_back(tail);
  if (tails_.size() > kKeptTails) tails_.pop_front();
}

reactor::Task<Status> Log::write_block() {
  if (offset_ == segment_bytes_) next_segment();
  if (taken_at_ == taken_.size()) {
    taken_.clear();
    taken_at_ = 0;
    std::swap(taken_, pending_);
  }
  const std::uint64_t length = std::min(options_.max_block_bytes, segment_bytes_ - offset_);
  BlockHeader header;
  header.payload_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(taken_.size() - taken_at_, length - kBlockHeader_bytes));
  header.place = current_.number * segment_bytes_ + offset_;
  header.sequence = sequence_;
  header.previous = previous_;
  header.position = durable_;
  header.continued_bytes = std::min<std::uint64_t>(record_end_ - durable_, header.payload_bytes);
  pass_records(durable_ + header.payload_bytes);
  std::memcpy(block_.data() + kBlockHeader_bytes, taken_.data() + taken_at_, header.payload_bytes);
  const std::span<std::byte> block = block_.span().first(header.block_bytes());
  const LogTail before{current_.number, offset_, durable_, sequence_, previous_};
  previous_ = seal_block(identity_.log_id, header, block);
  const LogTail behind = tail_behind(before, header, previous_);
  keep_tail(behind);
  if (block_watcher_) block_watcher_({before, behind, block});
  Status status = co_await current_.file->write_durably(offset_, block);
  if (!status.ok()) co_return status;
  if (!current_.first_position) current_.first_position = durable_;
  offset_ += block.size();
  ++sequence_;
  durable_ += header.payload_bytes;
  taken_at_ += header.payload_bytes;
  ++counters_.writes;
  counters_.written_bytes += block.size();
  co_return Status();
}

void Log::start_making() {
  if (making_ || closing_ || !failure_.ok()) return;
  making_ = true;
  executor_.spawn(gate_, make_segments());
}

bool Log::full() {
  if (full_.ok()) return false;
  if (executor_.now_ns() >= retry_ns_) {
    retry_ns_ = executor_.now_ns() + kSecond_ns;
    start_making();
  }
  return true;
}

reactor::Task<void> Log::make_segments() {
  while (!closing_ && failure_.ok() && (ahead_.empty() || room_bytes() < wanted_room_bytes_)) {
    if (disk_bytes() - (spare_ != nullptr ? segment_bytes_ : 0) + segment_bytes_ > options_.max_bytes) {
      full_ = Status(kDiskFull,
                     "the log in " + folder_ + " has reached its bound of " +
                         std::to_string(options_.max_bytes >> 20) + " MiB",
                     "a checkpoint gives room back");
      break;
    }
    const std::uint64_t number = ahead_.empty() ? current_.number + 1 : ahead_.back().number + 1;
    Result<LogSegment> made = co_await make_segment(number);
    if (made.ok()) {
      full_ = Status();
      ahead_.push_back(std::move(*made));
      changed_.notify_all();
    } else if (made.status().code() == kDiskFull) {
      full_ = made.status();
      break;
    } else {
      fail(made.status());
    }
  }
  wanted_room_bytes_ = 0;
  making_ = false;
  changed_.notify_all();
  if (!full_.ok() && watcher_) watcher_();
}

// Zeros, written and not only allocated: else the first write of each page would change the file's metadata.
reactor::Task<Status> Log::fill(DiskFile* file) {
  const PageBuffer zeros(std::min(kFill_bytes, segment_bytes_));
  for (std::uint64_t at = kDiskPage_bytes; at < segment_bytes_; at += zeros.size()) {
    const std::span<const std::byte> piece = zeros.span().first(std::min(zeros.size(), segment_bytes_ - at));
    Status status = co_await file->write(at, piece);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Result<LogSegment>> Log::make_segment(std::uint64_t number) {
  // The spare stays where reclaim() sees it as long as its name is taken.
  const bool reuse = spare_ != nullptr;
  const std::string from = folder_ + std::string(reuse ? kSpareName : kNewName);
  std::unique_ptr<DiskFile> made;
  Status status;
  if (!reuse) {
    Result<std::unique_ptr<DiskFile>> created = co_await disk_.create(from, segment_bytes_);
    status = created.status();
    if (created.ok()) made = std::move(*created);
    if (status.ok()) status = co_await fill(made.get());
    if (status.ok()) status = co_await made->sync();
  }
  DiskFile* const file = reuse ? spare_.get() : made.get();
  if (status.ok()) {
    const SegmentHeader header{identity_, number, segment_bytes_};
    const PageBuffer page(kDiskPage_bytes);
    write_segment_header(header, page.span());
    status = co_await file->write_durably(0, page.span());
  }
  if (!status.ok()) {
    if (status.code() == kDiskFull) {
      // Gives back what there is of it. An error means that there is nothing, or shows itself at the next
      // try.
      static_cast<void>(co_await disk_.remove(from));
      if (reuse) spare_.reset();
    }
    co_return status;
  }
  const std::string to = folder_ + "/" + segment_name(number);
  status = co_await disk_.rename(from, to);
  if (!status.ok()) co_return status;
  if (reuse) made = std::move(spare_);
  status = co_await disk_.sync_folder(folder_);
  if (!status.ok()) co_return status;
  ++(reuse ? counters_.segments_reused : counters_.segments_made);
  LogSegment segment;
  segment.number = number;
  segment.file = std::move(made);
  co_return std::move(segment);
}

bool Log::oldest_is_free(LogPosition oldest) const {
  if (finished_.empty()) return false;
  for (std::size_t i = 1; i < finished_.size(); ++i) {
    const std::optional<LogPosition>& first = finished_[i].first_position;
    if (first && *first <= oldest) return true;
  }
  // One without a whole block does not say where the log goes on.
  return current_.first_position && *current_.first_position <= oldest;
}

reactor::Task<Status> Log::reclaim(LogPosition oldest) {
  while (failure_.ok() && oldest_is_free(oldest)) {
    const std::string path = folder_ + "/" + segment_name(finished_.front().number);
    const bool keep = spare_ == nullptr && !closing_;
    std::unique_ptr<DiskFile> file = std::move(finished_.front().file);
    finished_.pop_front();
    const std::string spare = folder_ + std::string(kSpareName);
    Status status;
    if (keep) {
      status = co_await disk_.rename(path, spare);
    } else {
      status = co_await disk_.remove(path);
    }
    // No reader may find the segment under its old name once it is written again.
    if (status.ok()) status = co_await disk_.sync_folder(folder_);
    if (!status.ok()) {
      fail(status);
      break;
    }
    if (keep) spare_ = std::move(file);
  }
  if (!full_.ok()) start_making();
  co_return failure_;
}

reactor::Task<void> Log::close() {
  closing_ = true;
  resume();
  co_await gate_.close();
}

}  // namespace namdb::memory
