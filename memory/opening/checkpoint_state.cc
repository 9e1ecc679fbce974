#include "memory/opening/checkpoint_state.h"

#include <map>

#include "memory/coordinator/control_state.h"

namespace namdb::memory {
namespace {

void add_journals(const Journals& journals, control::CheckpointState& state) {
  std::map<std::uint32_t, control::SlotJournal> slots;
  for (const auto& [slot, ended] : journals.all_ended()) {
    control::SlotJournal& added = slots[slot];
    added.set_through(ended.through);
    added.set_ended(true);
    added.set_decided(ended.decided);
  }
  for (const auto& [slot, stream] : journals.all()) {
    control::SlotJournal& added = slots[slot];
    added.Clear();
    added.set_through(stream->through());
    for (const auto& [counter, verdict] : stream->verdicts()) {
      if (verdict == Verdict::voided) {
        added.add_voids(counter);
      } else {
        added.add_commits(counter);
      }
    }
  }
  for (auto& [slot, added] : slots) {
    added.set_slot(slot);
    *state.add_journals() = std::move(added);
  }
}

}  // namespace

void add_checkpoint_state(const ServerState& server, control::CheckpointState& state) {
  state.set_format(kControlFormat);
  state.set_written_by(server.options.version);
  if (server.control) {
    control::ControlState control = server.control->state();
    // A checkpoint cuts off entries of earlier starts, whose outcomes the log no longer tells then.
    control.mutable_marks()->set_first_slot(server.slots->first_slot());
    state.set_control(control.SerializeAsString());
  } else {
    for (const auto& [id, table] : server.tables.all()) {
      if (table->ready && !table->discarded) *state.add_tables() = table->descriptor;
    }
  }
  add_journals(server.journals, state);
}

}  // namespace namdb::memory
