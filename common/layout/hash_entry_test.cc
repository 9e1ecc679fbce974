#include "common/layout/hash_entry.h"

#include <catch2/catch.hpp>

#include "common/layout/key.h"

namespace namdb::layout {
namespace {

enum Things : std::uint32_t { kId, kColor, kCode };

Schema things() {
  std::vector<Column> columns(3);
  columns[kId] = {.name = "id"};
  columns[kColor] = {.name = "color", .type = ColumnType::varchar, .length_bytes = 8, .not_null = true};
  columns[kCode] = {.name = "code", .type = ColumnType::integer};
  return std::move(*Schema::create(std::move(columns), {kId}));
}

Row thing(const Schema& schema, std::int64_t id, std::string_view color, std::optional<int> code) {
  Row row(schema);
  CHECK(row.writer().set_integer(kId, id).ok());
  CHECK(row.writer().set_text(kColor, color).ok());
  if (code) {
    CHECK(row.writer().set_integer(kCode, *code).ok());
  } else {
    row.writer().set_null(kCode);
  }
  return row;
}

std::vector<std::byte> key_of(const Row& row) {
  return {row.key().begin(), row.key().end()};
}

}  // namespace

TEST_CASE("an entry of a hash index gives back the whole index key, unique or not, NULL or not", "[hash]") {
  const Schema schema = things();
  const IndexShape shape = *IndexShape::create(schema, {{kColor, false}, {kCode, false}});
  for (const bool unique : {false, true}) {
    const Schema entries = *hash_entry_schema(shape, unique);
    for (const std::optional<int> code : {std::optional<int>(), std::optional<int>(7)}) {
      const IndexKey key = index_key(shape, thing(schema, 12, "blue", code).view());
      const Row entry = hash_entry(entries, key);
      CHECK(index_key_of(entry.view()) == key.bytes);
      CHECK(primary_key_of(shape, index_key_of(entry.view())) == key_of(thing(schema, 12, "", 0)));
      CHECK(declared_key_of(shape, key.bytes) ==
            IndexKey{std::string(key.declared()), key.declared_bytes, key.has_null});
    }
  }
}

TEST_CASE("rows with the same values have one entry in a unique hash index, unless one is NULL", "[hash]") {
  const Schema schema = things();
  const IndexShape shape = *IndexShape::create(schema, {{kColor, false}, {kCode, false}});
  const auto entry_key = [&](const Schema& entries, std::int64_t id, std::optional<int> code) {
    return key_of(hash_entry(entries, index_key(shape, thing(schema, id, "red", code).view())));
  };
  const Schema unique = *hash_entry_schema(shape, true);
  CHECK(entry_key(unique, 1, 5) == entry_key(unique, 2, 5));
  CHECK(entry_key(unique, 1, 5) != entry_key(unique, 1, 6));
  CHECK(entry_key(unique, 1, {}) != entry_key(unique, 2, {}));
  const Schema other = *hash_entry_schema(shape, false);
  CHECK(entry_key(other, 1, 5) != entry_key(other, 2, 5));
}

TEST_CASE("entries with the same values are in the chains of their hashes, whatever the number of buckets",
          "[hash]") {
  const Schema schema = things();
  const IndexShape shape = *IndexShape::create(schema, {{kColor, false}});
  const Schema entries = *hash_entry_schema(shape, false);
  constexpr std::uint32_t kTable = 9;
  const std::uint64_t servers = GENERATE(1, 2, 3, 7);
  std::uint64_t chains = 0;
  for (const std::string_view color : {"red", "green", "blue", ""}) {
    const IndexKey key = index_key(shape, thing(schema, 0, color, 0).view());
    const HashInterval hashes = hash_entry_hashes(kTable, key.declared());
    CHECK(hashes.low < hashes.high);
    for (std::int64_t id = 0; id < 200; ++id) {
      const Row entry = hash_entry(entries, index_key(shape, thing(schema, id, color, 0).view()));
      const std::uint64_t hash = row_hash(kTable, entries, entry.key(), servers);
      CHECK(hashes.holds(hash));
      chains += bucket_index(hash, servers * 1000) != bucket_index(hashes.low, servers * 1000) ? 1 : 0;
    }
  }
  CHECK(chains == 0);  // the border of two chains lies between the hashes once in a million
}

TEST_CASE("bytes that are no values of an index's columns are refused", "[hash]") {
  const Schema schema = things();
  const IndexShape shape = *IndexShape::create(schema, {{kColor, false}, {kCode, false}});
  CHECK_FALSE(declared_key_of(shape, ""));
  const IndexKey key = index_key(shape, thing(schema, 1, "red", 5).view());
  for (std::size_t length = 0; length < key.declared_bytes; ++length)
    CHECK_FALSE(declared_key_of(shape, key.bytes.substr(0, length)));
}

TEST_CASE("a hash index over strings that fill no record is refused", "[hash]") {
  std::vector<Column> columns(2);
  columns[0] = {.name = "id"};
  columns[1] = {.name = "text", .type = ColumnType::text, .length_bytes = kMaxString_bytes};
  const auto schema = Schema::create(std::move(columns), {0});
  REQUIRE(schema.ok());
  const IndexShape shape = *IndexShape::create(*schema, {{1, false}});
  CHECK(hash_entry_schema(shape, false).status().code() == ErrorCode::limit_exceeded);
}

}  // namespace namdb::layout
