// On which memory server a row lies, and the hash by which its table's buckets know it.
//
// The hash says both: its highest part says the memory server (bucket_index() of the number of servers), the
// whole of it the bucket there. In a table that is partitioned by some columns of its key, the hash of their
// values chooses the server, and the hash of the whole key chooses the bucket on that server. That hash
// depends only on the values, so rows with the same values lie on the same server, in all tables.
//
// In a table that is chained by its partition (hash_entry.h) the values of those columns are the hash's
// highest 40 bits, and the whole key the others. So all rows with the same values are in the chains of
// chained_hashes(): in one chain or, if the border of two chains lies within the interval, in these two
// neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/layout/bucket.h"
#include "common/layout/global_address.h"
#include "common/layout/schema.h"

namespace namdb::layout {

// Of one partition column's value: integers of all sizes, booleans as 0 and 1, timestamps and scaled
// numerics; and strings, char(n) without its trailing blanks.
//
// Partitions are often few, and numbered one after the other: multiples of the golden ratio, unlike random
// numbers, lie evenly in every range of them.
constexpr std::uint64_t partition_hash(std::int64_t value) {
  return static_cast<std::uint64_t>(value) * 0x9e37'79b9'7f4a'7c15ULL;
}
std::uint64_t partition_hash(std::string_view value);
// The hash of the partition columns in a key; the schema has some.
std::uint64_t partition_hash(const Schema& schema, std::span<const std::byte> key);

inline ServerId partition_server(std::uint64_t partition_hash, std::uint64_t server_count) {
  return static_cast<ServerId>(bucket_index(partition_hash, server_count));
}

// The hashes that rows with those values in their partition columns have in a chained table.
struct HashInterval {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  // included

  bool holds(std::uint64_t hash) const { return low <= hash && hash <= high; }
};
HashInterval chained_hashes(std::uint32_t table, std::uint64_t partition_hash);

// The hash of the row with that key. Never 0.
std::uint64_t row_hash(std::uint32_t table, const Schema& schema, std::span<const std::byte> key,
                       std::uint64_t server_count);

}  // namespace namdb::layout
