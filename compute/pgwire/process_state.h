// State that the workers' servers of one compute server share: limits, the number of connections, the keys of
// cancel requests, and the sessions. Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "compute/pgwire/access.h"
#include "compute/pgwire/live_session.h"
#include "compute/sql/expression/session_directory.h"
#include "compute/sql/system/memory_budget.h"
#include "compute/sql/system/statistics.h"

namespace namdb::pgwire {

struct Options {
  std::uint32_t max_connections = 1000;  // hostile: 1
  // The last of them are for superusers; at least one is for other users.
  std::uint32_t reserved_connections = 3;
  std::vector<std::string> superusers = {"namctl", "postgres"};  // while there are no roles
  std::uint32_t max_message_bytes = 16 << 20;                    // hostile: 1 KiB
  std::uint64_t client_memory_bytes = 512 << 20;                 // of all clients together; hostile: 64 KiB
  std::uint64_t startup_timeout_ns = 30 * kSecond_ns;     // from accept to the end of the start-up packet
  std::uint64_t last_write_timeout_ns = 10 * kSecond_ns;  // for the client to take what was said last
  std::uint64_t shutdown_grace_ns = 5 * kSecond_ns;       // for statements that run when the server stops
  std::uint64_t sequence_timeout_ns = kSecond_ns;         // then also: for messages up to the Sync to arrive
  std::uint64_t shutdown_write_ns = kSecond_ns;           // then also: to tell those that ran on
  bool trust_remote = false;  // in the rules of who may connect that hold until there are others
  std::uint64_t wrong_password_delay_ns = kSecond_ns;  // until the client is told
  // From which what a user without a password is asked is derived; the same in the whole cluster.
  std::array<unsigned char, 32> mock_secret{};
};

class ProcessState final : public sql::SessionDirectory {
 public:
  // `draw_secret` gives the keys of cancel requests; the composition root uses a cryptographic source.
  // `log` gets the lines about clients that are not let in, on any worker's thread; may be empty.
  ProcessState(Options options, std::function<std::uint32_t()> draw_secret,
               std::function<void(const std::string&)> log = {})
      : options_(options),
        draw_secret_(std::move(draw_secret)),
        log_(std::move(log)),
        client_memory_(options_.client_memory_bytes),
        access_(std::make_shared<Access>(
            Access{authentication::AccessRules::standard(options_.trust_remote), nullptr})) {
    statistics_.add_memory(client_memory_);
  }

  const Options& options() const { return options_; }
  sql::Statistics& statistics() { return statistics_; }
  sql::MemoryBudget& client_memory() { return client_memory_; }
  std::uint32_t connections() const { return connections_.load(std::memory_order_relaxed); }
  // Whether the name is that of a superuser, while there are no roles.
  bool is_named_superuser(std::string_view user) const {
    return std::ranges::find(options_.superusers, user) != options_.superusers.end();
  }
  // too_many_connections when there are as many as may be, of all users or of that one (`limit`, unless it is
  // negative, or the user a superuser). Each ok is paired with a leave() of the user.
  Status enter(const std::string& user, bool superuser, std::int32_t limit);
  void leave(const std::string& user);

  // Never null.
  std::shared_ptr<const Access> access() const {
    const std::lock_guard lock(mutex_);
    return access_;
  }
  void set_access(std::shared_ptr<const Access> access) {
    const std::lock_guard lock(mutex_);
    access_ = std::move(access);
  }
  void log(const std::string& line) const {
    if (log_) log_(line);
  }

  struct CancelKey {
    std::int32_t process_id = 0;
    std::uint32_t secret = 0;
    std::shared_ptr<std::atomic<bool>> canceled;
  };
  CancelKey make_key();
  void drop_key(const CancelKey& key);
  // Adds the session that has the key; it is no longer visible once drop_key() has returned.
  void add_session(const CancelKey& key, std::shared_ptr<LiveSession> session);
  // A key that no connection has is ignored, without an error.
  void cancel(std::int32_t process_id, std::uint32_t secret);

  std::vector<sql::SessionActivity> sessions() const override;
  bool may_look_into(std::string_view user, const sql::SessionActivity& session) const override {
    const std::lock_guard lock(mutex_);
    return may_look_into_locked(user, session);
  }
  Result<bool> send(Signal signal, std::int32_t process_id, std::string_view user) override;

 private:
  struct User {
    std::uint32_t connections = 0;
    bool superuser = false;  // when the last of them was accepted
  };

  bool is_superuser_locked(std::string_view user) const {
    const auto found = users_.find(user);
    return found != users_.end() && found->second.superuser;
  }
  bool may_look_into_locked(std::string_view user, const sql::SessionActivity& session) const {
    return is_superuser_locked(user) || (user == session.user && !is_superuser_locked(session.user));
  }

  const Options options_;
  std::function<std::uint32_t()> draw_secret_;
  std::function<void(const std::string&)> log_;
  sql::MemoryBudget client_memory_;
  sql::Statistics statistics_;
  std::atomic<std::uint32_t> connections_{0};
  mutable std::mutex mutex_;  // lint: allow banned: shared by the workers' threads; held for a map access
  std::shared_ptr<const Access> access_;
  std::map<std::string, User, std::less<>> users_;  // with a connection
  std::int32_t next_process_id_ = 1;
  std::map<std::int32_t, CancelKey> keys_;
  std::map<std::int32_t, std::shared_ptr<LiveSession>> sessions_;  // of those keys
};

}  // namespace namdb::pgwire
