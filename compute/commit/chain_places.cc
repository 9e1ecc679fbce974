// The places of new rows in chains that are locked: each row gets a free entry, of the first bucket of the
// chain that has one, or of a fresh bucket at its end.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <span>
#include <vector>

#include "compute/cluster/bucket_search.h"
#include "compute/commit/chain_locks.h"
#include "compute/txn/errors.h"

namespace namdb::protocol {

using layout::Bucket;
using layout::GlobalAddress;

namespace {

constexpr std::size_t kMaxChainBuckets = 4096;

}  // namespace

reactor::Task<Status> ChainLocks::place() {
  for (std::size_t at = 0; at < chains_.size(); ++at) {
    if ((at + 1) % RowParts::kRowsInTurn == 0) co_await worker_.executor.yield();
    if (Status status = co_await read_rest(&chains_[at]); !status.ok()) co_return status;
    if (Status status = co_await place_inserts(&chains_[at]); !status.ok()) co_return status;
  }
  co_return Status();
}

// The chain may have grown since the lookups saw it.
reactor::Task<Status> ChainLocks::read_rest(ChainLock* chain) {
  for (std::size_t i = 0; i < chain->buckets.size(); ++i) {
    const Bucket& bucket = *chain->buckets[i].image;
    if (!bucket.certified(chain->buckets[i].address)) {
      co_return Status(ErrorCode::corrupt_data, "a locked bucket chain holds a half-written bucket");
    }
    if (bucket.table != chain->table->id || bucket.generation != chain->array.generation) {
      co_return Status(ErrorCode::catalog_changed,
                       "the table was dropped or rebuilt while the transaction ran");
    }
    if (i + 1 < chain->buckets.size() || bucket.next_offset == 0) continue;
    if (chain->buckets.size() > kMaxChainBuckets && chain->table->schema.chained())
      co_return too_many_alike(*chain->table);
    if (chain->buckets.size() > kMaxChainBuckets)
      co_return Status(ErrorCode::corrupt_data, "a bucket chain has no end");
    const layout::ServerId server = chain->main.server();
    const std::uint64_t region_bytes = worker_.cluster.region_map(server).limit_bytes;
    if (!storage::place_within(bucket.next_offset, layout::kBucket_bytes, region_bytes))
      co_return Status(ErrorCode::corrupt_data, "a bucket chain leads nowhere");
    const GlobalAddress next(server, bucket.next_offset);
    add_bucket(*chain, next);
    batches_.read(next, chain->buckets.back().buffer.data(), layout::kBucket_bytes);
    ++counters_.rereads;
    const Status status = co_await batches_.run(counters_, Stage::lock);
    if (!status.ok()) co_return lost_connection(status);
  }
  co_return Status();
}

namespace {

// An entry of the row's hash is of another key that its lookup has compared, or else of a row with the same
// key that was inserted since.
bool is_known(const Access& access, const layout::BucketEntry& entry) {
  const auto& collisions = access.lookup.collisions();
  return std::ranges::find(collisions, entry.location) != collisions.end();
}

}  // namespace

// Whether the chain has a row with the key of one that is to be inserted. Each of its entries is examined
// once, also for many rows.
bool ChainLocks::has_rival(const ChainLock& chain) {
  const auto is_empty = [](const ChainBucket& bucket) {
    return std::ranges::all_of(bucket.image->entries, &layout::BucketEntry::free);
  };
  if (std::ranges::all_of(chain.buckets, is_empty)) return false;
  constexpr std::size_t kFewRows = 4;
  absl::flat_hash_map<std::uint64_t, std::vector<Access*>> by_hash;
  const bool few = chain.inserts.size() <= kFewRows;
  if (!few) {
    by_hash.reserve(chain.inserts.size());
    for (Access* access : chain.inserts) by_hash[access->key_hash].push_back(access);
  }
  // The rows of an entry's hash, and perhaps others.
  const auto rows_of = [&](const layout::BucketEntry& entry) -> std::span<Access* const> {
    if (few) return chain.inserts;
    const auto found = by_hash.find(entry.key_hash);
    if (found == by_hash.end()) return {};
    return found->second;
  };
  for (const ChainBucket& bucket : chain.buckets) {
    for (const layout::BucketEntry& entry : bucket.image->entries) {
      if (entry.free()) continue;
      for (const Access* access : rows_of(entry)) {
        if (access->key_hash == entry.key_hash && !is_known(*access, entry)) return true;
      }
    }
  }
  return false;
}

reactor::Task<Status> ChainLocks::place_inserts(ChainLock* chain) {
  for (ChainBucket& bucket : chain->buckets) bucket.before = *bucket.image;
  if (has_rival(*chain)) co_return write_conflict(*chain->table);
  // The buckets before it are full, and stay so.
  std::size_t first_free = 0;
  for (std::size_t i = 0; i < chain->inserts.size(); ++i) {
    const Access& access = *chain->inserts[i];
    std::optional<std::uint32_t> entry;
    for (; first_free < chain->buckets.size(); ++first_free) {
      entry = storage::free_entry(*chain->buckets[first_free].image);
      if (entry) break;
    }
    if (!entry) {
      auto fresh = co_await worker_.space.take_bucket(*chain->table, chain->main.server(), counters_);
      if (!fresh.ok()) co_return without_space(fresh.status(), *chain->table);
      chain->buckets.back().image->next_offset = fresh->offset();
      chain->buckets.back().changed = true;
      add_bucket(*chain, *fresh);
      ChainBucket& added = chain->buckets.back();
      added.fresh = added.changed = true;
      *added.image = Bucket{};
      added.image->table = chain->table->id;
      added.image->generation = chain->array.generation;
      entry = 0;
    }
    ChainBucket& home = chain->buckets[first_free];
    const txn::GrantedRecord& record = chain->records[i];
    home.image->entries[*entry] = layout::BucketEntry::make(access.key_hash, record.address.offset(),
                                                            layout::incarnation_of(record.number));
    home.changed = true;
  }
  for (ChainBucket& bucket : chain->buckets) {
    if (bucket.changed) bucket.image->seal(bucket.address);
  }
  co_return Status();
}

}  // namespace namdb::protocol
