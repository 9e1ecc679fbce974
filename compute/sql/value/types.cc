#include "compute/sql/value/types.h"

#include <array>

namespace namdb::sql {
namespace {

struct TypeRow {
  TypeId id;
  TypeClass type_class;
  Oid oid;
  std::int16_t size;
  std::string_view name;
};

constexpr std::array kTypes = {
    TypeRow{TypeId::unknown, TypeClass::unknown, kOidUnknown, -2, "unknown"},
    TypeRow{TypeId::boolean, TypeClass::boolean, 16, 1, "boolean"},
    TypeRow{TypeId::int2, TypeClass::integer, 21, 2, "smallint"},
    TypeRow{TypeId::int4, TypeClass::integer, 23, 4, "integer"},
    TypeRow{TypeId::int8, TypeClass::integer, 20, 8, "bigint"},
    TypeRow{TypeId::float8, TypeClass::real, 701, 8, "double precision"},
    TypeRow{TypeId::numeric, TypeClass::numeric, 1700, -1, "numeric"},
    TypeRow{TypeId::text, TypeClass::string, 25, -1, "text"},
    TypeRow{TypeId::varchar, TypeClass::string, 1043, -1, "character varying"},
    TypeRow{TypeId::bpchar, TypeClass::string, 1042, -1, "character"},
    TypeRow{TypeId::timestamp, TypeClass::time, 1114, 8, "timestamp without time zone"},
    TypeRow{TypeId::timestamptz, TypeClass::time, 1184, 8, "timestamp with time zone"},
};

const TypeRow& row_of(TypeId id) {
  return kTypes[static_cast<std::size_t>(id)];
}

static_assert(kTypes[static_cast<std::size_t>(TypeId::timestamptz)].id == TypeId::timestamptz,
              "kTypes is in the order of TypeId");

}  // namespace

TypeClass Type::type_class() const {
  return row_of(id).type_class;
}

std::optional<std::uint32_t> Type::length_characters() const {
  if ((id != TypeId::varchar && id != TypeId::bpchar) || modifier < 4) return std::nullopt;
  return static_cast<std::uint32_t>(modifier - 4);
}

std::optional<unsigned> Type::numeric_precision() const {
  if (id != TypeId::numeric || modifier < 4) return std::nullopt;
  return static_cast<unsigned>(modifier - 4) >> 16;
}

std::optional<unsigned> Type::numeric_scale() const {
  if (id != TypeId::numeric || modifier < 4) return std::nullopt;
  return static_cast<unsigned>(modifier - 4) & 0xffff;
}

Type numeric_type(unsigned precision, unsigned scale) {
  return {TypeId::numeric, static_cast<std::int32_t>(precision << 16 | scale) + 4};
}

Type string_type(TypeId id, std::uint32_t length_characters) {
  return {id, static_cast<std::int32_t>(length_characters) + 4};
}

Type column_type(layout::ColumnType type, unsigned precision, unsigned scale) {
  switch (type) {
    case layout::ColumnType::bigint:
      return {TypeId::int8};
    case layout::ColumnType::integer:
      return {TypeId::int4};
    case layout::ColumnType::smallint:
      return {TypeId::int2};
    case layout::ColumnType::boolean:
      return {TypeId::boolean};
    case layout::ColumnType::double_precision:
      return {TypeId::float8};
    case layout::ColumnType::numeric:
      return precision == 0 ? Type{TypeId::numeric} : numeric_type(precision, scale);
    case layout::ColumnType::character:
      return {TypeId::bpchar};
    case layout::ColumnType::varchar:
      return {TypeId::varchar};
    case layout::ColumnType::text:
      return {TypeId::text};
    case layout::ColumnType::timestamp:
      return {TypeId::timestamp};
  }
  return {};
}

Type column_type(const layout::Column& column) {
  Type type = column_type(column.type, column.precision, column.scale);
  if (type.id == TypeId::varchar || type.id == TypeId::bpchar)
    return string_type(type.id, column.length_bytes);
  return type;
}

std::string_view type_name(TypeId id) {
  return row_of(id).name;
}

std::string type_name(const Type& type) {
  std::string name(type_name(type.id));
  if (const auto length = type.length_characters()) name += "(" + std::to_string(*length) + ")";
  if (const auto precision = type.numeric_precision()) {
    name += "(" + std::to_string(*precision) + "," + std::to_string(*type.numeric_scale()) + ")";
  }
  return name;
}

bool is_preferred(TypeId id) {
  return id == TypeId::boolean || id == TypeId::float8 || id == TypeId::text || id == TypeId::timestamptz;
}

Oid type_oid(TypeId id) {
  return row_of(id).oid;
}

std::int16_t type_size(TypeId id) {
  return row_of(id).size;
}

std::optional<TypeId> type_from_oid(Oid oid) {
  for (const TypeRow& row : kTypes) {
    if (row.oid == oid) return row.id;
  }
  switch (oid) {
    case 0:
      return TypeId::unknown;
    case kOidFloat4:
      return TypeId::float8;
    case 19:  // name
      return TypeId::text;
    default:
      return std::nullopt;
  }
}

}  // namespace namdb::sql
