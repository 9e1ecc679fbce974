// The possible sums over rows that many clients change, some of which never learn whether they did.
//
// Each change is entered before it is tried, with every amount that it may turn out to be, and settled when
// its outcome is known. A snapshot that was taken within a span of time shows all changes that were
// acknowledged before the span, none that began after it, and any selection of the others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace namdb::sim {

class Ledger {
 public:
  using Account = std::uint64_t;
  using Changes = std::vector<std::pair<Account, std::int64_t>>;
  using Entry = std::uint64_t;

  void open(Account account, std::int64_t value) { opening_[account] = value; }
  // All is as after open(). A change that is not settled yet may belong to the accounts before or to these.
  void restart();
  // The same for changes that were entered since then.
  void doubt();

  // The change is one of `alternatives`, or does not happen.
  Entry begin(std::uint64_t now_ns, std::vector<Changes> alternatives);
  void aborted(Entry entry) { entries_.erase(entry); }
  // The change has happened, and it is this one.
  void committed(Entry entry, std::uint64_t now_ns, Changes changes);

  // A complaint if no snapshot that was taken between the two times can show the account with this value.
  std::string check(Account account, std::int64_t value, std::uint64_t begin_ns, std::uint64_t end_ns) const;

 private:
  struct Change {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = ~std::uint64_t{0};  // acknowledged
    bool carried = false;                      // over a restart
    std::vector<Changes> alternatives;
  };
  std::map<Account, std::int64_t> opening_;
  std::map<Entry, Change> entries_;
  Entry next_ = 0;
};

}  // namespace namdb::sim
