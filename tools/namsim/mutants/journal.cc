// The journal: complete before anything is installed, and not overwritten before it is done with.
#include <map>

#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

constexpr std::uint32_t kPosition_offset = 24;  // in an entry

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
      const std::span<std::byte> entry = Look::copy_journal(posting, operation);
      const std::uint64_t position = layout::load_word(entry.data() + kPosition_offset);
      const Place& first =
          places_.try_emplace(stamp->slot, Place{position, operation.remote_offset}).first->second;
      layout::store_word(entry.data() + kPosition_offset, first.position);
      Look::seal_journal(entry, posting.server);
      operation.remote_offset = first.offset;
    }
  }

 private:
  struct Place {
    std::uint64_t position;
    std::uint64_t offset;
  };
  std::map<std::uint32_t, Place> places_;
};

}  // namespace

std::vector<MutantCase> journal_mutants() {
  return {
      {"a commit is installed and acknowledged without its journal entry", "compute/commit/commit.cc",
       Emphasis::kills, 2, "a row stays out of reach", make_mutant<NoJournal>},
      {"a journal entry overwrites one that is still needed", "compute/txn/journal_streams.cc",
       Emphasis::kills, 117, "the clients did not finish", make_mutant<OneJournalPlace>},
  };
}

}  // namespace namdb::sim
