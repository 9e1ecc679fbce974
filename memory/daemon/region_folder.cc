#include "memory/daemon/region_folder.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <filesystem>
#include <string>

#include "common/service/service_manager.h"
#include "memory/opening/host_opening.h"
#include "memory/peers/links.h"
#include "memory/placement/log_feed.h"
#include "memory/process/restore.h"

namespace namdb::memory {
namespace {

// Of the log on disk: parts of its bound, and their greatest length.
constexpr std::uint64_t kLogSegments = 8;
constexpr std::uint64_t kMaxLogSegment_bytes = 64U << 20;
// Between two attempts to reach memory server 0.
constexpr std::uint64_t kAskAgain_ns = 200 * kMillisecond_ns;

// A new folder of another server than 0 gets server 0's database. Waits for server 0, until a signal comes.
reactor::Task<Result<std::uint64_t>> ask_for_database(reactor::Reactor* reactor,
                                                      const fabric::Transport* transport,
                                                      const Flags* flags) {
  reactor::Signals signals(*reactor, {SIGTERM, SIGINT});
  reactor::Gate gate;
  bool stopping = false;
  reactor->spawn(gate, await_end(&signals, &stopping));
  const std::unique_ptr<fabric::ClientFabric> fabric = transport->make_client();
  const std::string& address = flags->options.memory_servers.front();
  LinkOptions options;
  options.server_id = flags->options.server_id;
  options.server_count = flags->options.server_count;
  Result<std::uint64_t> id = opening_ends();
  std::string told;
  while (!stopping) {
    id = co_await ask_database_id(fabric.get(), &reactor->random(), address, options);
    if (id.ok() || id.status().code() == ErrorCode::configuration) break;
    if (id.status().message() != told) {
      spdlog::warn("waiting for memory server 0 at {}: {}", address, id.status().message());
      service::tell_status("Waiting for memory server 0 at " + address);
    }
    told = id.status().message();
    co_await reactor->sleep_for(kAskAgain_ns);
    id = opening_ends();
  }
  co_await signals.cancel();
  co_await gate.close();
  co_return id;
}

Result<std::uint64_t> new_database_id(reactor::Reactor& reactor, const fabric::Transport& transport,
                                      const Flags& flags, const std::filesystem::path& path) {
  if (DatabaseFolder::exists(path) || flags.options.server_id == 0) return random_word();
  return reactor.run_until(ask_for_database(&reactor, &transport, &flags));
}

}  // namespace

LogOptions log_options(const Flags& flags) {
  LogOptions options;
  options.max_bytes = flags.log_bytes;
  options.segment_bytes = std::min(std::bit_floor(flags.log_bytes / kLogSegments), kMaxLogSegment_bytes);
  options.reserve_bytes = std::min(options.reserve_bytes, options.segment_bytes / 2);
  // Copies take whole blocks.
  if (flags.store.has_store()) options.max_block_bytes = LogFeed::kAnswer_bytes;
  return options;
}

Result<std::unique_ptr<DatabaseFolder>> open_folder(reactor::Reactor& reactor,
                                                    const fabric::Transport& transport, const Flags& flags) {
  const std::filesystem::path path = std::filesystem::path(flags.data) / "data";
  if (flags.options.durability == Durability::memory) {
    if (!DatabaseFolder::exists(path)) return std::unique_ptr<DatabaseFolder>();
    return Status(ErrorCode::configuration,
                  path.string() + " has a database whose durability is flushed, not memory",
                  "start with --durability flushed, or with another --data");
  }
  if (!flags.restore.empty()) {
    const Status restored = restore_database(flags.restore, path);
    if (!restored.ok()) return restored;
    spdlog::info("restored {} from {}", path.string(), flags.restore);
  }
  const auto new_id = new_database_id(reactor, transport, flags, path);
  if (!new_id.ok()) return new_id.status();
  DatabaseFolder::Wanted wanted;
  wanted.new_database_id = *new_id;
  wanted.server_id = flags.options.server_id;
  wanted.version = flags.options.version;
  return DatabaseFolder::open(path, wanted);
}

}  // namespace namdb::memory
