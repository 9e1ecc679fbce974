#include "common/calls/find_calls.h"

#include <utility>

#include "common/calls/word_stream.h"
#include "common/layout/record.h"

namespace namdb::calls {
namespace {

// With the header word; behind the body the word of its waiters and the words of its readers.
constexpr std::uint32_t kMostRecord_bytes =
    8 + layout::kBodyPrefix_bytes + layout::kMaxPayload_bytes + 8 + 8 * layout::kReaderWords;

constexpr std::uint64_t kFlag = std::uint64_t{1} << 32;  // has, or wants
constexpr std::size_t kRecordHead_bytes = 16;

bool within(std::uint64_t offset, std::uint64_t length, std::uint64_t end) {
  return offset % 8 == 0 && length <= end && offset <= end - length;
}

}  // namespace

void append(std::string& request, const FindRequest& lookup) {
  append_word(request, lookup.bucket_offset);
  append_word(request, lookup.key_hash);
  append_word(request, lookup.record_bytes | (lookup.leases ? kFlag : 0));
}

std::optional<std::vector<FindRequest>> decode_find(std::string_view request, const RegionLength& region) {
  if (request.empty() || request.size() % FindRequest::kEncoded_bytes != 0) return std::nullopt;
  std::vector<FindRequest> lookups;
  for (; !request.empty(); request.remove_prefix(FindRequest::kEncoded_bytes)) {
    const std::uint64_t record = word_at(request, 16);
    const FindRequest lookup{word_at(request, 0), word_at(request, 8), static_cast<std::uint32_t>(record),
                             (record & kFlag) != 0};
    const bool possible = within(lookup.bucket_offset, layout::kBucket_bytes, region.limit_bytes) &&
                          lookup.key_hash != 0 && (record & ~kFlag) == lookup.record_bytes &&
                          lookup.record_bytes > 8 && lookup.record_bytes % 8 == 0 &&
                          lookup.record_bytes <= kMostRecord_bytes;
    if (!possible) return std::nullopt;
    lookups.push_back(lookup);
  }
  return lookups;
}

std::optional<FoundPieces> FoundPieces::take(std::string_view& reply, std::uint64_t record_bytes) {
  if (reply.size() < 8) return std::nullopt;
  const std::uint64_t head = word_at(reply, 0);
  FoundPieces found;
  found.buckets_ = static_cast<std::uint32_t>(head);
  if ((head & ~(kFlag | 0xffff'ffffU)) != 0 || found.buckets_ > kMaxFoundBuckets) return std::nullopt;
  const std::size_t bucket_bytes = found.buckets_ * FoundWriter::kPiece_bytes;
  const std::size_t record_piece_bytes = (head & kFlag) != 0 ? kRecordHead_bytes + record_bytes : 0;
  if (reply.size() - 8 < bucket_bytes + record_piece_bytes) return std::nullopt;
  found.bytes_ = reply.substr(8, bucket_bytes);
  found.record_ = reply.substr(8 + bucket_bytes, record_piece_bytes);
  reply.remove_prefix(8 + bucket_bytes + record_piece_bytes);
  return found;
}

std::string_view FoundPieces::take_bucket(std::uint64_t offset) {
  if (bytes_.empty() || word_at(bytes_, 0) != offset) return {};
  const std::string_view bucket = bytes_.substr(8, layout::kBucket_bytes);
  bytes_.remove_prefix(FoundWriter::kPiece_bytes);
  return bucket;
}

std::string_view FoundPieces::take_record(std::uint64_t offset) {
  if (record_.empty() || word_at(record_, 0) != offset) return {};
  return std::exchange(record_, {}).substr(8);
}

void FoundWriter::add_bucket(std::uint64_t offset, const std::byte* bucket) {
  ++buckets_;
  append_word(pieces_, offset);
  pieces_.append(reinterpret_cast<const char*>(bucket), layout::kBucket_bytes);
}

void FoundWriter::add_record(std::uint64_t offset, std::uint64_t lease, const std::byte* record,
                             std::size_t length_bytes) {
  has_record_ = true;
  append_word(pieces_, offset);
  append_word(pieces_, lease);
  pieces_.append(reinterpret_cast<const char*>(record), length_bytes);
}

void FoundWriter::finish(std::string& reply) const {
  append_word(reply, buckets_ | (has_record_ ? kFlag : 0));
  reply += pieces_;
}

}  // namespace namdb::calls
