// SQL's types as expressions, parameters and results have them: PostgreSQL's identities, names and modifiers.
// A column's type (layout::ColumnType) maps to one of them; expressions have a few more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/schema.h"

namespace namdb::sql {

using Oid = std::uint32_t;

// Those of enumerations, and of arrays of them, are numbers behind the names here (enumeration.h).
enum class TypeId : std::uint32_t {
  unknown,  // a string literal, NULL or a parameter whose type nothing has decided yet
  boolean,
  int2,
  int4,
  int8,
  float4,
  float8,
  numeric,
  text,
  varchar,
  bpchar,  // char(n)
  timestamp,
  timestamptz,
  date,
  time,
  interval,
  uuid,
  bytea,
  jsonb,
  // Types of the system catalogs: expressions have them, columns of tables do not.
  name,
  char1,  // "char": one byte
  json,
  oid,
  // Objects of the catalog: a datum has the object's identity and the name by which it is shown.
  regclass,
  regtype,
  regproc,
  regnamespace,
  regrole,
  // Arrays of one dimension (array.h).
  boolean_array,
  int2_array,
  int4_array,
  int8_array,
  float4_array,
  float8_array,
  numeric_array,
  text_array,
  varchar_array,
  bpchar_array,
  timestamp_array,
  timestamptz_array,
  date_array,
  time_array,
  interval_array,
  uuid_array,
  bytea_array,
  jsonb_array,
  json_array,
  name_array,
  char1_array,
  oid_array,
  int2vector,  // an array of int2 that counts from 0
  oidvector,
  // Times of day with an offset (zoned_time.h).
  timetz,
  timetz_array,
};

// Types of one class are compared and calculated with in the same way.
enum class TypeClass : std::uint8_t {
  unknown,
  boolean,
  integer,
  numeric,
  real,
  string,
  time,  // dates and timestamps
  time_of_day,
  interval,
  bytes,
  jsonb,
  oid,
  enumeration,
  array,
};

struct Type {
  TypeId id = TypeId::unknown;
  // PostgreSQL's typmod: length + 4 for varchar(n) and char(n), (precision << 16 | scale) + 4 for
  // numeric(p,s), fields << 16 | digits for interval; that of the elements for arrays; -1 for none.
  std::int32_t modifier = -1;

  bool operator==(const Type&) const = default;

  TypeClass type_class() const;
  bool is_integer() const { return type_class() == TypeClass::integer; }
  bool is_string() const { return type_class() == TypeClass::string; }
  bool is_array() const { return type_class() == TypeClass::array; }
  bool is_enumeration() const { return type_class() == TypeClass::enumeration; }
  // regclass and its like: their values come from the catalog.
  bool is_catalog_object() const { return type_class() == TypeClass::oid && id != TypeId::oid; }
  // Whether a datum of it borrows bytes (Datum::text).
  bool has_bytes() const {
    return id == TypeId::unknown || is_string() || type_class() == TypeClass::bytes ||
           type_class() == TypeClass::jsonb || is_array() || is_catalog_object();
  }
  bool is_number() const {
    const TypeClass c = type_class();
    return c == TypeClass::integer || c == TypeClass::numeric || c == TypeClass::real;
  }
  // The n of varchar(n) and char(n), in characters; absent when the length is not bounded.
  std::optional<std::uint32_t> length_characters() const;
  std::optional<unsigned> numeric_precision() const;
  std::optional<unsigned> numeric_scale() const;
};

Type numeric_type(unsigned precision, unsigned scale);
// `digits`: of seconds; none: all.
Type interval_type(std::int64_t fields, std::optional<std::int64_t> digits);
inline constexpr std::int64_t kMaxInterval_digits = 6;
Type string_type(TypeId id, std::uint32_t length_characters);
// A column of n bytes has a type of n characters: a text that has more characters is too long for PostgreSQL,
// too.
Type column_type(const layout::Column& column);
// The n of a column of type varchar(n)[], in characters; 0: it is of another type, or has none. The column
// keeps it as its precision and scale, which it does not have.
std::uint32_t element_length(const layout::Column& column);
void set_element_length(layout::Column& column, std::uint32_t length_characters);
Type column_type(layout::ColumnType type, unsigned precision, unsigned scale);
// The id of the enumeration whose values the column has, as their positions; 0: it is of another type. The
// column, which is a bigint, keeps it as its length, which it does not have.
std::uint32_t enumeration_of(const layout::Column& column);

// "integer", "character varying", ...: for messages. With the modifier: "numeric(10,2)".
std::string_view type_name(TypeId id);
std::string type_name(const Type& type);

Oid type_oid(TypeId id);
// The type of an array's elements; `unknown`: it is not an array.
TypeId element_type(TypeId array);
// The array of such elements; nullopt: there is none.
std::optional<TypeId> array_type(TypeId element);
// PostgreSQL's name of the type in pg_type, as "int4".
std::string_view internal_type_name(TypeId id);
// The type that pg_type calls so; nullopt: there is none.
std::optional<TypeId> type_named(std::string_view internal_name);
// All types but `unknown` and those that are made by statements.
std::vector<TypeId> all_types();
// PostgreSQL's preferred type of each category, to which others convert when nothing else decides.
bool is_preferred(TypeId id);
// Size in PostgreSQL's wire description: bytes, or -1 for a variable length.
std::int16_t type_size(TypeId id);
// The type of a parameter that a client declares.
std::optional<TypeId> type_from_oid(Oid oid);

inline constexpr Oid kOidUnknown = 705;

}  // namespace namdb::sql
