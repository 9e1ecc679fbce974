#include "compute/commit/read_set.h"

#include <algorithm>
#include <cstddef>

#include "compute/cluster/catalog_cache.h"
#include "compute/index/index_cursor.h"
#include "compute/txn/errors.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/transaction_state.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;

namespace {

constexpr std::size_t kHeadersAtOnce = 1024;
constexpr std::size_t kBucketsAtOnce = 256;
constexpr std::size_t kRangesAtOnce = 16;

}  // namespace

Status changed_reads() {
  return Status(ErrorCode::serialization_failure,
                "could not serialize access: another transaction has changed data that this one has read");
}

// One round trip of validation. Buffers stay where they are until it completed.
class ReadSet::Round {
 public:
  explicit Round(TransactionState& transaction) : transaction_(transaction) {}

  void read_headers(const SeenHeader* first, std::size_t count, txn::BatchSet& batches) {
    headers_ = first;
    header_count_ = count;
    words_ = fabric::LocalBuffer(transaction_.worker().cluster.pool(), 8 * count);
    for (std::size_t i = 0; i < count; ++i) batches.read(first[i].record, words_.data() + 8 * i, 8);
  }

  void read_buckets(const SeenBucket* first, std::size_t count, txn::BatchSet& batches) {
    buckets_ = first;
    bucket_count_ = count;
    images_ = fabric::LocalBuffer(transaction_.worker().cluster.pool(), layout::kBucket_bytes * count);
    for (std::size_t i = 0; i < count;) {
      // Neighbours, as a scan of a whole table sees them, in one READ.
      std::size_t run = 1;
      while (i + run < count && first[i + run].bucket == first[i].bucket + run * layout::kBucket_bytes) ++run;
      batches.read(first[i].bucket, images_.data() + i * layout::kBucket_bytes, run * layout::kBucket_bytes);
      i += run;
    }
  }

  // The batches have run.
  Status check(HeaderWord own_lock, const HeldChains* chains) {
    own_lock_ = own_lock;
    chains_ = chains;
    for (std::size_t i = 0; i < header_count_; ++i) {
      const HeaderWord now(layout::load_word(words_.data() + 8 * i));
      if (!same(headers_[i], now)) return changed_reads();
    }
    for (std::size_t i = 0; i < bucket_count_; ++i) {
      const std::byte* const image = images_.data() + i * layout::kBucket_bytes;
      if (!same(buckets_[i], HeaderWord(layout::load_word(image)),
                layout::load_word(image + offsetof(layout::Bucket, checksum)))) {
        return changed_reads();
      }
    }
    return {};
  }

 private:
  bool same(const SeenHeader& seen, HeaderWord now) {
    if (now == seen.header) return true;
    if (now == own_lock_ && now.locked()) {
      // Locked by this transaction, from the version that it has in its read set.
      return std::ranges::any_of(transaction_.accesses(), [&seen](const Access& access) {
        return access.lookup.record() == seen.record && access.lookup.current().header_word() == seen.header;
      });
    }
    if (now.locked()) transaction_.worker().locks.note(seen.record, now, seen.body_bytes);
    transaction_.meet(seen.record, now);
    return false;
  }

  bool same(const SeenBucket& seen, HeaderWord lock, std::uint64_t checksum) {
    if (checksum != seen.checksum) return false;
    if (!seen.lock || lock == *seen.lock) return true;
    const auto taken_from = chains_ == nullptr ? std::nullopt : chains_->taken_from(seen.bucket);
    if (taken_from) return *taken_from == *seen.lock;
    if (lock.locked()) transaction_.worker().locks.note(seen.bucket, lock, 0);
    transaction_.meet(seen.bucket, lock);
    return false;
  }

  TransactionState& transaction_;
  HeaderWord own_lock_;
  const HeldChains* chains_ = nullptr;
  const SeenHeader* headers_ = nullptr;
  std::size_t header_count_ = 0;
  const SeenBucket* buckets_ = nullptr;
  std::size_t bucket_count_ = 0;
  fabric::LocalBuffer words_;
  fabric::LocalBuffer images_;
};

// The validation of one range. Its first entries are posted together with other reads.
//
// An entry is added before the commit of the row that it leads to. A transaction that finds an entry before
// its record is locked has that record, or its absence, in its read set. A transaction that does not find it
// reads the range again before the commit that adds it does, and so comes before it. An entry that is gone
// led to no version that a transaction can see.
//
// The transaction's own entries are those that its commit adds. The entry of a row that it changes otherwise
// was there when the range was read, or another transaction has moved the row there since.
class ReadSet::RangeCheck {
 public:
  // Posts; arrive() must be awaited.
  RangeCheck(TransactionState& transaction, const SeenRange& range)
      : counters_(transaction.mutable_counters()),
        known_(range.entries.begin(), range.entries.end()),
        cursor_(transaction.worker(), counters_, {.low = range.low, .high = range.high}, nullptr) {
    add_own(transaction, range);
    known_.insert(known_.end(), own_.begin(), own_.end());
    std::ranges::sort(known_);
    cursor_.begin(range.index);
    if (cursor_.entries_left()) cursor_.post();
  }

  reactor::Task<void> arrive() {
    if (cursor_.entries_left()) arrived_ = co_await cursor_.finish(&entries_);
  }

  // After arrive(): whether all entries are known, those that are still to come included.
  reactor::Task<Status> check() {
    if (!arrived_.ok()) co_return arrived_;
    while (true) {
      for (const std::string& entry : entries_) {
        if (!std::ranges::binary_search(known_, std::string_view(entry))) co_return changed_reads();
      }
      if (!cursor_.entries_left()) co_return Status();
      entries_.clear();
      cursor_.post();
      if (cursor_.waits()) ++counters_.round_trips;
      Status status = co_await cursor_.finish(&entries_);
      if (!status.ok()) co_return status;
    }
  }

 private:
  void add_own(TransactionState& transaction, const SeenRange& range) {
    for (const Access& access : transaction.accesses()) {
      if (access.write == WriteKind::none || !access.found()) continue;
      const auto index = std::ranges::find(access.table->indexes, range.index->id,
                                           [](const auto& each) { return each->id; });
      if (index == access.table->indexes.end()) continue;
      const layout::IndexShape& shape = (*index)->shape;
      const layout::Schema& schema = access.table->schema;
      layout::IndexKey added = layout::index_key(shape, layout::RowView(schema, access.image_row()));
      if (access.stored() &&
          layout::index_key(shape, layout::RowView(schema, access.lookup.payload())) == added)
        continue;
      own_.push_back(std::move(added.bytes));
    }
  }

  fabric::OperationCounters& counters_;
  std::vector<std::string_view> known_;  // of the range and of own_
  std::vector<std::string> own_;
  IndexCursor cursor_;
  std::vector<std::string> entries_;
  Status arrived_;
};

void ReadSet::add(const Lookup& lookup) {
  if (lookup.has_record()) {
    records_.push_back({lookup.record(), lookup.current().header_word(), lookup.body_bytes()});
    return;
  }
  for (std::size_t i = 0; i < lookup.chain().size(); ++i) {
    buckets_.push_back({lookup.chain()[i], lookup.chain_checksums()[i],
                        i == 0 ? std::optional(lookup.chain_lock()) : std::nullopt});
  }
}

void ReadSet::add(GlobalAddress address, const layout::Bucket& bucket, bool main) {
  // A forward is for good.
  if (bucket.forwarded()) return;
  buckets_.push_back(
      {address, bucket.checksum, main ? std::optional(HeaderWord(bucket.lock_word)) : std::nullopt});
}

// All is posted after this was called, so a row that is found as it was read was so at the moment of the
// call.
reactor::Task<Status> ReadSet::validate(TransactionState* transaction, HeaderWord own_lock,
                                        const HeldChains* chains) {
  txn::Cluster& cluster = transaction->worker().cluster;
  txn::BatchSet batches(cluster);
  std::size_t header = 0;
  std::size_t bucket = 0;
  fabric::LocalBuffer catalog_word;
  if (!ranges_.empty()) {
    catalog_word = fabric::LocalBuffer(cluster.pool(), 8);
    batches.read(cluster.catalog_word(), catalog_word.data(), 8);
  }
  std::size_t range = 0;
  reactor::StableVector<RangeCheck> ranges;  // on their way with the first batch
  const bool together = cluster.optimisations().outstanding_requests;
  if (together) post_ranges(*transaction, kRangesAtOnce, &range, &ranges);
  Status status;
  while (status.ok() && (header < records_.size() || bucket < buckets_.size() || !batches.empty())) {
    Round check(*transaction);
    const std::size_t headers = std::min(kHeadersAtOnce, records_.size() - header);
    const std::size_t buckets = std::min(kBucketsAtOnce, buckets_.size() - bucket);
    if (headers != 0) check.read_headers(&records_[header], headers, batches);
    if (buckets != 0) check.read_buckets(&buckets_[bucket], buckets, batches);
    header += headers;
    bucket += buckets;
    status = co_await batches.run(transaction->mutable_counters(), Stage::validate);
    status = status.ok() ? check.check(own_lock, chains) : lost_connection(status);
  }
  for (RangeCheck& check : ranges) co_await check.arrive();
  if (!status.ok()) co_return status;
  if (!ranges_.empty() && catalog_word.word() != transaction->visibility().catalog_version()) {
    status = co_await find_indexes(transaction);
    if (!status.ok()) co_return status;
  }
  for (;;) {
    if (ranges.empty()) {
      post_ranges(*transaction, together ? kRangesAtOnce : 1, &range, &ranges);
      if (ranges.empty()) co_return Status();
      ++transaction->mutable_counters().round_trips;
      for (RangeCheck& check : ranges) co_await check.arrive();
    }
    status = co_await ranges.front().check();
    if (!status.ok()) co_return status;
    ranges.pop_front();
  }
}

bool ReadSet::post_checks(TransactionState& transaction, layout::ServerId server, txn::BatchSet& batches) {
  const bool here =
      std::ranges::all_of(records_, [server](const auto& each) { return each.record.server() == server; }) &&
      std::ranges::all_of(buckets_, [server](const auto& each) { return each.bucket.server() == server; });
  if (!here || !ranges_.empty() || records_.size() > kHeadersAtOnce || buckets_.size() > kBucketsAtOnce)
    return false;
  posted_ = std::make_shared<Round>(transaction);
  if (!records_.empty()) posted_->read_headers(records_.data(), records_.size(), batches);
  if (!buckets_.empty()) posted_->read_buckets(buckets_.data(), buckets_.size(), batches);
  return true;
}

Status ReadSet::check_posted(HeaderWord own_lock, const HeldChains* chains) const {
  return posted_->check(own_lock, chains);
}

void ReadSet::post_ranges(TransactionState& transaction, std::size_t most, std::size_t* next,
                          reactor::StableVector<RangeCheck>* checks) {
  for (; *next < ranges_.size() && checks->size() < most; ++*next) {
    // Of a hash index: its chain and its entries are among buckets and records.
    if (!ranges_[*next].index->hash) checks->emplace_back(transaction, ranges_[*next]);
  }
}

// A transaction that began after an index was dropped or replaced adds no entries to it, though the index can
// still be read.
reactor::Task<Status> ReadSet::find_indexes(TransactionState* transaction) {
  txn::CatalogCache& catalog = transaction->worker().catalog;
  Status status = co_await catalog.refresh();
  if (!status.ok()) co_return status;
  for (const SeenRange& range : ranges_) {
    const storage::TableRef table = catalog.find_id(range.table);
    if (table == nullptr || std::ranges::none_of(table->indexes, [&range](const storage::IndexRef& index) {
          return index->id == range.index->id && !index->replaced();
        }))
      co_return changed_reads();
  }
  co_return Status();
}

}  // namespace namdb::protocol
