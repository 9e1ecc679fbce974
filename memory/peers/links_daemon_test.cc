// Connections to memory servers that are real daemons: over shared memory and over tcp with a cluster key,
// through the end of a daemon and its return.
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "common/calls/hot_calls.h"
#include "common/fabric/cluster_key.h"
#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/transport.h"
#include "common/reactor/reactor.h"
#include "memory/peers/links.h"
#include "memory/testing/daemon_process.h"
#include "proto/control.pb.h"

namespace namdb::memory {
namespace {

reactor::Task<Status> ping_server_1(Links* links) {
  const auto reply = co_await links->call(1, calls::kPingMethod, "");
  co_return reply.ok() ? Status() : reply.status();
}

// How many peers the server has, this one included; -1 if it does not say.
reactor::Task<int> peers_of_server_1(Links* links) {
  const auto reply = co_await links->call(1, control::STATUS, "");
  control::StatusReply status;
  if (!reply.ok() || !status.ParseFromString(*reply) || status.server_id() != 1) co_return -1;
  co_return status.peers_size();
}

reactor::Task<void> until_it_is(Links* links, Links::State state) {
  while (links->state(1) != state) co_await links->changed().wait();
}

// `start` starts the daemon of server 1, always at the same address.
void end_and_return(reactor::Reactor& reactor, const fabric::Transport& transport, std::string address,
                    const std::function<std::unique_ptr<testing::Daemon>()>& start) {
  Links links(reactor, {.server_count = 2});
  links.set_fabric(transport.make_client);
  REQUIRE(links.learn({"unix:/nobody", address}, {5, 0}).ok());
  auto daemon = start();
  REQUIRE(daemon->ready());
  REQUIRE(reactor.run_until(ping_server_1(&links)).ok());
  CHECK(reactor.run_until(peers_of_server_1(&links)) == 1);
  const std::uint64_t epoch = links.epoch(1);
  CHECK(epoch != 0);

  daemon->signal(SIGKILL);
  daemon->wait();
  reactor.run_until(until_it_is(&links, Links::State::down));
  const Status down = reactor.run_until(ping_server_1(&links));
  REQUIRE_FALSE(down.ok());
  CHECK(down.code() == ErrorCode::connection_failure);
  CHECK(testing::contains(down.message(), "memory server 1 at " + address + " cannot be reached"));

  daemon = start();
  REQUIRE(daemon->ready());
  reactor.run_until(until_it_is(&links, Links::State::up));
  CHECK(reactor.run_until(ping_server_1(&links)).ok());
  CHECK(links.epoch(1) != epoch);

  // A server that stops cleanly takes leave of its peers, and harms none.
  daemon->signal(SIGTERM);
  reactor.run_until(until_it_is(&links, Links::State::down));
  CHECK(daemon->wait() == 0);
  reactor.run_until(links.close());
}

std::vector<std::string> arguments_of_server_1(const testing::Folder& folder) {
  return {"--data",         folder.data(), "--region-bytes", "16MiB", "--server-id", "1",
          "--server-count", "2",           "--huge-pages",   "never"};
}

}  // namespace

TEST_CASE("a link to a daemon over shared memory sees it end and return") {
  const testing::Folder folder;
  auto reactor = reactor::Reactor::create();
  REQUIRE(reactor.ok());
  end_and_return(**reactor, fabric::shm::transport(**reactor), "unix:" + folder.data() + "/run/memory.sock",
                 [&] { return std::make_unique<testing::Daemon>(folder, arguments_of_server_1(folder)); });
}

TEST_CASE("a link to a daemon over tcp proves the cluster key, and sees the daemon end and return") {
  const testing::Folder folder;
  const std::string key_file = (folder.path / "key").string();
  std::ofstream(key_file) << std::string(32, 'k');
  std::filesystem::permissions(key_file, std::filesystem::perms::owner_read);
  const auto key = fabric::read_cluster_key(key_file);
  REQUIRE(key.ok());
  auto reactor = reactor::Reactor::create();
  REQUIRE(reactor.ok());
  fabric::tcp::TcpOptions options;
  options.key = *key;
  const fabric::Transport transport = fabric::tcp::transport(**reactor, options);
  const auto start_at = [&](const std::string& listen) {
    std::vector<std::string> arguments = arguments_of_server_1(folder);
    arguments.insert(arguments.end(), {"--fabric", "tcp", "--listen", listen, "--cluster-key", key_file});
    return std::make_unique<testing::Daemon>(folder, std::move(arguments));
  };
  std::string address;
  {
    // The system chooses a port that is free.
    const auto first = start_at("127.0.0.1:0");
    REQUIRE(first->ready());
    address = first->address();
  }
  end_and_return(**reactor, transport, address, [&] { return start_at(address); });
}

}  // namespace namdb::memory
