// Functions of regular expressions.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/regex.h"
#include "compute/sql/expression/statement_state.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

struct RegexFlags {
  RegexOptions options;
  bool all = false;
};

Status read_flags(std::string_view text, RegexFlags& flags) {
  for (const char flag : text) {
    if (flag == 'i' || flag == 'c') {
      flags.options.ignores_case = flag == 'i';
    } else if (flag == 'n' || flag == 'm' || flag == 's') {
      flags.options.lines = flag != 's';
    } else if (flag == 'g') {
      flags.all = true;
    } else if (std::string_view("bepqtwx").find(flag) != std::string_view::npos) {
      return Status(ErrorCode::feature_not_supported,
                    std::string("the option \"") + flag + "\" of regular expressions is not supported");
    } else {
      return Status(ErrorCode::invalid_parameter_value,
                    std::string("invalid regular expression option: \"") + flag + "\"");
    }
  }
  return {};
}

Status no_global(std::string_view function, std::string_view hint = {}) {
  return Status(ErrorCode::invalid_parameter_value,
                std::string(function) + "() does not support the \"global\" option", std::string(hint));
}

// The matches of a pattern in a text, one behind the other. An empty one does not lie where the one before
// ended.
class RegexSearch {
 public:
  RegexSearch(Context context, std::string_view text, std::string_view pattern, RegexOptions options)
      : context_(context), text_(text), pattern_(pattern), options_(options) {}

  Status next(bool& found) {
    found = false;
    if (from_ > text_.size()) return {};
    if (looks_far_ && (scanned_bytes_ += text_.size() - from_) > kMostScanned_bytes) {
      return Status(ErrorCode::limit_exceeded,
                    "a regular expression takes too long for a text of this length");
    }
    RegexPatterns& patterns = context_.state == nullptr ? own_ : context_.state->patterns;
    if (Status status = patterns.search(text_, pattern_, options_, from_, match_, found); !status.ok())
      return status;
    const std::size_t searched = (found ? match_.end : text_.size()) - from_;
    context_.work->charge_bytes(kRegexByte_units * (searched + 1));
    if (!found) return {};
    from_ = match_.end;
    if (match_.begin == match_.end)
      from_ += match_.end < text_.size() ? character_bytes(text_.substr(match_.end)) : 1;
    return {};
  }
  const RegexMatch& match() const { return match_; }

 private:
  static constexpr std::size_t kMostScanned_bytes = 256 << 20;

  // Whether the end of a match may be known only behind it, as that of "a|a.*b", however long the text is.
  static bool looks_far(std::string_view pattern) {
    const auto has = [pattern](std::string_view part) {
      return pattern.find(part) != std::string_view::npos;
    };
    const bool repeats = pattern.find_first_of("*+{") != std::string_view::npos;
    const bool any = has(".*") || has(".+") || has(".{");
    return repeats && (any || has("|") || (has("[^") && has(")?")));
  }

  Context context_;
  std::string_view text_;
  std::string_view pattern_;
  RegexOptions options_;
  RegexPatterns own_;  // where no statement runs
  RegexMatch match_;
  std::size_t from_ = 0;
  bool looks_far_ = looks_far(pattern_);
  std::size_t scanned_bytes_ = 0;
};

// \1 to \9 are the groups, \& is the match.
void append_replacement(std::string& result, std::string_view replacement, std::string_view text,
                        const RegexMatch& match) {
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    const char next = i + 1 < replacement.size() ? replacement[i + 1] : ' ';
    if (replacement[i] != '\\') {
      result += replacement[i];
    } else if (next >= '1' && next <= '9') {
      const auto group = static_cast<std::size_t>(next - '1');
      if (group < match.groups.size()) result += match.groups[group];
      ++i;
    } else if (next == '&') {
      result += text.substr(match.begin, match.end - match.begin);
      ++i;
    } else {
      result += '\\';
      if (next == '\\') ++i;
    }
  }
}

Status replace_matches(Context context, Arguments a, Datum& out) {
  RegexFlags flags;
  if (a.size() > 3) {
    if (Status status = read_flags(a[3].text, flags); !status.ok()) return status;
  }
  RegexSearch search(context, a[0].text, a[1].text, flags.options);
  std::string result;
  std::size_t copied = 0;
  for (bool found = true; found;) {
    if (Status status = search.next(found); !status.ok()) return status;
    if (!found) break;
    result += a[0].text.substr(copied, search.match().begin - copied);
    append_replacement(result, a[2].text, a[0].text, search.match());
    copied = search.match().end;
    if (Status status = check_text_bytes(result.size()); !status.ok()) return status;
    if (!flags.all) break;
  }
  result += a[0].text.substr(copied);
  if (Status status = check_text_bytes(result.size()); !status.ok()) return status;
  context.work->charge_bytes(result.size());
  out = Datum::of_text(context.arena->copy(result));
  return {};
}

Datum group_value(std::string_view group) {
  return group.data() == nullptr ? Datum() : Datum::of_text(group);
}

Status regexp_match(Context context, Arguments a, Datum& out) {
  RegexFlags flags;
  if (a.size() > 2) {
    if (Status status = read_flags(a[2].text, flags); !status.ok()) return status;
  }
  if (flags.all) return no_global("regexp_match", "Use the regexp_matches function instead.");
  RegexSearch search(context, a[0].text, a[1].text, flags.options);
  bool found = false;
  if (Status status = search.next(found); !status.ok()) return status;
  if (!found) {
    out = Datum();
    return {};
  }
  const RegexMatch& match = search.match();
  ArrayWriter writer(TypeId::text_array);
  if (match.groups.empty())
    writer.add(Datum::of_text(a[0].text.substr(match.begin, match.end - match.begin)));
  for (const std::string_view group : match.groups) writer.add(group_value(group));
  if (Status status = check_array_bytes(writer.bytes()); !status.ok()) return status;
  out = writer.finish(*context.arena);
  return {};
}

// The first group of the match, or the match.
Status substring_of_match(Context context, Arguments a, Datum& out) {
  RegexSearch search(context, a[0].text, a[1].text, {});
  bool found = false;
  if (Status status = search.next(found); !status.ok()) return status;
  out = Datum();
  if (!found) return {};
  const RegexMatch& match = search.match();
  out = match.groups.empty() ? Datum::of_text(a[0].text.substr(match.begin, match.end - match.begin))
                             : group_value(match.groups[0]);
  return {};
}

Status regexp_like(Context context, Arguments a, Datum& out) {
  RegexFlags flags;
  if (a.size() > 2) {
    if (Status status = read_flags(a[2].text, flags); !status.ok()) return status;
  }
  if (flags.all) return no_global("regexp_like");
  RegexSearch search(context, a[0].text, a[1].text, flags.options);
  bool found = false;
  Status status = search.next(found);
  out = Datum::of_boolean(found);
  return status;
}

Status regexp_count(Context context, Arguments a, Datum& out) {
  RegexSearch search(context, a[0].text, a[1].text, {});
  std::int64_t count = 0;
  for (bool found = true; found;) {
    if (Status status = search.next(found); !status.ok()) return status;
    if (found) ++count;
  }
  out = Datum::of_integer(count);
  return {};
}

// Empty matches at the ends of the text, or behind another match, separate nothing.
Status regexp_split_to_array(Context context, Arguments a, Datum& out) {
  RegexFlags flags;
  if (a.size() > 2) {
    if (Status status = read_flags(a[2].text, flags); !status.ok()) return status;
  }
  if (flags.all) return no_global("regexp_split_to_array");
  RegexSearch search(context, a[0].text, a[1].text, flags.options);
  ArrayWriter writer(TypeId::text_array);
  std::size_t begin = 0;
  for (bool found = true; found;) {
    if (Status status = search.next(found); !status.ok()) return status;
    if (!found) break;
    const RegexMatch& match = search.match();
    const bool separates_nothing =
        match.begin == match.end && (match.begin == begin || match.end == a[0].text.size());
    if (separates_nothing) continue;
    writer.add(Datum::of_text(a[0].text.substr(begin, match.begin - begin)));
    begin = match.end;
    if (Status status = check_array_bytes(writer.bytes()); !status.ok()) return status;
  }
  writer.add(Datum::of_text(a[0].text.substr(begin)));
  if (Status status = check_array_bytes(writer.bytes()); !status.ok()) return status;
  out = writer.finish(*context.arena);
  return {};
}

// The regular expression of a pattern of SIMILAR TO.
Status similar_to_escape(Context context, Arguments a, Datum& out) {
  const std::string_view escape = a.size() == 1 ? std::string_view("\\") : a[1].text;
  if (escape.size() != prefix_bytes(escape, 1)) {
    return Status(ErrorCode::invalid_escape_sequence, "invalid escape string",
                  "Escape string must be empty or one character.");
  }
  const std::string_view pattern = a[0].text;
  std::string regex = "^(?:";
  bool in_brackets = false;
  for (std::size_t at = 0; at < pattern.size();) {
    if (!escape.empty() && pattern.substr(at).starts_with(escape)) {
      at += escape.size();
      const std::string_view next = pattern.substr(at, prefix_bytes(pattern.substr(at), 1));
      if (next == "\"" && !in_brackets)
        return Status(ErrorCode::feature_not_supported,
                      "separators in a pattern of SIMILAR TO are not supported");
      // No other character has a meaning that a backslash takes away.
      if (next.size() == 1) regex += '\\';
      regex += next;
      at += next.size();
      continue;
    }
    const char c = pattern[at++];
    if (in_brackets) {
      if (c == '\\') regex += '\\';
      regex += c;
      in_brackets = c != ']';
    } else if (c == '%') {
      regex += ".*";
    } else if (c == '_') {
      regex += '.';
    } else if (c == '(') {
      regex += "(?:";
    } else {
      if (c == '\\' || c == '.' || c == '^' || c == '$') regex += '\\';
      regex += c;
      in_brackets = c == '[';
    }
  }
  regex += ")$";
  if (Status status = check_text_bytes(regex.size()); !status.ok()) return status;
  out = Datum::of_text(context.arena->copy(regex));
  return {};
}

}  // namespace

std::span<const Function> regex_functions() {
  using enum TypeId;
  static const std::vector<Function> functions = {
      {"regexp_replace", {text, text, text}, text, replace_matches},
      {"regexp_replace", {text, text, text, text}, text, replace_matches},
      {"regexp_match", {text, text}, text_array, regexp_match},
      {"regexp_match", {text, text, text}, text_array, regexp_match},
      {"regexp_like", {text, text}, boolean, regexp_like},
      {"regexp_like", {text, text, text}, boolean, regexp_like},
      {"regexp_count", {text, text}, int4, regexp_count},
      {"regexp_split_to_array", {text, text}, text_array, regexp_split_to_array},
      {"regexp_split_to_array", {text, text, text}, text_array, regexp_split_to_array},
      {"similar_to_escape", {text}, text, similar_to_escape},
      {"similar_to_escape", {text, text}, text, similar_to_escape},
      {"substring", {text, text}, text, substring_of_match},
  };
  return functions;
}

}  // namespace namdb::sql
