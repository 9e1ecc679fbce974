#include "common/fabric/tcp/client.h"

#include <utility>

#include "common/fabric/tcp/client_channel.h"
#include "common/fabric/tcp/frames.h"
#include "common/fabric/tcp/link.h"
#include "common/reactor/reactor.h"
#include "common/reactor/socket_stream.h"

namespace namdb::fabric::tcp {
namespace {

class TcpClientFabric final : public ClientFabric {
 public:
  TcpClientFabric(reactor::Reactor& reactor, TcpOptions options)
      : reactor_(reactor), options_(std::move(options)) {}

  std::string_view name() const override { return "tcp"; }
  LocalPool& pool() override { return pool_; }
  reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                          std::string* welcome) override;

 private:
  reactor::Reactor& reactor_;
  TcpOptions options_;
  LocalPool pool_;
};

reactor::Task<Result<std::unique_ptr<Channel>>> TcpClientFabric::connect(std::string address,
                                                                         std::string hello,
                                                                         std::string* welcome) {
  if (options_.encryption == Encryption::required && !options_.key)
    co_return Status(ErrorCode::configuration, "encrypted connections need a cluster key");
  const std::uint64_t deadline_ns = reactor_.now_ns() + options_.handshake_timeout_ns;
  const Result<int> descriptor =
      co_await reactor::connect_descriptor(reactor_, address, options_.handshake_timeout_ns);
  if (!descriptor.ok()) co_return descriptor.status();
  auto link = std::make_unique<Link>(reactor_, *descriptor);
  Result<std::string> answer =
      co_await greet_server(*link, link->dialect(options_), options_.key, std::move(hello), deadline_ns);
  if (!answer.ok()) co_return refused_by(address, answer.status(), options_.key);
  if (welcome != nullptr) *welcome = std::move(*answer);
  auto channel = std::make_unique<TcpChannel>(reactor_, pool_, std::move(link), std::move(address));
  channel->start();
  co_return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace

std::unique_ptr<ClientFabric> make_tcp_client_fabric(reactor::Reactor& reactor, TcpOptions options) {
  return std::make_unique<TcpClientFabric>(reactor, std::move(options));
}

}  // namespace namdb::fabric::tcp
