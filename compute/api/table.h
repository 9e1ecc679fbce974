// A table as a compute server knows it: a worker's copy of a catalog entry, shared by reference. Only the
// places of its main buckets change: when these were doubled, the worker's catalog cache replaces `arrays` in
// place. So a coroutine that needs the same arrays over a suspension takes a copy. An altered table has
// another object. The object of a dropped or altered table stays valid as long as it is held; using it ends
// in catalog_changed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/layout/bucket.h"
#include "common/layout/global_address.h"
#include "common/layout/placement.h"
#include "common/layout/record.h"
#include "common/layout/schema.h"
#include "compute/api/index.h"

namespace namdb::storage {

// A condition that each row meets: SQL over the table's columns. The writer of a row checks it.
struct TableCheck {
  std::string name;
  std::string expression;
  friend bool operator==(const TableCheck&, const TableCheck&) = default;
};

enum class ForeignKeyAction : std::uint8_t { no_action = 0, restricted, cascade, set_null, set_default };
inline constexpr std::uint32_t kForeignKeyActions = 5;

// Each row has a row in the table that is referenced, or NULL. The writers of both tables check it
// (docs/internals/foreign-keys.md).
struct ForeignKey {
  std::string name;
  std::vector<std::string> columns;
  std::uint32_t references = 0;         // the id of that table; 0: its own
  std::vector<std::string> referenced;  // columns there, one for each of `columns`: a unique key
  ForeignKeyAction on_delete = ForeignKeyAction::no_action;
  ForeignKeyAction on_update = ForeignKeyAction::no_action;
  bool match_full = false;
  bool deferrable = false;          // its check may wait for the end of the transaction, ...
  bool initially_deferred = false;  // and does, unless SET CONSTRAINTS says otherwise
  bool not_valid = false;           // rows that were there before it are not checked
  bool unsettled = false;           // transactions may still run that do not know it
  friend bool operator==(const ForeignKey&, const ForeignKey&) = default;
};

struct Table {
  std::uint32_t id = 0;
  std::string name;
  layout::Schema schema;
  layout::RecordLayout record;
  std::uint64_t size_hint_rows = 0;
  std::uint32_t generation = 0;             // of the arrays that the table was created with
  std::vector<layout::BucketArray> arrays;  // main buckets, one a memory server
  // All that writers keep, ready or not, by id. Replaced in place like the arrays; borrow the schema.
  std::vector<IndexRef> indexes;
  std::vector<TableCheck> checks;
  std::vector<ForeignKey> foreign_keys;
  // While rows are copied to it: the table that it is to replace. Only the copier may use it then.
  std::uint32_t replaces = 0;
  // Another table is to take its place: a commit that changes it fails. Changed in place like the arrays.
  bool frozen = false;
  // Transactions whose snapshots show an older version of the catalog cannot see its rows; 0: all can.
  std::uint64_t ready_version = 0;
  std::uint64_t altered_version = 0;  // of the catalog, with its last other definition; 0: there was none

  // The name of the primary key's constraint.
  std::string primary_key_name() const {
    for (const IndexRef& index : indexes) {
      if (index->primary) return index->name;
    }
    return name + "_pkey";
  }
  std::uint64_t bucket_count() const {
    std::uint64_t count = 0;
    for (const layout::BucketArray& array : arrays) count += array.bucket_count;
    return count;
  }
  // The hash of the row with that key in the table's buckets.
  std::uint64_t hash_of(std::span<const std::byte> key) const {
    return layout::row_hash(id, schema, key, arrays.size());
  }
  // Where records with that hash are, however the arrays grow.
  layout::ServerId server_of(std::uint64_t key_hash) const {
    return static_cast<layout::ServerId>(layout::bucket_index(key_hash, arrays.size()));
  }
};

using TableRef = std::shared_ptr<const Table>;

// The table of the outcomes of transactions (compute/outcome/transaction_ids.h). Clients may read it.
inline constexpr const char* kTransactionsTable = "namdb_transactions";
// The table of sequences (compute/sequences/sequences.h). Likewise.
inline constexpr const char* kSequencesTable = "namdb_sequences";

}  // namespace namdb::storage
