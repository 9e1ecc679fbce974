// The transactions of the test engine.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compute/api/column_scan.h"
#include "compute/api/row_locks.h"
#include "compute/api/transaction_facts.h"
#include "compute/sql/testing/fake_engine.h"

namespace namdb::sql::testing {

using reactor::Task;
using storage::TableRef;
using txn::RowId;

namespace {

enum class Write { none, insert, update, erase };

struct Access {
  TableRef table;
  std::vector<std::byte> key;
  bool fetched = false;
  bool stored = false;  // visible in the snapshot
  bool duplicate = false;
  Write write = Write::none;
  std::vector<std::byte> row;

  bool found() const { return write == Write::none ? fetched && stored : write != Write::erase; }
};

std::vector<std::byte> to_vector(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

class FakeTransaction : public txn::Transaction, public txn::TransactionFacts, public txn::RowLocks {
 public:
  explicit FakeTransaction(FakeEngine& engine) : engine_(engine), begun_after_(engine.expirations_) {
    ++engine_.open_transactions_;
    ++engine_.begun_transactions_;
  }
  ~FakeTransaction() override { --engine_.open_transactions_; }

  RowId get(const TableRef& table, std::span<const std::byte> key) override {
    NAMDB_CHECK(key.size() == table->schema.key_bytes());
    const auto next = static_cast<RowId>(accesses_.size());
    const auto [place, added] = places_.try_emplace({table->id, to_vector(key)}, next);
    if (added) accesses_.push_back({table, to_vector(key)});
    return place->second;
  }

  RowId insert(const TableRef& table, std::span<const std::byte> row) override {
    NAMDB_CHECK(row.size() == table->schema.row_bytes());
    const RowId id = get(table, row.subspan(table->schema.key_offset(), table->schema.key_bytes()));
    Access& access = accesses_[id];
    if (access.found()) {
      access.duplicate = true;
      return id;
    }
    access.write = access.write == Write::erase ? Write::update : Write::insert;
    access.row = to_vector(row);
    return id;
  }

  Task<Status> fetch() override {
    if (ended_) co_return Status(ErrorCode::in_failed_transaction, "ended");
    if (Status status = expired(); !status.ok()) co_return status;
    const std::uint64_t since_ns = engine_.executor_.now_ns();
    do {
      if (Status status = check_interrupt(); !status.ok()) co_return status;
      if (Status status = check_wait({}, since_ns); !status.ok()) co_return status;
      if (engine_.hold_fetches_) co_await engine_.executor_.sleep_for(kMillisecond_ns);
    } while (engine_.hold_fetches_);
    if (Status status = engine_.take_failure(engine_.failing_fetches_); !status.ok()) co_return status;
    take_snapshot();
    bool asked = false;
    for (Access& access : accesses_) {
      if (!access.fetched) {
        asked = true;
        ++counters_.reads;
        counters_.read_bytes += access.table->schema.row_bytes();
        if (engine_.tables_.find(access.table->name) == engine_.tables_.end())
          co_return Status(ErrorCode::catalog_changed, "the table was dropped");
        const FakeEngine::Version* version = engine_.visible(access.table->id, access.key, snapshot_);
        access.stored = version != nullptr;
        access.fetched = true;
        if (access.write == Write::none && version != nullptr) access.row = version->row;
        if (access.write == Write::insert && access.stored) access.duplicate = true;
      }
      if (access.duplicate) {
        const auto key = access.table->schema.key();
        violation_ = txn::Violation{
            access.table, access.table->primary_key_name(), {key.begin(), key.end()}, access.row};
        co_return Status(ErrorCode::duplicate_key, "duplicate key value violates unique constraint \"" +
                                                       access.table->primary_key_name() + "\"");
      }
    }
    if (asked) ++counters_.round_trips;
    co_return Status();
  }

  bool locks_at_once() const override { return false; }
  void read_past_locks() override {}
  void pass_over_locked(bool /*on*/) override {}
  bool passed_over(RowId /*row*/) const override { return false; }
  bool has_written(RowId row) const override { return accesses_[row].write != Write::none; }

  bool found(RowId row) const override { return accesses_[row].found(); }
  layout::RowView row(RowId row) const override {
    NAMDB_CHECK(found(row));
    return {accesses_[row].table->schema, accesses_[row].row};
  }
  layout::RowWriter update(RowId row) override {
    Access& access = accesses_[row];
    NAMDB_CHECK(access.found());
    if (access.write == Write::none) access.write = Write::update;
    return {access.table->schema, access.row};
  }
  void erase(RowId row) override {
    Access& access = accesses_[row];
    NAMDB_CHECK(access.found());
    access.write = access.write == Write::insert ? Write::none : Write::erase;
    if (access.write == Write::none) access.stored = false;
  }
  Savepoint savepoint() override {
    saved_.push_back(accesses_);
    return saved_.size() - 1;
  }
  Status rollback_to(Savepoint savepoint) override {
    if (Status status = expired(); !status.ok()) return status;
    const std::deque<Access> before = saved_[savepoint];
    saved_.resize(savepoint + 1);
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      if (accesses_[i].table->name == storage::kTransactionsTable) continue;
      if (i < before.size()) {
        accesses_[i] = before[i];
      } else {
        Access& access = accesses_[i];
        access.write = Write::none;
        access.duplicate = false;
        const auto* stored = engine_.visible(access.table->id, access.key, snapshot_);
        if (access.fetched && stored != nullptr) access.row = stored->row;
      }
    }
    violation_.reset();
    return {};
  }
  std::unique_ptr<txn::TableScan> scan(const TableRef& table) override;
  std::unique_ptr<txn::TableScan> scan_index(const TableRef& table, const storage::IndexRef& index,
                                             txn::IndexRange range) override;

  Task<Status> find(TableRef table, storage::IndexRef index, txn::IndexRange range,
                    std::vector<RowId>& rows) override {
    rows.clear();
    const std::uint64_t limit = range.limit == 0 ? ~std::uint64_t{0} : range.limit;
    const auto scan = scan_index(table, index, std::move(range));
    std::vector<layout::Row> found;
    Status status = co_await scan->next(found);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : found) {
      if (rows.size() < limit) rows.push_back(get(table, row.key()));
    }
    co_return co_await fetch();
  }

  Task<Status> commit() override {
    Status status = co_await fetch();
    if (status.ok() && has_writes()) status = apply();
    abort();
    co_return status;
  }
  void abort() override { ended_ = true; }
  bool has_writes() const override {
    return std::ranges::any_of(accesses_, [](const Access& access) { return access.write != Write::none; });
  }
  const fabric::OperationCounters& counters() const override { return counters_; }
  const txn::Violation* violation() const override { return violation_ ? &*violation_ : nullptr; }
  Status expired() const override {
    if (begun_after_ == engine_.expirations_) return {};
    return Status(ErrorCode::transaction_timeout, "idle for too long");
  }

 private:
  friend class FakeScan;
  void take_snapshot() {
    if (snapshot_ == 0) snapshot_ = engine_.clock_;
  }

  Status apply() {
    if (Status status = engine_.take_failure(engine_.failing_commits_); !status.ok()) return status;
    for (const Access& access : accesses_) {
      if (access.write == Write::none) continue;
      const auto& versions = engine_.data_[access.table->id][access.key];
      if (!versions.empty() && versions.back().committed > snapshot_)
        return Status(ErrorCode::serialization_failure,
                      "could not serialize access due to concurrent update");
    }
    for (const Access& access : accesses_) {
      if (access.write == Write::none || access.write == Write::erase) continue;
      if (Status status = check_unique(access); !status.ok()) return status;
    }
    ++engine_.clock_;
    for (Access& access : accesses_) {
      if (access.write == Write::none) continue;
      ++counters_.writes;
      counters_.write_bytes += access.row.size();
      engine_.data_[access.table->id][access.key].push_back(
          {engine_.clock_, access.write == Write::erase, access.row});
    }
    ++counters_.round_trips;
    return {};
  }

  // The row against all others as the commit leaves them.
  Status check_unique(const Access& access) {
    const auto table = engine_.tables_.find(access.table->name);
    if (table == engine_.tables_.end()) return {};
    for (const storage::IndexRef& index : table->second->indexes) {
      const layout::RowView row(access.table->schema, access.row);
      const layout::IndexKey key = layout::index_key(index->shape, row);
      if (!index->unique || key.has_null) continue;
      auto rows = engine_.latest(access.table->id);
      for (const Access& other : accesses_) {
        if (other.table->id != access.table->id || other.write == Write::none) continue;
        rows.erase(other.key);
        if (other.write != Write::erase) rows[other.key] = other.row;
      }
      rows.erase(access.key);
      for (const auto& [primary, bytes] : rows) {
        const layout::IndexKey other =
            layout::index_key(index->shape, layout::RowView(access.table->schema, bytes));
        if (other.declared() != key.declared()) continue;
        violation_ = txn::Violation{access.table, index->name, {}, access.row};
        for (const layout::IndexColumn& column : index->shape.columns())
          violation_->columns.push_back(column.column);
        return Status(ErrorCode::duplicate_key,
                      "duplicate key value violates unique constraint \"" + index->name + "\"");
      }
    }
    return {};
  }

  FakeEngine& engine_;
  std::uint64_t begun_after_ = 0;  // so many expirations
  std::uint64_t snapshot_ = 0;
  bool ended_ = false;
  std::optional<txn::Violation> violation_;
  std::deque<Access> accesses_;
  std::map<std::pair<std::uint32_t, std::vector<std::byte>>, RowId> places_;  // by table and key
  std::vector<std::deque<Access>> saved_{1};                                  // by savepoint
  fabric::OperationCounters counters_;
};

class FakeScan : public txn::TableScan, public txn::ColumnScan {
 public:
  FakeScan(FakeTransaction& transaction, TableRef table)
      : transaction_(transaction), table_(std::move(table)) {}

  void want_only(std::span<const std::uint32_t> columns) override {
    unwanted_.assign(table_->schema.columns().size(), true);
    for (const std::uint32_t column : columns) unwanted_[column] = false;
  }

  // Three rows at a time, so that tests see several batches.
  Task<Status> next(std::vector<layout::Row>& rows) override {
    rows.clear();
    FakeEngine& engine = transaction_.engine_;
    if (Status status = engine.take_failure(engine.failing_fetches_); !status.ok()) co_return status;
    transaction_.take_snapshot();
    if (!started_) collect();
    ++transaction_.counters_.reads;
    ++transaction_.counters_.round_trips;
    for (; position_ < found_.size() && rows.size() < 3; ++position_) {
      spoil(found_[position_]);
      rows.emplace_back(table_->schema, found_[position_]);
    }
    co_return Status();
  }

 private:
  // Other bytes in columns that must not be read.
  void spoil(std::vector<std::byte>& row) const {
    const layout::Schema& schema = table_->schema;
    for (std::uint32_t column = 0; column < unwanted_.size(); ++column) {
      if (!unwanted_[column]) continue;
      row[column / 8] ^= static_cast<std::byte>(1U << (column % 8));
      std::fill_n(row.begin() + schema.field_offset(column), schema.columns()[column].field_bytes(),
                  std::byte{0x2a});
    }
  }

  void collect() {
    started_ = true;
    FakeEngine& engine = transaction_.engine_;
    std::map<std::vector<std::byte>, std::vector<std::byte>> rows;
    for (const auto& [key, versions] : engine.data_[table_->id]) {
      const auto* version = engine.visible(table_->id, key, transaction_.snapshot_);
      if (version != nullptr) rows[key] = version->row;
    }
    for (const Access& access : transaction_.accesses_) {
      if (access.table->id != table_->id || access.write == Write::none) continue;
      if (access.write == Write::erase) {
        rows.erase(access.key);
      } else {
        rows[access.key] = access.row;
      }
    }
    for (auto& [key, row] : rows) found_.push_back(std::move(row));
  }

  FakeTransaction& transaction_;
  TableRef table_;
  bool started_ = false;
  std::vector<bool> unwanted_;  // columns
  std::vector<std::vector<std::byte>> found_;
  std::size_t position_ = 0;
};

std::unique_ptr<txn::TableScan> FakeTransaction::scan(const TableRef& table) {
  return std::make_unique<FakeScan>(*this, table);
}

// Everything at once, sorted by the index's keys.
class FakeIndexScan : public txn::TableScan {
 public:
  FakeIndexScan(FakeTransaction& transaction, TableRef table, storage::IndexRef index, txn::IndexRange range)
      : table_scan_(transaction, table), index_(std::move(index)), range_(std::move(range)) {}

  Task<Status> next(std::vector<layout::Row>& rows) override {
    rows.clear();
    if (ended_) co_return Status();
    ended_ = true;
    std::multimap<std::string, layout::Row> sorted;
    std::vector<layout::Row> some;
    do {
      Status status = co_await table_scan_.next(some);
      if (!status.ok()) co_return status;
      for (const layout::Row& row : some) {
        std::string key = layout::index_key(index_->shape, row.view()).bytes;
        if (key >= range_.low && (!range_.high || key < *range_.high)) sorted.emplace(std::move(key), row);
      }
    } while (!some.empty());
    for (auto& [key, row] : sorted) rows.push_back(std::move(row));
    if (range_.descending) std::ranges::reverse(rows);
    co_return Status();
  }

 private:
  FakeScan table_scan_;
  storage::IndexRef index_;
  txn::IndexRange range_;
  bool ended_ = false;
};

std::unique_ptr<txn::TableScan> FakeTransaction::scan_index(const TableRef& table,
                                                            const storage::IndexRef& index,
                                                            txn::IndexRange range) {
  return std::make_unique<FakeIndexScan>(*this, table, index, std::move(range));
}

std::unique_ptr<txn::Transaction> FakeEngine::begin(txn::Session&) {
  return std::make_unique<FakeTransaction>(*this);
}

}  // namespace namdb::sql::testing
