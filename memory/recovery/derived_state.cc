#include "memory/recovery/derived_state.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/layout/timestamp_floors.h"
#include "memory/recovery/index_rebuild.h"

namespace namdb::memory {
namespace {

reactor::Task<Status> send_index_keys(Recovery recovery, std::uint32_t index, layout::ServerId server,
                                      const KeyRuns& keys, const SendIndexLoad& send) {
  IndexLoadRequests requests(index, recovery.options.server_id, keys);
  while (std::optional<std::string> request = requests.next()) {
    std::string bytes = std::move(*request);
    Status status = co_await send(server, std::move(bytes));
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> rebuild_index(Recovery recovery, Tables& tables, Indexes& indexes,
                                    control::IndexDescriptor index, IndexLoads& loads,
                                    const SendIndexLoad& send) {
  const TablePointer table = tables.find(index.table());
  if (table == nullptr)
    co_return Status(ErrorCode::corrupt_data, "index \"" + index.name() + "\" has no table");
  Result<IndexKeys> collected = co_await collect_index_keys(recovery, table, index);
  if (!collected.ok()) co_return collected.status();
  IndexKeys& keys = *collected;
  for (layout::ServerId server = 0; server < recovery.options.server_count; ++server) {
    if (server == recovery.options.server_id || !part_of(index, server)) continue;
    Status status = co_await send_index_keys(recovery, index.id(), server, keys[server], send);
    if (!status.ok()) co_return status;
  }
  if (!part_of(index, recovery.options.server_id)) co_return Status();
  Status status = co_await loads.complete(index.id());
  if (!status.ok()) co_return status;
  std::vector<const KeyRuns*> sources = loads.runs(index.id());
  sources.push_back(&keys[recovery.options.server_id]);
  Result<std::unique_ptr<BTree>> tree = co_await load_index(recovery, index, std::move(sources));
  loads.forget(index.id());
  if (!tree.ok()) co_return tree.status();
  co_return indexes.restore(index, std::move(*tree));
}

// From now on no commit has this timestamp or an older one here, and rows that are not there count as deleted
// at it: leases and older deletions are forgotten.
void raise_timestamp_floors(Region& region, std::uint64_t timestamp) {
  for (std::size_t i = 0; i <= layout::kTimestampFloors; ++i) {
    const std::uint64_t offset = layout::timestamp_floor_offset(i);
    if (region.load(offset) < timestamp) region.store(offset, timestamp);
  }
}

}  // namespace

reactor::Task<Result<DerivedState>> rebuild_derived(Recovery recovery, Tables& tables, Indexes& indexes,
                                                    std::vector<control::IndexDescriptor> descriptors,
                                                    IndexLoads& loads, SendIndexLoad send,
                                                    std::uint64_t timestamp_slack) {
  DerivedState derived;
  std::vector<TablePointer> restored;
  for (const auto& [id, table] : tables.all()) {
    if (!table->ready && !table->discarded) restored.push_back(table);
  }
  for (TablePointer& table : restored) {
    if (Status status = recovery.stopped(); !status.ok()) co_return status;
    const Result<TableContents> contents = co_await rebuild_table(recovery, table);
    if (!contents.ok()) co_return contents.status();
    derived.rows += contents->rows;
    derived.largest_timestamp = std::max(derived.largest_timestamp, contents->largest_timestamp);
  }
  if (derived.largest_timestamp != 0)
    raise_timestamp_floors(recovery.region, derived.largest_timestamp + timestamp_slack);
  for (const control::IndexDescriptor& index : descriptors) {
    if (Status stopped = recovery.stopped(); !stopped.ok()) co_return stopped;
    Status status = co_await rebuild_index(recovery, tables, indexes, index, loads, send);
    if (!status.ok()) co_return status;
  }
  recovery.progress.stage = RecoveryStage::open;
  recovery.progress.subject.clear();
  co_return derived;
}

}  // namespace namdb::memory
