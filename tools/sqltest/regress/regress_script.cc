#include "tools/sqltest/regress/regress_script.h"

#include <fstream>
#include <optional>
#include <regex>
#include <sstream>

namespace namdb::sqltest {
namespace {

std::string content_of_file(const std::filesystem::path& path) {
  std::ifstream input(path);
  std::stringstream text;
  text << input.rdbuf();
  return text.str();
}

// Nested \if: of each whether its present branch runs, and whether one has run.
class Conditions {
 public:
  bool running() const { return branches_.empty() || branches_.back().runs; }

  // True: it was one of \if and its like.
  bool take(const PsqlPiece& piece, const RegressSession& session) {
    if (piece.command == "if") {
      const bool outer = running();
      const bool runs = outer && session.holds(piece.arguments);
      branches_.push_back({outer, runs, runs});
    } else if (!branches_.empty() && (piece.command == "elif" || piece.command == "else")) {
      Branch& branch = branches_.back();
      branch.runs =
          branch.outer && !branch.done && (piece.command == "else" || session.holds(piece.arguments));
      branch.done = branch.done || branch.runs;
    } else if (!branches_.empty() && piece.command == "endif") {
      branches_.pop_back();
    } else {
      return false;
    }
    return true;
  }

 private:
  struct Branch {
    bool outer;
    bool runs;
    bool done;
  };
  std::vector<Branch> branches_;
};

}  // namespace

std::string small_letters(std::string_view text) {
  std::string letters(text);
  for (char& letter : letters) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return letters;
}

RegressSession::RegressSession(RegressClient& client, std::filesystem::path folder)
    : client_(client), folder_(std::move(folder)) {
  variables_["abs_srcdir"] = folder_.string();
}

RegressAnswer RegressSession::run(const PsqlPiece& piece, const std::string& text,
                                  const std::function<std::string()>& data) {
  // Files of the folder go to either server as the client's data.
  static const std::regex copy_file(R"(^(copy\s+[^;]*?\sfrom\s+)'([^']+)')", std::regex::icase);
  RegressAnswer answer;
  std::smatch parts;
  if (text.size() < 1000 && std::regex_search(text, parts, copy_file) &&
      parts[2].str().starts_with(folder_.string()) && std::filesystem::exists(parts[2].str())) {
    const std::string file = parts[2];
    answer =
        client_.run(parts[1].str() + "STDIN" + parts.suffix().str(), [&] { return content_of_file(file); });
  } else {
    answer = client_.run(text, data);
  }
  if (piece.command == "gset") {
    const auto prefix = split_arguments(piece.arguments, variables_);
    take_values(prefix.empty() ? "" : prefix.front(), answer);
  }
  return answer;
}

void RegressSession::take_values(const std::string& prefix, const RegressAnswer& answer) {
  if (answer.outcomes.empty() || answer.outcomes.back().rows.size() != 1) return;
  const Outcome& outcome = answer.outcomes.back();
  for (std::size_t i = 0; i < outcome.names.size(); ++i) {
    if (outcome.rows[0][i]) variables_[prefix + outcome.names[i]] = *outcome.rows[0][i];
  }
}

void RegressSession::set(const PsqlPiece& piece) {
  const auto arguments = split_arguments(piece.arguments, variables_);
  if (arguments.empty()) return;
  if (piece.command == "unset") {
    variables_.erase(arguments.front());
    return;
  }
  std::string& value = variables_[arguments.front()];
  value.clear();
  for (std::size_t i = 1; i < arguments.size(); ++i) value += arguments[i];
}

bool RegressSession::holds(const std::string& condition) const {
  const auto words = split_arguments(expand_variables(condition, variables_), variables_);
  if (words.empty()) return false;
  const std::string word = small_letters(words.front());
  return word == "1" || word == "on" || std::string("true").starts_with(word) ||
         std::string("yes").starts_with(word);
}

RegressScript run_whole_script(RegressSession& session, const std::filesystem::path& file) {
  RegressScript script;
  PsqlScript text(content_of_file(file));
  Conditions conditions;
  while (std::optional<PsqlPiece> piece = text.next()) {
    const std::string command = piece->command;
    if (conditions.take(*piece, session) || !conditions.running()) continue;
    if (command == "q" || command == "quit") break;
    RegressStep step{std::move(*piece), "", {}};
    if (!step.piece.sql.empty()) {
      step.whole = session.run(step.piece, session.text_of(step.piece),
                               [&] { return step.copy_data = text.take_copy_data(); });
      if (session.client().lost()) {
        script.failure = "line " + std::to_string(step.piece.line) + ": PostgreSQL's connection is lost";
        break;
      }
    } else if (command == "set" || command == "unset") {
      session.set(step.piece);
    } else {
      ++script.skipped_commands;
      continue;
    }
    script.steps.push_back(std::move(step));
  }
  return script;
}

}  // namespace namdb::sqltest
