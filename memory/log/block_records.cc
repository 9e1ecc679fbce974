#include "memory/log/block_records.h"

#include <algorithm>
#include <utility>

namespace namdb::memory {
namespace {

// For the next record that spans blocks.
constexpr std::size_t kKeptRecord_bytes = 1U << 20;

LogRecord record_of(LogPosition begin, const RecordHeader& header, std::span<const std::byte> whole) {
  return {begin, begin + header.whole_bytes(), header.kind,
          whole.subspan(kRecordHeader_bytes, header.length_bytes)};
}

}  // namespace

void BlockRecords::begin_anew() {
  known_ = broken_ = false;
  skipping_ = true;
  payload_ = {};
  open_.reset();
}

BlockRecords::Fit BlockRecords::accept(const CertifiedBlock& block) {
  const BlockHeader& header = block.header;
  if (known_ &&
      (header.sequence != sequence_ || header.previous != previous_ || header.position != position_)) {
    return Fit::out_of_order;
  }
  // After a loss of power the next block goes on with nothing.
  if (header.continued_bytes == 0) {
    open_.reset();
    skipping_ = false;
  }
  const std::uint64_t missing = open_ ? open_->whole_bytes() - open_record_.size() : 0;
  if (header.continued_bytes > header.payload_bytes ||
      (!skipping_ && header.continued_bytes != std::min<std::uint64_t>(missing, header.payload_bytes))) {
    return Fit::no_open_record;
  }
  broken_ = false;
  payload_ = block.payload;
  if (skipping_) {
    payload_ = payload_.subspan(header.continued_bytes);
    skipping_ = payload_.empty();
  }
  known_ = true;
  sequence_ = header.sequence + 1;
  previous_ = block.checksum;
  position_ = header.position + header.payload_bytes;
  return Fit::follows;
}

std::optional<LogRecord> BlockRecords::next() {
  // A copy takes the records of years.
  if (!open_ && open_record_.capacity() > kKeptRecord_bytes) open_record_ = {};
  if (payload_.empty()) return std::nullopt;
  if (open_) {
    const std::uint64_t missing = open_->whole_bytes() - open_record_.size();
    const auto part = payload_.first(std::min<std::uint64_t>(missing, payload_.size()));
    open_record_.insert(open_record_.end(), part.begin(), part.end());
    payload_ = payload_.subspan(part.size());
    if (part.size() < missing) return std::nullopt;
    const RecordHeader header = *std::exchange(open_, std::nullopt);
    return record_of(open_begin_, header, open_record_);
  }
  const LogPosition begin = position_ - payload_.size();
  const std::optional<RecordHeader> header = read_record_header(payload_.data());
  if (!header) {
    payload_ = {};
    broken_ = true;
    return std::nullopt;
  }
  const auto whole = payload_.first(std::min<std::uint64_t>(header->whole_bytes(), payload_.size()));
  payload_ = payload_.subspan(whole.size());
  if (whole.size() == header->whole_bytes()) return record_of(begin, *header, whole);
  open_begin_ = begin;
  open_ = header;
  open_record_.assign(whole.begin(), whole.end());
  return std::nullopt;
}

}  // namespace namdb::memory
