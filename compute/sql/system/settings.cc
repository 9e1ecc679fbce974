#include "compute/sql/system/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "common/base/clock.h"
#include "compute/sql/expression/server_version.h"

namespace namdb::sql {
namespace {

enum class Kind : std::uint8_t {
  text,        // any value
  boolean,     // on, off
  integer,     // a number of digits: -15 to 3
  duration,    // milliseconds, or a number with a unit
  isolation,   // an isolation level
  encoding,    // UTF8 only
  date_style,  // ISO only
  choice,      // one of the words that the definition lists
  fixed,       // cannot be changed
  always_on,   // may be set to on
};

// Whether clients are told of the value when they connect, and whenever it changes.
enum class Report : std::uint8_t { never, changes };

struct Definition {
  std::string_view name;
  std::string_view fallback;
  Kind kind;
  Report report = Report::never;
  std::string_view description = "";
  std::string_view choices = "";  // each between blanks
};

constexpr std::string_view kMessageLevels =
    " debug5 debug4 debug3 debug2 debug1 debug log notice warning error ";
constexpr std::string_view kDateStyleWords = " iso mdy dmy ymd us noneuropean noneuro european euro default ";
constexpr std::string_view kIntervalStyles = " postgres postgres_verbose sql_standard iso_8601 ";
constexpr std::string_view kCommitModes = " on off local remote_write remote_apply true false yes no 1 0 ";

constexpr std::string_view kSerializable = "serializable";

constexpr std::array kDefinitions = {
    Definition{"application_name", "", Kind::text, Report::changes, "Name of the client's program."},
    Definition{"client_encoding", "UTF8", Kind::encoding, Report::changes, "The one encoding is UTF8."},
    Definition{"client_min_messages", "notice", Kind::choice, Report::never, "", kMessageLevels},
    Definition{"DateStyle", "ISO, MDY", Kind::date_style, Report::changes, "Dates are shown as ISO 8601."},
    Definition{"default_transaction_isolation", "repeatable read", Kind::isolation, Report::never,
               "Every level runs as what the database's protocol gives; more is refused."},
    Definition{"default_transaction_read_only", "off", Kind::boolean, Report::changes},
    Definition{"extra_float_digits", "1", Kind::integer, Report::never, "double precision is shown exactly."},
    Definition{"idle_in_transaction_session_timeout", "0", Kind::duration, Report::never,
               "Sessions whose transaction block waits longer for its client are ended."},
    Definition{"in_hot_standby", "off", Kind::fixed, Report::changes},
    Definition{"integer_datetimes", "on", Kind::fixed, Report::changes},
    Definition{"IntervalStyle", "postgres", Kind::choice, Report::changes, "", kIntervalStyles},
    Definition{"is_superuser", "off", Kind::fixed, Report::changes},
    Definition{"lock_timeout", "10s", Kind::duration, Report::never,
               "Statements that wait longer for what others hold are canceled."},
    Definition{"max_identifier_length", "63", Kind::fixed},
    Definition{"namdb.beside_memory_server", "", Kind::fixed, Report::never,
               "Memory server that this compute server stands beside: nam-computed --beside."},
    Definition{"plan_cache_mode", "auto", Kind::text},
    Definition{"row_security", "on", Kind::boolean},
    Definition{"search_path", "\"$user\", public", Kind::text, Report::never, "The one schema is public."},
    Definition{"server_encoding", "UTF8", Kind::fixed, Report::changes},
    Definition{"server_version", kServerVersion, Kind::fixed, Report::changes},
    Definition{"server_version_num", kServerVersionNumber, Kind::fixed},
    Definition{"session_authorization", "", Kind::fixed, Report::changes},
    Definition{"standard_conforming_strings", "on", Kind::always_on, Report::changes},
    Definition{"statement_timeout", "0", Kind::duration, Report::never, "Longer statements are canceled."},
    Definition{"synchronous_commit", "on", Kind::choice, Report::never, "", kCommitModes},
    Definition{"TimeZone", "UTC", Kind::text, Report::changes,
               "Remembered; times are shown and read in UTC."},
    Definition{"transaction_isolation", "repeatable read", Kind::isolation},
    Definition{"transaction_read_only", "off", Kind::boolean},
    Definition{"transaction_timeout", "0", Kind::duration, Report::never,
               "Sessions with a longer transaction are ended."},
    Definition{"bytea_output", "hex", Kind::text},
    Definition{"check_function_bodies", "on", Kind::boolean},
    Definition{"default_table_access_method", "heap", Kind::text},
    Definition{"default_tablespace", "", Kind::text},
    Definition{"jit", "off", Kind::boolean},
    Definition{"work_mem", "4MB", Kind::text},
    Definition{"xmloption", "content", Kind::text},
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

const Definition* find_definition(std::string_view name) {
  const std::string wanted = lower(name);
  const auto found = std::ranges::find_if(
      kDefinitions, [&wanted](const Definition& definition) { return lower(definition.name) == wanted; });
  return found == kDefinitions.end() ? nullptr : &*found;
}

struct DurationUnit {
  std::string_view name;
  double milliseconds;
};

constexpr std::array kDurationUnits = {DurationUnit{"d", 86'400'000}, DurationUnit{"h", 3'600'000},
                                       DurationUnit{"min", 60'000},   DurationUnit{"s", 1000},
                                       DurationUnit{"ms", 1},         DurationUnit{"us", 0.001}};

// In milliseconds, rounded.
std::optional<std::uint64_t> parse_duration_ms(std::string_view text) {
  double number = 0;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view unit(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const DurationUnit& known : kDurationUnits) {
    if (unit != known.name && !(unit.empty() && known.name == "ms")) continue;
    const double duration_ms = std::rint(number * known.milliseconds);
    if (duration_ms > INT32_MAX) return std::nullopt;
    return static_cast<std::uint64_t>(duration_ms);
  }
  return std::nullopt;
}

// In the largest unit that gives a whole number.
std::string duration_text(std::uint64_t duration_ms) {
  if (duration_ms == 0) return "0";
  for (const DurationUnit& unit : kDurationUnits) {
    const auto unit_ms = static_cast<std::uint64_t>(unit.milliseconds);
    if (unit_ms != 0 && duration_ms % unit_ms == 0)
      return std::to_string(duration_ms / unit_ms) + std::string(unit.name);
  }
  return std::to_string(duration_ms) + "ms";
}

Status invalid_value(const Definition& definition, std::string_view value, std::string hint = {}) {
  return Status(
      ErrorCode::invalid_parameter_value,
      "invalid value for parameter \"" + std::string(definition.name) + "\": \"" + std::string(value) + "\"",
      std::move(hint));
}

std::optional<bool> parse_switch(std::string_view value) {
  const std::string word = lower(value);
  if (word == "on" || word == "true" || word == "yes" || word == "1" || word == "t") return true;
  if (word == "off" || word == "false" || word == "no" || word == "0" || word == "f") return false;
  return std::nullopt;
}

// Checks a value and brings it to the form in which it is shown.
Status normalize(const Definition& definition, std::string_view value, std::string& out) {
  out = value;
  switch (definition.kind) {
    case Kind::text:
      if (lower(definition.name) == "application_name" && out.size() > 63) out.resize(63);
      return {};
    case Kind::fixed:
      return Status(ErrorCode::cannot_change_setting,
                    "parameter \"" + std::string(definition.name) + "\" cannot be changed");
    case Kind::boolean:
    case Kind::always_on: {
      const std::optional<bool> on = parse_switch(value);
      if (!on) {
        return Status(ErrorCode::invalid_parameter_value,
                      "parameter \"" + std::string(definition.name) + "\" requires a Boolean value");
      }
      if (definition.kind == Kind::always_on && !*on) {
        return Status(ErrorCode::feature_not_supported,
                      std::string(definition.name) + " = off is not supported");
      }
      out = *on ? "on" : "off";
      return {};
    }
    case Kind::integer: {
      std::int64_t number = 0;
      const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error != std::errc() || stop != value.data() + value.size())
        return invalid_value(definition, value);
      if (number < -15 || number > 3) {
        return Status(ErrorCode::invalid_parameter_value, std::to_string(number) +
                                                              " is outside the valid range for parameter \"" +
                                                              std::string(definition.name) + "\" (-15 .. 3)");
      }
      if (number < 1) {
        return Status(ErrorCode::feature_not_supported,
                      std::string(definition.name) + " below 1 is not supported",
                      "double precision is shown exactly");
      }
      return {};
    }
    case Kind::choice:
      out = lower(value);
      if (out.empty() || definition.choices.find(" " + out + " ") == std::string_view::npos)
        return invalid_value(definition, value);
      return {};
    case Kind::duration: {
      const std::optional<std::uint64_t> duration_ms = parse_duration_ms(value);
      if (!duration_ms) {
        return invalid_value(
            definition, value,
            "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".");
      }
      out = duration_text(*duration_ms);
      return {};
    }
    case Kind::isolation: {
      out = lower(value);
      if (out != "serializable" && out != "repeatable read" && out != "read committed" &&
          out != "read uncommitted")
        return invalid_value(definition, value);
      return {};
    }
    case Kind::encoding: {
      std::string word = lower(value);
      std::erase_if(word, [](char c) { return c == '-' || c == '_' || c == '\'' || c == '"'; });
      if (word != "utf8" && word != "unicode") {
        return Status(ErrorCode::feature_not_supported,
                      "client_encoding \"" + std::string(value) + "\" is not supported", "use UTF8");
      }
      out = "UTF8";
      return {};
    }
    case Kind::date_style: {
      std::string word = lower(value);
      for (const std::string_view other : {"german", "sql", "postgres"}) {
        if (word.find(other) != std::string::npos)
          return Status(ErrorCode::feature_not_supported, "DateStyle other than ISO is not supported");
      }
      for (std::size_t begin = 0; begin <= word.size();) {
        const std::size_t end = std::min(word.find(',', begin), word.size());
        std::string_view part = std::string_view(word).substr(begin, end - begin);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
        if (part.empty() || kDateStyleWords.find(" " + std::string(part) + " ") == std::string_view::npos)
          return invalid_value(definition, value);
        begin = end + 1;
      }
      const bool day_first = word.find("dmy") != std::string::npos || word.find("euro") != std::string::npos;
      out = day_first ? "ISO, DMY" : word.find("ymd") != std::string::npos ? "ISO, YMD" : "ISO, MDY";
      return {};
    }
  }
  return {};
}

}  // namespace

Settings::Settings(bool serializable) : serializable_(serializable) {
  for (const Definition& definition : kDefinitions) {
    const bool strongest = serializable && definition.kind == Kind::isolation;
    values_.emplace(definition.name, strongest ? kSerializable : definition.fallback);
  }
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
  const Definition* definition = find_definition(name);
  std::string key(name);
  std::string normal(value);
  if (definition != nullptr) {
    key = definition->name;
    if (Status status = normalize(*definition, value, normal); !status.ok()) return status;
    if (definition->kind == Kind::isolation) {
      if (Status status = check_isolation(normal); !status.ok()) return status;
    }
  } else if (name.find('.') == std::string_view::npos) {
    return Status(ErrorCode::undefined_object,
                  "unrecognized configuration parameter \"" + std::string(name) + "\"");
  } else if (values_.size() > 1000) {
    return Status(ErrorCode::limit_exceeded, "too many configuration parameters");
  }
  remember();
  if (scope == Scope::transaction) {
    if (!in_block_) return {};  // outside a transaction it has no effect
    before_local_.emplace(key, values_.contains(key) ? values_[key] : "");
  } else {
    before_local_.erase(key);
  }
  values_.insert_or_assign(std::move(key), std::move(normal));
  apply();
  return {};
}

void Settings::initialize(std::string_view name, std::string_view value) {
  values_.insert_or_assign(std::string(name), std::string(value));
  defaults_ = values_;
}

Status Settings::reset(std::string_view name) {
  const Definition* definition = find_definition(name);
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
  if (definition != nullptr && definition->kind == Kind::fixed) {
    std::string unused;
    return normalize(*definition, "", unused);
  }
  remember();
  values_[key] = fallback->second;
  apply();
  return {};
}

void Settings::reset_all() {
  remember();
  values_ = defaults_;
  apply();
}

std::optional<std::string> Settings::get(std::string_view name) const {
  const Definition* definition = find_definition(name);
  const auto value = values_.find(definition != nullptr ? definition->name : name);
  if (value == values_.end()) return std::nullopt;
  return value->second;
}

std::vector<Settings::Row> Settings::all() const {
  std::vector<Row> rows;
  for (const auto& [name, value] : values_) {
    const Definition* definition = find_definition(name);
    rows.push_back({name, value, definition == nullptr ? std::string_view() : definition->description});
  }
  return rows;
}

std::string_view Settings::shown_name(std::string_view name) {
  const Definition* definition = find_definition(name);
  return definition == nullptr ? name : definition->name;
}

bool Settings::is_list(std::string_view name) {
  const std::string word = lower(name);
  return word == "search_path" || word == "datestyle";
}

bool Settings::wants(std::string_view severity) const {
  const std::string& least = values_.find("client_min_messages")->second;
  if (least == "error") return false;
  return severity == "WARNING" || least != "warning";
}

std::optional<std::string_view> Settings::reported_name(std::string_view name) {
  const Definition* definition = find_definition(name);
  if (definition == nullptr || definition->report == Report::never) return std::nullopt;
  return definition->name;
}

std::vector<std::string_view> Settings::reported_names() {
  std::vector<std::string_view> names;
  for (const Definition& definition : kDefinitions) {
    if (definition.report == Report::changes) names.push_back(definition.name);
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
  default_read_only_ = values_["default_transaction_read_only"] == "on";
}

}  // namespace namdb::sql
