// The public interface of stored procedures: what a shared library given to `nam-computed
// --procedure-library` is compiled against. A procedure is a coroutine over a Context; it runs inside one
// transaction, may be run again from the start when that transaction conflicts (so it must have no effects
// but through the context), and never sees which protocol, transport or memory server is below it.
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
using RowId = std::uint32_t;

inline constexpr std::uint32_t kAbiVersion = 2;

// NULL, integer types (numeric: scaled by the parameter's scale; timestamp: µs since 2000), double, string.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

// What a running procedure may do. Row functions are those of compute/api/transaction.h.
class Context {
 public:
  virtual ~Context() = default;

  // `table` is a position in Definition::tables.
  virtual const Schema& schema(std::size_t table) const = 0;
  virtual RowId get(std::size_t table, std::span<const std::byte> key) = 0;
  virtual RowId insert(std::size_t table, std::span<const std::byte> row) = 0;
  virtual Task<Status> fetch() = 0;
  virtual bool found(RowId row) const = 0;
  virtual RowView row(RowId row) const = 0;
  virtual RowWriter update(RowId row) = 0;
  virtual void erase(RowId row) = 0;

  // The columns of an index of the table, by its name; null when there is none that is ready. Valid until the
  // procedure ends.
  virtual const IndexShape* index(std::size_t table, std::string_view name) const = 0;
  // Reads the rows of a range of the index, at most range.limit, in its order, backwards if range.descending:
  //   std::vector<RowId> rows;
  //   IndexRange range = index_range(IndexPrefix(*c.index(2, "by_name")).integer(district).text(name));
  //   NAMDB_CO_CHECK(co_await c.find(2, "by_name", range, rows));
  // What get() and insert() asked for is fetched with them. Error undefined_object.
  virtual Task<Status> find(std::size_t table, std::string_view index, IndexRange range,
                            std::vector<RowId>& rows) = 0;

  // Arguments are converted to the declared parameter types before the procedure runs.
  virtual std::span<const Value> arguments() const = 0;
  bool is_null(std::size_t argument) const {
    return std::holds_alternative<std::monostate>(arguments()[argument]);
  }
  std::int64_t integer(std::size_t argument) const { return std::get<std::int64_t>(arguments()[argument]); }
  double real(std::size_t argument) const { return std::get<double>(arguments()[argument]); }
  std::string_view text(std::size_t argument) const { return std::get<std::string>(arguments()[argument]); }

  // Sets an output column of the one row that CALL returns; those not set are NULL.
  virtual void result(std::size_t column, Value value) = 0;
  // A point in time for columns like entry dates: µs since 2000-01-01, the same in every attempt.
  virtual std::int64_t timestamp_us() const = 0;
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
