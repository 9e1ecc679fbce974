// Functions of strings.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/text_search.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/value_format.h"

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

// Below kCharacters, also for bytes that a procedure has stored and that are not UTF-8.
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

// A pattern of LIKE whose escape character is another one than the backslash, with backslashes.
Status like_escape(Context context, Arguments a, Datum& out) {
  const std::string_view escape = a[1].text;
  if (character_count(escape) > 1)
    return Status(ErrorCode::invalid_escape_sequence, "invalid escape string",
                  "Escape string must be empty or one character.");
  std::string pattern;
  for (std::string_view rest = a[0].text; !rest.empty();) {
    if (!escape.empty() && rest.starts_with(escape)) {
      rest.remove_prefix(escape.size());
      pattern += '\\';
      if (rest.empty()) break;
      const std::size_t bytes = character_bytes(rest);
      pattern += rest.substr(0, bytes);
      rest.remove_prefix(bytes);
      continue;
    }
    if (rest.front() == '\\') pattern += '\\';
    pattern += rest.front();
    rest.remove_prefix(1);
  }
  out = Datum::of_text(context.arena->copy(pattern));
  return {};
}

Status strpos(Context, Arguments a, Datum& out) {
  const std::size_t at = find_text(a[0].text, a[1].text);
  out = Datum::of_integer(at == std::string_view::npos
                              ? 0
                              : static_cast<std::int64_t>(character_count(a[0].text.substr(0, at))) + 1);
  return {};
}

Status starts_with(Context, Arguments a, Datum& out) {
  out = Datum::of_boolean(a[0].text.starts_with(a[1].text));
  return {};
}

// So many characters of the beginning, or all but so many of the end.
Status left(Context, Arguments a, Datum& out) {
  const auto count = static_cast<std::int64_t>(character_count(a[0].text));
  const std::int64_t length =
      a[1].integer >= 0 ? a[1].integer : std::max<std::int64_t>(count + a[1].integer, 0);
  return substring(a[0].text, 1, length, out);
}

Status right(Context, Arguments a, Datum& out) {
  const auto count = static_cast<std::int64_t>(character_count(a[0].text));
  const std::int64_t length =
      a[1].integer >= 0 ? std::min(a[1].integer, count) : std::max<std::int64_t>(count + a[1].integer, 0);
  return substring(a[0].text, count - length + 1, length, out);
}

Status replace(Context context, Arguments a, Datum& out) {
  const std::string_view from = a[1].text;
  if (from.empty()) {
    out = a[0];
    return {};
  }
  std::string text;
  std::string_view rest = a[0].text;
  while (true) {
    const std::size_t at = std::min(find_text(rest, from), rest.size());
    text += rest.substr(0, at);
    if (at == rest.size()) break;
    text += a[2].text;
    rest.remove_prefix(at + from.size());
    if (Status status = check_text_bytes(text.size()); !status.ok()) return status;
  }
  context.work->charge_bytes(text.size());
  out = Datum::of_text(context.arena->copy(text));
  return {};
}

Status repeat(Context context, Arguments a, Datum& out) {
  const std::size_t times = a[1].integer > 0 ? static_cast<std::size_t>(a[1].integer) : 0;
  const std::size_t length = a[0].text.size();
  // A length of its own: the product may be beyond what a number holds.
  if (length != 0 && times > kMaxText_bytes / length) return check_text_bytes(kMaxText_bytes + 1);
  char* const bytes = context.arena->allocate(length * times);
  for (std::size_t i = 0; i < times && length != 0; ++i)
    std::copy(a[0].text.begin(), a[0].text.end(), bytes + i * length);
  context.work->charge_bytes(length * times);
  out = Datum::of_text({bytes, length * times});
  return {};
}

// With so many characters: cut behind them, or with the filling's ones at that side.
template <Side kSide>
Status pad(Context context, Arguments a, Datum& out) {
  const std::string_view filling = a.size() > 2 ? a[2].text : std::string_view(" ");
  const std::int64_t wanted = std::max<std::int64_t>(a[1].integer, 0);
  const auto there = static_cast<std::int64_t>(character_count(a[0].text));
  if (there >= wanted || filling.empty()) return substring(a[0].text, 1, wanted, out);
  std::string added;
  std::string_view rest;
  for (std::int64_t i = there; i < wanted; ++i) {
    if (rest.empty()) rest = filling;
    const std::size_t bytes = character_bytes(rest);
    added += rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    if (Status status = check_text_bytes(a[0].text.size() + added.size()); !status.ok()) return status;
  }
  const std::string text =
      kSide == Side::left ? added + std::string(a[0].text) : std::string(a[0].text) + added;
  context.work->charge_bytes(text.size());
  out = Datum::of_text(context.arena->copy(text));
  return {};
}

// Each character of the second text becomes the one at its place in the third, or goes if there is none.
Status translate(Context context, Arguments a, Datum& out) {
  absl::flat_hash_map<std::string_view, std::string_view> changes;
  std::string_view to = a[2].text;
  for (std::string_view from = a[1].text; !from.empty(); from.remove_prefix(character_bytes(from))) {
    const std::string_view becomes = to.empty() ? to : to.substr(0, character_bytes(to));
    changes.try_emplace(from.substr(0, character_bytes(from)), becomes);
    to.remove_prefix(becomes.size());
  }
  std::string result;
  for (std::string_view rest = a[0].text; !rest.empty(); rest.remove_prefix(character_bytes(rest))) {
    const std::string_view character = rest.substr(0, character_bytes(rest));
    const auto found = changes.find(character);
    result += found == changes.end() ? character : found->second;
  }
  if (Status status = check_text_bytes(result.size()); !status.ok()) return status;
  context.work->charge_bytes(a[0].text.size() + a[1].text.size());
  out = Datum::of_text(context.arena->copy(result));
  return {};
}

// The part between separators, counted from 1; from the end for negative numbers.
Status split_part(Context, Arguments a, Datum& out) {
  if (a[2].integer == 0) return Status(ErrorCode::invalid_parameter_value, "field position must not be zero");
  std::vector<std::string_view> parts;
  std::string_view rest = a[0].text;
  while (!a[1].text.empty()) {
    const std::size_t at = find_text(rest, a[1].text);
    if (at == std::string_view::npos) break;
    parts.push_back(rest.substr(0, at));
    rest.remove_prefix(at + a[1].text.size());
  }
  parts.push_back(rest);
  const auto count = static_cast<std::int64_t>(parts.size());
  const std::int64_t position = a[2].integer > 0 ? a[2].integer - 1 : count + a[2].integer;
  const bool exists = position >= 0 && position < count;
  out = Datum::of_text(exists ? parts[static_cast<std::size_t>(position)] : std::string_view());
  return {};
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
      {"substring", {text, text, text}, text, kUnsupported},
      {"btrim", {text, text}, text, trim_characters<Side::both>},
      {"ltrim", {text, text}, text, trim_characters<Side::left>},
      {"rtrim", {text, text}, text, trim_characters<Side::right>},
      {"btrim", {text}, text, trim_blanks<Side::both>},
      {"ltrim", {text}, text, trim_blanks<Side::left>},
      {"rtrim", {text}, text, trim_blanks<Side::right>},
      {"like_escape", {text, text}, text, like_escape},
      {"strpos", {text, text}, int4, strpos},
      {"position", {text, text}, int4, strpos},
      {"starts_with", {text, text}, boolean, starts_with},
      {"left", {text, int4}, text, left},
      {"right", {text, int4}, text, right},
      {"replace", {text, text, text}, text, replace},
      {"repeat", {text, int4}, text, repeat},
      {"lpad", {text, int4}, text, pad<Side::left>},
      {"lpad", {text, int4, text}, text, pad<Side::left>},
      {"rpad", {text, int4}, text, pad<Side::right>},
      {"rpad", {text, int4, text}, text, pad<Side::right>},
      {"translate", {text, text, text}, text, translate},
      {"split_part", {text, text, int4}, text, split_part},
  };
  return functions;
}

}  // namespace namdb::sql
