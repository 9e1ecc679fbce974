#include "compute/schema/build_steps.h"

#include "compute/cluster/catalog_cache.h"
#include "compute/schema/index_parts.h"
#include "compute/schema/part_scan.h"
#include "compute/txn/errors.h"
#include "compute/txn/record_space.h"
#include "proto/control.pb.h"

namespace namdb::schema {

using storage::IndexRef;
using storage::TableRef;

namespace {

// How often a part may fail for passing reasons before the build does.
constexpr std::uint32_t kFillAttempts = 32;

bool all_decided(const control::ListSlotsReply& slots) {
  for (const control::Slot& slot : slots.slots()) {
    if (slot.state() == control::SLOT_DEAD) return false;
  }
  return true;
}

}  // namespace

Status BuildSteps::index_dropped() {
  return Status(ErrorCode::undefined_object, "the index was dropped meanwhile");
}

reactor::Task<Status> BuildSteps::wait_and_fill(TableRef table, std::uint32_t index,
                                                std::uint64_t catalog_version, EntryWriter& writer) {
  Status status = co_await worker_.worker_state().catalog.refresh();
  if (!status.ok()) co_return status;
  status = co_await wait_for_writers(catalog_version);
  if (!status.ok()) co_return status;
  co_return co_await fill(table, index, writer);
}

reactor::Task<Status> BuildSteps::wait_for_writers(std::uint64_t catalog_version) {
  txn::Cluster& cluster = worker_.worker_state().cluster;
  reactor::Executor& executor = cluster.executor();
  // A transaction lives no longer than E. A compute server that is silent for longer is paused, and may be
  // fenced meanwhile.
  const std::uint64_t deadline_ns = executor.now_ns() + 2 * cluster.max_transaction_ns() + kSecond_ns;
  control::GetCatalogRequest request;
  request.set_part(control::CATALOG_VERSION);
  worker_.hasten();
  while (true) {
    control::GetCatalogReply reply;
    Status status = co_await cluster.call(0, control::GET_CATALOG, request, &reply);
    if (!status.ok()) co_return status;
    if (reply.acknowledged() >= catalog_version) {
      // A commit of a compute server that died may not know of the change, and may still be installed.
      control::ListSlotsReply slots;
      status = co_await cluster.call(0, control::LIST_SLOTS, control::ListSlotsRequest(), &slots);
      if (!status.ok() || all_decided(slots)) co_return status;
    }
    if (worker_.stopping()) co_return shutting_down();
    if (executor.now_ns() > deadline_ns) {
      co_return Status(ErrorCode::transaction_timeout,
                       "other compute servers still run transactions that do not know of the change, or the "
                       "commits of one that died are not decided");
    }
    co_await executor.sleep_for(kPoll_ns);
  }
}

// Each part may be read in another snapshot, if that is taken from now on: a row that is not in it, or is
// replaced after it, is entered by a commit that knows of the index.
reactor::Task<Status> BuildSteps::fill(TableRef table, std::uint32_t index, EntryWriter& writer) {
  txn::WorkerState& state = worker_.worker_state();
  protocol::ScanPosition position;
  const std::size_t end = table->arrays.size();
  std::uint32_t attempts = 0;
  while (position.server < end) {
    const protocol::ScanPosition before = position;
    Status status = co_await fill_part(table, index, writer, &position);
    if (state.cluster.has_lost()) co_return protocol::lost_connection();
    if (state.catalog.find_id(table->id) == nullptr)
      co_return Status(ErrorCode::undefined_table, "the table was dropped meanwhile");
    attempts = position == before ? attempts + 1 : 0;
    if (status.ok()) continue;
    const bool again = status.info().retry || status.code() == ErrorCode::snapshot_too_old;
    if (!again || attempts >= kFillAttempts) co_return status;
    co_await state.executor.sleep_for(kPoll_ns);
  }
  co_return Status();
}

reactor::Task<Status> BuildSteps::fill_part(TableRef table, std::uint32_t id, EntryWriter& writer,
                                            protocol::ScanPosition* position) {
  PartScan scan(worker_, table, *position);
  std::vector<layout::Row> rows;
  while (true) {
    Status status = co_await scan.next(&rows);
    if (!status.ok()) co_return status;
    if (rows.empty()) break;
    const IndexRef index = find_index(*table, id);
    if (index == nullptr) co_return index_dropped();
    status = co_await writer.enter(scan.transaction(), table, index, &rows);
    if (!status.ok()) co_return status;
  }
  *position = scan.position();
  co_return Status();
}

reactor::Task<void> BuildSteps::abandon(std::uint32_t index) {
  txn::WorkerState& state = worker_.worker_state();
  if (state.cluster.has_lost()) co_return;
  control::AdvanceIndexRequest request;
  request.mutable_index()->set_id(index);
  request.set_abandon(true);
  Status undone = co_await state.cluster.call(0, control::ADVANCE_INDEX, request, nullptr);
  // Another worker that dropped it may have died before the memory servers heard of that.
  if (undone.ok() || undone.code() == ErrorCode::undefined_object)
    undone = co_await discard_parts(state.cluster, index);
  state.space.forget(index);
  // An error is not reported: the builder reports the one that made it abandon the index.
  if (undone.ok()) static_cast<void>(co_await state.catalog.refresh());
}

}  // namespace namdb::schema
