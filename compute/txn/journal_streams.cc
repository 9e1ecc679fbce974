#include "compute/txn/journal_streams.h"

#include <algorithm>

#include "common/base/check.h"

namespace namdb::txn {

using layout::kJournalAlign_bytes;

JournalStream::JournalStream(layout::StreamPlace position, layout::GlobalAddress ring,
                             std::uint64_t ring_bytes)
    : next_(position),
      ring_(ring),
      ring_bytes_(ring_bytes),
      freed_(position.position),
      finished_(position.position) {
  NAMDB_CHECK(ring_bytes_ != 0 && ring_bytes_ % kJournalAlign_bytes == 0);
}

// The holders of credit take places one behind the other, less than a lap in all. At most one of them meets
// the lap's end, and leaves a pad that is shorter than its entry.
bool JournalStream::has_credit(std::uint64_t bytes) const {
  const std::uint64_t needed = next_.position - freed_;
  const std::uint64_t promised = credit_bytes_ + bytes;
  const std::uint64_t longest = std::max(largest_credit_bytes_, bytes);
  const std::uint64_t pad = promised <= rest_of_lap_bytes() ? 0 : longest - kJournalAlign_bytes;
  return needed + promised + pad <= ring_bytes_;
}

void JournalStream::take_credit(std::uint64_t bytes) {
  NAMDB_CHECK(bytes != 0 && bytes % kJournalAlign_bytes == 0 && has_credit(bytes));
  credit_bytes_ += bytes;
  largest_credit_bytes_ = std::max(largest_credit_bytes_, bytes);
}

void JournalStream::give_back(std::uint64_t credit_bytes) {
  NAMDB_CHECK(credit_bytes <= credit_bytes_);
  credit_bytes_ -= credit_bytes;
  if (credit_bytes_ == 0) largest_credit_bytes_ = 0;
}

JournalPlace JournalStream::place(std::uint32_t counter, std::uint64_t credit_bytes,
                                  std::uint32_t length_bytes) {
  const std::uint64_t bytes = layout::journal_stream_bytes(length_bytes);
  NAMDB_CHECK(bytes <= credit_bytes);
  give_back(credit_bytes);
  JournalPlace place;
  if (const std::uint64_t rest = rest_of_lap_bytes(); rest < bytes) {
    place.pad_bytes = static_cast<std::uint32_t>(rest);
    place.pad = next_;
    place.pad_address = address(next_.position);
    next_.position += rest;
  }
  place.entry = next_;
  place.address = address(next_.position);
  next_.position += bytes;
  NAMDB_CHECK(next_.position - freed_ <= ring_bytes_);
  taken_.push_back({counter, next_.position});
  return place;
}

void JournalStream::finish_through(std::uint32_t counter) {
  for (; !taken_.empty() && taken_.front().counter <= counter; taken_.pop_front())
    finished_ = taken_.front().end;
}

bool JournalStream::free_to(std::uint64_t position) {
  // A pad behind the last finished entry may be free, too.
  if (position < freed_ || position > next_.position) return false;
  freed_ = position;
  return true;
}

void JournalStreams::open(layout::StreamPlace position, layout::GlobalAddress ring,
                          std::uint64_t ring_bytes) {
  const bool fresh = streams_.emplace(position.host, JournalStream(position, ring, ring_bytes)).second;
  NAMDB_CHECK(fresh);
}

bool JournalStreams::take_credit(std::span<const HostBytes> parts) {
  const bool all = std::ranges::all_of(
      parts, [this](HostBytes part) { return streams_.at(part.host).has_credit(part.bytes); });
  if (!all) return false;
  for (const HostBytes part : parts) streams_.at(part.host).take_credit(part.bytes);
  return true;
}

void JournalStreams::give_back(std::span<const HostBytes> parts) {
  for (const HostBytes part : parts) streams_.at(part.host).give_back(part.bytes);
}

JournalPlace JournalStreams::place(std::uint32_t counter, HostBytes part, std::uint32_t length_bytes) {
  return streams_.at(part.host).place(counter, part.bytes, length_bytes);
}

void JournalStreams::finish_through(std::uint32_t counter) {
  for (auto& [host, stream] : streams_) stream.finish_through(counter);
}

}  // namespace namdb::txn
