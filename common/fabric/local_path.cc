#include "common/fabric/local_path.h"

#include <utility>

#include "common/fabric/facts.h"

namespace namdb::fabric {

void describe_link(const ClientFabric& fabric, std::string_view address, Facts& facts) {
  const auto* both = dynamic_cast<const LocalPathClient*>(&fabric);
  const bool local = both != nullptr && address == both->path().address;
  facts.say("fabric", std::string(local ? both->local().name() : fabric.name()));
  facts.say("address", local ? both->path().socket : std::string(address));
}

reactor::Task<Result<std::unique_ptr<Channel>>> LocalPathClient::connect(std::string address,
                                                                         std::string hello,
                                                                         std::string* welcome) {
  if (address == path_.address) return connect_locally(std::move(hello), welcome);
  return remote_->connect(std::move(address), std::move(hello), welcome);
}

reactor::Task<Result<std::unique_ptr<Channel>>> LocalPathClient::connect_locally(std::string hello,
                                                                                 std::string* welcome) {
  std::string remote_welcome;
  {
    const auto asked = co_await remote_->connect(path_.address, path_.hello(), &remote_welcome);
    if (!asked.ok()) co_return asked.status();
  }
  std::string local_welcome;
  auto channel = co_await local_->connect(path_.socket, std::move(hello), &local_welcome);
  if (!channel.ok()) {
    const Status& status = channel.status();
    if (status.code() != ErrorCode::connection_failure) co_return status;
    co_return Status(
        status.code(),
        "the memory server at " + path_.address + " cannot be reached by its local path: " + status.message(),
        "nam-memoryd --listen-local " + path_.socket + ", or nam-computed without --beside-socket");
  }
  const Status same = path_.same_server(remote_welcome, local_welcome);
  if (!same.ok()) co_return same;
  if (welcome != nullptr) *welcome = std::move(local_welcome);
  co_return channel;
}

LocalPathServer::LocalPathServer(std::unique_ptr<ServerFabric> remote, std::unique_ptr<ServerFabric> local,
                                 std::string socket)
    : remote_(std::move(remote)),
      local_(std::move(local)),
      socket_(std::move(socket)),
      name_(std::string(remote_->name()) + "+" + std::string(local_->name())) {}

reactor::Task<Status> LocalPathServer::listen(std::string address) {
  Status status = co_await remote_->listen(std::move(address));
  if (!status.ok()) co_return status;
  if (!remote_->loopback().atomics_with_cpu()) {
    co_return Status(ErrorCode::configuration,
                     "no local path: the RDMA device's atomics are not atomic with the CPU, which executes "
                     "those of compute servers on this machine",
                     "start without --listen-local, or with a device that has IBV_ATOMIC_GLOB");
  }
  co_return co_await local_->listen(socket_);
}

reactor::Task<void> LocalPathServer::fence(PeerId peer) {
  // Peer ids are those of the process: the transport that has no such peer returns at once.
  co_await remote_->fence(peer);
  co_await local_->fence(peer);
}

void LocalPathServer::peers_swap_nothing() {
  remote_->peers_swap_nothing();
  local_->peers_swap_nothing();
}

void LocalPathServer::grow(std::size_t length_bytes) {
  remote_->grow(length_bytes);
  local_->grow(length_bytes);
}

void LocalPathServer::describe(Facts& facts) const {
  remote_->describe(facts);
  facts.say("local_address", socket_);
  Facts local;
  local_->describe(local);
  for (const Fact& fact : local.all()) {
    if (fact.text.empty()) {
      facts.count("local_" + fact.name, fact.amount);
    } else {
      facts.say("local_" + fact.name, fact.text);
    }
  }
}

reactor::Task<void> LocalPathServer::close() {
  co_await remote_->close();
  co_await local_->close();
}

}  // namespace namdb::fabric
