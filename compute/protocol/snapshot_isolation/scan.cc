#include "compute/protocol/snapshot_isolation/scan.h"

#include <algorithm>
#include <cstring>

#include "compute/txn/lock_resolver.h"

namespace namdb::protocol {

using layout::Bucket;
using layout::GlobalAddress;

namespace {

constexpr std::uint64_t kBucketsAtOnce = 128;
constexpr std::size_t kRecordsAtOnce = 256;

}  // namespace

SnapshotScan::SnapshotScan(SnapshotTransaction& transaction, storage::TableRef table)
    : transaction_(transaction), table_(std::move(table)), batches_(transaction.worker().cluster) {}

reactor::Task<Status> SnapshotScan::next(std::vector<layout::Row>& rows) {
  rows.clear();
  Status status;
  if (!began_) {
    began_ = true;
    status = co_await transaction_.ensure_snapshot();
    if (status.ok()) status = co_await transaction_.check_table(*table_);
  }
  while (status.ok() && rows.empty() && !ended_) {
    const bool buckets_left = next_bucket_ < table_->bucket_count() || !again_.empty();
    if (places_.size() < kRecordsAtOnce && buckets_left) {
      status = co_await read_buckets();
    } else if (!places_.empty()) {
      status = co_await read_records(&rows);
    } else {
      ended_ = true;
      own_inserts(rows);
    }
  }
  co_return status;
}

reactor::Task<Status> SnapshotScan::read_buckets() {
  txn::WorkerState& worker = transaction_.worker();
  std::vector<GlobalAddress> addresses;
  std::swap(addresses, again_);
  if (addresses.size() > kBucketsAtOnce) {
    again_.assign(addresses.begin() + kBucketsAtOnce, addresses.end());
    addresses.resize(kBucketsAtOnce);
  }
  const std::size_t single = addresses.size();
  while (addresses.size() < kBucketsAtOnce && next_bucket_ < table_->bucket_count()) {
    addresses.push_back(table_->bucket_address(next_bucket_++));
  }
  const fabric::LocalBuffer buffer(worker.cluster.pool(), addresses.size() * layout::kBucket_bytes);
  for (std::size_t i = 0; i < addresses.size();) {
    // Main buckets lie side by side on a server: one READ for each run.
    std::size_t run = 1;
    while (i >= single && i + run < addresses.size() &&
           addresses[i + run] == addresses[i] + run * layout::kBucket_bytes)
      ++run;
    batches_.read(addresses[i], buffer.data() + i * layout::kBucket_bytes, run * layout::kBucket_bytes);
    i += run;
  }
  Status status = co_await batches_.run(transaction_.mutable_counters());
  if (status.ok()) status = transaction_.check_going_on();
  if (!status.ok()) co_return status;
  bool torn = false;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    Bucket bucket;
    std::memcpy(&bucket, buffer.data() + i * layout::kBucket_bytes, sizeof bucket);
    if (!bucket.certified(addresses[i])) {
      torn = true;
      again_.push_back(addresses[i]);
      const layout::HeaderWord lock(bucket.lock_word);
      if (i >= single && lock.locked()) worker.locks.note(addresses[i], lock, 0);
      continue;
    }
    if (bucket.table != table_->id || bucket.generation != table_->generation) {
      co_return Status(ErrorCode::catalog_changed,
                       "the table was dropped or rebuilt while the transaction ran");
    }
    see_bucket(bucket, addresses[i]);
  }
  // Over shared memory nothing above suspends: others have their turn between two parts of a long scan.
  if (!torn) co_await worker.executor.yield();
  if (torn) {
    ++transaction_.mutable_counters().rereads;
    const std::uint64_t pause_ns = std::min<std::uint64_t>(++waits_ * 10'000, kMillisecond_ns);
    co_await worker.executor.sleep_for(pause_ns);
  }
  co_return Status();
}

void SnapshotScan::see_bucket(const Bucket& bucket, GlobalAddress address) {
  for (const layout::BucketEntry& entry : bucket.entries) {
    if (entry.free()) continue;
    places_.push_back({GlobalAddress(address.server(), entry.offset()), entry.incarnation(), entry.key_hash});
  }
  if (bucket.next_offset != 0) again_.push_back(GlobalAddress(address.server(), bucket.next_offset));
}

reactor::Task<Status> SnapshotScan::read_records(std::vector<layout::Row>* rows) {
  const std::size_t count = std::min(places_.size(), kRecordsAtOnce);
  std::vector<Lookup> lookups(count);
  reactor::PooledVector<Lookup*> pointers;
  for (std::size_t i = 0; i < count; ++i) {
    const Place& place = places_[places_.size() - count + i];
    lookups[i].start_at(transaction_.worker(), *table_, place.record, place.incarnation);
    pointers.push_back(&lookups[i]);
  }
  places_.resize(places_.size() - count);
  reactor::PooledVector<const storage::Table*> no_tables;
  Status status = co_await transaction_.run_lookups(std::move(pointers), std::move(no_tables));
  if (!status.ok()) co_return status;
  for (const Lookup& lookup : lookups) {
    if (lookup.state() != Lookup::State::present) continue;
    const layout::RowView row(table_->schema, lookup.payload());
    if (const Access* own = transaction_.find_access(*table_, row.key());
        own != nullptr && own->write != WriteKind::none) {
      if (own->found()) rows->emplace_back(table_->schema, own->image_row());
      continue;
    }
    rows->emplace_back(table_->schema, row.bytes());
  }
  co_return Status();
}

// Rows of the transaction's own that the snapshot does not have.
void SnapshotScan::own_inserts(std::vector<layout::Row>& rows) {
  for (const Access& access : transaction_.accesses()) {
    if (access.table->id == table_->id && access.write == WriteKind::insert) {
      rows.emplace_back(table_->schema, access.image_row());
    }
  }
}

}  // namespace namdb::protocol
