#include "compute/txn/transaction_state.h"

#include <utility>

#include "compute/cluster/primary_leases.h"
#include "compute/txn/transaction_registry.h"
#include "compute/txn/validation.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {

TransactionState::TransactionState(const txn::Transaction& user, txn::WorkerState& worker,
                                   SessionState& session, WorkerProtocol& protocol)
    : user_(user),
      worker_(worker),
      session_(session),
      generation_(worker.registry.begin()),
      began_ns_(worker.executor.now_ns()),
      lookup_batches_(worker.cluster),
      lookup_buffers_(worker.cluster.pool()),
      image_buffers_(worker.cluster.pool()),
      tables_(worker),
      control_(protocol.control_of(*this)) {}

void TransactionState::end(const Status& outcome) {
  ended_ = true;
  const GenerationEnd ends =
      control_->end(generation_, failure_.ok() ? outcome : failure_, rows_.has_writes());
  if (ends == GenerationEnd::by_caller && !generation_given_) worker_.registry.end(generation_);
}

Status TransactionState::check_open() const {
  if (!ended_) return {};
  return failure_.ok() ? Status(ErrorCode::in_failed_transaction, "the transaction has ended") : failure_;
}

Status TransactionState::too_old() const {
  if (rows_.has_writes() || worker_.cluster.protocol().single_version)
    return Status(ErrorCode::transaction_timeout,
                  "the transaction ran longer than the maximal transaction time", kOlderHint);
  return Status(ErrorCode::snapshot_too_old,
                "snapshot too old: the transaction ran longer than the maximal transaction time", kOlderHint);
}

Status TransactionState::check_going_on() const {
  const std::uint64_t age_ns =
      worker_.cluster.executor().fresh_now_ns() - control_->visibility().started_ns();
  return age_ns <= worker_.cluster.max_transaction_ns() ? user_.check_interrupt() : too_old();
}

std::uint64_t TransactionState::running_since_ns() const {
  const std::uint64_t started_ns = control_->visibility().started_ns();
  return started_ns != 0 ? started_ns : began_ns_;
}

void TransactionState::meet(layout::GlobalAddress locked, layout::HeaderWord word, std::uint64_t since_ns) {
  if (word.locked()) met_lock_ = {locked, since_ns == 0 ? worker_.executor.now_ns() : since_ns};
}

void TransactionState::note_violation(const storage::TableRef& table, const storage::Index& index,
                                      layout::RowView row) {
  note(txn::violation_of(table, index, row));
}

bool TransactionState::primaries_held() const {
  return worker_.leases.held(began_ns_);
}

reactor::Task<Status> TransactionState::confirm_primaries_of_reads() {
  return worker_.leases.confirm(began_ns_, &user_);
}

reactor::Task<Status> TransactionState::confirmed(Status error) {
  if (Validation* const validation = control_->validation(); validation != nullptr) {
    Status status = co_await validation->confirm_reads(false);
    if (!status.ok()) co_return status;
  }
  co_return error;
}

}  // namespace namdb::protocol
