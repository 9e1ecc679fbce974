// The connection over which a worker's new transactions run, with its heartbeat and its silence watch. While
// there is none, this has the reason, and the facts that are known from the last one. Belongs to the worker's
// executor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/role.h"
#include "compute/cluster/location_cache.h"
#include "compute/cluster/server_epochs.h"
#include "compute/worker/connection_report.h"
#include "compute/worker/earlier_connections.h"
#include "compute/worker/region_finder.h"
#include "compute/worker/worker_options.h"

namespace namdb::compute {

class CurrentConnection {
 public:
  // All outlive this. `tasks` has what goes on in the background; `answers` those tasks that wait for answers
  // of memory servers, which end with their connections.
  struct Parts {
    const WorkerOptions& options;
    const LogLine& log;
    storage::LocationCache& locations;
    RegionFinder& finder;
    reactor::Gate& tasks;
    reactor::Gate& answers;
  };
  explicit CurrentConnection(const Parts& parts) : parts_(parts) {}

  // Null: there is none.
  const std::shared_ptr<Connection>& get() const { return now_.connection; }
  bool none() const { return now_.connection == nullptr; }
  // Its cluster object, with the connection; null: there is none.
  std::shared_ptr<txn::Cluster> cluster() const;
  // For operations that need all memory servers. Error if there is no connection, or if it lacks one of them.
  Result<std::shared_ptr<Connection>> whole() const;
  // The error where there is none.
  Status not_connected() const;
  // With the heartbeat and the silence watch, which are null where it is.
  const Attachment& attachment() const { return now_; }

  // New transactions run over that one. The one before, if there was one, is not ended by that.
  void use(std::shared_ptr<Connection> connection);
  // The connection is lost: transactions fail. `opens`: memory servers open the database.
  reactor::Task<void> lose(bool opens);
  // Gives it back, and tells memory servers, unless some of them would not hear it.
  reactor::Task<void> leave();
  // An attempt to make another one ended so.
  void could_not_connect(const Status& why);
  // Learns of copies of regions, in the background, where regions have some.
  void learn_copies();

  // Memory servers open the database again, and wait for its end.
  bool end_awaited() const { return end_awaited_; }
  void await_end() { end_awaited_ = true; }

  // How many there have been.
  std::uint64_t count() const { return count_; }
  // As of the last one: by its protocol, and by its durability level.
  bool serializable() const { return serializable_; }
  bool flushed() const { return flushed_; }
  // As of its catalog, or of the last one's: a session must not become a superuser's meanwhile. Never null.
  const storage::RolesRef& roles() const;
  ConnectionReport::Now report() const;

 private:
  reactor::Task<void> drop(bool cleanly);

  Parts parts_;
  Attachment now_;
  bool end_awaited_ = false;
  std::string reason_;  // why there is none
  bool opens_ = false;  // then: memory servers open the database
  std::uint64_t count_ = 0;
  bool serializable_ = false;
  bool flushed_ = false;
  txn::ServerEpochs epochs_;
  mutable storage::RolesRef roles_ = std::make_shared<const storage::Roles>();
};

}  // namespace namdb::compute
