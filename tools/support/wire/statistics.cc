#include "tools/support/wire/statistics.h"

#include <charconv>

namespace namdb::support {
namespace {

constexpr const char* kQuery = "SELECT name, metric, value FROM namdb_statistics";

}  // namespace

Result<Statistics> read_statistics(const std::vector<Endpoint>& endpoints) {
  Statistics statistics;
  for (const Endpoint& endpoint : endpoints) {
    Result<std::unique_ptr<Connection>> connection = Connection::open(endpoint);
    if (!connection.ok()) return connection.status();
    auto rows = connection.value()->query(kQuery);
    if (!rows.ok()) return rows.status();
    for (const std::vector<std::string>& row : *rows) {
      std::int64_t value = 0;
      if (row.size() != 3) return Status(ErrorCode::internal, "statistics have three columns");
      std::from_chars(row[2].data(), row[2].data() + row[2].size(), value);
      statistics[row[0]][row[1]] += value;
    }
  }
  return statistics;
}

void add_statistics(RunReport& report, const Statistics& before, const Statistics& after) {
  for (TypeReport& type : report.types) {
    const auto now = after.find(type.procedure);
    if (now == after.end()) continue;
    const auto then = before.find(type.procedure);
    for (const auto& [metric, value] : now->second) {
      std::int64_t start = 0;
      if (then != before.end()) {
        const auto found = then->second.find(metric);
        if (found != then->second.end()) start = found->second;
      }
      type.server[metric] = value - start;
    }
  }
}

}  // namespace namdb::support
