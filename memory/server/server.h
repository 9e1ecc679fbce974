// The memory server without its process: everything that nam-memoryd does with peers, calls and its region.
//
// It runs on any executor and any transport; it knows no operating system. All of it belongs to the
// executor's thread. In a test:
//
//   std::vector<std::uint64_t> memory(8 << 20 >> 3);            // zero; outlives the server
//   const auto region = std::as_writable_bytes(std::span(memory));
//   memory::Options options;                                    // a small region wants small extents:
//   options.extent_bytes = 64 << 10;
//   options.journal_bytes = 128 << 10;
//   auto server = std::move(*memory::MemoryServer::create(node, region, options));
//   fabric::sim::SimServerFabric fabric(node, region, *server);
//   server->start(fabric);
//   world.run(node, fabric.listen("sim:m0"));
//   ...
//   world.run(node, server->stop());                            // background tasks end
//   world.run(node, fabric.close());                            // then peers
//
// Two-sided calls are those of proto/control.proto and common/calls; memory/calls/method_list.h lists them
// with their handlers. All request bytes are outside input: an error, never a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/calls/status.h"
#include "memory/coordinator/dead_slots.h"
#include "memory/deciding/decide.h"
#include "memory/options.h"
#include "memory/state/accounting.h"
#include "memory/state/server_state.h"
#include "proto/control.pb.h"

namespace namdb::memory {

class MemoryServer final : public fabric::Service {
 public:
  // `region` is zero and outlives the server. Error configuration when it is too small or an option is bad.
  static Result<std::unique_ptr<MemoryServer>> create(reactor::Executor& executor,
                                                      std::span<std::byte> region, Options options,
                                                      RegionGrowth growth = {});
  ~MemoryServer() override;

  // Before start(): the sink is the database's log on this server, and outlives it. Without one the level of
  // durability is `memory`.
  void log_to(LogSink& sink) { state_.journals.log_to(sink); }
  // With a data folder, before start(): takes over what a checkpoint and its log have of the control state
  // (server 0; version 0 for a new database), and logs what changes from now on. The log outlives the server.
  reactor::Task<Status> open_control(control::ControlState state, std::uint64_t database_id, ControlLog& log);
  // Before listen(), and before start(), of a server that opens together with others: it answers these, and
  // connects to them.
  void meet(fabric::ServerFabric& fabric, Links::MakeFabric make_client);
  // Before listen(). `fabric` stays until stop() has returned. `make_client` makes the client side of the
  // same transport, for connections to the other memory servers; without it there are none. Behind meet():
  // the rest.
  void start(fabric::ServerFabric& fabric, Links::MakeFabric make_client = {});
  // Refuses new peers and ends the background tasks. Before the fabric's close(). Once, after start().
  reactor::Task<void> stop();
  // Resumes when a tool has called SHUTDOWN, or request_shutdown().
  reactor::Task<void> shutdown_requested();
  void request_shutdown() { state_.request_shutdown(); }

  Result<std::string> on_connect(fabric::PeerId peer, std::string_view hello) override;
  reactor::Task<Status> on_call(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                                std::string& reply) override;
  void on_disconnect(fabric::PeerId peer) override;

  const Options& options() const { return state_.options; }
  std::uint64_t epoch() const { return state_.region->map().epoch; }
  // The replies of STATUS (without its sample of rings) and MEMORY.
  control::StatusReply status() const {
    control::StatusReply reply = status_of(state_);
    describe_backlog(state_, *reply.mutable_backlog());
    return reply;
  }
  control::MemoryReply memory() const { return account(state_); }
  RegionUse use() const { return region_use(state_); }
  const Region& region() const { return *state_.region; }

  // For what opens the server, before start(); and for tests of that, behind stop().
  ServerState& parts() { return state_; }

  // --- for checkers of a region at rest ---
  const Tables& tables() const { return state_.tables; }
  const Indexes& indexes() const { return state_.indexes; }
  const Overflow& overflow() const { return state_.overflow; }
  const OldVersions& old_versions() const { return state_.old_versions; }
  const EpochReclaimer& reclaimer() const { return state_.reclaimer; }
  const Peers& peers() const { return state_.peers; }
  // To the other memory servers.
  Links& links() { return state_.links; }
  // All memory servers, for a decider on this one.
  DeciderHosts& hosts() { return hosts_; }
  const Reservations& reservations() const { return state_.reservations; }
  const Journals& journals() const { return state_.journals; }
  // Server 0; null on the others.
  const Slots* slots() const { return state_.slots.get(); }
  const Catalog* catalog() const { return state_.catalog.get(); }
  const ControlChanges* control() const { return state_.control.get(); }

 private:
  MemoryServer(reactor::Executor& executor, std::unique_ptr<Region> region, Options options,
               RegionGrowth region_growth);

  // A memory server that was not reached may answer now: dead slots do not wait any longer.
  reactor::Task<void> watch_links();

  ServerState state_;
  ClusterHosts hosts_{state_};
  std::unique_ptr<DeadSlots> dead_slots_;  // server 0; null on the others
};

}  // namespace namdb::memory
