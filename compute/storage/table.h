// A table as a compute server knows it: an immutable copy of a catalog entry, shared by reference. A dropped
// table's object stays valid for those who hold it; using it ends in catalog_changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/layout/bucket.h"
#include "common/layout/global_address.h"
#include "common/layout/record.h"
#include "common/layout/schema.h"

namespace namdb::storage {

struct Table {
  std::uint32_t id = 0;
  std::string name;
  layout::Schema schema;
  layout::RecordLayout record;
  std::uint64_t size_hint_rows = 0;
  std::uint32_t generation = 0;
  std::uint64_t buckets_per_server = 0;
  std::vector<std::uint64_t> bucket_base;  // one offset a memory server

  std::uint64_t bucket_count() const { return buckets_per_server * bucket_base.size(); }
  layout::GlobalAddress bucket_address(std::uint64_t index) const {
    const std::uint64_t server = index / buckets_per_server;
    return {static_cast<layout::ServerId>(server),
            bucket_base[server] + index % buckets_per_server * layout::kBucket_bytes};
  }
  layout::GlobalAddress bucket_of(std::uint64_t key_hash) const {
    return bucket_address(layout::bucket_index(key_hash, bucket_count()));
  }
};

using TableRef = std::shared_ptr<const Table>;

}  // namespace namdb::storage
