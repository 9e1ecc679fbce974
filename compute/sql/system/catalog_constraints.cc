// The rows of pg_constraint.
#include <array>
#include <string_view>

#include "compute/sql/system/catalog_rows.h"
#include "compute/sql/value/array.h"

namespace namdb::sql {
namespace {

// The letter of an action, as pg_constraint has it.
std::string_view action_letter(storage::ForeignKeyAction action) {
  constexpr std::array<std::string_view, storage::kForeignKeyActions> kLetters = {"a", "r", "c", "n", "d"};
  return kLetters[static_cast<std::size_t>(action)];
}

void add_foreign_key(CatalogRowWriter& rows, const CatalogRelation& constraint) {
  const storage::ForeignKey& key = *constraint.foreign_key;
  ArrayWriter columns(TypeId::int2_array);
  ArrayWriter referenced(TypeId::int2_array);
  for (const std::uint32_t column : Catalog::foreign_key_columns(constraint, false))
    columns.add(Datum::of_integer(column + 1));
  for (const std::uint32_t column : Catalog::foreign_key_columns(constraint, true))
    referenced.add(Datum::of_integer(column + 1));
  rows.add()
      .number("oid", constraint.oid)
      .text("conname", constraint.name)
      .number("connamespace", constraint.schema)
      .text("contype", "f")
      .flag("condeferrable", key.deferrable)
      .flag("condeferred", key.initially_deferred)
      .flag("convalidated", !key.not_valid)
      .number("conrelid", Catalog::table_oid(constraint))
      .number("conindid", Catalog::referenced_key(constraint).index)
      .number("confrelid", Catalog::referenced_oid(constraint))
      .text("confupdtype", action_letter(key.on_update))
      .text("confdeltype", action_letter(key.on_delete))
      .text("confmatchtype", key.match_full ? "f" : "s")
      .flag("conislocal", true)
      .flag("connoinherit", true)
      .set("conkey", columns.finish(rows.arena()))
      .set("confkey", referenced.finish(rows.arena()));
}

}  // namespace

void add_constraint_rows(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation* const wanted : wanted_relations(input)) {
    const CatalogRelation& index = *wanted;
    if (!index.is_constraint()) continue;
    if (index.is_foreign_key()) {
      add_foreign_key(rows, index);
      continue;
    }
    if (index.is_check()) {
      rows.add()
          .number("oid", index.oid)
          .text("conname", index.name)
          .number("connamespace", index.schema)
          .text("contype", "c")
          .flag("convalidated", true)
          .number("conrelid", Catalog::table_oid(index))
          .flag("conislocal", true)
          .text("conbin", index.check->expression);
      continue;
    }
    ArrayWriter keys(TypeId::int2_array);
    for (const layout::IndexColumn& column : Catalog::columns_of(index))
      keys.add(Datum::of_integer(column.column + 1));
    rows.add()
        .number("oid", index.oid)
        .text("conname", index.name)
        .number("connamespace", index.schema)
        .text("contype", index.is_primary_key() ? "p" : "u")
        .flag("convalidated", true)
        .number("conrelid", Catalog::table_oid(index))
        .number("conindid", index.oid)
        .flag("conislocal", true)
        .flag("connoinherit", true)
        .set("conkey", keys.finish(rows.arena()));
  }
}

}  // namespace namdb::sql
