#include "memory/recovery/derived_state.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "common/layout/protocol.h"
#include "common/layout/record.h"
#include "common/layout/timestamp_floors.h"
#include "memory/recovery/index_rebuild.h"

namespace namdb::memory {
namespace {

reactor::Task<Status> send_index_keys(Recovery recovery, std::uint32_t index, layout::ServerId server,
                                      const KeyRuns& keys, std::uint64_t round, const SendIndexLoad& send) {
  IndexLoadRequests requests(index, recovery.options.server_id, round, keys);
  while (std::optional<std::string> request = requests.next()) {
    std::string bytes = std::move(*request);
    Status status = co_await send(server, std::move(bytes));
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> rebuild_index(Recovery recovery, Tables& tables, Indexes& indexes,
                                    control::IndexDescriptor index, IndexLoads& loads,
                                    const SendIndexLoad& send, const OpeningServers& opening) {
  const auto made_at = [&index, &opening](layout::ServerId server) {
    return opening.contains(server) && part_of(index, server);
  };
  if (std::ranges::none_of(opening, made_at)) co_return Status();
  const TablePointer table = tables.find(index.table());
  if (table == nullptr)
    co_return Status(ErrorCode::corrupt_data, "index \"" + index.name() + "\" has no table");
  Result<IndexKeys> collected = co_await collect_index_keys(recovery, table, index);
  if (!collected.ok()) co_return collected.status();
  IndexKeys& keys = *collected;
  for (layout::ServerId server = 0; server < recovery.options.server_count; ++server) {
    if (server == recovery.options.server_id || !made_at(server)) continue;
    Status status = co_await send_index_keys(recovery, index.id(), server, keys[server], loads.round(), send);
    if (!status.ok()) co_return status;
  }
  if (!made_at(recovery.options.server_id) || indexes.find(index.id()) != nullptr) co_return Status();
  Status status = co_await loads.complete(index.id());
  if (!status.ok()) co_return status;
  std::vector<const KeyRuns*> sources = loads.runs(index.id());
  sources.push_back(&keys[recovery.options.server_id]);
  Result<std::unique_ptr<BTree>> tree = co_await load_index(recovery, index, std::move(sources));
  loads.forget(index.id());
  if (!tree.ok()) co_return tree.status();
  co_return indexes.restore(index, std::move(*tree));
}

}  // namespace

void raise_timestamp_floors(Region& region, std::uint64_t timestamp) {
  for (std::size_t i = 0; i <= layout::kTimestampFloors; ++i) {
    const std::uint64_t offset = layout::timestamp_floor_offset(i);
    if (region.load(offset) < timestamp) region.store(offset, timestamp);
  }
}

reactor::Task<std::uint64_t> largest_timestamp(Recovery recovery, Tables& tables) {
  std::uint64_t largest = 0;
  if (!layout::find_protocol(recovery.options.protocol)->timestamps) co_return largest;
  for (std::size_t i = 0; i <= layout::kTimestampFloors; ++i)
    largest = std::max(largest, recovery.region.load(layout::timestamp_floor_offset(i)));
  std::vector<TablePointer> all;
  for (const auto& [id, table] : tables.all()) all.push_back(table);
  std::uint32_t in_step = 0;
  for (const TablePointer& table : all) {
    if (!table->shape.record.timestamps) continue;
    PlaceReader reader(recovery, *table);
    for (std::uint64_t place = table->records.next_used(0); place != 0;
         place = table->records.next_used(place)) {
      // One that is being written now is a transaction's that has nothing to do with a server that opens, and
      // has a later timestamp than the one that it displaces.
      PlaceReader::What what = reader.read(place);
      if (what == PlaceReader::What::torn && recovery.beside_transactions) {
        const auto again = co_await reader.read_again(place);
        if (again.ok()) what = again.value();
      }
      if (what == PlaceReader::What::row || what == PlaceReader::What::deleted)
        largest = std::max(largest, layout::decode_body_header(reader.body().data()).timestamp());
      if (++in_step < recovery.options.step_units) continue;
      in_step = 0;
      co_await recovery.executor.yield();
    }
  }
  co_return largest;
}

reactor::Task<Result<DerivedState>> rebuild_tables(Recovery recovery, Tables& tables) {
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
  co_return derived;
}

reactor::Task<Status> rebuild_indexes(Recovery recovery, Tables& tables, Indexes& indexes,
                                      std::vector<control::IndexDescriptor> descriptors, IndexLoads& loads,
                                      SendIndexLoad send, OpeningServers opening) {
  for (const control::IndexDescriptor& index : descriptors) {
    if (Status stopped = recovery.stopped(); !stopped.ok()) co_return stopped;
    Status status = co_await rebuild_index(recovery, tables, indexes, index, loads, send, opening);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Result<DerivedState>> rebuild_derived(Recovery recovery, Tables& tables, Indexes& indexes,
                                                    std::vector<control::IndexDescriptor> descriptors,
                                                    IndexLoads& loads, SendIndexLoad send,
                                                    std::uint64_t timestamp_slack) {
  Result<DerivedState> derived = co_await rebuild_tables(recovery, tables);
  if (!derived.ok()) co_return derived.status();
  if (derived->largest_timestamp != 0)
    raise_timestamp_floors(recovery.region, derived->largest_timestamp + timestamp_slack);
  OpeningServers all;
  for (layout::ServerId server = 0; server < recovery.options.server_count; ++server) all.insert(server);
  recovery.certified = true;
  Status status = co_await rebuild_indexes(recovery, tables, indexes, std::move(descriptors), loads,
                                           std::move(send), std::move(all));
  if (!status.ok()) co_return status;
  recovery.progress.stage = RecoveryStage::open;
  recovery.progress.subject.clear();
  co_return derived;
}

}  // namespace namdb::memory
