// The verbs transport on a real device: what it asks of it, and what a peer cannot do. Runs where RDMA is
// (tools/dev/verbs-vm): NAMDB_TEST_VERBS_ADDRESS is an address of a device.
#include <spdlog/spdlog.h>
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>
#include <vector>

#include "common/fabric/region_words.h"
#include "common/fabric/verbs/client.h"
#include "common/fabric/verbs/client_channel.h"
#include "common/fabric/verbs/server.h"
#include "common/fabric/verbs/window.h"
#include "common/reactor/reactor_thread.h"

namespace namdb::fabric::verbs {
namespace {

using reactor::Task;

constexpr std::size_t kRegion_bytes = 1U << 20;
constexpr std::uint64_t kPatience_ns = 30 * kSecond_ns;
constexpr std::uint16_t kEcho = 1;
constexpr std::uint16_t kNever = 2;

class TestService final : public Service {
 public:
  explicit TestService(reactor::Executor& executor) : ended_(executor) {}
  Result<std::string> on_connect(PeerId peer, std::string_view /*hello*/) override {
    last_peer = peer;
    return std::string("welcome");
  }
  Task<Status> on_call(PeerId peer, std::uint16_t method, std::string_view request,
                       std::string& reply) override {
    if (method == kNever) {
      while (!ended(peer)) co_await ended_.wait();
    }
    reply = request;
    co_return Status();
  }
  void on_disconnect(PeerId peer) override { disconnected.push_back(peer); }
  bool ended(PeerId) const { return release; }
  void release_calls() {
    release = true;
    ended_.notify_all();
  }

  PeerId last_peer = 0;
  bool release = false;
  std::vector<PeerId> disconnected;

 private:
  reactor::Event ended_;
};

VerbsOptions options_with_key(unsigned char byte) {
  VerbsOptions options;
  options.key.emplace().bytes.fill(byte);
  return options;
}

std::string in_words(const Status& status) {
  return status.ok() ? "ok" : std::string(status.message());
}

template <typename T>
Task<void> fulfil(std::function<Task<T>()> make, std::promise<T>* promise) {
  Task<T> task = make();
  promise->set_value(co_await task);
}

// A server with a thread of its own; the tests' own thread runs the clients.
class Server {
 public:
  explicit Server(const VerbsOptions& options = options_with_key(7)) {
    const char* host = std::getenv("NAMDB_TEST_VERBS_ADDRESS");
    if (host == nullptr)
      throw std::runtime_error("NAMDB_TEST_VERBS_ADDRESS is not set: run tools/dev/verbs-vm");
    spdlog::set_level(spdlog::level::off);
    auto thread = reactor::ReactorThread::start();
    REQUIRE(thread.ok());
    thread_ = std::move(*thread);
    memory_ = ::mmap(nullptr, kRegion_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
    const ServerRegion region{static_cast<std::byte*>(memory_), kRegion_bytes, kRegion_bytes, -1};
    const std::string address = std::string(host) + ":0";
    const Status status = run<Status>([this, region, options, address]() -> Task<Status> {
      service_ = std::make_unique<TestService>(thread_->reactor());
      fabric_ = std::make_unique<VerbsServerFabric>(thread_->reactor(), region, *service_, options);
      return fabric_->listen(address);
    });
    INFO(in_words(status));
    REQUIRE(status.ok());
    address_ = fabric_->address();
  }
  ~Server() {
    run<bool>([this] { return close(this); });
    thread_.reset();
    ::munmap(memory_, kRegion_bytes);
  }

  // Runs the task on the server's thread.
  template <typename T>
  T run(std::function<Task<T>()> make) {
    std::promise<T> promise;
    std::future<T> future = promise.get_future();
    thread_->reactor().mailbox().post(
        [this, &make, &promise] { thread_->reactor().spawn(gate_, fulfil<T>(make, &promise)); });
    return future.get();
  }
  void fence_last_peer() {
    run<bool>([this] { return fence_last(this); });
  }
  std::size_t disconnected() {
    return run<std::size_t>([this] { return count_disconnected(this); });
  }
  std::uint64_t word(std::size_t index) {
    return region_word(static_cast<std::byte*>(memory_) + 8 * index).load();
  }
  const std::string& address() const { return address_; }

 private:
  static Task<bool> close(Server* self) {
    self->service_->release_calls();
    co_await self->fabric_->close();
    self->fabric_.reset();
    self->service_.reset();
    co_return true;
  }
  static Task<bool> fence_last(Server* self) {
    co_await self->fabric_->fence(self->service_->last_peer);
    co_return true;
  }
  static Task<std::size_t> count_disconnected(Server* self) { co_return self->service_->disconnected.size(); }

  std::unique_ptr<reactor::ReactorThread> thread_;
  void* memory_ = nullptr;
  reactor::Gate gate_;
  std::unique_ptr<TestService> service_;
  std::unique_ptr<VerbsServerFabric> fabric_;
  std::string address_;
};

std::unique_ptr<reactor::Reactor> make_reactor() {
  auto created = reactor::Reactor::create();
  REQUIRE(created.ok());
  return std::move(*created);
}

// A client below the transport's own: one link that does what it is told.
class RawClient {
 public:
  explicit RawClient(const std::string& address, bool greets) : reactor_(make_reactor()) {
    auto manager = ConnectionManager::create(*reactor_);
    REQUIRE(manager.ok());
    manager_ = std::move(*manager);
    link_ = std::make_unique<Link>(*reactor_, *manager_, options_with_key(7));
    const Status status = reactor_->run_until(connect(this, address, greets));
    INFO(in_words(status));
    REQUIRE(status.ok());
  }
  // The reason for which the server, or a device, ended the connection.
  Status await_end() { return reactor_->run_until(end(this)); }
  Link& link() { return *link_; }
  Device& device() { return *device_; }
  std::uint32_t key() const { return access_.key; }
  void drop() { link_.reset(); }

 private:
  static Task<Status> connect(RawClient* self, std::string address, bool greets) {
    const std::uint64_t deadline_ns = self->reactor_->now_ns() + kPatience_ns;
    const DeviceOf device_of = [self](ibv_context* context, std::uint8_t /*port*/) -> Result<Device*> {
      auto device = Device::open(*self->reactor_, context->device, 16);
      if (!device.ok()) return device.status();
      self->device_ = std::move(*device);
      return self->device_.get();
    };
    Status status = co_await self->link_->connect(address, device_of, deadline_ns);
    if (!status.ok() || !greets) co_return status;
    const Result<std::string> welcome =
        co_await greet_server(*self->link_, kDialect, options_with_key(7).key, "hello", deadline_ns);
    if (!welcome.ok()) co_return welcome.status();
    std::memcpy(&self->access_, welcome->data(), sizeof self->access_);
    co_return Status();
  }
  static Task<Status> end(RawClient* self) {
    const Result<std::string> nothing =
        co_await self->link_->take(1, self->reactor_->now_ns() + kPatience_ns);
    co_return nothing.status();
  }

  std::unique_ptr<reactor::Reactor> reactor_;
  std::unique_ptr<ConnectionManager> manager_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Link> link_;
  RegionAccess access_{};
};

Task<Status> use(ClientFabric* fabric, std::string address, std::function<Task<void>(Channel*)> job) {
  Result<std::unique_ptr<Channel>> channel = co_await fabric->connect(address, "hello", nullptr);
  if (!channel.ok()) co_return channel.status();
  Task<void> task = job(channel->get());
  co_await task;
  co_return Status();
}

Status with_channel(const std::string& address, const VerbsOptions& options,
                    std::function<Task<void>(Channel*)> job) {
  const std::unique_ptr<reactor::Reactor> reactor = make_reactor();
  const std::unique_ptr<ClientFabric> fabric = make_verbs_client_fabric(*reactor, options);
  return reactor->run_until(use(fabric.get(), address, std::move(job)));
}

EndpointCounters counters_of(Channel* channel) {
  return static_cast<VerbsChannel*>(channel)->endpoint_counters();
}

Task<void> post_side_by_side(Channel* channel, std::size_t count, EndpointCounters* before,
                             EndpointCounters* after) {
  LocalBuffer buffer(channel->pool(), 8192);
  std::vector<Batch> batches(count);
  *before = counters_of(channel);
  for (std::size_t i = 0; i < count; ++i) {
    batches[i].write(64 * i, buffer.data() + 64 * i, 16);
    batches[i].write(64 * i + 16, buffer.data() + 64 * i + 16, 8);
    batches[i].read(64 * i, buffer.data() + 64 * i + 32, 16);
    channel->post(batches[i]);
  }
  for (Batch& batch : batches) co_await batch.done();
  *after = counters_of(channel);
}

Task<void> post_at_once(Channel* channel, std::size_t count, bool* ok, EndpointCounters* after) {
  LocalBuffer buffer(channel->pool(), 8 * count);
  Batch batch;
  for (std::size_t i = 0; i < count; ++i) batch.write(8 * i, buffer.data() + 8 * i, 8);
  channel->post(batch);
  const Status& status = co_await batch.done();
  *ok = status.ok();
  *after = counters_of(channel);
}

Task<void> echo(Channel* channel, bool* ok) {
  Call call;
  call.method = kEcho;
  call.request = "are you there";
  channel->post(call);
  const Status& status = co_await call.done();
  *ok = status.ok() && call.reply == call.request;
}

void require_service(Server& server) {
  bool ok = false;
  REQUIRE(with_channel(server.address(), options_with_key(7), [&](Channel* channel) {
            return echo(channel, &ok);
          }).ok());
  REQUIRE(ok);
}

}  // namespace

TEST_CASE("what a turn posts to one server leaves with one doorbell, and completes once a batch") {
  Server server;
  EndpointCounters before;
  EndpointCounters after;
  const Status status = with_channel(server.address(), options_with_key(7), [&](Channel* channel) {
    return post_side_by_side(channel, 20, &before, &after);
  });
  REQUIRE(status.ok());
  REQUIRE(after.requests - before.requests == 60);
  REQUIRE(after.doorbells - before.doorbells == 1);
  REQUIRE(after.signalled - before.signalled == 20);
  REQUIRE(after.inlined - before.inlined == 40);
}

TEST_CASE("more operations than the send queue holds wait for their slots") {
  Server server;
  VerbsOptions options = options_with_key(7);
  options.send_queue_depth = 8;
  bool ok = false;
  EndpointCounters after;
  const Status status = with_channel(
      server.address(), options, [&](Channel* channel) { return post_at_once(channel, 500, &ok, &after); });
  REQUIRE(status.ok());
  REQUIRE(ok);
  REQUIRE(after.doorbells >= 500 / 8);
  REQUIRE(after.signalled >= 500 / 2);
}

TEST_CASE("a peer that has not passed the handshake reaches no memory, though it knows the key") {
  Server server;
  const RawClient honest(server.address(), true);
  RawClient stranger(server.address(), false);
  Batch batch;
  {
    LocalBuffer buffer(stranger.device().messages(), 64);
    buffer.word() = 0xbad;
    batch.write(0, buffer.data(), 8);
    batch.begin();
    stranger.link().endpoint().set_remote_key(honest.key());
    stranger.link().endpoint().post(batch);
    REQUIRE(!stranger.await_end().ok());
    stranger.drop();
  }
  REQUIRE(!batch.pending());
  REQUIRE(!batch.status().ok());
  REQUIRE(server.word(0) == 0);
  require_service(server);
}

TEST_CASE("the device refuses the next WRITE of a fenced peer") {
  Server server;
  RawClient peer(server.address(), true);
  LocalBuffer buffer(peer.device().messages(), 64);
  buffer.word() = 0xbad;
  // Past all that this process knows about the connection's end: its reactor does not run meanwhile.
  const auto write = [&](std::uint64_t offset) {
    ibv_sge place{reinterpret_cast<std::uint64_t>(buffer.data()), 8,
                  *peer.device().local_key(buffer.data(), 8)};
    constexpr std::uint64_t kOurs = std::uint64_t{1} << 40;
    ibv_send_wr request{};
    request.wr_id = kOurs;
    request.sg_list = &place;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = offset;
    request.wr.rdma.rkey = peer.key();
    ibv_send_wr* refused = nullptr;
    REQUIRE(ibv_post_send(peer.link().endpoint().queue_pair(), &request, &refused) == 0);
    ibv_wc completion{};
    while (ibv_poll_cq(peer.device().completions(), 1, &completion) == 0 || completion.wr_id != kOurs) {
    }
    return completion.status;
  };
  REQUIRE(write(8) == IBV_WC_SUCCESS);
  REQUIRE(server.word(1) == 0xbad);
  server.fence_last_peer();
  REQUIRE(write(16) != IBV_WC_SUCCESS);
  REQUIRE(server.word(2) == 0);
  require_service(server);
}

TEST_CASE("another cluster key, or none, is refused on both sides") {
  Server server;
  for (const VerbsOptions& options : {options_with_key(8), VerbsOptions()}) {
    const Status status = with_channel(server.address(), options, [](Channel*) -> Task<void> { co_return; });
    REQUIRE(status.code() == ErrorCode::invalid_authorization);
  }
  require_service(server);
}

TEST_CASE("a peer that sends what no peer may send is disconnected, the others go on") {
  Server server;
  SECTION("messages of no kind") {
    RawClient peer(server.address(), true);
    peer.link().endpoint().send(static_cast<MessageKind>(9), 0, 0, "?");
    REQUIRE(!peer.await_end().ok());
  }
  SECTION("calls before the handshake") {
    RawClient peer(server.address(), false);
    peer.link().endpoint().send(MessageKind::call, kEcho, 0, "?");
    REQUIRE(!peer.await_end().ok());
  }
  SECTION("more calls than the window") {
    RawClient peer(server.address(), true);
    for (std::size_t i = 0; i <= kClientCalls; ++i) {
      peer.link().endpoint().send(MessageKind::call, kNever, i, "?");
    }
    REQUIRE(!peer.await_end().ok());
  }
  require_service(server);
}

}  // namespace namdb::fabric::verbs
