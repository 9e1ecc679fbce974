// Repair: every dead slot is repaired, by one repairer, after its owner is fenced everywhere.
#include <map>

#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

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

}  // namespace

std::vector<MutantCase> repair_mutants() {
  return {
      {"a dead slot's locks are never repaired", "compute/protocol/snapshot_isolation/repair.cc",
       Emphasis::kills, 1, make_mutant<NeverRepaired>},
      {"repair begins before the owner is fenced", "compute/protocol/snapshot_isolation/repair.cc",
       Emphasis::kills, 12, make_mutant<NotFenced>},
      {"a lock is undone before its slot is closed", "compute/protocol/snapshot_isolation/repair.cc",
       Emphasis::kills, 66, make_mutant<UndoneBeforeClosed>, make_mutant<LateRepair>},
      {"two repairers at one slot", "memory/slots.cc", Emphasis::kills, 6, make_mutant<ManyRepairers>},
  };
}

}  // namespace namdb::sim
