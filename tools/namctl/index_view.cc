#include "tools/namctl/index_view.h"

#include <cinttypes>
#include <map>
#include <nlohmann/json.hpp>

#include "proto/control.pb.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {

std::vector<IndexView> view_indexes(const ClusterView& view) {
  std::map<std::uint32_t, IndexView> by_id;
  for (const MemoryView& server : view.memory) {
    if (!server.status.ok()) continue;
    std::map<std::uint32_t, std::string> tables;
    for (const control::TableUse& table : server.reply.tables()) tables[table.id()] = table.name();
    for (const control::IndexUse& use : server.reply.indexes()) {
      IndexView& index = by_id[use.id()];
      index.id = use.id();
      index.name = use.name();
      index.table = tables[use.table()];
      index.hash = use.hash();
      index.parts.push_back({server.reply.server_id(), use.page_bytes(), use.entries()});
    }
  }
  std::vector<IndexView> indexes;
  for (auto& [id, index] : by_id) indexes.push_back(std::move(index));
  return indexes;
}

std::string index_line(const IndexView& index) {
  std::uint64_t entries = 0;
  std::string parts;
  for (const IndexPartView& part : index.parts) {
    entries += part.entries;
    parts += parts.empty() ? "" : ", ";
    parts += text("%.1f MiB on server %u", mebibytes(part.bytes), part.server_id);
  }
  return text("index %-24s on %s, %s (id %u): %" PRIu64 " entries, %zu part%s: %s", index.name.c_str(),
              index.table.c_str(), index.hash ? "hash" : "btree", index.id, entries, index.parts.size(),
              index.parts.size() == 1 ? "" : "s", parts.c_str());
}

nlohmann::json to_json(const std::vector<IndexView>& indexes) {
  nlohmann::json document = nlohmann::json::array();
  for (const IndexView& index : indexes) {
    nlohmann::json parts = nlohmann::json::array();
    for (const IndexPartView& part : index.parts) {
      parts.push_back({{"server_id", part.server_id}, {"bytes", part.bytes}, {"entries", part.entries}});
    }
    document.push_back({{"id", index.id},
                        {"name", index.name},
                        {"table", index.table},
                        {"method", index.hash ? "hash" : "btree"},
                        {"parts", parts}});
  }
  return document;
}

}  // namespace namdb::namctl
