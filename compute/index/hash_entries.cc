#include "compute/index/hash_entries.h"

#include <algorithm>
#include <optional>

#include "common/layout/hash_entry.h"
#include "compute/txn/bucket_scan.h"
#include "compute/txn/errors.h"
#include "compute/txn/validation.h"

namespace namdb::protocol {

using storage::IndexRef;
using txn::RowId;

namespace {

// An entry that a commit adds or deletes.
struct Change {
  IndexRef index;
  layout::Row entry;
  const Access* access = nullptr;  // the row that it is of, if the transaction writes that
  RowId row = 0;                   // of the entry
};

struct Changes {
  std::vector<Change> gone;
  std::vector<Change> come;
};

void get_entries(StagedTransaction& transaction, std::vector<Change>& changes) {
  for (Change& change : changes) change.row = transaction.get(change.index->entries, change.entry.key());
}

bool same_entry(const StagedTransaction& transaction, const Change& change) {
  return std::ranges::equal(transaction.row(change.row).bytes(), change.entry.bytes());
}

// Inserts entries, which were fetched, once all old ones are deleted. The first duplicate; null if there is
// none.
const Change* insert(StagedTransaction& transaction, const std::vector<Change>& come) {
  for (const Change& change : come) {
    if (!transaction.found(change.row)) {
      transaction.insert(change.index->entries, change.entry.bytes());
    } else if (!same_entry(transaction, change)) {
      return &change;
    }
  }
  return nullptr;
}

// No entry has room for the key of a row with a value that does not lie in the row.
Status check_length(const storage::Index& index, const layout::IndexKey& key) {
  if (key.bytes.size() <= layout::kMaxString_bytes) return {};
  return Status(ErrorCode::limit_exceeded, "a key of index \"" + index.name + "\" is too long");
}

Status plan(const Access& access, const IndexRef& index, Changes& changes) {
  const layout::Schema& schema = access.table->schema;
  std::optional<layout::IndexKey> before;
  std::optional<layout::IndexKey> after;
  if (access.stored())
    before = layout::index_key(index->shape, layout::RowView(schema, access.lookup.payload()));
  if (access.found()) after = layout::index_key(index->shape, layout::RowView(schema, access.image_row()));
  if (before == after) return {};
  if (after) {
    if (Status status = check_length(*index, *after); !status.ok()) return status;
  }
  const layout::Schema& entries = index->entries->schema;
  if (before) changes.gone.push_back({index, layout::hash_entry(entries, *before), &access});
  if (after) changes.come.push_back({index, layout::hash_entry(entries, *after), &access});
  return {};
}

// A unique index has one entry at most, with a key that is known: no chain is READ where its place is cached.
reactor::Task<Status> read_unique_entry(StagedTransaction* transaction, IndexRef index,
                                        layout::IndexKey values, std::vector<std::string>* keys) {
  const storage::Table& entries = *index->entries;
  const layout::Row wanted = layout::hash_entry(entries.schema, values);
  Lookup lookup;
  lookup.start(transaction->worker(), entries, wanted.key(), entries.hash_of(wanted.key()));
  Lookups lookups(1, &lookup);
  LookupTables tables(1, &entries);
  Status status = co_await run_lookups(transaction, std::move(lookups), std::move(tables));
  if (!status.ok()) co_return status;
  const bool newer = transaction->control().timestamps() != nullptr && has_newer_row(lookup);
  if (newer && was_deleted_before(lookup)) co_return write_conflict(entries);
  Validation* const validation = transaction->control().validation();
  if (validation != nullptr && !lookup.passed_over()) validation->saw_record(lookup);
  if (lookup.state() == Lookup::State::present || newer)
    keys->push_back(layout::index_key_of(layout::RowView(entries.schema, lookup.payload())));
  co_return Status();
}

}  // namespace

bool equal_hash_values(const storage::Index& index, const txn::IndexRange& range) {
  const auto values = layout::declared_key_of(index.shape, range.low);
  return values && values->declared_bytes == range.low.size() &&
         range.high == layout::index_successor(range.low);
}

reactor::Task<Status> read_hash_entries(StagedTransaction* transaction, IndexRef index, std::string declared,
                                        std::vector<std::string>* keys) {
  if (index->unique) {
    auto values = layout::declared_key_of(index->shape, declared);
    if (values && !values->has_null)
      co_return co_await read_unique_entry(transaction, index, std::move(*values), keys);
  }
  const layout::HashInterval hashes = layout::hash_entry_hashes(index->entries->id, declared);
  BucketScan scan(*transaction, index->entries, hashes);
  std::vector<layout::Row> entries;
  do {
    Status status = co_await scan.next(entries);
    if (!status.ok()) co_return status;
    for (const layout::Row& entry : entries) {
      std::string key = layout::index_key_of(entry.view());
      if (key.starts_with(declared)) keys->push_back(std::move(key));
    }
  } while (!entries.empty());
  co_return Status();
}

bool writes_hash_entries(const Accesses& accesses) {
  return std::ranges::any_of(accesses, [](const Access& access) {
    return access.write != WriteKind::none &&
           std::ranges::any_of(access.table->indexes, [](const IndexRef& index) { return index->hash; });
  });
}

reactor::Task<Status> write_hash_entries(StagedTransaction* transaction) {
  Changes changes;
  for (const Access& access : transaction->accesses()) {
    if (access.write == WriteKind::none) continue;
    // The indexes of the current catalog: the builder of an index waits for transactions that may not know of
    // it.
    for (const IndexRef& index : access.table->indexes) {
      if (!index->hash) continue;
      if (Status status = plan(access, index, changes); !status.ok()) co_return status;
    }
  }
  if (changes.gone.empty() && changes.come.empty()) co_return Status();
  get_entries(*transaction, changes.gone);
  get_entries(*transaction, changes.come);
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  for (const Change& change : changes.gone) {
    // Otherwise the builder of the index has not entered it yet, or it is another row's with these values.
    if (transaction->found(change.row) && same_entry(*transaction, change)) transaction->erase(change.row);
  }
  const Change* const violated = insert(*transaction, changes.come);
  if (violated == nullptr) co_return Status();
  const layout::RowView row(violated->access->table->schema, violated->access->image_row());
  transaction->note_violation(violated->access->table, *violated->index, row);
  Status duplicate(ErrorCode::duplicate_key,
                   "duplicate key value violates unique constraint \"" + violated->index->name + "\"");
  co_return co_await transaction->confirmed(std::move(duplicate));
}

reactor::Task<Status> enter_hash_entries(StagedTransaction* transaction, storage::TableRef table,
                                         IndexRef index, std::vector<std::vector<std::byte>> keys) {
  std::vector<RowId> rows;
  for (const std::vector<std::byte>& key : keys) rows.push_back(transaction->get(table, key));
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  std::vector<Change> come;
  std::vector<RowId> indexed;  // their rows
  for (const RowId row : rows) {
    if (!transaction->found(row)) continue;
    const layout::IndexKey key = layout::index_key(index->shape, transaction->row(row));
    if (Status fits = check_length(*index, key); !fits.ok()) co_return fits;
    come.push_back({index, layout::hash_entry(index->entries->schema, key)});
    indexed.push_back(row);
    if (transaction->control().validation() == nullptr) transaction->update(row);
  }
  get_entries(*transaction, come);
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  const Change* const violated = insert(*transaction, come);
  if (violated == nullptr) co_return Status();
  transaction->note_violation(table, *index,
                              transaction->row(indexed[static_cast<std::size_t>(violated - come.data())]));
  Status duplicate(ErrorCode::duplicate_key, "could not create unique index \"" + index->name + "\"",
                   "two rows have the same values in its columns");
  co_return co_await transaction->confirmed(std::move(duplicate));
}

}  // namespace namdb::protocol
