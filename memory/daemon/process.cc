#include "memory/daemon/process.h"

#include <spdlog/spdlog.h>
#include <sys/random.h>

#include <utility>

#include "common/config/daemon_flags.h"
#include "common/fabric/local_path.h"
#include "common/fabric/shm/transport.h"

namespace namdb::memory {

int refuse(const Status& status) {
  spdlog::error("{}{}", status.message(), status.hint().empty() ? "" : " (" + status.hint() + ")");
  return config::exit_code_of(status.code());
}

int disk_failed(const Status& failure) {
  spdlog::error("{}, and this memory server ends", failure.message());
  return config::kExitFailure;
}

reactor::Task<void> await_end(reactor::Signals* signals, bool* stopping, std::function<void()> stop) {
  *stopping = (co_await signals->next()).ok();
  if (*stopping && stop) stop();
}

Result<std::uint64_t> random_word() {
  std::uint64_t word = 0;
  while (word == 0) {
    if (::getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word))
      return Status(ErrorCode::configuration, "the system has no randomness");
  }
  return word;
}

std::unique_ptr<fabric::ServerFabric> make_fabric(reactor::Reactor& reactor,
                                                  const fabric::Transport& transport,
                                                  const fabric::ServerRegion& region, fabric::Service& server,
                                                  const std::string& listen_local) {
  auto fabric = transport.make_server(region, server);
  if (listen_local.empty()) return fabric;
  return std::make_unique<fabric::LocalPathServer>(
      std::move(fabric), fabric::shm::local_server(reactor, region, server), listen_local);
}

}  // namespace namdb::memory
