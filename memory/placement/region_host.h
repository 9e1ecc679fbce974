// The host's end of a region that it has on disk: gives out copies of the database's files, and gives the
// region up to another host (move_calls.h). Meanwhile transactions go on: a copy is made beside them, like a
// backup, with the steps of CHECKPOINT.
//
// Giving it up, for a caller that says up to where its copy goes:
//
//   1. the log ends there (Log::end_here). It must be paused, and nothing may be durable behind: then the
//      caller's copy has all that was ever acknowledged. Commits that wait for the log fail, and their owners
//      ask the new host what became of them, as after a restart
//   2. the record `departed` is durable (place_record.h): from now on the region is the caller's
//   3. no newcomer is taken, and the server ends as it does when it is shut down: no peer has a channel any
//      more. Only then, and from its next life on, the process confirms the claim (vacant_host.h): so no peer
//      reads here what may have changed there
//
// A refused claim is refused for ever, also if its request arrives a second time, late.
//
// It also keeps what the server learns of other regions' places. (A later place of its own one ends it: see
// memory/daemon/region_life.cc. With a configuration store copies.h keeps the own one.)
//
// One executor's thread.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"
#include "memory/log/log.h"
#include "memory/placement/place_record.h"
#include "memory/state/departure_service.h"
#include "memory/state/server_state.h"

namespace namdb::memory {

class RegionHost final : public DepartureService {
 public:
  // All outlive this. `on_failure` as LogOptions' one.
  RegionHost(ServerState& server, Disk& disk, Log& log, PlaceKeeper& keeper,
             std::function<void(const Status&)> on_failure);
  ~RegionHost() override;
  RegionHost(const RegionHost&) = delete;
  RegionHost& operator=(const RegionHost&) = delete;

  // Calls are answered from now on.
  void start();
  // Behind MemoryServer::stop(), before the log's close().
  reactor::Task<void> close();

  reactor::Task<Status> files(placement::FilesRequest request, std::string* reply) override;
  reactor::Task<Status> read_file(placement::ReadFileRequest request, std::string* reply) override;
  reactor::Task<Status> hand_over(placement::HandOverRequest request) override;

 private:
  reactor::Task<Status> depart(placement::HandOverRequest request);
  reactor::Task<void> keep_places();

  ServerState& server_;
  Disk& disk_;
  Log& log_;
  PlaceKeeper& keeper_;
  std::function<void(const Status&)> on_failure_;
  std::uint64_t claimed_ = 0;  // the claim that took the region; 0: none did
  std::set<std::uint64_t> refused_;
  reactor::Event learned_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
