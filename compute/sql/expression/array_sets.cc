// Functions that make arrays of others, and operators that compare arrays as sets. Overloads of one function
// differ in the array's type alone.
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <string>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

constexpr auto kSetArrays = std::to_array<TypeId>(
    {TypeId::boolean_array, TypeId::int2_array,      TypeId::int4_array,        TypeId::int8_array,
     TypeId::float4_array,  TypeId::float8_array,    TypeId::numeric_array,     TypeId::text_array,
     TypeId::varchar_array, TypeId::timestamp_array, TypeId::timestamptz_array, TypeId::date_array,
     TypeId::time_array,    TypeId::timetz_array,    TypeId::interval_array,    TypeId::uuid_array,
     TypeId::bytea_array,   TypeId::jsonb_array,     TypeId::json_array,        TypeId::bpchar_array,
     TypeId::name_array,    TypeId::oid_array});

std::string equal_bytes_of(TypeId type, const Datum& value) {
  std::string bytes;
  append_equal_bytes(bytes, type, value);
  return bytes;
}

bool are_equal(TypeId type, const Datum& left, const Datum& right) {
  if (left.null || right.null) return left.null && right.null;
  return compare_values(type, left, right) == 0;
}

// Adds the elements of an array; NULL has none.
Status add_array(ArrayWriter& writer, Context context, TypeId type, const Datum& array) {
  if (array.null) return {};
  ArrayReader reader(type, array);
  for (Datum element; reader.next(element);) writer.add(element);
  context.work->charge_bytes(array.text.size());
  return check_array_bytes(writer.bytes());
}

Status finish_array(ArrayWriter& writer, Context context, Datum& out) {
  if (Status status = check_array_bytes(writer.bytes()); !status.ok()) return status;
  context.work->charge_bytes(writer.bytes());
  out = writer.finish(*context.arena);
  return {};
}

template <TypeId kArray>
Status append_element(Context context, Arguments a, Datum& out) {
  ArrayWriter writer(kArray);
  if (Status status = add_array(writer, context, kArray, a[0]); !status.ok()) return status;
  writer.add(a[1]);
  return finish_array(writer, context, out);
}

template <TypeId kArray>
Status prepend_element(Context context, Arguments a, Datum& out) {
  ArrayWriter writer(kArray);
  writer.add(a[0]);
  if (Status status = add_array(writer, context, kArray, a[1]); !status.ok()) return status;
  return finish_array(writer, context, out);
}

template <TypeId kArray>
Status concatenate_arrays(Context context, Arguments a, Datum& out) {
  out = Datum();
  if (a[0].null && a[1].null) return {};
  ArrayWriter writer(kArray);
  for (const Datum& array : a) {
    if (Status status = add_array(writer, context, kArray, array); !status.ok()) return status;
  }
  return finish_array(writer, context, out);
}

template <TypeId kArray>
Status remove_element(Context context, Arguments a, Datum& out) {
  out = Datum();
  if (a[0].null) return {};
  ArrayWriter writer(kArray);
  ArrayReader reader(kArray, a[0]);
  for (Datum element; reader.next(element);) {
    if (!are_equal(element_type(kArray), element, a[1])) writer.add(element);
  }
  return finish_array(writer, context, out);
}

template <TypeId kArray>
Status replace_element(Context context, Arguments a, Datum& out) {
  out = Datum();
  if (a[0].null) return {};
  ArrayWriter writer(kArray);
  ArrayReader reader(kArray, a[0]);
  for (Datum element; reader.next(element);)
    writer.add(are_equal(element_type(kArray), element, a[1]) ? a[2] : element);
  return finish_array(writer, context, out);
}

template <TypeId kArray>
Status positions_of(Context context, Arguments a, Datum& out) {
  out = Datum();
  if (a[0].null) return {};
  ArrayWriter writer(TypeId::int4_array);
  ArrayReader reader(kArray, a[0]);
  std::int64_t at = first_subscript(kArray);
  for (Datum element; reader.next(element); ++at) {
    if (are_equal(element_type(kArray), element, a[1])) writer.add(Datum::of_integer(at));
  }
  return finish_array(writer, context, out);
}

// The elements from one subscript to another.
template <TypeId kArray>
Status slice(Context context, Arguments a, Datum& out) {
  ArrayWriter writer(kArray);
  ArrayReader reader(kArray, a[0]);
  std::int64_t at = first_subscript(kArray);
  for (Datum element; at <= a[2].integer && reader.next(element); ++at) {
    if (at >= a[1].integer) writer.add(element);
  }
  return finish_array(writer, context, out);
}

template <TypeId kArray>
Status trim(Context context, Arguments a, Datum& out) {
  const std::int64_t size = array_size(kArray, a[0]);
  if (a[1].integer < 0 || a[1].integer > size) {
    return Status(ErrorCode::array_subscript_error,
                  "number of elements to trim must be between 0 and " + std::to_string(size));
  }
  ArrayWriter writer(kArray);
  ArrayReader reader(kArray, a[0]);
  Datum element;
  for (std::int64_t at = 0; at < size - a[1].integer && reader.next(element); ++at) writer.add(element);
  return finish_array(writer, context, out);
}

template <TypeId kArray>
Status dimension_count(Context, Arguments a, Datum& out) {
  out = a[0].text.empty() ? Datum() : Datum::of_integer(1);
  return {};
}

template <TypeId kArray>
Status dimensions(Context context, Arguments a, Datum& out) {
  out = Datum();
  if (a[0].text.empty()) return {};
  const std::int64_t first = first_subscript(kArray);
  const std::int64_t last = first + array_size(kArray, a[0]) - 1;
  out = Datum::of_text(context.arena->copy("[" + std::to_string(first) + ":" + std::to_string(last) + "]"));
  return {};
}

// The elements that are not NULL.
absl::flat_hash_set<std::string> set_of(TypeId type, const Datum& array) {
  absl::flat_hash_set<std::string> elements;
  ArrayReader reader(type, array);
  for (Datum element; reader.next(element);) {
    if (!element.null) elements.insert(equal_bytes_of(element_type(type), element));
  }
  return elements;
}

// Whether all elements of `inner` are in `outer`; a NULL is in none.
Status contains_all(TypeId type, const Datum& outer, const Datum& inner, Datum& out) {
  const absl::flat_hash_set<std::string> elements = set_of(type, outer);
  bool all = true;
  ArrayReader reader(type, inner);
  for (Datum element; all && reader.next(element);)
    all = !element.null && elements.contains(equal_bytes_of(element_type(type), element));
  out = Datum::of_boolean(all);
  return {};
}

template <TypeId kArray>
Status contains_array(Context, Arguments a, Datum& out) {
  return contains_all(kArray, a[0], a[1], out);
}

template <TypeId kArray>
Status contained_in_array(Context, Arguments a, Datum& out) {
  return contains_all(kArray, a[1], a[0], out);
}

template <TypeId kArray>
Status overlaps(Context, Arguments a, Datum& out) {
  const absl::flat_hash_set<std::string> elements = set_of(kArray, a[0]);
  bool any = false;
  ArrayReader reader(kArray, a[1]);
  for (Datum element; !any && reader.next(element);)
    any = !element.null && elements.contains(equal_bytes_of(element_type(kArray), element));
  out = Datum::of_boolean(any);
  return {};
}

void add_with_nulls(std::vector<Function>& functions, Function function) {
  function.nulls = true;
  functions.push_back(std::move(function));
}

template <TypeId kArray>
void add_set_functions(std::vector<Function>& functions) {
  using enum TypeId;
  const TypeId element = element_type(kArray);
  add_with_nulls(functions, {"array_append", {kArray, element}, kArray, append_element<kArray>});
  add_with_nulls(functions, {"array_prepend", {element, kArray}, kArray, prepend_element<kArray>});
  add_with_nulls(functions, {"array_cat", {kArray, kArray}, kArray, concatenate_arrays<kArray>});
  add_with_nulls(functions, {"array_remove", {kArray, element}, kArray, remove_element<kArray>});
  add_with_nulls(functions, {"array_replace", {kArray, element, element}, kArray, replace_element<kArray>});
  add_with_nulls(functions, {"array_positions", {kArray, element}, int4_array, positions_of<kArray>});
  functions.push_back({kSliceFunction, {kArray, int4, int4}, kArray, slice<kArray>});
  functions.push_back({"trim_array", {kArray, int4}, kArray, trim<kArray>});
  functions.push_back({"array_ndims", {kArray}, int4, dimension_count<kArray>});
  functions.push_back({"array_dims", {kArray}, text, dimensions<kArray>});
}

template <TypeId kArray>
void add_set_operators(std::vector<Function>& operators) {
  using enum TypeId;
  operators.push_back({"@>", {kArray, kArray}, boolean, contains_array<kArray>});
  operators.push_back({"<@", {kArray, kArray}, boolean, contained_in_array<kArray>});
  operators.push_back({"&&", {kArray, kArray}, boolean, overlaps<kArray>});
}

template <std::size_t... kIndexes>
void add_all_set_functions(std::vector<Function>& functions, std::index_sequence<kIndexes...>) {
  (add_set_functions<kSetArrays[kIndexes]>(functions), ...);
}

template <std::size_t... kIndexes>
void add_all_set_operators(std::vector<Function>& operators, std::index_sequence<kIndexes...>) {
  (add_set_operators<kSetArrays[kIndexes]>(operators), ...);
}

}  // namespace

std::span<const Function> array_set_functions() {
  static const std::vector<Function> functions = [] {
    std::vector<Function> all;
    add_all_set_functions(all, std::make_index_sequence<kSetArrays.size()>());
    return all;
  }();
  return functions;
}

std::span<const Function> array_set_operators() {
  static const std::vector<Function> operators = [] {
    std::vector<Function> all;
    add_all_set_operators(all, std::make_index_sequence<kSetArrays.size()>());
    return all;
  }();
  return operators;
}

}  // namespace namdb::sql
