#include "compute/metrics/server_watch.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "common/reactor/mailbox.h"

namespace namdb::compute {
namespace {

// The last round in which a worker's thread said something. Owned by the messages, too.
using Signs = std::vector<std::atomic<std::uint64_t>>;

ServerFigures figures_of(const WatchedServer& server) {
  ServerFigures figures;
  figures.version = server.version;
  figures.fabric = server.fabric;
  figures.workers = static_cast<std::uint32_t>(server.workers.size());
  figures.connections = server.process.connections();
  figures.max_connections = server.process.options().max_connections;
  figures.statistics = server.process.statistics().rows();
  figures.connection_facts = server.board.all();
  return figures;
}

// Asks all workers for a sign; true if all have given that of the round before. Until a worker has answered
// it is not asked again.
bool ask_for_signs(const WatchedServer& server, const std::shared_ptr<Signs>& signs, std::uint64_t& round) {
  if (!std::ranges::all_of(*signs, [&round](const auto& sign) { return sign == round; })) return false;
  ++round;
  for (std::size_t i = 0; i < signs->size(); ++i)
    server.workers[i]->reactor().mailbox().post([signs, i, asked = round] { (*signs)[i] = asked; });
  return true;
}

}  // namespace

metrics::DaemonWatch::Subject watched(const WatchedServer& server) {
  return {[server](metrics::MetricPage& page) { add_server(page, figures_of(server)); },
          [server] { return status_line(figures_of(server)); },
          [server, signs = std::make_shared<Signs>(server.workers.size()),
           round = std::uint64_t{0}]() mutable { return ask_for_signs(server, signs, round); }};
}

}  // namespace namdb::compute
