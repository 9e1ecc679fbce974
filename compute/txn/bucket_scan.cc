#include "compute/txn/bucket_scan.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "common/base/checksum.h"
#include "compute/cluster/bucket_search.h"
#include "compute/cluster/stage_times.h"
#include "compute/txn/errors.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/validation.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {

using layout::Bucket;
using layout::GlobalAddress;

namespace {

constexpr std::uint64_t kScannedAtOnce = 128;
// Records that are READ together: the first ones, and later ones.
constexpr std::size_t kFirstRecords = 256;
constexpr std::size_t kRecordsAtOnce = 512;
// With fewer places of a large table there would be few neighbours among them.
constexpr std::size_t kPlacesAtOnce = std::size_t{512} << 10;

}  // namespace

bool has_newer_row(const Lookup& lookup) {
  return lookup.state() == Lookup::State::absent && lookup.has_record() && !lookup.current().deleted;
}

bool was_deleted_before(const Lookup& lookup) {
  return layout::decode_body_header(lookup.body().data()).stamp != lookup.current().stamp;
}

BucketScan::BucketScan(TransactionState& transaction, storage::TableRef table, ScanPosition from)
    : transaction_(transaction),
      table_(std::move(table)),
      batches_(transaction.worker().cluster),
      from_(from),
      gathers_(kFirstRecords),
      reads_at_once_(kFirstRecords),
      reader_(transaction, *table_) {}

BucketScan::BucketScan(TransactionState& transaction, storage::TableRef table, Order order)
    : BucketScan(transaction, std::move(table)) {
  order_ = order;
}

BucketScan::BucketScan(TransactionState& transaction, storage::TableRef table, layout::HashInterval hashes)
    : BucketScan(transaction, std::move(table)) {
  hashes_ = hashes;
  newer_too_ = transaction.control().timestamps() != nullptr;
}

reactor::Task<Status> BucketScan::next(std::vector<layout::Row>& rows) {
  rows.clear();
  txn::RowBlock block;
  Status status = co_await next_block(block);
  for (std::size_t i = 0; i < block.size(); ++i) rows.emplace_back(table_->schema, block[i].bytes());
  co_return status;
}

reactor::Task<Status> BucketScan::next_block(txn::RowBlock& rows) {
  rows.clear();
  const TransactionState::Busy busy(transaction_);
  Status status = transaction_.check_open();
  if (!status.ok()) co_return status;
  if (!began_) {
    began_ = true;
    status = co_await begin_reading(&transaction_);
    if (!status.ok()) co_return status;
    status = transaction_.tables().check(*table_, transaction_.visibility().catalog_version());
    if (!status.ok()) co_return status;
    start();
  }
  while (rows.empty() && !ended_) {
    const bool buckets_left = main_buckets_left() || !again_.empty();
    if (!gathered_ && places_.size() < gathers_ && buckets_left) {
      status = co_await read_buckets();
    } else if (!places_.empty()) {
      bool sorted = gathered_;
      if (!sorted) sorted = co_await order_places();
      status = co_await read_records(&rows);
      gathered_ = sorted && !places_.empty();
    } else {
      ended_ = true;
      own_inserts(rows);
    }
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

void BucketScan::start() {
  arrays_ = table_->arrays;
  if (hashes_) return start_in_hashes();
  next_server_ = from_.server;
  if (from_.bucket == 0 || next_server_ >= arrays_.size()) return;
  // The buckets of a range of hashes keep their order when they are doubled.
  next_bucket_ = from_.bucket * (arrays_[next_server_].bucket_count / from_.bucket_count);
}

void BucketScan::start_in_hashes() {
  const std::size_t last = table_->server_of(hashes_->high);
  for (std::size_t server = table_->server_of(hashes_->low); server <= last; ++server) {
    const layout::BucketArray& array = arrays_[server];
    const bool begins_here = server == table_->server_of(hashes_->low);
    std::uint64_t index = begins_here ? array.index_of(hashes_->low, arrays_.size()) : 0;
    for (; index < array.bucket_count && wanted(array, server, index); ++index) {
      again_.push_back(
          {GlobalAddress(static_cast<layout::ServerId>(server), array.bucket_offset(index)), array, true});
    }
  }
  next_server_ = arrays_.size();
}

bool BucketScan::wanted(const layout::BucketArray& array, std::size_t server, std::uint64_t index) const {
  if (!hashes_) return true;
  const std::size_t servers = arrays_.size();
  return (server != table_->server_of(hashes_->low) || index >= array.index_of(hashes_->low, servers)) &&
         (server != table_->server_of(hashes_->high) || index <= array.index_of(hashes_->high, servers));
}

ScanPosition BucketScan::position() const {
  if (complete()) return {arrays_.size(), 0, 0};
  return {next_server_, next_bucket_, arrays_.empty() ? 0 : arrays_[next_server_].bucket_count};
}

bool BucketScan::main_buckets_left() const {
  return next_server_ < arrays_.size() && !winding_up_;
}

BucketScan::BucketPlace BucketScan::next_main_bucket() {
  const layout::BucketArray& array = arrays_[next_server_];
  const BucketPlace place{
      GlobalAddress(static_cast<layout::ServerId>(next_server_), array.bucket_offset(next_bucket_)), array,
      true};
  if (++next_bucket_ == array.bucket_count) {
    ++next_server_;
    next_bucket_ = 0;
  }
  return place;
}

reactor::Task<Status> BucketScan::read_buckets() {
  txn::WorkerState& worker = transaction_.worker();
  std::vector<BucketPlace> places;
  std::swap(places, again_);
  if (places.size() > kScannedAtOnce) {
    again_.assign(places.begin() + kScannedAtOnce, places.end());
    places.resize(kScannedAtOnce);
  }
  while (places.size() < kScannedAtOnce && main_buckets_left()) places.push_back(next_main_bucket());
  const fabric::LocalBuffer buffer(worker.cluster.pool(), places.size() * layout::kBucket_bytes);
  for (std::size_t i = 0; i < places.size();) {
    // Main buckets lie side by side on a server: one READ for each run.
    std::size_t run = 1;
    while (places[i].main && i + run < places.size() && places[i + run].main &&
           places[i + run].address == places[i].address + run * layout::kBucket_bytes)
      ++run;
    batches_.read(places[i].address, buffer.data() + i * layout::kBucket_bytes, run * layout::kBucket_bytes);
    i += run;
  }
  fabric::LocalBuffer locks;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i].doubted) continue;
    if (!locks) locks = fabric::LocalBuffer(worker.cluster.pool(), 8 * places.size());
    batches_.read(places[i].chain, locks.data() + 8 * i, 8);
  }
  Status status = co_await batches_.run(transaction_.mutable_counters());
  if (!status.ok()) co_return status;
  status = transaction_.check_going_on();
  if (!status.ok()) co_return status;
  Validation* const validation = transaction_.control().validation();
  GlobalAddress locked;  // the lock word of the first chain with a bucket to be READ again
  for (std::size_t i = 0; i < places.size(); ++i) {
    BucketPlace& place = places[i];
    Bucket bucket;
    std::memcpy(&bucket, buffer.data() + i * layout::kBucket_bytes, sizeof bucket);
    if (!bucket.certified(place.address)) {
      if (locked.null()) locked = place.lock();
      layout::HeaderWord lock(place.main ? bucket.lock_word : 0);
      if (place.doubted) lock = layout::HeaderWord(layout::load_word(locks.data() + 8 * i));
      if (lock.locked()) worker.locks.note(place.lock(), lock, 0);
      if (see_uncertified(bucket, lock, place))
        co_return co_await transaction_.tables().damage(table_->id,
                                                        damaged(*table_, "a bucket", place.address));
      again_.push_back(place);
      continue;
    }
    if (bucket.table != table_->id || bucket.generation != place.array.generation) {
      co_return Status(ErrorCode::catalog_changed,
                       "the table was dropped or rebuilt while the transaction ran");
    }
    if (unsettled(bucket, place)) {
      if (locked.null()) locked = place.lock();
      again_.push_back(place);
      worker.locks.note(place.address, layout::HeaderWord(bucket.lock_word), 0);
      continue;
    }
    if (validation != nullptr) validation->saw_bucket(*table_, place.address, bucket, place.main);
    status = see_bucket(bucket, place);
    if (!status.ok()) co_return status;
  }
  if (locked.null()) {
    // Over shared memory nothing above suspends: others have their turn between two parts of a long scan.
    if (!hashes_) co_await worker.executor.yield();
    wait_.ends();
    co_return Status();
  }
  ++transaction_.mutable_counters().rereads;
  const txn::StageTimer timer(worker.cluster.stage_times(), worker.executor, transaction_.mutable_counters());
  const std::uint64_t pause_ns = std::min<std::uint64_t>(++waits_ * 10'000, kMillisecond_ns);
  co_await worker.executor.sleep_for(pause_ns);
  timer.end(txn::Wait::locked_by_other);
  status = wait_.goes_on(transaction_, locked);
  if (!status.ok()) co_return status;
  co_return co_await transaction_.tables().check_while_waiting(table_->id, waits_);
}

bool BucketScan::see_uncertified(const Bucket& bucket, layout::HeaderWord lock, BucketPlace& place) {
  const std::uint64_t seed = place.address.value ^ lock.value();
  if (lock.locked()) place.steady.forget();
  if (lock.locked() || !place.steady.seen(checksum64(std::as_bytes(std::span(&bucket, 1)), seed)))
    return false;
  if (place.main || place.doubted) return true;
  place.doubted = true;
  place.steady.forget();
  return false;
}

bool BucketScan::unsettled(const Bucket& bucket, const BucketPlace& place) const {
  return place.main && !bucket.forwarded() &&
         !transaction_.visibility().absence_is_certain(layout::HeaderWord(bucket.lock_word));
}

Status BucketScan::see_bucket(const Bucket& bucket, const BucketPlace& place) {
  const layout::ServerId server = place.address.server();
  const std::uint64_t region_bytes = transaction_.worker().cluster.region_map(server).limit_bytes;
  if (bucket.forwarded()) {
    const layout::BucketArray next = place.array.doubled(bucket.forward_base());
    if (!place.main || !storage::array_within(next, region_bytes)) {
      return Status(ErrorCode::corrupt_data, "a bucket's forward leads nowhere");
    }
    const std::uint64_t index = (place.address.offset() - place.array.base_offset) / layout::kBucket_bytes;
    for (const std::uint64_t half : {2 * index, 2 * index + 1}) {
      if (!wanted(next, server, half)) continue;
      again_.push_back({GlobalAddress(server, next.bucket_offset(half)), next, true});
    }
    return Status();
  }
  for (const layout::BucketEntry& entry : bucket.entries) {
    if (entry.free() || (hashes_ && !hashes_->holds(entry.key_hash))) continue;
    if (!storage::place_within(entry.offset(), table_->record.record_bytes(), region_bytes))
      return Status(ErrorCode::corrupt_data, "a bucket's entry leads nowhere");
    places_.push_back({GlobalAddress(server, entry.offset()), entry.incarnation()});
  }
  if (bucket.next_offset != 0) {
    if (!storage::place_within(bucket.next_offset, layout::kBucket_bytes, region_bytes))
      return Status(ErrorCode::corrupt_data, "a bucket chain leads nowhere");
    again_.push_back({GlobalAddress(server, bucket.next_offset), place.array, false, place.lock()});
  }
  return Status();
}

// The first rows come before all places are gathered: the statement may need no more.
reactor::Task<bool> BucketScan::order_places() {
  if (order_ == Order::as_found) co_return false;
  const bool first = std::exchange(gathers_, kPlacesAtOnce) != kPlacesAtOnce;
  if (first) co_return false;
  co_await sort_places(&transaction_.worker().executor, &places_);
  co_return true;
}

reactor::Task<Status> BucketScan::read_records(txn::RowBlock* rows) {
  const std::size_t count = std::min(places_.size(), std::exchange(reads_at_once_, kRecordsAtOnce));
  const std::span<const RecordPlace> some(places_.end() - static_cast<std::ptrdiff_t>(count), places_.end());
  std::vector<PlaceReader::Left> left;
  Status status;
  const bool by_lookups = newer_too_ || transaction_.control().validation() != nullptr;
  if (by_lookups) {
    for (const RecordPlace& place : some) left.push_back({place});
  } else {
    status = co_await reader_.read(some);
    if (!status.ok()) co_return status;
    reader_.take(&left, [this, rows](std::span<const std::byte> row) { add_row(row, *rows); });
  }
  places_.resize(places_.size() - count);
  const Together together = by_lookups ? Together::near : Together::no;
  if (!left.empty()) status = co_await look_up(std::move(left), together, rows);
  co_return status;
}

reactor::Task<Status> BucketScan::look_up(std::vector<PlaceReader::Left> places, Together together,
                                          txn::RowBlock* rows) {
  std::vector<Lookup> lookups(places.size());
  Lookups pointers;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const RecordPlace& place = places[i].place;
    lookups[i].start_at(transaction_.worker(), *table_, place.record, place.incarnation);
    if (places[i].bytes != nullptr) lookups[i].read_from(places[i].bytes);
    pointers.push_back(&lookups[i]);
  }
  LookupTables no_tables;
  Status status = co_await run_lookups(&transaction_, std::move(pointers), std::move(no_tables), together);
  if (!status.ok()) co_return status;
  Validation* const validation = transaction_.control().validation();
  for (const Lookup& lookup : lookups) {
    if (lookup.passed_over()) continue;
    if (validation != nullptr) validation->saw_record(lookup);
    const bool newer = newer_too_ && has_newer_row(lookup);
    if (newer && was_deleted_before(lookup)) co_return write_conflict(*table_);
    if (lookup.state() == Lookup::State::present || newer) add_row(lookup.payload(), *rows);
  }
  co_return Status();
}

void BucketScan::add_row(std::span<const std::byte> row, txn::RowBlock& rows) {
  const layout::RowView view(table_->schema, row);
  const Access* const own = transaction_.rows().find(*table_, view.key());
  if (own == nullptr || own->write == WriteKind::none) return rows.add(table_->schema, view.bytes());
  if (own->found()) rows.add(table_->schema, own->image_row());
}

// Rows of the transaction's own that the snapshot does not have.
void BucketScan::own_inserts(txn::RowBlock& rows) {
  for (const Access& access : transaction_.accesses()) {
    if (access.table->id == table_->id && access.write == WriteKind::insert)
      rows.add(table_->schema, access.image_row());
  }
}

}  // namespace namdb::protocol
