// The serializable protocols: reads are validated, a lock that was not taken is not held, and the journal
// names the stamp under which records are locked.
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "common/base/checksum.h"
#include "common/layout/record_trailer.h"
#include "common/layout/timestamp_floors.h"
#include "memory/coordinator/slots.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

layout::RecordLayout record_layout() {
  return {.payload_bytes = register_schema().row_bytes(), .ring_slots = 0};
}

// Validation sees the header word that this compute server read last with the record, not the current one.
class ReadsBelieved final : public Mutant {
 public:
  void after(Posting& posting) override {
    for (const fabric::Operation& operation : posting.operations) {
      if (operation.kind != fabric::OperationKind::read) continue;
      const std::tuple place(posting.compute, posting.server, operation.remote_offset);
      if (operation.length_bytes == record_layout().current_bytes())
        seen_[place] = layout::load_word(operation.local);
      const auto seen = seen_.find(place);
      if (operation.length_bytes == 8 && seen != seen_.end())
        layout::store_word(operation.local, seen->second);
    }
  }

 private:
  std::map<std::tuple<std::size_t, std::size_t, std::uint64_t>, std::uint64_t> seen_;
};

// Every lock that is requested together with the record is reported as taken.
class LockAlongBelieved final : public Mutant {
 public:
  void after(Posting& posting) override {
    for (std::size_t i = 0; i + 1 < posting.operations.size(); ++i) {
      const fabric::Operation& cas = posting.operations[i];
      const fabric::Operation& read = posting.operations[i + 1];
      if (cas.kind != fabric::OperationKind::compare_and_swap || read.remote_offset != cas.remote_offset ||
          read.length_bytes < record_layout().current_bytes()) {
        continue;
      }
      layout::store_word(cas.local, cas.expected);
      layout::store_word(read.local, cas.operand);
    }
  }
};

// A journal entry names no other lock than the commit's stamp.
class LockNotInJournal final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (fabric::Operation& operation : posting.operations) {
      if (!Look::journal(operation)) continue;
      const std::span<std::byte> entry = Look::copy_journal(posting, operation);
      layout::store_word(entry.data() + 16, layout::load_word(entry.data() + 16) & 0xffffffff);
      Look::seal_journal(entry, posting.server);
    }
  }
};

// Timestamps: the writer of a row sees no lease of its readers.
class LeasesNotSeen final : public Mutant {
 public:
  void after(Posting& posting) override {
    for (const fabric::Operation& operation : posting.operations) {
      if (operation.kind != fabric::OperationKind::read) continue;
      const std::pair record(posting.server, operation.remote_offset);
      if (operation.length_bytes == record_layout().current_bytes()) records_.insert(record);
      const std::pair leased(posting.server, operation.remote_offset - layout::lease_offset(record_layout()));
      if (operation.length_bytes == 8 && records_.contains(leased)) layout::store_word(operation.local, 0);
    }
  }

 private:
  std::set<std::pair<std::size_t, std::uint64_t>> records_;
};

// Timestamps: transactions do not see floors that others have raised.
class FloorsNotSeen final : public Mutant {
 public:
  void after(Posting& posting) override {
    for (const fabric::Operation& operation : posting.operations) {
      if (operation.kind == fabric::OperationKind::read &&
          operation.remote_offset == layout::kForgottenTimestamp_offset)
        std::memset(operation.local, 0, operation.length_bytes);
    }
  }
};

// Readers share locks, but the writer of a row does not see them.
class ReadersNotSeen final : public Mutant {
 public:
  void after(Posting& posting) override {
    const layout::RecordLayout record = shared_layout();
    const std::uint32_t words_bytes = record.locked_bytes() - record.reader_offset(0);
    for (const fabric::Operation& operation : posting.operations) {
      // With the record behind the CAS that locks it, or with the word of the waiting transaction alone.
      if (operation.kind == fabric::OperationKind::read &&
          (operation.length_bytes == record.locked_bytes() || operation.length_bytes == 8 + words_bytes))
        std::memset(operation.local + operation.length_bytes - words_bytes, 0, words_bytes);
    }
  }

 private:
  static layout::RecordLayout shared_layout() {
    layout::RecordLayout record = record_layout();
    record.reader_words = layout::kReaderWords;
    return record;
  }
};

// The word of a reader whose slot is closed is not cleared.
class DeadReadersStay final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (fabric::Operation& operation : posting.operations) {
      const layout::HeaderWord word(operation.expected);
      if (operation.kind != fabric::OperationKind::compare_and_swap || operation.operand != 0 ||
          !word.locked())
        continue;
      const memory::Slot* const slot = cluster().memory(0).server->slots()->find(word.stamp().slot);
      if (slot == nullptr || slot->state == memory::SlotState::closed) operation.operand = operation.expected;
    }
  }
};

// DrTM: the records that have been READ with their leases.
class LeasedRecords : public Mutant {
 protected:
  static std::uint32_t read_bytes() { return record_layout().current_bytes() + 8; }
  void note(const Posting& posting, const fabric::Operation& operation) {
    if (operation.kind == fabric::OperationKind::read && operation.length_bytes == read_bytes())
      records_.insert({posting.server, operation.remote_offset});
  }
  bool is_lease(const Posting& posting, const fabric::Operation& operation) const {
    return records_.contains(
        {posting.server, operation.remote_offset - layout::lease_offset(record_layout())});
  }

 private:
  std::set<std::pair<std::size_t, std::uint64_t>> records_;
};

// The writer of a row sees no lease of its readers.
class ReadLeasesNotSeen final : public LeasedRecords {
 public:
  void after(Posting& posting) override {
    for (const fabric::Operation& operation : posting.operations) {
      if (operation.kind != fabric::OperationKind::read) continue;
      note(posting, operation);
      if (operation.length_bytes == read_bytes())
        layout::store_word(operation.local + layout::lease_offset(record_layout()), 0);
      if (operation.length_bytes == 8 && is_lease(posting, operation)) layout::store_word(operation.local, 0);
    }
  }
};

// A lease ends earlier than its reader believes.
class LeasesTrustedTooLong final : public LeasedRecords {
 public:
  void before(Posting& posting) override {
    for (fabric::Operation& operation : posting.operations) {
      note(posting, operation);
      if (operation.kind == fabric::OperationKind::compare_and_swap && is_lease(posting, operation))
        operation.operand -= 2 * kMillisecond_ns;
    }
  }
};

std::function<void(Scenario&)> under(const char* protocol) {
  return [protocol](Scenario& scenario) { scenario.cluster.memory.protocol = protocol; };
}

std::function<void(Scenario&)> sharing_under(const char* protocol) {
  return [protocol](Scenario& scenario) {
    scenario.cluster.memory.protocol = protocol;
    scenario.cluster.memory.shared_read_locks = true;
  };
}

// Most rows are not there at first.
std::function<void(Scenario&)> new_rows_under(const char* protocol) {
  return [protocol](Scenario& scenario) {
    scenario.cluster.memory.protocol = protocol;
    scenario.resize({.clients = 6, .keys = 20});
    scenario.workload_options.absent_keys = 18;
    scenario.workload_options.keys_per_transaction = 4;
  };
}

}  // namespace

std::vector<MutantCase> serializable_mutants() {
  return {
      {"reads are not validated", "compute/commit/read_set.cc", Emphasis::snapshots, 5, "write skew",
       make_mutant<ReadsBelieved>, nullptr, under("occ")},
      {"a lock that was posted with a READ and was not taken counts as taken",
       "compute/protocol/two_phase_locking/two_phase_locking.cc", Emphasis::snapshots, 16, "lost update",
       make_mutant<LockAlongBelieved>, nullptr, under("nowait")},
      {"the applier does not learn under which stamp records are locked", "common/layout/journal.cc",
       Emphasis::kills, 53, "missed a write that its reads depend on", make_mutant<LockNotInJournal>, nullptr,
       under("nowait")},
      {"under WAITDIE, a lock that was posted with a READ and was not taken counts as taken",
       "compute/protocol/two_phase_locking/two_phase_locking.cc", Emphasis::snapshots, 8, "lost update",
       make_mutant<LockAlongBelieved>, nullptr, under("waitdie")},
      {"under WAITDIE, the applier does not learn under which stamp records are locked",
       "common/layout/journal.cc", Emphasis::kills, 281, "missed a write that its reads depend on",
       make_mutant<LockNotInJournal>, nullptr, under("waitdie")},
      {"a writer does not look at the readers that share a row",
       "compute/protocol/two_phase_locking/shared_locks.cc", Emphasis::snapshots, 7, "write skew",
       make_mutant<ReadersNotSeen>, nullptr, sharing_under("nowait")},
      {"under WAITDIE, a writer does not look at the readers that share a row",
       "compute/protocol/two_phase_locking/shared_locks.cc", Emphasis::snapshots, 2, "write skew",
       make_mutant<ReadersNotSeen>, nullptr, sharing_under("waitdie")},
      {"the words of dead readers are not cleared", "compute/recovery/dead_locks.cc", Emphasis::kills, 3,
       "a row stays out of reach", make_mutant<DeadReadersStay>, nullptr, sharing_under("nowait")},
      {"a lease is raised without a look at the row",
       "compute/protocol/timestamp_ordering/timestamp_ordering.cc", Emphasis::snapshots, 3, "write skew",
       make_mutant<ReadsBelieved>, nullptr, under("sundial")},
      {"a writer does not look at the leases of what it displaces",
       "compute/protocol/timestamp_ordering/timestamp_ordering.cc", Emphasis::snapshots, 4, "write skew",
       make_mutant<LeasesNotSeen>, nullptr, under("sundial")},
      {"under MVCC, a lease is raised without a look at the row",
       "compute/protocol/timestamp_ordering/timestamp_ordering.cc", Emphasis::snapshots, 1, "write skew",
       make_mutant<ReadsBelieved>, nullptr, under("mvcc")},
      {"under MVCC, a writer does not look at the leases of what it displaces",
       "compute/protocol/timestamp_ordering/timestamp_ordering.cc", Emphasis::snapshots, 2, "write skew",
       make_mutant<LeasesNotSeen>, nullptr, under("mvcc")},
      {"a writer does not look at the floor of timestamps",
       "compute/protocol/timestamp_ordering/timestamp_ordering.cc", Emphasis::snapshots, 153,
       "no serial order explains", make_mutant<FloorsNotSeen>, nullptr, new_rows_under("sundial")},
      {"under MVCC, a writer does not look at the floor of timestamps",
       "compute/protocol/timestamp_ordering/timestamp_ordering.cc", Emphasis::snapshots, 68,
       "no serial order explains", make_mutant<FloorsNotSeen>, nullptr, new_rows_under("mvcc")},
      {"a writer does not look at the read lease of a row", "compute/protocol/drtm/drtm.cc",
       Emphasis::snapshots, 2, "write skew", make_mutant<ReadLeasesNotSeen>, nullptr, under("drtm")},
      {"a read lease is trusted past its end", "compute/protocol/drtm/read_leases.cc", Emphasis::snapshots, 4,
       "write skew", make_mutant<LeasesTrustedTooLong>, nullptr, under("drtm")},
  };
}

}  // namespace namdb::sim
