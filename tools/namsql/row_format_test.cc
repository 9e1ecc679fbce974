#include "tools/namsql/row_format.h"

#include <catch2/catch.hpp>

namespace namdb::namsql::row_format_test {
namespace {

std::string written(RowFormat& format, const std::vector<Column>& columns,
                    const std::vector<std::vector<CellView>>& rows) {
  std::string text = format.begin(columns);
  for (const auto& row : rows) text += format.row(row);
  return text + format.end();
}

}  // namespace

TEST_CASE("CSV quotes what it must, and tells NULL from an empty string", "[csv]") {
  const auto format = make_csv_format();
  CHECK(written(*format, {{"a"}, {"b,c"}},
                {{"x", "y z"}, {"", std::nullopt}, {"a,b", "say \"hi\""}, {"a\nb", "\\."}}) ==
        "a,\"b,c\"\n"
        "x,y z\n"
        "\"\",\n"
        "\"a,b\",\"say \"\"hi\"\"\"\n"
        "\"a\nb\",\"\\.\"\n");
}

TEST_CASE("JSON has an object for each row", "[json]") {
  const auto format = make_json_format();
  const std::vector<Column> columns = {
      {"n", ValueKind::number}, {"b", ValueKind::boolean}, {"t", ValueKind::text}, {"j", ValueKind::json}};
  CHECK(written(*format, columns,
                {{"1.50", "t", "1", "{\"a\": 1}"}, {std::nullopt, "f", std::nullopt, std::nullopt}}) ==
        "[\n"
        "  {\"n\": 1.50, \"b\": true, \"t\": \"1\", \"j\": {\"a\": 1}},\n"
        "  {\"n\": null, \"b\": false, \"t\": null, \"j\": null}\n"
        "]\n");
  CHECK(written(*format, columns, {}) == "[]\n");
}

TEST_CASE("numbers that JSON does not have are strings", "[json]") {
  const auto format = make_json_format();
  const std::vector<Column> columns = {{"n", ValueKind::number}};
  CHECK(written(*format, columns, {{"NaN"}, {"-Infinity"}, {"1e+20"}, {"-0.5"}, {"007"}, {"1."}}) ==
        "[\n  {\"n\": \"NaN\"},\n  {\"n\": \"-Infinity\"},\n  {\"n\": 1e+20},\n  {\"n\": -0.5},\n"
        "  {\"n\": \"007\"},\n  {\"n\": \"1.\"}\n]\n");
}

TEST_CASE("columns of one name get numbers", "[json]") {
  const auto format = make_json_format();
  CHECK(written(*format, {{"a"}, {"a"}, {"a_2"}, {"a"}}, {{"1", "2", "3", "4"}}) ==
        "[\n  {\"a\": \"1\", \"a_3\": \"2\", \"a_2\": \"3\", \"a_4\": \"4\"}\n]\n");
}

TEST_CASE("strings of JSON escape what they must", "[json]") {
  CHECK(json_string("a\"b\\c\n\t\r\x01 ü 日\x1f") == "\"a\\\"b\\\\c\\n\\t\\r\\u0001 ü 日\\u001f\"");
  CHECK(json_string("\xff") == "\"\xEF\xBF\xBD\"");
}

}  // namespace namdb::namsql::row_format_test
