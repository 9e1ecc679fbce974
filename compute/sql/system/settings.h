// A session's settings (SET, SHOW, RESET): those that clients send when they connect. Most are only
// remembered; a value that would change results in a way that namdb does not follow is refused.
#pragma once

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
  // `serializable`: what the database's transactions are; else they have snapshot isolation, and what asks
  // for more is refused.
  explicit Settings(bool serializable = false);

  // Names are not case-sensitive. undefined_object, invalid_parameter_value, feature_not_supported.
  // `local`: until the end of the transaction.
  Status set(std::string_view name, std::string_view value, bool local);
  Status reset(std::string_view name);
  void reset_all();
  // Current values become what RESET goes back to: after the start-up packet.
  void make_current_default() { defaults_ = values_; }

  std::optional<std::string> get(std::string_view name) const;
  struct Row {
    std::string name;
    std::string value;
    std::string_view description;
  };
  std::vector<Row> all() const;

  // Of a setting that nobody can change.
  void initialize(std::string_view name, std::string_view value);
  // The name in PostgreSQL's spelling.
  static std::string_view shown_name(std::string_view name);
  // Whether SET takes several values, separated by commas.
  static bool is_list(std::string_view name);
  // Whether client_min_messages lets a "NOTICE" or "WARNING" through.
  bool wants(std::string_view severity) const;
  // The name under which clients are told of changes; nothing for settings that they do not follow.
  static std::optional<std::string_view> reported_name(std::string_view name);
  static std::vector<std::string_view> reported_names();

  // A transaction block begins, ends well, or is rolled back: SET in it follows. The settings that have gone
  // back to what they were, of those that clients follow, by their reported names.
  void begin_block() { in_block_ = true; }
  std::vector<std::string_view> end_block(bool committed);

  // Error feature_not_supported: the database cannot give that isolation level.
  Status check_isolation(std::string_view level) const;

  // What each statement asks for, without looking anything up.
  std::uint64_t statement_timeout_ns() const { return statement_timeout_ns_; }
  std::uint64_t lock_timeout_ns() const { return lock_timeout_ns_; }
  std::uint64_t transaction_timeout_ns() const { return transaction_timeout_ns_; }
  // Of a transaction block that waits for its client.
  std::uint64_t idle_timeout_ns() const { return idle_timeout_ns_; }
  bool default_read_only() const { return default_read_only_; }

 private:
  void apply();
  void remember();

  bool serializable_ = false;
  bool in_block_ = false;
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> defaults_;
  // Values to go back to: at a rollback (kept from the block's first SET on), and of SET LOCAL at any end.
  std::optional<std::map<std::string, std::string, std::less<>>> before_block_;
  std::map<std::string, std::string, std::less<>> before_local_;
  std::uint64_t statement_timeout_ns_ = 0;    // 0: none
  std::uint64_t lock_timeout_ns_ = 0;         // 0: none
  std::uint64_t transaction_timeout_ns_ = 0;  // 0: none
  std::uint64_t idle_timeout_ns_ = 0;         // 0: none
  bool default_read_only_ = false;
};

}  // namespace namdb::sql
