#include "memory/placement/claim.h"

#include <algorithm>
#include <utility>

#include "memory/log/manifest.h"

namespace namdb::memory {

using placement::Configuration;
using placement::ConfigurationStore;

reactor::Task<Result<ConfigurationStore::Stored>> claim_region(reactor::Executor* executor,
                                                               ConfigurationStore* store,
                                                               ClaimOptions options) {
  std::string told;
  while (!options.stopping || !options.stopping()) {
    auto read = co_await store->read();
    Status status = read.status();
    if (status.ok()) {
      ConfigurationStore::Stored& stored = *read;
      if (stored.revision == 0) stored.configuration = Configuration(options.server_count);
      status = check_owner(*store, stored.configuration, options.database_id, options.server_count);
      if (!status.ok()) co_return status;
      const placement::Place& place = stored.configuration.place(options.server_id);
      const std::uint64_t number =
          std::max(options.known.number, options.generation >> kGenerationCount_bits);
      if (place.number != 0) status = check_history(*store, place, options.known);
      if (place.number != 0 && status.ok()) status = check_age(*store, place, number);
      if (!status.ok()) co_return status;
      if (place.number != 0 || !options.claims) co_return std::move(stored);
      Configuration next = stored.configuration;
      if (options.server_id != 0 && next.database_id() == 0) {
        status = Status(ErrorCode::connection_failure, "memory server 0 has no region there yet");
      } else {
        if (next.database_id() == 0) next.set_database_id(options.database_id);
        const std::uint64_t first = number == 0 ? 1 : number + kUnknownPlaces;
        next.set(options.server_id, {first, options.address, {}});
        const auto replaced = co_await store->replace(stored.revision, std::move(next));
        status = replaced.status();
        // It says who was faster, or what became of it.
        if (status.ok()) continue;
      }
    }
    if (status.code() != ErrorCode::connection_failure) co_return status;
    if (status.message() != told && options.notice)
      options.notice("waits for the configuration store " + store->name() + ": " + status.message());
    told = status.message();
    co_await executor->sleep_for(options.retry_ns);
  }
  co_return Status(ErrorCode::admin_shutdown, "stopped while it waited for the configuration store");
}

}  // namespace namdb::memory
