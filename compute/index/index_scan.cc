#include "compute/index/index_scan.h"

#include <algorithm>

#include "common/reactor/sort_in_turns.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/index/hash_entries.h"
#include "compute/txn/lookup_runner.h"
#include "compute/txn/validation.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {
namespace {

// Of a range that is sorted in memory.
constexpr std::size_t kMaxSortedRows = 1 << 20;
// Entries of a hash index whose records are looked up together.
constexpr std::size_t kHashedAtOnce = 1024;
// Rows of the transaction's own that are examined before others have their turn.
constexpr std::size_t kAccessesInTurn = 4096;

// Of the same table.
bool have_same_keys(const storage::Index& left, const storage::Index& right) {
  return left.hash == right.hash && std::ranges::equal(left.shape.columns(), right.shape.columns());
}

Status not_an_entry(const storage::Index& index) {
  return Status(ErrorCode::corrupt_data, "an entry of index \"" + index.name + "\" is malformed");
}

}  // namespace

IndexScan::IndexScan(StagedTransaction& transaction, storage::TableRef table, storage::IndexRef index,
                     txn::IndexRange range)
    : transaction_(transaction),
      table_(std::move(table)),
      index_(std::move(index)),
      range_(std::move(range)),
      cursor_(transaction.worker(), transaction.mutable_counters(), range_,
              transaction.control().validation()) {}

// An index that was rebuilt has another id than in the plan; the snapshot decides between the two.
bool IndexScan::usable() {
  const storage::TableRef table = transaction_.worker().catalog.find_id(table_->id);
  storage::IndexRef usable;
  for (const storage::IndexRef& index : table->indexes) {
    if (!index->serves(transaction_.visibility().catalog_version())) continue;
    const bool same = index->id == index_->id;
    if (same || (usable == nullptr && have_same_keys(*index, *index_))) usable = index;
    if (same) break;
  }
  if (usable == nullptr) return false;
  index_ = std::move(usable);
  return true;
}

reactor::Task<Status> IndexScan::begin() {
  Status status = co_await begin_reading(&transaction_);
  if (!status.ok()) co_return status;
  status = transaction_.tables().check(*table_, transaction_.visibility().catalog_version());
  if (!status.ok()) co_return status;
  // It may have been dropped since the transaction first used it.
  status = transaction_.tables().check_exists(table_->id);
  if (!status.ok()) co_return status;
  if (!usable()) co_return co_await leave_index();
  co_await collect_own_rows();
  if (!index_->hash) {
    cursor_.begin(index_);
    co_return Status();
  }
  if (!equal_hash_values(*index_, range_)) co_return co_await leave_index();
  status = co_await read_hash();
  if (status.ok() || status.code() != ErrorCode::catalog_changed) co_return status;
  co_return co_await leave_index();  // it was dropped just now
}

reactor::Task<Status> IndexScan::leave_index() {
  own_rows_.clear();
  uses_table_ = true;
  co_return co_await read_table();
}

reactor::Task<Status> IndexScan::read_hash() {
  std::vector<std::string> entries;
  const Status status = co_await read_hash_entries(&transaction_, index_, range_.low, &entries);
  if (!status.ok()) co_return status;
  if (Validation* const validation = transaction_.control().validation(); validation != nullptr)
    validation->saw_range(
        {.table = table_->id, .index = index_, .low = range_.low, .high = range_.high, .entries = {}});
  hashed_.assign(entries.begin(), entries.end());
  const auto before = [this](const std::string& a, const std::string& b) { return comes_before(a, b); };
  co_await reactor::sort_in_turns(&transaction_.worker().executor, &hashed_, before);
  co_return Status();
}

// As many as are wanted, if that is known.
void IndexScan::take_hashed() {
  std::size_t count = std::min(hashed_.size(), kHashedAtOnce);
  if (range_.limit != 0) count = std::min<std::size_t>(count, range_.limit);
  entries_.assign(hashed_.begin(), hashed_.begin() + static_cast<std::ptrdiff_t>(count));
  hashed_.erase(hashed_.begin(), hashed_.begin() + static_cast<std::ptrdiff_t>(count));
}

reactor::Task<Status> IndexScan::read_table() {
  const std::unique_ptr<txn::TableScan> scan = transaction_.scan(table_);
  std::vector<layout::Row> rows;
  do {
    Status status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    for (layout::Row& row : rows) {
      std::string key = layout::index_key(index_->shape, row.view()).bytes;
      if (covers(key)) own_rows_.push_back({std::move(key), std::move(row)});
    }
    if (own_rows_.size() > kMaxSortedRows) {
      co_return Status(ErrorCode::catalog_changed,
                       "index \"" + index_->name + "\" was dropped, or is newer than the transaction");
    }
  } while (!rows.empty());
  co_await sort_own_rows();
  co_return Status();
}

reactor::Task<void> IndexScan::sort_own_rows() {
  const auto before = [this](const KeyedRow& a, const KeyedRow& b) { return comes_before(a.key, b.key); };
  co_await reactor::sort_in_turns(&transaction_.worker().executor, &own_rows_, before);
}

reactor::Task<void> IndexScan::collect_own_rows() {
  std::size_t seen = 0;
  for (const Access& access : transaction_.accesses()) {
    if (++seen % kAccessesInTurn == 0) co_await transaction_.worker().executor.yield();
    if (access.table->id != table_->id || access.write == WriteKind::none || !access.found()) continue;
    const layout::RowView row(table_->schema, access.image_row());
    std::string key = layout::index_key(index_->shape, row).bytes;
    if (!covers(key)) continue;
    own_rows_.push_back({std::move(key), layout::Row(table_->schema, row.bytes())});
  }
  if (own_rows_.size() > 1) co_await sort_own_rows();
}

reactor::Task<Status> IndexScan::next(std::vector<layout::Row>& rows) {
  rows.clear();
  const Output output(&rows);
  co_return co_await next(output);
}

reactor::Task<Status> IndexScan::next(std::vector<txn::RowId>& rows) {
  rows.clear();
  const Output output(&rows);
  Status status = co_await next(output);
  if (!status.ok()) co_return status;
  // Those of rows that came from the table.
  co_return co_await transaction_.fetch();
}

reactor::Task<Status> IndexScan::next(Output output) {
  const TransactionState::Busy busy(transaction_);
  Status status = transaction_.check_open();
  if (!status.ok()) co_return status;
  if (!began_) {
    began_ = true;
    status = co_await begin();
    if (!status.ok()) co_return status;
  }
  while (output.empty() && !ended_) {
    if (!entries_.empty() || entries_left()) {
      status = co_await read_and_seek(output);
      if (!status.ok()) co_return status;
    } else {
      ended_ = true;
      merge_own_rows({}, output);
    }
  }
  co_return Status();
}

reactor::Task<Status> IndexScan::read_entries(Output output) {
  if (output.ids != nullptr) co_return co_await fetch_records(output.ids);
  std::vector<std::string> entries;
  std::swap(entries, entries_);
  co_return co_await read_records(std::move(entries), output.rows);
}

reactor::Task<Status> IndexScan::read_and_seek(Output output) {
  if (index_->hash && entries_.empty()) take_hashed();
  if (index_->hash || !entries_left()) co_return co_await read_entries(output);
  if (entries_.empty()) co_return co_await seek();
  // A caller that wants few rows probably needs no more than the entries that are there.
  if (range_.limit != 0) {
    Status status = co_await read_entries(output);
    if (!status.ok() || !output.empty()) co_return status;
    co_return co_await seek();
  }
  // The next ones come while the records of these are read.
  cursor_.post();
  posted_ = true;
  Status status = co_await read_entries(output);
  Status sought = co_await finish_entries();
  co_return status.ok() ? std::move(sought) : std::move(status);
}

reactor::Task<Status> IndexScan::seek() {
  if (post_entries()) ++transaction_.mutable_counters().round_trips;
  co_return co_await finish_entries();
}

bool IndexScan::post_entries() {
  if (!entries_.empty()) return false;
  if (index_->hash) take_hashed();
  if (index_->hash || !entries_left()) return false;
  cursor_.post();
  posted_ = true;
  return cursor_.waits();
}

reactor::Task<Status> IndexScan::finish_entries() {
  if (!posted_) co_return Status();
  posted_ = false;
  Status status = co_await cursor_.finish(&entries_);
  // It was dropped just now.
  if (!status.ok() && status.code() == ErrorCode::catalog_changed && !sought_)
    co_return co_await leave_index();
  if (!status.ok()) co_return status;
  sought_ = true;
  co_return transaction_.check_going_on();
}

reactor::Task<Status> IndexScan::read_records(std::vector<std::string> entries,
                                              std::vector<layout::Row>* rows) {
  struct Candidate {
    std::vector<std::byte> key;
    bool own = false;
    Lookup lookup;
  };
  if (entries.empty()) co_return Status();
  std::deque<Candidate> candidates;
  Lookups lookups;
  for (const std::string& entry : entries) {
    auto key = layout::primary_key_of(index_->shape, entry);
    if (!key) co_return not_an_entry(*index_);
    Candidate& candidate = candidates.emplace_back();
    candidate.key = std::move(*key);
    const Access* own = transaction_.rows().find(*table_, candidate.key);
    candidate.own = own != nullptr && own->write != WriteKind::none;
    if (candidate.own) continue;
    const std::uint64_t hash = table_->hash_of(candidate.key);
    candidate.lookup.start(transaction_.worker(), *table_, candidate.key, hash);
    lookups.push_back(&candidate.lookup);
  }
  LookupTables no_tables;
  Status status =
      co_await run_lookups(&transaction_, std::move(lookups), std::move(no_tables), Together::near);
  if (!status.ok()) co_return status;
  Validation* const validation = transaction_.control().validation();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    merge_own_rows(entries[i], Output(rows));
    const Candidate& candidate = candidates[i];
    const bool seen = !candidate.own && !candidate.lookup.passed_over();
    if (seen && validation != nullptr) validation->saw_record(candidate.lookup);
    if (candidate.own || candidate.lookup.state() != Lookup::State::present) continue;
    const layout::RowView row(table_->schema, candidate.lookup.payload());
    if (layout::index_key(index_->shape, row).bytes != entries[i]) continue;
    rows->emplace_back(table_->schema, row.bytes());
  }
  co_return Status();
}

reactor::Task<Status> IndexScan::fetch_records(std::vector<txn::RowId>* ids) {
  Status status = request_records(txn::RowUse::may_change);
  if (!status.ok()) co_return status;
  status = co_await transaction_.fetch();
  if (status.ok()) take_records(ids);
  co_return status;
}

Status IndexScan::request_records(txn::RowUse use) {
  requested_.clear();
  for (const std::string& entry : entries_) {
    const auto key = layout::primary_key_of(index_->shape, entry);
    if (!key) return not_an_entry(*index_);
    requested_.push_back(use == txn::RowUse::only_read ? transaction_.read(table_, *key)
                                                       : transaction_.get(table_, *key));
  }
  return Status();
}

void IndexScan::take_records(std::vector<txn::RowId>* ids) {
  const Output output(ids);
  for (std::size_t i = 0; i < requested_.size(); ++i) {
    merge_own_rows(entries_[i], output);
    const txn::RowId id = requested_[i];
    if (transaction_.accesses()[id].write != WriteKind::none || !transaction_.found(id)) continue;
    if (layout::index_key(index_->shape, transaction_.row(id)).bytes == entries_[i]) ids->push_back(id);
  }
  requested_.clear();
  entries_.clear();
  if (entries_left()) return;
  ended_ = true;
  merge_own_rows({}, output);
}

void IndexScan::merge_own_rows(std::optional<std::string_view> before, Output output) {
  while (!own_rows_.empty() && (!before || comes_before(own_rows_.front().key, *before))) {
    layout::Row& row = own_rows_.front().row;
    if (output.rows != nullptr) {
      output.rows->push_back(std::move(row));
    } else {
      output.ids->push_back(transaction_.get(table_, row.key()));
    }
    own_rows_.pop_front();
  }
}

}  // namespace namdb::protocol
