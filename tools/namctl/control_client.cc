#include "tools/namctl/control_client.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "common/calls/protocol_version.h"
#include "common/fabric/cluster_key.h"
#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/transport.h"
#include "common/fabric/verbs/transport.h"

namespace namdb::namctl {
namespace {

constexpr std::uint64_t kTimeout_ns = 5 * kSecond_ns;

std::string random_bytes(std::size_t length) {
  std::string bytes(length, '\0');
  // Without randomness the id is all zeros, which no server has seen either.
  [[maybe_unused]] const ssize_t filled = ::getrandom(bytes.data(), bytes.size(), 0);
  return bytes;
}

reactor::Task<Status> call_once(fabric::ClientFabric* client, std::string address, std::string hello,
                                fabric::Call* call) {
  Result<std::unique_ptr<fabric::Channel>> channel = co_await client->connect(address, hello, nullptr);
  if (!channel.ok()) co_return channel.status();
  channel.value()->post(*call);
  co_await call->done();
  co_return call->status();
}

std::string greeting() {
  control::Hello hello;
  hello.set_protocol_version(calls::kProtocolVersion);
  hello.set_compute_id(random_bytes(16));
  hello.set_name("namctl");
  hello.set_tool(true);
  return hello.SerializeAsString();
}

// Of a call that takes long: the first look at it, and later ones.
constexpr std::uint64_t kFirstLook_ns = 2 * kMillisecond_ns;
constexpr std::uint64_t kLook_ns = 200 * kMillisecond_ns;

reactor::Task<Status> follow(reactor::Executor* executor, fabric::Channel* channel, fabric::Call* call,
                             LongCall* result) {
  channel->post(*call);
  std::uint64_t pause_ns = kFirstLook_ns;
  while (call->pending()) {
    co_await executor->sleep_for(pause_ns);
    pause_ns = std::min(2 * pause_ns, kLook_ns);
    if (!call->pending() || pause_ns < kLook_ns) continue;
    fabric::Call status;
    status.method = control::STATUS;
    channel->post(status);
    co_await status.done();
    if (status.status().ok()) result->progress.ParseFromString(status.reply);
  }
  co_return call->status();
}

reactor::Task<void> call_long(reactor::Executor* executor, const fabric::Transport* transport,
                              std::uint16_t method, std::string request, LongCall* result) {
  const std::unique_ptr<fabric::ClientFabric> client = transport->make_client();
  {
    const std::string hello = greeting();
    Result<std::unique_ptr<fabric::Channel>> channel =
        co_await client->connect(result->address, hello, nullptr);
    result->status = channel.status();
    if (channel.ok()) {
      fabric::Call call;
      call.method = method;
      call.request = std::move(request);
      result->status = co_await follow(executor, channel->get(), &call, result);
      result->reply = std::move(call.reply);
    }
  }
  result->ended = true;
}

reactor::Task<void> call_each(reactor::Executor* executor, const fabric::TransportRegistry* transports,
                              std::uint16_t method, std::string request, std::vector<LongCall>* calls,
                              const std::function<void()>* watch) {
  reactor::Gate gate;
  for (LongCall& call : *calls) {
    const Result<const fabric::Transport*> transport = transports->for_address(call.address);
    if (transport.ok()) {
      executor->spawn(gate, call_long(executor, *transport, method, request, &call));
    } else {
      call.status = transport.status();
      call.ended = true;
    }
  }
  while (gate.count() != 0) {
    co_await executor->sleep_for(kFirstLook_ns);
    (*watch)();
  }
  co_await gate.close();
}

}  // namespace

ControlPlane::~ControlPlane() = default;

Result<std::unique_ptr<ControlPlane>> ControlPlane::create(const FabricAccess& access) {
  std::unique_ptr<ControlPlane> control(new ControlPlane());
  reactor::ReactorOptions options;
  options.spin_ns = 0;
  Result<std::unique_ptr<reactor::Reactor>> reactor = reactor::Reactor::create(options);
  if (!reactor.ok()) return reactor.status();
  control->reactor_ = std::move(reactor).value();
  reactor::Reactor& loop = *control->reactor_;

  fabric::tcp::TcpOptions tcp;
  tcp.handshake_timeout_ns = kTimeout_ns;
  tcp.encryption = fabric::tcp::encryption_of(access.encryption);
  if (!access.key.empty()) {
    Result<fabric::ClusterKey> key = fabric::read_cluster_key(access.key.string());
    if (!key.ok()) return key.status();
    tcp.key = *key;
  }
  fabric::verbs::VerbsOptions verbs;
  verbs.handshake_timeout_ns = kTimeout_ns;
  verbs.key = tcp.key;
  control->transports_.add(fabric::shm::transport(loop));
  // One form of address: whichever comes first takes it.
  if (access.fabric == "verbs") control->transports_.add(fabric::verbs::transport(loop, verbs));
  control->transports_.add(fabric::tcp::transport(loop, tcp));
  return control;
}

Status ControlPlane::call(const std::string& address, std::uint16_t method,
                          const google::protobuf::MessageLite& request,
                          google::protobuf::MessageLite& reply) {
  const auto bytes = call_bytes(address, method, request.SerializeAsString());
  if (!bytes.ok()) return bytes.status();
  if (!reply.ParseFromString(*bytes)) {
    return {ErrorCode::protocol_violation, "the memory server at " + address + " answered nonsense"};
  }
  return {};
}

Result<std::string> ControlPlane::call_bytes(const std::string& address, std::uint16_t method,
                                             std::string request) {
  Result<const fabric::Transport*> transport = transports_.for_address(address);
  if (!transport.ok()) return transport.status();
  const std::unique_ptr<fabric::ClientFabric> client = transport.value()->make_client();
  fabric::Call call;
  call.method = method;
  call.request = std::move(request);
  Status status = reactor_->run_until(call_once(client.get(), address, greeting(), &call));
  if (!status.ok()) return status;
  return std::move(call.reply);
}

void ControlPlane::call_all(std::vector<LongCall>& calls, std::uint16_t method,
                            const google::protobuf::MessageLite& request,
                            const std::function<void()>& watch) {
  reactor_->run_until(
      call_each(reactor_.get(), &transports_, method, request.SerializeAsString(), &calls, &watch));
}

}  // namespace namdb::namctl
