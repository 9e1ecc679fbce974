#include "tools/namsim/history/versions.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>

namespace namdb::history {
namespace {

constexpr std::uint32_t kMissing = ~std::uint32_t{0};
// Of one kind; more of the same say nothing new.
constexpr std::uint32_t kReported = 10;

struct KeyVersion {
  Key key;
  Version version;
  friend bool operator==(const KeyVersion&, const KeyVersion&) = default;
};
struct KeyVersionHash {
  std::size_t operator()(const KeyVersion& of) const {
    std::uint64_t mixed = (of.key * 0x9e3779b97f4a7c15ULL) ^ (of.version + 0x7f4a7c15ULL);
    mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9ULL;
    return mixed ^ (mixed >> 32);
  }
};

// A version of another transaction that this one saw: it read it, or its first write of the key displaced it.
struct Observation {
  std::uint32_t transaction;
  std::uint32_t operation;
  Key key;
  Version version;     // 0 = initial
  std::size_t length;  // of a list, without the transaction's own appends
  bool displaces;
};

std::string named(std::size_t transaction) {
  return "T" + std::to_string(transaction);
}

class Finder {
 public:
  Finder(const History& history, bool all_reads)
      : history_(history), transactions_(history.transactions()), all_reads_(all_reads) {}

  Versions run() {
    versions_.effective.resize(transactions_.size());
    versions_.takes_part.resize(transactions_.size());
    index_writes();
    first_observation_.push_back(0);
    for (std::uint32_t i = 0; i < transactions_.size(); ++i) {
      observe(i);
      first_observation_.push_back(observations_.size());
    }
    find_effective();
    if (history_.model() == Model::registers) {
      order_registers();
    } else {
      order_lists();
    }
    for (std::uint32_t i = 0; i < transactions_.size(); ++i) {
      if (versions_.takes_part[i]) take_reads(i);
    }
    return std::move(versions_);
  }

 private:
  void add(AnomalyKind kind, std::string sentence, std::vector<std::size_t> transactions, Key key) {
    if (++found_[static_cast<std::size_t>(kind)] > kReported) return;
    versions_.anomalies.push_back({.kind = kind,
                                   .sentence = std::move(sentence),
                                   .transactions = std::move(transactions),
                                   .keys = {key}});
  }
  std::string version_text(Version version, Key key) const {
    const char* what = history_.model() == Model::registers ? "version " : "element ";
    return what + std::to_string(version) + " of key " + std::to_string(key);
  }

  // The entry, or kMissing; that of the initial version always exists.
  std::uint32_t entry(Key key, Version version) {
    if (version == 0) {
      const auto [found, fresh] =
          index_.try_emplace({key, 0}, static_cast<std::uint32_t>(versions_.entries.size()));
      if (fresh) versions_.entries.push_back({.key = key});
      return found->second;
    }
    const auto found = index_.find({key, version});
    return found == index_.end() ? kMissing : found->second;
  }

  void index_writes() {
    for (std::uint32_t i = 0; i < transactions_.size(); ++i) {
      for (const Operation& operation : transactions_[i].operations) {
        if (operation.kind != Operation::Kind::write) continue;
        entry(operation.key, 0);
        const auto [found, fresh] = index_.try_emplace({operation.key, operation.version},
                                                       static_cast<std::uint32_t>(versions_.entries.size()));
        if (fresh) {
          versions_.entries.push_back({.key = operation.key, .version = operation.version, .writer = i});
          continue;
        }
        const std::uint32_t writer = versions_.entries[found->second].writer;
        std::vector<std::size_t> both{i};
        if (writer != kNobody) both.insert(both.begin(), writer);
        add(AnomalyKind::duplicate_version,
            version_text(operation.version, operation.key) + " was written twice" +
                (writer == kNobody ? ": it is the initial one"
                                   : ", by " + named(writer) + " and " + named(i)),
            std::move(both), operation.key);
      }
    }
  }

  // Splits what a transaction read into its own writes and those of others.
  void observe(std::uint32_t i) {
    std::map<Key, std::vector<Version>> own;
    const std::vector<Operation>& operations = transactions_[i].operations;
    for (std::uint32_t position = 0; position < operations.size(); ++position) {
      const Operation& operation = operations[position];
      const bool writes = operation.kind == Operation::Kind::write;
      const auto mine = own.find(operation.key);
      if (history_.model() == Model::registers) {
        const Version seen = writes ? operation.displaced : operation.version;
        if (mine == own.end()) {
          observations_.push_back({i, position, operation.key, seen, 0, writes});
        } else if (seen != mine->second.back()) {
          not_own(i, operation.key, mine->second.back());
        }
      } else if (!writes) {
        const std::vector<Version>& list = operation.list;
        const std::size_t appended = mine == own.end() ? 0 : mine->second.size();
        if (appended > list.size() ||
            (appended > 0 && !std::equal(mine->second.begin(), mine->second.end(),
                                         list.end() - static_cast<std::ptrdiff_t>(appended)))) {
          not_own(i, operation.key, mine->second.back());
        } else {
          const std::size_t length = list.size() - appended;
          const Version last = length == 0 ? 0 : list[length - 1];
          observations_.push_back({i, position, operation.key, last, length, false});
        }
      }
      if (!writes) continue;
      if (mine != own.end()) {
        VersionEntry& before = versions_.entries[entry(operation.key, mine->second.back())];
        before.intermediate = true;
        if (history_.model() == Model::registers) before.next.push_back(i);
      }
      own[operation.key].push_back(operation.version);
    }
  }
  void not_own(std::uint32_t i, Key key, Version version) {
    add(AnomalyKind::internal,
        named(i) + " wrote " + version_text(version, key) + " and did not see it afterwards", {i}, key);
  }

  const std::vector<Version>& list_of(const Observation& seen) const {
    return transactions_[seen.transaction].operations[seen.operation].list;
  }

  // A transaction of unknown outcome is effective if a write of it was read.
  void find_effective() {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < transactions_.size(); ++i) {
      versions_.effective[i] = transactions_[i].outcome == Outcome::committed;
      if (versions_.effective[i] || all_reads_) open.push_back(i);
    }
    const auto saw = [&](std::uint32_t reader, Key key, Version version) {
      const std::uint32_t position = entry(key, version);
      if (position == kMissing) return;
      const std::uint32_t writer = versions_.entries[position].writer;
      if (writer == kNobody || writer == reader || versions_.effective[writer] ||
          transactions_[writer].outcome != Outcome::unknown)
        return;
      versions_.effective[writer] = true;
      open.push_back(writer);
    };
    while (!open.empty()) {
      const std::uint32_t reader = open.back();
      open.pop_back();
      for (std::size_t at = first_observation_[reader]; at < first_observation_[reader + 1]; ++at) {
        const Observation& seen = observations_[at];
        if (seen.displaces && !versions_.effective[reader]) continue;
        if (history_.model() == Model::registers) {
          saw(reader, seen.key, seen.version);
        } else {
          const std::vector<Version>& list = list_of(seen);
          for (std::size_t k = 0; k < seen.length; ++k) saw(reader, seen.key, list[k]);
        }
      }
    }
    for (std::uint32_t i = 0; i < transactions_.size(); ++i) {
      versions_.takes_part[i] =
          versions_.effective[i] || (all_reads_ && first_observation_[i] != first_observation_[i + 1]);
    }
  }

  // Whether a version that was seen can be ordered: a transaction that did not abort wrote it.
  bool check_seen(std::uint32_t reader, Key key, Version version, std::uint32_t position) {
    const std::string by = " was seen by " + named(reader);
    if (position == kMissing) {
      add(AnomalyKind::garbage_read, version_text(version, key) + by + ", and nobody wrote it", {reader},
          key);
      return false;
    }
    const std::uint32_t writer = versions_.entries[position].writer;
    if (writer == kNobody || writer == reader || transactions_[writer].outcome != Outcome::aborted)
      return true;
    add(AnomalyKind::aborted_read,
        version_text(version, key) + by + ", and its writer " + named(writer) + " aborted", {reader, writer},
        key);
    return false;
  }

  void order_registers() {
    for (const Observation& seen : observations_) {
      if (!seen.displaces || !versions_.effective[seen.transaction]) continue;
      const std::uint32_t position = entry(seen.key, seen.version);
      if (!check_seen(seen.transaction, seen.key, seen.version, position)) continue;
      std::vector<std::uint32_t>& next = versions_.entries[position].next;
      if (!next.empty()) {
        add(AnomalyKind::lost_update,
            named(next.front()) + " and " + named(seen.transaction) + " both displaced " +
                version_text(seen.version, seen.key),
            {next.front(), seen.transaction}, seen.key);
      }
      next.push_back(seen.transaction);
    }
  }

  void order_lists() {
    std::map<Key, const Observation*> longest;
    for (const Observation& seen : observations_) {
      if (!versions_.takes_part[seen.transaction]) continue;
      const Observation*& best = longest[seen.key];
      if (best == nullptr || seen.length > best->length) best = &seen;
    }
    for (const Observation& seen : observations_) {
      if (!versions_.takes_part[seen.transaction]) continue;
      const Observation& whole = *longest[seen.key];
      if (&seen == &whole) {
        check_elements(seen);
      } else if (!std::equal(list_of(seen).begin(),
                             list_of(seen).begin() + static_cast<std::ptrdiff_t>(seen.length),
                             list_of(whole).begin())) {
        check_elements(seen);
        add(AnomalyKind::incompatible_order,
            named(seen.transaction) + " and " + named(whole.transaction) + " read lists of key " +
                std::to_string(seen.key) + " that do not continue each other",
            {seen.transaction, whole.transaction}, seen.key);
      }
    }
    std::vector<bool> ordered(versions_.entries.size());
    std::map<Key, std::uint32_t> tail;
    for (const auto& [key, whole] : longest) {
      std::uint32_t last = entry(key, 0);
      for (std::size_t k = 0; k < whole->length; ++k) {
        const std::uint32_t next = entry(key, list_of(*whole)[k]);
        if (next == kMissing || ordered[next]) continue;
        ordered[next] = true;
        versions_.entries[last].next.push_back(versions_.entries[next].writer);
        last = next;
      }
      tail[key] = last;
    }
    // No element ever leaves a list: those that the longest read does not show come behind it.
    for (std::uint32_t position = 0; position < ordered.size(); ++position) {
      const VersionEntry& unseen = versions_.entries[position];
      if (ordered[position] || unseen.writer == kNobody || !versions_.effective[unseen.writer]) continue;
      const auto behind = tail.find(unseen.key);
      if (behind == tail.end()) continue;
      std::vector<std::uint32_t>& next = versions_.entries[behind->second].next;
      if (next.empty() || next.back() != unseen.writer) next.push_back(unseen.writer);
    }
  }
  void check_elements(const Observation& seen) {
    const std::vector<Version>& list = list_of(seen);
    std::vector<Version> sorted;
    for (std::size_t k = 0; k < seen.length; ++k) {
      check_seen(seen.transaction, seen.key, list[k], list[k] == 0 ? kMissing : entry(seen.key, list[k]));
      sorted.push_back(list[k]);
    }
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice == sorted.end()) return;
    add(AnomalyKind::duplicate_version,
        version_text(*twice, seen.key) + " was twice in the list that " + named(seen.transaction) + " read",
        {seen.transaction}, seen.key);
  }

  void take_reads(std::uint32_t i) {
    for (std::size_t at = first_observation_[i]; at < first_observation_[i + 1]; ++at) {
      const Observation& seen = observations_[at];
      if (seen.displaces) continue;
      const std::uint32_t position = entry(seen.key, seen.version);
      // Elements of lists were checked above.
      const bool usable = history_.model() == Model::registers
                              ? check_seen(i, seen.key, seen.version, position)
                              : position != kMissing;
      if (!usable) continue;
      const VersionEntry& read = versions_.entries[position];
      if (read.intermediate && read.writer != i) {
        add(AnomalyKind::intermediate_read,
            named(i) + " saw " + version_text(seen.version, seen.key) + ", which its writer " +
                named(read.writer) + " replaced before its end",
            {i, read.writer}, seen.key);
      }
      versions_.reads.push_back({i, position, seen.operation});
    }
  }

  const History& history_;
  const std::vector<Transaction>& transactions_;
  const bool all_reads_;
  Versions versions_;
  std::unordered_map<KeyVersion, std::uint32_t, KeyVersionHash> index_;
  std::vector<Observation> observations_;
  std::vector<std::size_t> first_observation_;  // by transaction, and the end
  std::array<std::uint32_t, 32> found_{};
};

}  // namespace

Versions find_versions(const History& history, bool all_reads) {
  return Finder(history, all_reads).run();
}

}  // namespace namdb::history
