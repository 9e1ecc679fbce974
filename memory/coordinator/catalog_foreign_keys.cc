// The catalog's part about foreign keys.
#include <algorithm>
#include <set>

#include "memory/coordinator/catalog.h"

namespace namdb::memory {
namespace {

template <typename ForeignKeys>
bool is_known(const control::ForeignKey& key, const ForeignKeys& known) {
  return std::ranges::any_of(known, [&key](const control::ForeignKey& other) {
    return other.name() == key.name() && other.references() == key.references();
  });
}

}  // namespace

Status Catalog::check_foreign_keys(const ForeignKeys& wanted, const ForeignKeys& known) const {
  for (const control::ForeignKey& key : wanted) {
    if (key.name().empty() || key.name().size() > kMaxName_bytes || key.columns_size() == 0 ||
        key.columns_size() != key.referenced_size())
      return Status(ErrorCode::protocol_violation, "a foreign key makes no sense");
    if (key.references() == 0) continue;
    const control::TableDescriptor* const other = find_table(key.references());
    if (other == nullptr || other->has_hash_index() || other->replaces() != 0)
      return Status(ErrorCode::undefined_table,
                    "a table that is referenced was dropped or changed meanwhile");
    if (is_known(key, known)) continue;
    // It may be about to lose the columns.
    if (Status status = check_unaltered(key.references()); !status.ok()) return status;
  }
  return {};
}

Status Catalog::check_unreferenced(std::uint32_t table) const {
  for (const std::uint32_t id : referencing(table)) {
    const control::TableDescriptor& other = *find_table(id);
    if (id == table || other.replaces() == table) continue;
    return Status(ErrorCode::dependent_objects_still_exist,
                  "table \"" + final_name(other.name()) + "\" references the table");
  }
  return {};
}

void Catalog::touch_referenced(const ForeignKeys& wanted, const ForeignKeys& known) {
  // Plans that write to the table know of those keys only that it had.
  std::set<std::uint32_t> touched;
  for (const control::ForeignKey& key : wanted) {
    if (key.references() != 0 && !is_known(key, known)) touched.insert(key.references());
  }
  for (const std::uint32_t id : touched) {
    change_table(id, [this](control::TableDescriptor& table) { table.set_altered_version(version_ + 1); });
  }
}

void Catalog::change_references(std::uint32_t table,
                                const std::function<void(control::ForeignKey&)>& change) {
  for (const std::uint32_t id : referencing(table)) {
    change_table(id, [&](control::TableDescriptor& other) {
      for (control::ForeignKey& key : *other.mutable_foreign_keys()) {
        if (key.references() == table) change(key);
      }
      other.set_altered_version(version_ + 1);
    });
  }
}

void Catalog::change_table(std::uint32_t id, const std::function<void(control::TableDescriptor&)>& change) {
  control::TableDescriptor table = *find_table(id);
  change(table);
  put_table(std::move(table));
}

}  // namespace namdb::memory
