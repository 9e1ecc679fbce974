// The log of a memory server, record by record, becomes the region's records and the control state, behind
// what the checkpoint had of them (memory/checkpoint/restorer.h). One pass, in the order of the log:
//
//   control entry    the next control state. Each new table is restored, before entries that name it
//   table            likewise, on other servers than 0
//   grants, block    numbers and blocks of record space
//   journal entry    redo (memory/apply/redo.h), once it is known to be a commit's
//   void, verdict, through, closed
//                    which journal entries are commits'
//
// A journal entry is *decided* when `through` of its slot covers it, or when a verdict is recorded. Where
// there is only one memory server, a complete entry is a commit's: its host is the only one, and has it. On
// one of several servers an entry waits until the log decides it or, behind the log's end, the decider does
// (host_opening.h): journals() has the entries that the log does not decide. Redo takes entries in any order.
//
// Tables that were dropped in the log stay until the caller discards them: their blocks may be in the way of
// later ones, which take their places. One executor's thread; nothing suspends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "memory/apply/redo.h"
#include "memory/checkpoint/restorer.h"
#include "memory/log/log_reader.h"
#include "memory/options.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"
#include "proto/control_state.pb.h"

namespace namdb::memory {

struct ReplayCounts {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;    // of them, headers and padding included
  std::uint64_t entries = 0;  // of journals
  std::uint64_t voided = 0;   // of these
  std::uint64_t control_entries = 0;
  std::uint64_t blocks = 0;
};

class LogReplay {
 public:
  // The journal of one slot, as the log says.
  struct SlotJournal {
    std::uint32_t through = 0;
    std::uint32_t finished = 0;  // likewise, as its owner said: it knows what became of these
    bool ended = false;          // by its owner, with `through`
    bool decided = false;        // ended by the decider, whose final counter is `through`
    std::set<std::uint32_t> voided;
    std::set<std::uint32_t> committed;
    // Bytes of the records of entries that are not decided, by counter.
    std::map<std::uint32_t, std::vector<std::byte>> undecided;
    // On a single server, where all entries are commits': their counters, at least those above `finished`.
    static constexpr std::size_t kFewLogged = 64;
    std::vector<std::uint32_t> logged;
    std::size_t unfinished = 0;  // of `logged`, when those up to `finished` were last dropped
    void add_logged(std::uint32_t counter);
  };

  // `state` is the checkpoint's control state, and becomes that of the log's end. All outlive this.
  LogReplay(Region& region, Tables& tables, Restorer& restorer, const Options& options,
            control::ControlState& state);

  // Before the first record: takes over the journals of the checkpoint.
  void restore(const control::CheckpointState& checkpoint);
  // The next record. Errors: corrupt_data, configuration (of a newer program), out_of_memory (the region is
  // shorter than it was); the message names the record's position.
  Status apply(const LogRecord& record);
  // The same as the record of these verdicts, which is in the log already.
  Status decide(std::uint32_t slot, const std::vector<std::uint32_t>& counters, bool committed);
  Status end(std::uint32_t slot, std::uint32_t final_counter);
  // A part of the log is lost. From now on entries apply to what is there: a gap in the control entries is
  // passed, and end_log() leaves a sound control state.
  void tolerate_loss();
  // From now on leaves out the items of journal entries that the records contradict.
  void leave_out_unfit() { redo_.leave_out_unfit(); }
  // For a log without an end, behind all that the checkpoint knows: to be called now and then. Forgets state
  // that decides nothing any more. True: there is more to forget; call again before the next record. Errors:
  // corrupt_data as of finish(); out_of_memory: an entry has stayed undecided for long, and too much is kept
  // because of it.
  Result<bool> forget_settled();
  // Behind the last record, before the control state is used.
  void end_log();
  // After that, and where entries wait, once all are decided. Error corrupt_data names a record whose
  // versions are not all there. Nothing of the redo waits any more then.
  Status finish();

  const ReplayCounts& counts() const { return counts_; }
  // After end_log(), and anew after finish(): a line for people for each thing that is missing because of the
  // lost part, or was left out.
  const std::vector<std::string>& lost() const { return lost_; }
  // The journals by slot, of all slots that the checkpoint or the log names.
  const std::map<std::uint32_t, SlotJournal>& journals() const { return journals_; }
  // Null for a slot without one.
  const SlotJournal* find(std::uint32_t slot) const {
    const auto found = journals_.find(slot);
    return found == journals_.end() ? nullptr : &found->second;
  }

 private:
  // The places of records, as the restorer keeps them.
  class Places final : public RecordPlaces {
   public:
    Places(Region& region, Restorer& restorer) : region_(region), restorer_(restorer) {}
    const layout::RecordLayout* shape(std::uint32_t table) const override { return restorer_.shape(table); }
    std::optional<std::uint64_t> life(std::uint32_t table, std::uint64_t offset) const override {
      return restorer_.life(table, offset);
    }
    void born(std::uint32_t table, std::uint64_t offset, std::uint64_t grant) override {
      restorer_.born(table, offset, grant);
    }
    void changed(std::uint64_t offset) override { region_.changed().mark(offset); }

   private:
    Region& region_;
    Restorer& restorer_;
  };

  Status apply_kind(const LogRecord& record);
  Status apply_entry(std::span<const std::byte> bytes);
  Status apply_control(std::span<const std::byte> bytes);
  Status apply_table(std::span<const std::byte> bytes);
  // {slot} {counter}...
  Status apply_verdicts(std::span<const std::byte> bytes, bool committed);
  // {slot << 32 | counter}...
  Status apply_ends(std::span<const std::byte> bytes, bool by_decider);
  // Makes the entry follow the state, where those between are lost.
  Status pass_gap(control::ControlEntry& entry);
  // Removes the parts of the state that contradict the rest, and raises its marks.
  void mend_state();
  // The same of roles and rights.
  void mend_roles();
  Status restore_table(const control::TableDescriptor& descriptor);
  Status redo(std::span<const std::byte> bytes);
  // Entries of the slot that are decided by now.
  Status settle(SlotJournal& journal);

  Region& region_;
  Tables& tables_;
  Restorer& restorer_;
  const Options& options_;
  control::ControlState& state_;
  Places places_;
  Redo redo_;
  std::map<std::uint32_t, SlotJournal> journals_;
  // Slots and counters of entries that were not decided when forget_settled() began the last age.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> undecided_then_;
  bool settles_ = false;  // all that the checkpoint knows has been applied
  ReplayCounts counts_;
  bool lossy_ = false;
  bool gap_ = false;
  std::vector<std::string> lost_;
};

}  // namespace namdb::memory
