#include "compute/txn/place_reader.h"

#include <algorithm>

#include "common/layout/record.h"
#include "common/layout/words.h"
#include "compute/txn/run_reads.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {
namespace {

// The most unwanted bytes between two records of one READ where this worker copies the bytes itself. Then
// two cache lines cost about as much as an operation.
constexpr std::uint64_t kCopiedGap_bytes = 128;

}  // namespace

std::size_t PlaceReader::add_run(std::size_t first, std::uint64_t gap_bytes) {
  const std::uint64_t record_bytes = table_.record.current_bytes();
  const layout::GlobalAddress from = reads_[first].place.record;
  std::uint64_t length_bytes = record_bytes;
  std::size_t next = first + 1;
  for (; next < reads_.size() && reads_[next].place.record.server() == from.server(); ++next) {
    const std::uint64_t begin = reads_[next].place.record.offset() - from.offset();
    const std::uint64_t end = std::max(length_bytes, begin + record_bytes);
    if (begin > length_bytes + gap_bytes || end > RunReads::kRun_bytes) break;
    length_bytes = end;
  }
  for (std::size_t i = first; i < next; ++i)
    reads_[i].at = used_bytes_ + (reads_[i].place.record.offset() - from.offset());
  batches_.read(from, bytes_.data() + used_bytes_, length_bytes);
  used_bytes_ += length_bytes;
  return next;
}

reactor::Task<Status> PlaceReader::read(std::span<const RecordPlace> places) {
  reads_.clear();
  used_bytes_ = 0;
  for (auto place = places.rbegin(); place != places.rend(); ++place) reads_.push_back({*place});
  const auto address = [](const Read& read) { return read.place.record; };
  if (!std::ranges::is_sorted(reads_, {}, address)) std::ranges::sort(reads_, {}, address);
  const std::uint64_t gap_bytes = batches_.was_complete_at_once() ? kCopiedGap_bytes : RunReads::kGap_bytes;
  const std::size_t most_bytes = reads_.size() * (table_.record.current_bytes() + gap_bytes);
  if (bytes_.size() < most_bytes) {
    bytes_.reset();
    bytes_ = fabric::LocalBuffer(transaction_.worker().cluster.pool(), most_bytes);
  }
  for (std::size_t first = 0; first < reads_.size();) first = add_run(first, gap_bytes);
  Status status = co_await batches_.run(transaction_.mutable_counters(), Stage::read);
  co_return status.ok() ? transaction_.check_going_on() : status;
}

PlaceReader::Decision PlaceReader::decide(const Read& read, std::span<const std::byte>& payload) {
  const std::byte* const record = bytes_.data() + read.at;
  const std::span<const std::byte> body(record + 8, table_.record.body_bytes());
  if (!layout::certify_body(body, read.place.record)) return Decision::lookup;
  const layout::BodyHeader found = layout::decode_body_header(body.data());
  // The record was reclaimed since, and so no snapshot sees it.
  const bool is_it =
      found.table == table_.id && static_cast<std::uint16_t>(found.incarnation) == read.place.incarnation;
  if (!is_it) return Decision::none;
  const layout::HeaderWord header(layout::load_word(record));
  const bool unlocked = header == found.header_word();
  if (!unlocked || header != visible_) {
    if (transaction_.visibility().check_visibility({header, found, true}) != ReadDecision::visible)
      return Decision::lookup;
    if (unlocked) visible_ = header;
  }
  payload = layout::body_payload(body);
  return found.deleted ? Decision::none : Decision::row;
}

}  // namespace namdb::protocol
