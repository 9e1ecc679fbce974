#include "memory/region/descriptor.h"

#include <limits>
#include <vector>

#include "common/layout/bucket.h"

namespace namdb::memory {

bool TableShape::valid_buckets(std::uint64_t buckets_per_server, std::uint32_t doublings) {
  constexpr std::uint64_t kMaxBuckets = layout::GlobalAddress::kOffsetMask / layout::kBucket_bytes;
  return buckets_per_server != 0 && doublings < 48 && buckets_per_server <= kMaxBuckets >> doublings;
}

Result<TableShape> TableShape::create(const control::TableDescriptor& table) {
  std::vector<layout::Column> columns;
  for (const control::Column& column : table.columns()) {
    const auto type = layout::column_type_from_code(column.type());
    if (!type || column.precision() > std::numeric_limits<std::uint8_t>::max() ||
        column.scale() > std::numeric_limits<std::uint8_t>::max()) {
      return Status(ErrorCode::protocol_violation, "column \"" + column.name() + "\" has no known type");
    }
    layout::Column& added = columns.emplace_back();
    added.name = column.name();
    added.type = *type;
    added.length_bytes = column.length_bytes();
    added.precision = static_cast<std::uint8_t>(column.precision());
    added.scale = static_cast<std::uint8_t>(column.scale());
    added.not_null = column.not_null();
  }
  auto schema = layout::Schema::create(std::move(columns), {table.key().begin(), table.key().end()},
                                       {table.partition().begin(), table.partition().end()});
  if (!schema.ok()) return schema.status();
  if (table.ring_slots() == 0 || table.ring_slots() > layout::kMaxRingSlots) {
    return Status(ErrorCode::limit_exceeded, "a table keeps 1 to " + std::to_string(layout::kMaxRingSlots) +
                                                 " old versions in a record");
  }
  if (!valid_buckets(table.buckets_per_server(), 0)) {
    return Status(ErrorCode::limit_exceeded,
                  "a table of " + std::to_string(table.buckets_per_server()) + " buckets on each server");
  }
  if (table.has_hash_index() && schema->partition().empty())
    return Status(ErrorCode::protocol_violation, "a hash index's entries are chained by no column");
  if (table.has_hash_index()) schema->chain_by_partition();
  TableShape shape;
  shape.indexed_table = table.hash_index().table();
  shape.id = table.id();
  shape.name = table.name();
  if (table.reader_words() != 0 &&
      (table.reader_words() != layout::kReaderWords || !table.single_version() || table.timestamps()))
    return Status(ErrorCode::protocol_violation, "a table's records cannot have such reader words");
  shape.record = {.payload_bytes = schema->row_bytes(),
                  .ring_slots = table.single_version() ? 0 : table.ring_slots(),
                  .timestamps = table.timestamps(),
                  .reader_words = table.reader_words()};
  shape.schema = std::move(*schema);
  shape.buckets_per_server = table.buckets_per_server();
  shape.generation = table.generation();
  return shape;
}

}  // namespace namdb::memory
