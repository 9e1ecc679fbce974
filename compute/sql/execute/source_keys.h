// Access by primary key: from a condition on the primary key to the keys of the rows that may meet it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/layout/key.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// Keys of one table, end to end.
struct Keys {
  std::size_t key_bytes = 0;
  std::vector<std::byte> bytes;

  std::size_t size() const { return bytes.empty() ? 0 : bytes.size() / key_bytes; }
  std::span<const std::byte> operator[](std::size_t i) const {
    return std::span(bytes).subspan(i * key_bytes, key_bytes);
  }
  void add(std::span<const std::byte> key) { bytes.insert(bytes.end(), key.begin(), key.end()); }
};

// The key that has these values of its columns, in key order: they were read of a row.
layout::Key key_of(const layout::Schema& schema, std::span<const Datum> values);

// Adds the datum to the key as the value of that column, of which it is the next one. False when no value of
// the column equals the datum.
bool add_to_key(layout::Key& key, const layout::Column& column, const Type& type, const Datum& value);

// Requests the source's row with that key.
inline txn::RowId request_row(const Run& run, const Source& source, std::span<const std::byte> key) {
  return source.to_change ? run.transaction->get(source.table, key)
                          : run.transaction->read(source.table, key);
}

// The keys, without repetitions. In a join the expressions read the columns of `outer`, the row of the tables
// before. A value that no stored row can have (a NULL, a number that the column cannot
// hold) gives no key. Errors are those of the expressions. When the work is paused (Work::paused()), it is
// called again. Other sessions have their turns within a long list.
reactor::Task<Status> evaluate_keys(Run& run, const Source& source, std::span<const Datum> outer, Keys& keys);

}  // namespace namdb::sql
