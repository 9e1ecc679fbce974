#include "compute/sql/system/catalog_row_writer.h"

#include "common/base/check.h"
#include "compute/sql/catalog/system_relations.h"

namespace namdb::sql {
namespace {

Datum missing_value(const SystemRelation& relation, TypeId type) {
  if (relation.schema == kInformationSchema) return {};
  if (type == TypeId::char1) return Datum::of_text("");
  switch (Type{type}.type_class()) {
    case TypeClass::boolean:
      return Datum::of_boolean(false);
    case TypeClass::integer:
      return Datum::of_integer(0);
    case TypeClass::real:
      return Datum::of_real(0);
    case TypeClass::oid: {
      Datum none = Datum::of_integer(0);
      if (type != TypeId::oid) none.text = "-";
      return none;
    }
    default:
      return {};
  }
}

}  // namespace

CatalogRowWriter::Row CatalogRowWriter::add() {
  std::vector<Datum>& values = rows_.emplace_back();
  for (const SystemRelation::Column& column : relation_.columns)
    values.push_back(missing_value(relation_, column.type.id));
  if (relation_.has_tableoid()) values.push_back(Datum::of_integer(relation_.oid));
  return {*this, values};
}

CatalogRowWriter::Row CatalogRowWriter::add_unknown() {
  const std::size_t columns = relation_.columns.size();
  std::vector<Datum>& values = rows_.emplace_back(columns);
  if (relation_.has_tableoid()) values.push_back(Datum::of_integer(relation_.oid));
  return {*this, values};
}

CatalogRowWriter::Row& CatalogRowWriter::Row::set(std::string_view column, const Datum& value) {
  const std::vector<SystemRelation::Column>& columns = writer_.relation_.columns;
  while (next_ < columns.size() && columns[next_].name != column) ++next_;
  NAMDB_CHECK(next_ < columns.size());
  values_[next_++] = value;
  return *this;
}

}  // namespace namdb::sql
