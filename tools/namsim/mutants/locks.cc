// Locks: everything that is written was locked by a CAS that succeeded, and only what was taken is released.
#include <algorithm>
#include <cstring>
#include <map>

#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

using fabric::Operation;

std::uint64_t word_at(const std::byte* bytes) {
  return layout::load_word(bytes);
}

// A CAS that failed counts as a lock: the record is written, or released, all the same.
class FailedLockTaken final : public Mutant {
 public:
  void after(Posting& posting) override {
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (Look::any_record_lock(posting, i))
        layout::store_word(posting.asked[i].local, posting.asked[i].expected);
    }
  }
};

// The same for the lock word of a bucket chain.
class ChainUnlocked final : public Mutant {
 public:
  void after(Posting& posting) override {
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (Look::chain_lock(posting, i)) layout::store_word(posting.asked[i].local, posting.asked[i].expected);
    }
  }
};

// An abort releases every lock that it wanted, not only those that it got.
class ForeignLockReleased final : public Mutant {
 public:
  void before(Posting& posting) override {
    auto& due = due_[{posting.compute, posting.server}];
    for (const auto& [offset, word] : due) posting.write(offset, posting.word(word), 8);
    due.clear();
  }
  void after(Posting& posting) override {
    const Look look(cluster());
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      const Operation& cas = posting.asked[i];
      if (look.record_lock(posting, i) && word_at(cas.local) != cas.expected)
        due_[{posting.compute, posting.server}][cas.remote_offset] = cas.expected;
    }
  }

 private:
  std::map<std::pair<std::size_t, std::size_t>, std::map<std::uint64_t, std::uint64_t>> due_;
};

// The last lock of a server's batch is asked for only with the installation, behind the journal entry.
class LockBehindJournal final : public Mutant {
 public:
  void before(Posting& posting) override {
    const Look look(cluster());
    auto& held = held_[{posting.compute, posting.server}];
    for (std::size_t i = posting.asked.size(); i-- > 0;) {
      if (!look.record_lock(posting, i)) continue;
      held[posting.asked[i].operand] = posting.asked[i];
      posting.operations.erase(posting.operations.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    for (std::size_t i = 0; i < posting.operations.size(); ++i) {
      Operation& operation = posting.operations[i];
      if (operation.kind != fabric::OperationKind::write || operation.length_bytes != 8) continue;
      const auto cas = std::find_if(held.begin(), held.end(), [&](const auto& entry) {
        return entry.second.remote_offset == operation.remote_offset;
      });
      if (cas == held.end()) continue;
      Operation late = cas->second;
      const bool install = Look::install_end(posting.operations, i);
      held.erase(cas);
      if (!install) {  // an abort: nothing to release
        posting.operations.erase(posting.operations.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
      late.local = posting.word(0);
      posting.operations.front().fence = true;
      posting.operations.insert(posting.operations.begin(), late);
      return;
    }
  }
  void after(Posting& posting) override {
    const Look look(cluster());
    for (std::size_t i = posting.asked.size(); i-- > 0;) {
      if (!look.record_lock(posting, i)) continue;
      layout::store_word(posting.asked[i].local, posting.asked[i].expected);
      return;
    }
  }

 private:
  // By the lock word that is wanted.
  std::map<std::pair<std::size_t, std::size_t>, std::map<std::uint64_t, Operation>> held_;
};

// The header is released before the record's other WRITEs.
class HeaderFirst final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (std::size_t i = 3; i < posting.operations.size(); ++i) {
      if (!Look::install_end(posting.operations, i)) continue;
      const auto at = posting.operations.begin() + static_cast<std::ptrdiff_t>(i);
      std::rotate(at - 3, at, at + 1);
    }
  }
};

// The WRITEs of a batch leave from one buffer: each is prepared in it while those before are under way.
class BufferUsedAgain final : public Mutant {
 public:
  void before(Posting& posting) override {
    std::uint32_t longest = 0;
    for (const Operation& operation : posting.operations) {
      if (operation.kind != fabric::OperationKind::write) return;
      longest = std::max(longest, operation.length_bytes);
    }
    if (longest == 0) return;
    posting.buffers.emplace_back(*posting.pool, longest);
    std::byte* const shared = posting.buffers.back().data();
    for (Operation& operation : posting.operations) {
      std::memcpy(shared, operation.local, operation.length_bytes);
      operation.local = shared;
    }
  }
};

}  // namespace

std::vector<MutantCase> lock_mutants() {
  const char* const commit = "compute/commit/commit.cc";
  return {
      {"a lock that was not taken counts as taken", commit, Emphasis::snapshots, 6, "lost update",
       make_mutant<FailedLockTaken>},
      {"an insert goes on without the chain's lock", "compute/commit/chain_locks.cc", Emphasis::inserts, 1,
       "is not linked", make_mutant<ChainUnlocked>},
      {"an abort releases a lock that it did not get", commit, Emphasis::snapshots, 16, "lost update",
       make_mutant<ForeignLockReleased>},
      {"the journal entry is written before the last lock", commit, Emphasis::snapshots, 4, "lost update",
       make_mutant<LockBehindJournal>},
      {"the header is released before the body is written", commit, Emphasis::kills, 7,
       "a row stays out of reach", make_mutant<HeaderFirst>},
      {"a buffer is used again while a WRITE from it is under way", "common/fabric/fabric.h",
       Emphasis::snapshots, 1, "is damaged", make_mutant<BufferUsedAgain>},
  };
}

}  // namespace namdb::sim
