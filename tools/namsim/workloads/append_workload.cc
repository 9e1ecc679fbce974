#include "tools/namsim/workloads/append_workload.h"

#include <charconv>

namespace namdb::sim {

using history::Operation;
using history::Version;

std::string list_text(const std::vector<Version>& list) {
  std::string text;
  for (const Version element : list) text += (text.empty() ? "" : ",") + std::to_string(element);
  return text;
}

Result<std::vector<Version>> parse_list(std::string_view text) {
  std::vector<Version> list;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (!list.empty() && *at++ != ',') return Status(ErrorCode::internal, "no list: " + std::string(text));
    Version element = 0;
    const auto [behind, error] = std::from_chars(at, end, element);
    if (error != std::errc{} || element == 0)
      return Status(ErrorCode::internal, "no list: " + std::string(text));
    list.push_back(element);
    at = behind;
  }
  return list;
}

layout::Schema list_schema() {
  std::vector<layout::Column> columns(2);
  columns[0] = {.name = "id"};
  columns[1] = {
      .name = "elements", .type = layout::ColumnType::varchar, .length_bytes = AppendWorkload::kList_bytes};
  return std::move(*layout::Schema::create(std::move(columns), {0}));
}

layout::Schema AppendWorkload::schema() const {
  return list_schema();
}

Status AppendWorkload::fill(layout::RowWriter row) const {
  return row.set_text(1, "");
}

Result<Operation> AppendWorkload::read(std::uint64_t key, layout::RowView row) const {
  Result<std::vector<Version>> list = parse_list(row.text(1));
  if (!list.ok()) return list.status();
  return Operation::read_list(key, std::move(list).value());
}

Status AppendWorkload::write(txn::Transaction& transaction, const Reads& reads, std::size_t record_at) {
  const double probability = options().write_probability / (reads.all_slowly ? 4 : 1);
  std::uint64_t writes = 0;
  for (std::size_t i = 0; i < reads.keys.size(); ++i) {
    if (!random().chance(probability)) continue;
    if (writes == options().most_writes) break;
    ++writes;
    for (std::uint64_t appends = random().chance(0.2) ? 2 : 1; appends > 0; --appends) {
      std::string text(transaction.row(reads.rows[i]).text(1));
      const Version element = recorded().next_version();
      text += (text.empty() ? "" : ",") + std::to_string(element);
      if (text.size() > kList_bytes) break;
      Status status = transaction.update(reads.rows[i]).set_text(1, text);
      if (!status.ok()) return status;
      record(record_at, Operation::append(reads.keys[i], element));
    }
    if (!random().chance(0.2)) continue;
    Result<Operation> again = read(reads.keys[i], transaction.row(reads.rows[i]));
    if (!again.ok()) return again.status();
    record(record_at, std::move(again).value());
  }
  return {};
}

}  // namespace namdb::sim
