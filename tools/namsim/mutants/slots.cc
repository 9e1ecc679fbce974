// Slots: an id names one owner for ever, and its counters never come round.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "common/calls/journal_calls.h"
#include "proto/control.pb.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

// Alters the answers to LEASE_SLOT. The memory server hears of the slot that it leased, in calls about the
// slot and its journal.
class LeaseMutant : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    const std::string altered = of_leased_slot(peer, method, request);
    Status status = co_await inner->on_call(peer, method, altered, *reply);
    control::LeaseSlotReply lease;
    if (status.ok() && method == control::LEASE_SLOT && lease.ParseFromString(*reply)) {
      on_lease(peer, lease);
      *reply = lease.SerializeAsString();
    }
    co_return status;
  }

 protected:
  virtual void on_lease(fabric::PeerId peer, control::LeaseSlotReply& lease) = 0;
  virtual void on_close(fabric::PeerId peer, const control::CloseSlotRequest& close) {
    static_cast<void>(peer);
    static_cast<void>(close);
  }
  // The slot that the memory server leased to the peer, which takes it for that one.
  virtual std::uint32_t leased(fabric::PeerId peer, std::uint32_t slot) const {
    static_cast<void>(peer);
    return slot;
  }

 private:
  std::string of_leased_slot(fabric::PeerId peer, std::uint16_t method, std::string_view request) {
    std::string altered(request);
    control::CloseSlotRequest close;
    if (method == control::CLOSE_SLOT && close.ParseFromString(altered)) {
      on_close(peer, close);
      close.set_slot(leased(peer, close.slot()));
      return close.SerializeAsString();
    }
    const auto replace = [&](auto decoded) {
      if (!decoded) return;
      decoded->slot = leased(peer, decoded->slot);
      altered = calls::encode(*decoded);
    };
    if (method == calls::kOpenJournalMethod) replace(calls::decode_open_journal(request));
    if (method == calls::kFlushMethod) replace(calls::decode_flush(request));
    if (method == calls::kCloseJournalMethod) replace(calls::decode_close_journal(request));
    return altered;
  }
};

// Two compute servers commit under the same stamps.
class SlotSharedByTwo final : public LeaseMutant {
 protected:
  void on_lease(fabric::PeerId peer, control::LeaseSlotReply& lease) override {
    if (leases_++ == 0) first_ = lease;
    if (leases_ != 2) return;
    second_ = lease.slot();
    second_peer_ = peer;
    lease = first_;
  }
  std::uint32_t leased(fabric::PeerId peer, std::uint32_t slot) const override {
    return leases_ >= 2 && peer == second_peer_ && slot == first_.slot() ? second_ : slot;
  }

 private:
  std::uint64_t leases_ = 0;
  control::LeaseSlotReply first_;
  std::uint32_t second_ = 0;  // what the memory server leased instead
  fabric::PeerId second_peer_ = 0;
};

// A closed slot's id is given out again, its counters from the start.
class SlotIdReused final : public LeaseMutant {
 protected:
  void on_lease(fabric::PeerId peer, control::LeaseSlotReply& lease) override {
    if (!closed_) return;
    leased_[{peer, *closed_}] = {lease.slot(), lease.vector_position()};
    lease.set_slot(*closed_);
    closed_.reset();
  }
  void on_close(fabric::PeerId peer, const control::CloseSlotRequest& close) override {
    closed_ = close.slot();
    const auto leased = leased_.find({peer, close.slot()});
    if (leased == leased_.end()) return;
    // The memory server closes the slot that it leased, whose word it must find.
    const Look look(cluster());
    std::uint64_t& word = cluster().memory(0).words[(look.vector_offset() + layout::kVectorWords_offset) / 8 +
                                                    leased->second.position];
    word = layout::HeaderWord({leased->second.slot, layout::HeaderWord(word).stamp().counter}).value();
  }
  std::uint32_t leased(fabric::PeerId peer, std::uint32_t slot) const override {
    const auto leased = leased_.find({peer, slot});
    return leased == leased_.end() ? slot : leased->second.slot;
  }

 private:
  struct Leased {
    std::uint32_t slot;
    std::uint64_t position;
  };
  std::optional<std::uint32_t> closed_;
  // The memory server's leases, by peer and slot id.
  std::map<std::pair<fabric::PeerId, std::uint32_t>, Leased> leased_;
};

// A closed slot leaves the vector at once, not E + slack later.
class ClosedSlotGone final : public LeaseMutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (const fabric::Operation& operation : posting.asked) {
      if (!look.vector_read(posting, operation)) continue;
      for (std::uint32_t at = layout::kVectorWords_offset; at + 8 <= operation.length_bytes; at += 8) {
        const layout::Stamp stamp = layout::HeaderWord(layout::load_word(operation.local + at)).stamp();
        if (closed_.contains(stamp.slot)) layout::store_word(operation.local + at, 0);
      }
    }
  }

 protected:
  void on_lease(fabric::PeerId, control::LeaseSlotReply&) override {}
  void on_close(fabric::PeerId, const control::CloseSlotRequest& close) override {
    closed_.insert(close.slot());
  }

 private:
  std::set<std::uint32_t> closed_;
};

// A slot near the end of its counters goes on: they come round.
class CountersComeRound final : public LeaseMutant {
 protected:
  void on_lease(fabric::PeerId, control::LeaseSlotReply& lease) override {
    lease.set_first_counter(~std::uint32_t{0} - 5);
  }
};

// Alters what the slot directory is told: LIST_SLOTS without ids.
class DirectoryMutant : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    Status status = co_await inner->on_call(peer, method, request, *reply);
    control::ListSlotsReply list;
    if (method != control::LIST_SLOTS || !request.empty() || !list.ParseFromString(*reply)) co_return status;
    alter(list);
    *reply = list.SerializeAsString();
    co_return status;
  }

 protected:
  virtual void alter(control::ListSlotsReply& list) = 0;
};

// A slot that the snapshot does not show counts as retired: its versions are visible.
class UnknownSlotVisible final : public DirectoryMutant {
 protected:
  void alter(control::ListSlotsReply& list) override {
    auto& slots = *list.mutable_slots();
    slots.erase(std::remove_if(slots.begin(), slots.end(),
                               [](const auto& slot) { return slot.state() == control::SLOT_LEASED; }),
                slots.end());
  }
};

// ... or as leased later, closed or not: its versions are invisible.
class UnknownSlotInvisible final : public DirectoryMutant {
 protected:
  void alter(control::ListSlotsReply& list) override {
    for (std::uint32_t slot = 1; slot < list.next_slot(); ++slot) {
      control::Slot& added = *list.add_slots();
      added.set_slot(slot);
      added.set_state(control::SLOT_CLOSED);
    }
  }
};

// The directory is read before the snapshot: each answer is the previous one.
class StaleDirectory final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    Status status = co_await inner->on_call(peer, method, request, *reply);
    if (method != control::LIST_SLOTS || !request.empty() || !status.ok()) co_return status;
    std::string& before = before_.try_emplace(peer, *reply).first->second;
    std::swap(before, *reply);
    co_return status;
  }

 private:
  std::map<fabric::PeerId, std::string> before_;
};

// A lease leaves the vector as long as it was; that it is longer is known some time later.
class LengthRaisedLater final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    if (method != control::LEASE_SLOT) co_return co_await inner->on_call(peer, method, request, *reply);
    const Look look(cluster());
    const std::uint64_t at = (look.vector_offset() + layout::kVectorLength_offset) / 8;
    const std::uint64_t before = cluster().memory(0).words[at];
    Status status = co_await inner->on_call(peer, method, request, *reply);
    const std::uint64_t longer = cluster().memory(0).words[at];
    if (longer == before) co_return status;
    cluster().memory(0).words[at] = before;
    cluster().world().at(cluster().world().now_ns() + 30 * kMicrosecond_ns, [this, at, longer] {
      std::uint64_t& length = cluster().memory(0).words[at];
      length = std::max(length, longer);
    });
    co_return status;
  }
};

void snapshots_by_reads(Scenario& scenario) {
  scenario.cluster.worker.snapshot_mode = txn::SnapshotSource::Mode::reads;
}

// The double does not close all that it leased.
void many_slots(Scenario& scenario) {
  scenario.cluster.memory.max_slots_per_peer = 1000;
}

// Slots of three commits, as short as E is.
void short_slots(Scenario& scenario) {
  scenario.cluster.worker.slot.counters_per_slot = 3;
  scenario.cluster.memory.vector_capacity = 1024;
}

}  // namespace

std::vector<MutantCase> slot_mutants() {
  return {
      {"two compute servers have the same slot", "memory/coordinator/slots.cc", Emphasis::snapshots, 1,
       "the timestamp vector went backwards", make_mutant<SlotSharedByTwo>},
      {"a slot's id is used again", "memory/coordinator/slots.cc", Emphasis::short_slots, 2,
       "missed a write that its reads depend on", make_mutant<SlotIdReused>, nullptr, many_slots},
      {"a slot that the snapshot does not show is visible", "compute/txn/snapshot.cc", Emphasis::short_slots,
       1, "missed a write that its reads depend on", make_mutant<UnknownSlotVisible>, nullptr,
       snapshots_by_reads},
      {"a retired slot's versions are invisible", "compute/txn/snapshot.cc", Emphasis::short_age, 26,
       "a row stays out of reach", make_mutant<UnknownSlotInvisible>, nullptr, short_slots},
      {"an unknown slot is checked by a directory from before the snapshot", "compute/txn/snapshot.cc",
       Emphasis::short_age, 18, "missed a write that its reads depend on", make_mutant<StaleDirectory>,
       nullptr, short_slots},
      {"a slot is published before the vector's length covers it", "memory/coordinator/slots.cc",
       Emphasis::short_slots, 34, "missed a write that its reads depend on", make_mutant<LengthRaisedLater>},
      {"a closed slot leaves the vector at once", "memory/coordinator/slots.cc", Emphasis::short_slots, 1,
       "a row is gone", make_mutant<ClosedSlotGone>, nullptr, snapshots_by_reads},
      {"a slot's counters come round", "compute/txn/slot_keeper.cc", Emphasis::snapshots, 5,
       "a compute server does not stop", make_mutant<CountersComeRound>},
  };
}

}  // namespace namdb::sim
