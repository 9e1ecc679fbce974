// Hash indexes in a transaction. Their entries are rows of tables of their own (common/layout/hash_entry.h),
// which the transaction reads and writes like any other rows. So locks, journal, versions, validation, growth
// and reclaim are those of tables. Only the following is special.
//
// Writing: a commit that changes a row's values in an index first adds the deletion of the old entry and the
// insertion of the new one to its own write set. An entry and its row are written by one commit: a
// transaction that sees the one version sees the other. A unique index has one entry for its values, so a
// second entry is a duplicate key as in any table. The commit's own rows count with the values that the
// commit leaves in them, so rows may swap their values.
//
// Reading: the chain of the values is READ, then its entries, then their rows. The rows' values are checked
// again: without a snapshot the three may be of different moments until the commit has validated them.
// Validation compares the chain's buckets, so it detects a new entry: there are no phantoms.
//
// Building, while others write (schema/hash_index_builder.h): every transaction that may still commit knows
// of the index and adds entries for its own writes. The builder enters a row in a transaction that reads it;
// where reads are not validated it also writes the row, without a change. So of the builder and a transaction
// that changes the row at the same time only one commits: no entry is left of values that the row had before.
// A writer whose row is not entered yet finds no old entry to delete; that is not an error.
//
// Under timestamps a reader may be older than the builder and run after it. So an entry whose first version
// is newer than the reader counts, too; its row decides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/layout/row.h"
#include "compute/api/index.h"
#include "compute/txn/access.h"
#include "compute/txn/staged_transaction.h"

namespace namdb::protocol {

// Whether the range is that of all keys with certain values in all of a hash index's columns.
bool equal_hash_values(const storage::Index& index, const txn::IndexRange& range);

// The keys of the entries with these values, in no order; those of the transaction's own rows are not among
// them. Error catalog_changed: the index is gone.
reactor::Task<Status> read_hash_entries(StagedTransaction* transaction, storage::IndexRef index,
                                        std::string declared, std::vector<std::string>* keys);

// Whether there may be entries to write for these changes.
bool writes_hash_entries(const Accesses& accesses);
// Before the commit: adds the entries to the write set. Error duplicate_key, and those of fetch().
reactor::Task<Status> write_hash_entries(StagedTransaction* transaction);

// Enters rows, by their primary keys, in an index that is being built; those that are gone or entered are
// left out. The transaction is fresh, and is to be committed afterwards. Errors as above.
reactor::Task<Status> enter_hash_entries(StagedTransaction* transaction, storage::TableRef table,
                                         storage::IndexRef index, std::vector<std::vector<std::byte>> keys);

}  // namespace namdb::protocol
