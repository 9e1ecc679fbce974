// The data of COPY, there and back.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "compute/sql/copy/copy_reader.h"
#include "compute/sql/copy/copy_writer.h"

namespace namdb::sql {
namespace {

using Row = std::vector<std::optional<std::string>>;

struct Read {
  std::vector<Row> rows;
  std::string error;  // empty: none
  std::uint64_t line = 0;
};

// Gives the data in parts of random sizes.
Read read_all(const CopyOptions& options, std::size_t columns, std::string_view data, Random& random) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns; ++i) names.push_back("c" + std::to_string(i));
  CopyReader reader(options, names);
  Read read;
  std::vector<std::optional<std::string_view>> fields;
  while (true) {
    const auto next = reader.next(fields);
    read.line = reader.line();
    if (!next.ok()) {
      read.error = next.status().message();
      return read;
    }
    if (*next == CopyReader::Next::end) return read;
    if (*next == CopyReader::Next::row) {
      Row& row = read.rows.emplace_back();
      for (const auto& field : fields)
        row.push_back(field ? std::optional(std::string(*field)) : std::nullopt);
      continue;
    }
    const std::size_t part = std::min<std::size_t>(data.size(), random.below(7) + 1);
    reader.add(data.substr(0, part));
    data.remove_prefix(part);
    if (data.empty()) reader.end();
  }
}

Read read_text(std::string_view data, std::size_t columns) {
  Random random(1);
  return read_all(CopyOptions::of(CopyFormat::text), columns, data, random);
}

Read read_csv(std::string_view data, std::size_t columns) {
  Random random(1);
  return read_all(CopyOptions::of(CopyFormat::csv), columns, data, random);
}

std::string random_text(Random& random) {
  constexpr std::string_view kBytes = "ab\\\",\t\n\r\b.N'|";
  std::string text;
  for (std::uint64_t i = random.below(6); i > 0; --i) text += kBytes[random.below(kBytes.size())];
  return text;
}

TEST_CASE("rows that COPY TO writes are those that COPY FROM reads, in every format", "[copy]") {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    const auto format = static_cast<CopyFormat>(random.below(3));
    CopyOptions options = CopyOptions::of(format);
    if (format == CopyFormat::csv && random.chance(0.3)) options.escape = '\'';
    if (format != CopyFormat::binary && random.chance(0.3)) options.delimiter = '|';
    options.header = format == CopyFormat::csv && random.chance(0.3);
    const std::size_t columns = 1 + random.below(3);
    CopyWriter writer(options, std::vector<Type>(columns, Type{TypeId::text}), absl::UTCTimeZone());
    std::string data;
    writer.begin(data, std::vector<std::string>(columns, "name"));
    std::vector<Row> rows;
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      Row& row = rows.emplace_back();
      std::vector<Datum> values;
      for (std::size_t column = 0; column < columns; ++column) {
        row.push_back(random.chance(0.2) ? std::nullopt : std::optional(random_text(random)));
      }
      for (const std::optional<std::string>& field : row)
        values.push_back(field ? Datum::of_text(*field) : Datum());
      writer.row(data, values);
    }
    writer.end(data);
    const Read read = read_all(options, columns, data, random);
    INFO(data);
    CHECK(read.error.empty());
    CHECK(read.rows == rows);
  }
}

TEST_CASE("fields of text have PostgreSQL's escapes", "[copy]") {
  const Read read = read_text("a\\tb\t\\N\t\\\\N\n\\x41\\101\\q\t\\\nx\t\r\n", 3);
  REQUIRE(read.error.empty());
  CHECK(read.rows == std::vector<Row>{{"a\tb", std::nullopt, "\\N"}, {"AAq", "\nx", ""}});
  CHECK(read_text("1\n\\.\n2\n", 1).rows.size() == 1);
}

TEST_CASE("rows of other lengths, and data that ends in the middle, are refused", "[copy]") {
  CHECK(read_text("1\n", 2).error == "missing data for column \"c1\"");
  CHECK(read_text("1\t2\n3\t4\t5\n", 2).error == "extra data after last expected column");
  CHECK(read_text("1\t2\n3\t4\t5\n", 2).line == 2);
  CHECK(read_csv("1,\"2\n", 2).error == "unterminated CSV quoted field");
  CHECK(read_csv("1,2\n\"a\nb\",3\n4\n", 2).line == 4);
  const CopyOptions binary = CopyOptions::of(CopyFormat::binary);
  Random random(2);
  std::string data("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4abcd\xff\xff", 29);
  CHECK(read_all(binary, 1, data, random).rows == std::vector<Row>{{"abcd"}});
  CHECK(read_all(binary, 1, data.substr(0, 25), random).error == "unexpected EOF in COPY data");
  CHECK(read_all(binary, 2, data, random).error == "row field count is 1, expected 2");
  CHECK(read_all(binary, 1, "1\n2\n", random).error == "COPY file signature not recognized");
}

TEST_CASE("CSV: quotes keep delimiters, line ends and empty strings", "[copy]") {
  const Read read = read_csv("a,\"b,\"\"c\"\"\",\n\"\",\"x\ny\",z\r\n", 3);
  REQUIRE(read.error.empty());
  CHECK(read.rows == std::vector<Row>{{"a", "b,\"c\"", std::nullopt}, {"", "x\ny", "z"}});
}

TEST_CASE("bytes of any content are split or refused", "[copy]") {
  Random random(9);
  for (int round = 0; round < 3000; ++round) {
    std::string data = random.chance(0.5) ? std::string("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19) : "";
    for (std::uint64_t i = random.below(40); i > 0; --i)
      data += static_cast<char>(random.chance(0.5) ? random.below(4) : random.next());
    const CopyOptions options = CopyOptions::of(static_cast<CopyFormat>(random.below(3)));
    const Read read = read_all(options, 1 + random.below(2), data, random);
    CHECK(read.rows.size() <= data.size() + 1);
  }
}

}  // namespace
}  // namespace namdb::sql
