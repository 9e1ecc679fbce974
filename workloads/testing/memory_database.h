// Tables in a map, for tests of procedures, which run on them one at a time. Nothing ever waits, so a
// procedure's task ends within run(). A procedure that fails changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compute/procedure/declared_pieces.h"
#include "compute/procedure/procedure.h"
#include "workloads/workload.h"

namespace namdb::workloads::testing {

class MemoryDatabase : public procedure::Registry {
 public:
  struct Outcome {
    Status status;
    std::vector<procedure::Value> results;
    std::uint32_t fetches = 0;
  };

  void add(procedure::Definition definition) override;
  // A procedure that does what its pieces do not declare ends in an error.
  procedure::DeclaredPieces& pieces() { return pieces_; }
  // Creates and fills all tables.
  void load(const Workload& workload);
  Outcome run(const std::string& procedure, std::vector<procedure::Value> arguments);

  std::int64_t term_value(const Workload& workload, const Check::Term& term) const;
  // The sum of the check's terms times their coefficients.
  std::int64_t value(const Workload& workload, const Check& check) const;
  // The findings of the workload's row check.
  std::vector<RowCheck::Finding> row_findings(const Workload& workload) const;
  std::size_t row_count(const std::string& table) const { return tables_.at(table).rows.size(); }
  // The row with that key of integers; null when it does not exist.
  const layout::Row* find(const std::string& table, const std::vector<std::int64_t>& key) const;
  layout::Row* find(const std::string& table, const std::vector<std::int64_t>& key);

 private:
  friend class MemoryTransaction;
  struct Table {
    storage::TableRef description;
    std::map<std::string, layout::Row> rows;  // by key bytes
  };
  std::map<std::string, Table> tables_;
  std::map<std::string, procedure::Definition> procedures_;
  procedure::DeclaredPieces pieces_;
};

}  // namespace namdb::workloads::testing
