// Creating, rebuilding and dropping secondary indexes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compute/schema/hash_index_builder.h"
#include "compute/schema/tree_index_builder.h"

namespace namdb::schema {

class Indexes {
 public:
  // `split_rows` as in TreeIndexBuilder. `worker` and `tables` outlive this.
  Indexes(SchemaWorker& worker, Tables& tables, std::size_t split_rows)
      : worker_(worker), trees_(worker, split_rows), hashes_(worker, tables) {}

  // As in Engine. `table` is the definition's.
  reactor::Task<Status> create(storage::TableRef table, txn::IndexDefinition definition);
  reactor::Task<Status> rebuild(std::string name);
  reactor::Task<Status> drop(std::string name, bool constraint);
  // Discards those of the server's indexes, `ids`, that are not in the catalog: the worker that created or
  // dropped them died before it had told all memory servers.
  reactor::Task<Status> discard_unknown(layout::ServerId server, std::vector<std::uint32_t> ids);

  TreeIndexBuilder& trees() { return trees_; }

 private:
  SchemaWorker& worker_;
  TreeIndexBuilder trees_;
  HashIndexBuilder hashes_;
};

}  // namespace namdb::schema
