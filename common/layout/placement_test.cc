#include "common/layout/placement.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/layout/key.h"

namespace namdb::layout {
namespace {

Column column(std::string name, ColumnType type, std::uint32_t length_bytes = 0) {
  Column made;
  made.name = std::move(name);
  made.type = type;
  made.length_bytes = length_bytes;
  return made;
}

// (district, warehouse), partitioned by the second.
Schema districts(ColumnType warehouse) {
  auto made = Schema::create({column("d", ColumnType::smallint), column("w", warehouse)}, {0, 1}, {1});
  REQUIRE(made.ok());
  return *made;
}

Schema tenants(std::uint32_t length_bytes) {
  auto made = Schema::create(
      {column("tenant", ColumnType::varchar, length_bytes), column("id", ColumnType::bigint)}, {0, 1}, {0});
  REQUIRE(made.ok());
  return *made;
}

}  // namespace

TEST_CASE("rows with the same partition values lie on one server, in every table", "[layout]") {
  for (const std::uint64_t servers : {1, 2, 3, 5, 7, 64, 1000}) {
    for (std::int64_t warehouse = -20; warehouse <= 100; ++warehouse) {
      const std::uint64_t wanted = partition_server(partition_hash(warehouse), servers);
      REQUIRE(wanted < servers);
      std::uint32_t table = 1;
      for (const ColumnType type : {ColumnType::bigint, ColumnType::integer, ColumnType::smallint}) {
        const Schema schema = districts(type);
        for (std::int64_t district = 0; district < 30; ++district) {
          const Key key = std::move(Key(schema).integer(district).integer(warehouse));
          const std::uint64_t hash = row_hash(table, schema, key.bytes(), servers);
          REQUIRE(hash != 0);
          REQUIRE(bucket_index(hash, servers) == wanted);
        }
        ++table;
      }
    }
  }
}

TEST_CASE("strings of one value lie together whatever their columns' lengths", "[layout]") {
  const Schema shorter = tenants(8);
  const Schema longer = tenants(300);
  for (const char* tenant : {"", "a", "b", "tenant 7", "acme"}) {
    const Key one = std::move(Key(shorter).text(tenant).integer(1));
    const Key other = std::move(Key(longer).text(tenant).integer(2));
    const std::uint64_t wanted = partition_server(partition_hash(std::string_view(tenant)), 5);
    CHECK(bucket_index(row_hash(1, shorter, one.bytes(), 5), 5) == wanted);
    CHECK(bucket_index(row_hash(2, longer, other.bytes(), 5), 5) == wanted);
  }
}

TEST_CASE("partitions that are numbered one after the other are spread evenly", "[layout]") {
  for (const std::uint64_t servers : {2, 4, 7}) {
    std::vector<int> partitions(servers);
    for (std::int64_t value = 1; value <= 50 * static_cast<std::int64_t>(servers); ++value)
      ++partitions[partition_server(partition_hash(value), servers)];
    for (const int count : partitions) CHECK((count >= 48 && count <= 52));
  }
}

TEST_CASE("the rows of one partition use all of their server's buckets alike", "[layout]") {
  const Schema schema = districts(ColumnType::integer);
  for (const std::uint64_t servers : {2, 3}) {
    const BucketArray array{.base_offset = 0, .bucket_count = 16, .generation = 1};
    std::vector<int> rows(array.bucket_count);
    for (std::int64_t district = 0; district < 16 * 256; ++district) {
      const Key key = std::move(Key(schema).integer(district).integer(7));
      ++rows[array.index_of(row_hash(9, schema, key.bytes(), servers), servers)];
    }
    for (const int count : rows) CHECK((count > 176 && count < 336));
  }
}

TEST_CASE("without partition columns, and on one server, a row's hash is its key's", "[layout]") {
  const Schema partitioned = districts(ColumnType::integer);
  auto plain = Schema::create(partitioned.columns(), partitioned.key());
  REQUIRE(plain.ok());
  const Key key = std::move(Key(partitioned).integer(3).integer(4));
  CHECK(row_hash(5, *plain, key.bytes(), 4) == hash_key(5, key.bytes()));
  CHECK(row_hash(5, partitioned, key.bytes(), 1) == hash_key(5, key.bytes()));
}

// Rows are where the first release put them: these numbers never change.
TEST_CASE("partition hashes are as format version 1 has them", "[layout]") {
  CHECK(partition_hash(std::int64_t{1}) == 0x9e3779b97f4a7c15ULL);
  CHECK(partition_hash(std::string_view("acme")) == 0xe85f0cd3cca3a11cULL);
  auto two =
      Schema::create({column("a", ColumnType::integer), column("b", ColumnType::boolean)}, {0, 1}, {1, 0});
  REQUIRE(two.ok());
  const Key key = std::move(Key(*two).integer(2).integer(1));
  CHECK(partition_hash(*two, key.bytes()) == 0x6a716ad081993537ULL);
  CHECK(row_hash(5, *two, key.bytes(), 3) == 0x766309dcf715fa58ULL);
}

TEST_CASE("only columns of the key can be partition columns, each once", "[layout]") {
  const std::vector<Column> columns = {column("a", ColumnType::integer), column("b", ColumnType::integer)};
  CHECK(Schema::create(columns, {0, 1}, {1, 0}).ok());
  CHECK_FALSE(Schema::create(columns, {0}, {1}).ok());
  CHECK_FALSE(Schema::create(columns, {0, 1}, {1, 1}).ok());
  CHECK_FALSE(Schema::create(columns, {0, 1}, {2}).ok());
}

}  // namespace namdb::layout
