// A secondary index as a compute server knows it: a worker's copy of a catalog entry. Borrows the schema of
// its table, so code that holds an index holds the table too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/global_address.h"
#include "common/layout/index_key.h"

namespace namdb::storage {

struct Table;

// The keys from `low` up to the next part's.
struct IndexPart {
  layout::ServerId server = 0;
  std::string low;
};

struct Index {
  std::uint32_t id = 0;
  std::uint32_t table = 0;
  std::string name;
  bool unique = false;
  bool constraint = false;  // goes only with its table
  // The primary key in order: its rows are found one by one in the table's buckets, which keep them unique.
  bool primary = false;
  // A hash index finds rows by the values of all its columns, in no order. Its entries are rows of this table
  // (common/layout/hash_entry.h); it has no pages and no parts.
  bool hash = false;
  std::shared_ptr<const Table> entries;
  // Searches may use it when their snapshot shows at least this version of the catalog; 0: it is building.
  std::uint64_t ready_version = 0;
  // The catalog version in which another index took this one's place. Since then no transaction maintains its
  // entries, and only searches with older snapshots may use it. 0: it has not been replaced.
  std::uint64_t replaced_version = 0;
  layout::IndexShape shape;
  std::uint32_t page_bytes = 0;
  std::vector<IndexPart> parts;  // in the order of their keys; the first one's low is empty

  bool ready() const { return ready_version != 0; }
  bool replaced() const { return replaced_version != 0; }
  // Has every entry that a snapshot with that version of the catalog needs.
  bool serves(std::uint64_t catalog_version) const {
    return ready() && catalog_version >= ready_version && (!replaced() || catalog_version < replaced_version);
  }
  // Position of the part that holds the key.
  std::size_t part_of(std::string_view key) const {
    const auto behind =
        std::upper_bound(parts.begin(), parts.end(), key,
                         [](std::string_view wanted, const IndexPart& part) { return wanted < part.low; });
    return behind == parts.begin() ? 0 : static_cast<std::size_t>(behind - parts.begin()) - 1;
  }
  // The end of a part's keys; nullopt: none.
  std::optional<std::string> high_of(std::size_t part) const {
    if (part + 1 == parts.size()) return std::nullopt;
    return parts[part + 1].low;
  }
};

using IndexRef = std::shared_ptr<const Index>;

}  // namespace namdb::storage
