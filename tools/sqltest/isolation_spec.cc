#include "tools/sqltest/isolation_spec.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

namespace namdb::sqltest {
namespace {

Status malformed(std::size_t line, const std::string& why) {
  return Status(ErrorCode::configuration, "line " + std::to_string(line) + ": " + why);
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream input{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; input >> word;) words.push_back(word);
  return words;
}

bool is_name(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The name in "name: SQL"; empty when the line goes on with what came before.
std::string_view step_name(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_name(line.substr(0, colon))) return {};
  if (colon + 1 < line.size() && line[colon + 1] != ' ') return {};
  return line.substr(0, colon);
}

void append_line(std::string& sql, std::string_view line) {
  if (!sql.empty()) sql += "\n";
  sql += line;
}

std::size_t find_step(const IsolationSpec& spec, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(spec.steps, name, &IsolationStep::name) -
                                  spec.steps.begin());
}

// Reads a file line by line. An indented line belongs to the reader's current place.
class SpecReader {
 public:
  Status read(std::string_view text) {
    std::istringstream input{std::string(text)};
    std::string line;
    while (std::getline(input, line)) {
      ++line_;
      const std::string_view content = trimmed(line);
      if (line_ == 1 && !content.starts_with("#"))
        return malformed(1, "a spec opens with a comment that says what it shows");
      if (content.empty()) {
        place_ = Place::nowhere;
      } else if (line.front() == '#') {
        continue;
      } else {
        const bool indented = line.front() == ' ' || line.front() == '\t';
        if (Status status = indented ? read_body(content) : read_directive(content); !status.ok())
          return status;
      }
      if (place_ == Place::permutation) spec_.permutations.back().expected_end = line_ + 1;
    }
    return finish();
  }

  IsolationSpec take() { return std::move(spec_); }

 private:
  enum class Place { nowhere, statements, check, session, permutation };

  Status read_directive(std::string_view content) {
    if (!statement_.empty()) return malformed(line_ - 1, "a statement that does not end with ;");
    const std::vector<std::string> words = words_of(content);
    if (words[0] == "permutation") return read_permutation(words);
    if (!spec_.permutations.empty()) return malformed(line_, "permutations come last");
    if (words[0] == "session") return read_session(words);
    if (words.size() != 1) return malformed(line_, "unknown directive \"" + std::string(content) + "\"");
    if (words[0] == "check") {
      place_ = Place::check;
    } else if (words[0] == "at-once") {
      place_ = Place::nowhere;
      spec_.at_once = true;
    } else {
      place_ = Place::statements;
      statements_ = words[0] == "setup"        ? &spec_.setup
                    : words[0] == "everywhere" ? &spec_.everywhere
                    : words[0] == "teardown"   ? &spec_.teardown
                                               : nullptr;
      if (statements_ == nullptr) return malformed(line_, "unknown directive \"" + words[0] + "\"");
    }
    if (!spec_.sessions.empty()) return malformed(line_, words[0] + " comes before the sessions");
    return {};
  }

  Status read_session(const std::vector<std::string>& words) {
    if (words.size() < 2 || !is_name(words[1]))
      return malformed(line_, "a session has a name of a-z, 0-9, _");
    IsolationSession session;
    session.name = words[1];
    for (const IsolationSession& other : spec_.sessions) {
      if (other.name == session.name) return malformed(line_, "two sessions are called " + session.name);
    }
    if (words.size() > 2) {
      std::size_t server = 0;
      const std::string& number = words.back();
      const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), server);
      if (words.size() != 4 || words[2] != "on" || error != std::errc() ||
          stop != number.data() + number.size() || server == 0)
        return malformed(line_, "a session is `session NAME` or `session NAME on NUMBER`");
      session.server = server - 1;
    }
    spec_.sessions.push_back(std::move(session));
    place_ = Place::session;
    sql_ = nullptr;
    return {};
  }

  Status read_permutation(const std::vector<std::string>& words) {
    Permutation permutation;
    permutation.line = line_;
    std::set<std::size_t> sent;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const bool send = words[i].ends_with("&");
      const std::string name = send ? words[i].substr(0, words[i].size() - 1) : words[i];
      const std::size_t step = find_step(spec_, name);
      if (step == spec_.steps.size()) return malformed(line_, "there is no step " + name);
      const bool collect = sent.contains(step);
      if (send && collect) return malformed(line_, name + " is sent twice");
      if (!collect && std::ranges::any_of(sent, [&](std::size_t other) {
            return spec_.steps[other].session == spec_.steps[step].session;
          }))
        return malformed(line_, name + ": its session still waits for an answer");
      if (send) sent.insert(step);
      if (collect) sent.erase(step);
      permutation.steps.push_back({step, send      ? StepMode::send
                                         : collect ? StepMode::collect
                                                   : StepMode::run});
    }
    if (permutation.steps.empty()) return malformed(line_, "a permutation without steps");
    if (!sent.empty()) {
      return malformed(line_, spec_.steps[*sent.begin()].name + " is sent, and its answer never awaited");
    }
    spec_.permutations.push_back(std::move(permutation));
    place_ = Place::permutation;
    return {};
  }

  Status read_body(std::string_view content) {
    switch (place_) {
      case Place::nowhere:
        return malformed(line_, "an indented line that belongs to nothing");
      case Place::check:
        append_line(spec_.check, content);
        return {};
      case Place::statements:
        append_line(statement_, content);
        if (content.ends_with(";")) statements_->push_back(std::exchange(statement_, {}));
        return {};
      case Place::permutation:
        spec_.permutations.back().expected.emplace_back(content);
        return {};
      case Place::session:
        return read_step(content);
    }
    return {};
  }

  Status read_step(std::string_view content) {
    const std::string name(step_name(content));
    if (name.empty()) {
      if (sql_ == nullptr) return malformed(line_, "a step begins with its name and a colon");
      append_line(*sql_, content);
      return {};
    }
    if (sql_ != nullptr && sql_->empty()) return malformed(line_ - 1, "a step without a statement");
    IsolationSession& session = spec_.sessions.back();
    if (name == "setup" || name == "teardown") {
      sql_ = name == "setup" ? &session.setup : &session.teardown;
      if (!sql_->empty()) return malformed(line_, "a session has one " + name);
    } else {
      if (name == "check" || find_step(spec_, name) != spec_.steps.size())
        return malformed(line_, "two steps are called " + name);
      session.steps.push_back(spec_.steps.size());
      spec_.steps.push_back({name, {}, spec_.sessions.size() - 1});
      sql_ = &spec_.steps.back().sql;
    }
    *sql_ = trimmed(content.substr(name.size() + 1));
    return {};
  }

  Status finish() {
    if (!statement_.empty()) return malformed(line_, "a statement that does not end with ;");
    for (const IsolationStep& step : spec_.steps) {
      if (step.sql.empty()) return malformed(line_, "the step " + step.name + " has no statement");
    }
    for (const IsolationSession& session : spec_.sessions) {
      if (session.steps.empty()) return malformed(line_, "the session " + session.name + " has no steps");
    }
    if (spec_.sessions.empty()) return malformed(line_, "a spec has sessions");
    return spec_.permutations.empty() ? generate() : Status();
  }

  Status generate() {
    std::vector<std::size_t> counts;
    for (const IsolationSession& session : spec_.sessions) counts.push_back(session.steps.size());
    const auto orders = interleavings(counts, kMaxPermutations);
    if (!orders.ok()) return malformed(line_, orders.status().message() + ": list the ones to run");
    spec_.generated = true;
    for (const std::vector<std::size_t>& order : *orders) {
      Permutation permutation;
      std::vector<std::size_t> next(counts.size(), 0);
      for (const std::size_t session : order)
        permutation.steps.push_back({spec_.sessions[session].steps[next[session]++], StepMode::run});
      spec_.permutations.push_back(std::move(permutation));
    }
    return {};
  }

  IsolationSpec spec_;
  Place place_ = Place::nowhere;
  std::size_t line_ = 0;
  std::vector<std::string>* statements_ = nullptr;
  std::string statement_;       // not ended yet
  std::string* sql_ = nullptr;  // what a line without a name goes on with
};

}  // namespace

std::string IsolationSpec::name_of(const Permutation& permutation) const {
  std::string name;
  for (const PermutationStep& place : permutation.steps) {
    name += (name.empty() ? "" : " ") + steps[place.step].name + (place.mode == StepMode::send ? "&" : "");
  }
  return name;
}

Result<IsolationSpec> parse_isolation_spec(std::string_view text) {
  SpecReader reader;
  if (Status status = reader.read(text); !status.ok()) return status;
  return reader.take();
}

Result<std::vector<std::vector<std::size_t>>> interleavings(const std::vector<std::size_t>& counts,
                                                            std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t session = 0; session < counts.size(); ++session)
    order.insert(order.end(), counts[session], session);
  std::vector<std::vector<std::size_t>> orders;
  do {
    if (orders.size() == most) {
      return Status(ErrorCode::limit_exceeded,
                    "there are more than " + std::to_string(most) + " permutations of the steps");
    }
    orders.push_back(order);
  } while (std::ranges::next_permutation(order).found);
  return orders;
}

Status read_expected(std::string_view text, IsolationSpec& spec) {
  std::istringstream input{std::string(text)};
  std::string line;
  std::size_t number = 0;
  Permutation* permutation = nullptr;
  while (std::getline(input, line)) {
    ++number;
    const std::string_view content = trimmed(line);
    if (content.empty() || line.front() == '#') continue;
    if (line.front() == ' ') {
      if (permutation == nullptr) return malformed(number, "an answer before the first permutation");
      permutation->expected.emplace_back(content);
      continue;
    }
    const std::string_view name = content.starts_with("permutation ") ? content.substr(12) : "";
    const auto found = std::ranges::find_if(
        spec.permutations, [&](const Permutation& other) { return spec.name_of(other) == name; });
    if (found == spec.permutations.end())
      return malformed(number, "the spec has no \"" + std::string(content) + "\"");
    permutation = &*found;
  }
  return {};
}

}  // namespace namdb::sqltest
