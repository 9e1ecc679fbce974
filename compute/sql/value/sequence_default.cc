#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

constexpr std::string_view kAlways = "generated always ";
constexpr std::string_view kBefore = "nextval('";
constexpr std::string_view kBehind = "')";

}  // namespace

std::int64_t greatest_number(layout::ColumnType type) {
  switch (type) {
    case layout::ColumnType::smallint:
      return INT16_MAX;
    case layout::ColumnType::integer:
      return INT32_MAX;
    default:
      return INT64_MAX;
  }
}

std::string sequence_default_text(const SequenceDefault& value) {
  std::string text(value.always ? kAlways : "");
  for (const std::string_view part : {kBefore, std::string_view(value.name), kBehind}) text += part;
  return text;
}

std::optional<SequenceDefault> sequence_default_of(const layout::Column& column) {
  if (!column.default_text || column.is_string()) return std::nullopt;
  std::string_view text = *column.default_text;
  SequenceDefault found;
  found.always = text.starts_with(kAlways);
  if (found.always) text.remove_prefix(kAlways.size());
  if (!text.starts_with(kBefore) || !text.ends_with(kBehind)) return std::nullopt;
  text.remove_prefix(kBefore.size());
  text.remove_suffix(kBehind.size());
  found.name = text;
  return found;
}

}  // namespace namdb::sql
