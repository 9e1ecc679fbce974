#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {
namespace {

// The first session of touch_all.
constexpr std::uint64_t kAuditor = 1'000'000;
// touch_all() goes on at least so often, and so long.
constexpr std::uint32_t kTouches = 1000;
constexpr std::uint64_t kTouches_ns = 5 * kSecond_ns;

}  // namespace

bool lost_connection(const Status& status) {
  return status.code() == ErrorCode::connection_failure || status.code() == ErrorCode::unknown_outcome ||
         status.code() == ErrorCode::cannot_connect_now || status.code() == ErrorCode::fenced;
}

bool grew_old(const Status& status) {
  return status.code() == ErrorCode::transaction_timeout || status.code() == ErrorCode::snapshot_too_old;
}

bool is_full(const Status& status) {
  return status.code() == ErrorCode::out_of_memory || status.code() == ErrorCode::limit_exceeded;
}

void Workload::data_is_gone() {
  gone_ = true;
  lives_.push_back(history_.transactions().size());
}

std::size_t Workload::begin_record(std::uint64_t session_id) {
  return history_.add({.session = session_id, .begin_ns = world_.now_ns()});
}

history::Outcome Workload::end_record(std::size_t record, const Status& status) {
  history::Transaction& recorded = history_.at(record);
  if (status.ok() || status.code() != ErrorCode::unknown_outcome) {
    recorded.outcome = status.ok() ? history::Outcome::committed : history::Outcome::aborted;
    recorded.end_ns = world_.now_ns();
  }
  return recorded.outcome;
}

void Workload::complain(std::string complaint) {
  if (complaint_.empty()) complaint_ = std::move(complaint);
}

void Workload::judge(const Status& status) {
  if (!complaint_.empty() || status.ok()) return;
  if (grew_old(status) && options_.may_grow_old) return;
  if (status.code() == ErrorCode::version_collected) {
    complaint_ = "a version was lost: " + status.to_string();
    return;
  }
  if (lives_.size() > 1 || gone_) {
    // It began before the data was gone.
    if (status.code() == ErrorCode::undefined_table || status.code() == ErrorCode::memory_server_restarted)
      return;
  }
  const bool explained = lost_connection(status) ? options_.may_lose_connections
                         : is_full(status)       ? options_.full_region
                                                 : status.info().retry;
  // A conflict to clients, and never to be seen while the memory servers live.
  const bool went_back = status.code() == ErrorCode::snapshot_went_back && lives_.size() == 1 && !gone_;
  if (!explained || went_back) complaint_ = status.to_string();
}

reactor::Task<Status> Workload::touch_all(txn::Engine& engine) {
  Status status;
  // Locks of a dead compute server are free once memory servers have learned of its death, however short the
  // pauses between attempts are.
  const std::uint64_t until_ns = engine.executor().now_ns() + kTouches_ns;
  for (std::uint32_t attempt = 1; attempt <= kTouches || engine.executor().now_ns() < until_ns; ++attempt) {
    status = co_await touch(engine, kAuditor + attempt);
    if (status.ok()) co_return status;
    // Where E is short, a slow network may take longer than that, now and then.
    if (grew_old(status) || lost_connection(status) || (options_.full_region && is_full(status))) {
      co_await engine.executor().sleep_for(200 * kMillisecond_ns);
    } else if (!status.info().retry) {
      co_return status;
    } else {
      co_await engine.backoff(attempt);
    }
  }
  co_return status;
}

}  // namespace namdb::sim
