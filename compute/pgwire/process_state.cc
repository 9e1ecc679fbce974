#include "compute/pgwire/process_state.h"

namespace namdb::pgwire {

Status ProcessState::enter(const std::string& user, bool superuser, std::int32_t limit) {
  const std::uint32_t most = options_.max_connections;
  const std::uint32_t reserved = std::min(options_.reserved_connections, most - std::min(most, 1U));
  std::uint32_t count = connections_.load(std::memory_order_relaxed);
  do {
    if (count >= most) {
      return Status(ErrorCode::too_many_connections, "sorry, too many clients already",
                    "at most " + std::to_string(most) + " are accepted");
    }
    if (!superuser && count >= most - reserved) {
      return Status(ErrorCode::too_many_connections,
                    "remaining connection slots are reserved for superuser connections",
                    "of " + std::to_string(most) + " connections " + std::to_string(reserved) + " are kept");
    }
  } while (!connections_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed));
  const std::lock_guard lock(mutex_);
  const auto entry = users_.try_emplace(user).first;
  if (!superuser && limit >= 0 && entry->second.connections >= static_cast<std::uint32_t>(limit)) {
    if (entry->second.connections == 0) users_.erase(entry);
    connections_.fetch_sub(1, std::memory_order_relaxed);
    return Status(ErrorCode::too_many_connections, "too many connections for role \"" + user + "\"");
  }
  ++entry->second.connections;
  entry->second.superuser = superuser;
  return {};
}

void ProcessState::leave(const std::string& user) {
  connections_.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const auto entry = users_.find(user);
  if (--entry->second.connections == 0) users_.erase(entry);
}

ProcessState::CancelKey ProcessState::make_key() {
  const std::lock_guard lock(mutex_);
  // Numbers that are in use are skipped after a wrap.
  while (keys_.contains(next_process_id_)) next_process_id_ = next_process_id_ % INT32_MAX + 1;
  CancelKey key{next_process_id_, draw_secret_(), std::make_shared<std::atomic<bool>>(false)};
  next_process_id_ = next_process_id_ % INT32_MAX + 1;
  keys_.emplace(key.process_id, key);
  return key;
}

void ProcessState::drop_key(const CancelKey& key) {
  const std::lock_guard lock(mutex_);
  keys_.erase(key.process_id);
  sessions_.erase(key.process_id);
}

void ProcessState::add_session(const CancelKey& key, std::shared_ptr<LiveSession> session) {
  const std::lock_guard lock(mutex_);
  sessions_.insert_or_assign(key.process_id, std::move(session));
}

std::vector<sql::SessionActivity> ProcessState::sessions() const {
  const std::lock_guard lock(mutex_);
  std::vector<sql::SessionActivity> all;
  for (const auto& [process_id, session] : sessions_) all.push_back(session->activity());
  return all;
}

Result<bool> ProcessState::send(Signal signal, std::int32_t process_id, std::string_view user) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(process_id);
  if (found == sessions_.end()) return false;
  const bool ends = signal == Signal::terminate;
  const sql::SessionActivity activity = found->second->activity();
  if (!may_look_into_locked(user, activity)) {
    if (is_superuser_locked(activity.user)) {
      return Status(ErrorCode::insufficient_privilege,
                    ends ? "must be a superuser to terminate superuser process"
                         : "must be a superuser to cancel superuser query");
    }
    return Status(ErrorCode::insufficient_privilege,
                  ends ? "must be a member of the role whose process is being terminated or member of "
                         "pg_signal_backend"
                       : "must be a member of the role whose query is being canceled or member of "
                         "pg_signal_backend");
  }
  if (ends) {
    found->second->terminate();
  } else {
    keys_.at(process_id).canceled->store(true, std::memory_order_relaxed);
  }
  return true;
}

void ProcessState::cancel(std::int32_t process_id, std::uint32_t secret) {
  const std::lock_guard lock(mutex_);
  const auto key = keys_.find(process_id);
  if (key != keys_.end() && key->second.secret == secret)
    key->second.canceled->store(true, std::memory_order_relaxed);
}

}  // namespace namdb::pgwire
