// Shared by the tests of the verbs transport: a server on a real device, and clients above and below the
// transport's own. They run where RDMA is (tools/dev/verbs-vm): NAMDB_TEST_VERBS_ADDRESS is an address of a
// device.
#pragma once

#include <spdlog/spdlog.h>
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <optional>
#include <vector>

#include "common/fabric/region_words.h"
#include "common/fabric/verbs/client.h"
#include "common/fabric/verbs/client_channel.h"
#include "common/fabric/verbs/server.h"
#include "common/fabric/verbs/window.h"
#include "common/reactor/reactor_thread.h"

namespace namdb::fabric::verbs {

using reactor::Task;

constexpr std::size_t kRegion_bytes = 1U << 20;
constexpr std::uint64_t kPatience_ns = 30 * kSecond_ns;
constexpr std::uint16_t kEcho = 1;
constexpr std::uint16_t kNever = 2;
constexpr std::uint16_t kCount = 3;

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
    if (method == kCount) ++counts[std::string(request)];
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
  std::map<std::string, int> counts;  // of calls of kCount, by their requests

 private:
  reactor::Event ended_;
};

inline VerbsOptions options_with_key(unsigned char byte) {
  VerbsOptions options;
  options.key.emplace().bytes.fill(byte);
  return options;
}

inline std::string in_words(const Status& status) {
  return status.ok() ? "ok" : std::string(status.message());
}

template <typename T>
Task<void> fulfil(std::function<Task<T>()> make, std::promise<T>* promise) {
  Task<T> task = make();
  promise->set_value(co_await task);
}

// An address of a device.
inline std::string test_host() {
  const char* host = std::getenv("NAMDB_TEST_VERBS_ADDRESS");
  if (host == nullptr)
    throw std::runtime_error("NAMDB_TEST_VERBS_ADDRESS is not set: run tools/dev/verbs-vm");
  return host;
}

// A server with a thread of its own; the tests' own thread runs the clients.
class Server {
 public:
  explicit Server(const VerbsOptions& options = options_with_key(7)) {
    spdlog::set_level(spdlog::level::off);
    auto thread = reactor::ReactorThread::start();
    REQUIRE(thread.ok());
    thread_ = std::move(*thread);
    memory_ = ::mmap(nullptr, kRegion_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
    const ServerRegion region{static_cast<std::byte*>(memory_), kRegion_bytes, kRegion_bytes, -1};
    const std::string address = test_host() + ":0";
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
  std::map<std::string, int> counts() {
    return run<std::map<std::string, int>>([this] { return get_counts(this); });
  }
  std::map<std::string, std::uint64_t> facts() {
    return run<std::map<std::string, std::uint64_t>>([this] { return get_facts(this); });
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
  static Task<std::map<std::string, int>> get_counts(Server* self) { co_return self->service_->counts; }
  static Task<std::map<std::string, std::uint64_t>> get_facts(Server* self) {
    Facts facts;
    self->fabric_->describe(facts);
    std::map<std::string, std::uint64_t> amounts;
    for (const Fact& fact : facts.all()) amounts[fact.name] = fact.amount;
    co_return amounts;
  }
  static Task<std::size_t> count_disconnected(Server* self) { co_return self->service_->disconnected.size(); }

  std::unique_ptr<reactor::ReactorThread> thread_;
  void* memory_ = nullptr;
  reactor::Gate gate_;
  std::unique_ptr<TestService> service_;
  std::unique_ptr<VerbsServerFabric> fabric_;
  std::string address_;
};

inline std::unique_ptr<reactor::Reactor> make_reactor() {
  auto created = reactor::Reactor::create();
  REQUIRE(created.ok());
  return std::move(*created);
}

// A client below the transport's own: one link that does what it is told.
class RawClient {
 public:
  explicit RawClient(const std::string& address, bool greets, std::string hello = "hello")
      : reactor_(make_reactor()) {
    auto manager = ConnectionManager::create(*reactor_);
    REQUIRE(manager.ok());
    manager_ = std::move(*manager);
    link_ = std::make_unique<Link>(*reactor_, *manager_, options_with_key(7));
    const Status status = reactor_->run_until(connect(this, address, greets, std::move(hello)));
    INFO(in_words(status));
    REQUIRE(status.ok());
  }
  // The reason for which the server, or a device, ended the connection.
  Status await_end() { return reactor_->run_until(end(this)); }
  Link& link() { return *link_; }
  Device& device() { return *device_; }
  std::uint32_t key() const { return access_.key; }
  void drop() { link_.reset(); }
  // Runs the client's reactor until it is so; false if that takes too long.
  bool await(std::function<bool()> condition) {
    return reactor_->run_until(becomes(this, std::move(condition)));
  }

 private:
  static Task<Status> connect(RawClient* self, std::string address, bool greets, std::string hello) {
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
        co_await greet_server(*self->link_, kDialect, options_with_key(7).key, std::move(hello), deadline_ns);
    if (!welcome.ok()) co_return welcome.status();
    std::memcpy(&self->access_, welcome->data(), sizeof self->access_);
    co_return Status();
  }
  static Task<Status> end(RawClient* self) {
    const Result<std::string> nothing =
        co_await self->link_->take(1, self->reactor_->now_ns() + kPatience_ns);
    co_return nothing.status();
  }

  static Task<bool> becomes(RawClient* self, std::function<bool()> condition) {
    const std::uint64_t deadline_ns = self->reactor_->now_ns() + kPatience_ns;
    while (!condition() && self->reactor_->now_ns() < deadline_ns) {
      co_await self->reactor_->sleep_for(kMillisecond_ns);
    }
    co_return condition();
  }

  std::unique_ptr<reactor::Reactor> reactor_;
  std::unique_ptr<ConnectionManager> manager_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Link> link_;
  RegionAccess access_{};
};

inline Task<Status> use(ClientFabric* fabric, std::string address, std::function<Task<void>(Channel*)> job) {
  Result<std::unique_ptr<Channel>> channel = co_await fabric->connect(address, "hello", nullptr);
  if (!channel.ok()) co_return channel.status();
  Task<void> task = job(channel->get());
  co_await task;
  co_return Status();
}

inline Status with_channel(const std::string& address, const VerbsOptions& options,
                           std::function<Task<void>(Channel*)> job) {
  const std::unique_ptr<reactor::Reactor> reactor = make_reactor();
  const std::unique_ptr<ClientFabric> fabric = make_verbs_client_fabric(*reactor, options);
  return reactor->run_until(use(fabric.get(), address, std::move(job)));
}

// The fact of that name that the channel, or the server, reports.
template <typename End>
Fact fact_of(const End& end, const std::string& name) {
  Facts facts;
  end.describe(facts);
  for (const Fact& fact : facts.all()) {
    if (fact.name == name) return fact;
  }
  return {};
}

inline EndpointCounters counters_of(Channel* channel) {
  return static_cast<VerbsChannel*>(channel)->endpoint_counters();
}

inline Task<void> echo(Channel* channel, bool* ok) {
  Call call;
  call.method = kEcho;
  call.request = "are you there";
  channel->post(call);
  const Status& status = co_await call.done();
  *ok = status.ok() && call.reply == call.request;
}

inline void require_service(Server& server) {
  bool ok = false;
  REQUIRE(with_channel(server.address(), options_with_key(7), [&](Channel* channel) {
            return echo(channel, &ok);
          }).ok());
  REQUIRE(ok);
}

}  // namespace namdb::fabric::verbs
