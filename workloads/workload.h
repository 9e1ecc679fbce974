// A workload as a driver sees it: tables and their rows, transactions and their arguments, and sums that must
// hold afterwards. Drivers (nambench through the wire or on the engine) know no workload by name.
//
// Everything is decided by a seed: the same seed loads the same rows and calls with the same arguments, in
// whatever order parts are loaded and clients run. Immutable once made, so threads may share it; a
// CallSource belongs to one client.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/random.h"
#include "common/layout/row.h"
#include "compute/procedure/procedure.h"
#include "workloads/table_spec.h"

namespace namdb::workloads {

// One call of a stored procedure.
struct Call {
  std::size_t type = 0;  // position in Workload::transactions()
  std::vector<procedure::Value> arguments;
};

// The calls of one client, one after the other, without end.
class CallSource {
 public:
  virtual ~CallSource() = default;
  // Replaces `call`.
  virtual void next(Call& call) = 0;
};

struct TransactionType {
  std::string name;       // short: send_payment
  std::string procedure;  // as it is called: smallbank_send_payment
  double weight = 0;      // share in the mix, relative to the others
};

struct TableLoad {
  TableSpec spec;
  layout::Schema schema;
  std::uint64_t size_hint_rows = 0;
  // The number of units that make_rows() makes, one at a time: a unit is mostly a row, sometimes several.
  std::uint64_t units = 0;
};

// A sum over the database that must come out right: the terms' values, times their coefficients, add up to
// zero, or (`change`) they change during a run by what committed calls say (call_change()).
struct Check {
  struct Term {
    std::int64_t coefficient = 1;
    std::size_t table = 0;                // position in Workload::tables()
    std::optional<std::uint32_t> column;  // sum of the column; none: number of rows
  };
  std::string name;
  std::vector<Term> terms;
  bool change = false;
};

// Checks the rows of a database at one moment. Not thread-safe.
class RowCheck {
 public:
  struct Finding {
    std::string name;    // of what must hold
    std::string detail;  // what does not hold, in a sentence; empty where all is well
  };
  virtual ~RowCheck() = default;
  // A row of the table at that position; rows in any order.
  virtual void add(std::size_t table, const layout::RowView& row) = 0;
  // Once, behind the last row.
  virtual std::vector<Finding> findings() = 0;
};

// "name=weight,..."; types that are not named get weight 0.
using Mix = std::vector<std::pair<std::string, double>>;
Result<Mix> parse_mix(std::string_view text);

class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::string_view name() const = 0;
  // The size of the population, for messages: "100000 accounts".
  virtual std::string population() const = 0;

  std::span<const TableLoad> tables() const { return tables_; }
  // Appends the rows of one unit.
  virtual void make_rows(std::size_t table, std::uint64_t unit, std::vector<layout::Row>& rows) const = 0;

  std::span<const TransactionType> transactions() const { return transactions_; }
  // The calls of client number `client` out of `clients`.
  virtual std::unique_ptr<CallSource> open_client(std::uint64_t client, std::uint64_t clients) const = 0;

  // The value of the partition columns that the calls of that client concern; absent: of no one in
  // particular.
  virtual std::optional<std::int64_t> partition_of(std::uint64_t client) const;

  std::span<const Check> checks() const { return checks_; }
  // A condition on all rows, in every snapshot; null where the sums are enough.
  virtual std::unique_ptr<RowCheck> open_row_check() const { return nullptr; }
  // The amount by which a committed call changes the sum of the `change` check. `results` is the row that it
  // returned.
  virtual std::int64_t call_change(const Call& call, std::span<const procedure::Value> results) const;

 protected:
  explicit Workload(std::uint64_t seed) : seed_(seed) {}
  void add_table(TableSpec spec, std::uint64_t size_hint_rows, std::uint64_t units);
  // `defaults` is the workload's usual mix. Error invalid_parameter_value: a type that is not there, or no
  // weight.
  Status set_mix(std::vector<TransactionType> defaults, const Mix& mix);
  // Draws a transaction type by weight.
  std::size_t draw_type(Random& random) const;
  // A generator for one part of the work.
  Random random_for(std::uint64_t purpose, std::uint64_t part) const;

  std::vector<TableLoad> tables_;
  std::vector<TransactionType> transactions_;
  std::vector<Check> checks_;
  std::uint64_t seed_;

 private:
  double total_weight_ = 0;
};

}  // namespace namdb::workloads
