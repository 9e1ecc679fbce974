// A session's settings (SET, SHOW, RESET): those that clients send when they connect. Most are only
// remembered; a value that would change results in a way that namdb does not implement is refused.
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace namdb::sql {

class Settings {
 public:
  // How long a SET lasts.
  enum class Scope : std::uint8_t { session, transaction };
  enum class BlockEnd : std::uint8_t { committed, rolled_back };

  // `serializable`: the database's transactions are serializable. Otherwise they have snapshot isolation, and
  // a higher level is refused. `flushed`: so are its commits; otherwise that is more than it gives.
  explicit Settings(bool serializable = false, bool flushed = false);

  // Names are not case-sensitive. undefined_object, invalid_parameter_value, feature_not_supported.
  Status set(std::string_view name, std::string_view value, Scope scope);
  Status reset(std::string_view name);
  void reset_all();
  // Current values become those that RESET restores: called after the start-up packet.
  void make_current_default() { defaults_ = values_; }

  std::optional<std::string> get(std::string_view name) const;
  struct Row {
    std::string name;
    std::string value;
    std::string_view description;
  };
  std::vector<Row> all() const;

  // The session's role or session_authorization, which the caller has checked.
  void set_identity(std::string_view name, std::string_view value, Scope scope);

  // Sets a value that clients cannot change.
  void initialize(std::string_view name, std::string_view value);
  // The name in PostgreSQL's spelling.
  static std::string_view shown_name(std::string_view name);
  // Whether SET takes several values, separated by commas.
  static bool is_list(std::string_view name);
  // Whether client_min_messages lets a "NOTICE" or "WARNING" through.
  bool wants(std::string_view severity) const;
  // The name under which changes are reported to clients; absent for a setting that is not reported.
  static std::optional<std::string_view> reported_name(std::string_view name);
  static std::vector<std::string_view> reported_names();

  // A transaction block begins or ends: SET in it is undone by a rollback, SET LOCAL by any end. Returns the
  // reported names of the settings that have got their former values back.
  void begin_block() { in_block_ = true; }
  std::vector<std::string_view> end_block(BlockEnd end);

  // Error feature_not_supported: the database cannot give that isolation level.
  Status check_isolation(std::string_view level) const;

  // Settings that each statement reads, without a look-up.
  std::uint64_t statement_timeout_ns() const { return statement_timeout_ns_; }
  std::uint64_t lock_timeout_ns() const { return lock_timeout_ns_; }
  // It was set explicitly, perhaps to the default.
  bool has_lock_timeout() const { return has_lock_timeout_; }
  std::uint64_t transaction_timeout_ns() const { return transaction_timeout_ns_; }
  // For a transaction block that waits for its client.
  std::uint64_t idle_timeout_ns() const { return idle_timeout_ns_; }
  const absl::TimeZone& zone() const { return zone_; }
  bool default_read_only() const { return default_read_only_; }
  // search_path does not name the schema public: names are shown with it.
  bool hides_public() const { return hides_public_; }
  // Commits may be answered before they are on disk.
  bool answers_when_logged() const { return answers_when_logged_; }

 private:
  void apply();
  void remember();
  void assign(std::string key, std::string value, Scope scope);
  // synchronous_commit and namdb.durability are two names of one choice: makes the other agree.
  void assign_other_name(std::string_view key, Scope scope);

  bool serializable_ = false;
  bool flushed_ = false;
  bool in_block_ = false;
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> defaults_;
  // Values that are restored: at a rollback (kept from the block's first SET on), and those of SET LOCAL at
  // any end.
  std::optional<std::map<std::string, std::string, std::less<>>> before_block_;
  std::map<std::string, std::string, std::less<>> before_local_;
  std::uint64_t statement_timeout_ns_ = 0;  // 0: none
  std::uint64_t lock_timeout_ns_ = 0;       // 0: none
  bool has_lock_timeout_ = false;
  std::uint64_t transaction_timeout_ns_ = 0;  // 0: none
  std::uint64_t idle_timeout_ns_ = 0;         // 0: none
  absl::TimeZone zone_ = absl::UTCTimeZone();
  bool default_read_only_ = false;
  bool hides_public_ = false;
  bool answers_when_logged_ = false;
};

}  // namespace namdb::sql
