// All sessions of a compute server, on all of its workers: their activity, and how to cancel their statements
// or to end them. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace namdb::sql {

// Times are µs since 2000-01-01, by the clock of now().
struct SessionActivity {
  std::int32_t process_id = 0;
  std::string user;
  std::string database;
  std::string application_name;
  std::string client_address;               // empty: a unix socket
  std::optional<std::int32_t> client_port;  // absent for a unix socket
  std::int64_t began_us = 0;
  std::optional<std::int64_t> transaction_began_us;
  std::optional<std::int64_t> query_began_us;
  std::int64_t state_changed_us = 0;
  std::string_view state = "idle";  // in PostgreSQL's words
  std::string query;                // that runs, or ran last
};

class SessionDirectory {
 public:
  enum class Signal : std::uint8_t { cancel, terminate };

  virtual ~SessionDirectory() = default;
  // In the order of their process ids.
  virtual std::vector<SessionActivity> sessions() const = 0;
  // Whether `user` may see the session's activity, and end it.
  virtual bool may_look_into(std::string_view user, const SessionActivity& session) const = 0;
  // Cancels the statement that runs, or ends the session, soon after this returns. False when no session has
  // that process id. insufficient_privilege: allowed for superusers, and for users of the same name.
  virtual Result<bool> send(Signal signal, std::int32_t process_id, std::string_view user) = 0;
};

}  // namespace namdb::sql
