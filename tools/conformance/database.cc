#include "tools/conformance/database.h"

#include <cstdlib>

namespace namdb::conformance {
namespace {

reactor::Task<void> store(reactor::Task<Status> step, Status* status) {
  *status = co_await std::move(step);
}
reactor::Task<void> pass(reactor::Executor* executor, std::uint64_t duration_ns) {
  co_await executor->sleep_for(duration_ns);
}

}  // namespace

memory::Options DatabaseOptions::memory(std::uint16_t server) const {
  memory::Options memory;
  memory.server_id = server;
  memory.protocol = protocol;
  memory.stages = stages;
  memory.timestamp_vector = timestamp_vector;
  memory.shared_read_locks = shared_read_locks;
  memory.extent_bytes = 64U << 10;
  memory.journal_bytes = 128U << 10;
  memory.max_transaction_ns = max_transaction_ns;
  return memory;
}

Status Database::run(std::size_t compute, reactor::Task<Status> step) {
  Status status;
  run_task(compute, store(std::move(step), &status));
  return status;
}

void Database::wait(std::uint64_t duration_ns) {
  run_task(0, pass(&engine(0).executor(), duration_ns));
}

std::vector<std::string> transports() {
  if (std::getenv("NAMDB_TEST_VERBS_ADDRESS") != nullptr) return {"verbs"};
  return {"sim", "shm", "tcp", "tcp+shm"};
}

std::unique_ptr<Database> open(const DatabaseOptions& options) {
  return options.transport == "sim" ? open_simulated(options) : open_real(options);
}

}  // namespace namdb::conformance
