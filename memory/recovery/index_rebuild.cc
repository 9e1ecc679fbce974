#include "memory/recovery/index_rebuild.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "common/layout/index_key.h"
#include "common/layout/record.h"
#include "memory/index/btree_loader.h"

namespace namdb::memory {
namespace {

layout::ServerId server_of(const control::IndexDescriptor& index, const std::string& key) {
  int part = index.parts_size() - 1;
  while (part > 0 && key < index.parts(part).low()) --part;
  return static_cast<layout::ServerId>(index.parts(part).server());
}

// A row stands there: something is there, and is no deleted row.
Result<bool> is_row(const Recovery& recovery, const Table& table, std::uint64_t place,
                    std::span<const std::byte> body) {
  const layout::BodyHeader header = layout::decode_body_header(body.data());
  if (layout::certify_body(body, recovery.region.address(place)) && header.table == table.shape.id)
    return !header.deleted;
  if (std::ranges::all_of(body, [](std::byte byte) { return byte == std::byte{0}; })) return false;
  return Status(ErrorCode::corrupt_data, "table \"" + table.shape.name + "\", record at " +
                                             std::to_string(place) + " of memory server " +
                                             std::to_string(recovery.options.server_id) +
                                             ": its body does not certify");
}

}  // namespace

std::optional<KeyRange> part_of(const control::IndexDescriptor& index, layout::ServerId server) {
  for (int i = 0; i < index.parts_size(); ++i) {
    if (index.parts(i).server() != server) continue;
    KeyRange range{index.parts(i).low(), {}};
    if (i + 1 < index.parts_size()) range.high = index.parts(i + 1).low();
    return range;
  }
  return std::nullopt;
}

reactor::Task<Result<IndexKeys>> collect_index_keys(Recovery recovery, TablePointer table,
                                                    control::IndexDescriptor index) {
  recovery.progress.stage = RecoveryStage::keys;
  recovery.progress.subject = index.name();
  std::vector<layout::IndexColumn> columns;
  for (const control::IndexColumn& column : index.columns())
    columns.push_back({column.column(), column.descending()});
  const auto shape = layout::IndexShape::create(table->shape.schema, std::move(columns));
  if (!shape.ok() || index.parts_size() == 0)
    co_return Status(ErrorCode::corrupt_data, "index \"" + index.name() + "\" does not fit its table");
  IndexKeys keys;
  std::uint32_t in_step = 0;
  for (std::uint64_t place = table->records.next_used(0); place != 0;
       place = table->records.next_used(place)) {
    const std::span<const std::byte> body(recovery.region.at(place + 8), table->shape.record.body_bytes());
    const Result<bool> row_is_there = is_row(recovery, *table, place, body);
    if (!row_is_there.ok()) co_return row_is_there.status();
    if (!row_is_there.value()) continue;
    const layout::RowView row(table->shape.schema, layout::body_payload(body));
    const layout::IndexKey key = layout::index_key(*shape, row);
    const bool sorted = keys[server_of(index, key.bytes)].add(key.bytes);
    if (++in_step < recovery.options.step_units && !sorted) continue;
    in_step = 0;
    co_await recovery.executor.yield();
  }
  for (auto& [server, runs] : keys) runs.finish();
  co_return std::move(keys);
}

reactor::Task<Result<std::unique_ptr<BTree>>> load_index(Recovery recovery, control::IndexDescriptor index,
                                                         std::vector<const KeyRuns*> sources) {
  recovery.progress.stage = RecoveryStage::pages;
  recovery.progress.subject = index.name();
  auto range = part_of(index, recovery.options.server_id);
  if (!range)
    co_return Status(ErrorCode::corrupt_data,
                     "index \"" + index.name() + "\" has no part on this memory server");
  BTreeLoader loader(recovery.region, {index.id(), index.page_bytes(), std::move(*range)});
  KeyMerge merge(sources);
  for (std::uint32_t in_step = 0; !merge.done(); merge.next()) {
    Status status = loader.add(merge.key());
    if (!status.ok()) co_return status;
    ++recovery.progress.keys;
    if (++in_step < recovery.options.step_units) continue;
    in_step = 0;
    co_await recovery.executor.yield();
  }
  std::unique_ptr<BTree> tree = loader.finish();
  if (tree == nullptr)
    co_return Status(ErrorCode::out_of_memory,
                     "the region has no room for the pages of index \"" + index.name() + "\"");
  ++recovery.progress.indexes;
  co_return std::move(tree);
}

}  // namespace namdb::memory
