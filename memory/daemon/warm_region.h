// The region of a copy in this process' memory, with the memory server that opens it when the copy takes
// over. Where the machine turns out to have too little memory for it, the image is of no use, and the process
// goes on; once the region is to be opened, it ends.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "memory/daemon/region_parts.h"
#include "memory/opening/prepared_database.h"
#include "memory/placement/copy_image.h"

namespace namdb::memory {

// The memory of one region, and the thread that allocates it.
struct WarmMemory {
  std::atomic<bool> is_missing{false};
  std::atomic<bool> is_needed{false};  // by a region that opens
};

class WarmRegion final : public CopyImage {
 public:
  // `folder`: the copy's, which is that database's. Executor and disk outlive this.
  WarmRegion(RegionParts parts, std::shared_ptr<WarmMemory> memory, reactor::Executor& executor, Disk& disk,
             std::string folder, std::uint64_t database_id)
      : memory_(std::move(memory)),
        parts_(std::move(parts)),
        database_(executor, disk, std::move(folder), *parts_.server, options(database_id)) {}

  reactor::Task<Status> load() override {
    const Status status = co_await database_.load();
    co_return memory_->is_missing ? no_memory() : status;
  }
  void stop() override { stopping_ = true; }
  Status apply(const LogRecord& record) override {
    return memory_->is_missing ? no_memory() : database_.apply(record);
  }
  LogPosition applied() const override { return database_.applied(); }
  Result<bool> forget_settled() override { return database_.forget_settled(); }
  void end_log(LogEnd end) override { database_.end_log(std::move(end)); }
  reactor::Task<Status> derive() override { return database_.derive(); }

  // The region is to be opened. False: it cannot be.
  bool need_memory() {
    memory_->is_needed = true;
    return !memory_->is_missing;
  }
  RegionParts& parts() { return parts_; }
  PreparedDatabase& database() { return database_; }

 private:
  static Status no_memory() {
    return Status(ErrorCode::out_of_memory, "the machine has too little memory for the region");
  }
  DurableOptions options(std::uint64_t database_id) {
    DurableOptions options;
    options.database_id = database_id;
    options.stopping = [this] { return stopping_ || memory_->is_missing; };
    return options;
  }

  bool stopping_ = false;
  std::shared_ptr<WarmMemory> memory_;
  RegionParts parts_;
  PreparedDatabase database_;
};

}  // namespace namdb::memory
