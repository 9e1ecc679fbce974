// Slots: an id names one owner for ever, and its counters never come round.
#include <map>
#include <optional>

#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

// Alters the answers to LEASE_SLOT.
class LeaseMutant : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    control::CloseSlotRequest close;
    std::string altered(request);
    if (method == control::CLOSE_SLOT && close.ParseFromString(altered)) {
      on_close(close);
      altered = close.SerializeAsString();
    }
    Status status = co_await inner->on_call(peer, method, altered, *reply);
    control::LeaseSlotReply lease;
    if (status.ok() && method == control::LEASE_SLOT && lease.ParseFromString(*reply)) {
      on_lease(lease);
      *reply = lease.SerializeAsString();
    }
    co_return status;
  }

 protected:
  virtual void on_lease(control::LeaseSlotReply& lease) = 0;
  virtual void on_close(control::CloseSlotRequest& close) { static_cast<void>(close); }
};

// Two compute servers commit under the same stamps.
class SlotSharedByTwo final : public LeaseMutant {
 protected:
  void on_lease(control::LeaseSlotReply& lease) override {
    if (leases_++ == 0) first_ = lease;
    if (leases_ == 2) lease = first_;
  }

 private:
  std::uint64_t leases_ = 0;
  control::LeaseSlotReply first_;
};

// A closed slot's id is given out again, its counters from the start.
class SlotIdReused final : public LeaseMutant {
 protected:
  void on_lease(control::LeaseSlotReply& lease) override {
    if (!closed_) return;
    leased_[*closed_] = lease.slot();
    lease.set_slot(*closed_);
    closed_.reset();
  }
  void on_close(control::CloseSlotRequest& close) override {
    closed_ = close.slot();
    const auto leased = leased_.find(close.slot());
    if (leased != leased_.end()) close.set_slot(leased->second);
  }

 private:
  std::optional<std::uint32_t> closed_;
  std::map<std::uint32_t, std::uint32_t> leased_;  // the id that the memory server knows
};

// A slot near the end of its counters goes on: they come round.
class CountersComeRound final : public LeaseMutant {
 protected:
  void on_lease(control::LeaseSlotReply& lease) override { lease.set_first_counter(~std::uint32_t{0} - 5); }
};

}  // namespace

std::vector<MutantCase> slot_mutants() {
  return {
      {"two compute servers have the same slot", "memory/slots.cc", Emphasis::snapshots, 1,
       make_mutant<SlotSharedByTwo>},
      {"a slot's id is used again", "memory/slots.cc", Emphasis::short_slots, 1, make_mutant<SlotIdReused>},
      {"a slot's counters come round", "compute/txn/slot_keeper.cc", Emphasis::snapshots, 1,
       make_mutant<CountersComeRound>},
  };
}

}  // namespace namdb::sim
