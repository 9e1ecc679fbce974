#include "tools/sqltest/generate/generate_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "tools/sqltest/generate/answers.h"
#include "tools/sqltest/generate/explain.h"
#include "tools/sqltest/generate/judgement.h"
#include "tools/sqltest/generate/writes.h"

namespace namdb::sqltest {
namespace {

constexpr std::uint64_t kUnitsInBatch = 300;
constexpr std::uint64_t kBinaryEvery = 7;
constexpr std::uint64_t kParametersEvery = 5;
constexpr std::size_t kShrinkingAttempts = 250;
constexpr std::uint64_t kMostShrunk = 1000;

struct Counted {
  std::uint64_t times = 0;
  std::string example;
};

std::string joined(const std::vector<std::string>& statements) {
  std::string text;
  for (const std::string& statement : statements) text += statement + ";\n";
  return text;
}

class Run {
 public:
  Run(const GenerateCommand& command, std::unique_ptr<Connection> server,
      std::unique_ptr<Connection> reference)
      : command_(command), server_(std::move(server)), reference_(std::move(reference)) {}

  // False: the schema cannot be made.
  bool prepare() {
    for (Connection* each : {server_.get(), reference_.get()}) {
      each->ask("SET statement_timeout = '10s'");
      each->ask("SET TIME ZONE 'Europe/Berlin'");
      each->ask("SET client_min_messages = error");
      for (const std::string& statement : schema_removal()) each->ask(statement);
      for (const std::string& statement : schema_statements()) {
        const Answer answer = each->ask(statement);
        if (!answer.failed()) continue;
        std::fprintf(stderr, "%s\n%s", statement.c_str(), shown(answer).c_str());
        return false;
      }
    }
    return fill();
  }

  void run() {
    std::uint64_t in_batch = 0;
    for (std::uint64_t unit = 1; statements_ < command_.count && !lost_; ++unit) {
      if (command_.only != 0 && unit > command_.only) break;
      Random random(command_.seed * 0x9E3779B97F4A7C15ull + unit);
      const bool skipped = command_.only != 0 && unit + kUnitsInBatch < command_.only;
      Unit made = Units(random).next();
      if (skipped) {
        statements_ += made.statements.size();
        if (++in_batch == kUnitsInBatch) in_batch = 0;
        continue;
      }
      unit_ = unit;
      const bool as_before = run_unit(made);
      if (++in_batch < kUnitsInBatch && as_before) continue;
      if (as_before) compare_tables();
      in_batch = 0;
      fill();
    }
    compare_tables();
  }

  void remove_schema() {
    for (Connection* each : {server_.get(), reference_.get()}) {
      for (const std::string& statement : schema_removal()) each->ask(statement);
    }
  }

  std::string report(double seconds) const {
    std::string text = std::to_string(statements_) + " statements in " +
                       std::to_string(static_cast<int>(seconds)) + " s: " + std::to_string(same_) +
                       " same (" + std::to_string(same_errors_) + " of them errors), " +
                       std::to_string(total(refused_)) + " refused, " + std::to_string(total(explained_)) +
                       " explained, " + std::to_string(total(different_)) + " different\n";
    append(text, "refused", refused_, false);
    append(text, "explained", explained_, true);
    append(text, "different", different_, true);
    return text;
  }
  bool all_explained() const { return different_.empty() && !lost_; }

 private:
  static std::uint64_t total(const std::map<std::string, Counted>& all) {
    std::uint64_t sum = 0;
    for (const auto& [reason, counted] : all) sum += counted.times;
    return sum;
  }

  static void append(std::string& text, const std::string& title, const std::map<std::string, Counted>& all,
                     bool examples) {
    std::vector<std::pair<std::uint64_t, std::string>> order;
    for (const auto& [reason, counted] : all) order.emplace_back(counted.times, reason);
    std::ranges::sort(order, std::greater<>());
    text += "\n" + title + ":\n";
    for (const auto& [times, reason] : order) {
      text += std::to_string(times) + "  " + reason + "\n";
      text +=
          examples ? all.at(reason).example + "\n" : "      " + all.at(reason).example.substr(0, 200) + "\n";
    }
  }

  bool fill() {
    Random random(command_.seed ^ 0x5DEECE66Dull);
    const std::vector<std::string> statements = fill_statements(random);
    for (Connection* each : {server_.get(), reference_.get()}) {
      if (each->in_block()) each->ask("ROLLBACK");
      Answer answer = each->ask(joined(statements));
      // Several statements together are not run again by the server.
      for (int attempt = 0; answer.sqlstate == "40001" && attempt < 10; ++attempt)
        answer = each->ask(joined(statements));
      if (!answer.failed()) continue;
      std::fprintf(stderr, "the tables cannot be filled:\n%s", shown(answer).c_str());
      lost_ = true;
      return false;
    }
    return true;
  }

  static Asked asked_of(const Tree& statement, bool block, Form form) {
    Asked asked{text_of(statement), has_order(statement), block, form == Form::binary, {}, false};
    if (form == Form::parameters) asked.sql = text_with_parameters(statement, asked.parameters);
    return asked;
  }

  std::pair<Answer, Answer> ask(const Asked& asked) {
    server_->send(asked.sql, asked.binary, asked.parameters);
    reference_->send(asked.sql, asked.binary, asked.parameters);
    Answer answer = server_->receive();
    return {std::move(answer), reference_->receive()};
  }

  Asking asking() {
    return {[this](const std::string& sql) { return ask({sql}); },
            [this](const std::string& sql) {
              return std::pair(server_->describe(sql), reference_->describe(sql));
            }};
  }

  // Whether both servers have the same rows as far as is known.
  bool run_unit(Unit& unit) {
    bool as_before = true;
    std::string before;
    for (const Tree& statement : unit.statements) {
      ++statements_;
      const Form form = statements_ % kBinaryEvery == 0       ? Form::binary
                        : statements_ % kParametersEvery == 0 ? Form::parameters
                                                              : Form::simple;
      Asked asked = asked_of(statement, unit.block, form);
      asked.mistaken = unit.mistaken;
      const auto [answer, reference] = ask(asked);
      if (command_.only == unit_)
        std::printf("%s\nnamdb:\n%sPostgreSQL:\n%s\n", asked.sql.c_str(), shown(answer).c_str(),
                    shown(reference).c_str());
      Judgement judgement = judge(asked, answer, reference);
      if (judgement.verdict == Verdict::different && !answer.lost) {
        if (unit.block) {
          for (Connection* each : {server_.get(), reference_.get()}) each->ask("ROLLBACK");
        }
        std::optional<std::string> rule = explain(statement, asked, answer, reference, asking());
        if (!rule && !unit.block && ++shrunk_ <= kMostShrunk)
          rule = shrink_and_explain(unit, statement, form, judgement);
        if (rule) judgement = {Verdict::explained, std::move(*rule)};
      }
      if (judgement.verdict == Verdict::same) {
        ++same_;
        if (answer.failed()) ++same_errors_;
        // A statement that fails may have taken a number of a sequence, or may not.
        if (answer.failed() && asked.sql.find("INSERT INTO gen_given") != std::string::npos)
          as_before = false;
      } else {
        note(unit, asked, form, judgement, answer, reference, before);
        if (unit.writes) as_before = false;
        if (answer.lost) lost_ = true;
        if (unit.block || lost_) break;
      }
      before += asked.sql + ";\n";
    }
    return as_before;
  }

  void note(const Unit& unit, const Asked& asked, Form form, const Judgement& judgement, const Answer& answer,
            const Answer& reference, const std::string& before) {
    std::map<std::string, Counted>& all = judgement.verdict == Verdict::refused     ? refused_
                                          : judgement.verdict == Verdict::explained ? explained_
                                                                                    : different_;
    Counted& counted = all[judgement.reason];
    ++counted.times;
    if (judgement.verdict == Verdict::refused) {
      if (counted.times == 1) counted.example = asked.sql;
      return;
    }
    const std::uint64_t examples = judgement.verdict == Verdict::explained ? 1 : 4;
    if (counted.times > examples) return;
    std::string text = asked.sql;
    Answer here = answer;
    Answer there = reference;
    if (!unit.block && !answer.lost && judgement.verdict == Verdict::different && shrunk_ <= kMostShrunk) {
      const Asked small = asked_of(small_, false, form);
      auto [small_answer, small_reference] = ask_aside(unit, small);
      if (judge(small, small_answer, small_reference).reason == judgement.reason) {
        text = small.sql;
        here = std::move(small_answer);
        there = std::move(small_reference);
      }
    }
    counted.example += "    [" + std::to_string(unit_) + "] " + before + text + "\n    namdb:\n" +
                       shown(here, &there) + "    PostgreSQL:\n" + shown(there, &here);
  }

  // The statement without what does not matter may be plain where the whole was not.
  std::optional<std::string> shrink_and_explain(const Unit& unit, const Tree& statement, Form form,
                                                const Judgement& judgement) {
    small_ = shrunk(unit, statement, form, judgement);
    const Asked again = asked_of(small_, false, form);
    const auto [answer, reference] = ask_aside(unit, again);
    return explain(small_, again, answer, reference, asking());
  }

  // Without a change to the rows.
  std::pair<Answer, Answer> ask_aside(const Unit& unit, const Asked& asked) {
    if (!unit.writes) return ask(asked);
    ask({"BEGIN"});
    auto answers = ask(asked);
    ask({"ROLLBACK"});
    return answers;
  }

  Tree shrunk(const Unit& unit, const Tree& statement, Form form, const Judgement& judgement) {
    return shrink(
        statement,
        [&](const Tree& candidate) {
          const Asked asked = asked_of(candidate, false, form);
          const auto [answer, reference] = ask_aside(unit, asked);
          if (answer.lost) return false;
          const Judgement again = judge(asked, answer, reference);
          return again.verdict == judgement.verdict && again.reason == judgement.reason;
        },
        kShrinkingAttempts);
  }

  void compare_tables() {
    if (lost_) return;
    for (const Relation& table : relations()) {
      if (!table.is_table) continue;
      const Asked asked{"SELECT * FROM " + table.name};
      const auto [answer, reference] = ask(asked);
      const Judgement judgement = judge(asked, answer, reference);
      if (judgement.verdict == Verdict::same) continue;
      if (const auto rule = explain(leaf(asked.sql), asked, answer, reference, asking())) {
        ++explained_[*rule].times;
        continue;
      }
      Counted& counted = different_["the table " + table.name];
      if (++counted.times == 1)
        counted.example = "[" + std::to_string(unit_) + "]\n" + shown(answer) + shown(reference);
    }
  }

  const GenerateCommand& command_;
  std::unique_ptr<Connection> server_;
  std::unique_ptr<Connection> reference_;
  std::uint64_t unit_ = 0;
  std::uint64_t statements_ = 0;
  std::uint64_t same_ = 0;
  std::uint64_t same_errors_ = 0;
  std::map<std::string, Counted> refused_;
  std::map<std::string, Counted> explained_;
  std::map<std::string, Counted> different_;
  std::uint64_t shrunk_ = 0;  // statements that were
  Tree small_;                // the last one
  bool lost_ = false;
};

}  // namespace

int run_generated(const GenerateCommand& command) {
  std::string why;
  std::unique_ptr<Connection> server = Connection::open(command.connection, why);
  std::unique_ptr<Connection> reference =
      server == nullptr ? nullptr : Connection::open(command.reference, why);
  if (reference == nullptr) {
    std::fprintf(stderr, "cannot connect: %s", why.c_str());
    return 3;
  }
  Run run(command, std::move(server), std::move(reference));
  if (!run.prepare()) return 3;
  const auto start = std::chrono::steady_clock::now();
  run.run();
  const std::string text =
      run.report(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  run.remove_schema();
  if (command.report.empty()) {
    std::fputs(text.c_str(), stdout);
  } else {
    std::FILE* file = std::fopen(command.report.c_str(), "w");
    if (file == nullptr || std::fputs(text.c_str(), file) < 0 || std::fclose(file) != 0) {
      std::fprintf(stderr, "cannot write %s\n", command.report.c_str());
      return 2;
    }
    std::fputs(text.substr(0, text.find('\n') + 1).c_str(), stdout);
  }
  return run.all_explained() ? 0 : 1;
}

}  // namespace namdb::sqltest
