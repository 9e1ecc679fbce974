#include "tools/namsim/workloads/ledger.h"

#include <algorithm>
#include <set>

namespace namdb::sim {
namespace {

// Beyond so many possible values only their bounds are checked.
constexpr std::size_t kMost_values = 20'000;

std::int64_t amount(const Ledger::Changes& changes, Ledger::Account account) {
  std::int64_t sum = 0;
  for (const auto& [changed, by] : changes) sum += changed == account ? by : 0;
  return sum;
}

}  // namespace

void Ledger::restart() {
  std::erase_if(entries_, [](const auto& entry) { return entry.second.end_ns != ~std::uint64_t{0}; });
  doubt();
}

void Ledger::doubt() {
  for (auto& [entry, change] : entries_) {
    change.carried = true;
    change.end_ns = ~std::uint64_t{0};
  }
}

Ledger::Entry Ledger::begin(std::uint64_t now_ns, std::vector<Changes> alternatives) {
  entries_[next_] = {.begin_ns = now_ns, .alternatives = std::move(alternatives)};
  return next_++;
}

void Ledger::committed(Entry entry, std::uint64_t now_ns, Changes changes) {
  Change& change = entries_.at(entry);
  change.alternatives = {std::move(changes)};
  if (!change.carried) change.end_ns = now_ns;
}

std::string Ledger::check(Account account, std::int64_t value, std::uint64_t begin_ns,
                          std::uint64_t end_ns) const {
  const auto opened = opening_.find(account);
  std::int64_t certain = opened == opening_.end() ? 0 : opened->second;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  std::set<std::int64_t> possible{0};
  for (const auto& [entry, change] : entries_) {
    if (change.end_ns < begin_ns) {
      certain += amount(change.alternatives.front(), account);
      continue;
    }
    if (change.begin_ns > end_ns) continue;
    std::set<std::int64_t> amounts{0};
    for (const Changes& alternative : change.alternatives) amounts.insert(amount(alternative, account));
    if (amounts.size() == 1) continue;
    lowest += *amounts.begin();
    highest += *amounts.rbegin();
    if (possible.size() * amounts.size() > kMost_values) possible.clear();
    std::set<std::int64_t> sums;
    for (const std::int64_t sum : possible) {
      for (const std::int64_t by : amounts) sums.insert(sum + by);
    }
    possible = std::move(sums);
  }
  const std::int64_t change = value - certain;
  if (possible.empty() ? change >= lowest && change <= highest : possible.contains(change)) return {};
  return std::to_string(value) + " instead of " + std::to_string(certain) + ", give or take what is open (" +
         std::to_string(lowest) + " to " + std::to_string(highest) + ")";
}

}  // namespace namdb::sim
