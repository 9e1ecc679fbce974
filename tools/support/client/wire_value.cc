#include "tools/support/client/wire_value.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <utility>

namespace namdb::support {

using layout::ColumnType;

void WireParameters::clear() {
  bytes_.clear();
  offsets_.clear();
  lengths_.clear();
  formats_.clear();
}

void WireParameters::add(const procedure::Value& value, ColumnType type, unsigned scale) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    add_integer(*integer, type, scale);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    add_text(*text);
  } else if (const auto* real = std::get_if<double>(&value)) {
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, *real);
    add_text({buffer, static_cast<std::size_t>(end - buffer)});
  } else {
    add_null();
  }
}

void WireParameters::add(const layout::RowView& row, std::uint32_t column) {
  const layout::Column& definition = row.schema().columns()[column];
  if (row.is_null(column)) {
    add_null();
  } else if (definition.is_string()) {
    add_text(row.text(column));
  } else if (definition.type == ColumnType::double_precision) {
    add(procedure::Value(row.real(column)), definition.type, 0);
  } else {
    add_integer(row.integer(column), definition.type, definition.scale);
  }
}

const char* const* WireParameters::values() {
  values_.clear();
  for (const std::ptrdiff_t offset : offsets_) {
    values_.push_back(offset < 0 ? nullptr : bytes_.data() + offset);
  }
  return values_.data();
}

void WireParameters::add_null() {
  offsets_.push_back(-1);
  lengths_.push_back(0);
  formats_.push_back(0);
}

void WireParameters::add_integer(std::int64_t value, ColumnType type, unsigned scale) {
  int length = 0;
  switch (type) {
    case ColumnType::bigint:
      length = 8;
      break;
    case ColumnType::integer:
      length = 4;
      break;
    case ColumnType::smallint:
      length = 2;
      break;
    case ColumnType::numeric:
      return add_text(numeric_text(value, scale));
    case ColumnType::timestamp:
      return add_text(timestamp_text(value));
    case ColumnType::boolean:
      return add_text(value != 0 ? "t" : "f");
    default:
      return add_text(std::to_string(value));
  }
  offsets_.push_back(static_cast<std::ptrdiff_t>(bytes_.size()));
  lengths_.push_back(length);
  formats_.push_back(1);
  const auto bits = static_cast<std::uint64_t>(value);
  for (int byte = length - 1; byte >= 0; --byte) bytes_ += static_cast<char>(bits >> (8 * byte) & 0xff);
}

void WireParameters::add_text(std::string_view text) {
  offsets_.push_back(static_cast<std::ptrdiff_t>(bytes_.size()));
  lengths_.push_back(static_cast<int>(text.size()));
  formats_.push_back(0);
  bytes_ += text;
  bytes_ += '\0';
}

unsigned wire_type(ColumnType type) {
  switch (type) {
    case ColumnType::bigint:
      return 20;
    case ColumnType::integer:
      return 23;
    case ColumnType::smallint:
      return 21;
    default:
      return 0;
  }
}

std::string numeric_text(std::int64_t value, unsigned scale) {
  const std::uint64_t magnitude =
      value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  std::string text = std::to_string(magnitude);
  if (scale > 0) {
    if (text.size() <= scale) text.insert(0, scale + 1 - text.size(), '0');
    text.insert(text.size() - scale, 1, '.');
  }
  if (value < 0) text.insert(0, 1, '-');
  return text;
}

std::optional<std::int64_t> parse_numeric(std::string_view text, unsigned scale) {
  if (text.empty()) return std::nullopt;
  std::string digits;
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  while (fraction.size() > scale) {
    if (fraction.back() != '0') return std::nullopt;
    fraction.remove_suffix(1);
  }
  digits.append(text.substr(0, point)).append(fraction);
  digits.append(scale - fraction.size(), '0');
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string timestamp_text(std::int64_t value_us) {
  using namespace std::chrono;
  constexpr std::int64_t kDay_us = std::int64_t{24} * 3'600 * 1'000'000;
  std::int64_t day = value_us / kDay_us;
  std::int64_t left_us = value_us % kDay_us;
  if (left_us < 0) {
    left_us += kDay_us;
    --day;
  }
  const year_month_day date(sys_days(2000y / January / 1) + days(day));
  char buffer[64];
  const int length = std::snprintf(
      buffer, sizeof buffer, "%04d-%02u-%02u %02d:%02d:%02d.%06d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(left_us / 3'600'000'000), static_cast<int>(left_us / 60'000'000 % 60),
      static_cast<int>(left_us / 1'000'000 % 60), static_cast<int>(left_us % 1'000'000));
  return {buffer, static_cast<std::size_t>(length)};
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  using namespace std::chrono;
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hours = 0;
  int minutes = 0;
  int seconds = 0;
  int used = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2u-%2u %2d:%2d:%2d%n", &year, &month, &day, &hours, &minutes, &seconds,
                  &used) != 6) {
    return std::nullopt;
  }
  const year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  std::string fraction = copy.substr(static_cast<std::size_t>(used));
  if (fraction.empty()) fraction = ".0";
  fraction.resize(std::max<std::size_t>(fraction.size(), 7), '0');
  const auto fraction_us = fraction.front() == '.' ? parse_numeric(fraction.substr(1), 0) : std::nullopt;
  if (!fraction_us || fraction.size() != 7) return std::nullopt;
  const auto since = sys_days(date) - sys_days(2000y / January / 1);
  return duration_cast<microseconds>(since + std::chrono::hours(hours) + std::chrono::minutes(minutes) +
                                     std::chrono::seconds(seconds))
             .count() +
         *fraction_us;
}

Status set_from_text(layout::RowWriter row, std::uint32_t position, const layout::Column& column,
                     std::string_view text) {
  const auto bad = [&] {
    return Status(ErrorCode::corrupt_data, "no value of " + column.name + ": " + std::string(text));
  };
  switch (column.type) {
    case ColumnType::text:
    case ColumnType::varchar:
    case ColumnType::character:
      return row.set_text(position, text);
    case ColumnType::timestamp: {
      const auto value = parse_timestamp(text);
      return value ? row.set_integer(position, *value) : bad();
    }
    case ColumnType::smallint:
    case ColumnType::integer:
    case ColumnType::bigint:
    case ColumnType::numeric: {
      const auto value = parse_numeric(text, column.type == ColumnType::numeric ? column.scale : 0);
      return value ? row.set_integer(position, *value) : bad();
    }
    default:
      return bad();
  }
}

}  // namespace namdb::support
