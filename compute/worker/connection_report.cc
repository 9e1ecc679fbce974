#include "compute/worker/connection_report.h"

#include <string>

#include "common/fabric/local_path.h"

namespace namdb::compute {
namespace {

// How old what other workers report may be.
constexpr std::uint64_t kInterval_ns = kSecond_ns;

}  // namespace

std::vector<fabric::ConnectionFacts> ConnectionReport::own(const Now& now) const {
  std::vector<fabric::ConnectionFacts> all;
  for (std::size_t server = 0; server < options_.memory_servers.size(); ++server) {
    fabric::ConnectionFacts& connection = all.emplace_back();
    connection.worker = options_.worker;
    connection.memory_server = static_cast<std::uint32_t>(server);
    fabric::Facts& facts = connection.facts;
    const auto id = static_cast<layout::ServerId>(server);
    const std::string& address =
        now.cluster == nullptr ? options_.memory_servers[server] : now.cluster->address(id);
    fabric::describe_link(fabric_, address, facts);
    facts.count("connections", now.connections);
    if (now.cluster == nullptr) {
      facts.say("error", std::string(now.reason));
    } else {
      now.cluster->channel(id).describe(facts);
    }
  }
  return all;
}

void ConnectionReport::post(const Now& now) {
  if (options_.board == nullptr || executor_.now_ns() < due_ns_) return;
  due_ns_ = executor_.now_ns() + kInterval_ns;
  options_.board->post(options_.worker, own(now));
}

std::vector<fabric::ConnectionFacts> ConnectionReport::all(const Now& now) const {
  if (options_.board == nullptr) return own(now);
  options_.board->post(options_.worker, own(now));
  return options_.board->all();
}

}  // namespace namdb::compute
