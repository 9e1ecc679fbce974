#include "memory/daemon/region_parts.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>
#include <utility>

namespace namdb::memory {
namespace {

std::atomic<bool> without_memory{false};

RegionGrowth growth_of(RegionMemory& region) {
  return {region.limit_bytes(), [&region](std::uint64_t length_bytes) {
            Result<std::uint64_t> longer = region.grow(length_bytes);
            if (longer.ok()) {
              spdlog::info("the region has grown to {} MiB, limit {} MiB", *longer >> 20,
                           region.limit_bytes() >> 20);
            }
            return longer;
          }};
}

}  // namespace

Result<RegionParts> make_region(reactor::Reactor& reactor, Flags& flags, Missing missing) {
  RegionParts parts;
  auto memory = RegionMemory::create(
      flags.region_bytes, flags.region_limit_bytes, flags.huge_pages, [] { return memory_limits(); },
      std::move(missing));
  if (!memory.ok()) return memory.status();
  parts.memory = std::move(*memory);
  RegionMemory& region = *parts.memory;
  if (!region.warning().empty()) spdlog::warn("{}", region.warning());
  spdlog::info("region of {} MiB on {} pages, limit {} MiB", region.bytes().size() >> 20,
               region.huge_pages() ? "2 MiB" : "ordinary", region.limit_bytes() >> 20);
  flags.options.huge_pages = region.huge_pages();
  flags.options.notice = [](const std::string& line) { spdlog::warn("{}", line); };
  auto server = MemoryServer::create(reactor, region.bytes(), flags.options, growth_of(region));
  if (!server.ok()) return server.status();
  parts.server = std::move(*server);
  return parts;
}

// On the thread that allocates the region, while others run.
void end_without_memory(const Status& why) {
  spdlog::error("{}, and this memory server ends", why.message());
  without_memory = true;
  ::kill(::getpid(), SIGTERM);
}

bool ended_without_memory() {
  return without_memory;
}

}  // namespace namdb::memory
