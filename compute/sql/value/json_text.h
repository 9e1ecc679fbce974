// JSON text that is known to be well-formed, read in place: its values, and the parts of arrays and objects.
// Reading is linear in the bytes that are passed over, and does not recurse.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace namdb::sql {

// In the order in which jsonb compares values of different kinds.
enum class JsonKind : std::uint8_t { null, string, number, boolean, array, object };

struct JsonValue {
  JsonKind kind = JsonKind::null;
  std::string_view text;  // with the quotes of a string
  bool is_container() const { return kind == JsonKind::array || kind == JsonKind::object; }
};

// The value at the text's beginning, behind blanks.
JsonValue json_value(std::string_view text);

struct JsonItem {
  std::string_view key;  // of an object: with its quotes
  JsonValue value;
};

// The elements of an array, or the members of an object, in their order.
class JsonItems {
 public:
  explicit JsonItems(const JsonValue& container)
      : is_object_(container.kind == JsonKind::object), rest_(container.text.substr(1)) {}
  // False: there is none.
  bool next(JsonItem& item);
  // The bytes that have not been read.
  std::size_t rest_bytes() const { return rest_.size(); }

 private:
  void skip();
  bool is_object_;
  std::string_view rest_;
};

std::size_t json_size(const JsonValue& container);
// How deep arrays and objects are in one another.
std::size_t json_depth(std::string_view text);

// The text of a string without its quotes and escapes. False: it has a character 0, which no text can have.
bool append_unescaped(std::string& out, std::string_view quoted);
// With quotes, and escapes as PostgreSQL writes them.
void append_json_string(std::string& out, std::string_view text);

}  // namespace namdb::sql
