#include "compute/pgwire/process_state.h"

namespace namdb::pgwire {

Status ProcessState::enter(bool superuser) {
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
  return {};
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
}

void ProcessState::cancel(std::int32_t process_id, std::uint32_t secret) {
  const std::lock_guard lock(mutex_);
  const auto key = keys_.find(process_id);
  if (key != keys_.end() && key->second.secret == secret)
    key->second.canceled->store(true, std::memory_order_relaxed);
}

}  // namespace namdb::pgwire
