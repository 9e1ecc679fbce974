// Repair: every dead slot is repaired, by one repairer, after its owner is fenced everywhere.
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "common/layout/journal_ring.h"
#include "proto/control.pb.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"
#include "tools/namsim/scenario/emphasise.h"

namespace namdb::sim {
namespace {

using layout::HeaderWord;
using layout::Stamp;

// Nobody learns that a slot is dead.
class NeverRepaired final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    Status status = co_await inner->on_call(peer, method, request, *reply);
    control::HeartbeatReply heartbeat;
    control::ListSlotsReply list;
    if (method == control::HEARTBEAT && heartbeat.ParseFromString(*reply)) {
      heartbeat.set_dead_slots(0);
      *reply = heartbeat.SerializeAsString();
    } else if (method == control::LIST_SLOTS && list.ParseFromString(*reply)) {
      for (control::Slot& slot : *list.mutable_slots()) {
        if (slot.state() == control::SLOT_DEAD) slot.set_state(control::SLOT_LEASED);
      }
      *reply = list.SerializeAsString();
    }
    co_return status;
  }
};

// FENCE is answered, and nothing is fenced.
class NotFenced final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    if (method == control::FENCE) co_return Status();
    co_return co_await inner->on_call(peer, method, request, *reply);
  }
};

// Every claim to repair a slot is granted, also while another repairer is at it.
class ManyRepairers final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    Status status = co_await inner->on_call(peer, method, request, *reply);
    control::ClaimRepairRequest claim;
    control::ClaimRepairReply answer;
    if (method == control::FINISH_REPAIR) co_return Status();
    if (method != control::CLAIM_REPAIR) co_return status;
    if (!claim.ParseFromArray(request.data(), static_cast<int>(request.size()))) co_return status;
    if (!answer.ParseFromString(*reply)) co_return status;
    if (status.ok() && answer.granted()) {
      granted_[claim.slot()] = *reply;
    } else if (granted_.contains(claim.slot())) {
      *reply = granted_[claim.slot()];
      co_return Status();
    }
    co_return status;
  }

 private:
  std::map<std::uint32_t, std::string> granted_;
};

// For a while, only who meets a lock of a dead slot learns that it is dead.
class LateRepair : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    Status status = co_await inner->on_call(peer, method, request, *reply);
    control::ListSlotsReply list;
    if (method != control::LIST_SLOTS || !list.ParseFromString(*reply)) co_return status;
    const std::uint64_t now_ns = cluster().world().now_ns();
    for (control::Slot& slot : *list.mutable_slots()) {
      if (slot.state() != control::SLOT_DEAD && slot.state() != control::SLOT_REPAIRING) continue;
      const std::uint64_t seen_ns = seen_ns_.try_emplace(slot.slot(), now_ns).first->second;
      if (now_ns < seen_ns + kLate_ns)
        slot.set_state(request.empty() ? control::SLOT_LEASED : to_who_asks(slot));
    }
    *reply = list.SerializeAsString();
    co_return status;
  }

 protected:
  virtual control::SlotState to_who_asks(const control::Slot& slot) const { return slot.state(); }

 private:
  static constexpr std::uint64_t kLate_ns = 60 * kMillisecond_ns;
  std::map<std::uint32_t, std::uint64_t> seen_ns_;
};

// ... and is told that it is closed: the lock is undone before the slot's journal was read.
class UndoneBeforeClosed final : public LateRepair {
 protected:
  control::SlotState to_who_asks(const control::Slot& slot) const override {
    static_cast<void>(slot);
    return control::SLOT_CLOSED;
  }
};

// Knows the slots that somebody has claimed for repair.
class RepairWatcher : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    std::string altered(request);
    if (method == control::FINISH_REPAIR) on_finish(altered);
    Status status = co_await inner->on_call(peer, method, altered, *reply);
    control::ClaimRepairReply answer;
    if (method == control::CLAIM_REPAIR && status.ok() && answer.ParseFromString(*reply) && answer.granted())
      claimed_[answer.slot().slot()] = answer.slot();
    co_return status;
  }

 protected:
  virtual void on_finish(std::string& request) { static_cast<void>(request); }
  const std::map<std::uint32_t, control::Slot>& claimed() const { return claimed_; }
  Stamp published(const control::Slot& slot) {
    const Look look(cluster());
    const std::uint64_t word =
        look.vector_offset() + layout::kVectorWords_offset + 8 * slot.vector_position();
    return HeaderWord(cluster().memory(0).words[word / 8]).stamp();
  }

 private:
  std::map<std::uint32_t, control::Slot> claimed_;
};

// A record or a chain is repaired by the journal whatever its lock word has become: the repairer is shown the
// dead commit's lock.
class RepairedUnlocked final : public RepairWatcher {
 public:
  void before(Posting& posting) override {
    if (posting.asked.size() != 1) return;
    fabric::Operation& cas = posting.operations.front();
    if (cas.kind != fabric::OperationKind::compare_and_swap) return;
    if (shown_.erase({posting.compute, posting.server, cas.remote_offset}) == 0) return;
    const HeaderWord word(cluster().memory(posting.server).words[cas.remote_offset / 8]);
    if (!word.locked()) cas.expected = word.value();
  }
  void after(Posting& posting) override {
    const layout::RecordLayout record = Look(cluster()).record();
    const auto& asked = posting.asked;
    const bool update = asked.size() == 2 && asked[0].length_bytes == record.locked_bytes() &&
                        asked[1].length_bytes == record.body_bytes();
    const bool chain = asked.size() == 1 && asked[0].length_bytes == 8;
    if (asked[0].kind != fabric::OperationKind::read || (!update && !chain)) return;
    const layout::GlobalAddress lock(static_cast<layout::ServerId>(posting.server), asked[0].remote_offset);
    const auto kind = update ? layout::JournalItem::Kind::update : layout::JournalItem::Kind::chain;
    for (const auto& [id, slot] : claimed()) {
      const auto stamp = unpublished(slot, lock, kind);
      if (!stamp) continue;
      layout::store_word(asked[0].local, HeaderWord(*stamp, false, true).value());
      shown_.insert({posting.compute, posting.server, lock.offset()});
      return;
    }
  }

 private:
  // The first commit of the slot that is not published and writes there.
  std::optional<Stamp> unpublished(const control::Slot& slot, layout::GlobalAddress lock,
                                   layout::JournalItem::Kind kind) {
    const auto server = static_cast<layout::ServerId>(slot.journal_server());
    const Stamp done = published(slot);
    const auto bytes = std::as_bytes(std::span(cluster().memory(server).words))
                           .subspan(slot.journal_offset(), slot.journal_bytes());
    std::optional<Stamp> first;
    if (done.slot != slot.slot()) return first;
    for (const layout::JournalEntry& entry : layout::read_journal_ring(bytes, slot.slot(), server)) {
      if (entry.stamp.counter <= done.counter || (first && *first < entry.stamp)) continue;
      for (const layout::JournalItem& item : entry.items) {
        if (item.kind == kind && item.lock == lock) first = entry.stamp;
      }
    }
    return first;
  }

  std::set<std::tuple<std::size_t, std::size_t, std::uint64_t>> shown_;
};

// The slot is closed where it was published before the repair, which does not publish it.
class ClosedUnpublished final : public RepairWatcher {
 public:
  void before(Posting& posting) override {
    const Look look(cluster());
    for (fabric::Operation& operation : posting.operations) {
      if (!look.publish(posting, operation)) continue;
      if (!claimed().contains(HeaderWord(layout::load_word(operation.local)).stamp().slot)) continue;
      operation.kind = fabric::OperationKind::read;
      operation.local = posting.word(0);
    }
  }

 protected:
  void on_finish(std::string& request) override {
    control::FinishRepairRequest finish;
    if (!finish.ParseFromString(request) || !claimed().contains(finish.slot())) return;
    finish.set_final_counter(published(claimed().at(finish.slot())).counter);
    request = finish.SerializeAsString();
  }
};

// Commits of rows that are not there, with a dead owner now and then.
void inserts_and_kills(Scenario& scenario) {
  emphasise(Emphasis::kills, scenario.draw, scenario);
  scenario.resize({.memory_servers = 2, .computes = 4, .keys = 30});
  scenario.workload_options.absent_keys = 28;
}

}  // namespace

std::vector<MutantCase> repair_mutants() {
  return {
      {"a dead slot's locks are never repaired", "compute/recovery/repair.cc", Emphasis::kills, 3,
       "a row stays out of reach", make_mutant<NeverRepaired>},
      {"repair begins before the owner is fenced", "compute/recovery/repair.cc", Emphasis::kills, 114,
       "a row stays out of reach", make_mutant<NotFenced>},
      {"a lock is undone before its slot is closed", "compute/recovery/repair.cc", Emphasis::kills, 16,
       "a row stays out of reach", make_mutant<UndoneBeforeClosed>, make_mutant<LateRepair>},
      {"repair goes on where the dead commit's lock is gone", "compute/recovery/repair.cc", Emphasis::inserts,
       14, "is not linked", make_mutant<RepairedUnlocked>, nullptr, inserts_and_kills},
      {"a slot is closed before repair has published it", "compute/recovery/repair.cc", Emphasis::kills, 9,
       "a row stays out of reach", make_mutant<ClosedUnpublished>},
      {"two repairers at one slot", "memory/coordinator/slots.cc", Emphasis::kills, 188,
       "a row stays out of reach", make_mutant<ManyRepairers>},
  };
}

}  // namespace namdb::sim
