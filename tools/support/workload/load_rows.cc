#include "tools/support/workload/load_rows.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "common/base/checksum.h"

namespace namdb::support {

RowProducer::RowProducer(const workloads::Workload& workload, std::vector<std::size_t> tables,
                         std::uint32_t rows_per_batch)
    : workload_(workload),
      tables_(std::move(tables)),
      rows_per_batch_(rows_per_batch),
      rows_(workload.tables().size()) {
  for (const std::size_t table : tables_) units_ += workload.tables()[table].units;
}

std::optional<RowBatch> RowProducer::next() {
  while (position_ < tables_.size()) {
    const std::size_t table = tables_[position_];
    const workloads::TableLoad& load = workload_.tables()[table];
    const std::size_t wanted = rows_per_batch_ > 0 ? rows_per_batch_ : usual_rows_per_batch(load.schema);
    while (buffer_.size() < wanted && unit_ < load.units) {
      workload_.make_rows(table, unit_++, buffer_);
      ++units_done_;
    }
    if (buffer_.empty()) {
      ++position_;
      unit_ = 0;
      continue;
    }
    const std::size_t count = std::min(buffer_.size(), wanted);
    const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(count);
    RowBatch batch{table, {std::make_move_iterator(buffer_.begin()), std::make_move_iterator(end)}, 0};
    buffer_.erase(buffer_.begin(), end);
    rows_[table] += count;
    for (const layout::Row& row : batch.rows) hash_ += checksum64(row.bytes(), table);
    return batch;
  }
  return std::nullopt;
}

std::uint64_t RowProducer::total_rows() const {
  return std::accumulate(rows_.begin(), rows_.end(), std::uint64_t{0});
}

double RowProducer::done() const {
  return units_ == 0 ? 1 : static_cast<double>(units_done_) / static_cast<double>(units_);
}

std::vector<std::size_t> RowProducer::tables_left(std::size_t from_table) const {
  return {std::ranges::find(tables_, from_table), tables_.end()};
}

std::uint32_t usual_rows_per_batch(const layout::Schema& schema) {
  return std::clamp<std::uint32_t>(16 * 1024 / schema.row_bytes(), 1, 32);
}

Result<std::vector<std::size_t>> choose_tables(const workloads::Workload& workload,
                                               const std::vector<std::string>& names) {
  std::vector<std::size_t> chosen;
  for (std::size_t table = 0; table < workload.tables().size(); ++table) {
    const bool named = std::ranges::find(names, workload.tables()[table].spec.name) != names.end();
    if (names.empty() || named) chosen.push_back(table);
  }
  for (const std::string& name : names) {
    const auto has_name = [&](const workloads::TableLoad& load) { return load.spec.name == name; };
    if (std::ranges::none_of(workload.tables(), has_name)) {
      return Status(ErrorCode::undefined_table,
                    std::string(workload.name()) + " has no table \"" + name + "\"");
    }
  }
  return chosen;
}

Status load_failure(const workloads::Workload& workload, const RowProducer& producer, std::size_t table,
                    const Status& cause) {
  std::string left;
  for (const std::size_t other : producer.tables_left(table)) {
    left += (left.empty() ? "" : ",") + workload.tables()[other].spec.name;
  }
  return Status(cause.code(),
                "loading stopped in table " + workload.tables()[table].spec.name +
                    ", where some of the first " + std::to_string(producer.rows(table)) +
                    " rows are missing: " + cause.message(),
                "the tables before it are whole; go on with: nambench load " + std::string(workload.name()) +
                    " --replace --tables " + left + " and the same other flags");
}

LoadReport make_load_report(const workloads::Workload& workload, const std::vector<std::size_t>& tables,
                            const RowProducer& producer, double seconds) {
  LoadReport report;
  report.workload = workload.name();
  report.population = workload.population();
  for (const std::size_t table : tables) {
    report.tables.push_back({workload.tables()[table].spec.name, producer.rows(table)});
  }
  report.rows = producer.total_rows();
  report.seconds = seconds;
  report.hash = producer.hash();
  return report;
}

Status verify_loaded(const LoadReport& report, DatabaseView& database) {
  for (const LoadedTable& table : report.tables) {
    const Result<std::int64_t> rows = database.count(table.name);
    if (!rows.ok()) return rows.status();
    if (rows.value() != static_cast<std::int64_t>(table.rows)) {
      return Status(ErrorCode::corrupt_data, "table " + table.name + " holds " +
                                                 std::to_string(rows.value()) + " rows after " +
                                                 std::to_string(table.rows) + " were loaded");
    }
  }
  return {};
}

}  // namespace namdb::support
