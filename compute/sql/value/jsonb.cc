#include "compute/sql/value/jsonb.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "compute/sql/value/json_fault.h"
#include "compute/sql/value/json_text.h"

namespace namdb::sql {
namespace {

// PostgreSQL's bounds of numeric.
constexpr std::int64_t kMaxWholeDigits = 131'072;
constexpr std::int64_t kMaxFractionDigits = 16'383;

Status too_long(std::size_t most_bytes) {
  return Status(ErrorCode::limit_exceeded,
                "a jsonb value can have at most " + std::to_string(most_bytes) + " bytes here");
}

Status too_deep() {
  return Status(ErrorCode::statement_too_complex, "a jsonb value can have at most " +
                                                      std::to_string(kMaxJsonDepth) +
                                                      " arrays and objects in one another");
}

// A number as numeric shows it: without an exponent. False: numeric has no such number.
bool append_number(std::string& out, std::string_view raw) {
  const bool negative = raw.starts_with('-');
  if (negative) raw.remove_prefix(1);
  const std::size_t e = std::min(raw.find_first_of("eE"), raw.size());
  std::string_view mantissa = raw.substr(0, e);
  std::int64_t exponent = 0;
  if (e < raw.size()) {
    std::string_view digits = raw.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc() || exponent > kMaxWholeDigits * 2 || exponent < -kMaxWholeDigits * 2)
      return false;
  }
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  if (point < mantissa.size()) digits += mantissa.substr(point + 1);
  const auto written_fraction = static_cast<std::int64_t>(digits.size() - point);
  const std::int64_t scale = std::max<std::int64_t>(written_fraction - exponent, 0);
  // So many digits are before the point; negative: zeros behind it.
  std::int64_t whole = static_cast<std::int64_t>(point) + exponent;
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, zeros);
  whole -= static_cast<std::int64_t>(zeros);
  if (scale > kMaxFractionDigits) return false;
  if (digits.empty()) {
    out += '0';
  } else {
    if (whole > kMaxWholeDigits) return false;
    if (negative) out += '-';
    if (whole <= 0) {
      out += '0';
      digits.insert(0, static_cast<std::size_t>(-whole), '0');
    } else {
      const std::size_t taken = std::min(digits.size(), static_cast<std::size_t>(whole));
      out += digits.substr(0, taken);
      out.append(static_cast<std::size_t>(whole) - taken, '0');
      digits.erase(0, taken);
    }
  }
  if (scale > 0) {
    digits.resize(static_cast<std::size_t>(scale), '0');
    out += '.';
    out += digits;
  }
  return true;
}

// Receives the parts of a document from the parser, and writes them in the normal form.
class Normalizer : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add("null"); }
  bool boolean(bool value) override { return add(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& raw) override {
    std::string text;
    if (!append_number(text, raw)) return out_of_range();
    return add(text);
  }
  bool string(string_t& value) override {
    std::string text;
    if (!append_string(text, value)) return false;
    return add(text);
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    std::string text;
    if (!append_string(text, value)) return false;
    key_ = arena_.copy(text);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    return status_.ok() && error.id == kNumberOverflow && out_of_range();
  }

  const Status& status() const { return status_; }
  Status write(std::string& out) {
    if (nodes_.empty()) return invalid_json({});
    write_node(0, out);
    if (out.size() <= kMaxJson_bytes) return {};
    return too_long(kMaxJson_bytes);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Node {
    std::string_view key;   // in quotes
    std::string_view text;  // of a scalar
    char open = 0;          // of a container: its bracket
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t next = kNone;
  };

  bool fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
    return false;
  }
  bool out_of_range() {
    return fail(Status(ErrorCode::numeric_out_of_range, "value overflows numeric format"));
  }
  bool append_string(std::string& out, const std::string& value) {
    if (value.find('\0') != std::string::npos)
      return fail(Status(ErrorCode::invalid_text, "unsupported Unicode escape sequence"));
    append_json_string(out, value);
    return true;
  }
  bool append(const Node& node) {
    if (nodes_.size() >= kMaxJsonValues) {
      return fail(Status(ErrorCode::limit_exceeded, "a jsonb value that is read can have at most " +
                                                        std::to_string(kMaxJsonValues) + " values"));
    }
    const auto index = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(node);
    nodes_.back().key = std::exchange(key_, {});
    if (!opened_.empty()) {
      Node& parent = nodes_[opened_.back()];
      (parent.last == kNone ? parent.first : nodes_[parent.last].next) = index;
      parent.last = index;
    }
    return true;
  }
  bool add(std::string_view text) {
    made_bytes_ += text.size();
    if (made_bytes_ > kMaxJson_bytes) return fail(too_long(kMaxJson_bytes));
    Node node;
    node.text = arena_.copy(text);
    return append(node);
  }
  bool open(bool object) {
    if (opened_.size() >= kMaxJsonDepth) return fail(too_deep());
    Node node;
    node.open = object ? '{' : '[';
    if (!append(node)) return false;
    opened_.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
    return true;
  }
  bool close() {
    opened_.pop_back();
    return true;
  }

  void write_node(std::uint32_t index, std::string& out) {
    const Node& node = nodes_[index];
    if (node.open == 0) {
      out += node.text;
    } else if (node.open == '[') {
      out += '[';
      for (std::uint32_t child = node.first; child != kNone; child = nodes_[child].next) {
        if (child != node.first) out += ", ";
        write_node(child, out);
      }
      out += ']';
    } else {
      write_object(node, out);
    }
  }
  void write_object(const Node& node, std::string& out) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t child = node.first; child != kNone; child = nodes_[child].next)
      members.push_back(child);
    // Nodes have their numbers in the order of the text.
    std::ranges::sort(members, [this](std::uint32_t left, std::uint32_t right) {
      const int order = compare_json_keys(nodes_[left].key, nodes_[right].key);
      return order != 0 ? order < 0 : left < right;
    });
    out += '{';
    bool first = true;
    for (std::size_t i = 0; i < members.size(); ++i) {
      // Of equal keys the last one counts.
      if (i + 1 < members.size() && nodes_[members[i]].key == nodes_[members[i + 1]].key) continue;
      if (!std::exchange(first, false)) out += ", ";
      out.append(nodes_[members[i]].key).append(": ");
      write_node(members[i], out);
    }
    out += '}';
  }

  Status status_;
  Arena arena_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> opened_;
  std::string_view key_;
  std::size_t made_bytes_ = 0;
};

// The bytes of a key without its quotes and escapes; `made` holds them where they are not in the text.
std::string_view key_bytes(std::string_view quoted, std::string& made) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside;
  append_unescaped(made, quoted);
  return made;
}

int sign_of(int order) {
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

int compare_sizes(std::size_t left, std::size_t right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

int compare_values_of(const JsonValue& left, const JsonValue& right, bool outermost);

int compare_containers(const JsonValue& left, const JsonValue& right) {
  if (const int order = compare_sizes(json_size(left), json_size(right)); order != 0) return order;
  JsonItems left_items(left);
  JsonItems right_items(right);
  JsonItem a;
  JsonItem b;
  while (left_items.next(a) && right_items.next(b)) {
    if (left.kind == JsonKind::object && a.key != b.key) {
      std::string made_a;
      std::string made_b;
      return sign_of(key_bytes(a.key, made_a).compare(key_bytes(b.key, made_b)));
    }
    if (const int order = compare_values_of(a.value, b.value, false); order != 0) return order;
  }
  return 0;
}

int compare_values_of(const JsonValue& left, const JsonValue& right, bool outermost) {
  if (outermost && left.kind != right.kind) {
    // PostgreSQL compares a scalar as an array of one element: an empty array is less.
    if (left.kind == JsonKind::array && !right.is_container()) return json_size(left) == 0 ? -1 : 1;
    if (right.kind == JsonKind::array && !left.is_container()) return json_size(right) == 0 ? 1 : -1;
  }
  if (left.kind != right.kind) return left.kind < right.kind ? -1 : 1;
  switch (left.kind) {
    case JsonKind::null:
      return 0;
    case JsonKind::boolean:
      return compare_sizes(left.text == "true" ? 1 : 0, right.text == "true" ? 1 : 0);
    case JsonKind::number:
      return compare_json_numbers(left.text, right.text);
    case JsonKind::string: {
      std::string made_left;
      std::string made_right;
      return sign_of(key_bytes(left.text, made_left).compare(key_bytes(right.text, made_right)));
    }
    default:
      return compare_containers(left, right);
  }
}

}  // namespace

Status parse_jsonb(std::string_view text, Arena& arena, Datum& out) {
  if (text.size() > kMaxJson_bytes) return too_long(kMaxJson_bytes);
  Normalizer normalizer;
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &normalizer);
  if (!normalizer.status().ok()) return normalizer.status();
  if (!parsed) return invalid_json(text);
  std::string normal;
  if (Status status = normalizer.write(normal); !status.ok()) return status;
  out = Datum::of_text(arena.copy(normal));
  return {};
}

Status finish_jsonb(std::string_view text, Arena& arena, Datum& out) {
  if (text.size() > kMaxMadeJson_bytes) return too_long(kMaxMadeJson_bytes);
  if (json_depth(text) > kMaxJsonDepth) return too_deep();
  out = Datum::of_text(arena.copy(text));
  return {};
}

int compare_json_keys(std::string_view left, std::string_view right) {
  std::string made_left;
  std::string made_right;
  const std::string_view a = key_bytes(left, made_left);
  const std::string_view b = key_bytes(right, made_right);
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return sign_of(a.compare(b));
}

int compare_json_numbers(std::string_view left, std::string_view right) {
  const bool negative = left.starts_with('-');
  if (negative != right.starts_with('-')) return negative ? -1 : 1;
  if (negative) {
    left.remove_prefix(1);
    right.remove_prefix(1);
    std::swap(left, right);
  }
  const std::size_t left_point = std::min(left.find('.'), left.size());
  const std::size_t right_point = std::min(right.find('.'), right.size());
  if (left_point != right_point) return left_point < right_point ? -1 : 1;
  const std::size_t both = std::min(left.size(), right.size());
  if (const int order = left.substr(0, both).compare(right.substr(0, both)); order != 0)
    return sign_of(order);
  const bool left_more = left.find_first_not_of(".0", both) != std::string_view::npos;
  const bool right_more = right.find_first_not_of(".0", both) != std::string_view::npos;
  return static_cast<int>(left_more) - static_cast<int>(right_more);
}

int compare_jsonb(std::string_view left, std::string_view right) {
  const JsonDocument left_document(left);
  const JsonDocument right_document(right);
  return compare_values_of(left_document.value(), right_document.value(), true);
}

// Numbers lose the zeros at their ends.
void append_equal_jsonb(std::string& bytes, std::string_view value) {
  for (std::size_t at = 0; at < value.size();) {
    const char c = value[at];
    if (c == '"') {
      std::size_t end = at + 1;
      while (end < value.size() && value[end] != '"') end += value[end] == '\\' ? 2 : 1;
      bytes += value.substr(at, end + 1 - at);
      at = end + 1;
      continue;
    }
    const std::size_t end = std::min(value.find_first_not_of("0123456789.-", at), value.size());
    if (end == at) {
      bytes += c;
      ++at;
      continue;
    }
    std::string_view number = value.substr(at, end - at);
    if (number.find('.') != std::string_view::npos) {
      while (number.ends_with('0')) number.remove_suffix(1);
      if (number.ends_with('.')) number.remove_suffix(1);
    }
    bytes += number;
    at = end;
  }
  // So that the next bytes are not taken for a part of it.
  bytes += '\0';
}

}  // namespace namdb::sql
