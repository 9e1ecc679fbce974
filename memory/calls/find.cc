// FIND (common/calls/find_calls.h): READs what the lookups would READ, in the same order, through the
// loopback channel: one step of all lookups at a time. Error protocol_violation; connection_failure when the
// loopback channel has failed.
#include <algorithm>
#include <cstring>
#include <vector>

#include "common/calls/find_calls.h"
#include "common/fabric/local_pool.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"
#include "common/layout/words.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

using calls::FindRequest;

class FoundLookup {
 public:
  FoundLookup(fabric::LocalPool& pool, const FindRequest& request)
      : request_(request),
        bucket_(request.bucket_offset),
        buffer_(pool, 8 + std::max<std::size_t>(layout::kBucket_bytes, request.record_bytes)) {}

  bool done() const { return bucket_ == 0 && record_ == 0; }
  void add_reads(fabric::Batch& batch) {
    if (record_ != 0) {
      if (request_.leases)
        batch.compare_and_swap(record_ + request_.record_bytes, layout::kNoLease, layout::kNoLease,
                               buffer_.data());
      batch.read(record_, buffer_.data() + 8, request_.record_bytes);
    } else if (bucket_ != 0) {
      batch.read(bucket_, buffer_.data() + 8, layout::kBucket_bytes);
    }
  }
  void look(layout::ServerId server, std::uint64_t region_bytes) {
    if (record_ != 0) {
      found_.add_record(record_, request_.leases ? layout::load_word(buffer_.data()) : 0, buffer_.data() + 8,
                        request_.record_bytes);
      record_ = 0;
      return;
    }
    layout::Bucket bucket{};
    std::memcpy(&bucket, buffer_.data() + 8, sizeof bucket);
    found_.add_bucket(bucket_, buffer_.data() + 8);
    ++buckets_;
    const bool whole = bucket.certified({server, bucket_}) && !bucket.forwarded();
    bucket_ = 0;
    if (!whole) return;
    const auto within = [region_bytes](std::uint64_t offset, std::uint64_t length) {
      return offset != 0 && offset % 8 == 0 && length <= region_bytes && offset <= region_bytes - length;
    };
    const auto* const entry =
        std::ranges::find(bucket.entries, request_.key_hash, &layout::BucketEntry::key_hash);
    if (entry != bucket.entries.end()) {
      if (within(entry->offset(), request_.record_bytes + 8)) record_ = entry->offset();
    } else if (buckets_ < calls::kMaxFoundBuckets && within(bucket.next_offset, layout::kBucket_bytes)) {
      bucket_ = bucket.next_offset;
    }
  }
  // The most that a lookup can add to the reply.
  static std::size_t bound_bytes(const FindRequest& request) {
    return 8 + calls::kMaxFoundBuckets * calls::FoundWriter::kPiece_bytes + 16 + request.record_bytes;
  }
  void finish(std::string& reply) const { found_.finish(reply); }

 private:
  FindRequest request_;
  std::uint64_t bucket_;
  std::uint64_t record_ = 0;
  std::uint32_t buckets_ = 0;
  fabric::LocalBuffer buffer_;
  calls::FoundWriter found_;
};

}  // namespace

reactor::Task<Status> find(Call call) {
  const ServerState& server = call.caller.server;
  const Region& region = *server.region;
  fabric::Channel& loopback = server.server_fabric->loopback();
  const auto requests = calls::decode_find(call.request, {region.bytes(), region.limit_bytes()});
  if (!requests) co_return Status(ErrorCode::protocol_violation, "lookups that cannot be read");
  // Lookups for which the reply has no room are answered with nothing.
  std::vector<FoundLookup> lookups;
  std::size_t reply_bytes = 8 * requests->size();
  for (const FindRequest& each : *requests) {
    reply_bytes += FoundLookup::bound_bytes(each);
    if (reply_bytes > fabric::kMaxCall_bytes) break;
    lookups.emplace_back(loopback.pool(), each);
  }
  fabric::Batch batch;
  for (;;) {
    for (FoundLookup& lookup : lookups) lookup.add_reads(batch);
    if (batch.empty()) break;
    loopback.post(batch);
    const Status& status = co_await batch.done();
    if (!status.ok()) co_return status;
    batch.clear();
    for (FoundLookup& lookup : lookups) {
      if (!lookup.done()) lookup.look(server.options.server_id, region.bytes());
    }
  }
  for (const FoundLookup& lookup : lookups) lookup.finish(call.reply);
  for (std::size_t i = lookups.size(); i < requests->size(); ++i) calls::FoundWriter().finish(call.reply);
  co_return Status();
}

}  // namespace namdb::memory::handlers
