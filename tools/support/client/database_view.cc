#include "tools/support/client/database_view.h"

#include <memory>
#include <utility>

namespace namdb::support {

Result<std::vector<std::int64_t>> check_values(const workloads::Workload& workload, DatabaseView& database) {
  std::vector<std::int64_t> values;
  for (const workloads::Check& check : workload.checks()) {
    std::int64_t value = 0;
    for (const workloads::Check::Term& term : check.terms) {
      const workloads::TableSpec& table = workload.tables()[term.table].spec;
      const Result<std::int64_t> part =
          term.column ? database.sum(table.name, table.columns[*term.column]) : database.count(table.name);
      if (!part.ok()) return part.status();
      value += term.coefficient * part.value();
    }
    values.push_back(value);
  }
  return values;
}

Result<std::vector<CheckResult>> check_rows(const workloads::Workload& workload, DatabaseView& database) {
  std::vector<CheckResult> results;
  std::unique_ptr<workloads::RowCheck> check = workload.open_row_check();
  if (check == nullptr) return results;
  Status status = database.scan(
      workload.tables(), [&] { check = workload.open_row_check(); },
      [&](std::size_t table, const layout::RowView& row) { check->add(table, row); });
  if (!status.ok()) return status;
  for (workloads::RowCheck::Finding& finding : check->findings())
    results.push_back({std::move(finding.name), finding.detail.empty(), std::move(finding.detail)});
  return results;
}

std::vector<CheckResult> judge_checks(const workloads::Workload& workload,
                                      const std::vector<std::int64_t>& before,
                                      const std::vector<std::int64_t>& after, std::int64_t change) {
  std::vector<CheckResult> results;
  for (std::size_t i = 0; i < workload.checks().size(); ++i) {
    const workloads::Check& check = workload.checks()[i];
    const std::int64_t expected = check.change ? before[i] + change : 0;
    CheckResult result{check.name, after[i] == expected, {}};
    if (!result.ok) {
      result.detail = "is " + std::to_string(after[i]) + ", should be " + std::to_string(expected);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace namdb::support
