// JSON text that is known to be well-formed, read in place: its values, and the parts of arrays and objects.
// Reading is linear in the bytes that are passed over, and does not recurse. A reader of several levels
// would pass over the inner ones again at each of them: JsonDocument knows where they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::sql {

// In the order in which jsonb compares values of different kinds.
enum class JsonKind : std::uint8_t { null, string, number, boolean, array, object };

class JsonDocument;

struct JsonValue {
  JsonKind kind = JsonKind::null;
  std::string_view text;                   // with the quotes of a string
  const JsonDocument* document = nullptr;  // that it is a part of; null: none
  bool is_container() const { return kind == JsonKind::array || kind == JsonKind::object; }
};

// The value at the text's beginning, behind blanks.
JsonValue json_value(std::string_view text);

// A text whose long arrays and objects have been found, in one pass. The text, and the document, outlive its
// values.
class JsonDocument {
 public:
  explicit JsonDocument(std::string_view text);
  // The value of the whole text.
  JsonValue value() const;

  struct Container {
    std::size_t begin = 0;  // in the text
    std::size_t length_bytes = 0;
    std::size_t items = 0;
  };
  // The long array or object that begins there; null: it is a short one.
  const Container* find(const char* begin) const;

 private:
  std::string_view text_;
  std::vector<Container> long_ones_;  // by their beginnings
};

struct JsonItem {
  std::string_view key;  // of an object: with its quotes
  JsonValue value;
};

// The elements of an array, or the members of an object, in their order.
class JsonItems {
 public:
  explicit JsonItems(const JsonValue& container)
      : is_object_(container.kind == JsonKind::object),
        rest_(container.text.substr(1)),
        document_(container.document) {}
  // False: there is none.
  bool next(JsonItem& item);
  // The bytes that have not been read.
  std::size_t rest_bytes() const { return rest_.size(); }

 private:
  void skip();
  bool is_object_;
  std::string_view rest_;
  const JsonDocument* document_;
};

std::size_t json_size(const JsonValue& container);
// How deep arrays and objects are in one another.
std::size_t json_depth(std::string_view text);

// The text of a string without its quotes and escapes. False: it has a character 0, which no text can have.
bool append_unescaped(std::string& out, std::string_view quoted);
// With quotes, and escapes as PostgreSQL writes them.
void append_json_string(std::string& out, std::string_view text);

}  // namespace namdb::sql
