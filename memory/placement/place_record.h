// The word of a memory server's folder on the region of its server id: FOLDER/place, beside log, checkpoint
// and identity.
//
//   state      the folder                                                   a process that starts on it
//   (no file)  has a region that never moved, or is new                     opens it, or creates one
//   vacant     has nothing, or a copy that may not be whole                 waits for a region
//   whole      has all that was durable at the old host at some moment;     asks the old host whether the
//              the old host may have given the region up to it              region is its own (arrival.h)
//   here       has the region                                               opens it
//   departed   had the region, which `claim` has taken to another host      says where it is (vacant_host.h)
//   joins      has a part of a copy                                         follows the primary (follower.h)
//   follows    has a copy: a checkpoint, and the log behind it to an end     follows the primary
//
//   old host   (no file) or here --> departed                               the move happens in this step
//   new host   vacant --> whole --> here, once the old host says that it is departed by that claim
//                           |
//                           +-----> vacant, once the old host says that it will never be
//
//   vacant or departed --> joins --> follows --> here, where the configuration store says so; and
//   here --> follows, where it says that another host is the primary
//
// Without a configuration store, at most one folder has the region, whichever process ends at whatever time.
// With a store, `here` and `follows` are what the process last read in it; each process reads it before it
// opens a region. The region's place in the configuration is durable with the state: here and departed have
// the new place, with a number that is one more than before.
//
// A record is written as a whole: beside the old one, synced, renamed, and the folder synced.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/base/error.h"
#include "common/placement/configuration.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"

namespace namdb::memory {

enum class PlaceState : std::uint8_t {
  vacant = 1,
  whole = 2,
  here = 3,
  departed = 4,
  joins = 5,
  follows = 6
};

struct PlaceRecord {
  PlaceState state = PlaceState::here;
  std::uint64_t database_id = 0;  // 0: not known yet, vacant
  std::uint16_t server_id = 0;
  std::uint64_t claim = 0;     // whole, departed; the last one otherwise
  std::uint64_t position = 0;  // whole: the end of the log
  std::string from;            // whole: the old host
  std::string address;         // whole: of this host
  placement::Configuration configuration;
  friend bool operator==(const PlaceRecord&, const PlaceRecord&) = default;
};

std::string write_place_record(const PlaceRecord& record);
// Outside input. Errors corrupt_data; configuration: a newer format.
Result<PlaceRecord> read_place_record(std::span<const std::byte> file);

// The record on disk, with one writer.
class PlaceKeeper {
 public:
  // nullopt: the folder has none. Errors name the file.
  static reactor::Task<Result<std::optional<PlaceRecord>>> load(Disk& disk, std::string folder);
  // Of that server's folder. Without a record the region is here; if the folder `waits` for one, that
  // becomes its record. Errors: those of load(); configuration: it is another server's; the disk's.
  static reactor::Task<Result<std::unique_ptr<PlaceKeeper>>> open(Disk& disk, std::string folder,
                                                                  std::uint16_t server_id,
                                                                  std::uint32_t server_count, bool waits);
  // Both outlive this. `folder` is there. Without a record on disk nothing is written before store().
  PlaceKeeper(reactor::Executor& executor, Disk& disk, std::string folder, PlaceRecord record);

  const std::string& folder() const { return folder_; }
  // As it is on disk, or will be once store() has returned.
  const PlaceRecord& record() const { return record_; }
  // For a folder without a record; does not write one.
  void know_database(std::uint64_t database_id) {
    record_.database_id = database_id;
    record_.configuration.set_database_id(database_id);
  }
  // A whole copy becomes the region's folder although its old host has not said yes. Error
  // object_not_in_prerequisite_state: the folder has none.
  reactor::Task<Status> take_by_force();
  // Durable when it returns. Callers wait for each other. After an error the old or the new one may be
  // there: the process is to end.
  reactor::Task<Status> store(PlaceRecord record);
  // Takes places with higher numbers into the record and changes nothing else of it, also if another task
  // stores a record meanwhile. Durable when it returns, with store()'s errors.
  reactor::Task<Status> learn(placement::Configuration places);

 private:
  reactor::Task<Status> write(std::string bytes);

  Disk& disk_;
  std::string folder_;
  PlaceRecord record_;
  bool writing_ = false;
  reactor::Event written_;
};

}  // namespace namdb::memory
