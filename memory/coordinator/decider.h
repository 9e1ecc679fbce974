// Decides what became of the commits of an execution slot whose owner died or left it (server 0). A commit's
// entry has a part in the slot's journal on each memory server that the commit writes to, its *hosts*. The
// commit is complete when all hosts have their part, and nothing is installed before. So:
//
//   a host knows it finished or committed   commit
//   a host has it void                      undo
//   a host lacks its part                   undo: the owner never went on, and is fenced
//   all hosts have their part               commit: the owner may have installed and acknowledged it
//   else                                    wait for the hosts that do not answer
//
// One round of a slot:
//
//   fence    the owner at every memory server that it could reach, unless it left the slot by itself; then
//            nothing more comes
//   look     at each host: its journal, which is on disk first if the database is `flushed`
//   void     an entry that is undone, at each host that has it, before anything may happen to its locks
//   commit   an entry that is committed, at each host: the host installs its part and records the verdict
//   final    once every host has recorded each of its entries: the final counter, to each host
//
// Then the slot may be closed: nothing of it is undecided anywhere, and locks that are left belong to
// commits that are undone. Every step may be repeated, and every answer stays the same, so the decider may
// die anywhere: a successor begins at the fences, and comes to the same verdicts. A host that does not
// answer delays only the entries that it has part of, and the end.
//
// It keeps nothing between two rounds. The caller runs one round at a time for a slot. No paper has this
// protocol: in NAM-DB (§6.2) compute servers read the journals of those that died.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/calls/decider_calls.h"
#include "common/layout/global_address.h"
#include "common/reactor/task.h"

namespace namdb::memory {

// The answer of a host about one entry that names it.
struct PartAnswer {
  bool reached = false;    // it answered, after its fence; else the rest says nothing
  bool has = false;        // its part is complete, and not dropped since it knows the outcome
  bool is_void = false;    // recorded
  bool committed = false;  // recorded
  bool finished = false;   // by its `through`
};

enum class Decision : std::uint8_t {
  commit,
  undo,
  wait,
  contradiction,  // a host has lost what it had: no verdict is right
};

// Of an entry, by the answers of all hosts that it names. `published`: the timestamp vector shows it.
Decision verdict(std::span<const PartAnswer> answers, bool published);

// The memory servers as the decider reaches them. An error means that the host may have done it or not. A
// host that lost its journals does not answer look().
class DeciderHosts {
 public:
  virtual ~DeciderHosts() = default;
  // Ok once no operation and no call of that compute server can reach the memory server any more, for ever.
  virtual reactor::Task<Status> fence(layout::ServerId server, std::string compute_id) = 0;
  virtual reactor::Task<Result<calls::LookReply>> look(layout::ServerId host, calls::LookRequest request) = 0;
  virtual reactor::Task<Status> make_void(layout::ServerId host, calls::VoidRequest request) = 0;
  virtual reactor::Task<Status> record(layout::ServerId host, calls::VerdictRequest request) = 0;
};

struct UndecidedSlot {
  std::uint32_t slot = 0;
  // The compute server that had it; empty where it left the slot, after all that it had posted was done.
  std::string owner;
  std::uint32_t published = 0;          // what the timestamp vector shows of the slot
  std::uint32_t server_count = 1;       // memory servers of the cluster
  std::vector<layout::ServerId> hosts;  // every memory server that the slot opened a journal on
  // Memory servers that no operation of the owner ever reached. They are not asked.
  std::set<std::uint32_t> without = {};
};

// The outcomes of a slot's commits that had begun to log.
struct Verdicts {
  bool complete = false;              // a commit that is not named is undone
  std::uint32_t through = 0;          // committed, up to here
  std::set<std::uint32_t> committed;  // above that
};

class Decider {
 public:
  explicit Decider(DeciderHosts& hosts) : hosts_(hosts) {}

  // One round. The slot's final counter, once all is decided and recorded at every host. Errors:
  // cannot_connect_now names a memory server that does not answer, to be asked again; corrupt_data where
  // answers contradict each other. `verdicts` gets those of the round that decides the last entry, which a
  // later round does not know any more; null: not wanted. It outlives the task.
  reactor::Task<Result<std::uint32_t>> decide(UndecidedSlot slot, Verdicts* verdicts = nullptr);

 private:
  struct Round;
  reactor::Task<void> fence(Round* round);
  reactor::Task<void> look(Round* round);
  reactor::Task<void> record_voids(Round* round);
  reactor::Task<void> record_commits(Round* round);
  reactor::Task<void> record_final(Round* round);

  DeciderHosts& hosts_;
};

}  // namespace namdb::memory
