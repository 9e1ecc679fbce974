// A driver's questions to a database besides its transactions: numbers of rows, sums. Through the wire it is
// SQL; in engine mode a scan. Blocks until the answer is there.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "workloads/workload.h"

namespace namdb::support {

class DatabaseView {
 public:
  virtual ~DatabaseView() = default;
  virtual Result<std::int64_t> count(const std::string& table) = 0;
  // In units of the column's scale.
  virtual Result<std::int64_t> sum(const std::string& table, const layout::Column& column) = 0;
  // Whether columns of the key choose the memory server of the table's rows.
  virtual Result<bool> partitioned(const std::string& table) = 0;
  virtual Result<std::uint32_t> memory_servers() = 0;
  // Takes every row of the tables, of one snapshot, by the table's position among them. Again from `restart`
  // where a conflict ended the reading.
  using TakeRow = std::function<void(std::size_t, const layout::RowView&)>;
  virtual Status scan(std::span<const workloads::TableLoad> tables, const std::function<void()>& restart,
                      const TakeRow& take) = 0;
};

// The values of a workload's checks at one moment: terms times coefficients.
Result<std::vector<std::int64_t>> check_values(const workloads::Workload& workload, DatabaseView& database);

struct CheckResult {
  std::string name;
  bool ok = false;
  std::string detail;  // when not ok
};
// Reads every row, if the workload has checks of rows; else no results.
Result<std::vector<CheckResult>> check_rows(const workloads::Workload& workload, DatabaseView& database);
// `before` and `after`: check_values() around the run; `change`: the sum of the committed calls' own changes.
std::vector<CheckResult> judge_checks(const workloads::Workload& workload,
                                      const std::vector<std::int64_t>& before,
                                      const std::vector<std::int64_t>& after, std::int64_t change);

}  // namespace namdb::support
