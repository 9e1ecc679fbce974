// For tests: a log of control records in memory, which may be full, fail, or take its time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/reactor/executor.h"
#include "memory/coordinator/control_log.h"

namespace namdb::memory::testing {

class TestControlLog final : public ControlLog {
 public:
  explicit TestControlLog(reactor::Executor& executor) : executor_(executor) {}

  reactor::Task<Result<std::uint64_t>> append(ControlRecord kind, std::string bytes,
                                              Urgency urgency) override {
    if (full && (urgency == Urgency::ordinary || reserve_is_used))
      co_return Status(ErrorCode::disk_full, "the disk is full");
    records.emplace_back(kind, std::move(bytes));
    const std::uint64_t position = records.size();
    co_return position;
  }
  reactor::Task<Status> flush(std::uint64_t position) override {
    if (flush_ns != 0) co_await executor_.sleep_for(flush_ns);
    if (failed) co_return Status(ErrorCode::configuration, "the disk has failed");
    durable = std::max<std::size_t>(durable, position);
    co_return Status();
  }

  std::vector<std::pair<ControlRecord, std::string>> records;
  std::size_t durable = 0;
  std::uint64_t flush_ns = 0;
  bool full = false;
  bool reserve_is_used = false;
  bool failed = false;

 private:
  reactor::Executor& executor_;
};

}  // namespace namdb::memory::testing
