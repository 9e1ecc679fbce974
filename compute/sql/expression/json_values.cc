#include "compute/sql/expression/json_values.h"

#include <absl/container/flat_hash_set.h>

#include <charconv>
#include <cmath>

#include "compute/sql/value/array.h"
#include "compute/sql/value/jsonb.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

bool is_key(std::string_view quoted, std::string_view key) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside == key;
  std::string plain;
  return append_unescaped(plain, quoted) && plain == key;
}

std::optional<std::int64_t> index_of(std::string_view text) {
  std::int64_t index = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || stop != text.data() + text.size() || text.empty() ||
      index != static_cast<std::int32_t>(index))
    return std::nullopt;
  return index;
}

std::string number_text(TypeId type, const Datum& value) {
  std::string text;
  append_text(text, {type}, value);
  return text;
}

// Dates and times as ISO 8601 wants them: with T, and whole offsets.
std::string time_text(TypeId type, const Datum& value, const absl::TimeZone& zone) {
  std::string text;
  append_text(text, {type}, value, zone);
  if (type == TypeId::date || text.find("infinity") != std::string::npos) return text;
  const std::size_t blank = text.find(' ');
  if (blank != std::string::npos) text[blank] = 'T';
  if (type != TypeId::timestamptz) return text;
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::size_t sign = text.find_last_of("+-", end);
  if (text.find(':', sign) == std::string::npos) text.insert(end, ":00");
  return text;
}

// The steps of a search that compares all with all.
class Steps {
 public:
  bool take(std::size_t bytes) {
    taken_ += bytes + 1;
    return taken_ <= kMost;
  }

 private:
  static constexpr std::size_t kMost = 16 << 20;
  std::size_t taken_ = 0;
};

std::string equal_form(const JsonValue& value) {
  std::string form;
  append_equal_jsonb(form, value.text);
  return form;
}

enum class Found : std::uint8_t { no, yes, too_long };

Found contains_value(const JsonValue& left, const JsonValue& right, Steps& steps);

Found array_contains(const JsonValue& left, const JsonValue& right, Steps& steps) {
  absl::flat_hash_set<std::string> scalars;
  std::vector<JsonValue> containers;
  JsonItem item;
  for (JsonItems items(left); items.next(item);) {
    if (item.value.is_container()) {
      containers.push_back(item.value);
    } else {
      scalars.insert(equal_form(item.value));
    }
  }
  for (JsonItems items(right); items.next(item);) {
    if (!item.value.is_container()) {
      if (!scalars.contains(equal_form(item.value))) return Found::no;
      continue;
    }
    Found found = Found::no;
    for (const JsonValue& container : containers) {
      if (container.kind != item.value.kind) continue;
      found = contains_value(container, item.value, steps);
      if (found != Found::no) break;
    }
    if (found != Found::yes) return found;
  }
  return Found::yes;
}

// Both are sorted by their keys.
Found object_contains(const JsonValue& left, const JsonValue& right, Steps& steps) {
  JsonItems left_items(left);
  JsonItem own;
  bool has_own = left_items.next(own);
  JsonItem wanted;
  for (JsonItems items(right); items.next(wanted);) {
    while (has_own && compare_json_keys(own.key, wanted.key) < 0) has_own = left_items.next(own);
    if (!has_own || own.key != wanted.key || own.value.kind != wanted.value.kind) return Found::no;
    const Found found = contains_value(own.value, wanted.value, steps);
    if (found != Found::yes) return found;
  }
  return Found::yes;
}

Found contains_value(const JsonValue& left, const JsonValue& right, Steps& steps) {
  if (!steps.take(left.text.size() + right.text.size())) return Found::too_long;
  if (left.kind != right.kind) return Found::no;
  if (left.kind == JsonKind::object) return object_contains(left, right, steps);
  if (left.kind == JsonKind::array) return array_contains(left, right, steps);
  return equal_form(left) == equal_form(right) ? Found::yes : Found::no;
}

}  // namespace

std::optional<JsonValue> json_member(const JsonValue& object, std::string_view key) {
  if (object.kind != JsonKind::object) return std::nullopt;
  std::optional<JsonValue> found;
  JsonItem item;
  for (JsonItems items(object); items.next(item);) {
    if (is_key(item.key, key)) found = item.value;
  }
  return found;
}

std::optional<JsonValue> json_element(const JsonValue& array, std::int64_t index) {
  if (array.kind != JsonKind::array) return std::nullopt;
  if (index < 0) index += static_cast<std::int64_t>(json_size(array));
  JsonItem item;
  JsonItems items(array);
  for (; index >= 0 && items.next(item); --index) {
    if (index == 0) return item.value;
  }
  return std::nullopt;
}

Status json_at_path(std::string_view json, const Datum& path, std::optional<JsonValue>& out) {
  const JsonDocument document(json);
  out = document.value();
  ArrayReader steps(TypeId::text_array, path);
  for (Datum step; out && steps.next(step);) {
    if (step.null) {
      out = std::nullopt;
    } else if (out->kind == JsonKind::object) {
      out = json_member(*out, step.text);
    } else {
      const std::optional<std::int64_t> index = index_of(step.text);
      out = index ? json_element(*out, *index) : std::nullopt;
    }
  }
  if (out) out->document = nullptr;
  return {};
}

Status json_result(const std::optional<JsonValue>& value, bool as_text, Arena& arena, Datum& out) {
  out = Datum();
  if (!value || (as_text && value->kind == JsonKind::null)) return {};
  if (!as_text || value->kind != JsonKind::string) {
    out = Datum::of_text(arena.copy(value->text));
    return {};
  }
  std::string text;
  if (!append_unescaped(text, value->text))
    return Status(ErrorCode::invalid_text, "unsupported Unicode escape sequence");
  out = Datum::of_text(arena.copy(text));
  return {};
}

void append_json(std::string& out, TypeId type, const Datum& value, const absl::TimeZone& zone) {
  if (Type{type}.is_array()) {
    out += '[';
    ArrayReader reader(type, value);
    bool first = true;
    for (Datum element; reader.next(element); first = false) {
      if (!first) out += ',';
      if (element.null) {
        out += "null";
      } else {
        append_json(out, element_type(type), element, zone);
      }
    }
    out += ']';
    return;
  }
  switch (Type{type}.type_class()) {
    case TypeClass::boolean:
      out += value.is_true() ? "true" : "false";
      return;
    case TypeClass::real:
      if (!std::isfinite(value.real)) {
        append_json_string(out, number_text(type, value));
        return;
      }
      out += number_text(type, value);
      return;
    case TypeClass::integer:
    case TypeClass::numeric:
      out += number_text(type, value);
      return;
    case TypeClass::jsonb:
      out += value.text;
      return;
    case TypeClass::time:
      append_json_string(out, time_text(type, value, zone));
      return;
    default:
      if (type == TypeId::json) {
        out += value.text;
      } else {
        append_json_string(out, number_text(type, value));
      }
  }
}

Status json_contains(std::string_view left_text, std::string_view right_text, bool& contains) {
  const JsonDocument left_document(left_text);
  const JsonDocument right_document(right_text);
  const JsonValue left = left_document.value();
  const JsonValue right = right_document.value();
  Steps steps;
  Found found = Found::no;
  if (left.kind == JsonKind::array && !right.is_container()) {
    // An array contains a scalar that is one of its elements.
    JsonItem item;
    const std::string wanted = equal_form(right);
    for (JsonItems items(left); found == Found::no && items.next(item);) {
      if (!item.value.is_container() && equal_form(item.value) == wanted) found = Found::yes;
    }
  } else {
    found = contains_value(left, right, steps);
  }
  if (found == Found::too_long) {
    return Status(ErrorCode::limit_exceeded, "a comparison of jsonb values by @> takes too many steps");
  }
  contains = found == Found::yes;
  return {};
}

}  // namespace namdb::sql
