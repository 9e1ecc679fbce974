#include "compute/sql/execute/deferred_foreign_keys.h"

#include <algorithm>
#include <utility>

namespace namdb::sql {

bool DeferredForeignKeys::defers(const storage::ForeignKey& key) const {
  if (!key.deferrable) return false;
  if (const auto named = modes_.by_name.find(key.name); named != modes_.by_name.end()) return named->second;
  return modes_.all.value_or(key.initially_deferred);
}

Status DeferredForeignKeys::note(Run& run, const ForeignKeyGraph& graph,
                                 const ForeignKeyGraph::Reference& reference, Kind kind,
                                 std::span<const Datum> values) {
  if (memory_ == nullptr)
    memory_ = std::make_unique<GatheredMemory>("deferred foreign keys can keep", "commit in between");
  const std::string& child = graph.tables[reference.child].table->name;
  auto found = std::ranges::find_if(pending_, [&](const Pending& one) {
    return one.kind == kind && one.key == reference.key.name && one.child == child;
  });
  if (found == pending_.end()) {
    pending_.push_back({child, reference.key.name, kind, std::make_unique<ForeignKeyValues>(*memory_)});
    found = std::prev(pending_.end());
  }
  const bool of_child = kind == Kind::children;
  const storage::Table& table = *graph.tables[of_child ? reference.child : reference.parent].table;
  const std::vector<std::uint32_t>& columns = of_child ? reference.columns : reference.referenced;
  layout::Row row(table.schema);
  layout::RowWriter writer = row.writer();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (Status status = store_value(writer, columns[i], values[i]); !status.ok()) return status;
  }
  return found->values->add(run, row.view(), columns, nullptr);
}

std::vector<DeferredForeignKeys::Pending> DeferredForeignKeys::take() {
  return std::exchange(pending_, {});
}

void DeferredForeignKeys::forget() {
  pending_.clear();
  memory_.reset();
  modes_ = {};
}

}  // namespace namdb::sql
