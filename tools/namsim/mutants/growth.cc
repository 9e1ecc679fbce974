// Growth: a bucket that was forwarded counts no more, for lookups or for inserts, and an array that was
// outgrown is looked into only as long as its memory is not used again.
#include <cstring>
#include <map>
#include <tuple>

#include "proto/control.pb.h"
#include "tools/namsim/mutants/heartbeat.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

using fabric::Operation;
using layout::Bucket;

// Keeps what main and indirect buckets were before they were forwarded.
class BucketMutant : public Mutant {
 protected:
  static bool read_of_bucket(const Operation& operation) {
    return operation.kind == fabric::OperationKind::read && operation.length_bytes == layout::kBucket_bytes;
  }
  // Behind the CAS of the bucket's lock word.
  static bool locked(const Posting& posting, std::size_t i) {
    return i > 0 && Look::chain_lock(posting, i - 1);
  }
  static std::optional<Bucket> image(const Posting& posting, const Operation& operation) {
    Bucket bucket{};
    std::memcpy(&bucket, operation.local, sizeof bucket);
    const layout::GlobalAddress address(static_cast<layout::ServerId>(posting.server),
                                        operation.remote_offset);
    return bucket.certified(address) ? std::optional(bucket) : std::nullopt;
  }
  // Remembers the bucket; if it was forwarded: how it was before, as far as that is known.
  std::optional<Bucket> before_forward(const Posting& posting, const Operation& operation) {
    const auto bucket = image(posting, operation);
    if (!bucket) return std::nullopt;
    const auto place =
        std::make_tuple(posting.server, operation.remote_offset, bucket->table, bucket->generation);
    if (!bucket->forwarded()) {
      known_[place] = *bucket;
      return std::nullopt;
    }
    const auto known = known_.find(place);
    return known == known_.end() ? std::nullopt : std::optional(known->second);
  }

 private:
  std::map<std::tuple<std::size_t, std::uint64_t, std::uint32_t, std::uint32_t>, Bucket> known_;
};

// Lookups stop at the old bucket, as it was before the forward.
class ForwardIgnored final : public BucketMutant {
 public:
  void after(Posting& posting) override {
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      const Operation& operation = posting.asked[i];
      if (!read_of_bucket(operation) || locked(posting, i)) continue;
      if (const auto old = before_forward(posting, operation))
        std::memcpy(operation.local, &*old, sizeof *old);
    }
  }
};

// An insert that found the chain before it was forwarded still goes there: its lock succeeds on any lock
// word, and it sees the bucket as it was.
class InsertedIntoOldBucket final : public BucketMutant {
 public:
  void before(Posting& posting) override {
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (!Look::chain_lock(posting, i)) continue;
      const ZeroedWords& words = cluster().memory(posting.server).words;
      const std::uint64_t at = posting.asked[i].remote_offset / 8;
      Bucket bucket{};
      std::memcpy(static_cast<void*>(&bucket), &words[at], sizeof bucket);
      const layout::HeaderWord lock(words[at]);
      if (bucket.forwarded() && !lock.locked()) posting.operations[i].expected = lock.value();
    }
  }
  void after(Posting& posting) override {
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (!read_of_bucket(posting.asked[i])) continue;
      const auto old = before_forward(posting, posting.asked[i]);
      if (!old || !locked(posting, i)) continue;
      const Operation& cas = posting.operations[i - 1];
      if (layout::load_word(cas.local) != cas.expected) continue;
      layout::store_word(cas.local, posting.asked[i - 1].expected);
      std::memcpy(posting.asked[i].local, &*old, sizeof *old);
    }
  }
};

// Compute servers never learn from the catalog where the buckets are since they were doubled.
class OldDirectory final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    Status status = co_await inner->on_call(peer, method, request, *reply);
    control::GetCatalogReply catalog;
    if (method != control::GET_CATALOG || !status.ok() || !catalog.ParseFromString(*reply)) co_return status;
    for (control::TableDescriptor& table : *catalog.mutable_tables()) {
      const control::TableDescriptor& first = known_.try_emplace(table.id(), table).first->second;
      *table.mutable_bucket_base() = first.bucket_base();
      *table.mutable_doublings() = first.doublings();
    }
    *reply = catalog.SerializeAsString();
    co_return status;
  }

 private:
  std::map<std::uint32_t, control::TableDescriptor> known_;
};

// Workers say that no older transaction runs, whatever is true.
class OutgrownAcknowledgedAtOnce final : public HeartbeatMutant {
 protected:
  void alter(control::HeartbeatRequest& heartbeat, const control::HeartbeatReply& known) override {
    heartbeat.set_acknowledged_epoch(known.reuse_epoch());
  }
};

}  // namespace

std::vector<MutantCase> growth_mutants() {
  const char* const lookup = "compute/txn/lookup.cc";
  return {
      {"a lookup stops at a bucket that was forwarded", lookup, GrowthTrouble::none, 6, "is not found",
       make_mutant<ForwardIgnored>},
      {"an insert goes to the old bucket after the move", "compute/commit/chain_locks.cc",
       GrowthTrouble::none, 5, "is not found", make_mutant<InsertedIntoOldBucket>},
      {"buckets are looked for where they were before the table grew", "compute/cluster/catalog_cache.cc",
       GrowthTrouble::none, 1, "the table was dropped or rebuilt", make_mutant<OldDirectory>},
      {"an outgrown array of buckets is used again unacknowledged", "memory/reclaim/table_growth.cc",
       GrowthTrouble::none, 11, "snapshot too old", make_mutant<OutgrownAcknowledgedAtOnce>},
  };
}

}  // namespace namdb::sim
