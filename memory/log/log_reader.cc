#include "memory/log/log_reader.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace namdb::memory {

std::string LogReader::path_of(const LogSegment& segment) const {
  return folder_ + "/" + segment_name(segment.number);
}

reactor::Task<Status> LogReader::open(LogPosition from, std::optional<LogOwner> owner) {
  from_ = from;
  const Status synced = co_await disk_.sync_folder(folder_);
  if (!synced.ok()) co_return synced;
  Result<std::vector<std::string>> names = co_await disk_.list(folder_);
  if (!names.ok()) co_return names.status();
  for (const std::string& name : *names) {
    const std::optional<std::uint64_t> number = segment_number(name);
    if (!number) continue;
    Status status = co_await open_segment(name, *number, owner);
    if (!status.ok()) co_return status;
  }
  if (segments_.empty()) co_return Status(ErrorCode::configuration, "there is no log in " + folder_);
  for (LogSegment& segment : segments_) {
    Status status = co_await segment.file->sync();
    if (!status.ok()) co_return status;
  }
  for (LogSegment& segment : segments_) {
    Status status = co_await find_first_position(&segment);
    if (!status.ok()) co_return status;
  }
  co_return choose_start();
}

reactor::Task<Status> LogReader::find_first_position(LogSegment* segment) {
  const std::uint64_t first_place = segment->number * segment_bytes_ + kDiskPage_bytes;
  const PageBuffer page(kDiskPage_bytes);
  Status status = co_await segment->file->read(kDiskPage_bytes, page.span());
  if (!status.ok()) co_return status;
  const std::uint64_t length =
      block_bytes_at(identity_.log_id, first_place, page.span(), segment_bytes_ - kDiskPage_bytes);
  if (length == 0) co_return Status();
  const PageBuffer whole(length);
  status = co_await segment->file->read(kDiskPage_bytes, whole.span());
  if (!status.ok()) co_return status;
  const auto block = certify_block(identity_.log_id, first_place, whole.span());
  if (block) segment->first_position = block->header.position;
  co_return Status();
}

reactor::Task<Status> LogReader::open_segment(std::string name, std::uint64_t number,
                                              std::optional<LogOwner> owner) {
  const std::string path = folder_ + "/" + name;
  Result<std::unique_ptr<DiskFile>> file = co_await disk_.open(path);
  if (!file.ok()) co_return file.status();
  const std::uint64_t file_bytes = (*file)->length_bytes();
  if (file_bytes < kDiskPage_bytes) co_return Status(ErrorCode::corrupt_data, path + " is cut short");
  const PageBuffer page(kDiskPage_bytes);
  Status status = co_await (*file)->read(0, page.span());
  if (!status.ok()) co_return status;
  const Result<SegmentHeader> header = read_segment_header(path, page.span());
  if (!header.ok()) co_return header.status();
  status = check_header(path, number, *header, file_bytes, owner);
  if (!status.ok()) co_return status;
  identity_ = header->identity;
  segment_bytes_ = header->segment_bytes;
  LogSegment segment;
  segment.number = number;
  segment.file = std::move(*file);
  segments_.push_back(std::move(segment));
  co_return Status();
}

Status LogReader::check_header(const std::string& path, std::uint64_t number, const SegmentHeader& header,
                               std::uint64_t file_bytes, const std::optional<LogOwner>& owner) {
  const LogOwner& found = header.identity.owner;
  if (owner && found.database_id != owner->database_id) {
    return Status(ErrorCode::configuration, path + " is of another database",
                  "choose the folder that this server had before, or an empty one");
  }
  if (owner && found.server_id != owner->server_id) {
    return Status(ErrorCode::configuration,
                  path + " is of memory server " + std::to_string(found.server_id) + ", this is server " +
                      std::to_string(owner->server_id),
                  "each memory server needs the folder that it had before");
  }
  if (header.number != number) {
    return Status(ErrorCode::corrupt_data,
                  path + " says that it is segment " + std::to_string(header.number) + ": it was renamed");
  }
  if (!segments_.empty() && header.identity != identity_)
    return Status(ErrorCode::corrupt_data, path + " belongs to another log than the segments before it");
  if (!segments_.empty() && header.segment_bytes != segment_bytes_)
    return Status(ErrorCode::corrupt_data, path + " has another length than the segments before it");
  if (file_bytes != header.segment_bytes) {
    return Status(ErrorCode::corrupt_data, path + " is " + std::to_string(file_bytes) +
                                               " bytes long instead of " +
                                               std::to_string(header.segment_bytes) + ": the rest is lost");
  }
  return Status();
}

Status LogReader::choose_start() {
  std::size_t start = 0;
  if (from_ != 0) {
    bool found = false;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (!segments_[i].first_position || *segments_[i].first_position > from_) continue;
      start = i;
      found = true;
    }
    if (!found) {
      return Status(ErrorCode::corrupt_data, "the log in " + folder_ + " begins behind position " +
                                                 std::to_string(from_) +
                                                 ", which is needed: its first segments are lost");
    }
  }
  for (std::size_t i = start + 1; i < segments_.size(); ++i) {
    const std::uint64_t expected = segments_[i - 1].number + 1;
    if (segments_[i].number == expected) continue;
    return Status(ErrorCode::corrupt_data, folder_ + "/" + segment_name(expected) + " is missing");
  }
  std::vector<DiskFile*> files;
  for (const LogSegment& segment : segments_) files.push_back(segment.file.get());
  ahead_.set_files(std::move(files), kDiskPage_bytes, segment_bytes_);
  spot_ = {start, kDiskPage_bytes};
  if (segments_[start].number == 0) records_.begin_log();  // nothing is before it
  return Status();
}

LogPosition LogReader::last_position() const {
  LogPosition last = from_;
  for (const LogSegment& segment : segments_) {
    if (segment.first_position) last = std::max(last, *segment.first_position + segment_bytes_);
  }
  return last;
}

reactor::Task<Result<std::optional<CertifiedBlock>>> LogReader::block_at(Spot spot) {
  using Block = std::optional<CertifiedBlock>;
  const auto page = co_await ahead_.read(spot.index, spot.offset, kDiskPage_bytes);
  if (!page.ok()) co_return page.status();
  const std::uint64_t length = block_bytes(spot, page.value());
  if (length == 0) co_return Block();
  const auto whole = co_await ahead_.read(spot.index, spot.offset, length);
  if (!whole.ok()) co_return whole.status();
  co_return certify_block(identity_.log_id, place(spot), whole.value());
}

reactor::Task<Result<std::optional<LogReader::Later>>> LogReader::find_later(Spot spot) {
  using Found = std::optional<Later>;
  for (; spot.index < segments_.size(); ++spot.index, spot.offset = kDiskPage_bytes) {
    for (; spot.offset < segment_bytes_; spot.offset += kDiskPage_bytes) {
      const Result<std::optional<CertifiedBlock>> block = co_await block_at(spot);
      if (!block.ok()) co_return block.status();
      if (block.value()) co_return Found(Later{spot, block.value()->header.position});
    }
  }
  co_return Found();
}

Status LogReader::damaged(const Spot& spot, std::string what, LogPosition lost_to, Spot resume) {
  const LogPosition lost_from = records_.next_begin();
  damage_ = LogDamage{path_of(segments_[spot.index]), spot.offset, std::move(what), lost_from,
                      std::max(lost_from, lost_to)};
  resume_ = resume;
  return Status(ErrorCode::corrupt_data,
                damage_->file + " at offset " + std::to_string(spot.offset) + ": " + damage_->what + "; " +
                    std::to_string(damage_->lost_to - damage_->lost_from) + " bytes of the log are lost",
                "namctl verify says what else is wrong");
}

void LogReader::skip_damage() {
  NAMDB_CHECK(damage_.has_value());
  damage_.reset();
  tails_.clear();
  spot_ = resume_;
  records_.begin_anew();
}

reactor::Task<Result<bool>> LogReader::read_block() {
  if (spot_.offset == segment_bytes_ && spot_.index + 1 < segments_.size()) {
    ++spot_.index;
    spot_.offset = kDiskPage_bytes;
  }
  if (spot_.offset == segment_bytes_) co_return false;
  Result<std::optional<CertifiedBlock>> found = co_await block_at(spot_);
  if (!found.ok()) co_return found.status();
  if (const std::optional<CertifiedBlock>& block = *found; block) {
    Status status = accept(*block);
    if (!status.ok()) co_return status;
    co_return true;
  }
  const auto page = co_await ahead_.read(spot_.index, spot_.offset, kDiskPage_bytes);
  if (!page.ok()) co_return page.status();
  torn_ = block_bytes(spot_, page.value()) != 0;
  Spot behind = spot_;
  behind.offset += kDiskPage_bytes;
  const Result<std::optional<Later>> later = co_await find_later(behind);
  if (!later.ok()) co_return later.status();
  if (const std::optional<Later>& block = later.value(); block) {
    co_return damaged(spot_, "a block is damaged, and the log goes on behind it", block->position,
                      block->spot);
  }
  co_return false;
}

Status LogReader::accept(const CertifiedBlock& block) {
  const Spot here = spot_;
  spot_.offset += block.header.block_bytes();
  const BlockHeader& header = block.header;
  switch (records_.accept(block)) {
    case BlockRecords::Fit::follows:
      break;
    case BlockRecords::Fit::out_of_order:
      return damaged(here, "a block does not follow the one before it", header.position, here);
    case BlockRecords::Fit::no_open_record:
      return damaged(here, "a block goes on with a record that is not open",
                     header.position + header.payload_bytes, spot_);
  }
  ++blocks_;
  tails_.push_back({segments_[spot_.index].number, spot_.offset, records_.position(), records_.sequence(),
                    records_.previous()});
  if (tails_.size() > kKeptTails) tails_.pop_front();
  return Status();
}

reactor::Task<Result<std::optional<LogRecord>>> LogReader::next() {
  using Next = std::optional<LogRecord>;
  NAMDB_CHECK(!damage_);
  while (!ended_) {
    if (records_.done()) {
      Result<bool> more = co_await read_block();
      if (!more.ok() || !*more) co_await ahead_.settle();
      if (!more.ok()) co_return more.status();
      ended_ = !*more;
      continue;
    }
    Next record = records_.next();
    if (records_.broken()) {
      co_await ahead_.settle();
      co_return damaged(spot_, "the block before holds no record where one should begin", position(), spot_);
    }
    if (record && record->begin >= from_) co_return record;
  }
  if (position() < from_) {
    co_return Status(ErrorCode::corrupt_data, "the log in " + folder_ + " ends at position " +
                                                  std::to_string(position()) + ", before " +
                                                  std::to_string(from_) + ": its last segments are lost");
  }
  co_return Next();
}

LogEnd LogReader::take_end() {
  NAMDB_CHECK(ended_);
  LogEnd end;
  end.identity = identity_;
  end.segment_bytes = segment_bytes_;
  end.segments = std::move(segments_);
  end.current = spot_.index;
  end.offset = spot_.offset;
  end.sequence = records_.sequence();
  end.previous = records_.previous();
  end.position = position();
  end.tails = std::move(tails_);
  return end;
}

}  // namespace namdb::memory
