// How server 0's control state changes. With a log each change is logged first and seen afterwards:
//
//   1. changes come one after the other; the next one waits
//   2. the change is made in a draft of the catalog
//   3. the difference between the logged state and the draft is an entry, which is appended and flushed
//   4. the draft becomes the catalog, and the caller answers
//
// So no worker learns of a table that a loss of power takes away again, and the entries give the catalog by
// construction. An error of the log is the change's answer; the catalog is then as it was before. A change
// costs what it changes: a draft shares the rest with the catalog, and the difference is sought only in what
// has changed since the last entry.
//
// A closed slot's final counter is a fact when the slot is closed: it is seen at once, and the closing is
// answered once its entry is durable. Ids are logged in blocks ahead of their use.
//
// Without a log a change is made in the catalog at once and nothing suspends. All of it belongs to the
// executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/coordinator/catalog.h"
#include "memory/coordinator/control_log.h"
#include "memory/coordinator/control_state.h"
#include "memory/coordinator/slots.h"
#include "memory/options.h"

namespace namdb::memory {

class ControlChanges {
 public:
  // All outlive this.
  ControlChanges(reactor::Executor& executor, const Options& options, Catalog& catalog, Slots& slots)
      : executor_(executor), options_(options), catalog_(catalog), slots_(slots), free_(executor) {}

  // Once, before peers come: catalog and slots become those of the state, and each later change is logged.
  // A database that is not created yet (version 0) is created with that id. Creations that a restart has cut
  // off are undone. Errors: configuration where the options are not the database's; corrupt_data; the log's.
  reactor::Task<Status> open(control::ControlState state, std::uint64_t database_id, ControlLog& log);
  bool logged() const { return log_ != nullptr; }
  // 0 without a log.
  std::uint64_t database_id() const { return state_.settings().database_id(); }

  // The change may be tried in a draft, and fails without effect. Its references stay until the task ends.
  using Change = std::function<Status(Catalog& catalog)>;
  reactor::Task<Status> change(Change edit);
  // For a change that no caller waits for and that must be made: if it cannot be logged now, a later entry
  // has it.
  reactor::Task<void> change_anyway(Change edit);

  // The next slot's id is below the logged mark.
  reactor::Task<Status> reserve_slot();
  // Logs that the slot was closed, and earlier closings that could not be logged.
  reactor::Task<Status> log_closed(std::uint32_t slot, std::uint32_t final_counter);

  // The logged state, the sum of its entries. For a checkpoint: all of them are durable.
  const control::ControlState& state() const { return state_; }

 private:
  // The difference to the logged state, with the catalog as in `catalog`; nullopt: none.
  std::optional<control::ControlEntry> entry_for(const Catalog& catalog) const;
  // Appends and flushes the entry, and applies it to the logged state, which then has the catalog as of that
  // position. Within a turn.
  reactor::Task<Status> write(const control::ControlEntry& entry, std::uint64_t position,
                              ControlLog::Urgency urgency);
  reactor::Task<void> take_turn();
  void end_turn();

  reactor::Executor& executor_;
  const Options& options_;
  Catalog& catalog_;
  Slots& slots_;
  ControlLog* log_ = nullptr;
  control::ControlState state_;
  std::uint64_t position_ = 0;  // of the catalog's last change that it has
  struct Closed {
    std::uint32_t slot;
    std::uint32_t final_counter;
  };
  std::vector<Closed> closed_;  // not logged yet
  bool slot_wanted_ = false;    // this start leases slots: only then its first one is logged
  bool busy_ = false;
  reactor::Event free_;
};

}  // namespace namdb::memory
