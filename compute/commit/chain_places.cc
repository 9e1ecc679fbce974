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
    ChainLock* const chain = &chains_[at];
    Status status;
    for (std::size_t i = 0; i < chain->buckets.size() && status.ok(); ++i) {
      status = check_bucket(*chain, i);
      if (status.ok() && leads_on(*chain, i)) status = co_await read_next(chain);
    }
    if (!status.ok()) co_return status;
    for (ChainBucket& bucket : chain->buckets) bucket.before = *bucket.image;
    if (has_rival(*chain)) co_return write_conflict(*chain->table);
    const std::size_t placed = place_in_free(*chain);
    if (placed != chain->inserts.size()) status = co_await place_in_fresh(chain, placed);
    if (!status.ok()) co_return status;
    for (ChainBucket& bucket : chain->buckets) {
      if (bucket.changed) bucket.image->seal(bucket.address);
    }
  }
  co_return Status();
}

Status ChainLocks::check_bucket(const ChainLock& chain, std::size_t at) {
  const Bucket& bucket = *chain.buckets[at].image;
  if (!bucket.certified(chain.buckets[at].address))
    return Status(ErrorCode::corrupt_data, "a locked bucket chain holds a half-written bucket");
  if (bucket.table != chain.table->id || bucket.generation != chain.array.generation)
    return Status(ErrorCode::catalog_changed, "the table was dropped or rebuilt while the transaction ran");
  return {};
}

// The chain has grown since the lookups saw it.
bool ChainLocks::leads_on(const ChainLock& chain, std::size_t at) {
  return at + 1 == chain.buckets.size() && chain.buckets[at].image->next_offset != 0;
}

reactor::Task<Status> ChainLocks::read_next(ChainLock* chain) {
  if (chain->buckets.size() > kMaxChainBuckets && chain->table->schema.chained())
    co_return too_many_alike(*chain->table);
  if (chain->buckets.size() > kMaxChainBuckets)
    co_return Status(ErrorCode::corrupt_data, "a bucket chain has no end");
  const layout::ServerId server = chain->main.server();
  const std::uint64_t region_bytes = worker_.cluster.region_map(server).limit_bytes;
  const std::uint64_t next_offset = chain->buckets.back().image->next_offset;
  if (!storage::place_within(next_offset, layout::kBucket_bytes, region_bytes))
    co_return Status(ErrorCode::corrupt_data, "a bucket chain leads nowhere");
  const GlobalAddress next(server, next_offset);
  add_bucket(*chain, next);
  batches_.read(next, chain->buckets.back().buffer.data(), layout::kBucket_bytes);
  ++counters_.rereads;
  const Status status = co_await batches_.run(counters_, Stage::lock);
  co_return status.ok() ? status : lost_connection(status);
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

void ChainLocks::place_row(ChainLock& chain, std::size_t row, ChainBucket& bucket, std::uint32_t entry) {
  const txn::GrantedRecord& record = chain.records[row];
  bucket.image->entries[entry] = layout::BucketEntry::make(
      chain.inserts[row]->key_hash, record.address.offset(), layout::incarnation_of(record.number));
  bucket.changed = true;
}

std::size_t ChainLocks::place_in_free(ChainLock& chain) {
  std::size_t row = 0;
  for (ChainBucket& bucket : chain.buckets) {
    for (; row < chain.inserts.size(); ++row) {
      const std::optional<std::uint32_t> entry = storage::free_entry(*bucket.image);
      if (!entry) break;
      place_row(chain, row, bucket, *entry);
    }
  }
  return row;
}

reactor::Task<Status> ChainLocks::place_in_fresh(ChainLock* chain, std::size_t first) {
  for (std::size_t row = first; row < chain->inserts.size(); ++row) {
    std::optional<std::uint32_t> entry = storage::free_entry(*chain->buckets.back().image);
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
    place_row(*chain, row, chain->buckets.back(), *entry);
  }
  co_return Status();
}

}  // namespace namdb::protocol
