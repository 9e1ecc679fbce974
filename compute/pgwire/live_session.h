// The part of a session that other sessions can see and signal. Written by the session's worker, read by any
// thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

#include "compute/sql/expression/session_directory.h"

namespace namdb::pgwire {

class LiveSession {
 public:
  // `wake` is called on any thread, after terminated() has become true.
  LiveSession(sql::SessionActivity activity, std::function<void()> wake)
      : activity_(std::move(activity)), wake_(std::move(wake)) {}

  sql::SessionActivity activity() const {
    const std::lock_guard lock(mutex_);
    return activity_;
  }
  void set_application_name(std::string_view name) {
    const std::lock_guard lock(mutex_);
    activity_.application_name = name;
  }
  // `in_transaction`: the query belongs to a transaction that has begun before.
  void begin_query(std::string_view query, std::int64_t now_us, bool in_transaction) {
    const std::lock_guard lock(mutex_);
    activity_.query = query.substr(0, kMaxQuery_bytes);
    activity_.query_began_us = now_us;
    activity_.state = "active";
    activity_.state_changed_us = now_us;
    if (!in_transaction || !activity_.transaction_began_us) activity_.transaction_began_us = now_us;
  }
  // `status`: 'I', 'T' or 'E', as clients are told.
  void wait_for_client(char status, std::int64_t now_us) {
    const std::lock_guard lock(mutex_);
    activity_.state = status == 'T'   ? "idle in transaction"
                      : status == 'E' ? "idle in transaction (aborted)"
                                      : "idle";
    activity_.state_changed_us = now_us;
    if (status == 'I') activity_.transaction_began_us.reset();
  }

  bool terminated() const { return terminated_.load(std::memory_order_relaxed); }
  void terminate() {
    terminated_.store(true, std::memory_order_relaxed);
    wake_();
  }

 private:
  static constexpr std::size_t kMaxQuery_bytes = 1023;  // PostgreSQL's track_activity_query_size

  mutable std::mutex mutex_;  // lint: allow banned: shared by the workers' threads; held for a copy
  sql::SessionActivity activity_;
  std::function<void()> wake_;
  std::atomic<bool> terminated_{false};
};

}  // namespace namdb::pgwire
