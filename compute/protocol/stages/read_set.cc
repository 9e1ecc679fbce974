#include "compute/protocol/stages/read_set.h"

#include <algorithm>
#include <cstddef>

#include "compute/protocol/stages/chain_locks.h"
#include "compute/protocol/stages/index_cursor.h"
#include "compute/protocol/stages/transaction.h"
#include "compute/txn/catalog_cache.h"
#include "compute/txn/lock_resolver.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;

namespace {

constexpr std::size_t kHeadersAtOnce = 1024;
constexpr std::size_t kBucketsAtOnce = 256;

}  // namespace

Status changed_reads() {
  return Status(ErrorCode::serialization_failure,
                "could not serialize access: what the transaction has read was changed by another one");
}

// One round trip of validation. Buffers stay where they are until it completed.
class ReadSet::Look {
 public:
  Look(StagedTransaction& transaction, HeaderWord own_lock, const ChainLocks* chains)
      : transaction_(transaction), own_lock_(own_lock), chains_(chains) {}

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

  Status examine() {
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
    return false;
  }

  bool same(const SeenBucket& seen, HeaderWord lock, std::uint64_t checksum) {
    if (checksum != seen.checksum) return false;
    if (!seen.lock || lock == *seen.lock) return true;
    const auto taken_from = chains_ == nullptr ? std::nullopt : chains_->taken_from(seen.bucket);
    if (taken_from) return *taken_from == *seen.lock;
    if (lock.locked()) transaction_.worker().locks.note(seen.bucket, lock, 0);
    return false;
  }

  StagedTransaction& transaction_;
  HeaderWord own_lock_;
  const ChainLocks* chains_;
  const SeenHeader* headers_ = nullptr;
  std::size_t header_count_ = 0;
  const SeenBucket* buckets_ = nullptr;
  std::size_t bucket_count_ = 0;
  fabric::LocalBuffer words_;
  fabric::LocalBuffer images_;
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

reactor::Task<Status> ReadSet::validate(StagedTransaction* transaction, HeaderWord own_lock,
                                        const ChainLocks* chains) {
  txn::Cluster& cluster = transaction->worker().cluster;
  txn::BatchSet batches(cluster);
  std::size_t header = 0;
  std::size_t bucket = 0;
  fabric::LocalBuffer catalog_word;
  if (!ranges_.empty()) {
    catalog_word = fabric::LocalBuffer(cluster.pool(), 8);
    batches.read(cluster.catalog_word(), catalog_word.data(), 8);
  }
  while (header < records_.size() || bucket < buckets_.size() || !batches.empty()) {
    Look look(*transaction, own_lock, chains);
    const std::size_t headers = std::min(kHeadersAtOnce, records_.size() - header);
    const std::size_t buckets = std::min(kBucketsAtOnce, buckets_.size() - bucket);
    if (headers != 0) look.read_headers(&records_[header], headers, batches);
    if (buckets != 0) look.read_buckets(&buckets_[bucket], buckets, batches);
    header += headers;
    bucket += buckets;
    const Status status = co_await batches.run(transaction->mutable_counters(), layout::Stage::validate);
    if (!status.ok()) co_return lost_connection();
    Status examined = look.examine();
    if (!examined.ok()) co_return examined;
  }
  if (!ranges_.empty() && catalog_word.word() != transaction->rules().catalog_version()) {
    const Status status = co_await find_indexes(transaction);
    if (!status.ok()) co_return status;
  }
  for (const SeenRange& range : ranges_) {
    if (range.index->hash) continue;  // its chain and its entries are among buckets and records
    Status status = co_await validate_range(transaction, &range);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

// Whoever began after an index was dropped or replaced adds no entries to it, though it may still be there to
// be read.
reactor::Task<Status> ReadSet::find_indexes(StagedTransaction* transaction) {
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

// Entries come before the commit of what they lead to. Who finds one before its record is locked has that
// record, or that there is none, in his read set; who does not find it looks again before the commit that
// adds it does, and so comes before it. One that is gone led to nothing that anybody sees.
//
// The transaction's own are those that its commit adds. The entry of a row that it changes otherwise was
// there when the range was read, or somebody has moved the row there since.
reactor::Task<Status> ReadSet::validate_range(StagedTransaction* transaction, const SeenRange* range) {
  std::vector<std::string_view> known(range->entries.begin(), range->entries.end());
  std::vector<std::string> own;
  for (const Access& access : transaction->accesses()) {
    if (access.write == WriteKind::none || !access.found()) continue;
    const auto index =
        std::ranges::find(access.table->indexes, range->index->id, [](const auto& each) { return each->id; });
    if (index == access.table->indexes.end()) continue;
    const layout::IndexShape& shape = (*index)->shape;
    const layout::Schema& schema = access.table->schema;
    layout::IndexKey added = layout::index_key(shape, layout::RowView(schema, access.image_row()));
    if (access.stored() &&
        layout::index_key(shape, layout::RowView(schema, access.lookup.payload())) == added)
      continue;
    own.push_back(std::move(added.bytes));
  }
  known.insert(known.end(), own.begin(), own.end());
  std::ranges::sort(known);
  IndexCursor cursor(transaction->worker(), transaction->mutable_counters(),
                     {.low = range->low, .high = range->high}, nullptr);
  cursor.begin(range->index);
  while (cursor.entries_left()) {
    std::vector<std::string> entries;
    cursor.post();
    if (cursor.waits()) ++transaction->mutable_counters().round_trips;
    Status status = co_await cursor.finish(&entries);
    if (!status.ok()) co_return status;
    for (const std::string& entry : entries) {
      if (!std::ranges::binary_search(known, std::string_view(entry))) co_return changed_reads();
    }
  }
  co_return Status();
}

}  // namespace namdb::protocol
