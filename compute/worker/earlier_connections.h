// The connections of a worker that a later connection has replaced. Transactions that run over an earlier
// connection go on until they end, over the channels that are left. A connection is replaced when a memory
// server whose loss the cluster survives (compute/cluster/cluster.h) was lost or has come back: the next
// connection lacks that server, or has it again.
//
// Such a connection ends with its last transaction, or when all of them are older than transactions may be,
// or as soon as server 0 is lost. Where memory servers wait for its end, since one of them opens the
// database again, its transactions have a moment. With a server that it has lost its slots die: they are
// decided when that server is there again.
//
// Belongs to the worker's executor.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "common/base/clock.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::compute {

struct Connection;
class Heartbeat;
class SilenceWatch;

// A connection and what goes on beside it.
struct Attachment {
  std::shared_ptr<Connection> connection;
  std::shared_ptr<Heartbeat> heartbeat;
  std::shared_ptr<SilenceWatch> silence_watch;
};

// Its transactions fail. `cleanly`: there are none, and memory servers are told.
reactor::Task<void> end_connection(std::shared_ptr<Connection> connection, bool cleanly);

class EarlierConnections {
 public:
  // For transactions whose end is waited for, since a later connection has taken the place of theirs. Those
  // that cannot end by themselves, since they need a server that is lost, keep it from opening so long.
  static constexpr std::uint64_t kMoment_ns = 200 * kMillisecond_ns;

  explicit EarlierConnections(reactor::Executor& executor) : executor_(executor) {}

  // Its transactions may take so long to end.
  void add(Attachment earlier, std::uint64_t longest_ns);
  bool empty() const { return all_.empty(); }
  // A server that some of them have lost is elsewhere, and will open soon: those are over in a moment.
  void hasten();
  // Their heartbeats; and the ends of those that end now. Not by two tasks at once.
  reactor::Task<void> maintain();
  // Until the next time.
  std::uint64_t pause_ns(std::uint64_t interval_ns) const;
  // Gives up memory servers that do not answer.
  void check_silence();
  // Ends all.
  reactor::Task<void> close();

 private:
  struct Earlier {
    Attachment attachment;
    std::uint64_t since_ns = 0;
    std::uint64_t end_by_ns = 0;
    bool awaited = false;
  };
  void await_end(Earlier& earlier) const;
  reactor::Task<void> maintain_one(std::shared_ptr<Earlier> earlier);

  reactor::Executor& executor_;
  std::list<std::shared_ptr<Earlier>> all_;
};

}  // namespace namdb::compute
