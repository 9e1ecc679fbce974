// Entries of hash indexes: rows of a table of their own, which has no name for SQL.
//
// An index's key (index_key.h) is its declared columns and the rest, which gives the primary key. Its rows
// hold, where the index is
//   not unique   values (the declared columns' bytes), rest: both are the key
//   unique       values, nulls: both are the key; rest. `nulls` holds the rest, and `rest` is empty, where
//                the values hold a NULL: such may come again. It is left out where no column is nullable
//
// So a unique index has at most one row for values without NULL, as a table has one row for a key. The table
// is chained by `values` (placement.h): a lookup of some values reads one bucket chain.
//
// Entries are written by the transaction that writes the rows of the indexed table, and have versions like
// them: a transaction that sees a row sees its entry. Of an entry only `rest` ever changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/layout/index_key.h"
#include "common/layout/placement.h"
#include "common/layout/row.h"
#include "common/layout/schema.h"

namespace namdb::layout {

// Error limit_exceeded when the longest entry would not fit a record.
Result<Schema> hash_entry_schema(const IndexShape& shape, bool unique);

// `entries` is what hash_entry_schema() made.
Row hash_entry(const Schema& entries, const IndexKey& key);
// The whole index key.
std::string index_key_of(const RowView& entry);

// Where the entries with these values are.
HashInterval hash_entry_hashes(std::uint32_t table, std::string_view declared);

}  // namespace namdb::layout
