#include "memory/coordinator/slots.h"

#include <algorithm>
#include <utility>

#include "common/layout/journal.h"
#include "proto/control_state.pb.h"

namespace namdb::memory {
namespace {

Status not_leased(std::uint32_t slot) {
  return Status(ErrorCode::undefined_object,
                "slot " + std::to_string(slot) + " is not leased by this channel");
}

}  // namespace

Slots::Slots(Region& region, const Options& options, const Visibility& copies)
    : region_(region),
      options_(options),
      copies_(copies),
      parts_(options.vector_parts()),
      next_(options.first_slot),
      position_used_(options.vector_capacity) {}

void Slots::import_state(const control::ControlState& state) {
  NAMDB_CHECK(slots_.empty());
  next_ = std::max(state.marks().next_slot(), options_.first_slot);
  opened_at_ = next_;
  last_opened_at_ = state.marks().first_slot();
  retired_.clear();
  for (int i = 0; i < state.closed().slots_size(); ++i)
    retired_[state.closed().slots(i)] = state.closed().final_counters(i);
  if (next_ > options_.first_slot)
    region_.set_vector_word(0, layout::Stamp{std::min(next_ - 1, layout::kMaxSlot), layout::kMaxCounter});
}

void Slots::export_state(control::ControlState& state) const {
  std::map<std::uint32_t, std::uint32_t> closed = retired_;
  for (const auto& [id, slot] : slots_) {
    if (slot.state == SlotState::closed) closed[id] = slot.final_counter;
  }
  state.clear_closed();
  for (const auto& [id, final_counter] : closed) {
    state.mutable_closed()->add_slots(id);
    state.mutable_closed()->add_final_counters(final_counter);
  }
}

std::optional<std::uint64_t> Slots::free_position() const {
  const auto found = std::find(position_used_.begin(), position_used_.end(), false);
  if (found == position_used_.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - position_used_.begin());
}

std::optional<std::uint64_t> Slots::index_here(std::uint64_t position) const {
  const layout::VectorParts::Place place = parts_.place(position);
  if (place.server != 0) return std::nullopt;
  return place.index;
}

std::uint64_t Slots::positions_in_use() const {
  const auto last = std::find(position_used_.rbegin(), position_used_.rend(), true);
  return static_cast<std::uint64_t>(position_used_.rend() - last);
}

std::uint32_t Slots::shown(const Slot& slot) const {
  const auto index = index_here(slot.position);
  if (!index) return 0;
  const layout::Stamp word = region_.vector_word(*index).stamp();
  return word.slot == slot.id ? word.counter : 0;
}

Result<const Slot*> Slots::lease(fabric::PeerId peer, const std::string& compute_id, const std::string& name,
                                 const std::set<std::uint32_t>& without) {
  const auto held = std::count_if(slots_.begin(), slots_.end(), [&](const auto& entry) {
    return entry.second.owner == peer && entry.second.state == SlotState::leased;
  });
  if (static_cast<std::uint32_t>(held) >= options_.max_slots_per_peer) {
    return Status(
        ErrorCode::limit_exceeded,
        "a channel can hold at most " + std::to_string(options_.max_slots_per_peer) + " execution slots");
  }
  const auto left = std::count_if(slots_.begin(), slots_.end(), [&](const auto& entry) {
    return entry.second.name == name && entry.second.state != SlotState::leased;
  });
  if (2 * static_cast<std::uint64_t>(left) >= std::max(options_.vector_capacity, 2U)) {
    return Status(ErrorCode::limit_exceeded,
                  "the slots of earlier starts of \"" + name + "\" take half of the timestamp vector",
                  "it starts and ends too often; slots are free again after --max-transaction-seconds");
  }
  if (next_ > layout::kMaxSlot) {
    return Status(
        ErrorCode::limit_exceeded, "all ids of execution slots have been used",
        "none is ever used again: nothing can be written until the memory servers start anew, empty");
  }
  const auto position = free_position();
  if (!position) {
    return Status(ErrorCode::limit_exceeded, "no position in the timestamp vector is free");
  }
  Slot slot;
  slot.id = next_++;
  slot.owner = peer;
  slot.compute_id = compute_id;
  slot.name = name;
  slot.without = without;
  slot.position = *position;
  position_used_[*position] = true;
  if (const auto index = index_here(*position))
    region_.set_vector_word(*index, layout::Stamp{slot.id, options_.first_counter - 1});
  shorten_vector();
  return &slots_.emplace(slot.id, std::move(slot)).first->second;
}

Status Slots::end(Slot& slot, std::uint32_t final_counter, std::uint64_t now_ns) {
  // No other compute server publishes this slot any more.
  if (const auto index = index_here(slot.position)) {
    const layout::Stamp published = region_.vector_word(*index).stamp();
    if (published.slot != slot.id || published.counter > final_counter) {
      return Status(ErrorCode::protocol_violation,
                    "slot " + std::to_string(slot.id) + " has published past its final counter");
    }
    region_.set_vector_word(*index, layout::Stamp{slot.id, final_counter});
  }
  if (slot.state != SlotState::leased) --dead_;
  slot.state = SlotState::closed;
  ++closed_;
  slot.final_counter = final_counter;
  slot.closed_ns = now_ns;
  return Status();
}

Status Slots::close(fabric::PeerId peer, std::uint32_t id, std::uint32_t final_counter,
                    std::uint64_t now_ns) {
  Slot* const slot = leased_by(peer, id);
  return slot == nullptr ? not_leased(id) : end(*slot, final_counter, now_ns);
}

Slot* Slots::leased_by(fabric::PeerId peer, std::uint32_t id) {
  const auto found = slots_.find(id);
  const bool leased =
      found != slots_.end() && found->second.owner == peer && found->second.state == SlotState::leased;
  return leased ? &found->second : nullptr;
}

Status Slots::decided(std::uint32_t id, std::uint32_t final_counter, std::uint64_t now_ns) {
  const auto found = slots_.find(id);
  NAMDB_CHECK(found != slots_.end() && found->second.state == SlotState::dead);
  Status status = end(found->second, final_counter, now_ns);
  if (status.ok()) ++decided_;
  return status;
}

void Slots::disconnected(fabric::PeerId peer) {
  for (auto& [id, slot] : slots_) {
    if (slot.state != SlotState::leased || slot.owner != peer) continue;
    slot.state = SlotState::dead;
    slot.died = true;
    ++dead_;
  }
}

void Slots::retire(std::uint64_t now_ns, std::uint64_t age_ns) {
  for (auto entry = slots_.begin(); entry != slots_.end();) {
    const Slot& slot = entry->second;
    if (slot.state != SlotState::closed || now_ns - slot.closed_ns < age_ns) {
      ++entry;
      continue;
    }
    position_used_[slot.position] = false;
    retired_[slot.id] = slot.final_counter;
    --closed_;
    entry = slots_.erase(entry);
  }
  shorten_vector();
}

void Slots::shorten_vector() {
  // The latest slot stays: a copy that lacks an earlier one, and has that, shows that the earlier one is
  // retired (visibility.h).
  const auto leaves = [this](std::uint64_t index) {
    return !position_used_[parts_.position({0, index})] &&
           region_.vector_word(index).stamp().slot + 1 != next_;
  };
  std::uint64_t length = region_.vector_length();
  while (length > 0 && leaves(length - 1)) --length;
  region_.shorten_vector(length);
}

const Slot* Slots::find(std::uint32_t id) const {
  const auto found = slots_.find(id);
  return found == slots_.end() ? nullptr : &found->second;
}

std::optional<std::uint32_t> Slots::retired(std::uint32_t id) const {
  const auto found = retired_.find(id);
  if (found != retired_.end()) return found->second;
  if (id >= layout::kFirstLeasedSlot && id < opened_at_) return layout::kMaxCounter;
  return std::nullopt;
}

bool Slots::published(layout::Stamp stamp) const {
  if (stamp.slot < layout::kFirstLeasedSlot) return true;
  if (const auto found = slots_.find(stamp.slot); found != slots_.end()) {
    const Slot& slot = found->second;
    if (slot.state == SlotState::closed) return stamp.counter <= slot.final_counter;
    const auto index = index_here(slot.position);
    if (!index) return copies_.published(stamp);
    const layout::Stamp word = region_.vector_word(*index).stamp();
    return word.slot == stamp.slot && stamp.counter <= word.counter;
  }
  const auto final_counter = retired(stamp.slot);
  return final_counter && stamp.counter <= *final_counter;
}

}  // namespace namdb::memory
