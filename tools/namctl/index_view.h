// The indexes of a cluster, put together from the parts on its memory servers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/namctl/cluster_view.h"

namespace namdb::namctl {

// The part of an index on one memory server: a range of the keys of a B+-tree, or a share of a hash index.
struct IndexPartView {
  std::uint32_t server_id = 0;
  std::uint64_t bytes = 0;  // of pages in use
  std::uint64_t entries = 0;
};

struct IndexView {
  std::uint32_t id = 0;  // while one is rebuilt there are two of the same name
  std::string name;
  std::string table;
  bool hash = false;
  std::vector<IndexPartView> parts;
};

// The indexes by id, from the memory servers that answered.
std::vector<IndexView> view_indexes(const ClusterView& view);
// For people.
std::string index_line(const IndexView& index);
nlohmann::json to_json(const std::vector<IndexView>& indexes);

}  // namespace namdb::namctl
