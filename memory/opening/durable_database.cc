#include "memory/opening/durable_database.h"

#include <algorithm>

#include "memory/log/manifest.h"

namespace namdb::memory {

reactor::Task<Result<bool>> DurableDatabase::exists(Disk& disk, std::string folder) {
  const std::string checkpoints = folder + "/checkpoint";
  Status status = co_await disk.make_folder(checkpoints);
  if (!status.ok()) co_return status;
  const Result<std::vector<std::string>> names = co_await disk.list(checkpoints);
  if (!names.ok()) co_return names.status();
  co_return std::ranges::any_of(
      names.value(), [](const std::string& name) { return manifest_generation(name).has_value(); });
}

reactor::Task<void> DurableDatabase::end_opening() {
  if (cluster_opening_) cluster_opening_->stop();
  if (host_opening_) co_await host_opening_->close();
}

reactor::Task<void> DurableDatabase::close() {
  co_await end_opening();
  if (cluster_opening_) co_await cluster_opening_->close();
  if (checkpoint_log_) co_await checkpoint_log_->close();
  if (log_) co_await log_->close();
}

}  // namespace namdb::memory
