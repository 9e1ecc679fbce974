#include "tools/sqltest/isolation_runner.h"

#include <algorithm>
#include <sstream>

namespace namdb::sqltest {
namespace {

std::string shown(const Outcome& outcome) {
  if (!outcome.sqlstate.empty()) return "error " + outcome.sqlstate;
  if (outcome.names.empty()) return outcome.tag.empty() ? "nothing" : outcome.tag;
  if (outcome.rows.empty()) return "no rows";
  std::string text;
  for (const auto& row : outcome.rows) {
    std::string fields;
    for (std::size_t i = 0; i < row.size(); ++i) fields += (i == 0 ? "" : "|") + row[i].value_or("NULL");
    text += (text.empty() ? "" : ", ") + (fields.empty() ? std::string("\"\"") : fields);
  }
  return text;
}

bool failed(const std::vector<Outcome>& answer) {
  return answer.empty() || !answer.back().sqlstate.empty();
}

}  // namespace

std::string shown(const std::vector<Outcome>& answer) {
  std::string text;
  for (const Outcome& outcome : answer) text += (text.empty() ? "" : "; ") + shown(outcome);
  return text;
}

IsolationRunner::IsolationRunner(const IsolationSpec& spec, IsolationRunOptions options)
    : spec_(spec), options_(std::move(options)), sessions_(spec.sessions.size()) {}

Status IsolationRunner::connect() {
  const auto open = [this](std::unique_ptr<StepClient>& client, std::size_t server) {
    if (client == nullptr || client->broken()) client = options_.open(server % options_.servers);
    return client != nullptr;
  };
  bool connected = open(control_, 0);
  for (std::size_t i = 0; i < sessions_.size() && connected; ++i)
    connected = open(sessions_[i], spec_.sessions[i].server.value_or(i));
  return connected ? Status() : Status(ErrorCode::connection_failure, "a server cannot be reached");
}

std::optional<std::vector<Outcome>> IsolationRunner::ask(StepClient& client, const std::string& sql) {
  client.send(sql);
  return client.answer(options_.patience);
}

bool IsolationRunner::record(const std::string& name, const std::optional<std::vector<Outcome>>& answer,
                             PermutationOutcome& outcome) {
  if (!answer) {
    std::ostringstream seconds;
    seconds << std::chrono::duration<double>(options_.patience).count();
    outcome.lines.push_back(name + ": no answer within " + seconds.str() + " s");
    return false;
  }
  outcome.lines.push_back(name + ": " + shown(*answer));
  for (const Outcome& part : *answer) {
    if (!part.message.empty()) outcome.notes.push_back(name + ": " + part.message);
  }
  return true;
}

bool IsolationRunner::prepare(StepClient& client, const std::string& name, const std::string& sql,
                              PermutationOutcome& outcome) {
  if (sql.empty()) return true;
  const auto answer = ask(client, sql);
  if (answer && !failed(*answer)) return true;
  record(name, answer, outcome);
  return false;
}

std::size_t IsolationRunner::send(std::size_t step) {
  sessions_[spec_.steps[step].session]->send(spec_.steps[step].sql);
  return ++time_;
}

bool IsolationRunner::collect(std::size_t step, std::size_t sent, PermutationOutcome& outcome) {
  StepClient& client = *sessions_[spec_.steps[step].session];
  const auto answer = client.answer(options_.patience);
  if (!record(spec_.steps[step].name, answer, outcome)) return false;
  outcome.answers.push_back({step, shown(*answer), client.in_block(), sent, ++time_});
  return true;
}

bool IsolationRunner::run_steps(const Permutation& permutation, PermutationOutcome& outcome) {
  for (const PermutationStep& place : permutation.steps) {
    if (place.mode != StepMode::collect) send(place.step);
    if (place.mode != StepMode::send && !collect(place.step, time_, outcome)) return false;
  }
  return true;
}

// A connection that did not answer is given up: the server ends what it ran.
void IsolationRunner::tear_down(PermutationOutcome& outcome) {
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    StepClient& client = *sessions_[i];
    if (client.broken()) continue;
    const std::string name = spec_.sessions[i].name;
    if (client.in_block() && !prepare(client, name + "'s rollback", "ROLLBACK", outcome)) continue;
    prepare(client, name + "'s teardown", spec_.sessions[i].teardown, outcome);
  }
}

Result<PermutationOutcome> IsolationRunner::run(const Permutation& permutation) {
  return run_around([&](PermutationOutcome& outcome) { return run_steps(permutation, outcome); });
}

Result<PermutationOutcome> IsolationRunner::run_in_turn(const std::vector<std::size_t>& steps,
                                                        const std::vector<std::size_t>& rolled_back,
                                                        bool settled) {
  const auto settle = [&](PermutationOutcome& outcome) {
    return !settled || prepare(*control_, "a moment", "SELECT pg_sleep(0.01)", outcome);
  };
  return run_around([&](PermutationOutcome& outcome) {
    for (const std::size_t session : rolled_back) {
      if (!prepare(*sessions_[session], spec_.sessions[session].name + "'s rollback", "ROLLBACK", outcome))
        return false;
    }
    std::optional<std::size_t> last;  // session
    for (const std::size_t step : steps) {
      if (last != spec_.steps[step].session && !settle(outcome)) return false;
      last = spec_.steps[step].session;
      if (!collect(step, send(step), outcome)) return false;
    }
    return settle(outcome);
  });
}

Result<PermutationOutcome> IsolationRunner::run_around(const RunSteps& run_steps) {
  if (Status status = connect(); !status.ok()) return status;
  PermutationOutcome outcome;
  for (const std::string& sql : spec_.setup) {
    if (!prepare(*control_, "setup", sql, outcome)) return outcome;
  }
  bool ready = true;
  for (std::size_t i = 0; i < sessions_.size() && ready; ++i) {
    for (const std::string& sql : spec_.everywhere)
      ready = ready && prepare(*sessions_[i], "everywhere", sql, outcome);
    ready = ready &&
            prepare(*sessions_[i], spec_.sessions[i].name + "'s setup", spec_.sessions[i].setup, outcome);
  }
  const bool answered = ready && run_steps(outcome);
  if (!answered) sessions_.clear();
  sessions_.resize(spec_.sessions.size());
  if (answered) {
    tear_down(outcome);
    if (!spec_.check.empty()) {
      const auto answer = ask(*control_, spec_.check);
      record("check", answer, outcome);
      if (answer) outcome.check = shown(*answer);
    }
  }
  for (const std::string& sql : spec_.teardown) prepare(*control_, "teardown", sql, outcome);
  return outcome;
}

std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& answered) {
  // longest[i][j]: of what the two have in common from i and j on.
  std::vector<std::vector<std::size_t>> longest(expected.size() + 1,
                                                std::vector<std::size_t>(answered.size() + 1, 0));
  for (std::size_t i = expected.size(); i-- > 0;) {
    for (std::size_t j = answered.size(); j-- > 0;) {
      longest[i][j] = expected[i] == answered[j] ? longest[i + 1][j + 1] + 1
                                                 : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  std::string text;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < expected.size() || j < answered.size()) {
    if (i < expected.size() && j < answered.size() && expected[i] == answered[j]) {
      text += "    " + expected[i++] + "\n";
      ++j;
    } else if (j == answered.size() || (i < expected.size() && longest[i + 1][j] >= longest[i][j + 1])) {
      text += "  - " + expected[i++] + "\n";
    } else {
      text += "  + " + answered[j++] + "\n";
    }
  }
  return text;
}

}  // namespace namdb::sqltest
