#include "memory/coordinator/dead_slots.h"

#include <algorithm>
#include <utility>

namespace namdb::memory {

reactor::Task<void> DeadSlots::run() {
  while (!stopping_) {
    begin_rounds();
    co_await changed_.wait_until(next_round_ns());
  }
  co_await gate_.close();
}

void DeadSlots::wake() {
  for (auto& [slot, dead] : dead_) {
    dead.due_ns = 0;
    dead.again = dead.deciding;
  }
  changed_.notify_all();
}

void DeadSlots::stop() {
  stopping_ = true;
  changed_.notify_all();
}

void DeadSlots::begin_rounds() {
  if (duties_.slots.dead_count() == 0) return;
  const std::uint64_t now_ns = executor_.now_ns();
  for (const auto& [slot, state] : duties_.slots.active()) {
    if (state.state != SlotState::dead) continue;
    Dead& dead = dead_[slot];
    if (dead.deciding || dead.due_ns > now_ns || deciding_ >= kAtOnce) continue;
    dead.deciding = true;
    ++deciding_;
    executor_.spawn(gate_, decide(slot));
  }
}

std::uint64_t DeadSlots::next_round_ns() const {
  std::uint64_t next_ns = ~std::uint64_t{0};
  if (deciding_ >= kAtOnce) return next_ns;  // one that ends wakes run()
  for (const auto& [slot, dead] : dead_) {
    if (!dead.deciding) next_ns = std::min(next_ns, dead.due_ns);
  }
  return next_ns;
}

reactor::Task<void> DeadSlots::decide(std::uint32_t slot) {
  const Status status = co_await decide_and_close(slot);
  --deciding_;
  if (status.ok()) {
    dead_.erase(slot);
  } else {
    Dead& dead = dead_[slot];
    dead.deciding = false;
    dead.pause_ns = std::clamp(2 * dead.pause_ns, kFirstPause_ns, kLongestPause_ns);
    dead.due_ns = std::exchange(dead.again, false) ? 0 : executor_.now_ns() + dead.pause_ns;
    report(slot, dead, status);
  }
  changed_.notify_all();
}

reactor::Task<Status> DeadSlots::decide_and_close(std::uint32_t id) {
  const Slot& slot = *duties_.slots.find(id);
  const std::uint64_t position = slot.position;
  UndecidedSlot undecided;
  undecided.slot = id;
  undecided.owner = slot.compute_id;
  undecided.published = duties_.slots.shown(slot);
  undecided.server_count = options_.server_count;
  undecided.without = slot.without;
  // Server 0 does not know where the slot has journals. A host without one has nothing to decide.
  for (std::uint32_t server = 0; server < options_.server_count; ++server) {
    if (!slot.without.contains(server)) undecided.hosts.push_back(static_cast<layout::ServerId>(server));
  }
  Decider decider(duties_.hosts);
  const auto decided = co_await decider.decide(std::move(undecided), &dead_[id].verdicts);
  if (!decided.ok()) co_return decided.status();
  std::uint32_t final_counter = *decided;
  if (options_.vector_parts().place(position).server != 0) {
    const auto placed = co_await duties_.place(id, position, final_counter);
    if (!placed.ok()) co_return placed.status();
    final_counter = *placed;
  }
  Status status = duties_.slots.decided(id, final_counter, executor_.now_ns());
  if (!status.ok()) co_return status;
  duties_.closed(id, std::move(dead_[id].verdicts));
  // An end that cannot be logged now is logged with the next slot that is closed (control_changes.h).
  status = co_await duties_.control.log_closed(id, final_counter);
  if (!status.ok() && options_.notice)
    options_.notice("the end of execution slot " + std::to_string(id) +
                    " is not logged: " + status.to_string());
  co_return Status();
}

void DeadSlots::report(std::uint32_t slot, Dead& dead, const Status& why) {
  if (stopping_ || !options_.notice) return;
  std::string reason = why.to_string();
  if (dead.reported == reason) return;
  options_.notice("the commits of execution slot " + std::to_string(slot) +
                  ", whose compute server died, cannot be decided yet, and its locks stay: " + reason);
  dead.reported = std::move(reason);
}

}  // namespace namdb::memory
