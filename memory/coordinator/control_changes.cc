#include "memory/coordinator/control_changes.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace namdb::memory {
namespace {

std::uint32_t ahead_of(std::uint32_t id) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{id} + kIdsAhead, UINT32_MAX));
}

}  // namespace

reactor::Task<void> ControlChanges::take_turn() {
  while (busy_) co_await free_.wait();
  busy_ = true;
}

void ControlChanges::end_turn() {
  busy_ = false;
  free_.notify_all();
}

reactor::Task<Status> ControlChanges::open(control::ControlState state, std::uint64_t database_id,
                                           ControlLog& log) {
  NAMDB_CHECK(log_ == nullptr);
  state_ = std::move(state);
  log_ = &log;
  co_await take_turn();
  Status status = check_control_state(state_);
  if (status.ok() && state_.version() == 0) {
    const control::ControlEntry first = first_control_entry(options_, database_id);
    status = co_await write(first, 0, ControlLog::Urgency::ordinary);
  }
  if (status.ok()) status = check_database_settings(state_.settings(), options_);
  if (status.ok() && state_.settings().database_id() != database_id)
    status = Status(ErrorCode::configuration, "the log belongs to another database than the data folder");
  if (status.ok()) {
    catalog_.import_state(state_);
    position_ = catalog_.position();
    slots_.import_state(state_);
  }
  end_turn();
  if (!status.ok()) co_return status;
  const Change undo_cut_off = [](Catalog& catalog) {
    catalog.disconnected(0);
    return Status();
  };
  status = co_await change(undo_cut_off);
  if (status.ok() || status.code() != ErrorCode::disk_full) co_return status;
  co_await change_anyway(undo_cut_off);
  co_return Status();
}

std::optional<control::ControlEntry> ControlChanges::entry_for(const Catalog& catalog) const {
  control::ControlEntry entry;
  catalog.describe_changes(state_, position_, entry);
  for (const Closed& closed : closed_) {
    entry.mutable_closed()->add_slots(closed.slot);
    entry.mutable_closed()->add_final_counters(closed.final_counter);
  }
  control::IdMarks marks = state_.marks();
  if (catalog.next_id() > marks.next_table()) marks.set_next_table(ahead_of(catalog.next_id()));
  if (slot_wanted_ && slots_.next_slot() >= marks.next_slot()) {
    marks.set_next_slot(ahead_of(slots_.next_slot()));
    marks.set_first_slot(slots_.first_slot());
  }
  if (marks.SerializeAsString() != state_.marks().SerializeAsString()) *entry.mutable_marks() = marks;
  if (entry.ByteSizeLong() == 0) return std::nullopt;
  entry.set_format(kControlFormat);
  entry.set_written_by(options_.version);
  entry.set_version(state_.version() + 1);
  return entry;
}

reactor::Task<Status> ControlChanges::write(const control::ControlEntry& entry, std::uint64_t position,
                                            ControlLog::Urgency urgency) {
  const auto appended = co_await log_->append(ControlRecord::entry, entry.SerializeAsString(), urgency);
  if (!appended.ok()) co_return appended.status();
  Status status = co_await log_->flush(*appended);
  if (!status.ok()) co_return status;
  closed_.erase(closed_.begin(), closed_.begin() + entry.closed().slots_size());  // others came behind them
  position_ = position;
  co_return apply_control_entry(state_, entry);
}

reactor::Task<Status> ControlChanges::change(Change edit) {
  if (log_ == nullptr) {
    Status made = edit(catalog_);
    catalog_.forget_drops(catalog_.position());
    co_return made;
  }
  co_await take_turn();
  Catalog draft = catalog_.draft();
  Status status = edit(draft);
  const auto entry = status.ok() ? entry_for(draft) : std::nullopt;
  if (entry) status = co_await write(*entry, draft.position(), ControlLog::Urgency::ordinary);
  if (status.ok()) {
    catalog_.adopt(std::move(draft));
    catalog_.forget_drops(position_);
  }
  end_turn();
  co_return status;
}

reactor::Task<void> ControlChanges::change_anyway(Change edit) {
  if (log_ == nullptr) {
    (void)edit(catalog_);  // it may find nothing to do
    co_return;
  }
  co_await take_turn();
  (void)edit(catalog_);
  // A later entry has what cannot be logged now.
  if (const auto entry = entry_for(catalog_))
    (void)co_await write(*entry, catalog_.position(), ControlLog::Urgency::urgent);
  end_turn();
}

reactor::Task<Status> ControlChanges::reserve_slot() {
  if (log_ == nullptr) co_return Status();
  slot_wanted_ = true;
  const Change nothing_else = [](Catalog&) { return Status(); };
  while (slots_.next_slot() >= state_.marks().next_slot()) {
    const Status status = co_await change(nothing_else);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> ControlChanges::log_closed(std::uint32_t slot, std::uint32_t final_counter) {
  if (log_ == nullptr) co_return Status();
  closed_.push_back({slot, final_counter});
  co_await take_turn();
  Status status;
  if (const auto entry = entry_for(catalog_))
    status = co_await write(*entry, catalog_.position(), ControlLog::Urgency::urgent);
  end_turn();
  co_return status;
}

}  // namespace namdb::memory
