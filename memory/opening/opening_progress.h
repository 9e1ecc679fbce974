// The progress of a database that opens, for people: a line a second, with percent and rate where they are
// known. Written by the opening, read by a task of its own; one executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/recovery/progress.h"

namespace namdb::memory {

class OpeningProgress {
 public:
  static constexpr std::uint64_t kInterval_ns = kSecond_ns;

  explicit OpeningProgress(reactor::Executor& executor) : executor_(executor), ended_(executor) {}

  // A part of so many bytes, at most, begins: "checkpoint", for instance. 0: it has no measure.
  void begin(std::string part, std::uint64_t total_bytes);
  void add(std::uint64_t bytes) { done_bytes_ += bytes; }
  // From now on buckets and indexes are made.
  void derive();
  RecoveryProgress& recovery() { return recovery_; }

  // "checkpoint: 43 % of 1200 MiB, 310 MB/s"; "buckets of accounts: 1200 rows, 96000 bytes; 0 keys"
  std::string text() const;

  // Tells until end(). `line` may be empty.
  void start(std::function<void(const std::string&)> line);
  reactor::Task<void> end();

 private:
  reactor::Task<void> tell();

  reactor::Executor& executor_;
  std::function<void(const std::string&)> line_;
  std::string part_;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t began_ns_ = 0;
  bool deriving_ = false;
  RecoveryProgress recovery_;
  reactor::Event ended_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
