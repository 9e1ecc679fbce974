// Execution slots (server 0): leases, positions in the timestamp vector, and their ends. Their journals lie
// on the memory servers that they log to (memory/journals/journals.h).
//
//   leased --CLOSE_SLOT--> closed --E + slack--> retired
//   leased --channel gone--> dead --decided (dead_slots.h)--> closed
//
// Ids ascend and are never used again. Before a lease is answered, the slot's word stands in the vector, and
// the vector's length covers it. A closed slot's final counter is known for ever.
//
// The lowest free position is leased again. Free positions at the vector's end leave it, except the latest
// slot's: a snapshot costs as much as the live slots, however many there were. Where the vector is
// partitioned, that holds for the positions whose words are here. The compute server that leases or closes a
// slot places the word of another position on its memory server (memory/region/vector_part.h), and server 0
// learns from copies what is published there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/layout/stamp.h"
#include "memory/options.h"
#include "memory/region/region.h"
#include "memory/region/visibility.h"

namespace namdb::control {
class ControlState;
}

namespace namdb::memory {

enum class SlotState : std::uint8_t { leased, dead, closed };

struct Slot {
  std::uint32_t id = 0;
  SlotState state = SlotState::leased;
  fabric::PeerId owner = 0;
  std::string compute_id;
  std::string name;                 // of the compute server, the same after it starts again
  std::set<std::uint32_t> without;  // memory servers that nothing of the owner ever reaches
  std::uint64_t position = 0;
  std::uint32_t final_counter = 0;  // closed
  std::uint64_t closed_ns = 0;      // closed
  bool died = false;                // before it was closed
};

class Slots final : public Visibility {
 public:
  // `copies` knows of slots whose words are on other memory servers; it outlives this.
  Slots(Region& region, const Options& options, const Visibility& copies);

  // --- control state (control_state.h) ---
  // Before any lease: ids go on from the state's mark, closed slots are retired. No commit of another slot
  // below the mark is open when a server opens: such a slot counts as retired behind its last counter. The
  // vector gets the word of the last such slot, so that a copy of the vector shows all of them as retired.
  void import_state(const control::ControlState& state);
  // Fills in the closed slots.
  void export_state(control::ControlState& state) const;

  // A new slot for the peer. Error limit_exceeded if the vector is full, the peer has too many slots, or
  // slots of earlier starts under that name take half of the vector.
  Result<const Slot*> lease(fabric::PeerId peer, const std::string& compute_id, const std::string& name,
                            const std::set<std::uint32_t>& without = {});
  Status close(fabric::PeerId peer, std::uint32_t slot, std::uint32_t final_counter, std::uint64_t now_ns);

  // The peer's channel is destroyed and drained: its slots are dead.
  void disconnected(fabric::PeerId peer);
  // Closes a dead slot: its commits are decided, and that is recorded at every memory server.
  Status decided(std::uint32_t slot, std::uint32_t final_counter, std::uint64_t now_ns);
  // Retires the slots that were closed so long ago.
  void retire(std::uint64_t now_ns, std::uint64_t age_ns);

  const Slot* find(std::uint32_t slot) const;                      // null when unknown or retired
  std::optional<std::uint32_t> retired(std::uint32_t slot) const;  // its final counter
  // The first slot of this start of the server; 0 before it has opened.
  std::uint32_t first_slot() const { return opened_at_; }
  // The first slot of the start before.
  std::uint32_t last_first_slot() const { return last_opened_at_; }
  // It was open when the last start of this server ended; an earlier start's slots are not known any more.
  bool cut_off(std::uint32_t slot) const {
    return slot >= last_opened_at_ && slot < opened_at_ && !retired_.contains(slot);
  }
  const std::map<std::uint32_t, Slot>& active() const { return slots_; }
  // The slot's counter in the timestamp vector; 0 where its word is on another server.
  std::uint32_t shown(const Slot& slot) const;
  // Behind the last position that has a slot.
  std::uint64_t positions_in_use() const;
  std::uint32_t next_slot() const { return next_; }
  std::uint64_t dead_count() const { return dead_; }
  std::uint64_t closed_count() const { return closed_; }
  // Dead slots that were closed, since the server started.
  std::uint64_t decided_count() const { return decided_; }

  bool published(layout::Stamp stamp) const override;

 private:
  // The slot's word, if it is here.
  std::optional<std::uint64_t> index_here(std::uint64_t position) const;
  // Removes positions without a slot from the end of this server's part of the vector.
  void shorten_vector();
  Status end(Slot& slot, std::uint32_t final_counter, std::uint64_t now_ns);
  // Null if the peer has not leased that slot.
  Slot* leased_by(fabric::PeerId peer, std::uint32_t slot);
  std::optional<std::uint64_t> free_position() const;

  Region& region_;
  const Options& options_;
  const Visibility& copies_;
  layout::VectorParts parts_;
  std::uint32_t next_;
  std::uint32_t opened_at_ = 0;       // slots below were those of an earlier start
  std::uint32_t last_opened_at_ = 0;  // and below this, of starts before that one
  std::map<std::uint32_t, Slot> slots_;
  std::map<std::uint32_t, std::uint32_t> retired_;
  std::vector<bool> position_used_;
  std::uint64_t dead_ = 0;
  std::uint64_t closed_ = 0;  // not yet retired
  std::uint64_t decided_ = 0;
};

}  // namespace namdb::memory
