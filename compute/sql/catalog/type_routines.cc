#include "compute/sql/catalog/type_routines.h"

#include <algorithm>
#include <array>

#include "common/base/check.h"

namespace namdb::sql {
namespace {

constexpr std::string_view kArray = "array";
constexpr std::string_view kEnumeration = "enum";

// clang-format off
constexpr std::array kRoutines = std::to_array<TypeRoutines>({
    {"bool", {1242, "boolin"}, {1243, "boolout"}, {2436, "boolrecv"}, {2437, "boolsend"}},
    {"bytea", {1244, "byteain"}, {31, "byteaout"}, {2412, "bytearecv"}, {2413, "byteasend"}},
    {"char", {1245, "charin"}, {33, "charout"}, {2434, "charrecv"}, {2435, "charsend"}},
    {"name", {34, "namein"}, {35, "nameout"}, {2422, "namerecv"}, {2423, "namesend"}},
    {"int8", {460, "int8in"}, {461, "int8out"}, {2408, "int8recv"}, {2409, "int8send"}},
    {"int2", {38, "int2in"}, {39, "int2out"}, {2404, "int2recv"}, {2405, "int2send"}},
    {"int2vector", {40, "int2vectorin"}, {41, "int2vectorout"}, {2410, "int2vectorrecv"}, {2411, "int2vectorsend"}},
    {"int4", {42, "int4in"}, {43, "int4out"}, {2406, "int4recv"}, {2407, "int4send"}},
    {"regproc", {44, "regprocin"}, {45, "regprocout"}, {2444, "regprocrecv"}, {2445, "regprocsend"}},
    {"text", {46, "textin"}, {47, "textout"}, {2414, "textrecv"}, {2415, "textsend"}},
    {"oid", {1798, "oidin"}, {1799, "oidout"}, {2418, "oidrecv"}, {2419, "oidsend"}},
    {"oidvector", {54, "oidvectorin"}, {55, "oidvectorout"}, {2420, "oidvectorrecv"}, {2421, "oidvectorsend"}},
    {"json", {321, "json_in"}, {322, "json_out"}, {323, "json_recv"}, {324, "json_send"}},
    {"float4", {200, "float4in"}, {201, "float4out"}, {2424, "float4recv"}, {2425, "float4send"}},
    {"float8", {214, "float8in"}, {215, "float8out"}, {2426, "float8recv"}, {2427, "float8send"}},
    {"array", {750, "array_in"}, {751, "array_out"}, {2400, "array_recv"}, {2401, "array_send"}},
    {"enum", {3506, "enum_in"}, {3507, "enum_out"}, {3532, "enum_recv"}, {3533, "enum_send"}},
    {"bpchar", {1044, "bpcharin"}, {1045, "bpcharout"}, {2430, "bpcharrecv"}, {2431, "bpcharsend"}},
    {"varchar", {1046, "varcharin"}, {1047, "varcharout"}, {2432, "varcharrecv"}, {2433, "varcharsend"}},
    {"date", {1084, "date_in"}, {1085, "date_out"}, {2468, "date_recv"}, {2469, "date_send"}},
    {"time", {1143, "time_in"}, {1144, "time_out"}, {2470, "time_recv"}, {2471, "time_send"}},
    {"timetz", {1350, "timetz_in"}, {1351, "timetz_out"}, {2472, "timetz_recv"}, {2473, "timetz_send"}},
    {"timestamp", {1312, "timestamp_in"}, {1313, "timestamp_out"}, {2474, "timestamp_recv"}, {2475, "timestamp_send"}},
    {"timestamptz", {1150, "timestamptz_in"}, {1151, "timestamptz_out"}, {2476, "timestamptz_recv"}, {2477, "timestamptz_send"}},
    {"interval", {1160, "interval_in"}, {1161, "interval_out"}, {2478, "interval_recv"}, {2479, "interval_send"}},
    {"numeric", {1701, "numeric_in"}, {1702, "numeric_out"}, {2460, "numeric_recv"}, {2461, "numeric_send"}},
    {"regclass", {2218, "regclassin"}, {2219, "regclassout"}, {2452, "regclassrecv"}, {2453, "regclasssend"}},
    {"regtype", {2220, "regtypein"}, {2221, "regtypeout"}, {2454, "regtyperecv"}, {2455, "regtypesend"}},
    {"uuid", {2952, "uuid_in"}, {2953, "uuid_out"}, {2961, "uuid_recv"}, {2962, "uuid_send"}},
    {"jsonb", {3806, "jsonb_in"}, {3804, "jsonb_out"}, {3805, "jsonb_recv"}, {3803, "jsonb_send"}},
    {"regnamespace", {4084, "regnamespacein"}, {4085, "regnamespaceout"}, {4087, "regnamespacerecv"}, {4088, "regnamespacesend"}},
    {"regrole", {4098, "regrolein"}, {4092, "regroleout"}, {4094, "regrolerecv"}, {4095, "regrolesend"}}
});
// clang-format on

template <typename Matches>
std::optional<TypeRoutine> find_if(Matches matches) {
  for (const TypeRoutines& routines : kRoutines) {
    for (const TypeRoutine& one : {routines.input, routines.output, routines.receive, routines.send}) {
      if (matches(one)) return one;
    }
  }
  return std::nullopt;
}

}  // namespace

const TypeRoutines& type_routines(TypeId type) {
  const bool is_vector = type == TypeId::int2vector || type == TypeId::oidvector;
  const std::string_view name = Type{type}.is_array() && !is_vector ? kArray
                                : Type{type}.is_enumeration()       ? kEnumeration
                                                              : std::string_view(internal_type_name(type));
  const auto found = std::ranges::find(kRoutines, name, &TypeRoutines::type);
  NAMDB_CHECK(found != kRoutines.end());
  return *found;
}

std::span<const TypeRoutines> all_type_routines() {
  return kRoutines;
}

std::optional<TypeRoutine> find_type_routine(std::string_view name) {
  return find_if([name](const TypeRoutine& one) { return one.name == name; });
}

std::optional<TypeRoutine> find_type_routine(Oid oid) {
  return find_if([oid](const TypeRoutine& one) { return one.oid == oid; });
}

}  // namespace namdb::sql
