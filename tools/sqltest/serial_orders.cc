#include "tools/sqltest/serial_orders.h"

#include <algorithm>
#include <numeric>

namespace namdb::sqltest {
namespace {

constexpr std::size_t kMostRuns = 200;
constexpr int kAttempts = 20;
// A step that takes longer may be one that waits for another session; if it is only slow, nothing is lost.
constexpr std::chrono::milliseconds kTurn{10};
constexpr std::string_view kConflict = "error 40001";

bool has_conflict(const std::vector<std::string>& answers) {
  return std::ranges::any_of(
      answers, [](const std::string& answer) { return answer.find(kConflict) != std::string::npos; });
}

bool failed(const std::string& answer) {
  return answer.find("error ") != std::string::npos;
}

}  // namespace

std::vector<StepTransaction> transactions_of(const IsolationSpec& spec, const PermutationOutcome& outcome,
                                             const std::vector<bool>& begun) {
  std::vector<StepTransaction> ended;
  std::vector<StepTransaction> open(spec.sessions.size());
  std::vector<bool> fresh = begun;
  for (const StepAnswer& answer : outcome.answers) {
    const std::size_t session = spec.steps[answer.step].session;
    StepTransaction& transaction = open[session];
    if (transaction.steps.empty()) {
      transaction.session = session;
      transaction.sent = answer.sent;
      transaction.first = fresh[session];
      fresh[session] = false;
    }
    transaction.steps.push_back(answer.step);
    transaction.answers.push_back(answer.shown);
    transaction.answered = answer.answered;
    if (answer.in_block) continue;
    const bool given_up = answer.shown == "ROLLBACK" && std::ranges::none_of(transaction.answers, failed);
    transaction.counts = !given_up && !has_conflict(transaction.answers);
    ended.push_back(std::exchange(transaction, {}));
  }
  for (StepTransaction& transaction : open) {
    if (!transaction.steps.empty()) ended.push_back(std::move(transaction));
  }
  return ended;
}

// Of one permutation.
struct SerialOrders::Search {
  std::vector<StepTransaction> kept;
  std::vector<std::size_t> rolled_back;
  std::string check;
  std::size_t runs_left = kMostRuns;
  std::string tried;  // how the first order differs
};

Result<SerialOrders::Answers> SerialOrders::ask(const std::vector<const StepTransaction*>& order,
                                                const std::vector<std::size_t>& rolled_back) {
  std::vector<std::size_t> steps;
  for (const StepTransaction* transaction : order)
    steps.insert(steps.end(), transaction->steps.begin(), transaction->steps.end());
  std::vector<std::size_t> key = steps;
  for (const std::size_t session : rolled_back) key.push_back(spec_.steps.size() + session);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  // Locks of others may be released a moment after they were answered.
  for (int attempt = 1;; ++attempt) {
    Result<PermutationOutcome> outcome = runner_.run_in_turn(steps, rolled_back, !strict_);
    if (!outcome.ok()) return outcome.status();
    Answers answers;
    for (const StepAnswer& answer : outcome->answers) answers.push_back(answer.shown);
    if (has_conflict(answers) && attempt < kAttempts) continue;
    answers.push_back(outcome->check);
    return known_[key] = answers;
  }
}

Result<bool> SerialOrders::fits(Search& search, const std::vector<std::size_t>& order) {
  std::vector<const StepTransaction*> transactions;
  std::vector<std::string> names;
  std::vector<std::string> answered;
  for (const std::size_t i : order) {
    const StepTransaction& transaction = search.kept[i];
    transactions.push_back(&transaction);
    for (const std::size_t step : transaction.steps) names.push_back(spec_.steps[step].name + ": ");
    answered.insert(answered.end(), transaction.answers.begin(), transaction.answers.end());
  }
  const bool whole = order.size() == search.kept.size();
  if (whole) names.emplace_back("check: ");
  if (whole) answered.push_back(search.check);
  Result<Answers> serial = ask(transactions, search.rolled_back);
  if (!serial.ok()) return serial.status();
  if (!whole) serial->pop_back();
  if (*serial == answered) return true;
  if (!search.tried.empty()) return false;
  for (std::size_t i = 0; i < std::min(serial->size(), names.size()); ++i) {
    (*serial)[i] = names[i] + (*serial)[i];
    answered[i] = names[i] + answered[i];
  }
  search.tried = difference(*serial, answered);
  return false;
}

Result<bool> SerialOrders::extend(Search& search, std::vector<std::size_t>& order) {
  if (order.size() == search.kept.size()) return true;
  for (std::size_t next = 0; next < search.kept.size(); ++next) {
    const auto comes_before_next = [&](std::size_t other) {
      const StepTransaction& one = search.kept[other];
      return one.answered < search.kept[next].sent && (strict_ || one.session == search.kept[next].session);
    };
    bool ready = std::ranges::find(order, next) == order.end();
    for (std::size_t other = 0; other < search.kept.size() && ready; ++other)
      ready = std::ranges::find(order, other) != order.end() || !comes_before_next(other);
    if (!ready) continue;
    if (search.runs_left == 0) return false;
    --search.runs_left;
    order.push_back(next);
    Result<bool> found = fits(search, order);
    if (found.ok() && *found) found = extend(search, order);
    if (!found.ok() || *found) return found;
    order.pop_back();
  }
  return false;
}

// First as they ended, then as they began, then all others.
Result<bool> SerialOrders::find_order(Search& search) {
  std::vector<std::size_t> order(search.kept.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t StepTransaction::* const time : {&StepTransaction::answered, &StepTransaction::sent}) {
    std::ranges::sort(order, {}, [&](std::size_t i) { return search.kept[i].*time; });
    Result<bool> found = fits(search, order);
    if (!found.ok() || *found) return found;
  }
  order.clear();
  return extend(search, order);
}

Result<SerialOrders::Verdict> SerialOrders::judge(const Permutation& permutation) {
  Result<PermutationOutcome> outcome = runner_.run_with_waits(permutation, kTurn);
  if (!outcome.ok()) return outcome.status();
  std::vector<bool> begun;
  for (const IsolationSession& session : spec_.sessions) begun.push_back(!session.setup.empty());
  Verdict verdict;
  if (outcome->answers.size() <
      permutation.steps.size() -
          std::ranges::count(permutation.steps, StepMode::collect, &PermutationStep::mode)) {
    verdict.mistake = "not every step was answered\n" + difference({}, outcome->lines);
    for (const std::string& note : outcome->notes) verdict.mistake += "  (" + note + ")\n";
    return verdict;
  }
  Search search;
  search.check = outcome->check;
  for (StepTransaction& transaction : transactions_of(spec_, *outcome, begun)) {
    if (has_conflict(transaction.answers)) ++verdict.conflicts;
    if (transaction.counts) {
      search.kept.push_back(std::move(transaction));
    } else if (transaction.first) {
      search.rolled_back.push_back(transaction.session);
    }
  }
  verdict.counted = search.kept.size();
  const Result<bool> found = find_order(search);
  if (!found.ok()) return found.status();
  if (!*found) {
    verdict.mistake =
        "no serial order has these answers; as the transactions ended, and what was answered:\n" +
        search.tried;
  }
  return verdict;
}

}  // namespace namdb::sqltest
