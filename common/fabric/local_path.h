// The local path: a memory server's region by two transports at once. Compute servers on its machine map it
// (shm), all others reach it over the network (tcp, or verbs). Both ends are fabrics around two fabrics, so
// that nothing else knows of it.
//
// The words of a region have one atomicity domain (fabric.h, 4). Over shm that is the CPU. So the other
// transport's atomics must be atomic with the CPU, too. Over tcp they are, since the memory server's CPU
// executes them. Over verbs they are if the device says so, or if no peer swaps words. A server without that
// refuses to listen.
//
// A client reaches one memory server by the local path. It asks twice for the welcome, over the network and
// at the socket, since the two addresses may belong to different servers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/fabric/fabric.h"

namespace namdb::fabric {

struct LocalPath {
  std::string address;  // of the memory server beside the client, over the network
  std::string socket;   // of the same one: unix:PATH
  // The hello of a peer that only asks for the welcome.
  std::function<std::string()> hello;
  // An error unless both welcomes are one memory server's, of one start.
  std::function<Status(std::string_view remote_welcome, std::string_view local_welcome)> same_server;
};

class LocalPathClient final : public ClientFabric {
 public:
  // `local` allocates from the pool of `remote`: a buffer goes with the channels of both.
  LocalPathClient(std::unique_ptr<ClientFabric> remote, std::unique_ptr<ClientFabric> local, LocalPath path)
      : remote_(std::move(remote)), local_(std::move(local)), path_(std::move(path)) {}

  std::string_view name() const override { return remote_->name(); }
  LocalPool& pool() override { return remote_->pool(); }
  const ClientFabric& remote() const { return *remote_; }
  const ClientFabric& local() const { return *local_; }
  const LocalPath& path() const { return path_; }
  // `address` as over the network: the one of the local path is replaced by its socket. Error
  // connection_failure, with the cure, when the memory server is there and its socket is not.
  reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                          std::string* welcome) override;

 private:
  reactor::Task<Result<std::unique_ptr<Channel>>> connect_locally(std::string hello, std::string* welcome);

  std::unique_ptr<ClientFabric> remote_;
  std::unique_ptr<ClientFabric> local_;
  LocalPath path_;
};

// For people: the transport by which that fabric reaches the memory server at the address, and where.
void describe_link(const ClientFabric& fabric, std::string_view address, Facts& facts);

class LocalPathServer final : public ServerFabric {
 public:
  // Both serve the same region and service.
  LocalPathServer(std::unique_ptr<ServerFabric> remote, std::unique_ptr<ServerFabric> local,
                  std::string socket);

  std::string_view name() const override { return name_; }
  // At `address` and at the socket. Error configuration where the two transports have no common atomics.
  reactor::Task<Status> listen(std::string address) override;
  reactor::Task<void> fence(PeerId peer) override;
  Channel& loopback() override { return remote_->loopback(); }
  void peers_swap_nothing() override;
  void grow(std::size_t length_bytes) override;
  // The facts of the socket's transport get names that begin with local_.
  void describe(Facts& facts) const override;
  reactor::Task<void> close() override;

  const ServerFabric& remote() const { return *remote_; }

 private:
  std::unique_ptr<ServerFabric> remote_;
  std::unique_ptr<ServerFabric> local_;
  std::string socket_;
  std::string name_;
};

}  // namespace namdb::fabric
