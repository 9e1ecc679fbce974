#include "compute/sql/value/types.h"

#include <array>

#include "common/layout/long_value.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/made_type.h"

namespace namdb::sql {
namespace {

struct TypeRow {
  TypeId id;
  TypeClass type_class;
  Oid oid;
  std::int16_t size;
  std::string_view name;
  std::string_view internal_name;
  TypeId element = TypeId::unknown;
};

constexpr TypeRow array_row(TypeId id, Oid oid, std::string_view name, std::string_view internal_name,
                            TypeId element) {
  return {id, TypeClass::array, oid, -1, name, internal_name, element};
}

constexpr TypeRow object_row(TypeId id, Oid oid, std::string_view name) {
  return {id, TypeClass::oid, oid, 4, name, name};
}

constexpr std::array kTypes = {
    TypeRow{TypeId::unknown, TypeClass::unknown, kOidUnknown, -2, "unknown", "unknown"},
    TypeRow{TypeId::boolean, TypeClass::boolean, 16, 1, "boolean", "bool"},
    TypeRow{TypeId::int2, TypeClass::integer, 21, 2, "smallint", "int2"},
    TypeRow{TypeId::int4, TypeClass::integer, 23, 4, "integer", "int4"},
    TypeRow{TypeId::int8, TypeClass::integer, 20, 8, "bigint", "int8"},
    TypeRow{TypeId::float4, TypeClass::real, 700, 4, "real", "float4"},
    TypeRow{TypeId::float8, TypeClass::real, 701, 8, "double precision", "float8"},
    TypeRow{TypeId::numeric, TypeClass::numeric, 1700, -1, "numeric", "numeric"},
    TypeRow{TypeId::text, TypeClass::string, 25, -1, "text", "text"},
    TypeRow{TypeId::varchar, TypeClass::string, 1043, -1, "character varying", "varchar"},
    TypeRow{TypeId::bpchar, TypeClass::string, 1042, -1, "character", "bpchar"},
    TypeRow{TypeId::timestamp, TypeClass::time, 1114, 8, "timestamp without time zone", "timestamp"},
    TypeRow{TypeId::timestamptz, TypeClass::time, 1184, 8, "timestamp with time zone", "timestamptz"},
    TypeRow{TypeId::date, TypeClass::time, 1082, 4, "date", "date"},
    TypeRow{TypeId::time, TypeClass::time_of_day, 1083, 8, "time without time zone", "time"},
    TypeRow{TypeId::interval, TypeClass::interval, 1186, 16, "interval", "interval"},
    TypeRow{TypeId::uuid, TypeClass::bytes, 2950, 16, "uuid", "uuid"},
    TypeRow{TypeId::bytea, TypeClass::bytes, 17, -1, "bytea", "bytea"},
    TypeRow{TypeId::jsonb, TypeClass::jsonb, 3802, -1, "jsonb", "jsonb"},
    TypeRow{TypeId::name, TypeClass::string, 19, 64, "name", "name"},
    TypeRow{TypeId::char1, TypeClass::string, 18, 1, "\"char\"", "char"},
    TypeRow{TypeId::json, TypeClass::string, 114, -1, "json", "json"},
    TypeRow{TypeId::oid, TypeClass::oid, 26, 4, "oid", "oid"},
    object_row(TypeId::regclass, 2205, "regclass"),
    object_row(TypeId::regtype, 2206, "regtype"),
    object_row(TypeId::regproc, 24, "regproc"),
    object_row(TypeId::regnamespace, 4089, "regnamespace"),
    object_row(TypeId::regrole, 4096, "regrole"),
    array_row(TypeId::boolean_array, 1000, "boolean[]", "_bool", TypeId::boolean),
    array_row(TypeId::int2_array, 1005, "smallint[]", "_int2", TypeId::int2),
    array_row(TypeId::int4_array, 1007, "integer[]", "_int4", TypeId::int4),
    array_row(TypeId::int8_array, 1016, "bigint[]", "_int8", TypeId::int8),
    array_row(TypeId::float4_array, 1021, "real[]", "_float4", TypeId::float4),
    array_row(TypeId::float8_array, 1022, "double precision[]", "_float8", TypeId::float8),
    array_row(TypeId::numeric_array, 1231, "numeric[]", "_numeric", TypeId::numeric),
    array_row(TypeId::text_array, 1009, "text[]", "_text", TypeId::text),
    array_row(TypeId::varchar_array, 1015, "character varying[]", "_varchar", TypeId::varchar),
    array_row(TypeId::bpchar_array, 1014, "character[]", "_bpchar", TypeId::bpchar),
    array_row(TypeId::timestamp_array, 1115, "timestamp without time zone[]", "_timestamp",
              TypeId::timestamp),
    array_row(TypeId::timestamptz_array, 1185, "timestamp with time zone[]", "_timestamptz",
              TypeId::timestamptz),
    array_row(TypeId::date_array, 1182, "date[]", "_date", TypeId::date),
    array_row(TypeId::time_array, 1183, "time without time zone[]", "_time", TypeId::time),
    array_row(TypeId::interval_array, 1187, "interval[]", "_interval", TypeId::interval),
    array_row(TypeId::uuid_array, 2951, "uuid[]", "_uuid", TypeId::uuid),
    array_row(TypeId::bytea_array, 1001, "bytea[]", "_bytea", TypeId::bytea),
    array_row(TypeId::jsonb_array, 3807, "jsonb[]", "_jsonb", TypeId::jsonb),
    array_row(TypeId::json_array, 199, "json[]", "_json", TypeId::json),
    array_row(TypeId::name_array, 1003, "name[]", "_name", TypeId::name),
    array_row(TypeId::char1_array, 1002, "\"char\"[]", "_char", TypeId::char1),
    array_row(TypeId::oid_array, 1028, "oid[]", "_oid", TypeId::oid),
    array_row(TypeId::int2vector, 22, "int2vector", "int2vector", TypeId::int2),
    array_row(TypeId::oidvector, 30, "oidvector", "oidvector", TypeId::oid),
    TypeRow{TypeId::timetz, TypeClass::time_of_day, 1266, 12, "time with time zone", "timetz"},
    array_row(TypeId::timetz_array, 1270, "time with time zone[]", "_timetz", TypeId::timetz),
};

// Of a type that no statement has made.
const TypeRow& row_of(TypeId id) {
  return kTypes[static_cast<std::size_t>(id)];
}

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<std::size_t>(kTypes[i].id) != i) return false;
  }
  return true;
}
static_assert(in_order(), "kTypes is in the order of TypeId");
static_assert(kTypes.size() <= kFirstMadeType);

}  // namespace

TypeClass Type::type_class() const {
  if (is_made(id)) [[unlikely]]
    return is_array_of_made(id) ? TypeClass::array : TypeClass::enumeration;
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

Type interval_type(std::int64_t fields, std::optional<std::int64_t> digits) {
  constexpr std::int64_t kAll = 0xffff;
  return {TypeId::interval, static_cast<std::int32_t>(fields << 16 | digits.value_or(kAll))};
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
    case layout::ColumnType::date:
      return {TypeId::date};
    case layout::ColumnType::time:
      return {TypeId::time};
    case layout::ColumnType::time_with_time_zone:
      return {TypeId::timetz};
    case layout::ColumnType::timestamp_with_time_zone:
      return {TypeId::timestamptz};
    case layout::ColumnType::real:
      return {TypeId::float4};
    case layout::ColumnType::uuid:
      return {TypeId::uuid};
    case layout::ColumnType::bytea:
      return {TypeId::bytea};
    case layout::ColumnType::json:
      return {TypeId::json};
    case layout::ColumnType::interval:
      return {TypeId::interval};
    case layout::ColumnType::decimal:
      return precision == 0 ? Type{TypeId::numeric} : numeric_type(precision, scale);
    case layout::ColumnType::jsonb:
      return {TypeId::jsonb};
    case layout::ColumnType::boolean_array:
      return {TypeId::boolean_array};
    case layout::ColumnType::smallint_array:
      return {TypeId::int2_array};
    case layout::ColumnType::integer_array:
      return {TypeId::int4_array};
    case layout::ColumnType::bigint_array:
      return {TypeId::int8_array};
    case layout::ColumnType::real_array:
      return {TypeId::float4_array};
    case layout::ColumnType::double_precision_array:
      return {TypeId::float8_array};
    case layout::ColumnType::numeric_array:
      return {TypeId::numeric_array};
    case layout::ColumnType::text_array:
      return {TypeId::text_array};
    case layout::ColumnType::varchar_array:
      return {TypeId::varchar_array};
    case layout::ColumnType::timestamp_array:
      return {TypeId::timestamp_array};
    case layout::ColumnType::timestamp_with_time_zone_array:
      return {TypeId::timestamptz_array};
    case layout::ColumnType::date_array:
      return {TypeId::date_array};
    case layout::ColumnType::time_array:
      return {TypeId::time_array};
    case layout::ColumnType::time_with_time_zone_array:
      return {TypeId::timetz_array};
    case layout::ColumnType::interval_array:
      return {TypeId::interval_array};
    case layout::ColumnType::uuid_array:
      return {TypeId::uuid_array};
    case layout::ColumnType::bytea_array:
      return {TypeId::bytea_array};
    case layout::ColumnType::json_array:
      return {TypeId::json_array};
    case layout::ColumnType::jsonb_array:
      return {TypeId::jsonb_array};
  }
  return {};
}

namespace {

bool tells_time(const Type& type) {
  return type.type_class() == TypeClass::time || type.type_class() == TypeClass::time_of_day;
}

}  // namespace

std::uint32_t enumeration_of(const layout::Column& column) {
  return column.type == layout::ColumnType::bigint ? column.length_bytes : 0;
}

Type column_type(const layout::Column& column) {
  if (const std::uint32_t enumeration = enumeration_of(column)) return {enumeration_type(enumeration)};
  Type type = column_type(column.type, column.precision, column.scale);
  if (layout::is_unbounded_varchar(column)) return type;
  if (type.id == TypeId::varchar || type.id == TypeId::bpchar)
    return string_type(type.id, column.length_bytes);
  if (tells_time(type) && column.length_bytes != 0)
    type.modifier = static_cast<std::int32_t>(column.length_bytes) - 1;
  if (type.id == TypeId::interval && column.length_bytes != 0)
    type.modifier = static_cast<std::int32_t>(column.length_bytes);
  if (const std::uint32_t length = element_length(column); length != 0)
    type.modifier = string_type(TypeId::varchar, length).modifier;
  return type;
}

std::uint32_t element_length(const layout::Column& column) {
  if (column.type != layout::ColumnType::varchar_array) return 0;
  return column.precision * 256U + column.scale;
}

void set_element_length(layout::Column& column, std::uint32_t length_characters) {
  column.precision = static_cast<std::uint8_t>(length_characters / 256);
  column.scale = static_cast<std::uint8_t>(length_characters % 256);
}

std::string_view type_name(TypeId id) {
  if (is_made(id)) return made_type_names(id).shown;
  return row_of(id).name;
}

std::string type_name(const Type& type) {
  if (type.is_array() && type.modifier != -1)
    return type_name(Type{element_type(type.id), type.modifier}) + "[]";
  std::string name(type_name(type.id));
  if (const auto length = type.length_characters()) name += "(" + std::to_string(*length) + ")";
  if (const auto precision = type.numeric_precision()) {
    name += "(" + std::to_string(*precision) + "," + std::to_string(*type.numeric_scale()) + ")";
  }
  if (type.id == TypeId::interval) name += interval_fields(type.modifier);
  if (tells_time(type) && type.modifier >= 0)
    name.insert(name.find(' '), "(" + std::to_string(type.modifier) + ")");
  return name;
}

TypeId element_type(TypeId array) {
  if (is_made(array)) [[unlikely]]
    return is_array_of_made(array) ? enumeration_type(enumeration_id(array)) : TypeId::unknown;
  return row_of(array).element;
}

std::optional<TypeId> array_type(TypeId element) {
  if (is_made(element))
    return is_array_of_made(element) ? std::nullopt : std::optional(array_of_made(element));
  for (const TypeRow& row : kTypes) {
    if (element != TypeId::unknown && row.element == element) return row.id;
  }
  return std::nullopt;
}

std::string_view internal_type_name(TypeId id) {
  if (is_made(id)) return made_type_names(id).internal;
  return row_of(id).internal_name;
}

std::optional<TypeId> type_named(std::string_view internal_name) {
  for (const TypeRow& row : kTypes) {
    if (row.internal_name == internal_name && row.id != TypeId::unknown) return row.id;
  }
  return std::nullopt;
}

std::vector<TypeId> all_types() {
  std::vector<TypeId> ids;
  for (const TypeRow& row : kTypes) {
    if (row.id != TypeId::unknown) ids.push_back(row.id);
  }
  return ids;
}

bool is_preferred(TypeId id) {
  return id == TypeId::oid || id == TypeId::boolean || id == TypeId::float8 || id == TypeId::text ||
         id == TypeId::timestamptz || id == TypeId::interval;
}

Oid type_oid(TypeId id) {
  if (is_made(id)) return stored_oid(enumeration_id(id), is_array_of_made(id) ? 1 : 0);
  return row_of(id).oid;
}

std::int16_t type_size(TypeId id) {
  if (is_made(id)) return is_array_of_made(id) ? -1 : 4;
  return row_of(id).size;
}

std::optional<TypeId> type_from_oid(Oid oid) {
  for (const TypeRow& row : kTypes) {
    if (row.oid == oid) return row.id;
  }
  if (const std::optional<TypeId> made = made_type(oid); made && is_known(*made)) return made;
  return oid == 0 ? std::optional(TypeId::unknown) : std::nullopt;
}

}  // namespace namdb::sql
