// The slots of compute servers that died, until they are closed (server 0): each is decided in rounds
// (decider.h), in a task in the background.
//
//   dead --round: fence, look, void, commit, final--> its word in the timestamp vector --> closed
//            ^                              |
//            '-- pause, doubled up to 1 s --'  a memory server does not answer, or answers contradict others
//
// Slots are decided side by side, kAtOnce at a time: one that waits for a memory server holds up no other.
// The first compute server that connects to all memory servers tells where they are. So where there are
// several, a slot that dies before waits for that.
//
// A failure is reported once as long as its reason stays.
//
// Belongs to the executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/coordinator/control_changes.h"
#include "memory/coordinator/decider.h"
#include "memory/coordinator/slots.h"
#include "memory/options.h"

namespace namdb::memory {

class DeadSlots {
 public:
  static constexpr std::uint64_t kFirstPause_ns = kMillisecond_ns;
  static constexpr std::uint64_t kLongestPause_ns = kSecond_ns;
  static constexpr std::uint32_t kAtOnce = 64;

  struct Duties {
    Slots& slots;
    ControlChanges& control;
    DeciderHosts& hosts;
    // The slot's word on another memory server, where the timestamp vector is partitioned, shows at least
    // that counter. The counter that it shows then.
    std::function<reactor::Task<Result<std::uint32_t>>(std::uint32_t slot, std::uint64_t position,
                                                       std::uint32_t counter)>
        place;
    // A slot was closed. Called before any peer sees that.
    std::function<void(std::uint32_t slot, Verdicts verdicts)> closed;
  };
  // All outlive this, `options` too.
  DeadSlots(reactor::Executor& executor, const Options& options, Duties duties)
      : executor_(executor), options_(options), duties_(std::move(duties)), changed_(executor) {}

  // Runs until stop(), and until the rounds that are under way have ended.
  reactor::Task<void> run();
  // A slot died, or a memory server may answer that did not: none waits any longer.
  void wake();
  void stop();

 private:
  struct Dead {
    bool deciding = false;
    bool again = false;  // wake() was called meanwhile
    std::uint64_t due_ns = 0;
    std::uint64_t pause_ns = 0;  // after the last round
    Verdicts verdicts;           // of all rounds
    std::string reported;
  };
  // Begins the rounds that are due.
  void begin_rounds();
  std::uint64_t next_round_ns() const;
  reactor::Task<void> decide(std::uint32_t slot);
  reactor::Task<Status> decide_and_close(std::uint32_t slot);
  void report(std::uint32_t slot, Dead& dead, const Status& why);

  reactor::Executor& executor_;
  const Options& options_;
  Duties duties_;
  std::map<std::uint32_t, Dead> dead_;  // by slot
  std::uint32_t deciding_ = 0;
  bool stopping_ = false;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
