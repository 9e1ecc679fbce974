// A disk in memory that loses power, ends as a killed process leaves it, fails, lies and fills up, all
// decided by a seed and by the step at which it shall happen. For tests, on any executor.
//
// Each operation that changes something counts one step at its beginning, and a second one when its bytes
// have arrived and are not durable yet. Some sectors of a write, all, or none arrive as soon as it begins.
// After a loss of power, each sector of 512 bytes whose write is not durable has the old bytes, the new ones,
// or a part of both, in any order. It leaves a prefix of the creations, renames and removals in a folder that
// was not synced. After a kill all that has arrived is read back, and is as little durable as before.
//
// The disk outlives the processes that use it one after the other, and their executors: restart().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/reactor/executor.h"
#include "memory/log/disk.h"

namespace namdb::memory::testing {

inline constexpr std::uint64_t kSector_bytes = 512;

class FaultDisk final : public Disk {
 public:
  FaultDisk(reactor::Executor& executor, std::uint64_t seed) : executor_(&executor), random_(seed) {}

  // Of each operation: the minimum and something up to the spread. Without it they take a turn.
  void set_latency(std::uint64_t min_ns, std::uint64_t spread_ns) {
    latency_min_ns_ = min_ns;
    latency_spread_ns_ = spread_ns;
  }

  // --- faults ---
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  // From that step on every operation fails, as if there were no disk.
  void stop_at(std::uint64_t step) { stop_at_ = step; }
  // The operation of that step fails once, and the bytes that it should have made durable never will be,
  // though later operations succeed.
  void fail_at(std::uint64_t step) { fail_at_ = step; }
  // Room for all files.
  void set_capacity(std::uint64_t capacity_bytes) { capacity_bytes_ = capacity_bytes; }
  // Writes find no room, also in space that is allocated.
  void refuse_writes(bool refused) { writes_refused_ = refused; }
  void flip_bit(const std::string& path, std::uint64_t bit);
  void overwrite(const std::string& path, std::uint64_t offset, std::span<const std::byte> bytes);
  void cut(const std::string& path, std::uint64_t length_bytes);

  // Another process begins. Files that are open are of no use any more. Operations that were under way never
  // end if their executor is not turned any more, and fail otherwise.
  enum class End : std::uint8_t { killed, power_lost };
  void restart(End end);
  // On an executor of its own.
  void restart(End end, reactor::Executor& executor) {
    restart(end);
    executor_ = &executor;
  }

  std::uint64_t steps() const { return steps_; }
  bool stopped() const { return stopped_; }
  std::uint64_t used_bytes() const;
  // By all reads that have ended.
  std::uint64_t read_bytes() const { return read_bytes_; }
  // Of a file that is there.
  std::vector<std::byte> bytes(const std::string& path) const { return names_.at(path)->now; }
  bool has(const std::string& path) const { return names_.contains(path); }
  // A copy of the disk as it is, for trying several ends.
  std::unique_ptr<FaultDisk> copy(std::uint64_t seed) const;

  reactor::Executor& executor() override { return *executor_; }
  reactor::Task<Result<std::vector<std::string>>> list(std::string folder) override;
  reactor::Task<Result<std::unique_ptr<DiskFile>>> create(std::string path,
                                                          std::uint64_t length_bytes) override;
  reactor::Task<Result<std::unique_ptr<DiskFile>>> open(std::string path) override;
  reactor::Task<Status> rename(std::string from, std::string to) override;
  reactor::Task<Status> remove(std::string path) override;
  reactor::Task<Status> make_folder(std::string path) override;
  reactor::Task<Status> sync_folder(std::string path) override;

 private:
  struct Node {
    std::vector<std::byte> now;
    std::vector<std::byte> durable;
    std::set<std::uint64_t> dirty;  // sectors
    bool length_durable = false;
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  struct FolderChange {
    std::string folder;
    std::string removed;  // empty: none
    std::string added;
    std::shared_ptr<Node> node;
  };
  class File;

  // One step; an error when it is the last.
  Status step();
  reactor::Task<void> take_time();
  void change(std::string removed, std::string added, std::shared_ptr<Node> node);
  static void apply(Names& names, const FolderChange& change);
  void lose_power();
  void settle(Node& node);

  reactor::Executor* executor_;
  Random random_;
  std::uint64_t latency_min_ns_ = 0;
  std::uint64_t latency_spread_ns_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t stop_at_ = kNever;
  std::uint64_t fail_at_ = kNever;
  std::uint64_t capacity_bytes_ = kNever;
  bool writes_refused_ = false;
  bool stopped_ = false;
  std::uint64_t read_bytes_ = 0;
  std::uint64_t process_ = 0;
  Names names_;
  Names durable_names_;
  std::vector<FolderChange> changes_;  // not durable
  std::set<std::string> folders_;
};

}  // namespace namdb::memory::testing
