// Shared by workloads with whole tables: creating, filling and reading them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/layout/key.h"
#include "compute/api/engine.h"

namespace namdb::sim {

// It is not an error if the table is there: a connection that was lost on the way may have created it.
reactor::Task<Status> create_table(txn::Engine& engine, std::string name, layout::Schema schema,
                                   std::uint64_t size_hint_rows, std::uint32_t ring_slots);
// Inserts those rows that are not there, some at a time, patient with conflicts and with servers that are
// full. `rows` outlives the task.
reactor::Task<Status> put_rows(txn::Engine& engine, std::string table, const std::vector<layout::Row>* rows);
// All rows that the transaction sees, appended, by a scan that pauses up to so long between its steps.
// Everything outlives the task; the rows borrow the table's schema.
reactor::Task<Status> scan_rows(txn::Engine& engine, txn::Transaction& transaction, storage::TableRef table,
                                std::uint64_t pause_ns, std::vector<layout::Row>* rows);
// Updates every row of the table to its own value, some at a time, and so meets all locks that dead compute
// servers have left in it. Rows that keep their values do not lead to the entries of indexes.
reactor::Task<Status> touch_rows(txn::Engine& engine, std::string table);
// The same with the entries of the table's hash indexes, in one transaction.
reactor::Task<Status> touch_hash_entries(txn::Engine& engine, std::string table);
// Reads the first rows of the table and stops there.
reactor::Task<void> abandon_scan(txn::Engine& engine, std::string table, std::uint64_t duration_ns);

// Inserts a row of two columns of type bigint; not yet fetched.
Status insert_pair(txn::Transaction& transaction, const storage::TableRef& table, std::int64_t key,
                   std::int64_t value);

// Columns of type bigint, of which the first is the key.
layout::Schema bigints(std::initializer_list<const char*> names);
layout::Key key_of(const layout::Schema& schema, std::int64_t key);

}  // namespace namdb::sim
