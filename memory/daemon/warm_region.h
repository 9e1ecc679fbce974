// The region of a copy in this process' memory, with the memory server that opens it when the copy takes
// over.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "memory/daemon/region_parts.h"
#include "memory/opening/prepared_database.h"
#include "memory/placement/copy_image.h"

namespace namdb::memory {

class WarmRegion final : public CopyImage {
 public:
  // `folder`: the copy's, which is that database's. Executor and disk outlive this.
  WarmRegion(RegionParts parts, reactor::Executor& executor, Disk& disk, std::string folder,
             std::uint64_t database_id)
      : parts_(std::move(parts)),
        database_(executor, disk, std::move(folder), *parts_.server, options(database_id)) {}

  reactor::Task<Status> load() override { return database_.load(); }
  void stop() override { stopping_ = true; }
  Status apply(const LogRecord& record) override { return database_.apply(record); }
  LogPosition applied() const override { return database_.applied(); }
  Status forget_settled() override { return database_.forget_settled(); }
  void end_log(LogEnd end) override { database_.end_log(std::move(end)); }
  reactor::Task<Status> derive() override { return database_.derive(); }

  RegionParts& parts() { return parts_; }
  PreparedDatabase& database() { return database_; }

 private:
  DurableOptions options(std::uint64_t database_id) {
    DurableOptions options;
    options.database_id = database_id;
    options.stopping = [this] { return stopping_; };
    return options;
  }

  bool stopping_ = false;
  RegionParts parts_;
  PreparedDatabase database_;
};

}  // namespace namdb::memory
