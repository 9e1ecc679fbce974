// Values of jsonb that are made of others.
#include <absl/container/flat_hash_set.h>

#include <charconv>
#include <utility>

#include "compute/sql/expression/json_values.h"
#include "compute/sql/expression/work.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/jsonb.h"

namespace namdb::sql {
namespace {

// Writes an array or an object of items that come in their order.
class ContainerWriter {
 public:
  ContainerWriter(std::string& out, JsonKind kind) : out_(out), is_object_(kind == JsonKind::object) {
    out_ += is_object_ ? '{' : '[';
  }
  // Its key and the place for its value.
  void begin(std::string_view key) {
    if (!std::exchange(first_, false)) out_ += ", ";
    if (is_object_) out_.append(key).append(": ");
  }
  void add(std::string_view key, std::string_view value) {
    begin(key);
    out_ += value;
  }
  void finish() { out_ += is_object_ ? '}' : ']'; }

 private:
  std::string& out_;
  bool is_object_;
  bool first_ = true;
};

std::string merged_objects(const JsonValue& left, const JsonValue& right) {
  std::string out;
  ContainerWriter writer(out, JsonKind::object);
  JsonItems left_items(left);
  JsonItems right_items(right);
  JsonItem a;
  JsonItem b;
  bool has_a = left_items.next(a);
  bool has_b = right_items.next(b);
  while (has_a || has_b) {
    const int order = !has_a ? 1 : !has_b ? -1 : compare_json_keys(a.key, b.key);
    // Of equal keys the right one counts.
    if (order < 0) writer.add(a.key, a.value.text);
    if (order >= 0) writer.add(b.key, b.value.text);
    if (order <= 0) has_a = left_items.next(a);
    if (order >= 0) has_b = right_items.next(b);
  }
  writer.finish();
  return out;
}

void add_elements(ContainerWriter& writer, const JsonValue& value) {
  if (value.kind != JsonKind::array) {
    writer.add({}, value.text);
    return;
  }
  JsonItem item;
  for (JsonItems items(value); items.next(item);) writer.add({}, item.value.text);
}

Status invalid(std::string message) {
  return Status(ErrorCode::invalid_parameter_value, std::move(message));
}

// Sets, or deletes, what a path leads to.
class PathWriter {
 public:
  PathWriter(const Datum& path, const std::string_view* value, bool created)
      : value_(value), created_(created) {
    ArrayReader reader(TypeId::text_array, path);
    for (Datum step; reader.next(step);) steps_.push_back(step);
  }
  bool empty() const { return steps_.empty(); }

  Status write(const JsonValue& container, std::size_t level, std::string& out) {
    const Datum& step = steps_[level];
    if (step.null) {
      return Status(ErrorCode::null_not_allowed,
                    "path element at position " + std::to_string(level + 1) + " is null");
    }
    if (container.kind == JsonKind::object) return write_object(container, level, out);
    return write_array(container, level, out);
  }

 private:
  bool is_last(std::size_t level) const { return level + 1 == steps_.size(); }

  // The item that the step names.
  Status write_found(const JsonItem& item, std::size_t level, ContainerWriter& writer, std::string& out) {
    if (is_last(level)) {
      if (value_ != nullptr) writer.add(item.key, *value_);
      return {};
    }
    writer.begin(item.key);
    if (item.value.is_container()) return write(item.value, level + 1, out);
    out += item.value.text;
    return {};
  }

  Status write_object(const JsonValue& object, std::size_t level, std::string& out) {
    std::string key;
    append_json_string(key, steps_[level].text);
    ContainerWriter writer(out, JsonKind::object);
    bool done = false;
    const auto create = [&] {
      if (!std::exchange(done, true) && is_last(level) && created_ && value_ != nullptr)
        writer.add(key, *value_);
    };
    JsonItem item;
    for (JsonItems items(object); items.next(item);) {
      const int order = compare_json_keys(item.key, key);
      if (order == 0) {
        done = true;
        if (Status status = write_found(item, level, writer, out); !status.ok()) return status;
        continue;
      }
      if (order > 0) create();
      writer.add(item.key, item.value.text);
    }
    create();
    writer.finish();
    return {};
  }

  Status write_array(const JsonValue& array, std::size_t level, std::string& out) {
    const std::string_view text = steps_[level].text;
    std::int32_t index = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc() || stop != text.data() + text.size()) {
      return Status(ErrorCode::invalid_text, "path element at position " + std::to_string(level + 1) +
                                                 " is not an integer: \"" + std::string(text) + "\"");
    }
    const auto size = static_cast<std::int64_t>(json_size(array));
    const std::int64_t position = index < 0 ? size + index : index;
    const bool adds = is_last(level) && created_ && value_ != nullptr;
    ContainerWriter writer(out, JsonKind::array);
    if (position < 0 && adds) writer.add({}, *value_);
    JsonItem item;
    std::int64_t at = 0;
    for (JsonItems items(array); items.next(item); ++at) {
      if (at != position) {
        writer.add({}, item.value.text);
      } else if (Status status = write_found(item, level, writer, out); !status.ok()) {
        return status;
      }
    }
    if (position >= size && adds) writer.add({}, *value_);
    writer.finish();
    return {};
  }

  std::vector<Datum> steps_;
  const std::string_view* value_;
  bool created_;
};

// One that has become too long is refused by the caller.
void write_pretty(const JsonValue& value, std::size_t depth, std::string& out) {
  constexpr std::size_t kIndent = 4;
  if (out.size() > kMaxText_bytes) return;
  if (!value.is_container()) {
    out += value.text;
    return;
  }
  const bool is_object = value.kind == JsonKind::object;
  out += is_object ? '{' : '[';
  JsonItem item;
  bool first = true;
  for (JsonItems items(value); items.next(item); first = false) {
    out += first ? "\n" : ",\n";
    out.append((depth + 1) * kIndent, ' ');
    if (is_object) out.append(item.key).append(": ");
    write_pretty(item.value, depth + 1, out);
  }
  out += '\n';
  out.append(depth * kIndent, ' ');
  out += is_object ? '}' : ']';
}

void write_without_nulls(const JsonValue& value, std::string& out) {
  if (out.size() > kMaxText_bytes) return;
  if (!value.is_container()) {
    out += value.text;
    return;
  }
  ContainerWriter writer(out, value.kind);
  JsonItem item;
  for (JsonItems items(value); items.next(item);) {
    if (value.kind == JsonKind::object && item.value.kind == JsonKind::null) continue;
    writer.begin(item.key);
    write_without_nulls(item.value, out);
  }
  writer.finish();
}

}  // namespace

std::string json_concatenated(std::string_view left_text, std::string_view right_text) {
  const JsonValue left = json_value(left_text);
  const JsonValue right = json_value(right_text);
  if (left.kind == JsonKind::object && right.kind == JsonKind::object) return merged_objects(left, right);
  std::string out;
  ContainerWriter writer(out, JsonKind::array);
  add_elements(writer, left);
  add_elements(writer, right);
  writer.finish();
  return out;
}

Status json_without(std::string_view json, const Datum& keys, bool several, std::string& out) {
  const JsonValue value = json_value(json);
  if (!value.is_container()) return invalid("cannot delete from scalar");
  absl::flat_hash_set<std::string> unwanted;
  const auto add = [&unwanted](std::string_view key) {
    std::string quoted;
    append_json_string(quoted, key);
    unwanted.insert(std::move(quoted));
  };
  if (several) {
    ArrayReader reader(TypeId::text_array, keys);
    for (Datum key; reader.next(key);) {
      if (!key.null) add(key.text);
    }
  } else {
    add(keys.text);
  }
  ContainerWriter writer(out, value.kind);
  JsonItem item;
  for (JsonItems items(value); items.next(item);) {
    const std::string_view name = value.kind == JsonKind::object ? item.key : item.value.text;
    if (!unwanted.contains(std::string(name))) writer.add(item.key, item.value.text);
  }
  writer.finish();
  return {};
}

Status json_without_index(std::string_view json, std::int64_t index, std::string& out) {
  const JsonValue value = json_value(json);
  if (!value.is_container()) return invalid("cannot delete from scalar");
  if (value.kind == JsonKind::object) return invalid("cannot delete from object using integer index");
  if (index < 0) index += static_cast<std::int64_t>(json_size(value));
  ContainerWriter writer(out, JsonKind::array);
  JsonItem item;
  for (JsonItems items(value); items.next(item); --index) {
    if (index != 0) writer.add({}, item.value.text);
  }
  writer.finish();
  return {};
}

Status json_with_path(std::string_view json, const Datum& path, const std::string_view* value, bool created,
                      std::string& out) {
  const JsonDocument document(json);
  const JsonValue whole = document.value();
  if (!whole.is_container())
    return invalid(value == nullptr ? "cannot delete path in scalar" : "cannot set path in scalar");
  PathWriter writer(path, value, created);
  const bool nothing_to_find = json_size(whole) == 0 && (value == nullptr || !created);
  if (writer.empty() || nothing_to_find) {
    out = json;
    return {};
  }
  return writer.write(whole, 0, out);
}

std::string json_pretty(std::string_view json) {
  std::string out;
  write_pretty(JsonDocument(json).value(), 0, out);
  return out;
}

std::string json_without_nulls(std::string_view json) {
  std::string out;
  write_without_nulls(JsonDocument(json).value(), out);
  return out;
}

}  // namespace namdb::sql
