// The public interface of stored procedures, against which a shared library for `nam-computed
// --procedure-library` is compiled. A procedure is a coroutine over a Context. It runs inside one
// transaction, and does not see the protocol, transport or memory servers below it. After a conflict of the
// transaction it runs again from the start, so it must have effects only through the context.
//
//   Task<Status> transfer(Context& c) {
//     const RowId from = c.get(0, Key(c.schema(0)).integer(c.integer(0)).bytes());
//     const RowId to = c.get(0, Key(c.schema(0)).integer(c.integer(1)).bytes());
//     NAMDB_CO_CHECK(co_await c.fetch());                       // both rows, one round trip
//     if (!c.found(from) || !c.found(to)) co_return abort_with("no such account");
//     ...
//     co_return c.update(from).set_integer(1, balance - amount);
//   }
//   extern "C" void namdb_register_procedures(namdb::procedure::Registry& registry) { registry.add({...}); }
//   NAMDB_PROCEDURE_LIBRARY
//
// A library is loaded once at start, by the operator's flag only, and refused when its ABI version differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "common/layout/index_key.h"
#include "common/layout/key.h"
#include "common/layout/row.h"
#include "common/layout/schema.h"
#include "common/reactor/task.h"
#include "compute/api/index.h"
#include "compute/api/table.h"
#include "compute/api/transaction.h"

namespace namdb::procedure {

using layout::ColumnType;
using layout::IndexPrefix;
using layout::IndexRange;
using layout::IndexShape;
using layout::Key;
using layout::Row;
using layout::RowView;
using layout::RowWriter;
using layout::Schema;
using reactor::Task;
using txn::RowId;

// Changes whenever this file changes, or one of the interfaces in compute/api that it includes: a library is
// compiled against all of them.
inline constexpr std::uint32_t kAbiVersion = 4;

// NULL, integer types (numeric: scaled by the parameter's scale; timestamp: µs since 2000), double, string.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

// One attempt of a procedure: its transaction, whose row functions it passes on
// (compute/api/transaction.h), its arguments, and its results. Borrows everything that it is given.
class Context final {
 public:
  // `tables` are those of the definition, in its order; `results` has an element for each output column.
  Context(txn::Transaction& transaction, std::span<const storage::TableRef> tables,
          std::span<const Value> arguments, std::span<Value> results, std::int64_t timestamp_us)
      : transaction_(transaction),
        tables_(tables),
        arguments_(arguments),
        results_(results),
        timestamp_us_(timestamp_us) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // `table` is a position in Definition::tables.
  const Schema& schema(std::size_t table) const { return tables_[table]->schema; }
  RowId get(std::size_t table, std::span<const std::byte> key) {
    return transaction_.get(tables_[table], key);
  }
  RowId insert(std::size_t table, std::span<const std::byte> row) {
    return transaction_.insert(tables_[table], row);
  }
  Task<Status> fetch() { return transaction_.fetch(); }
  bool found(RowId row) const { return transaction_.found(row); }
  RowView row(RowId row) const { return transaction_.row(row); }
  RowWriter update(RowId row) { return transaction_.update(row); }
  void erase(RowId row) { transaction_.erase(row); }

  // The columns of an index of the table, by its name; null when there is none that is ready. Valid until the
  // procedure ends.
  const IndexShape* index(std::size_t table, std::string_view name) const {
    const storage::IndexRef found = find_index(table, name);
    if (found == nullptr) return nullptr;
    if (shown_.empty() || shown_.back() != found) shown_.push_back(found);
    return &found->shape;
  }
  // Reads the rows of a range of the index, at most range.limit, in its order, backwards if range.descending:
  //   std::vector<RowId> rows;
  //   IndexRange range = index_range(IndexPrefix(*c.index(2, "by_name")).integer(district).text(name));
  //   NAMDB_CO_CHECK(co_await c.find(2, "by_name", range, rows));
  // What get() and insert() asked for is fetched with them. Error undefined_object.
  Task<Status> find(std::size_t table, std::string_view index, IndexRange range, std::vector<RowId>& rows) {
    storage::IndexRef found = find_index(table, index);
    if (found == nullptr) return undefined_index(std::string(index));
    return transaction_.find(tables_[table], std::move(found), std::move(range), rows);
  }
  // The same of several ranges, side by side: rows[i] are those of ranges[i]. They take as many round trips
  // as the one of them that takes the most.
  Task<Status> find_each(std::size_t table, std::string_view index, std::vector<IndexRange> ranges,
                         std::vector<std::vector<RowId>>& rows) {
    storage::IndexRef found = find_index(table, index);
    if (found == nullptr) return undefined_index(std::string(index));
    return transaction_.find_each(tables_[table], std::move(found), std::move(ranges),
                                  txn::RowUse::may_change, rows);
  }

  // Arguments are converted to the declared parameter types before the procedure runs.
  std::span<const Value> arguments() const { return arguments_; }
  bool is_null(std::size_t argument) const {
    return std::holds_alternative<std::monostate>(arguments_[argument]);
  }
  std::int64_t integer(std::size_t argument) const { return std::get<std::int64_t>(arguments_[argument]); }
  double real(std::size_t argument) const { return std::get<double>(arguments_[argument]); }
  std::string_view text(std::size_t argument) const { return std::get<std::string>(arguments_[argument]); }

  // Sets an output column of the one row that CALL returns; those not set are NULL.
  void result(std::size_t column, Value value) { results_[column] = std::move(value); }
  // A point in time for columns like entry dates: µs since 2000-01-01, the same in every attempt.
  std::int64_t timestamp_us() const { return timestamp_us_; }

 private:
  static Task<Status> undefined_index(std::string name) {
    co_return Status(ErrorCode::undefined_object, "index \"" + name + "\" does not exist");
  }
  // Null when there is no such index that is ready.
  storage::IndexRef find_index(std::size_t table, std::string_view name) const {
    for (const storage::IndexRef& index : tables_[table]->indexes) {
      if (index->name == name && index->ready() && !index->replaced()) return index;
    }
    return nullptr;
  }

  txn::Transaction& transaction_;
  std::span<const storage::TableRef> tables_;
  std::span<const Value> arguments_;
  std::span<Value> results_;
  std::int64_t timestamp_us_;
  // The indexes whose columns the procedure has seen: the catalog may have others by now.
  mutable std::vector<storage::IndexRef> shown_;
};

// Ends the procedure and rolls its transaction back; the client gets the message under SQLSTATE P0001.
inline Status abort_with(std::string message) {
  return Status(ErrorCode::procedure_abort, std::move(message));
}

struct Parameter {
  std::string name;
  ColumnType type = ColumnType::bigint;
  std::uint8_t precision = 0;
  std::uint8_t scale = 0;
};

struct Definition {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Parameter> results;   // none: CALL returns no row
  std::vector<std::string> tables;  // looked up before each run; undefined_table when one is missing
  Task<Status> (*run)(Context& context) = nullptr;
};

class Registry {
 public:
  virtual ~Registry() = default;
  // Names are unique over all libraries; a second definition of a name is refused when the library is loaded.
  virtual void add(Definition definition) = 0;
};

}  // namespace namdb::procedure

// co_return the status from the surrounding coroutine unless it is ok.
#define NAMDB_CO_CHECK(expression)                                                               \
  do {                                                                                           \
    if (::namdb::Status namdb_status = (expression); !namdb_status.ok()) co_return namdb_status; \
  } while (false)

#define NAMDB_PROCEDURE_LIBRARY \
  extern "C" const std::uint32_t namdb_procedure_abi_version = ::namdb::procedure::kAbiVersion;
