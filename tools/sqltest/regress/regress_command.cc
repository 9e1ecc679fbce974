#include "tools/sqltest/regress/regress_command.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tools/sqltest/regress/regress_passes.h"

namespace namdb::sqltest {
namespace {

// They test psql, or make no statements of their own.
bool is_left_out(const std::string& name) {
  return name == "psql" || name == "psql_crosstab";
}

std::vector<std::string> scheduled(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::ifstream schedule(folder / "parallel_schedule");
  for (std::string line; std::getline(schedule, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word != "test:") continue;
    while (words >> word) {
      if (!is_left_out(word) && std::filesystem::exists(folder / "sql" / (word + ".sql")))
        names.push_back(word);
    }
  }
  return names;
}

struct Counts {
  std::size_t statements = 0;
  std::size_t same = 0;
  std::size_t refused = 0;
  std::size_t absent = 0;
  std::size_t follows = 0;
  std::size_t different = 0;
  std::size_t skipped = 0;
  std::size_t commands = 0;

  void operator+=(const Counts& other) {
    statements += other.statements;
    same += other.same;
    refused += other.refused;
    absent += other.absent;
    follows += other.follows;
    different += other.different;
    skipped += other.skipped;
    commands += other.commands;
  }
};

Counts count(const RegressFileResult& result) {
  Counts counts;
  counts.statements = result.judgements.size();
  counts.commands = result.commands;
  for (const RegressJudgement& judgement : result.judgements) {
    switch (judgement.verdict) {
      case RegressVerdict::same:
        ++counts.same;
        break;
      case RegressVerdict::refused:
        ++counts.refused;
        break;
      case RegressVerdict::absent:
        ++counts.absent;
        break;
      case RegressVerdict::follows:
        ++counts.follows;
        break;
      case RegressVerdict::different:
        ++counts.different;
        break;
      case RegressVerdict::skipped:
        ++counts.skipped;
        break;
    }
  }
  return counts;
}

void print_line(const std::string& name, const Counts& counts) {
  std::printf("%-24s %10zu %7zu %7zu %7zu %9zu %9zu %7zu %8zu\n", name.c_str(), counts.statements,
              counts.same, counts.refused, counts.absent, counts.follows, counts.different, counts.skipped,
              counts.commands);
  std::fflush(stdout);
}

std::string shown(const RegressAnswer& answer) {
  std::string text;
  for (const Outcome& outcome : answer.outcomes) {
    if (!outcome.sqlstate.empty()) {
      text += "    error " + outcome.sqlstate + " " + outcome.message + "\n";
      continue;
    }
    if (!outcome.names.empty()) {
      text += "   ";
      for (const std::string& column : outcome.names) text += " " + column + " |";
      text += "\n";
    }
    constexpr std::size_t kShownRows = 40;
    for (std::size_t row = 0; row < std::min(outcome.rows.size(), kShownRows); ++row) {
      text += "   ";
      for (const auto& field : outcome.rows[row]) text += " " + field.value_or("NULL") + " |";
      text += "\n";
    }
    if (outcome.rows.size() > kShownRows) text += "    ...\n";
    text += "    (" + outcome.tag + ")\n";
  }
  return text + (answer.late ? "    (not in time)\n" : "");
}

void print_difference(const std::string& name, const RegressJudgement& judgement) {
  std::fprintf(stderr, "%s:%zu: %s (statement %zu)\n%s\n  namdb\n%s  PostgreSQL\n%s\n", name.c_str(),
               judgement.line, judgement.why.c_str(), judgement.number, judgement.sql.c_str(),
               shown(judgement.ours).c_str(), shown(judgement.theirs).c_str());
}

// How many statements of the list are no longer answered alike. Those of another file cannot be compared: all
// count.
std::size_t count_lost(const std::string& name, const RegressPasses& kept, const RegressFileResult& result) {
  if (kept.statements != result.judgements.size() && result.failure.empty()) {
    std::fprintf(stderr, "%s: it has %zu statements, and %zu in the list: it is not that file\n",
                 name.c_str(), result.judgements.size(), kept.statements);
    return std::max<std::size_t>(kept.same.size(), 1);
  }
  std::size_t lost = 0;
  for (const std::size_t number : kept.same) {
    if (number <= result.judgements.size() && result.judgements[number - 1].verdict == RegressVerdict::same)
      continue;
    ++lost;
    const std::size_t line = number <= result.judgements.size() ? result.judgements[number - 1].line : 0;
    std::fprintf(stderr, "%s:%zu: statement %zu of the list is no longer answered alike\n", name.c_str(),
                 line, number);
  }
  return lost;
}

bool read_passes(const RegressCommand& command, RegressPassList& list, std::string& comment) {
  std::ifstream input(command.passes);
  if (!input && command.accept) return true;
  std::stringstream text;
  text << input.rdbuf();
  Result<RegressPassList> read = parse_passes(text.str());
  if (!input || !read.ok()) {
    std::fprintf(stderr, "%s: %s\n", command.passes.c_str(),
                 input ? read.status().message().c_str() : "cannot be read");
    return false;
  }
  list = std::move(*read);
  for (std::string line; std::getline(text, line) && line.starts_with('#');) comment += line + "\n";
  return true;
}

void accept_passes(const std::string& name, const RegressFileResult& result, RegressPassList& list) {
  RegressPasses& passes = list[name];
  passes.statements = result.judgements.size();
  passes.same.clear();
  for (const RegressJudgement& judgement : result.judgements) {
    if (judgement.verdict == RegressVerdict::same) passes.same.insert(judgement.number);
  }
}

}  // namespace

int run_regress(const RegressCommand& command) {
  const std::vector<std::string> names =
      command.names.empty() ? scheduled(command.servers.folder) : command.names;
  if (names.empty()) {
    std::fprintf(stderr, "%s has no parallel_schedule with scripts in sql/\n",
                 command.servers.folder.c_str());
    return 2;
  }
  RegressPassList list;
  std::string comment;
  if (!command.passes.empty() && !read_passes(command, list, comment)) return 2;
  std::ofstream refusals;
  if (!command.refusals.empty()) refusals.open(command.refusals);
  std::printf("%-24s %10s %7s %7s %7s %9s %9s %7s %8s\n", "file", "statements", "same", "refused", "absent",
              "follow-up", "different", "skipped", "commands");
  Counts all;
  std::size_t lost = 0;
  bool ended_early = false;
  for (const std::string& name : names) {
    if (!std::filesystem::exists(command.servers.folder / "sql" / (name + ".sql"))) {
      std::fprintf(stderr, "there is no sql/%s.sql\n", name.c_str());
      return 2;
    }
    const RegressFileResult result = run_regress_file(command.servers, name);
    if (result.failure.starts_with("cannot connect")) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), result.failure.c_str());
      return 3;
    }
    if (!result.failure.empty()) {
      std::fprintf(stderr, "%s: ended early: %s\n", name.c_str(), result.failure.c_str());
      ended_early = true;
    }
    for (const RegressJudgement& judgement : result.judgements) {
      if (judgement.verdict == RegressVerdict::different) print_difference(name, judgement);
      if (refusals.is_open() &&
          (judgement.verdict == RegressVerdict::refused || judgement.verdict == RegressVerdict::absent))
        refusals << name << ":" << judgement.line << "\t" << judgement.why << "\n";
    }
    const Counts counts = count(result);
    print_line(name, counts);
    all += counts;
    if (command.accept) {
      accept_passes(name, result, list);
    } else if (const auto kept = list.find(name); kept != list.end()) {
      lost += count_lost(name, kept->second, result);
    }
  }
  print_line("all", all);
  if (command.accept) {
    std::ofstream output(command.passes);
    output << comment << passes_text(list);
    if (!output.flush()) {
      std::fprintf(stderr, "%s: cannot be written\n", command.passes.c_str());
      return 3;
    }
  }
  if (lost > 0) std::printf("%zu statements of the list are no longer answered alike\n", lost);
  return lost > 0 || ended_early ? 1 : 0;
}

}  // namespace namdb::sqltest
