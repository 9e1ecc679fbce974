// The target `values`: a value from outside in text or binary form. The first byte of the input is the
// type, the second the form (0 text, 1 binary). A value that is accepted has a text and a binary form,
// which both are accepted and give the same text again.
#include <string>

#include "common/base/check.h"
#include "compute/sql/value/value_format.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

constexpr unsigned kTypes = static_cast<unsigned>(sql::TypeId::oidvector) + 1;

std::string text_of(const sql::Type& type, const sql::Datum& value) {
  std::string text;
  sql::append_text(text, type, value);
  return text;
}

}  // namespace

void run_values(Bytes input) {
  if (input.size() < 2) return;
  const sql::Type type{static_cast<sql::TypeId>(input[0] % kTypes)};
  if (type.is_catalog_object()) return;
  const std::string_view bytes = as_text(input.subspan(2));
  const bool binary = (input[1] & 1) != 0;
  // Texts come from statements and messages that are well-formed.
  if (!binary && !sql::check_utf8(bytes).ok()) return;
  sql::Arena arena;
  sql::Datum value;
  const sql::TimeContext time;
  const Status status = binary ? sql::parse_binary(bytes, type.id, arena, value)
                               : sql::parse_text(bytes, type.id, time, arena, value);
  if (!status.ok()) return;
  const std::string text = text_of(type, value);
  sql::Datum again;
  NAMDB_CHECK(sql::parse_text(text, type.id, time, arena, again).ok());
  NAMDB_CHECK(text_of(type, again) == text);
  std::string binary_bytes;
  sql::append_binary(binary_bytes, type, value);
  NAMDB_CHECK(sql::parse_binary(binary_bytes, type.id, arena, again).ok());
  NAMDB_CHECK(text_of(type, again) == text);
}

std::vector<std::string> value_inputs() {
  constexpr const char* kTexts[] = {"t",
                                    "-1",
                                    "32767",
                                    "1.5e3",
                                    "NaN",
                                    "-Infinity",
                                    "0.000001",
                                    "abc",
                                    "2024-02-29",
                                    "2024-02-29 23:59:59.5+02",
                                    "infinity",
                                    "12:34:56",
                                    "1 year 2 mons -3 days 04:05:06.7",
                                    "P1Y2M3DT4H5M6S",
                                    "00112233-4455-6677-8899-aabbccddeeff",
                                    "\\x00ff",
                                    "a\\\\b\\001",
                                    "{\"a\": [1, 2.50, {\"b\": null}], \"c\": \"\\u00e9\"}",
                                    "[]",
                                    "{1,2,NULL}",
                                    "{\"a b\",c,\"\"}",
                                    "{}",
                                    "1 2 3",
                                    "now",
                                    "44 BC"};
  std::vector<std::string> inputs;
  for (unsigned type = 0; type < kTypes; ++type) {
    const sql::Type of{static_cast<sql::TypeId>(type)};
    if (of.is_catalog_object()) continue;
    for (const char* text : kTexts) {
      sql::Arena arena;
      sql::Datum value;
      if (!sql::parse_text(text, of.id, sql::TimeContext(), arena, value).ok()) continue;
      inputs.push_back(std::string{static_cast<char>(type), '\0'} + text);
      inputs.push_back(std::string{static_cast<char>(type), '\1'});
      sql::append_binary(inputs.back(), of, value);
    }
  }
  return inputs;
}

}  // namespace namdb::fuzz
