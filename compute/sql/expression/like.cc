#include "compute/sql/expression/like.h"

#include <string>

#include "compute/sql/expression/text_search.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

Status ends_with_escape() {
  return Status(ErrorCode::invalid_escape_sequence, "LIKE pattern must not end with escape character");
}

// The part of the pattern from `begin` to the next % or to the end.
struct Part {
  std::size_t end = 0;
  bool has_wildcard = false;  // _
  bool has_escape = false;
};

Status find_part(std::string_view pattern, std::size_t begin, Part& part) {
  part = Part{.end = begin};
  for (; part.end < pattern.size() && pattern[part.end] != '%'; ++part.end) {
    if (pattern[part.end] == '_') part.has_wildcard = true;
    if (pattern[part.end] != '\\') continue;
    part.has_escape = true;
    if (++part.end == pattern.size()) return ends_with_escape();
  }
  return {};
}

std::string without_escapes(std::string_view part) {
  std::string literal;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '\\') ++i;
    literal += part[i];
  }
  return literal;
}

// A % at the pattern's position. True when the answer is known.
Status pass_percent(std::string_view text, std::string_view pattern, Work& work, LikePosition& at,
                    bool& known, bool& matches) {
  while (at.pattern < pattern.size() && pattern[at.pattern] == '%') ++at.pattern;
  Part part;
  if (Status status = find_part(pattern, at.pattern, part); !status.ok()) return status;
  work.charge_bytes(part.end - at.pattern);
  if (part.has_wildcard) {
    at.retry_pattern = at.pattern;
    at.retry_text = at.text;
    return {};
  }
  std::string_view literal = pattern.substr(at.pattern, part.end - at.pattern);
  std::string storage;
  if (part.has_escape) {
    storage = without_escapes(literal);
    literal = storage;
  }
  const std::string_view rest = text.substr(at.text);
  if (part.end == pattern.size()) {
    known = true;
    matches = rest.ends_with(literal);
    return {};
  }
  // The first place that matches will do: another % follows.
  const std::size_t found = find_text(rest, literal);
  if (found == std::string_view::npos) {
    known = true;
    matches = false;
    return {};
  }
  at.text += found + literal.size();
  at.pattern = part.end;
  return {};
}

enum class Step : std::uint8_t { matched, failed };

// Matches one character of the pattern that is not %.
Status pass_character(std::string_view text, std::string_view pattern, LikePosition& at, Step& step) {
  step = Step::failed;
  if (at.pattern == pattern.size()) return {};
  if (pattern[at.pattern] == '_') {
    at.text += character_bytes(text.substr(at.text));
    ++at.pattern;
    step = Step::matched;
    return {};
  }
  std::size_t literal = at.pattern;
  if (pattern[literal] == '\\' && ++literal == pattern.size()) return ends_with_escape();
  if (pattern[literal] != text[at.text]) return {};
  at.pattern = literal + 1;
  ++at.text;
  step = Step::matched;
  return {};
}

}  // namespace

Status match_like(std::string_view text, std::string_view pattern, Work& work, LikePosition& at,
                  bool& matches) {
  while (at.text < text.size()) {
    if (at.pattern < pattern.size() && pattern[at.pattern] == '%') {
      const LikePosition before = at;
      bool known = false;
      Status status = pass_percent(text, pattern, work, at, known, matches);
      if (!status.ok() || known) {
        work.charge_bytes(text.size() - before.text);
        return status;
      }
      work.charge_bytes(at.text - before.text + at.pattern - before.pattern);
      if (work.exhausted()) return work.pause();
      continue;
    }
    Step step = Step::failed;
    if (Status status = pass_character(text, pattern, at, step); !status.ok()) return status;
    work.charge_bytes(Work::kLikeStep_units);
    if (step == Step::failed) {
      if (at.retry_pattern == std::string_view::npos) {
        matches = false;
        return {};
      }
      at.retry_text += character_bytes(text.substr(at.retry_text));
      at.pattern = at.retry_pattern;
      at.text = at.retry_text;
    }
    if (work.exhausted()) return work.pause();
  }
  while (at.pattern < pattern.size() && pattern[at.pattern] == '%') ++at.pattern;
  matches = at.pattern == pattern.size();
  return {};
}

}  // namespace namdb::sql
