// Ids of transactions: namdb_txid(), namdb_txid_status(), and what becomes of an id at the end.
#include <utility>

#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

Status no_ids() {
  return Status(ErrorCode::feature_not_supported, "transactions have no ids here");
}

std::string_view text_of(txn::TransactionOutcome outcome) {
  switch (outcome) {
    case txn::TransactionOutcome::committed:
      return "committed";
    case txn::TransactionOutcome::aborted:
      return "aborted";
    case txn::TransactionOutcome::in_progress:
      break;
  }
  return "in progress";
}

}  // namespace

Task<Result<Datum>> Session::transaction_id(txn::Transaction* transaction) {
  if (environment_.ids == nullptr) co_return no_ids();
  if (transaction == nullptr)
    co_return Status(ErrorCode::feature_not_supported, "namdb_txid() in this place is not supported");
  if (read_only())
    co_return Status(ErrorCode::read_only_transaction,
                     "cannot execute namdb_txid() in a read-only transaction");
  if (!id_) {
    const auto given = co_await environment_.ids->give(transaction);
    if (!given.ok()) co_return given.status();
    id_ = *given;
  }
  co_return Datum::of_integer(*id_);
}

Task<Result<Datum>> Session::transaction_outcome(std::int64_t id) {
  if (environment_.ids == nullptr) co_return no_ids();
  const auto outcome = co_await environment_.ids->outcome(id);
  if (!outcome.ok()) co_return outcome.status();
  co_return outcome->has_value() ? Datum::of_text(text_of(**outcome)) : Datum();
}

void Session::end_id(Status& outcome) {
  if (!id_) return;
  const std::int64_t id = *std::exchange(id_, std::nullopt);
  if (outcome.ok()) return;
  if (outcome.code() == ErrorCode::unknown_outcome) {
    outcome = Status(outcome.code(), outcome.message(),
                     "SELECT namdb_txid_status(" + std::to_string(id) + ") tells it later");
  } else {
    environment_.ids->aborted(id);
  }
}

}  // namespace namdb::sql
