#include "compute/pgwire/process_state.h"

namespace namdb::pgwire {

bool ProcessState::enter() {
  std::uint32_t count = connections_.load(std::memory_order_relaxed);
  do {
    if (count >= options_.max_connections) return false;
  } while (!connections_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed));
  return true;
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
