#include "tools/sqltest/corpus.h"

#include <map>
#include <sstream>

namespace namdb::sqltest {
namespace {

std::string_view take_word(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return word;
}

Status malformed(std::size_t line, const std::string& why) {
  return Status(ErrorCode::configuration, "line " + std::to_string(line) + ": " + why);
}

Status read_expectation(std::string_view rest, std::size_t line, Case& test) {
  const std::string_view kind = take_word(rest);
  if (kind.empty()) {
    test.expectation = Expectation::rows;
  } else if (kind == "names") {
    test.expectation = Expectation::names_and_rows;
  } else if (kind == "ok") {
    test.expectation = Expectation::tag;
    test.expected = rest;
  } else if (kind == "error") {
    test.expectation = Expectation::error;
    test.expected = take_word(rest);
    test.message = rest;
    if (test.expected.size() != 5) return malformed(line, "an SQLSTATE has five characters");
  } else {
    return malformed(line, "unknown expectation \"" + std::string(kind) + "\"");
  }
  return {};
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : "|") + names[i];
  return text;
}

std::vector<std::string> shown_rows(const Outcome& outcome, bool names) {
  std::vector<std::string> lines;
  if (names) lines.push_back(join(outcome.names));
  for (const auto& row : outcome.rows) {
    std::vector<std::string> fields;
    for (const auto& field : row) fields.push_back(field.value_or("NULL"));
    lines.push_back(join(fields));
    if (lines.back().empty()) lines.back() = "\"\"";
  }
  return lines;
}

std::string describe(const Outcome& outcome, bool names) {
  if (!outcome.sqlstate.empty()) return "error " + outcome.sqlstate + " " + outcome.message + "\n";
  std::string text;
  for (const std::string& line : shown_rows(outcome, names)) text += "  " + line + "\n";
  return text + "  (" + outcome.tag + ")\n";
}

bool as_expected(const Case& test, const Outcome& outcome) {
  if (test.expectation == Expectation::error) {
    return outcome.sqlstate == test.expected && outcome.message.find(test.message) != std::string::npos;
  }
  if (!outcome.sqlstate.empty()) return false;
  if (test.expectation == Expectation::tag) return test.expected.empty() || outcome.tag == test.expected;
  return shown_rows(outcome, test.expectation == Expectation::names_and_rows) == test.lines;
}

}  // namespace

Result<std::vector<Case>> parse_corpus(std::string_view text) {
  std::vector<Case> cases;
  std::string connection = "one";
  std::istringstream input{std::string(text)};
  std::string line;
  std::size_t number = 0;
  Case test;
  bool reading_rows = false;
  const auto finish = [&] {
    cases.push_back(std::move(test));
    test = Case();
    reading_rows = false;
  };
  while (std::getline(input, line)) {
    ++number;
    if (reading_rows) {
      if (line.empty()) {
        finish();
      } else {
        test.lines.push_back(line);
      }
    } else if (line.starts_with("----")) {
      if (test.sql.empty()) return malformed(number, "an expectation without a statement");
      if (Status status = read_expectation(std::string_view(line).substr(4), number, test); !status.ok())
        return status;
      const bool rows =
          test.expectation == Expectation::rows || test.expectation == Expectation::names_and_rows;
      if (rows) {
        reading_rows = true;
      } else {
        finish();
      }
    } else if (line.starts_with("@") && test.sql.empty()) {
      connection = line.substr(1);
    } else if (test.sql.empty() && (line.empty() || line.starts_with("#"))) {
      continue;
    } else {
      if (test.sql.empty()) {
        test.line = number;
        test.connection = connection;
      } else {
        test.sql += "\n";
      }
      test.sql += line;
    }
  }
  if (reading_rows) {
    finish();
  } else if (!test.sql.empty()) {
    return malformed(test.line, "a statement without an expectation");
  }
  return cases;
}

std::vector<std::string> run_corpus(const std::vector<Case>& cases, const OpenClient& open) {
  std::map<std::string, std::unique_ptr<Client>> clients;
  std::vector<std::string> failures;
  for (const Case& test : cases) {
    std::unique_ptr<Client>& client = clients[test.connection];
    if (client == nullptr) client = open();
    const Outcome outcome = client->run(test.sql);
    if (as_expected(test, outcome)) continue;
    std::string failure = "line " + std::to_string(test.line) + ": " + test.sql + "\nanswered\n" +
                          describe(outcome, test.expectation == Expectation::names_and_rows) + "expected ";
    if (test.expectation == Expectation::error) {
      failure += "error " + test.expected + " " + test.message;
    } else if (test.expectation == Expectation::tag) {
      failure += "(" + test.expected + ")";
    } else {
      for (const std::string& row : test.lines) failure += "\n  " + row;
    }
    failures.push_back(std::move(failure));
  }
  return failures;
}

}  // namespace namdb::sqltest
