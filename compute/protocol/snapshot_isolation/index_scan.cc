#include "compute/protocol/snapshot_isolation/index_scan.h"

#include <algorithm>

#include "compute/txn/catalog_cache.h"

namespace namdb::protocol {
namespace {

constexpr std::uint32_t kFirstEntries = 64;
constexpr std::uint32_t kMostEntries = 1024;

}  // namespace

SnapshotIndexScan::SnapshotIndexScan(SnapshotTransaction& transaction, storage::TableRef table,
                                     storage::IndexRef index, txn::IndexRange range)
    : transaction_(transaction),
      table_(std::move(table)),
      index_(std::move(index)),
      range_(std::move(range)),
      batch_(static_cast<std::uint32_t>(
          std::min<std::uint64_t>(range_.limit != 0 ? range_.limit : kFirstEntries, kMostEntries))) {}

reactor::Task<Status> SnapshotIndexScan::begin() {
  Status status = co_await transaction_.ensure_snapshot();
  if (status.ok()) status = co_await transaction_.check_table(*table_);
  if (!status.ok()) co_return status;
  // The catalog's entry of now: the plan may be older.
  const storage::TableRef table = transaction_.worker().catalog.find_id(table_->id);
  const auto current = std::ranges::find_if(
      table->indexes, [&](const storage::IndexRef& index) { return index->id == index_->id; });
  if (current == table->indexes.end() || !(*current)->ready() ||
      transaction_.snapshot().catalog_version() < (*current)->ready_version) {
    co_return Status(ErrorCode::catalog_changed,
                     "index \"" + index_->name + "\" was dropped, or is newer than the transaction");
  }
  index_ = *current;
  if (range_.descending) {
    // The part that holds the greatest keys below the end.
    part_ = range_.high ? index_->part_of(*range_.high) : index_->parts.size() - 1;
    if (range_.high && part_ > 0 && index_->parts[part_].low == *range_.high) --part_;
  } else {
    part_ = index_->part_of(range_.low);
  }
  entries_left_ = !range_.high || range_.low < *range_.high;
  collect_own_rows();
  co_return Status();
}

void SnapshotIndexScan::collect_own_rows() {
  for (const Access& access : transaction_.accesses()) {
    if (access.table->id != table_->id || access.write == WriteKind::none || !access.found()) continue;
    const layout::RowView row(table_->schema, access.image_row());
    std::string key = layout::index_key(index_->shape, row).bytes;
    if (key < range_.low || (range_.high && key >= *range_.high)) continue;
    own_rows_.push_back({std::move(key), layout::Row(table_->schema, row.bytes())});
  }
  std::ranges::sort(own_rows_,
                    [this](const OwnRow& a, const OwnRow& b) { return comes_before(a.key, b.key); });
}

reactor::Task<Status> SnapshotIndexScan::next(std::vector<layout::Row>& rows) {
  rows.clear();
  Status status;
  if (!began_) {
    began_ = true;
    status = co_await begin();
  }
  while (status.ok() && rows.empty() && !ended_) {
    if (entries_left_) status = co_await seek();
    if (status.ok() && !entries_.empty()) status = co_await read_records(&rows);
    if (status.ok() && !entries_left_) {
      ended_ = true;
      merge_own_rows({}, rows);
    }
  }
  co_return status;
}

reactor::Task<Status> SnapshotIndexScan::seek() {
  const std::optional<std::string> part_high = index_->high_of(part_);
  layout::IndexSeek wanted{.index = index_->id, .descending = range_.descending, .limit = batch_};
  wanted.low = std::max<std::string_view>(range_.low, index_->parts[part_].low);
  if (range_.high) wanted.high = *range_.high;
  if (part_high && (!wanted.high || *part_high < *wanted.high)) wanted.high = *part_high;
  batch_ = std::min(batch_ * 4, kMostEntries);
  const auto reply =
      co_await transaction_.worker().cluster.call_bytes(index_->parts[part_].server, layout::kIndexSeekMethod,
                                                        encode(wanted), &transaction_.mutable_counters());
  if (!reply.ok()) {
    if (reply.status().code() != ErrorCode::undefined_object) co_return reply.status();
    co_return Status(ErrorCode::catalog_changed, "index \"" + index_->name + "\" was dropped");
  }
  const auto found = layout::decode_index_seek_result(*reply);
  if (!found) co_return Status(ErrorCode::protocol_violation, "a list of entries that cannot be read");
  entries_.assign(found->keys.begin(), found->keys.end());
  if (found->more && !entries_.empty()) {
    if (range_.descending) {
      range_.high = entries_.back();
    } else {
      range_.low = entries_.back() + '\0';
    }
  } else if (range_.descending) {
    entries_left_ = part_ > 0 && index_->parts[part_].low > range_.low;
    if (entries_left_) range_.high = index_->parts[part_--].low;
  } else {
    entries_left_ = part_high && (!range_.high || *part_high < *range_.high);
    if (entries_left_) range_.low = index_->parts[++part_].low;
  }
  co_return transaction_.check_going_on();
}

reactor::Task<Status> SnapshotIndexScan::read_records(std::vector<layout::Row>* rows) {
  struct Candidate {
    std::vector<std::byte> key;
    bool own = false;
    Lookup lookup;
  };
  std::deque<Candidate> candidates;
  reactor::PooledVector<Lookup*> lookups;
  for (const std::string& entry : entries_) {
    auto key = layout::primary_key_of(index_->shape, entry);
    if (!key) co_return Status(ErrorCode::corrupt_data, "an entry of index \"" + index_->name + "\" is none");
    Candidate& candidate = candidates.emplace_back();
    candidate.key = std::move(*key);
    const Access* own = transaction_.find_access(*table_, candidate.key);
    candidate.own = own != nullptr && own->write != WriteKind::none;
    if (candidate.own) continue;
    const std::uint64_t hash = layout::hash_key(table_->id, candidate.key);
    candidate.lookup.start(transaction_.worker(), *table_, candidate.key, hash);
    lookups.push_back(&candidate.lookup);
  }
  reactor::PooledVector<const storage::Table*> no_tables;
  Status status = co_await transaction_.run_lookups(std::move(lookups), std::move(no_tables));
  if (!status.ok()) co_return status;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    merge_own_rows(entries_[i], *rows);
    const Candidate& candidate = candidates[i];
    if (candidate.own || candidate.lookup.state() != Lookup::State::present) continue;
    const layout::RowView row(table_->schema, candidate.lookup.payload());
    if (layout::index_key(index_->shape, row).bytes != entries_[i]) continue;
    rows->emplace_back(table_->schema, row.bytes());
  }
  entries_.clear();
  co_return Status();
}

void SnapshotIndexScan::merge_own_rows(std::optional<std::string_view> before,
                                       std::vector<layout::Row>& rows) {
  while (!own_rows_.empty() && (!before || comes_before(own_rows_.front().key, *before))) {
    rows.push_back(std::move(own_rows_.front().row));
    own_rows_.pop_front();
  }
}

}  // namespace namdb::protocol
