// A compute worker of nambench's own: a reactor on this thread, a channel to each memory server, and the
// engine on top, without SQL in the way.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/cluster/stage_times.h"
#include "tools/support/client/database_view.h"

namespace namdb::nambench {

struct EngineHostOptions {
  std::vector<std::string> memory_servers;  // unix:PATH or HOST:PORT, server 0 first; all of one transport
  std::size_t location_cache_bytes = 64U << 20;
  std::string snapshots = "own";     // as nam-computed's flag
  std::size_t slots_per_worker = 1;  // as nam-computed's flag
  bool whole_writes = false;         // as nam-computed's flag
  std::string index_reads = "auto";  // as nam-computed's flag
  std::string lock_at = "auto";      // as nam-computed's flag
  std::string without;               // as nam-computed's flag
  std::string cluster_key_file;      // tcp only; may be empty
  std::string fabric_encryption;     // off, required, or as nam-memoryd's default
  bool stage_times = false;          // count where the time of transactions goes
};

class EngineHost {
 public:
  // Connects. Blocks.
  static Result<std::unique_ptr<EngineHost>> open(const EngineHostOptions& options);
  EngineHost(const EngineHost&) = delete;
  EngineHost& operator=(const EngineHost&) = delete;
  // Disconnects. No task runs any more.
  ~EngineHost();

  txn::Engine& engine();
  // The times of all transactions so far. Callers may set them to zero. Null without stage_times.
  txn::StageTimes* stage_times();
  // Runs the reactor until the task has ended.
  void run(reactor::Task<void> task);

 private:
  struct Parts;
  explicit EngineHost(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// Counts and sums by scanning.
class EngineView : public support::DatabaseView {
 public:
  explicit EngineView(EngineHost& host) : host_(host) {}
  Result<std::int64_t> count(const std::string& table) override;
  Result<std::int64_t> sum(const std::string& table, const layout::Column& column) override;
  Result<bool> partitioned(const std::string& table) override;
  Result<std::uint32_t> memory_servers() override;
  Status scan(std::span<const workloads::TableLoad> tables, const std::function<void()>& restart,
              const TakeRow& take) override;

 private:
  EngineHost& host_;
};

}  // namespace namdb::nambench
