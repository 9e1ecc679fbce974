// Whether the answers to a permutation are serializable: in some serial order, its transactions that did not
// end with a conflict get the same answers. The server itself is asked what those are, so that a spec needs
// no other expected answers for serializable protocols.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/sqltest/isolation_runner.h"

namespace namdb::sqltest {

// The steps of a session from where its block begins, or a single one, to the end of the block.
struct StepTransaction {
  std::size_t session = 0;
  std::vector<std::size_t> steps;
  std::vector<std::string> answers;
  std::size_t sent = 0;      // the first step
  std::size_t answered = 0;  // the last one
  bool first = false;        // of its session
  // Counts: it has ended, neither with a conflict (40001) nor because its client wanted it to.
  bool counts = false;
};

// `begun`: for each session, whether its setup has opened a block.
std::vector<StepTransaction> transactions_of(const IsolationSpec& spec, const PermutationOutcome& outcome,
                                             const std::vector<bool>& begun);

class SerialOrders {
 public:
  // `strict`: a transaction that was answered before another one was sent comes before it, also if they are
  // of different sessions.
  SerialOrders(const IsolationSpec& spec, IsolationRunner& runner, bool strict)
      : spec_(spec), runner_(runner), strict_(strict) {}

  struct Verdict {
    std::string mistake;  // empty: there is such an order
    std::size_t counted = 0;
    std::size_t conflicts = 0;  // transactions that ended with one
  };
  // Runs the permutation, then as many serial orders as it takes. Error connection_failure.
  Result<Verdict> judge(const Permutation& permutation);

 private:
  // The transactions' answers, and what is there in the end.
  using Answers = std::vector<std::string>;
  struct Search;
  Result<Answers> ask(const std::vector<const StepTransaction*>& order,
                      const std::vector<std::size_t>& rolled_back);
  // Whether the transactions, in that order, are the beginning of one that has the answers.
  Result<bool> fits(Search& search, const std::vector<std::size_t>& order);
  Result<bool> find_order(Search& search);
  Result<bool> extend(Search& search, std::vector<std::size_t>& order);

  const IsolationSpec& spec_;
  IsolationRunner& runner_;
  bool strict_;
  std::map<std::vector<std::size_t>, Answers> known_;  // by steps, and who was rolled back before them
};

}  // namespace namdb::sqltest
