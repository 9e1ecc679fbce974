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

// An entry is sealed for its place in the ring, whichever lap it belongs to.
class LapNotSealed final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (fabric::Operation& operation : posting.operations) {
      const auto stamp = Look::journal(operation);
      if (!stamp) continue;
      const memory::JournalStream* const stream =
          cluster().memory(posting.server).server->journals().find(stamp->slot);
      if (stream == nullptr) continue;
      const std::span<std::byte> entry = Look::copy_journal(posting, operation);
      layout::store_word(entry.data() + kPosition_offset, operation.remote_offset - stream->ring().offset);
      Look::seal_journal(entry, posting.server);
    }
  }
};

// Each slot's stream goes through its ring several times, and its host reads all of it.
void small_durable_journals(Scenario& scenario) {
  scenario.resize({.memory_servers = 1});
  scenario.make_durable();
  scenario.cluster.memory.journal_bytes = 4U << 10;
}

}  // namespace

std::vector<MutantCase> journal_mutants() {
  return {
      {"a commit is installed and acknowledged without its journal entry", "compute/commit/commit.cc",
       Emphasis::kills, 1, "a row stays out of reach", make_mutant<NoJournal>},
      {"a journal entry overwrites one that is still needed", "compute/txn/journal_streams.cc",
       Emphasis::kills, 15, "was lost during commit", make_mutant<OneJournalPlace>},
      {"a journal entry is sealed without its position in the stream", "common/layout/journal.cc",
       Emphasis::none, 3, "was lost during commit", make_mutant<LapNotSealed>, nullptr,
       small_durable_journals},
  };
}

}  // namespace namdb::sim
