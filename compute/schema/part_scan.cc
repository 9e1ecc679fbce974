#include "compute/schema/part_scan.h"

#include <utility>

namespace namdb::schema {
namespace {

// No copy of the timestamp vector from before: it may lack commits that did not know what the work is for.
protocol::SessionState fresh_session(txn::WorkerState& state) {
  protocol::SessionState session;
  session.fresh_from_ns = state.executor.fresh_now_ns();
  return session;
}

}  // namespace

PartScan::PartScan(SchemaWorker& worker, storage::TableRef table, protocol::ScanPosition position)
    : worker_(worker),
      session_(fresh_session(worker.worker_state())),
      transaction_(worker.begin(session_)),
      scan_(*transaction_, std::move(table), position),
      enough_ns_(worker.worker_state().executor.now_ns() +
                 worker.worker_state().cluster.max_transaction_ns() / kSnapshotShare) {}

reactor::Task<Status> PartScan::next(std::vector<layout::Row>* rows) {
  if (worker_.worker_state().executor.now_ns() >= enough_ns_) scan_.wind_up();
  Status status = co_await scan_.next(*rows);
  if (status.ok() && !rows->empty() && worker_.stopping()) co_return shutting_down();
  co_return status;
}

}  // namespace namdb::schema
