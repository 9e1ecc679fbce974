#include "compute/txn/staged_transaction.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "compute/txn/locking.h"
#include "compute/txn/lookup_runner.h"
#include "compute/txn/record_space.h"
#include "compute/txn/validation.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {

using storage::TableRef;
using txn::RowId;

namespace {

// A fetch of so many rows that are inserted does not ask for the cached locations of their keys, which would
// come from memory one by one; and it has the commit's records reserved.
constexpr std::size_t kManyRows = 256;

}  // namespace

StagedTransaction::StagedTransaction(txn::WorkerState& worker, SessionState& session,
                                     WorkerProtocol& protocol)
    : TransactionState(*this, worker, session, protocol) {
  worker.running.add(*this);
}

StagedTransaction::~StagedTransaction() {
  abort();
}

void StagedTransaction::abort_with(const Status& outcome) {
  if (ended()) return;
  worker().running.remove(*this);
  end(outcome);
}

bool StagedTransaction::locks_at_once() const {
  // One in order waits for its turn first.
  return control().locking() != nullptr && !worker().cluster.protocol().ordered;
}

void StagedTransaction::read_past_locks() {
  reads_past_locks_ = true;
  visibility().ignore_locks(true);
}

void StagedTransaction::look_again(Access& access, RowId row) {
  access.passed_over = false;
  // One that was read before is locked from that version, or there is a conflict.
  if (!access.shown) access.lookup = Lookup();
  rows().fetch_next(row);
}

RowId StagedTransaction::get(const TableRef& table, std::span<const std::byte> key) {
  RowId row = 0;
  Access& wanted = rows().access(table, key, worker().locations, row);
  if (wanted.passed_over) {
    wanted.only_read = wanted.shares = false;
    look_again(wanted, row);
    return row;
  }
  if (!wanted.only_read) return row;
  wanted.only_read = wanted.shares = false;
  // The next fetch() locks the version that was read.
  if (wanted.fetched() && control().locking() != nullptr) {
    wanted.shown = true;
    rows().fetch_next(row);
  }
  return row;
}

RowId StagedTransaction::read(const TableRef& table, std::span<const std::byte> key) {
  RowId row = 0;
  const std::size_t known = accesses().size();
  Access& wanted = rows().access(table, key, worker().locations, row);
  if (accesses().size() == known) {
    if (wanted.passed_over) look_again(wanted, row);
    return row;
  }
  const bool locks_rows = control().locking() != nullptr && !reads_past_locks_;
  const txn::ReadLocks read_locks = worker().read_locks;
  // Where read locks are exclusive, a row that is only read is locked like one that may be written.
  wanted.only_read = !locks_rows || read_locks != txn::ReadLocks::exclusive;
  if (!locks_rows || !wanted.only_read || read_locks == txn::ReadLocks::none) return row;
  // Entries of a hash index are validated: their writers lock them at commit only.
  const bool leases = worker().cluster.protocol().leases_reads && !table->schema.chained();
  wanted.shares = leases || table->record.reader_words != 0;
  return row;
}

RowId StagedTransaction::insert(const TableRef& table, std::span<const std::byte> row_bytes) {
  NAMDB_CHECK(row_bytes.size() == table->schema.row_bytes());
  RowId row = 0;
  const auto key = row_bytes.subspan(table->schema.key_offset(), table->schema.key_bytes());
  Access& access = rows().access(table, key, worker().locations, row);
  if (access.found()) {
    // fetch() reports it, and has it once only.
    if (access.fetched() && !access.duplicate) rows().fetch_next(row);
    access.duplicate = true;
    return row;
  }
  rows().before_write(row);
  const bool replaces = access.write == WriteKind::erase;
  if (!replaces && !access.fetched()) access.insert_asked = true;
  access.image = image_buffers().take(table->record.locked_bytes());
  access.write = replaces ? WriteKind::update : WriteKind::insert;
  std::ranges::copy(row_bytes, access.image_row().begin());
  return row;
}

layout::RowView StagedTransaction::row(RowId row) const {
  const Access& access = rows()[row];
  NAMDB_CHECK(access.found());
  return {access.table->schema,
          access.write == WriteKind::none ? access.lookup.payload() : access.image_row()};
}

layout::RowWriter StagedTransaction::update(RowId row) {
  Access& access = rows()[row];
  NAMDB_CHECK(access.found());
  rows().before_write(row);
  if (access.write == WriteKind::none) {
    access.image = image_buffers().take(access.table->record.locked_bytes());
    std::ranges::copy(access.lookup.payload(), access.image_row().begin());
    access.write = WriteKind::update;
  }
  return {access.table->schema, access.image_row()};
}

// A lock that is held is enough. A validation is not: one READ alone needs none, and in an order of
// timestamps validated reads may lie before changes of others that have committed already. So the row is
// written as it is. So is one that is not locked although its protocol locks rows: where transactions are put
// in order those that are not declared.
void StagedTransaction::hold(RowId row) {
  const bool locks = control().locking() != nullptr;
  if (!locks || (worker().cluster.protocol().ordered && !rows()[row].locked)) update(row);
}

void StagedTransaction::erase(RowId row) {
  Access& access = rows()[row];
  NAMDB_CHECK(access.found());
  rows().before_write(row);
  if (access.write == WriteKind::insert) {
    access.write = WriteKind::none;
    access.insert_asked = false;
    return;
  }
  update(row);  // the tombstone keeps the key
  access.write = WriteKind::erase;
}

Status StagedTransaction::rollback_to(Savepoint savepoint) {
  if (!failure().ok() && failure().code() != ErrorCode::duplicate_key) return failure();
  if (ended()) return check_open();
  rows().rollback_to(savepoint);
  fail(Status());
  return {};
}

void StagedTransaction::expire() {
  if (busy() || ended()) return;
  expired_ = true;
  fail(Status(ErrorCode::transaction_timeout,
              "the transaction was ended: it was idle, and older than the maximal transaction time",
              kOlderHint));
  abort();
}

reactor::Task<Status> StagedTransaction::fetch() {
  if (ended() && !failure().ok()) co_return failure();
  const Busy busy(*this);
  Status status = co_await do_fetch();
  if (!status.ok() && failure().ok()) fail(status);
  co_return status;
}

reactor::Task<Status> StagedTransaction::do_fetch() {
  Lookups lookups;
  LookupTables tables;
  Status status;
  while (!visibility().may_read_behind(session().deferred)) {
    status = co_await wait_for_deferred();
    if (!status.ok()) co_return status;
  }
  const ReadWriteSet::Rows asked = rows().take_unfetched();
  lookups.reserve(asked.size());
  tables.reserve(asked.size());
  std::size_t looked_for_bytes = 0;
  for (const RowId row : asked)
    looked_for_bytes += txn::RowBuffers::piece_bytes(Lookup::buffer_bytes(*rows()[row].table));
  lookup_buffers().expect(looked_for_bytes);
  Locking* const locking = control().locking();
  const bool timestamps = control().timestamps() != nullptr;
  const bool reads_trailer = worker().cluster.protocol().reads_trailer;
  reactor::PooledVector<RowId> to_lock;
  if (locking != nullptr) {
    std::ranges::copy_if(asked, std::back_inserter(to_lock),
                         [this](RowId row) { return !rows()[row].only_read || rows()[row].shares; });
    if (!to_lock.empty()) status = co_await locking->before_fetch();
    if (!status.ok()) co_return status;
  }
  for (const RowId row : asked) {
    Access& access = rows()[row];
    if (!access.fetched() && access.lookup.state() == Lookup::State::idle) {
      const bool is_new = access.insert_asked && asked.size() >= kManyRows;
      access.lookup.start(worker(), *access.table, access.key, access.key_hash, is_new, &lookup_buffers());
      if (access.insert_asked) access.lookup.expect_absent();
      if (timestamps) {
        access.lookup.read_with_lease();
      } else if (access.shares) {
        access.lookup.read_with_shared_lock(reads_trailer);
      } else if (!access.only_read) {
        access.lookup.read_with_lock(reads_trailer);
      }
      lookups.push_back(&access.lookup);
      tables.push_back(access.table.get());
    }
  }
  if (worker().cluster.optimisations().speculative_reads) {
    status = co_await run_lookups(this, std::move(lookups), std::move(tables));
  } else {
    status = co_await run_one_by_one(this, &lookups, &tables);
  }
  if (!status.ok()) co_return status;
  if (passes_over_locked()) {
    for (const RowId row : asked) rows()[row].passed_over = rows()[row].lookup.passed_over();
  }
  if (!to_lock.empty()) {
    status = co_await locking->after_fetch(to_lock);
    if (!status.ok()) co_return status;
  }
  for (const RowId row : asked) {
    Access& access = rows()[row];
    if (access.lookup.state() == Lookup::State::absent && !access.lookup.has_record()) {
      access.lookup.drop_bytes();
      if (access.insert_asked && asked.size() >= kManyRows) count_new(access);
    }
    if (access.duplicate || (access.insert_asked && access.stored())) {
      note_primary_violation(row);
      Status duplicate(
          ErrorCode::duplicate_key,
          "duplicate key value violates unique constraint \"" +
              (access.table->schema.chained() ? access.table->name : access.table->primary_key_name()) +
              "\"");
      co_return co_await confirmed(std::move(duplicate));
    }
  }
  if (asked.size() >= kManyRows) expect_records();
  co_return Status();
}

void StagedTransaction::count_new(const Access& access) {
  const layout::ServerId server = access.lookup.chain().front().server();
  const auto known = std::ranges::find_if(new_rows_, [&](const NewRows& rows) {
    return rows.table->id == access.table->id && rows.server == server;
  });
  if (known == new_rows_.end()) {
    new_rows_.push_back({access.table, server, 1});
  } else {
    ++known->count;
  }
}

void StagedTransaction::expect_records() {
  for (const NewRows& rows : new_rows_) worker().space.expect_records(rows.table, rows.server, rows.count);
}

void StagedTransaction::note_primary_violation(RowId id) {
  const Access& access = rows()[id];
  // The entries of a hash index are not rows of its table.
  if (access.table->schema.chained() || !access.found()) return;
  const std::span<const std::byte> bytes = row(id).bytes();
  txn::Violation violation{access.table, access.table->primary_key_name(), {}, {bytes.begin(), bytes.end()}};
  const std::span<const std::uint32_t> key = access.table->schema.key();
  violation.columns.assign(key.begin(), key.end());
  note(std::move(violation));
}

reactor::Task<Status> StagedTransaction::confirm_reads() {
  if (!failure().ok()) co_return failure();
  if (ended()) co_return check_open();
  const Busy busy(*this);
  co_return co_await confirmed(Status());
}

reactor::Task<Status> StagedTransaction::confirm_primaries() {
  if (primaries_held()) co_return Status();
  const Busy busy(*this);
  co_return co_await confirm_primaries_of_reads();
}

void StagedTransaction::lock_written_reads() {
  const txn::Cluster& cluster = worker().cluster;
  if (!cluster.shared_read_locks() && !cluster.protocol().leases_reads) return;
  for (const Access& access : accesses()) {
    if (access.write != WriteKind::none && access.only_read && access.stored()) get(access.table, access.key);
  }
}

}  // namespace namdb::protocol
