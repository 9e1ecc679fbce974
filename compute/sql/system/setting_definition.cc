#include "compute/sql/system/setting_definition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "compute/sql/expression/server_version.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/time_zone.h"

namespace namdb::sql {
namespace {

constexpr std::string_view kMessageLevels =
    " debug5 debug4 debug3 debug2 debug1 debug log notice warning error ";
constexpr std::string_view kDateStyleWords = " iso mdy dmy ymd us noneuropean noneuro european euro default ";
constexpr std::string_view kIntervalStyles = " postgres postgres_verbose sql_standard iso_8601 ";
constexpr std::string_view kByteForms = " hex escape ";
constexpr std::string_view kDurabilities = " memory flushed ";
constexpr std::string_view kCommitModes = " on off local remote_write remote_apply true false yes no 1 0 ";

constexpr std::array kDefinitions = {
    SettingDefinition{"application_name", "", SettingKind::text, SettingReport::changes,
                      "Name of the client's program."},
    SettingDefinition{"client_encoding", "UTF8", SettingKind::encoding, SettingReport::changes,
                      "The one encoding is UTF8."},
    SettingDefinition{"client_min_messages", "notice", SettingKind::choice, SettingReport::never, "",
                      kMessageLevels},
    SettingDefinition{"DateStyle", "ISO, MDY", SettingKind::date_style, SettingReport::changes,
                      "Dates are shown as ISO 8601."},
    SettingDefinition{"default_transaction_isolation", "repeatable read", SettingKind::isolation,
                      SettingReport::never,
                      "Every level runs as what the database's protocol gives; more is refused."},
    SettingDefinition{"default_transaction_read_only", "off", SettingKind::boolean, SettingReport::changes},
    SettingDefinition{"extra_float_digits", "1", SettingKind::integer, SettingReport::never,
                      "double precision is shown exactly."},
    SettingDefinition{"idle_in_transaction_session_timeout", "0", SettingKind::duration, SettingReport::never,
                      "Sessions whose transaction block waits longer for its client are ended."},
    SettingDefinition{"in_hot_standby", "off", SettingKind::fixed, SettingReport::changes},
    SettingDefinition{"integer_datetimes", "on", SettingKind::fixed, SettingReport::changes},
    SettingDefinition{"IntervalStyle", "postgres", SettingKind::choice, SettingReport::changes,
                      "The one style is postgres.", kIntervalStyles},
    SettingDefinition{"is_superuser", "off", SettingKind::fixed, SettingReport::changes},
    SettingDefinition{"lock_timeout", "10s", SettingKind::duration, SettingReport::never,
                      "Statements that wait longer for what others hold are canceled."},
    SettingDefinition{"max_identifier_length", "63", SettingKind::fixed},
    SettingDefinition{"max_index_keys", "32", SettingKind::fixed, SettingReport::never,
                      "Columns of an index, as clients may believe."},
    SettingDefinition{"namdb.beside_memory_server", "", SettingKind::fixed, SettingReport::never,
                      "Memory server that this compute server stands beside: nam-computed --beside."},
    SettingDefinition{"namdb.durability", "memory", SettingKind::choice, SettingReport::never,
                      "When a commit is answered: flushed, once it is on disk; memory, once it is logged in "
                      "memory.",
                      kDurabilities},
    SettingDefinition{"password_encryption", "scram-sha-256", SettingKind::choice, SettingReport::never,
                      "Passwords are kept as SCRAM-SHA-256 verifiers.", " scram-sha-256 "},
    SettingDefinition{"plan_cache_mode", "auto", SettingKind::text},
    SettingDefinition{"role", "none", SettingKind::fixed, SettingReport::never, "Role of SET ROLE."},
    SettingDefinition{"row_security", "on", SettingKind::boolean},
    SettingDefinition{"search_path", "\"$user\", public", SettingKind::text, SettingReport::never,
                      "The one schema is public."},
    SettingDefinition{"server_encoding", "UTF8", SettingKind::fixed, SettingReport::changes},
    SettingDefinition{"server_version", kServerVersion, SettingKind::fixed, SettingReport::changes},
    SettingDefinition{"server_version_num", kServerVersionNumber, SettingKind::fixed},
    SettingDefinition{"session_authorization", "", SettingKind::fixed, SettingReport::changes},
    SettingDefinition{"standard_conforming_strings", "on", SettingKind::always_on, SettingReport::changes},
    SettingDefinition{"synchronize_seqscans", "on", SettingKind::boolean, SettingReport::never,
                      "Scans are never synchronized."},
    SettingDefinition{"statement_timeout", "0", SettingKind::duration, SettingReport::never,
                      "Longer statements are canceled."},
    SettingDefinition{"synchronous_commit", "on", SettingKind::choice, SettingReport::never,
                      "off: as namdb.durability = memory; all other values: what the database gives.",
                      kCommitModes},
    SettingDefinition{"TimeZone", "UTC", SettingKind::time_zone, SettingReport::changes,
                      "Time zone in which timestamptz is shown, and read where no other is given."},
    SettingDefinition{"transaction_isolation", "repeatable read", SettingKind::isolation},
    SettingDefinition{"transaction_read_only", "off", SettingKind::boolean},
    SettingDefinition{"transaction_timeout", "0", SettingKind::duration, SettingReport::never,
                      "Sessions with a longer transaction are ended."},
    SettingDefinition{"bytea_output", "hex", SettingKind::choice, SettingReport::never,
                      "The one form is hex.", kByteForms},
    SettingDefinition{"check_function_bodies", "on", SettingKind::boolean},
    SettingDefinition{"default_table_access_method", "heap", SettingKind::text},
    SettingDefinition{"default_tablespace", "", SettingKind::text},
    SettingDefinition{"jit", "off", SettingKind::boolean},
    SettingDefinition{"work_mem", "4MB", SettingKind::text},
    SettingDefinition{"xmloption", "content", SettingKind::text},
};

struct DurationUnit {
  std::string_view name;
  double milliseconds;
};

constexpr std::array kDurationUnits = {DurationUnit{"d", 86'400'000}, DurationUnit{"h", 3'600'000},
                                       DurationUnit{"min", 60'000},   DurationUnit{"s", 1000},
                                       DurationUnit{"ms", 1},         DurationUnit{"us", 0.001}};

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

Status invalid_value(const SettingDefinition& definition, std::string_view value, std::string hint = {}) {
  return Status(
      ErrorCode::invalid_parameter_value,
      "invalid value for parameter \"" + std::string(definition.name) + "\": \"" + std::string(value) + "\"",
      std::move(hint));
}

// Whether names mean those of public: an empty path, and one of the catalog alone, are programs' that name
// the schema each time.
bool finds_public(std::string_view path) {
  bool found = true;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(','), path.size());
    std::string schema;
    bool quoted = false;
    for (const char c : path.substr(0, end)) {
      quoted = quoted || c == '"';
      if (c != ' ' && c != '"' && c != '\'') schema += c;
    }
    if (!quoted) schema = in_lower_case(schema);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (schema == "public") return true;
    if (!schema.empty() && schema != "$user" && schema != "pg_catalog" && schema != "information_schema" &&
        schema != "pg_temp")
      found = false;
  }
  return found;
}

std::optional<bool> parse_switch(std::string_view value) {
  const std::string word = in_lower_case(value);
  if (word == "on" || word == "true" || word == "yes" || word == "1" || word == "t") return true;
  if (word == "off" || word == "false" || word == "no" || word == "0" || word == "f") return false;
  return std::nullopt;
}

}  // namespace

std::span<const SettingDefinition> setting_definitions() {
  return kDefinitions;
}

const SettingDefinition* find_setting(std::string_view name) {
  const std::string wanted = in_lower_case(name);
  const auto found = std::ranges::find_if(kDefinitions, [&wanted](const SettingDefinition& definition) {
    return in_lower_case(definition.name) == wanted;
  });
  return found == kDefinitions.end() ? nullptr : &*found;
}

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

Status normalize(const SettingDefinition& definition, std::string_view value, std::string& out) {
  out = value;
  switch (definition.kind) {
    case SettingKind::text:
      if (definition.name == "application_name" && out.size() > 63) out.resize(63);
      if (definition.name == "search_path" && !finds_public(value)) {
        return Status(ErrorCode::feature_not_supported,
                      "search_path \"" + std::string(value) + "\", without public, is not supported");
      }
      return {};
    case SettingKind::fixed:
      return Status(ErrorCode::cannot_change_setting,
                    "parameter \"" + std::string(definition.name) + "\" cannot be changed");
    case SettingKind::boolean:
    case SettingKind::always_on: {
      const std::optional<bool> on = parse_switch(value);
      if (!on) {
        return Status(ErrorCode::invalid_parameter_value,
                      "parameter \"" + std::string(definition.name) + "\" requires a Boolean value");
      }
      if (definition.kind == SettingKind::always_on && !*on) {
        return Status(ErrorCode::feature_not_supported,
                      std::string(definition.name) + " = off is not supported");
      }
      out = *on ? "on" : "off";
      return {};
    }
    case SettingKind::integer: {
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
    case SettingKind::choice:
      out = in_lower_case(value);
      if (out.empty() || definition.choices.find(" " + out + " ") == std::string_view::npos)
        return invalid_value(definition, value);
      if (definition.name == "bytea_output" && out != "hex")
        return Status(ErrorCode::feature_not_supported, "bytea_output other than hex is not supported");
      if (definition.name == "IntervalStyle" && out != "postgres")
        return Status(ErrorCode::feature_not_supported, "IntervalStyle other than postgres is not supported");
      if (definition.choices.find(" on ") != std::string_view::npos) {
        if (const std::optional<bool> on = parse_switch(value)) out = *on ? "on" : "off";
      }
      return {};
    case SettingKind::time_zone: {
      const std::optional<absl::TimeZone> zone = find_time_zone(value);
      if (!zone) return invalid_value(definition, value);
      out = zone_name(*zone, value);
      return {};
    }
    case SettingKind::duration: {
      const std::optional<std::uint64_t> duration_ms = parse_duration_ms(value);
      if (!duration_ms) {
        return invalid_value(
            definition, value,
            "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".");
      }
      out = duration_text(*duration_ms);
      return {};
    }
    case SettingKind::isolation: {
      out = in_lower_case(value);
      if (out != "serializable" && out != "repeatable read" && out != "read committed" &&
          out != "read uncommitted")
        return invalid_value(definition, value);
      return {};
    }
    case SettingKind::encoding: {
      std::string word = in_lower_case(value);
      std::erase_if(word, [](char c) { return c == '-' || c == '_' || c == '\'' || c == '"'; });
      if (word != "utf8" && word != "unicode") {
        return Status(ErrorCode::feature_not_supported,
                      "client_encoding \"" + std::string(value) + "\" is not supported", "use UTF8");
      }
      out = "UTF8";
      return {};
    }
    case SettingKind::date_style: {
      std::string word = in_lower_case(value);
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

}  // namespace namdb::sql
