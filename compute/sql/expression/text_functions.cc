// Functions of strings.
#include <algorithm>
#include <bitset>
#include <string_view>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

// Characters from `start` (1-based, may be before the text), at most `length` of them.
Status substring(std::string_view text, std::int64_t start, std::int64_t length, Datum& out) {
  if (length < 0) return Status(ErrorCode::invalid_substring, "negative substring length not allowed");
  std::int64_t end = 0;
  if (__builtin_add_overflow(start, length, &end)) end = INT64_MAX;
  const char* begin = nullptr;
  const char* stop = text.data();
  for (std::int64_t position = 1; !text.empty() && position < end; ++position) {
    const std::size_t bytes = character_bytes(text);
    if (position >= start) {
      if (begin == nullptr) begin = text.data();
      stop = text.data() + bytes;
    }
    text.remove_prefix(bytes);
  }
  out = Datum::of_text(begin == nullptr ? std::string_view()
                                        : std::string_view(begin, static_cast<std::size_t>(stop - begin)));
  return {};
}

constexpr std::uint32_t kCharacters = 0x110000;

// Below kCharacters, also for bytes that a procedure has stored and that are no UTF-8.
std::uint32_t code_point(std::string_view character) {
  if (character.size() == 1) return static_cast<unsigned char>(character[0]);
  std::uint32_t point = static_cast<unsigned char>(character[0]) & (0x7fU >> character.size());
  for (const char byte : character.substr(1)) point = point << 6 | (static_cast<unsigned char>(byte) & 0x3fU);
  return std::min(point, kCharacters - 1);
}

// One bit for each character of Unicode: a set of many is filled, and asked, in one step for each character.
class CharacterSet {
 public:
  explicit CharacterSet(std::string_view characters) {
    for (; !characters.empty(); characters.remove_prefix(character_bytes(characters))) {
      const std::string_view character = characters.substr(0, character_bytes(characters));
      if (character.size() == 1) {
        bytes_.set(static_cast<unsigned char>(character[0]));
      } else {
        longer_.resize(kCharacters);
        longer_[code_point(character)] = true;
      }
    }
  }
  bool contains(std::string_view character) const {
    return character.size() == 1 ? bytes_.test(static_cast<unsigned char>(character[0]))
                                 : !longer_.empty() && longer_[code_point(character)];
  }

 private:
  std::bitset<256> bytes_;
  std::vector<bool> longer_;  // empty where all have one byte
};

enum class Side : std::uint8_t { left, right, both };

// The text without the characters of the set at that side.
std::string_view trim(Side side, std::string_view text, std::string_view characters) {
  const CharacterSet set(characters);
  while (side != Side::right && !text.empty() && set.contains(text.substr(0, character_bytes(text))))
    text.remove_prefix(character_bytes(text));
  while (side != Side::left && !text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && !begins_character(text[last])) --last;
    if (!set.contains(text.substr(last))) break;
    text = text.substr(0, last);
  }
  return text;
}

template <char (*Convert)(char)>
Status map_ascii(Context context, Arguments a, Datum& out) {
  char* bytes = context.arena->allocate(a[0].text.size());
  for (std::size_t i = 0; i < a[0].text.size(); ++i) bytes[i] = Convert(a[0].text[i]);
  out = Datum::of_text({bytes, a[0].text.size()});
  return {};
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
}

Status length(Context, Arguments a, Datum& out) {
  out = Datum::of_integer(static_cast<std::int64_t>(character_count(a[0].text)));
  return {};
}

Status length_of_padded(Context, Arguments a, Datum& out) {
  out = Datum::of_integer(static_cast<std::int64_t>(character_count(without_trailing_blanks(a[0].text))));
  return {};
}

Status octet_length(Context, Arguments a, Datum& out) {
  out = Datum::of_integer(static_cast<std::int64_t>(a[0].text.size()));
  return {};
}

template <Side kSide>
Status trim_characters(Context, Arguments a, Datum& out) {
  out = Datum::of_text(trim(kSide, a[0].text, a[1].text));
  return {};
}
template <Side kSide>
Status trim_blanks(Context, Arguments a, Datum& out) {
  out = Datum::of_text(trim(kSide, a[0].text, " "));
  return {};
}

Status substring_from(Context, Arguments a, Datum& out) {
  return substring(a[0].text, a[1].integer, INT64_MAX, out);
}
Status substring_from_for(Context, Arguments a, Datum& out) {
  return substring(a[0].text, a[1].integer, a[2].integer, out);
}

}  // namespace

std::span<const Function> text_functions() {
  using enum TypeId;
  static const std::vector<Function> functions = {
      {"length", {text}, int4, length},
      // Trailing blanks of char(n) do not count as characters, but they do as bytes.
      {"length", {bpchar}, int4, length_of_padded},
      {"char_length", {bpchar}, int4, length_of_padded},
      {"char_length", {text}, int4, length},
      {"octet_length", {bpchar}, int4, octet_length},
      {"octet_length", {text}, int4, octet_length},
      {"lower", {text}, text, map_ascii<lower>},
      {"upper", {text}, text, map_ascii<upper>},
      {"substring", {text, int4}, text, substring_from},
      {"substring", {text, int4, int4}, text, substring_from_for},
      {"substring", {text, text}, text, kUnsupported},
      {"substring", {text, text, text}, text, kUnsupported},
      {"btrim", {text, text}, text, trim_characters<Side::both>},
      {"ltrim", {text, text}, text, trim_characters<Side::left>},
      {"rtrim", {text, text}, text, trim_characters<Side::right>},
      {"btrim", {text}, text, trim_blanks<Side::both>},
      {"ltrim", {text}, text, trim_blanks<Side::left>},
      {"rtrim", {text}, text, trim_blanks<Side::right>},
  };
  return functions;
}

}  // namespace namdb::sql
