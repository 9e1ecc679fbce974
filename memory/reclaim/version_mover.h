// The version mover: copies displaced versions out of records' rings into the overflow region, so that
// writers may use the ring slots again (NAM-DB §5.1).
//
// For each record the mover follows the links from the certified body downwards, over the ring slots that are
// not moved. Then it moves these slots, oldest first: it copies and certifies the payload, links the entry at
// the overflow head, and sets `moved`. It touches only slots that are linked from a certified body. These
// slots are whole (a writer's body lands after its ring slot) and no peer changes them (a writer takes moved
// slots only). A record is done without suspending; between records the mover yields.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/options.h"
#include "memory/reclaim/old_versions.h"
#include "memory/region/overflow.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"

namespace namdb::memory {

class VersionMover {
 public:
  VersionMover(reactor::Executor& executor, Region& region, const Options& options, Tables& tables,
               Overflow& overflow, OldVersions& old_versions)
      : executor_(executor),
        region_(region),
        options_(options),
        tables_(tables),
        overflow_(overflow),
        old_versions_(old_versions) {}

  // `offsets` are outside input: those that are not records of the table are skipped.
  reactor::Task<Status> move(std::uint32_t table, std::vector<std::uint64_t> offsets);

  std::uint64_t moved() const { return moved_; }

 private:
  enum class Outcome { done, unstable, full };
  Outcome move_record(const Table& table, std::uint64_t record);
  Outcome move_slot(const Table& table, std::uint64_t record, std::uint32_t ring_slot,
                    layout::Stamp successor);
  void store_far_links(layout::OverflowLink entry, layout::OverflowLink older, std::uint32_t body_bytes);

  reactor::Executor& executor_;
  Region& region_;
  const Options& options_;
  Tables& tables_;
  Overflow& overflow_;
  OldVersions& old_versions_;
  std::vector<std::byte> body_;  // room for one body, used without suspending
  std::uint64_t moved_ = 0;
};

// The table id and offsets of a MOVE_VERSIONS or NOTE_DELETES request (hot_calls.h), which is outside input.
struct RecordList {
  static Result<RecordList> parse(std::string_view request);
  std::uint32_t table = 0;
  std::vector<std::uint64_t> offsets;
};

}  // namespace namdb::memory
