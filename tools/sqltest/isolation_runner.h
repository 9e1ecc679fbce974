// Runs isolation specs: sends the steps of a permutation, each on its session's connection, and writes down
// what they answered in the lines that a spec expects.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/sqltest/corpus.h"
#include "tools/sqltest/isolation_spec.h"

namespace namdb::sqltest {

// A connection that may be asked without waiting for the answer.
class StepClient {
 public:
  virtual ~StepClient() = default;
  // One simple query. Nothing else of this client is under way. Failures come as an answer.
  virtual void send(const std::string& sql) = 0;
  // Whether the answer is there, or comes within that time.
  virtual bool answers_within(std::chrono::milliseconds patience) = 0;
  // The answers of its statements. None: no answer came for so long, and the connection is given up. A broken
  // connection answers with the error -----.
  virtual std::optional<std::vector<Outcome>> answer(std::chrono::milliseconds patience) = 0;
  // Whether a block is open, failed or not.
  virtual bool in_block() = 0;
  virtual bool broken() = 0;
};

struct IsolationRunOptions {
  // To a server, from 0. Null when it cannot be reached.
  std::function<std::unique_ptr<StepClient>(std::size_t server)> open;
  std::size_t servers = 1;
  // Nothing waits for locks: a step without an answer after so long has failed.
  std::chrono::milliseconds patience{60'000};
};

// A step that was answered. Times count what the runner has sent and received.
struct StepAnswer {
  std::size_t step = 0;
  std::string shown;
  bool in_block = false;  // is a block open behind it
  std::size_t sent = 0;
  std::size_t answered = 0;
};

struct PermutationOutcome {
  std::vector<std::string> lines;  // as a spec expects them
  std::vector<std::string> notes;  // the messages of errors
  std::vector<StepAnswer> answers;
  std::string check;
};

// Keeps the connections of a spec's sessions from one permutation to the next.
class IsolationRunner {
 public:
  IsolationRunner(const IsolationSpec& spec, IsolationRunOptions options);

  // Tears down only tables of its own setup: if the setup fails, a table of that name may belong to another
  // user, and nothing is dropped. Error connection_failure: a server cannot be reached.
  Result<PermutationOutcome> run(const Permutation& permutation);
  // The same where steps may wait for other sessions: one that is not answered within `turn` is left behind,
  // and with it the later ones of its session. When no more answers come, the sessions that have no steps
  // left are rolled back, since the others wait for them.
  Result<PermutationOutcome> run_with_waits(const Permutation& permutation, std::chrono::milliseconds turn);
  // Steps one after the other, after these sessions have rolled back what their setup began. `settled`: each
  // session sees what the others have done, also where its server's clock is behind.
  Result<PermutationOutcome> run_in_turn(const std::vector<std::size_t>& steps,
                                         const std::vector<std::size_t>& rolled_back, bool settled);

 private:
  class Waits;
  // Whether every step was answered.
  using RunSteps = std::function<bool(PermutationOutcome& outcome)>;
  Result<PermutationOutcome> run_around(const RunSteps& run_steps);
  Status connect();
  std::optional<std::vector<Outcome>> ask(StepClient& client, const std::string& sql);
  // Runs a statement outside of the permutation; whether it succeeded, else a line says what went wrong.
  bool prepare(StepClient& client, const std::string& name, const std::string& sql,
               PermutationOutcome& outcome);
  bool run_steps(const Permutation& permutation, PermutationOutcome& outcome);
  void tear_down(PermutationOutcome& outcome);
  // Sends it; when that was.
  std::size_t send(std::size_t step);
  // Waits for the answer; whether there was one.
  bool collect(std::size_t step, std::size_t sent, PermutationOutcome& outcome);
  // Whether there was an answer.
  bool record(const std::string& name, const std::optional<std::vector<Outcome>>& answer,
              PermutationOutcome& outcome);

  const IsolationSpec& spec_;
  IsolationRunOptions options_;
  std::size_t time_ = 0;
  std::unique_ptr<StepClient> control_;                // setup, teardown and check
  std::vector<std::unique_ptr<StepClient>> sessions_;  // as the spec's
};

// An answer's line without the step's name.
std::string shown(const std::vector<Outcome>& answer);

// Both, line by line, those that only one has marked with - (expected) and + (answered).
std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& answered);

}  // namespace namdb::sqltest
