// Functions of arrays. The overloads of one function differ in the array's type alone.
#include <string>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/text_search.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

// All arrays but the vectors, which become arrays of their own.
constexpr auto kArrays = std::to_array<TypeId>(
    {TypeId::boolean_array, TypeId::int2_array,   TypeId::int4_array,      TypeId::int8_array,
     TypeId::float4_array,  TypeId::float8_array, TypeId::numeric_array,   TypeId::text_array,
     TypeId::varchar_array, TypeId::bpchar_array, TypeId::timestamp_array, TypeId::timestamptz_array,
     TypeId::date_array,    TypeId::time_array,   TypeId::timetz_array,    TypeId::interval_array,
     TypeId::uuid_array,    TypeId::bytea_array,  TypeId::json_array,      TypeId::name_array,
     TypeId::char1_array,   TypeId::oid_array,    TypeId::int2vector,      TypeId::oidvector});

template <TypeId kArray>
Status cardinality(Context, Arguments arguments, Datum& out) {
  out = Datum::of_integer(array_size(kArray, arguments[0]));
  return {};
}

// NULL for an empty array, and for dimensions that it does not have.
template <TypeId kArray>
Status length(Context, Arguments arguments, Datum& out) {
  const std::uint32_t size = array_size(kArray, arguments[0]);
  out = size == 0 || arguments[1].integer != 1 ? Datum() : Datum::of_integer(size);
  return {};
}

template <TypeId kArray>
Status lower_bound(Context, Arguments arguments, Datum& out) {
  const bool none = array_size(kArray, arguments[0]) == 0 || arguments[1].integer != 1;
  out = none ? Datum() : Datum::of_integer(first_subscript(kArray));
  return {};
}

template <TypeId kArray>
Status upper_bound(Context, Arguments arguments, Datum& out) {
  const std::int64_t size = array_size(kArray, arguments[0]);
  out = size == 0 || arguments[1].integer != 1 ? Datum()
                                               : Datum::of_integer(first_subscript(kArray) + size - 1);
  return {};
}

Status join(TypeId array, Context context, Arguments arguments, const Datum* null_text, Datum& out) {
  std::string text;
  ArrayReader reader(array, arguments[0]);
  bool first = true;
  for (Datum element; reader.next(element);) {
    if (element.null && (null_text == nullptr || null_text->null)) continue;
    if (!first) text += arguments[1].text;
    first = false;
    if (element.null) {
      text += null_text->text;
    } else {
      append_text(text, {element_type(array)}, element, context.time().zone);
    }
    if (text.size() > kMaxText_bytes) return check_array_bytes(text.size());
  }
  context.work->charge_bytes(text.size());
  out = Datum::of_text(context.arena->copy(text));
  return {};
}

template <TypeId kArray>
Status to_string(Context context, Arguments arguments, Datum& out) {
  return join(kArray, context, arguments, nullptr, out);
}
template <TypeId kArray>
Status to_string_with_nulls(Context context, Arguments arguments, Datum& out) {
  if (arguments[0].null || arguments[1].null) {
    out = Datum();
    return {};
  }
  return join(kArray, context, arguments, &arguments[2], out);
}

template <TypeId kArray>
Status position(Context, Arguments arguments, Datum& out) {
  out = Datum();
  if (arguments[0].null) return {};
  ArrayReader reader(kArray, arguments[0]);
  std::int64_t at = first_subscript(kArray);
  for (Datum element; reader.next(element); ++at) {
    const bool equal = element.null || arguments[1].null
                           ? element.null && arguments[1].null
                           : compare_values(element_type(kArray), element, arguments[1]) == 0;
    if (!equal) continue;
    out = Datum::of_integer(at);
    return {};
  }
  return {};
}

Status split(Context context, Arguments arguments, Datum& out) {
  out = Datum();
  if (arguments[0].null) return {};
  ArrayWriter writer(TypeId::text_array);
  std::string_view rest = arguments[0].text;
  const std::string_view separator = arguments[1].text;
  while (!rest.empty() || writer.size() != 0) {
    std::size_t end = rest.size();
    if (arguments[1].null) {
      end = 1;
      while (end < rest.size() && (rest[end] & 0xc0) == 0x80) ++end;
    } else if (!separator.empty()) {
      end = std::min(find_text(rest, separator), rest.size());
    }
    const bool last = end == rest.size();
    writer.add(Datum::of_text(rest.substr(0, end)));
    if (Status status = check_array_bytes(writer.bytes()); !status.ok()) return status;
    if (last) break;
    rest.remove_prefix(end + (arguments[1].null ? 0 : separator.size()));
  }
  out = writer.finish(*context.arena);
  return {};
}

Function with_nulls(Function function) {
  function.nulls = true;
  return function;
}

template <TypeId kArray>
void add_functions(std::vector<Function>& functions) {
  using enum TypeId;
  functions.push_back({"cardinality", {kArray}, int4, cardinality<kArray>});
  functions.push_back({"array_length", {kArray, int4}, int4, length<kArray>});
  functions.push_back({"array_lower", {kArray, int4}, int4, lower_bound<kArray>});
  functions.push_back({"array_upper", {kArray, int4}, int4, upper_bound<kArray>});
  functions.push_back({"array_to_string", {kArray, text}, text, to_string<kArray>});
  functions.push_back(
      with_nulls({"array_to_string", {kArray, text, text}, text, to_string_with_nulls<kArray>}));
  functions.push_back(with_nulls({"array_position", {kArray, element_type(kArray)}, int4, position<kArray>}));
}

template <std::size_t... kIndexes>
void add_all(std::vector<Function>& functions, std::index_sequence<kIndexes...>) {
  (add_functions<kArrays[kIndexes]>(functions), ...);
}

}  // namespace

std::span<const Function> array_functions() {
  static const std::vector<Function> functions = [] {
    std::vector<Function> all;
    add_all(all, std::make_index_sequence<kArrays.size()>());
    all.push_back(with_nulls({"string_to_array", {TypeId::text, TypeId::text}, TypeId::text_array, split}));
    return all;
  }();
  return functions;
}

}  // namespace namdb::sql
