#include "compute/sql/system/settings.h"

#include <algorithm>

#include "common/base/clock.h"
#include "compute/sql/system/setting_definition.h"
#include "compute/sql/value/time_zone.h"

namespace namdb::sql {
namespace {

constexpr std::string_view kSerializable = "serializable";
constexpr std::string_view kDurability = "namdb.durability";
constexpr std::string_view kSynchronousCommit = "synchronous_commit";

// Whether a search_path has the schema public.
bool names_public(std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(','), path.size());
    std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (part == "public" || part == "\"public\"") return true;
  }
  return false;
}

}  // namespace

Settings::Settings(bool serializable, bool flushed) : serializable_(serializable), flushed_(flushed) {
  for (const SettingDefinition& definition : setting_definitions()) {
    const bool strongest = serializable && definition.kind == SettingKind::isolation;
    values_.emplace(definition.name, strongest ? kSerializable : definition.fallback);
  }
  if (flushed) values_[std::string(kDurability)] = "flushed";
  defaults_ = values_;
  apply();
}

Status Settings::check_isolation(std::string_view level) const {
  if (serializable_ || level != kSerializable) return {};
  return Status(ErrorCode::feature_not_supported, "isolation level SERIALIZABLE is not supported",
                "the database's protocol gives snapshot isolation: use REPEATABLE READ, or start the memory "
                "servers with another --protocol");
}

Status Settings::set(std::string_view name, std::string_view value, Scope scope) {
  const SettingDefinition* definition = find_setting(name);
  std::string key(name);
  std::string normal(value);
  if (definition != nullptr) {
    key = definition->name;
    if (Status status = normalize(*definition, value, normal); !status.ok()) return status;
    if (definition->kind == SettingKind::isolation) {
      if (Status status = check_isolation(normal); !status.ok()) return status;
    }
    if (key == kDurability && normal == "flushed" && !flushed_) {
      return Status(ErrorCode::invalid_parameter_value,
                    "invalid value for parameter \"namdb.durability\": \"flushed\"",
                    "the database is in memory only: start the memory servers with --durability flushed");
    }
  } else if (name.find('.') == std::string_view::npos) {
    return Status(ErrorCode::undefined_object,
                  "unrecognized configuration parameter \"" + std::string(name) + "\"");
  } else if (values_.size() > 1000) {
    return Status(ErrorCode::limit_exceeded, "too many configuration parameters");
  }
  remember();
  if (scope == Scope::transaction && !in_block_) return {};  // outside a transaction it has no effect
  assign(key, std::move(normal), scope);
  assign_other_name(key, scope);
  apply();
  return {};
}

void Settings::assign(std::string key, std::string value, Scope scope) {
  if (key == "lock_timeout") has_lock_timeout_ = true;
  if (scope == Scope::transaction) {
    before_local_.emplace(key, values_.contains(key) ? values_[key] : "");
  } else {
    before_local_.erase(key);
  }
  values_.insert_or_assign(std::move(key), std::move(value));
}

void Settings::assign_other_name(std::string_view key, Scope scope) {
  if (!flushed_) return;  // all commits are answered alike
  const bool waits = values_.find(kSynchronousCommit)->second != "off";
  const bool flushed = values_.find(kDurability)->second == "flushed";
  if (waits == flushed) return;
  if (key == kSynchronousCommit) assign(std::string(kDurability), waits ? "flushed" : "memory", scope);
  if (key == kDurability) assign(std::string(kSynchronousCommit), flushed ? "on" : "off", scope);
}

void Settings::initialize(std::string_view name, std::string_view value) {
  if (name == "lock_timeout") has_lock_timeout_ = true;
  values_.insert_or_assign(std::string(name), std::string(value));
  defaults_ = values_;
}

Status Settings::reset(std::string_view name) {
  const SettingDefinition* definition = find_setting(name);
  const std::string key(definition != nullptr ? definition->name : name);
  const auto fallback = defaults_.find(key);
  if (fallback == defaults_.end()) {
    // A custom setting stays known, as an empty string.
    if (const auto value = values_.find(key); value != values_.end()) {
      remember();
      value->second.clear();
      return {};
    }
    if (name.find('.') != std::string_view::npos) return {};
    return Status(ErrorCode::undefined_object,
                  "unrecognized configuration parameter \"" + std::string(name) + "\"");
  }
  if (definition != nullptr && definition->kind == SettingKind::fixed) {
    std::string unused;
    return normalize(*definition, "", unused);
  }
  remember();
  values_[key] = fallback->second;
  assign_other_name(key, Scope::session);
  apply();
  return {};
}

void Settings::set_identity(std::string_view name, std::string_view value, Scope scope) {
  remember();
  if (scope == Scope::transaction && !in_block_) return;
  assign(std::string(name), std::string(value), scope);
}

void Settings::reset_all() {
  remember();
  // As in PostgreSQL the session stays who it is.
  std::map<std::string, std::string, std::less<>> reset = defaults_;
  for (const char* const identity : {"role", "session_authorization"}) reset[identity] = values_[identity];
  values_ = std::move(reset);
  apply();
}

std::optional<std::string> Settings::get(std::string_view name) const {
  const SettingDefinition* definition = find_setting(name);
  const auto value = values_.find(definition != nullptr ? definition->name : name);
  if (value == values_.end()) return std::nullopt;
  return value->second;
}

std::vector<Settings::Row> Settings::all() const {
  std::vector<Row> rows;
  for (const auto& [name, value] : values_) {
    const SettingDefinition* definition = find_setting(name);
    rows.push_back({name, value, definition == nullptr ? std::string_view() : definition->description});
  }
  return rows;
}

std::string_view Settings::shown_name(std::string_view name) {
  const SettingDefinition* definition = find_setting(name);
  return definition == nullptr ? name : definition->name;
}

bool Settings::is_list(std::string_view name) {
  const std::string_view shown = shown_name(name);
  return shown == "search_path" || shown == "DateStyle";
}

bool Settings::wants(std::string_view severity) const {
  const std::string& least = values_.find("client_min_messages")->second;
  if (least == "error") return false;
  return severity == "WARNING" || least != "warning";
}

std::optional<std::string_view> Settings::reported_name(std::string_view name) {
  const SettingDefinition* definition = find_setting(name);
  if (definition == nullptr || definition->report == SettingReport::never) return std::nullopt;
  return definition->name;
}

std::vector<std::string_view> Settings::reported_names() {
  std::vector<std::string_view> names;
  for (const SettingDefinition& definition : setting_definitions()) {
    if (definition.report == SettingReport::changes) names.push_back(definition.name);
  }
  return names;
}

void Settings::remember() {
  if (in_block_ && !before_block_) before_block_ = values_;
}

std::vector<std::string_view> Settings::end_block(BlockEnd end) {
  in_block_ = false;
  if (!before_block_) return {};
  std::map<std::string, std::string, std::less<>> ended = values_;
  if (end == BlockEnd::committed) {
    for (auto& [name, value] : before_local_) values_[name] = std::move(value);
  } else {
    values_ = std::move(*before_block_);
  }
  before_block_.reset();
  before_local_.clear();
  apply();
  std::vector<std::string_view> changed = reported_names();
  std::erase_if(
      changed, [&](std::string_view name) { return values_.find(name)->second == ended.find(name)->second; });
  return changed;
}

void Settings::apply() {
  const auto duration_ns = [this](const char* name) {
    return parse_duration_ms(values_[name]).value_or(0) * kMillisecond_ns;
  };
  statement_timeout_ns_ = duration_ns("statement_timeout");
  lock_timeout_ns_ = duration_ns("lock_timeout");
  transaction_timeout_ns_ = duration_ns("transaction_timeout");
  idle_timeout_ns_ = duration_ns("idle_in_transaction_session_timeout");
  hides_public_ = !names_public(values_["search_path"]);
  zone_ = find_time_zone(values_["TimeZone"]).value_or(absl::UTCTimeZone());
  default_read_only_ = values_["default_transaction_read_only"] == "on";
  answers_when_logged_ = flushed_ && values_.find(kDurability)->second == "memory";
}

}  // namespace namdb::sql
