// The settings that exist: their names, defaults, kinds of values, and the form of their values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::sql {

enum class SettingKind : std::uint8_t {
  text,        // any value
  boolean,     // on, off
  integer,     // a number of digits: -15 to 3
  duration,    // milliseconds, or a number with a unit
  isolation,   // an isolation level
  encoding,    // UTF8 only
  date_style,  // ISO only
  time_zone,   // a zone's name, or hours east of UTC
  choice,      // one of the words that the definition lists
  fixed,       // cannot be changed
  always_on,   // may be set to on
};

// Whether clients are told of the value when they connect, and whenever it changes.
enum class SettingReport : std::uint8_t { never, changes };

struct SettingDefinition {
  std::string_view name;
  std::string_view fallback;
  SettingKind kind;
  SettingReport report = SettingReport::never;
  std::string_view description = "";
  std::string_view choices = "";  // each between blanks
};

std::span<const SettingDefinition> setting_definitions();
// The setting of that name, in any case; null for a custom setting.
const SettingDefinition* find_setting(std::string_view name);
// Checks a value, and gives it the form in which it is shown. invalid_parameter_value.
Status normalize(const SettingDefinition& definition, std::string_view value, std::string& out);
// Milliseconds, rounded, of a number with or without a unit.
std::optional<std::uint64_t> parse_duration_ms(std::string_view text);

}  // namespace namdb::sql
