#include "compute/sql/execute/changed_rows.h"

#include <memory>
#include <utility>

namespace namdb::sql {

Status check_changed_rows(std::size_t rows) {
  if (rows < kMaxChangedRows) return {};
  return Status(ErrorCode::limit_exceeded,
                "one statement can change at most " + std::to_string(kMaxChangedRows) + " rows",
                "change them in parts");
}

ChangedRows::ChangedRows(const ChangedRowsPlan& plan, const storage::Table& table)
    : plan_(plan), table_(table), memory_("a statement can change", "change the rows in parts") {}

Status ChangedRows::add(Run& run, std::span<const Datum> row, Keys& keys) {
  const layout::Key key = key_of(table_.schema, row);
  std::string bytes(reinterpret_cast<const char*>(key.bytes().data()), key.bytes().size());
  run.work.charge_bytes(bytes.size());
  bool is_new = false;
  Status status = add_seen(seen_, std::move(bytes), memory_, run.client_memory, is_new);
  if (!status.ok() || !is_new) return status;
  status = check_changed_rows(keys.size());
  if (!status.ok()) return status;
  const std::size_t before_bytes = others_.bytes();
  others_.add_row(row.subspan(table_.schema.key().size()));
  status = memory_.add(run.client_memory, others_.bytes() - before_bytes + key.bytes().size());
  if (status.ok()) keys.add(key.bytes());
  return status;
}

reactor::Task<Status> ChangedRows::read(Run& run, Keys& keys) {
  keys.key_bytes = table_.schema.key_bytes();
  run.selects_rows = true;
  GatheredRows portion;
  Arena arena;
  Run nested = run.nested(portion, arena, run.work, run.outer);
  const std::unique_ptr<Query> query = run.start_query(plan_.query);
  while (!query->done()) {
    portion.clear();
    Status status = co_await query->fetch(nested, kPortionRows);
    for (std::size_t i = 0; i < portion.size() && status.ok(); ++i) status = add(run, portion[i], keys);
    if (!status.ok()) co_return status;
    if (portion.size() < kPortionRows) break;
  }
  run.selects_rows = false;
  co_return Status();
}

}  // namespace namdb::sql
