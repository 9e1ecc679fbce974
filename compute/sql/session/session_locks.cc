// Advisory locks, and the rows that FOR UPDATE claims: the session's locks by name.
#include <string>
#include <utility>

#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

Status no_locks() {
  return Status(ErrorCode::feature_not_supported, "there are no advisory locks here");
}

// One number of 64 bits, or two of 32.
txn::LockName name_of(std::span<const Datum> arguments) {
  if (arguments.size() == 1) return {0, arguments[0].integer};
  const auto high = static_cast<std::uint64_t>(arguments[0].integer) << 32;
  const auto low = static_cast<std::uint32_t>(arguments[1].integer);
  return {1, static_cast<std::int64_t>(high | low)};
}

}  // namespace

Task<Result<Datum>> Session::lock_function(std::string_view name, std::span<const Datum> arguments,
                                           ResultSink* sink) {
  if (environment_.locks == nullptr) co_return no_locks();
  if (locks_ == nullptr) locks_ = std::make_unique<txn::SessionLocks>(*environment_.locks);
  if (name == "pg_advisory_unlock_all") {
    locks_->give_back_all();
    co_return Datum::of_text("");
  }
  const txn::LockName lock = name_of(arguments);
  const bool shared = name.ends_with("_shared");
  const txn::LockMode mode = shared ? txn::LockMode::shared : txn::LockMode::exclusive;
  if (name.starts_with("pg_advisory_unlock")) {
    const bool held = locks_->give_back(lock, mode);
    if (!held) {
      notify(*sink, "WARNING", "01000",
             std::string("you don't own a lock of type ") + (shared ? "ShareLock" : "ExclusiveLock"));
    }
    co_return Datum::of_boolean(held);
  }
  using LockScope = txn::SessionLocks::Scope;
  const bool of_transaction = name.find("_xact_") != std::string_view::npos;
  const LockScope scope = of_transaction ? LockScope::transaction : LockScope::session;
  if (name.starts_with("pg_try_")) {
    const auto taken = co_await locks_->try_take(lock, mode, scope);
    if (!taken.ok()) co_return taken.status();
    co_return Datum::of_boolean(*taken);
  }
  // Others may hold such a lock for as long as they like, unless the client says otherwise.
  const std::uint64_t most_ns = settings_.has_lock_timeout() ? settings_.lock_timeout_ns() : 0;
  const txn::SessionLocks::Check check = [this, most_ns](std::uint64_t since_ns) {
    if (most_ns != 0 && engine_.executor().now_ns() >= since_ns + most_ns)
      return Status(ErrorCode::lock_not_available, "canceling statement due to lock timeout");
    return interrupt_.check();
  };
  Status status = co_await locks_->take(lock, mode, scope, check);
  if (!status.ok()) co_return status;
  co_return Datum::of_text("");
}

Task<Result<bool>> Session::claim(std::vector<txn::WantedLock>* wanted) {
  if (environment_.locks == nullptr) co_return false;
  if (locks_ == nullptr) locks_ = std::make_unique<txn::SessionLocks>(*environment_.locks);
  Status status = co_await locks_->claim(wanted);
  if (!status.ok()) co_return status;
  co_return true;
}

Task<void> Session::settle_locks() {
  if (locks_ == nullptr) co_return;
  if (state_ == State::idle && transaction_ == nullptr) locks_->end_transaction();
  co_await locks_->settle();
}

}  // namespace namdb::sql
