// Functions and operators of json and jsonb.
#include <absl/container/flat_hash_set.h>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/json_values.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/jsonb.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

// Beside the arguments' own bytes, which the call counts.
Status finish(Context context, std::string_view text, Datum& out) {
  context.work->charge_bytes(text.size());
  return finish_jsonb(text, *context.arena, out);
}

// How the part of a value is given.
enum class Shown : std::uint8_t { json, text };

template <Shown kShown>
Status member(Context context, Arguments a, Datum& out) {
  return json_result(json_member(json_value(a[0].text), a[1].text), kShown == Shown::text, *context.arena,
                     out);
}

template <Shown kShown>
Status element(Context context, Arguments a, Datum& out) {
  return json_result(json_element(json_value(a[0].text), a[1].integer), kShown == Shown::text, *context.arena,
                     out);
}

// A scalar of jsonb is an array of one element here.
template <Shown kShown>
Status jsonb_element(Context context, Arguments a, Datum& out) {
  const JsonValue value = json_value(a[0].text);
  if (value.is_container()) return element<kShown>(context, a, out);
  const bool is_first = a[1].integer == 0 || a[1].integer == -1;
  return json_result(is_first ? std::optional(value) : std::nullopt, kShown == Shown::text, *context.arena,
                     out);
}

template <Shown kShown>
Status at_path(Context context, Arguments a, Datum& out) {
  std::optional<JsonValue> value;
  Status status = json_at_path(a[0].text, a[1], value);
  context.work->charge_bytes(a[0].text.size());
  return status.ok() ? json_result(value, kShown == Shown::text, *context.arena, out) : status;
}

Status contains(Context, Arguments a, Datum& out) {
  bool found = false;
  Status status = json_contains(a[0].text, a[1].text, found);
  out = Datum::of_boolean(found);
  return status;
}

Status is_contained(Context, Arguments a, Datum& out) {
  bool found = false;
  Status status = json_contains(a[1].text, a[0].text, found);
  out = Datum::of_boolean(found);
  return status;
}

// Whether each of the names that are not NULL, or one of them, is a key or a string of the value.
bool has_names(std::string_view json, const std::vector<std::string>& names, bool all) {
  const JsonValue value = json_value(json);
  absl::flat_hash_set<std::string_view> own;
  if (value.is_container()) {
    JsonItem item;
    for (JsonItems items(value); items.next(item);)
      own.insert(value.kind == JsonKind::object ? item.key : item.value.text);
  } else {
    own.insert(value.text);
  }
  for (const std::string& name : names) {
    if (own.contains(name) != all) return !all;
  }
  return all;
}

std::string quoted_name(const Datum& name) {
  std::string text;
  append_json_string(text, name.text);
  return text;
}

Status has_name(Context, Arguments a, Datum& out) {
  out = Datum::of_boolean(has_names(a[0].text, {quoted_name(a[1])}, true));
  return {};
}

template <bool kAll>
Status has_some(Context, Arguments a, Datum& out) {
  std::vector<std::string> names;
  ArrayReader reader(TypeId::text_array, a[1]);
  for (Datum name; reader.next(name);) {
    if (!name.null) names.push_back(quoted_name(name));
  }
  out = Datum::of_boolean(has_names(a[0].text, names, kAll));
  return {};
}

Status concatenate(Context context, Arguments a, Datum& out) {
  return finish(context, json_concatenated(a[0].text, a[1].text), out);
}

template <bool kSeveral>
Status without_names(Context context, Arguments a, Datum& out) {
  std::string text;
  Status status = json_without(a[0].text, a[1], kSeveral, text);
  return status.ok() ? finish(context, text, out) : status;
}

Status without_index(Context context, Arguments a, Datum& out) {
  std::string text;
  Status status = json_without_index(a[0].text, a[1].integer, text);
  return status.ok() ? finish(context, text, out) : status;
}

Status without_path(Context context, Arguments a, Datum& out) {
  std::string text;
  Status status = json_with_path(a[0].text, a[1], nullptr, false, text);
  return status.ok() ? finish(context, text, out) : status;
}

Status set(Context context, Arguments a, Datum& out) {
  std::string text;
  const bool created = a.size() < 4 || a[3].is_true();
  Status status = json_with_path(a[0].text, a[1], &a[2].text, created, text);
  return status.ok() ? finish(context, text, out) : status;
}

Status type_of(Context, Arguments a, Datum& out) {
  constexpr std::array<std::string_view, 6> kNames = {"null",    "string", "number",
                                                      "boolean", "array",  "object"};
  out = Datum::of_text(kNames[static_cast<std::size_t>(json_value(a[0].text).kind)]);
  return {};
}

Status array_length(Context, Arguments a, Datum& out) {
  const JsonValue value = json_value(a[0].text);
  if (value.kind != JsonKind::array) {
    return Status(ErrorCode::invalid_parameter_value,
                  std::string("cannot get array length of a ") +
                      (value.kind == JsonKind::object ? "non-array" : "scalar"));
  }
  out = Datum::of_integer(static_cast<std::int64_t>(json_size(value)));
  return {};
}

Status pretty(Context context, Arguments a, Datum& out) {
  const std::string text = json_pretty(a[0].text);
  context.work->charge_bytes(text.size());
  if (Status status = check_text_bytes(text.size()); !status.ok()) return status;
  out = Datum::of_text(context.arena->copy(text));
  return {};
}

Status strip_nulls(Context context, Arguments a, Datum& out) {
  return finish(context, json_without_nulls(a[0].text), out);
}

template <TypeId kType>
Status to_json(Context context, Arguments a, Datum& out) {
  std::string text;
  append_json(text, kType, a[0], context.time().zone);
  context.work->charge_bytes(text.size());
  if (Status status = check_text_bytes(text.size()); !status.ok()) return status;
  out = Datum::of_text(context.arena->copy(text));
  return {};
}

template <TypeId kType>
Status to_jsonb(Context context, Arguments a, Datum& out) {
  std::string text;
  append_json(text, kType, a[0], context.time().zone);
  context.work->charge_bytes(text.size());
  return parse_jsonb(text, *context.arena, out);
}

// All types but those of the catalog.
constexpr auto kTypes = std::to_array<TypeId>({TypeId::boolean,
                                               TypeId::int2,
                                               TypeId::int4,
                                               TypeId::int8,
                                               TypeId::float4,
                                               TypeId::float8,
                                               TypeId::numeric,
                                               TypeId::text,
                                               TypeId::varchar,
                                               TypeId::bpchar,
                                               TypeId::timestamp,
                                               TypeId::timestamptz,
                                               TypeId::date,
                                               TypeId::time,
                                               TypeId::timetz,
                                               TypeId::interval,
                                               TypeId::uuid,
                                               TypeId::bytea,
                                               TypeId::json,
                                               TypeId::jsonb,
                                               TypeId::name,
                                               TypeId::boolean_array,
                                               TypeId::int2_array,
                                               TypeId::int4_array,
                                               TypeId::int8_array,
                                               TypeId::float4_array,
                                               TypeId::float8_array,
                                               TypeId::numeric_array,
                                               TypeId::text_array,
                                               TypeId::varchar_array,
                                               TypeId::timestamp_array,
                                               TypeId::timestamptz_array,
                                               TypeId::date_array,
                                               TypeId::time_array,
                                               TypeId::timetz_array,
                                               TypeId::interval_array,
                                               TypeId::uuid_array,
                                               TypeId::json_array,
                                               TypeId::jsonb_array});

template <std::size_t... kIndexes>
void add_conversions(std::vector<Function>& functions, std::index_sequence<kIndexes...>) {
  (functions.push_back({"to_json", {kTypes[kIndexes]}, TypeId::json, to_json<kTypes[kIndexes]>}), ...);
  (functions.push_back({"to_jsonb", {kTypes[kIndexes]}, TypeId::jsonb, to_jsonb<kTypes[kIndexes]>}), ...);
}

template <TypeId kJson>
void add_accessors(std::vector<Function>& operators) {
  using enum TypeId;
  constexpr bool kIsJsonb = kJson == jsonb;
  operators.push_back({"->", {kJson, text}, kJson, member<Shown::json>});
  operators.push_back(
      {"->", {kJson, int4}, kJson, kIsJsonb ? jsonb_element<Shown::json> : element<Shown::json>});
  operators.push_back({"->>", {kJson, text}, text, member<Shown::text>});
  operators.push_back(
      {"->>", {kJson, int4}, text, kIsJsonb ? jsonb_element<Shown::text> : element<Shown::text>});
  operators.push_back({"#>", {kJson, text_array}, kJson, at_path<Shown::json>});
  operators.push_back({"#>>", {kJson, text_array}, text, at_path<Shown::text>});
}

}  // namespace

std::span<const Function> json_operators() {
  using enum TypeId;
  static const std::vector<Function> operators = [] {
    std::vector<Function> all;
    add_accessors<json>(all);
    add_accessors<jsonb>(all);
    all.push_back({"@>", {jsonb, jsonb}, boolean, contains});
    all.push_back({"<@", {jsonb, jsonb}, boolean, is_contained});
    all.push_back({"?", {jsonb, text}, boolean, has_name});
    all.push_back({"?|", {jsonb, text_array}, boolean, has_some<false>});
    all.push_back({"?&", {jsonb, text_array}, boolean, has_some<true>});
    all.push_back({"||", {jsonb, jsonb}, jsonb, concatenate});
    all.push_back({"-", {jsonb, text}, jsonb, without_names<false>});
    all.push_back({"-", {jsonb, int4}, jsonb, without_index});
    all.push_back({"-", {jsonb, text_array}, jsonb, without_names<true>});
    all.push_back({"#-", {jsonb, text_array}, jsonb, without_path});
    return all;
  }();
  return operators;
}

std::span<const Function> json_functions() {
  using enum TypeId;
  static const std::vector<Function> functions = [] {
    std::vector<Function> all;
    add_conversions(all, std::make_index_sequence<kTypes.size()>());
    all.push_back({"json_typeof", {json}, text, type_of});
    all.push_back({"jsonb_typeof", {jsonb}, text, type_of});
    all.push_back({"json_array_length", {json}, int4, array_length});
    all.push_back({"jsonb_array_length", {jsonb}, int4, array_length});
    all.push_back({"json_extract_path", {json, text_array}, json, at_path<Shown::json>});
    all.push_back({"json_extract_path_text", {json, text_array}, text, at_path<Shown::text>});
    all.push_back({"jsonb_extract_path", {jsonb, text_array}, jsonb, at_path<Shown::json>});
    all.push_back({"jsonb_extract_path_text", {jsonb, text_array}, text, at_path<Shown::text>});
    all.push_back({"jsonb_set", {jsonb, text_array, jsonb}, jsonb, set});
    all.push_back({"jsonb_set", {jsonb, text_array, jsonb, boolean}, jsonb, set});
    all.push_back({"jsonb_pretty", {jsonb}, text, pretty});
    all.push_back({"jsonb_strip_nulls", {jsonb}, jsonb, strip_nulls});
    return all;
  }();
  return functions;
}

}  // namespace namdb::sql
