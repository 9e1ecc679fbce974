#include "compute/sql/expression/functions.h"

#include <bitset>
#include <cmath>
#include <unordered_set>

#include "common/layout/placement.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/server_version.h"
#include "compute/sql/expression/session_directory.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;

template <SessionDirectory::Signal kSignal>
Status signal_session(const EvalContext& context, Arguments arguments, Datum& out) {
  SessionDirectory* const sessions = context.facts->sessions;
  if (sessions == nullptr) return Status(ErrorCode::feature_not_supported, "there are no other sessions");
  const auto process_id = static_cast<std::int32_t>(arguments[0].integer);
  const Result<bool> sent = sessions->send(kSignal, process_id, context.facts->user);
  if (!sent.ok()) return sent.status();
  out = Datum::of_boolean(*sent);
  return {};
}

Status abs_integer(std::int64_t low, std::string_view type, const Datum& in, Datum& out) {
  if (in.integer == low) return Status(ErrorCode::numeric_out_of_range, std::string(type) + " out of range");
  out = Datum::of_integer(std::abs(in.integer));
  return {};
}

Status round_to(const Decimal& value, std::int64_t digits, Datum& out) {
  if (digits < 0) {
    const unsigned drop = static_cast<unsigned>(std::min<std::int64_t>(-digits, 60));
    // Rounded at a position before the point: shift the point, round, and shift it back.
    Decimal shifted{value.value, value.scale + drop};
    const Result<Decimal> rounded = rescale(shifted, 0);
    if (!rounded.ok()) return rounded.status();
    Decimal result = *rounded;
    for (unsigned i = 0; i < drop && result.value != 0; ++i) {
      const Result<Decimal> next = multiply(result, {10, 0});
      if (!next.ok()) return next.status();
      result = *next;
    }
    out = Datum::of_decimal(result);
    return {};
  }
  const Result<Decimal> rounded =
      rescale(value, static_cast<unsigned>(std::min<std::int64_t>(digits, kMaxDecimalScale)));
  if (!rounded.ok()) return rounded.status();
  out = Datum::of_decimal(*rounded);
  return {};
}

Status floor_or_ceil(const Decimal& value, bool up, Datum& out) {
  const Result<Decimal> rest = remainder(value, {1, 0});
  if (!rest.ok()) return rest.status();
  const Result<Decimal> whole = subtract(value, *rest);
  if (!whole.ok()) return whole.status();
  Result<Decimal> result = rescale(*whole, 0);
  if (result.ok() && rest->value != 0 && (rest->value > 0) == up) result = add(*result, {up ? 1 : -1, 0});
  if (!result.ok()) return result.status();
  out = Datum::of_decimal(*result);
  return {};
}

template <auto kMember>
Status partition_server(const EvalContext& context, Arguments arguments, Datum& out) {
  const std::uint64_t hash = layout::partition_hash(arguments[0].*kMember);
  out = Datum::of_integer(layout::partition_server(hash, context.facts->memory_servers));
  return {};
}

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

class CharacterSet {
 public:
  explicit CharacterSet(std::string_view characters) {
    for (; !characters.empty(); characters.remove_prefix(character_bytes(characters))) {
      const std::string_view character = characters.substr(0, character_bytes(characters));
      if (character.size() == 1) {
        bytes_.set(static_cast<unsigned char>(character[0]));
      } else {
        longer_.insert(character);
      }
    }
  }
  bool contains(std::string_view character) const {
    return character.size() == 1 ? bytes_.test(static_cast<unsigned char>(character[0]))
                                 : longer_.contains(character);
  }

 private:
  std::bitset<256> bytes_;
  std::unordered_set<std::string_view> longer_;
};

// Without the characters at its ends that the set holds.
std::string_view trim(std::string_view text, std::string_view characters, bool left, bool right) {
  const CharacterSet set(characters);
  while (left && !text.empty() && set.contains(text.substr(0, character_bytes(text))))
    text.remove_prefix(character_bytes(text));
  while (right && !text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && !begins_character(text[last])) --last;
    if (!set.contains(text.substr(last))) break;
    text = text.substr(0, last);
  }
  return text;
}

template <char (*Convert)(char)>
Status map_ascii(const EvalContext& context, Arguments a, Datum& out) {
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

Status length_of_padded(const EvalContext&, Arguments a, Datum& out) {
  out = Datum::of_integer(static_cast<std::int64_t>(character_count(without_trailing_blanks(a[0].text))));
  return {};
}

Status octet_length(const EvalContext&, Arguments a, Datum& out) {
  out = Datum::of_integer(static_cast<std::int64_t>(a[0].text.size()));
  return {};
}

Status as_operator(const EvalContext&, Arguments, Datum&) {
  return Status(ErrorCode::internal, "an operator is not called");
}

template <bool Left, bool Right>
Status trim_characters(const EvalContext&, Arguments a, Datum& out) {
  out = Datum::of_text(trim(a[0].text, a[1].text, Left, Right));
  return {};
}

using enum TypeId;

const std::vector<Function>& table() {
  using Context = const EvalContext&;
  static const std::vector<Function> functions = {
      {"abs",
       {int2},
       int2,
       true,
       false,
       [](Context, Arguments a, Datum& out) { return abs_integer(INT16_MIN, "smallint", a[0], out); }},
      {"abs",
       {int4},
       int4,
       true,
       false,
       [](Context, Arguments a, Datum& out) { return abs_integer(INT32_MIN, "integer", a[0], out); }},
      {"abs",
       {int8},
       int8,
       true,
       false,
       [](Context, Arguments a, Datum& out) { return abs_integer(INT64_MIN, "bigint", a[0], out); }},
      {"abs",
       {numeric},
       numeric,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         Decimal value = a[0].decimal();
         if (value.value < 0) value.value = -value.value;
         out = Datum::of_decimal(value);
         return Status();
       }},
      {"abs",
       {float8},
       float8,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         out = Datum::of_real(std::fabs(a[0].real));
         return Status();
       }},
      {"round",
       {numeric},
       numeric,
       true,
       false,
       [](Context, Arguments a, Datum& out) { return round_to(a[0].decimal(), 0, out); }},
      {"round",
       {numeric, int4},
       numeric,
       true,
       false,
       [](Context, Arguments a, Datum& out) { return round_to(a[0].decimal(), a[1].integer, out); }},
      {"round",
       {float8},
       float8,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         out = Datum::of_real(std::rint(a[0].real));
         return Status();
       }},
      {"floor",
       {numeric},
       numeric,
       true,
       false,
       [](Context, Arguments a, Datum& out) { return floor_or_ceil(a[0].decimal(), false, out); }},
      {"floor",
       {float8},
       float8,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         out = Datum::of_real(std::floor(a[0].real));
         return Status();
       }},
      {"ceil",
       {numeric},
       numeric,
       true,
       false,
       [](Context, Arguments a, Datum& out) { return floor_or_ceil(a[0].decimal(), true, out); }},
      {"ceil",
       {float8},
       float8,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         out = Datum::of_real(std::ceil(a[0].real));
         return Status();
       }},
      // Bound as the operator %.
      {"mod", {int2, int2}, int2, true, false, as_operator},
      {"mod", {int4, int4}, int4, true, false, as_operator},
      {"mod", {int8, int8}, int8, true, false, as_operator},
      {"mod", {numeric, numeric}, numeric, true, false, as_operator},
      {"pg_sleep", {float8}, text, true, true, nullptr},
      // There are no advisory locks; connection pools ask all the same.
      {"pg_advisory_unlock_all",
       {},
       text,
       true,
       true,
       [](Context, Arguments, Datum& out) {
         out = Datum::of_text("");
         return Status();
       }},
      {"random",
       {},
       float8,
       true,
       true,
       [](Context c, Arguments, Datum& out) {
         out = Datum::of_real(c.random->unit());
         return Status();
       }},
      {"length",
       {text},
       int4,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         out = Datum::of_integer(static_cast<std::int64_t>(character_count(a[0].text)));
         return Status();
       }},
      // Trailing blanks of char(n) are no characters, but they are bytes.
      {"length", {bpchar}, int4, true, false, length_of_padded},
      {"char_length", {bpchar}, int4, true, false, length_of_padded},
      {"octet_length", {bpchar}, int4, true, false, octet_length},
      {"char_length",
       {text},
       int4,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         out = Datum::of_integer(static_cast<std::int64_t>(character_count(a[0].text)));
         return Status();
       }},
      {"octet_length", {text}, int4, true, false, octet_length},
      {"lower", {text}, text, true, false, map_ascii<lower>},
      {"upper", {text}, text, true, false, map_ascii<upper>},
      {"substring",
       {text, int4},
       text,
       true,
       false,
       [](Context, Arguments a, Datum& out) { return substring(a[0].text, a[1].integer, INT64_MAX, out); }},
      {"substring",
       {text, int4, int4},
       text,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         return substring(a[0].text, a[1].integer, a[2].integer, out);
       }},
      {"substring", {text, text}, text, true, false, nullptr},
      {"substring", {text, text, text}, text, true, false, nullptr},
      {"btrim", {text, text}, text, true, false, trim_characters<true, true>},
      {"ltrim", {text, text}, text, true, false, trim_characters<true, false>},
      {"rtrim", {text, text}, text, true, false, trim_characters<false, true>},
      {"btrim",
       {text},
       text,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         out = Datum::of_text(trim(a[0].text, " ", true, true));
         return Status();
       }},
      {"ltrim",
       {text},
       text,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         out = Datum::of_text(trim(a[0].text, " ", true, false));
         return Status();
       }},
      {"rtrim",
       {text},
       text,
       true,
       false,
       [](Context, Arguments a, Datum& out) {
         out = Datum::of_text(trim(a[0].text, " ", false, true));
         return Status();
       }},
      {"now",
       {},
       timestamptz,
       true,
       false,
       [](Context c, Arguments, Datum& out) {
         out = Datum::of_integer(c.facts->now_us);
         return Status();
       }},
      {"statement_timestamp",
       {},
       timestamptz,
       true,
       false,
       [](Context c, Arguments, Datum& out) {
         out = Datum::of_integer(c.facts->statement_us);
         return Status();
       }},
      {"clock_timestamp",
       {},
       timestamptz,
       true,
       true,
       [](Context c, Arguments, Datum& out) {
         out = Datum::of_integer(c.facts->present_us());
         return Status();
       }},
      {"version",
       {},
       text,
       true,
       false,
       [](Context, Arguments, Datum& out) {
         out = Datum::of_text(kVersionText);
         return Status();
       }},
      {"current_database",
       {},
       text,
       true,
       false,
       [](Context c, Arguments, Datum& out) {
         out = Datum::of_text(c.facts->database);
         return Status();
       }},
      {"current_schema",
       {},
       text,
       true,
       false,
       [](Context, Arguments, Datum& out) {
         out = Datum::of_text("public");
         return Status();
       }},
      {"current_user",
       {},
       text,
       true,
       false,
       [](Context c, Arguments, Datum& out) {
         out = Datum::of_text(c.facts->user);
         return Status();
       }},
      {"pg_backend_pid",
       {},
       int4,
       true,
       false,
       [](Context c, Arguments, Datum& out) {
         out = Datum::of_integer(c.facts->process_id);
         return Status();
       }},
      {"pg_cancel_backend", {int4}, boolean, true, true, signal_session<SessionDirectory::Signal::cancel>},
      {"pg_terminate_backend",
       {int4},
       boolean,
       true,
       true,
       signal_session<SessionDirectory::Signal::terminate>},
      {"namdb_partition_server", {int8}, int4, true, false, partition_server<&Datum::integer>},
      {"namdb_partition_server", {boolean}, int4, true, false, partition_server<&Datum::integer>},
      {"namdb_partition_server", {timestamp}, int4, true, false, partition_server<&Datum::integer>},
      {"namdb_partition_server", {text}, int4, true, false, partition_server<&Datum::text>},
      {"pg_is_in_recovery",
       {},
       boolean,
       true,
       false,
       [](Context, Arguments, Datum& out) {
         out = Datum::of_boolean(false);
         return Status();
       }},
  };
  return functions;
}

// Other names of the functions above.
std::string_view canonical(std::string_view name) {
  if (name == "ceiling") return "ceil";
  if (name == "character_length") return "char_length";
  if (name == "substr") return "substring";
  if (name == "transaction_timestamp") return "now";
  if (name == "session_user" || name == "user" || name == "current_role") return "current_user";
  if (name == "current_catalog") return "current_database";
  return name;
}

}  // namespace

std::vector<const Function*> functions_named(std::string_view name) {
  const std::string_view wanted = canonical(name);
  std::vector<const Function*> found;
  for (const Function& function : table()) {
    if (function.name == wanted) found.push_back(&function);
  }
  return found;
}

}  // namespace namdb::sql
