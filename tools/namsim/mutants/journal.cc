// The journal: complete before anything is installed, and not overwritten before it is done with.
#include <cstring>
#include <map>

#include "common/base/checksum.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

// Commits go on without a journal entry.
class NoJournal final : public Mutant {
 public:
  void before(Posting& posting) override {
    std::erase_if(posting.operations,
                  [](const fabric::Operation& operation) { return Look::journal(operation).has_value(); });
  }
};

// Every entry of a slot goes to the journal's beginning, where that of an unfinished commit may stand.
class OneJournalPlace final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (fabric::Operation& operation : posting.operations) {
      const auto stamp = Look::journal(operation);
      if (!stamp) continue;
      const auto place = places_.try_emplace(stamp->slot, operation.remote_offset).first->second;
      const std::uint32_t length = operation.length_bytes;
      posting.buffers.emplace_back(*posting.pool, length);
      std::byte* const copy = posting.buffers.back().data();
      std::memcpy(copy, operation.local, length);
      const layout::GlobalAddress address(static_cast<layout::ServerId>(posting.server), place);
      layout::store_word(copy + length - 8, checksum64({copy, length - 8}, address.value));
      operation.local = copy;
      operation.remote_offset = place;
    }
  }

 private:
  std::map<std::uint32_t, std::uint64_t> places_;
};

}  // namespace

std::vector<MutantCase> journal_mutants() {
  return {
      {"a commit is installed and acknowledged without its journal entry", "compute/commit/commit.cc",
       Emphasis::kills, 27, "a row stays out of reach", make_mutant<NoJournal>},
      {"a journal entry overwrites one that is still needed", "compute/txn/execution_slot.cc",
       Emphasis::kills, 1247, "the clients did not finish", make_mutant<OneJournalPlace>},
  };
}

}  // namespace namdb::sim
